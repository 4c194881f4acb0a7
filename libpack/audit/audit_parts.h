/* Between the files of the auditor. */
#ifndef LIBPACK_AUDIT_PARTS_H
#define LIBPACK_AUDIT_PARTS_H

#include "libpack/audit/audit.h"

/* What mends a finding. */
struct pack_audit_mending {
    unsigned fix;
    char *command; /* NULL: none */
    double grown_bytes; /* see pack_audit_finding */
};

/* Findings of one dataset on their way into the result. */
enum { PACK_AUDIT_FOUND_MAX = PACK_FINDINGS_STORED_MAX + PACK_FINDINGS_MAX + 8 };
struct pack_audit_found {
    struct pack_finding finding[PACK_AUDIT_FOUND_MAX];
    struct pack_audit_mending mending[PACK_AUDIT_FOUND_MAX];
    size_t n;
};

/* audit_read.c: what a reader of a dataset meets with: fills in *reading, all rules of the
 * dataset, and commands. The survey's own rules stand also where no reader is known.
 * PACK_ERR_MEMORY, PACK_ERR_INTERRUPTED. */
enum pack_status pack_audit_read(const struct pack_audit_params *params,
                                 const struct pack_audit_file *file,
                                 struct pack_audit_reading *reading,
                                 struct pack_audit_found *found, struct pack_error *err);

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
/* The filters of a dataset behind fixes, of its own or of `advised`; returns text. */
char *pack_audit_filters(const struct pack_facts *facts, unsigned fix, const char *advised,
                         char text[PACK_PIPELINE_TEXT_MAX]);
/* Its chunks likewise; "" where they stay. */
char *pack_audit_chunk(const struct pack_facts *facts, unsigned fix,
                       const struct pack_audit_reading *reading,
                       char text[PACK_SHAPE_TEXT_MAX]);

#endif
