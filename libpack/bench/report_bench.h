/* The result of a reading benchmark: text for people, JSON, an SVG timeline, a Chrome
 * trace, Prometheus' text. */
#ifndef LIBPACK_REPORT_BENCH_H
#define LIBPACK_REPORT_BENCH_H

#include "libpack/bench/bench.h"
#include "libpack/bench/bench_advice.h"
#include "libpack/bench/bench_pixels.h"
#include "libpack/base/buf.h"
#include "libpack/base/page.h"
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pack_bench_report {
    const struct pack_bench_params *params;
    const struct pack_bench_result *result;
    const struct pack_bench_advice *advice; /* NULL: none */
    const struct pack_bench_preset *preset; /* NULL: none */
    const char *const *operands;            /* as given */
    size_t n_operands;
    const struct pack_option_word *options; /* NULL: parameters go by their own names */
    double min_busy;                        /* 0 to 1; negative: not asked for */
    const char *changed; /* what happened to a file meanwhile, a sentence; NULL: nothing */
};

/* Appends a report that fits 80 columns, the verdict first. */
enum pack_status pack_report_bench_text(const struct pack_bench_report *report,
                                        struct pack_buf *text, struct pack_error *err);

/* Appends one JSON object, schema "readbench/1", as man h5readbench defines it. */
enum pack_status pack_report_bench_json(const struct pack_bench_report *report,
                                        struct pack_buf *text, struct pack_error *err);

/* Timeline of reader processes and consumer, and utilisation over time; from the
 * result's events. */
enum pack_status pack_report_bench_svg(const struct pack_bench_report *report,
                                       struct pack_buf *text, struct pack_error *err);

/* The result's events in Chrome's trace format, which Perfetto opens. */
enum pack_status pack_report_bench_trace(const struct pack_bench_report *report,
                                         struct pack_buf *text, struct pack_error *err);

/* Gauges in Prometheus' text format, as man h5readbench lists them. */
enum pack_status pack_report_bench_prometheus(const struct pack_bench_report *report,
                                              struct pack_buf *text,
                                              struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
