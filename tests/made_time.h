/*
 * Runs of the bench whose reads are real and whose times are made up of what was read, so
 * that what is concluded from them is the same on any machine at any moment. For tests that
 * are linked with -Wl,--wrap=FUNCTION for each of these (made_time_ldflags):
 *
 *     pack_trial_run       no more rounds than have to be, as all are alike
 *     pack_bench_run       a few epochs, as many batches as there is time for, no delays
 *     pack_bench_finish    times from counts
 *     pack_measure_pages   all pages are alike, unless told
 */
#ifndef TESTS_MADE_TIME_H
#define TESTS_MADE_TIME_H

#include <string.h>

#include "libpack/bench/bench_parts.h"
#include "libpack/bench/measure_storage.h"
#include "libpack/bench/trial.h"

enum { MADE_TIME_EPOCHS = 4 }; /* read of a run that would go on until its time is over */

/* What takes how long; all zero: times are those of the clock. */
static struct made_time {
    double call_ns;   /* of H5Dread */
    double byte_ns;   /* each byte that is read from the file */
    double decode_ns; /* each byte of a chunk with filters */
    double start_ns;  /* workers that are started with each epoch */
    double pages;     /* a read of the file's pages over one of a copy's; 0: alike */
    double on_file;   /* what a run of `file` takes over one of a copy; 0: as much */
    const char *file;
    double unsteady;  /* every third run of a trial takes so many times as long; 0: none */
} made_time;

static uint64_t made_time_runs; /* of a trial */

static struct pack_bench_params made_time_of; /* the run as it was asked for */
static uint64_t made_time_members;            /* of the last subset that was asked for */
static char made_time_pages_of[512];          /* the file whose pages were asked for */
static struct pack_page_reads made_time_reads; /* and how */

static bool
made_time_is_on(void)
{
    return made_time.call_ns > 0;
}

enum pack_status __real_pack_bench_run(const struct pack_bench_params *params,
                                       struct pack_bench_result *result,
                                       struct pack_error *err);
void __real_pack_bench_finish(uint64_t total_ns, struct pack_bench_result *result);
enum pack_status __wrap_pack_bench_run(const struct pack_bench_params *params,
                                       struct pack_bench_result *result,
                                       struct pack_error *err);
void __wrap_pack_bench_finish(uint64_t total_ns, struct pack_bench_result *result);
enum pack_status __real_pack_trial_run(const struct pack_bench_params *candidates,
                                       size_t n_candidates,
                                       const struct pack_trial_params *params,
                                       struct pack_trial_result *results,
                                       struct pack_error *err);
enum pack_status __wrap_pack_trial_run(const struct pack_bench_params *candidates,
                                       size_t n_candidates,
                                       const struct pack_trial_params *params,
                                       struct pack_trial_result *results,
                                       struct pack_error *err);

double __real_pack_measure_pages(const char *file, const char *copy,
                                 const struct pack_page_reads *reads);
double __wrap_pack_measure_pages(const char *file, const char *copy,
                                 const struct pack_page_reads *reads);

double
__wrap_pack_measure_pages(const char *file, const char *copy,
                          const struct pack_page_reads *reads)
{
    double pages = made_time.pages > 0 ? made_time.pages : 1;
    snprintf(made_time_pages_of, sizeof made_time_pages_of, "%s", file);
    made_time_reads = *reads;
    return made_time_is_on() ? pages : __real_pack_measure_pages(file, copy, reads);
}

enum pack_status
__wrap_pack_trial_run(const struct pack_bench_params *candidates, size_t n_candidates,
                      const struct pack_trial_params *params,
                      struct pack_trial_result *results, struct pack_error *err)
{
    struct pack_trial_params p = *params;
    made_time_runs = 0;
    if (made_time_is_on() && p.rounds_min) {
        uint32_t enough = made_time.unsteady > 0 ? p.rounds_min : PACK_TRIAL_FRESH + 2;
        p.rounds_max = p.rounds_min = p.rounds_min < enough ? p.rounds_min : enough;
    }
    return __real_pack_trial_run(candidates, n_candidates, &p, results, err);
}

/* Batches of so many workers that there is time for, were all chunks in their caches. */
static uint64_t
made_time_batches(const struct pack_bench_params *p)
{
    double batch_ns = (double)p->pattern.batch * made_time.call_ns +
                      (double)p->workers.delay_ns + (double)p->hand_over.batch_ns;
    double workers = p->workers.n ? (double)p->workers.n : 1;
    return 1 + (uint64_t)((double)p->stop.after_ns / batch_ns * workers);
}

enum pack_status
__wrap_pack_bench_run(const struct pack_bench_params *params,
                      struct pack_bench_result *result, struct pack_error *err)
{
    struct pack_bench_params p = *params;
    if (!made_time_is_on())
        return __real_pack_bench_run(params, result, err);
    made_time_of = p;
    if (p.pattern.subset)
        made_time_members = p.pattern.n_subset;
    if (p.stop.after_ns) {
        p.stop.epochs = p.stop.epochs < MADE_TIME_EPOCHS ? p.stop.epochs : MADE_TIME_EPOCHS;
        p.stop.batches = made_time_batches(&p);
        p.stop.after_ns = 0;
    }
    p.workers.delay_ns = p.hand_over.sample_ns = p.hand_over.batch_ns = 0;
    return __real_pack_bench_run(&p, result, err);
}

static void
made_time_work(const struct pack_bench_epoch *e, struct pack_bench_work *w)
{
    const struct pack_bench_params *p = &made_time_of;
    const struct pack_h5_dataset *d = p->set->parts[0].data;
    struct pack_read_cost *read = &w->read;
    double decoded = d->facts.pipeline.n > 0 ? (double)read->file_reads : 0;
    read->storage_ns = (uint64_t)((double)read->file_read_bytes * made_time.byte_ns);
    read->decode_ns =
        (uint64_t)(decoded * (double)d->chunks.grid.chunk_bytes * made_time.decode_ns);
    read->overhead_ns = (uint64_t)((double)read->calls * made_time.call_ns);
    read->metadata_ns = read->reopen_ns = 0;
    read->call_ns = read->storage_ns + read->decode_ns + read->overhead_ns;
    w->assemble_ns = w->collate_ns = w->idle_ns = 0;
    w->delay_ns = e->n_batches * p->workers.delay_ns;
    w->interpret_ns =
        e->n_samples * p->hand_over.sample_ns + e->n_batches * p->hand_over.batch_ns;
    w->total_ns = read->call_ns + w->delay_ns + w->interpret_ns;
}

void
__wrap_pack_bench_finish(uint64_t total_ns, struct pack_bench_result *r)
{
    uint64_t workers = r->setup.n_workers ? r->setup.n_workers : 1;
    double times = made_time.unsteady > 0 && ++made_time_runs % 3 == 0 ? made_time.unsteady : 1;
    if (made_time_is_on() && made_time.on_file > 0 &&
        strcmp(made_time_of.set->parts[0].data->file, made_time.file) == 0)
        times *= made_time.on_file;
    r->elapsed_ns = made_time_is_on() ? 0 : r->elapsed_ns;
    for (uint64_t i = 0; made_time_is_on() && i < r->n_epochs; i++) {
        struct pack_bench_epoch *e = &r->epochs[i];
        made_time_work(e, &e->work);
        e->start_ns = made_time_of.workers.fresh ? (uint64_t)made_time.start_ns : 0;
        e->elapsed_ns = (uint64_t)((double)(e->work.total_ns / workers) * times) + e->start_ns;
        e->wait_ns = e->elapsed_ns;
        r->elapsed_ns += e->elapsed_ns;
        r->warm_ns = r->warm_samples = 0;
    }
    __real_pack_bench_finish(total_ns, r);
}

#endif
