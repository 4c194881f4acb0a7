/* Between the files of the auditor. */
#ifndef LIBPACK_AUDIT_PARTS_H
#define LIBPACK_AUDIT_PARTS_H

#include "libpack/audit/audit.h"

/* What mends a finding. */
struct pack_audit_mending {
    unsigned fix;
    char *command; /* NULL: none */
    double grown_bytes; /* as all below, see pack_audit_finding */
    int left[PACK_AUDIT_LEFT_MAX];
    size_t n_left;
};

/* Findings of one dataset on their way into the result. */
enum { PACK_AUDIT_FOUND_MAX = PACK_FINDINGS_STORED_MAX + PACK_FINDINGS_MAX + 8 };
struct pack_audit_found {
    struct pack_finding finding[PACK_AUDIT_FOUND_MAX];
    struct pack_audit_mending mending[PACK_AUDIT_FOUND_MAX];
    size_t n;
};

/* audit.c: adds what a dataset's samples are at fault in, as far as they were looked at. */
void pack_audit_find_contents(const struct pack_audit_params *params,
                              const struct pack_audit_file *file, size_t set,
                              struct pack_audit_found *found);

/* audit.c: whether a rule is one of those that were asked for, and not to be ignored. */
bool pack_audit_is_wanted(const struct pack_audit_params *params, int code);

/* audit_read.c: what a reader of a dataset meets with: fills in *reading, all rules of the
 * dataset, and commands. The survey's own rules stand also where no reader is known.
 * PACK_ERR_MEMORY, PACK_ERR_INTERRUPTED. */
enum pack_status pack_audit_read(const struct pack_audit_params *params,
                                 const struct pack_audit_file *file,
                                 struct pack_audit_reading *reading,
                                 struct pack_audit_found *found, struct pack_error *err);

/* audit_foresee.c: what is known of a dataset that is to be stored otherwise. */
struct pack_audit_outlook {
    struct pack_advise_job *job; /* which reads it */
    const struct pack_thresholds *thresholds;
    const struct pack_survey_dataset *dataset;
    const struct pack_contents *contents; /* NULL: not looked at */
    const struct pack_audit_found *found; /* today */
};

/* The best so far of several layouts: what no rule finds fault with goes before what leaves
 * something, and that before what brings a cost or a hazard along; then the faster one. */
struct pack_audit_choice {
    bool is_made, is_harmful;
    struct pack_advise_outcome outcome;
    int left[PACK_AUDIT_LEFT_MAX];
    size_t n_left;
};

enum { PACK_AUDIT_SAMPLES = 20000 }; /* that are simulated */

/* Asks all rules about a dataset that is stored so, by `fix`, and takes it where it is better
 * than *choice. */
enum pack_status pack_audit_consider(const struct pack_audit_outlook *outlook, unsigned fix,
                                     const struct pack_advise_params *params,
                                     const struct pack_advise_outcome *outcome,
                                     struct pack_audit_choice *choice,
                                     struct pack_error *err);
/* The i-th plain layout, of whole samples, as many as make a chunk of up to 1 MiB; false: there
 * are no more. */
bool pack_audit_plain_chunk(const struct pack_shape *extent, uint64_t elem_size, int i,
                            struct pack_shape *chunk);
/* Adds a plan for each fix of what was found that is none of the layout. */
enum pack_status pack_audit_plan(const struct pack_audit_outlook *outlook,
                                 struct pack_audit_reading *reading, struct pack_error *err);
void pack_audit_plan_add(struct pack_audit_reading *reading, unsigned fix,
                         const struct pack_audit_choice *choice, bool is_moved);

/* audit_fix.c: what mends a finding, if anything does; `facts` and `reading` are NULL where
 * it is the file's, and `reading` where nobody was asked about. */
enum pack_status pack_audit_mend(const struct pack_finding *finding, const char *file,
                                 const struct pack_facts *facts,
                                 const struct pack_audit_reading *reading,
                                 struct pack_audit_mending *mending, struct pack_error *err);
/* The dataset that is written as it is where only the file itself is to be written anew; NULL:
 * it has none that h5rechunk writes. */
const struct pack_survey_dataset *pack_audit_copied(const struct pack_audit_file *file);
/* Appends the command, and a NUL, that applies all that h5rechunk can do for the one file of
 * a result; nothing where there is no such file. */
enum pack_status pack_audit_fix_all(const struct pack_audit_result *result,
                                    const char *operand, struct pack_buf *text,
                                    struct pack_error *err);
/* The plan that decides where several fixes are applied at once; NULL: there is none. */
const struct pack_audit_plan *pack_audit_plan_of(const struct pack_audit_reading *reading,
                                                 unsigned fix);
/* What mends a rule's finding, as far as it is known without a look at the dataset. */
unsigned pack_audit_fix_of(int code);
/* Who had a checksum keeps one: filters with it, into text, which is returned. */
bool pack_audit_has_checksum(const struct pack_pipeline *pipeline);
char *pack_audit_with_checksum(const char *filters, char text[PACK_PIPELINE_TEXT_MAX]);
/* The filters of a dataset behind fixes, its own or those planned; returns text. */
char *pack_audit_filters(const struct pack_facts *facts, unsigned fix,
                         const struct pack_audit_reading *reading,
                         char text[PACK_PIPELINE_TEXT_MAX]);
/* Its chunks likewise; "" where they stay. */
char *pack_audit_chunk(const struct pack_facts *facts, unsigned fix,
                       const struct pack_audit_reading *reading,
                       char text[PACK_SHAPE_TEXT_MAX]);

#endif
