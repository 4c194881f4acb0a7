/*
 * A reader is prepared as for reading, down to how its memory would be shared out; then
 * batches are drawn and planned by the reader's own functions, one after another, and what
 * their visits would do is added up.
 */
#include "libpack/reader/forecast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/reader/reader_parts.h"

enum {
    EPOCHS_MAX = 3, /* counted; further ones are like these */
    VISITS_MAX = 1 << 20,
    SHORT_RUN = 8 /* bytes; strided.c copies elements one by one */
};

struct counting {
    struct pack_reader *reader;
    struct pack_job job;
    uint64_t room_bytes; /* that a thread reads into */
    uint64_t samples_max;
    struct pack_forecast_counts epochs[EPOCHS_MAX], half; /* half: of an epoch cut short */
    uint64_t n_epochs;   /* that were ended */
    bool is_cut;
};

static void
count_read(struct counting *c, const struct pack_visit *visit,
           struct pack_forecast_counts *counts)
{
    const struct pack_reader *r = c->reader;
    struct pack_strided s;
    for (uint32_t i = visit->first; i < visit->first + visit->n; i++) {
        pack_reader_strided(r, &c->job, &c->job.drawn.pieces[i], &s);
        pack_chunkload_count(&s, c->room_bytes, &counts->reads, &counts->read_bytes);
    }
}

/* Of a chunk that goes through filters: what it takes to have it decoded, and of it. */
static void
count_coded(struct counting *c, const struct pack_visit *visit,
            const struct pack_chunk *chunk, struct pack_forecast_counts *counts)
{
    const struct pack_reader *r = c->reader;
    struct pack_strided s;
    if (visit->step.action == PACK_PLAN_HIT) {
        counts->hits++;
    } else {
        counts->loads++;
        counts->load_bytes += chunk->stored_bytes;
    }
    for (uint32_t i = visit->first; i < visit->first + visit->n; i++) {
        pack_reader_strided(r, &c->job, &c->job.drawn.pieces[i], &s);
        uint64_t n = pack_strided_runs(&s, 0);
        counts->copy_bytes += s.run_bytes * n;
        *(s.run_bytes <= SHORT_RUN ? &counts->short_runs : &counts->runs) += n;
    }
}

static void
count_batch(struct counting *c, struct pack_forecast_counts *counts)
{
    const struct pack_drawn *drawn = &c->job.drawn;
    const struct pack_rowmap_file *file;
    struct pack_chunk chunk;
    counts->n_batches++;
    counts->n_samples += drawn->n_samples;
    counts->visits += drawn->n_visits;
    for (size_t i = 0; i < drawn->n_visits; i++) {
        const struct pack_visit *visit = &drawn->visits[i];
        switch (pack_rowmap_chunk(&c->reader->rows, visit->number, &file, &chunk)) {
        case PACK_CHUNK_CODED: count_coded(c, visit, &chunk, counts); break;
        case PACK_CHUNK_RAW: count_read(c, visit, counts); break;
        default: break; /* nothing is read */
        }
    }
}

/* Batch by batch, until the epochs or the visits that are allowed come to an end. */
static enum pack_status
count_epochs(struct counting *c, struct pack_error *err)
{
    struct pack_reader *r = c->reader;
    uint64_t first = r->params.pattern.epoch, visits = 0, samples = 0;
    enum pack_status status = PACK_OK;
    while (status == PACK_OK && pack_reader_plan_job(r, &c->job)) {
        uint64_t epoch = c->job.drawn.epoch - first;
        if (epoch > c->n_epochs)
            c->n_epochs = epoch;
        if (epoch == EPOCHS_MAX)
            return PACK_OK;
        count_batch(c, &c->epochs[epoch]);
        visits += c->job.drawn.n_visits;
        samples += c->job.drawn.n_samples;
        if (visits >= VISITS_MAX || samples >= c->samples_max) {
            c->is_cut = epoch == 0;
            return PACK_OK; /* of later epochs those that were seen as a whole count */
        }
        if (visits < VISITS_MAX / 2 && samples < c->samples_max / 2)
            c->half = c->epochs[0];
        status = pack_watch_check(&r->params.watch, err);
    }
    c->n_epochs++;
    return status;
}

static void
add(struct pack_forecast_counts *sum, const struct pack_forecast_counts *part, int sign)
{
    const uint64_t n = (uint64_t)(int64_t)sign;
    sum->n_samples += n * part->n_samples;
    sum->n_batches += n * part->n_batches;
    sum->visits += n * part->visits;
    sum->loads += n * part->loads;
    sum->load_bytes += n * part->load_bytes;
    sum->hits += n * part->hits;
    sum->copy_bytes += n * part->copy_bytes;
    sum->short_runs += n * part->short_runs;
    sum->runs += n * part->runs;
    sum->reads += n * part->reads;
    sum->read_bytes += n * part->read_bytes;
}

static void
conclude(const struct counting *c, struct pack_forecast *f)
{
    f->first = c->epochs[0];
    f->is_exact = !c->is_cut;
    if (c->is_cut && c->half.n_samples > 0) {
        f->later = f->first;
        add(&f->later, &c->half, -1);
        return;
    }
    for (uint64_t i = 1; i < c->n_epochs && i < EPOCHS_MAX; i++)
        add(&f->later, &c->epochs[i], 1);
    if (f->later.n_samples == 0)
        f->later = f->first;
}

static enum pack_status
count(struct pack_reader *r, uint64_t samples_max, struct pack_forecast *f,
      struct pack_error *err)
{
    struct counting *c = calloc(1, sizeof *c);
    if (!c)
        return pack_fail_memory(err, "a forecast");
    c->reader = r;
    c->samples_max = samples_max ? samples_max : UINT64_MAX;
    c->room_bytes = pack_reader_room_bytes(r);
    enum pack_status status = pack_reader_allocate_plan(r, err);
    if (status == PACK_OK)
        status = pack_drawn_init(&c->job.drawn, &r->present, err);
    if (status == PACK_OK)
        status = count_epochs(c, err);
    if (status == PACK_OK)
        conclude(c, f);
    pack_drawn_done(&c->job.drawn);
    free(c);
    return status;
}

static enum pack_status
look(struct pack_reader *r, uint64_t samples_max, struct pack_forecast *f,
     struct pack_error *err)
{
    enum pack_status status = pack_reader_prepare(r, err);
    if (status == PACK_OK)
        status = pack_reader_share(r, err);
    if (status != PACK_OK)
        return status;
    *f = (struct pack_forecast){ .engine = r->info.engine,
                                 .n_threads = r->info.n_threads,
                                 .memory_bytes = r->info.memory_bytes,
                                 .n_slots = r->info.n_slots,
                                 .chunk_bytes = r->rows.chunk_bytes,
                                 .sample_bytes = r->sample_bytes,
                                 .epoch_samples = pack_pattern_length(r->present.iter) };
    snprintf(f->reason, sizeof f->reason, "%s", r->info.reason);
    return r->stock ? PACK_OK : count(r, samples_max, f, err);
}

enum pack_status
pack_forecast(const struct pack_reader_params *params, uint64_t samples_max,
              struct pack_forecast *forecast, struct pack_error *err)
{
    struct pack_forecast f;
    enum pack_status status = pack_reader_check(params, err);
    if (status != PACK_OK)
        return status;
    struct pack_reader *r = calloc(1, sizeof *r);
    if (!r)
        return pack_fail_memory(err, "a forecast");
    r->params = *params;
    r->params.further = NULL;
    r->params.n_further = 0;
    r->params.transform = NULL;
    r->params.buffers = (struct pack_reader_buffers){ .allocate = NULL };
    status = look(r, samples_max, &f, err);
    pack_reader_close(r);
    if (status == PACK_OK)
        *forecast = f;
    return status;
}
