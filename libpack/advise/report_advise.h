/* What h5advise found, as text for a terminal, as JSON, and as a picture. */
#ifndef LIBPACK_REPORT_ADVISE_H
#define LIBPACK_REPORT_ADVISE_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/advise.h>
#include <libpack/convert.h>
#include "libpack/base/buf.h"
#include "libpack/base/json.h"
#include "libpack/base/page.h"
#include "libpack/advise/advise_engine.h"
#include "libpack/advise/calibrate.h"
#include "libpack/advise/measured.h"
#include "libpack/advise/training.h"
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One run of the advisor: what was asked and what came out. All borrowed. */
struct pack_report_advise {
    const char *program, *version;
    const char *subject;      /* what is read: "train.h5:/images" */
    const char *type;         /* "uint8" */
    const char *file;         /* for code: the name of the file to read */
    const char *dataset;      /* for code: without a leading slash */
    const char *source;       /* folder of images, or NULL */
    const char *with;         /* for code: another dataset of the file, or NULL */
    bool needs_python;        /* for code: h5rechunk cannot write the dataset anew */
    const struct pack_convert_options *packed; /* how h5pack made the file, or would */
    const char *pattern;      /* as it was asked for: "block:chunks=8" */
    const char *hdf5_version; /* "1.10" */
    const char *code;         /* name of a snippet, "all", or NULL: a short selection */
    const struct pack_option_word *options; /* NULL: parameters go by their own names */
    bool is_what_if;          /* result.rows[0] is the one configuration asked for */
    const struct pack_measured *measured; /* NULL: times are assumed */
    const struct pack_advise_engine *engine; /* NULL: it was not asked about */
    const struct pack_trace_job *recorded; /* NULL: what is read is no trace */
    const struct pack_advise_params *params;
    const struct pack_advise_result *result;
};

/* At most 80 columns where names permit, the answer first. PACK_ERR_MEMORY. */
enum pack_status pack_report_advise_text(const struct pack_report_advise *report,
                                         struct pack_buf *buf, struct pack_error *err);

/* Its first lines alone: what to do, and what that brings. Needs params and result. */
enum pack_status pack_report_advise_headline(const struct pack_report_advise *report,
                                             struct pack_buf *buf,
                                             struct pack_error *err);

/* One object of schema "advise/1"; h5advise(1) defines it. */
enum pack_status pack_report_advise_json(const struct pack_report_advise *report,
                                         struct pack_buf *buf, struct pack_error *err);

/* What the first row would make of the training that was recorded; false: nothing tells. */
bool pack_report_training(const struct pack_report_advise *report,
                          struct pack_advise_training *training);

/* An array `key` of warnings, as that object has them. */
void pack_report_warnings_json(struct pack_json *json, const char *key,
                               const struct pack_advise_warning *warnings, size_t n);

/* Hit rate over chunk size and cache size as a heat map, with today's point and the
 * recommended one; samples/s where hardly anything is ever hit. */
enum pack_status pack_report_advise_svg(const struct pack_report_advise *report,
                                        struct pack_buf *buf, struct pack_error *err);

/* A measured profile, in words. */
enum pack_status pack_report_calibration_text(const struct pack_calibration *calibration,
                                              struct pack_buf *buf,
                                              struct pack_error *err);

enum { PACK_REPORT_PATTERN_MAX = 32 };
/* "shuffle", "block 16" into text[PACK_REPORT_PATTERN_MAX]. Returns text. */
char *pack_report_pattern(const struct pack_pattern *pattern, char *text);

#ifdef __cplusplus
}
#endif
#endif
