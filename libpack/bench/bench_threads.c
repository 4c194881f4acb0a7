/*
 * There are no processes and no slots: the reader's threads make batches ahead, in a ring of
 * its own, and lend them in order. The consumer takes them from there, without a copy.
 */
#include "libpack/bench/bench_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/clock.h"
#include "libpack/bench/engine_parts.h"

struct bench_threads {
    const struct bench_plan *plan;
    struct pack_bench_setup *setup;
    struct pack_reader_buffers buffers;
    struct pack_reader *reader;
    struct bench_note note;
    struct pack_reader_info with; /* of the second dataset, so far */
    uint64_t end_ns, taken_ns; /* when the batch before was made, and taken */
    int64_t idle_ns;           /* of threads, not yet told; negative: told too much */
    bool knows_storage;
    struct pack_system_usage usage; /* up to there */
};

enum pack_status
pack_bench_threads_check(const struct pack_bench_params *p,
                         const struct pack_engine_ops *engine, struct pack_error *err)
{
    const struct {
        bool is_asked;
        const char *why;
    } refused[] = {
        { p->set->n_parts > 1, "reads one file at a time" },
        { p->pattern.read != PACK_READ_SAMPLE, "reads sample by sample, as it likes" },
        { p->open.set_cache, "has no chunk cache of HDF5's to set; its memory is set "
                             "instead" },
        { p->open.reopen, "opens the file once" },
        { p->hand_over.torch, "hands batches over in its own process" },
        { p->workers.fresh, "has no workers to end" },
        { p->workers.delay_ns > 0, "cannot be slowed down" },
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i].is_asked)
            return pack_fail_param(err, PACK_ERR_ARGUMENT, "engine", "engine '%s' %s",
                                   engine->name, refused[i].why);
    return PACK_OK;
}

static enum pack_status
open_reader(struct bench_threads *t, uint64_t round, uint64_t n_epochs,
            struct pack_error *err)
{
    const struct pack_bench_params *p = &t->plan->params;
    const struct pack_h5_dataset *data = p->set->parts[0].data;
    struct pack_reader_params params = {
        .file = data->file,
        .dataset = data->path,
        .pattern = t->plan->pattern,
        .n_epochs = n_epochs,
        .n_threads = (unsigned)t->plan->n_threads,
        .memory_bytes = p->reader.memory_bytes,
        .n_ahead = (unsigned)p->workers.prefetch,
        .strategy = t->plan->engine->strategy,
        .waits = true, /* for the clock */
        .buffers = t->buffers,
        .watch = p->watch,
    };
    params.pattern.epoch += round;
    const char *const further[] = { p->with ? p->with->parts[0].data->path : NULL };
    params.further = further;
    params.n_further = p->with ? 1 : 0;
    t->with = (struct pack_reader_info){ .engine = NULL };
    return pack_reader_open(&params, &t->reader, err);
}

/* What the reader says of itself. */
static enum pack_status
note_setup(struct bench_threads *t, struct pack_error *err)
{
    struct pack_reader_info info;
    struct pack_bench_threads *out = &t->setup->threads;
    enum pack_status status = pack_reader_info(t->reader, &info, err);
    if (status != PACK_OK)
        return status;
    *out = (struct pack_bench_threads){ .n = info.n_threads,
                                        .n_slots = info.n_slots,
                                        .memory_bytes = info.memory_bytes };
    snprintf(out->how, sizeof out->how, "%s", info.engine);
    snprintf(out->reason, sizeof out->reason, "%s", info.reason);
    t->setup->n_workers = info.n_threads;
    return PACK_OK;
}

enum pack_status
pack_bench_threads_open(const struct bench_plan *plan, struct pack_bench_setup *setup,
                        const struct pack_reader_buffers *buffers, struct bench_threads **out,
                        struct pack_error *err)
{
    struct bench_threads *t = calloc(1, sizeof *t);
    uint64_t bytes;
    if (!t)
        return pack_fail_memory(err, "a reader");
    t->plan = plan;
    t->setup = setup;
    t->buffers = *buffers;
    t->knows_storage = pack_system_storage_bytes(&bytes);
    enum pack_status status =
        open_reader(t, 0, plan->params.cold ? 1 : plan->params.stop.epochs, err);
    if (status == PACK_OK)
        status = note_setup(t, err);
    if (status != PACK_OK) {
        pack_bench_threads_close(t);
        return status;
    }
    *out = t;
    return PACK_OK;
}

void
pack_bench_threads_close(struct bench_threads *t)
{
    if (!t)
        return;
    pack_reader_close(t->reader);
    free(t);
}

void
pack_bench_threads_rest(struct bench_threads *t)
{
    pack_reader_close(t->reader);
    t->reader = NULL;
}

enum pack_status
pack_bench_threads_begin(struct bench_threads *t, uint64_t round, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    if (!t->reader)
        status = open_reader(t, round, 1, err);
    pack_system_usage(&t->usage);
    t->end_ns = t->taken_ns = pack_clock_ns();
    return status;
}

/* Calls are samples here; where HDF5 reads, only the time of all of it is known. */
static void
fill_note(struct bench_threads *t, const struct pack_reader_batch *batch)
{
    const struct pack_reader_work *work = &batch->work;
    struct pack_system_usage now, *before = &t->usage;
    uint64_t now_ns = pack_clock_ns(), known_ns = work->read_ns + work->decode_ns;
    uint64_t end_ns = batch->ready_ns > t->end_ns ? batch->ready_ns : t->end_ns;
    bool is_stock = strcmp(t->setup->threads.how, "hdf5") == 0;
    t->idle_ns += (int64_t)((now_ns - t->taken_ns) * t->setup->threads.n - work->total_ns);
    pack_system_usage(&now);
    t->note = (struct bench_note){
        .n_samples = batch->n_samples,
        .begin_ns = t->end_ns,
        .end_ns = end_ns,
        .work = { .total_ns = work->total_ns,
                  .idle_ns = t->idle_ns > 0 ? (uint64_t)t->idle_ns : 0,
                  .knows_storage = t->knows_storage,
                  .storage_bytes = now.storage_bytes - before->storage_bytes,
                  .read = { .calls = batch->n_samples,
                            .call_ns = is_stock ? work->total_ns : known_ns,
                            .overhead_ns = is_stock ? work->total_ns : 0,
                            .requests = work->visits,
                            .file_reads = work->file_reads,
                            .file_read_bytes = work->file_read_bytes,
                            .storage_ns = work->read_ns,
                            .decode_ns = work->decode_ns,
                            .wanted_bytes = batch->n_samples * t->plan->stride_bytes } },
        .n_hits = work->hits,
        .n_loads = work->loads,
    };
    *before = now;
    t->idle_ns -= (int64_t)t->note.work.idle_ns;
    t->end_ns = end_ns;
    t->taken_ns = now_ns;
}

/* What was read of the second dataset since the batch before; threads may be ahead. */
static enum pack_status
note_with(struct bench_threads *t, struct pack_error *err)
{
    struct pack_reader_info now;
    struct pack_read_cost *with = &t->note.work.with;
    if (!t->plan->params.with)
        return PACK_OK;
    enum pack_status status = pack_reader_further_info(t->reader, 0, &now, err);
    if (status != PACK_OK)
        return status;
    with->calls = t->note.n_samples;
    with->requests = now.visits - t->with.visits;
    with->file_reads = now.file_reads - t->with.file_reads;
    with->file_read_bytes = now.file_read_bytes - t->with.file_read_bytes;
    with->wanted_bytes = t->note.n_samples * t->plan->with_stride_bytes;
    t->with = now;
    return PACK_OK;
}

enum pack_status
pack_bench_threads_next(struct bench_threads *t, struct pack_procs_item *item,
                        struct pack_error *err)
{
    struct pack_reader_batch batch;
    enum pack_status status = pack_watch_check(&t->plan->params.watch, err);
    if (status != PACK_OK)
        return status;
    uint64_t begin_ns = pack_clock_ns();
    status = pack_reader_next(t->reader, &batch, err);
    if (status != PACK_OK)
        return status;
    if (batch.n_samples == 0)
        return pack_fail(err, PACK_ERR_ARGUMENT, "the pattern ended before the run");
    if (strcmp(t->setup->threads.how, "hdf5") == 0)
        batch.work.total_ns = pack_clock_ns() - begin_ns;
    fill_note(t, &batch);
    *item = (struct pack_procs_item){ .round = batch.epoch - t->plan->pattern.epoch,
                                      .number = batch.number,
                                      .data = batch.data,
                                      .note = &t->note };
    return note_with(t, err);
}

void
pack_bench_threads_count(const struct bench_note *note, struct pack_bench_epoch *epoch)
{
    const struct pack_read_cost *read = &note->work.read;
    struct pack_cache_counts part = { .requests = note->n_hits + note->n_loads,
                                      .hits = note->n_hits,
                                      .loads = note->n_loads,
                                      .decodes = note->n_loads,
                                      .file_reads = read->file_reads,
                                      .file_read_bytes = read->file_read_bytes,
                                      .wanted_bytes = read->wanted_bytes };
    pack_cache_counts_add(&epoch->expected.set, &part);
    epoch->expected.is_known = true;
}

const struct pack_engine_ops pack_engine_libpack = {
    .name = "libpack",
    .purpose = "libpack's reader: threads, and HDF5 only to open the file",
    .kind = PACK_ENGINE_SET,
    .is_threaded = true,
    .strategy = PACK_READER_AUTO,
};

const struct pack_engine_ops pack_engine_pread = {
    .name = "pread",
    .purpose = "the same, with reads at an offset",
    .kind = PACK_ENGINE_SET,
    .is_threaded = true,
    .strategy = PACK_READER_PREAD,
};

const struct pack_engine_ops pack_engine_mmap = {
    .name = "mmap",
    .purpose = "the same, out of a mapping of the file",
    .kind = PACK_ENGINE_SET,
    .is_threaded = true,
    .strategy = PACK_READER_MMAP,
};

const struct pack_engine_ops pack_engine_direct = {
    .name = "direct",
    .purpose = "the same, past the page cache",
    .kind = PACK_ENGINE_SET,
    .is_threaded = true,
    .strategy = PACK_READER_DIRECT,
};
