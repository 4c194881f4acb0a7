/* What h5audit found, as text for a terminal and as JSON. */
#ifndef LIBPACK_REPORT_AUDIT_H
#define LIBPACK_REPORT_AUDIT_H

#include "libpack/audit/audit.h"
#include "libpack/audit/audit_apply.h"
#include "libpack/base/buf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One run of the auditor. All borrowed. */
struct pack_audit_report {
    const char *program, *version;
    const struct pack_audit_params *params;
    const struct pack_audit_result *result;
    const char *output;                       /* where it was mended; NULL: not asked for */
    const struct pack_audit_applied *applied; /* likewise */
    const char *const *unlisted; /* sentences of folders that could not be listed */
    size_t n_unlisted;
    const char *folder; /* absolute, that SARIF names files from; NULL: as they were given */
    enum pack_finding_severity fail_on;
    bool is_plain;   /* no option was set that changes findings or fixes */
    bool is_brief;   /* findings alone, no facts of datasets */
    bool is_stopped; /* by a signal, before its end */
};

/* At most 80 columns where names and commands permit, the worst first. PACK_ERR_MEMORY. */
enum pack_status pack_report_audit_text(const struct pack_audit_report *report,
                                        struct pack_buf *buf, struct pack_error *err);

/* One object of schema "audit/1"; h5audit(1) defines it. */
enum pack_status pack_report_audit_json(const struct pack_audit_report *report,
                                        struct pack_buf *buf, struct pack_error *err);

/* "50 of 20050 datasets were not looked at: ..." into text; NULL: all were that are meant. */
enum { PACK_AUDIT_LEFT_OUT_MAX = 192 };
const char *pack_report_audit_left_out(const struct pack_audit_file *file,
                                       char text[PACK_AUDIT_LEFT_OUT_MAX]);

enum { PACK_AUDIT_PRICE_MAX = 320 };
/* "44.0 MiB of the file; 2.1 s of each epoch" into text; NULL: it has no price. */
const char *pack_report_audit_price(const struct pack_finding *finding,
                                    char text[PACK_AUDIT_PRICE_MAX]);

/* "its data takes about 3.0 MiB then, more than now; H5A406 missing-compression is found
 * then" into text; NULL: neither. */
const char *pack_report_audit_growth(const struct pack_audit_finding *finding,
                                     char text[PACK_AUDIT_PRICE_MAX]);

/* One page for a browser; `map` is a drawing of the file, or NULL. */
enum pack_status pack_report_audit_html(const struct pack_audit_report *report,
                                        const struct pack_buf *map, struct pack_buf *buf,
                                        struct pack_error *err);

/* SARIF 2.1.0: what was found, without what was mended. */
enum pack_status pack_report_audit_sarif(const struct pack_audit_report *report,
                                         struct pack_buf *buf, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
