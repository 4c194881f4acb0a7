#include "libpack/bench/report_bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libpack/base/numbers.h"
#include "libpack/base/page.h"

static double
seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

static double
percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* "12.3 us", "4.56 ms", "1.20 s" into text[32]; returns text. */
static char *
duration(uint64_t ns, char *text)
{
    double v = (double)ns;
    if (v < 1e6)
        snprintf(text, 32, "%.1f us", v / 1e3);
    else if (v < 1e9)
        snprintf(text, 32, "%.2f ms", v / 1e6);
    else
        snprintf(text, 32, "%.2f s", v / 1e9);
    return text;
}

/* ----------------------------------------------------------------- verdict */

static void
put_verdict(struct page *page, const struct pack_bench_report *report)
{
    const struct pack_bench_result *r = report->result;
    if (r->verdict.limit == PACK_LIMIT_UNKNOWN)
        LINE(page, "no batch was finished: nothing is known of what limits it\n");
    else if (strcmp(r->setup.consumer, "null") == 0)
        LINE(page, "%.1f samples/s from the reader alone, limited by %s\n",
             pack_bench_rate(r), pack_limit_name(r->verdict.limit));
    else if (r->steps.n_steps < 2)
        LINE(page, "too few steps to say how busy the consumer was, limited by %s\n",
             pack_limit_name(r->verdict.limit));
    else
        LINE(page, "consumer busy %.1f %%, limited by %s\n", 100 * r->steps.busy_rate,
             pack_limit_name(r->verdict.limit));
    if (r->verdict.cause[0])
        pack_page_wrap(page, "  ", r->verdict.cause, 2);
    if (r->interrupted)
        LINE(page, "  (stopped before the end; this is what was measured so far)\n");
    if (report->changed) {
        LINE(page, "\n");
        pack_page_wrap(page, "MIND  while it was read, ", report->changed, 6);
        LINE(page, "      what was measured is of no use\n");
    }
    if (r->mismatch.n) {
        LINE(page,
             "\nERROR OF H5READBENCH: %" PRIu64 " of %s from the simulator's\n",
             r->mismatch.n,
             pack_counted(r->mismatch.n_compared, "count differs", "counts differ").text);
        pack_page_wrap(page, "  ", r->mismatch.text, 2);
    }
    if (r->total.work.read.skipped)
        LINE(page,
             "\n%s left out, such as\n",
             pack_counted(r->total.work.read.skipped,
                          "image could not be decoded and was",
                          "images could not be decoded and were").text);
    for (uint32_t i = 0; i < r->skipped.n_reasons; i++)
        pack_page_wrap(page, "  ", r->skipped.reason[i], 2);
}

static void
put_speed(struct page *page, const struct pack_bench_report *report)
{
    const struct pack_bench_result *r = report->result;
    const struct pack_bench_epoch *t = &r->total;
    double s = seconds(r->elapsed_ns);
    LINE(page,
         "\n%.1f samples/s, %.1f MB/s: %s of %" PRIu64 " in %.2f s, %s, seed %" PRIu64
         "\n",
         pack_bench_rate(r),
         s > 0 ? (double)(t->n_samples * r->setup.sample_bytes) / s / 1e6 : 0,
         pack_counted(t->n_batches, "batch", "batches").text, r->setup.batch, s,
         pack_counted(r->n_epochs, "epoch", "epochs").text, r->setup.seed);
    if (r->setup.echo > 1)
        LINE(page, "%.2f steps/s, each batch used %" PRIu64 " times\n",
             s > 0 ? (double)r->steps.n_steps / s : 0, r->setup.echo);
    if (r->steps.au >= 0 && report->preset)
        LINE(page, "AU %.1f %% of computing time, %s asks for %.0f %%: %s\n",
             100 * r->steps.au, report->preset->name, 100 * report->preset->au_min,
             r->steps.au >= report->preset->au_min ? "pass" : "fail");
    else if (r->steps.au >= 0)
        LINE(page, "AU %.1f %% (computing time over total, first step left out)\n",
             100 * r->steps.au);
    uint64_t echo = pack_bench_echo_for(r, 0.9);
    if (r->steps.au >= 0 && r->steps.busy_rate < 0.9 && echo > r->setup.echo)
        LINE(page, "%s %" PRIu64 " would keep the consumer busy for 90 %%\n",
             pack_option_word(report->options, "echo"), echo);
}

/* ------------------------------------------------------------------- times */

static void
put_stage(struct page *page, const struct pack_bench_result *r, const char *name,
          uint64_t ns)
{
    const struct pack_bench_epoch *t = &r->total;
    uint64_t n = t->n_batches ? t->n_batches : 1;
    LINE(page, "  %-34s %10.3f ms  %5.1f %%\n", name, (double)ns / (double)n / 1e6,
         percent(ns, t->work.total_ns + t->work.idle_ns));
}

/* What stands for PyTorch, and which part of it is a figure of ours. */
static void
put_hand_over(struct page *page, const struct pack_bench_report *report)
{
    const struct pack_bench_params *p = report->params;
    const struct pack_bench_epoch *t = &report->result->total;
    char sample[32], batch[32];
    if (p->hand_over.torch)
        LINE(page,
             "  handed over as by PyTorch; Python is %s a sample and %s a batch,\n"
             "  which is stated, not measured here\n",
             duration(p->hand_over.sample_ns, sample),
             duration(p->hand_over.batch_ns, batch));
    if (t->start_ns)
        LINE(page, "  %.2f s went into starting and ending workers with each epoch\n",
             seconds(t->start_ns));
}

static void
put_stages(struct page *page, const struct pack_bench_report *report)
{
    const struct pack_bench_result *r = report->result;
    const struct pack_bench_epoch *t = &r->total;
    const struct pack_read_cost *a = &t->work.read, *b = &t->work.with;
    uint64_t calls_ns = a->call_ns + b->call_ns;
    uint64_t known_ns =
        calls_ns + t->work.delay_ns + t->work.collate_ns + t->work.interpret_ns;
    uint64_t rest_ns = t->work.total_ns > known_ns ? t->work.total_ns - known_ns : 0;
    const char *reads = pack_limit_name(pack_bench_file_reads(r));
    char chunks[64], indexes[64];
    snprintf(chunks, sizeof chunks, "%s: reading chunks", reads);
    snprintf(indexes, sizeof indexes, "%s: reading indexes", reads);
    LINE(page, "\n%-36s%13s %9s\n",
         r->setup.threads.n   ? "where the threads' time went"
         : r->setup.n_workers ? "where the workers' time went"
                              : "where the time went",
         "per batch", "share");
    put_stage(page, r, chunks, a->storage_ns + b->storage_ns);
    put_stage(page, r, indexes, a->metadata_ns + b->metadata_ns);
    if (a->reopen_ns + b->reopen_ns)
        put_stage(page, r, "opening the dataset each time", a->reopen_ns + b->reopen_ns);
    put_stage(page, r, "decode", a->decode_ns + b->decode_ns);
    if (r->setup.threads.n == 0 || a->overhead_ns > 0)
        put_stage(page, r,
                  strcmp(r->setup.engine, "images") == 0 ? "other work"
                                                         : "HDF5 calls and copies",
                  a->overhead_ns + b->overhead_ns);
    put_stage(page, r, r->setup.threads.n ? "copying, waiting for chunks" : "CPU assembly",
              rest_ns);
    if (t->work.collate_ns)
        put_stage(page, r, "copying into new shared memory", t->work.collate_ns);
    if (t->work.interpret_ns)
        put_stage(page, r, "the interpreter, as stated below", t->work.interpret_ns);
    if (t->work.delay_ns)
        put_stage(page, r, "the delay asked for", t->work.delay_ns);
    put_stage(page, r,
              r->setup.n_workers ? "waiting for a free buffer"
                                 : "outside, in the consumer",
              t->work.idle_ns);
    put_hand_over(page, report);
}

static void
put_consumer(struct page *page, const struct pack_bench_result *r)
{
    const struct pack_bench_steps *s = &r->steps;
    if (s->n_steps < 2 || strcmp(r->setup.consumer, "null") == 0)
        return;
    double n = (double)(s->n_steps - 1) * 1e6;
    LINE(page, "\n%s: %s, %.3f ms busy and %.3f ms starved in each%s\n",
         r->setup.consumer, pack_counted(s->n_steps, "step", "steps").text,
         (double)s->busy_ns / n, (double)s->starved_ns / n,
         s->copy_bytes ? "," : "");
    if (s->copy_bytes)
        LINE(page, "  %.3f ms of that waiting for the copy to the device\n",
             (double)s->copy_wait_ns / n);
}

static void
put_device(struct page *page, const struct pack_bench_result *r)
{
    const struct pack_device_result *d = &r->device;
    char used[PACK_BYTES_TEXT_MAX], all[PACK_BYTES_TEXT_MAX];
    if (!d->name[0])
        return;
    LINE(page, "\n%s, %s; %s of %s used\n", d->name, d->driver,
         pack_bytes_format(d->used_bytes, used), pack_bytes_format(d->memory_bytes, all));
    LINE(page,
         "  copies      %8.2f GB/s, %.0f %% of the %.2f GB/s that pinned memory gives\n",
         d->copy_bytes_per_s / 1e9,
         d->pinned_bytes_per_s > 0 ? 100 * d->copy_bytes_per_s / d->pinned_bytes_per_s
                                   : 0,
         d->pinned_bytes_per_s / 1e9);
    LINE(page, "  normalise   %8.2f GB/s", d->normalise_bytes_per_s / 1e9);
    if (d->memory_bytes_per_s > 0)
        LINE(page, ", %.0f %% of the memory's %.0f GB/s",
             100 * d->normalise_bytes_per_s / d->memory_bytes_per_s,
             d->memory_bytes_per_s / 1e9);
    LINE(page, "\n");
    if (d->n_samples)
        LINE(page,
             "  NVML        GPU-Util %.0f %%, PCIe received %.2f GB/s (%s)\n",
             100 * d->utilisation, d->pcie_bytes_per_s / 1e9,
             pack_counted(d->n_samples, "sample", "samples").text);
}

/* ------------------------------------------------------------------ counts */

static void
put_epoch(struct page *page, const struct pack_bench_epoch *e, uint64_t number)
{
    char hits[32] = "-", loads[32] = "-";
    double hit_rate = pack_bench_hit_rate(e);
    if (hit_rate >= 0)
        snprintf(hits, sizeof hits, "%.1f %%", 100 * hit_rate);
    if (e->expected.is_known)
        snprintf(loads, sizeof loads, "%" PRIu64, e->expected.set.loads);
    LINE(page, "  %5" PRIu64 "  %10.1f  %9" PRIu64 "  %8s  %9s  %10.1f  %8.2f\n", number,
         e->elapsed_ns ? (double)e->n_samples * 1e9 / (double)e->elapsed_ns : 0,
         e->work.read.requests, hits, loads, (double)e->work.read.file_read_bytes / 1e6,
         pack_bench_amplification(e));
}

enum { EPOCHS_SHOWN = 5 }; /* of the first ones, and of the last ones */

static void
put_reader(struct page *page, const struct pack_bench_threads *t)
{
    char memory[PACK_BYTES_TEXT_MAX];
    if (strcmp(t->how, "hdf5") == 0) {
        LINE(page, "\nlibpack's reader leaves it to HDF5, in one thread: %s\n", t->reason);
        return;
    }
    LINE(page, "\nlibpack's reader (%s): %s, %s in all, room for %s\n", t->how,
         pack_counted(t->n, "thread", "threads").text,
         pack_bytes_format(t->memory_bytes, memory),
         pack_counted(t->n_slots, "decoded chunk", "decoded chunks").text);
    if (t->reason[0])
        LINE(page, "  %s\n", t->reason);
}

static void
put_epochs(struct page *page, const struct pack_bench_result *r)
{
    const struct pack_cache_counts *c = &r->total.expected.set;
    char cache[PACK_BYTES_TEXT_MAX];
    if (r->setup.threads.how[0])
        put_reader(page, &r->setup.threads);
    else if (r->setup.has_cache)
        LINE(page, "\nchunk cache%s: %s, %s, w0 %g (HDF5 %s)\n",
             r->setup.n_workers > 1 ? " of each worker" : "",
             pack_counted(r->setup.cache.n_slots, "slot", "slots").text,
             pack_bytes_format(r->setup.cache.size_bytes, cache), r->setup.cache.w0,
             r->setup.hdf5_version);
    else if (c->requests)
        LINE(page, "\na chunk cache for each source of the virtual dataset\n");
    else
        LINE(page, "\nno chunk cache at work\n");
    LINE(page, "  epoch   samples/s   requests  hit rate      loads     "
               "MB read  x wanted\n");
    for (uint64_t i = 0; i < r->n_epochs; i++)
        if (i < EPOCHS_SHOWN || i + EPOCHS_SHOWN >= r->n_epochs)
            put_epoch(page, &r->epochs[i], i + 1);
        else if (i == EPOCHS_SHOWN)
            LINE(page, "    ...\n");
    if (c->bypass_visits)
        LINE(page,
             "  %s went past the cache, in %s of just what was wanted\n",
             pack_counted(c->bypass_visits, "request", "requests").text,
             pack_counted(c->file_reads - c->loads, "read", "reads").text);
    if (c->fills)
        LINE(page,
             "  %s for chunks without storage, filled in memory\n",
             pack_counted(c->fills, "request", "requests").text);
    if (c->evictions_collision)
        LINE(page, "  %s because two chunks had one slot\n",
             pack_counted(c->evictions_collision, "eviction", "evictions").text);
    if (r->mismatch.n_compared && !r->mismatch.n)
        LINE(page,
             "  reads and bytes equal the simulator's in %s%s\n",
             r->mismatch.n_compared == 1 ? "" : "all ",
             pack_counted(r->mismatch.n_compared, "comparison", "comparisons").text);
}

static void
put_storage(struct page *page, const struct pack_bench_report *report)
{
    const struct pack_bench_result *r = report->result;
    const struct pack_bench_epoch *t = &r->total;
    char a[32], b[32], c[32], d[32];
    if (r->latency.n)
        LINE(page, "\nfile reads: half within %s, 90 %% %s, 99 %% %s, longest %s\n",
             duration(pack_histogram_at(&r->latency, 0.5), a),
             duration(pack_histogram_at(&r->latency, 0.9), b),
             duration(pack_histogram_at(&r->latency, 0.99), c),
             duration(r->latency.max_ns, d));
    uint64_t read = t->work.read.file_read_bytes + t->work.with.file_read_bytes;
    if (t->work.knows_storage) {
        uint64_t from_storage =
            t->work.storage_bytes < read ? t->work.storage_bytes : read;
        LINE(page,
             "  %.1f MB from storage (readahead included), "
             "%.1f MB from the page cache\n",
             (double)t->work.storage_bytes / 1e6, (double)(read - from_storage) / 1e6);
    }
    if (t->pages.cold == PACK_COLD_PARTLY)
        LINE(page, "  data in external files (H5Pset_external) was NOT made cold\n");
    else if (t->pages.cold == PACK_COLD_ASSUMED)
        LINE(page, "  cold is assumed: pages were dropped, and the system does not tell "
                   "what stayed\n");
    else if (t->pages.cold == PACK_COLD_CHECKED)
        LINE(page, "  cold: %.1f MB were still in the page cache when epochs began%s\n",
             (double)t->pages.resident_bytes / 1e6,
             t->pages.resident_bytes > read / 20 ? "; this was NOT cold" : "");
    if (t->pages.drop_ns)
        LINE(page, "  dropping pages took %.2f s, which no rate contains\n",
             seconds(t->pages.drop_ns));
}

static void
put_processors(struct page *page, const struct pack_bench_result *r)
{
    uint64_t n = pack_bench_lanes(r), user = 0, system = 0;
    for (uint64_t i = 0; i < n; i++) {
        user += r->cpu.workers[i].user_ns;
        system += r->cpu.workers[i].system_ns;
    }
    uint64_t lived = n * r->elapsed_ns;
    LINE(page, "\nprocessors: %s %.0f %% user, %.0f %% system",
         pack_bench_lanes(r) > 1 || (r->setup.n_workers && !r->setup.threads.n)
             ? "each worker"
             : "this process", percent(user, lived),
         percent(system, lived));
    if (r->cpu.has_machine) {
        uint64_t all = r->cpu.machine.user_ns + r->cpu.machine.system_ns +
                       r->cpu.machine.iowait_ns + r->cpu.machine.idle_ns;
        LINE(page, "; the machine %.0f %% busy, %.0f %% iowait",
             percent(r->cpu.machine.user_ns + r->cpu.machine.system_ns, all),
             percent(r->cpu.machine.iowait_ns, all));
    }
    LINE(page, "\n");
}

/* The first epoch, with its empty caches, may well lose what the others gain. */
static bool
is_uneven(const struct pack_bench_change *c)
{
    return c->first_gain < 0.95 * c->later_gain || c->first_gain > 1.05 * c->later_gain;
}

static void
put_findings(struct page *page, const struct pack_bench_advice *advice)
{
    for (size_t i = 0; advice && i < advice->n_findings; i++) {
        LINE(page, "\nmind\n");
        pack_page_wrap(page, "  ", advice->findings[i].text, 2);
    }
}

static void
put_advice(struct page *page, const struct pack_bench_report *report)
{
    const struct pack_bench_advice *advice = report->advice;
    if (!advice || advice->n == 0)
        return;
    LINE(page, "\nworth most in a training of %s\n",
         pack_counted(advice->epochs, "epoch", "epochs").text);
    for (size_t i = 0; i < advice->n; i++) {
        const struct pack_bench_change *c = &advice->change[i];
        char command[sizeof c->command];
        LINE(page, "  %5.2fx %-9s  %s\n", c->gain, c->is_measured ? "measured" : "predicted",
             c->what);
        if (c->gain_low > 0)
            LINE(page, "                    (%.2fx to %.2fx in 95 of 100 cases)\n",
                 c->gain_low, c->gain_high);
        if (c->remark[0])
            LINE(page, "                    (%s)\n", c->remark);
        if (is_uneven(c))
            LINE(page, "                    (the first epoch %.2fx, later ones %.2fx)\n",
                 c->first_gain, c->later_gain);
        LINE(page, "                    %s\n",
             pack_option_text(report->options, c->command, command, sizeof command));
    }
}

enum pack_status
pack_report_bench_text(const struct pack_bench_report *report, struct pack_buf *text,
                       struct pack_error *err)
{
    const struct pack_bench_result *r = report->result;
    struct page page = { text, PACK_OK, err };
    put_verdict(&page, report);
    put_speed(&page, report);
    put_stages(&page, report);
    put_consumer(&page, r);
    put_device(&page, r);
    put_epochs(&page, r);
    put_storage(&page, report);
    put_processors(&page, r);
    put_findings(&page, report->advice);
    put_advice(&page, report);
    return page.status;
}
