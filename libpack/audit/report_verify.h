/* What pack_verify() found, as text for a terminal and as JSON. */
#ifndef LIBPACK_REPORT_VERIFY_H
#define LIBPACK_REPORT_VERIFY_H

#include "libpack/audit/salvage.h"
#include "libpack/audit/verify.h"
#include "libpack/base/buf.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PACK_REPORT_VERIFY_LISTED = 20 }; /* bad chunks of a dataset that the text tells */

/* One file. All borrowed. */
struct pack_verify_report {
    const char *program, *version;
    const struct pack_verify_params *params;
    const struct pack_verify_result *result;
    const char *output;                   /* where it was salvaged to; NULL: not asked for */
    const struct pack_salvaged *salvaged; /* likewise */
};

/* At most 80 columns where names and sentences permit. PACK_ERR_MEMORY. */
enum pack_status pack_report_verify_text(const struct pack_verify_report *report,
                                         struct pack_buf *buf, struct pack_error *err);

/* One object of schema "verify/1". */
enum pack_status pack_report_verify_json(const struct pack_verify_report *report,
                                         struct pack_buf *buf, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
