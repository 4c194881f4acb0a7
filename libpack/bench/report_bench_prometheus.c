/*
 * Prometheus' text format (version 0.0.4), for node_exporter's textfile collector and whoever
 * else reads it: gauges of one finished run, in base units, each with its HELP and TYPE and
 * with the labels file and dataset. What is not known has no line, rather than a zero.
 */
#include <inttypes.h>
#include <string.h>

#include "config.h"
#include "libpack/base/name.h"
#include "libpack/base/page.h"
#include "libpack/bench/report_bench.h"

/* A label's value: quotes, backslashes and ends of lines are escaped, bad UTF-8 is made
 * visible. */
static void
put_value(struct page *page, const char *text)
{
    char form[8];
    for (size_t n; *text; ) {
        if (*text == '"' || *text == '\\') {
            LINE(page, "\\%c", *text++);
            continue;
        }
        text += pack_name_visible(text, form, &n);
        for (size_t i = 0; i < n; i++)
            LINE(page, "%s%c", form[i] == '\\' ? "\\" : "", form[i]);
    }
}

static void
put_label(struct page *page, const char *name, const char *value, const char *before)
{
    LINE(page, "%s%s=\"", before, name);
    put_value(page, value);
    LINE(page, "\"");
}

/* "{file="a.h5,b.h5",dataset="images"", left open. */
static void
put_labels(struct page *page, const struct pack_bench_report *report)
{
    const struct pack_readset *set = report->params->set;
    LINE(page, "{file=\"");
    for (size_t i = 0; i < report->n_operands; i++) {
        LINE(page, "%s", i ? "," : "");
        put_value(page, report->operands[i]);
    }
    LINE(page, "\"");
    put_label(page, "dataset", set ? set->dataset : "", ",");
}

static void
put_family(struct page *page, const char *name, const char *help)
{
    LINE(page, "# HELP h5readbench_%s %s\n# TYPE h5readbench_%s gauge\n", name, help, name);
}

static void
put_one(struct page *page, const struct pack_bench_report *report, const char *name,
        const char *help, double value)
{
    put_family(page, name, help);
    LINE(page, "h5readbench_%s", name);
    put_labels(page, report);
    LINE(page, "} %.15g\n", value);
}

static double
seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

static void
put_info(struct page *page, const struct pack_bench_report *report)
{
    const struct pack_bench_result *r = report->result;
    put_family(page, "info", "What was run, in labels, and what limited it; always 1.");
    LINE(page, "h5readbench_info");
    put_labels(page, report);
    put_label(page, "version", PACKAGE_VERSION, ",");
    put_label(page, "engine", r->setup.engine, ",");
    put_label(page, "pattern", pack_pattern_name(report->params->pattern.kind), ",");
    put_label(page, "consumer", r->setup.consumer, ",");
    put_label(page, "limit", pack_limit_name(r->verdict.limit), ",");
    LINE(page, "} 1\n");
}

static void
put_stages(struct page *page, const struct pack_bench_report *report)
{
    const struct pack_bench_work *w = &report->result->total.work;
    uint64_t told = w->read.call_ns + w->with.call_ns + w->delay_ns + w->collate_ns +
                    w->interpret_ns;
    const struct {
        const char *name;
        uint64_t ns;
    } stages[] = {
        { "storage", w->read.storage_ns + w->with.storage_ns },
        { "metadata", w->read.metadata_ns + w->with.metadata_ns },
        { "reopen", w->read.reopen_ns + w->with.reopen_ns },
        { "decode", w->read.decode_ns + w->with.decode_ns },
        { "calls", w->read.overhead_ns + w->with.overhead_ns },
        { "assembly", w->total_ns > told ? w->total_ns - told : 0 },
        { "collate", w->collate_ns },
        { "interpreter", w->interpret_ns },
        { "delay", w->delay_ns },
        { "idle", w->idle_ns },
    };
    put_family(page, "stage_seconds",
               "Time of all workers together, by what they did; idle: waiting for a free "
               "buffer.");
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        LINE(page, "h5readbench_stage_seconds");
        put_labels(page, report);
        put_label(page, "stage", stages[i].name, ",");
        LINE(page, "} %.15g\n", seconds(stages[i].ns));
    }
}

static void
put_latency(struct page *page, const struct pack_bench_report *report)
{
    static const double quantiles[] = { 0.5, 0.9, 0.99 };
    const struct pack_histogram *latency = &report->result->latency;
    if (!latency->n)
        return;
    put_family(page, "file_read_seconds", "Time of one file read of raw data, by quantile.");
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        LINE(page, "h5readbench_file_read_seconds");
        put_labels(page, report);
        LINE(page, ",quantile=\"%g\"} %.15g\n", quantiles[i],
             seconds(pack_histogram_at(latency, quantiles[i])));
    }
}

static void
put_reads(struct page *page, const struct pack_bench_report *report)
{
    const struct pack_bench_epoch *t = &report->result->total;
    double hit_rate = pack_bench_hit_rate(t);
    put_one(page, report, "file_read_bytes", "Bytes of raw data read from the files.",
            (double)(t->work.read.file_read_bytes + t->work.with.file_read_bytes));
    put_one(page, report, "wanted_bytes", "Bytes of raw data that were asked for.",
            (double)(t->work.read.wanted_bytes + t->work.with.wanted_bytes));
    if (t->work.knows_storage)
        put_one(page, report, "storage_bytes",
                "Bytes that storage delivered, readahead included; the page cache had the "
                "rest.",
                (double)t->work.storage_bytes);
    if (t->expected.is_known && hit_rate >= 0)
        put_one(page, report, "cache_hit_ratio",
                "Hits of HDF5's chunk cache per chunk asked for, 0 to 1.", hit_rate);
}

static void
put_consumer(struct page *page, const struct pack_bench_report *report)
{
    const struct pack_bench_result *r = report->result;
    if (r->steps.n_steps < 2 || strcmp(r->setup.consumer, "null") == 0)
        return;
    put_one(page, report, "consumer_busy_ratio", "Time that the consumer was busy, 0 to 1.",
            r->steps.busy_rate);
    put_one(page, report, "consumer_starved_seconds",
            "Time that the consumer waited for data.", seconds(r->steps.starved_ns));
    if (r->steps.au >= 0)
        put_one(page, report, "accelerator_utilisation_ratio",
                "Nominal computing time per time, as MLPerf Storage has it, 0 to 1.",
                r->steps.au);
    if (r->device.n_samples)
        put_one(page, report, "gpu_utilisation_ratio", "GPU-Util of NVML, 0 to 1.",
                r->device.utilisation);
}

enum pack_status
pack_report_bench_prometheus(const struct pack_bench_report *report, struct pack_buf *text,
                             struct pack_error *err)
{
    const struct pack_bench_result *r = report->result;
    struct page page = { text, PACK_OK, err };
    put_info(&page, report);
    put_one(&page, report, "samples_per_second", "Fresh samples per second.",
            pack_bench_rate(r));
    put_one(&page, report, "elapsed_seconds", "Length of the measured epochs.",
            seconds(r->elapsed_ns));
    put_one(&page, report, "samples", "Samples that were delivered.",
            (double)r->total.n_samples);
    put_one(&page, report, "batches", "Batches that were delivered.",
            (double)r->total.n_batches);
    put_one(&page, report, "batch_wait_seconds",
            "Time that the training loop waited for batches.", seconds(r->total.wait_ns));
    put_consumer(&page, report);
    put_reads(&page, report);
    put_stages(&page, report);
    put_latency(&page, report);
    put_one(&page, report, "skipped_images", "Images that could not be decoded.",
            (double)r->total.work.read.skipped);
    put_one(&page, report, "interrupted", "1: the run was stopped before its end.",
            r->interrupted);
    put_one(&page, report, "changed", "1: a file changed while it was read.",
            report->changed != NULL);
    return page.status;
}
