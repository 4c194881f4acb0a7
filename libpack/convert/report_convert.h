/* The result of packing, forecasting or comparing, as text for people and as JSON. */
#ifndef LIBPACK_REPORT_CONVERT_H
#define LIBPACK_REPORT_CONVERT_H

#include <stdbool.h>

#include "libpack/base/buf.h"
#include <libpack/cachesim.h>
#include <libpack/convert.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pack_convert_job {
    PACK_JOB_PACK = 0, /* pack_convert() */
    PACK_JOB_FORECAST, /* pack_convert_forecast() */
    PACK_JOB_COMPARE   /* pack_convert_compare() */
};

struct pack_convert_report {
    enum pack_convert_job job;
    const struct pack_convert_params *params;
    const struct pack_convert_result *result;
    bool differs; /* a verification found a difference */
    /* How to open the packed file, in text; the caller asks the advisor. */
    bool sets_cache; /* else HDF5's own settings are left alone */
    struct pack_cache_params cache;
    const char *question; /* a command that answers it by measuring; NULL: none */
};

/* Appends a summary that fits 80 columns, most important line first; after packing it
 * ends with Python lines that open the file with fitting cache arguments, and `question`. */
enum pack_status pack_report_convert_text(const struct pack_convert_report *report,
                                          struct pack_buf *text, struct pack_error *err);

/* Appends one JSON object, schema "pack/1", as man h5pack defines it. */
enum pack_status pack_report_convert_json(const struct pack_convert_report *report,
                                          struct pack_buf *text, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
