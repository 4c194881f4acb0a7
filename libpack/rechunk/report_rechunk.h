/* What h5rechunk did, or would do, as text and as JSON. */
#ifndef LIBPACK_REPORT_RECHUNK_H
#define LIBPACK_REPORT_RECHUNK_H

#include "libpack/base/buf.h"
#include "libpack/rechunk/rechunk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What was advised, where that was asked for. */
struct pack_rechunk_advice {
    const char *options;  /* what it was asked with */
    const char *headline; /* lines that say what it is */
    const char *change;   /* "none", "settings", "order", "rewrite" */
    double gain;          /* samples/s over today's */
    bool keeps;           /* the file's chunks and filters: nothing is written */
};

/* All borrowed. */
struct pack_rechunk_report {
    const char *program, *version;
    const struct pack_rechunk_params *params;
    const struct pack_rechunk_advice *advice; /* NULL: not asked for */
    const struct pack_rechunk_result *result;
};

enum pack_status pack_report_rechunk_text(const struct pack_rechunk_report *report,
                                          struct pack_buf *buf, struct pack_error *err);

/* One object of schema "rechunk/1"; h5rechunk(1) defines it. */
enum pack_status pack_report_rechunk_json(const struct pack_rechunk_report *report,
                                          struct pack_buf *buf, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
