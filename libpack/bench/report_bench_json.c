#include "libpack/bench/report_bench.h"

#include <math.h>

#include "config.h"
#include "libpack/advise/report_advise.h"
#include "libpack/base/json.h"
#include "libpack/model/cachesim_json.h"

/* libpack's own, where that is the engine. */
static void
put_reader(struct pack_json *json, const struct pack_bench_threads *t)
{
    if (!t->how[0]) {
        pack_json_null(json, "reader");
        return;
    }
    pack_json_object(json, "reader");
    pack_json_u64(json, "threads", t->n);
    pack_json_text(json, "strategy", t->how);
    pack_json_text(json, "reason", t->reason[0] ? t->reason : NULL);
    pack_json_u64(json, "slots", t->n_slots);
    pack_json_u64(json, "memory_bytes", t->memory_bytes);
    pack_json_close(json);
}

static void
put_options(struct pack_json *json, const struct pack_bench_report *report)
{
    const struct pack_bench_params *p = report->params;
    const struct pack_bench_result *r = report->result;
    pack_json_object(json, "options");
    pack_json_array(json, "files");
    for (size_t i = 0; i < report->n_operands; i++)
        pack_json_text(json, NULL, report->operands[i]);
    pack_json_close(json);
    pack_json_text(json, "dataset", p->set ? p->set->dataset : NULL);
    pack_json_text(json, "engine", r->setup.engine);
    pack_json_text(json, "pattern", pack_pattern_name(p->pattern.kind));
    pack_json_text(json, "read", pack_read_mode_name(p->pattern.read));
    pack_json_u64(json, "seed", r->setup.seed);
    pack_json_u64(json, "batch", r->setup.batch);
    pack_json_u64(json, "workers", r->setup.n_workers);
    pack_json_u64(json, "prefetch", r->setup.prefetch);
    pack_json_bool(json, "persistent_workers", !p->workers.fresh);
    pack_json_text(json, "hand_over", p->hand_over.torch ? "pytorch" : "slots");
    pack_json_u64(json, "sample_cost_ns", p->hand_over.sample_ns);
    pack_json_u64(json, "batch_cost_ns", p->hand_over.batch_ns);
    pack_json_u64(json, "echo", r->setup.echo);
    pack_json_text(json, "consumer", r->setup.consumer);
    pack_json_u64(json, "step_ns", p->consumer.params.step_ns);
    pack_json_bool(json, "cold", p->cold);
    pack_json_bool(json, "reopen", p->open.reopen);
    if (r->setup.has_cache) {
        pack_json_u64(json, "rdcc_nslots", r->setup.cache.n_slots);
        pack_json_u64(json, "rdcc_nbytes", r->setup.cache.size_bytes);
        pack_json_double(json, "rdcc_w0", r->setup.cache.w0);
    }
    pack_json_text(json, "hdf5_version", r->setup.hdf5_version);
    pack_json_close(json);
}

static void
put_cost(struct pack_json *json, const char *key, const struct pack_read_cost *c)
{
    pack_json_object(json, key);
    pack_json_u64(json, "calls", c->calls);
    pack_json_u64(json, "requests", c->requests);
    pack_json_u64(json, "file_reads", c->file_reads);
    pack_json_u64(json, "file_read_bytes", c->file_read_bytes);
    pack_json_u64(json, "wanted_bytes", c->wanted_bytes);
    pack_json_u64(json, "call_ns", c->call_ns);
    pack_json_u64(json, "storage_ns", c->storage_ns);
    pack_json_u64(json, "metadata_ns", c->metadata_ns);
    pack_json_u64(json, "decode_ns", c->decode_ns);
    pack_json_u64(json, "overhead_ns", c->overhead_ns);
    pack_json_u64(json, "reopen_ns", c->reopen_ns);
    pack_json_close(json);
}

static void
put_epoch(struct pack_json *json, const struct pack_bench_epoch *e)
{
    pack_json_u64(json, "elapsed_ns", e->elapsed_ns);
    pack_json_u64(json, "batches", e->n_batches);
    pack_json_u64(json, "samples", e->n_samples);
    pack_json_u64(json, "wait_ns", e->wait_ns);
    pack_json_u64(json, "work_ns", e->work.total_ns);
    pack_json_u64(json, "idle_ns", e->work.idle_ns);
    pack_json_u64(json, "assemble_ns", e->work.assemble_ns);
    pack_json_u64(json, "delay_ns", e->work.delay_ns);
    pack_json_u64(json, "collate_ns", e->work.collate_ns);
    pack_json_u64(json, "interpret_ns", e->work.interpret_ns);
    pack_json_u64(json, "start_ns", e->start_ns);
    pack_json_u64(json, "drop_ns", e->pages.drop_ns);
    if (e->work.knows_storage)
        pack_json_u64(json, "storage_bytes", e->work.storage_bytes);
    else
        pack_json_null(json, "storage_bytes");
    if (e->pages.cold == PACK_COLD_CHECKED)
        pack_json_u64(json, "resident_bytes", e->pages.resident_bytes);
    else
        pack_json_null(json, "resident_bytes");
    put_cost(json, "read", &e->work.read);
    put_cost(json, "with", &e->work.with);
}

static void
put_steps(struct pack_json *json, const struct pack_bench_steps *s)
{
    pack_json_object(json, "steps");
    pack_json_u64(json, "steps", s->n_steps);
    pack_json_u64(json, "samples", s->n_samples);
    pack_json_u64(json, "total_ns", s->total_ns);
    pack_json_u64(json, "compute_ns", s->compute_ns);
    pack_json_u64(json, "busy_ns", s->busy_ns);
    pack_json_u64(json, "starved_ns", s->starved_ns);
    pack_json_u64(json, "copy_wait_ns", s->copy_wait_ns);
    pack_json_u64(json, "pin_ns", s->pin_ns);
    pack_json_u64(json, "copy_ns", s->copy_ns);
    pack_json_u64(json, "copy_bytes", s->copy_bytes);
    pack_json_u64(json, "normalise_ns", s->normalise_ns);
    pack_json_close(json);
}

static void
put_device(struct pack_json *json, const struct pack_device_result *d)
{
    if (!d->name[0]) {
        pack_json_null(json, "device");
        return;
    }
    pack_json_object(json, "device");
    pack_json_text(json, "name", d->name);
    pack_json_text(json, "driver", d->driver);
    pack_json_u64(json, "memory_bytes", d->memory_bytes);
    pack_json_u64(json, "used_bytes", d->used_bytes);
    pack_json_double(json, "pinned_bytes_per_s", d->pinned_bytes_per_s);
    pack_json_double(json, "copy_bytes_per_s", d->copy_bytes_per_s);
    pack_json_double(json, "normalise_bytes_per_s", d->normalise_bytes_per_s);
    pack_json_double(json, "memory_bytes_per_s", d->memory_bytes_per_s);
    pack_json_u64(json, "nvml_samples", d->n_samples);
    pack_json_double(json, "utilisation", d->utilisation);
    pack_json_double(json, "pcie_bytes_per_s", d->pcie_bytes_per_s);
    pack_json_close(json);
}

static void
put_processors(struct pack_json *json, const struct pack_bench_result *r)
{
    uint64_t n = pack_bench_lanes(r);
    pack_json_array(json, "workers");
    for (uint64_t i = 0; i < n; i++) {
        pack_json_object(json, NULL);
        pack_json_u64(json, "user_ns", r->cpu.workers[i].user_ns);
        pack_json_u64(json, "system_ns", r->cpu.workers[i].system_ns);
        pack_json_close(json);
    }
    pack_json_close(json);
    if (!r->cpu.has_machine) {
        pack_json_null(json, "machine");
        return;
    }
    pack_json_object(json, "machine");
    pack_json_u64(json, "user_ns", r->cpu.machine.user_ns);
    pack_json_u64(json, "system_ns", r->cpu.machine.system_ns);
    pack_json_u64(json, "iowait_ns", r->cpu.machine.iowait_ns);
    pack_json_u64(json, "idle_ns", r->cpu.machine.idle_ns);
    pack_json_close(json);
}

/* The same bytes for the same input. */
static void
put_result(struct pack_json *json, const struct pack_bench_report *report)
{
    const struct pack_bench_result *r = report->result;
    pack_json_object(json, "result");
    pack_json_u64(json, "sample_bytes", r->setup.sample_bytes);
    pack_json_u64(json, "epoch_samples", r->setup.epoch_samples);
    pack_json_bool(json, "interrupted", r->interrupted);
    pack_json_object(json, "check");
    pack_json_u64(json, "compared", r->mismatch.n_compared);
    pack_json_u64(json, "different", r->mismatch.n);
    pack_json_text(json, "first", r->mismatch.n ? r->mismatch.text : NULL);
    pack_json_close(json);
    pack_json_object(json, "skipped");
    pack_json_u64(json, "images", r->total.work.read.skipped);
    pack_json_array(json, "reasons");
    for (uint32_t i = 0; i < r->skipped.n_reasons; i++)
        pack_json_text(json, NULL, r->skipped.reason[i]);
    pack_json_close(json);
    pack_json_close(json);
    pack_json_array(json, "epochs");
    for (uint64_t i = 0; i < r->n_epochs; i++) {
        pack_json_object(json, NULL);
        pack_cache_counts_print(json, "counts", &r->epochs[i].expected.set);
        pack_cache_counts_print(json, "with_counts", &r->epochs[i].expected.with);
        pack_json_rate(json, "hit_rate", pack_bench_hit_rate(&r->epochs[i]));
        pack_json_close(json);
    }
    pack_json_close(json);
    pack_json_close(json);
}

static void
put_verdict(struct pack_json *json, const struct pack_bench_report *report)
{
    const struct pack_bench_result *r = report->result;
    const struct pack_bench_advice *a = report->advice;
    pack_json_text(json, "limit", pack_limit_name(r->verdict.limit));
    pack_json_text(json, "cause", r->verdict.cause[0] ? r->verdict.cause : NULL);
    pack_json_text(json, "changed_file", report->changed);
    pack_json_text(json, "file_reads_from",
                   pack_limit_name(pack_bench_file_reads(r)));
    pack_json_double(json, "samples_per_s", pack_bench_rate(r));
    pack_json_double(json, "busy_rate", r->steps.busy_rate);
    if (r->steps.au >= 0)
        pack_json_double(json, "au", r->steps.au);
    else
        pack_json_null(json, "au");
    if (report->preset) {
        pack_json_text(json, "preset", report->preset->name);
        pack_json_bool(json, "au_passed", r->steps.au >= report->preset->au_min);
    }
    pack_json_u64(json, "advice_epochs", a ? a->epochs : 0);
    pack_json_array(json, "advice");
    for (size_t i = 0; a && i < a->n; i++) {
        char command[sizeof a->change[i].command];
        pack_json_object(json, NULL);
        pack_json_text(json, "change", a->change[i].kind);
        pack_json_text(json, "what", a->change[i].what);
        pack_json_text(json, "command",
                       pack_option_text(report->options, a->change[i].command, command,
                                        sizeof command));
        pack_json_double(json, "gain", a->change[i].gain);
        pack_json_double(json, "first_epoch_gain", a->change[i].first_gain);
        pack_json_double(json, "later_epochs_gain", a->change[i].later_gain);
        pack_json_double(json, "gain_low",
                         a->change[i].gain_low > 0 ? a->change[i].gain_low : NAN);
        pack_json_double(json, "gain_high",
                         a->change[i].gain_low > 0 ? a->change[i].gain_high : NAN);
        pack_json_text(json, "remark", a->change[i].remark[0] ? a->change[i].remark : NULL);
        pack_json_text(json, "basis",
                       a->change[i].is_measured ? "measured" : "predicted");
        pack_json_close(json);
    }
    pack_json_close(json);
    pack_report_warnings_json(json, "findings", a ? a->findings : NULL,
                              a ? a->n_findings : 0);
}

static void
put_measured(struct pack_json *json, const struct pack_bench_report *report)
{
    const struct pack_bench_result *r = report->result;
    pack_json_object(json, "measured");
    put_verdict(json, report);
    pack_json_u64(json, "elapsed_ns", r->elapsed_ns);
    pack_json_u64(json, "open_ns", r->open_ns);
    put_steps(json, &r->steps);
    pack_json_object(json, "total");
    put_epoch(json, &r->total);
    pack_json_close(json);
    pack_json_array(json, "epochs");
    for (uint64_t i = 0; i < r->n_epochs; i++) {
        pack_json_object(json, NULL);
        put_epoch(json, &r->epochs[i]);
        pack_json_close(json);
    }
    pack_json_close(json);
    pack_json_object(json, "file_read_latency");
    pack_json_u64(json, "reads", r->latency.n);
    pack_json_u64(json, "p50_ns", pack_histogram_at(&r->latency, 0.5));
    pack_json_u64(json, "p90_ns", pack_histogram_at(&r->latency, 0.9));
    pack_json_u64(json, "p99_ns", pack_histogram_at(&r->latency, 0.99));
    pack_json_u64(json, "max_ns", r->latency.max_ns);
    pack_json_close(json);
    put_device(json, &r->device);
    put_processors(json, r);
    put_reader(json, &r->setup.threads);
    pack_json_close(json);
}

enum pack_status
pack_report_bench_json(const struct pack_bench_report *report, struct pack_buf *text,
                       struct pack_error *err)
{
    struct pack_json json;
    pack_json_begin_report(&json, text, "readbench/1", "h5readbench", PACKAGE_VERSION);
    put_options(&json, report);
    put_result(&json, report);
    put_measured(&json, report);
    pack_json_close(&json);
    return pack_json_end(&json, err);
}
