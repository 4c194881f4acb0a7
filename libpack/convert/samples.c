/*
 * One task makes one sample from beginning to end on one thread (sample_chain.c), so that
 * an image stays in that core's cache. Asking for a later file before (open,
 * POSIX_FADV_WILLNEED, close) lets the kernel fetch it while this one is decoded; it
 * needs no state and no second thread.
 */
#include "libpack/convert/samples.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "libpack/base/system.h"
#include "libpack/convert/sample_chain.h"
#include "libpack/convert/sample_memory.h"

struct slot {
    struct pack_sample sample;
    struct pack_sample_place place;
};

struct pack_samples {
    struct pack_samples_params params; /* its watch is what the workers ask: */
    atomic_bool ended;                 /* nothing is to be waited for any more */
    struct pack_watch watch;           /* the caller's, asked on the caller's thread */
    struct pack_budget *budget;        /* what is left when all workers keep */
    struct pack_sample_chain *workers; /* n_threads */
    struct slot *slots;
    size_t n_slots;
    struct pack_pool *pool;
    unsigned lane;
    uint64_t next; /* record to submit */
};

static bool
is_ended(void *context)
{
    const struct pack_samples *s = context;
    return atomic_load(&s->ended);
}

/* Asks the caller's watch, which the workers must not. */
static void
poll_watch(void *context)
{
    struct pack_samples *s = context;
    if (pack_watch_stops(&s->watch))
        pack_samples_end(s);
}

static bool
is_unwilling(void *unused)
{
    (void)unused;
    return true;
}

static void
read_ahead(const struct pack_samples *s, uint64_t index)
{
    static const struct pack_watch at_once = { .stop = is_unwilling };
    int fd;
    if (index >= s->params.source->n_records)
        return;
    if (pack_source_open_watched(s->params.source, index, &at_once, &fd, NULL) != PACK_OK)
        return; /* said when its turn comes */
    pack_system_want_fd(fd);
    close(fd);
}

static void
work(void *item, unsigned number, void *context)
{
    struct pack_samples *s = context;
    struct slot *slot = item;
    uint64_t index = slot->sample.index;
    if (!s->params.no_readahead)
        read_ahead(s, index + s->n_slots);
    pack_sample_chain_run(&s->workers[number], index, &slot->place, &slot->sample);
    slot->sample.slot = (size_t)(slot - s->slots);
    if (s->params.on_made)
        s->params.on_made(s->params.context, number, &slot->sample);
}

/* -------------------------------------------------------------- the stream */

enum pack_status
pack_samples_new(const struct pack_samples_params *params, struct pack_samples **samples,
                 struct pack_error *err)
{
    struct pack_samples *s = calloc(1, sizeof *s);
    if (!s)
        return pack_fail_memory(err, "samples");
    uint64_t keep_bytes = pack_sample_keep_bytes(params->memory_bytes, params->n_threads);
    s->params = *params;
    s->watch = params->watch;
    s->params.watch = (struct pack_watch){ .context = s, .stop = is_ended };
    s->next = params->first;
    s->n_slots = params->n_slots ? params->n_slots : 4 * (size_t)params->n_threads + 4;
    s->slots = calloc(s->n_slots, sizeof *s->slots);
    s->workers = calloc(params->n_threads, sizeof *s->workers);
    enum pack_status status = pack_budget_new(
        pack_sample_budget_bytes(params->memory_bytes, params->n_threads), &s->budget, err);
    if (status == PACK_OK && (!s->slots || !s->workers))
        status = pack_fail_memory(err, "samples");
    for (unsigned i = 0; i < params->n_threads && status == PACK_OK; i++)
        status = pack_sample_chain_init(&s->workers[i], &s->params, s->budget, keep_bytes,
                                        err);
    if (status != PACK_OK) {
        pack_samples_free(s);
        return status;
    }
    *samples = s;
    return PACK_OK;
}

void
pack_samples_end(struct pack_samples *s)
{
    if (s)
        atomic_store(&s->ended, true);
}

void
pack_samples_free(struct pack_samples *s)
{
    if (!s)
        return;
    for (size_t i = 0; s->slots && i < s->n_slots; i++)
        free(s->slots[i].place.pixels);
    for (unsigned i = 0; s->workers && i < s->params.n_threads; i++)
        pack_sample_chain_done(&s->workers[i]);
    free(s->slots);
    free(s->workers);
    pack_budget_free(s->budget);
    free(s);
}

struct pack_pool_lane
pack_samples_lane(struct pack_samples *s)
{
    return (
        struct pack_pool_lane){ .work = work, .context = s, .in_flight_max = s->n_slots };
}

/* Submits the next record in a slot that is free: the slots are used in a circle. */
static void
submit(struct pack_samples *s)
{
    struct slot *slot = &s->slots[s->next % s->n_slots];
    slot->sample = (struct pack_sample){ .index = s->next++ };
    pack_pool_submit(s->pool, s->lane, slot);
}

void
pack_samples_start(struct pack_samples *s, struct pack_pool *pool, unsigned lane)
{
    s->pool = pool;
    s->lane = lane;
    /* one slot is the caller's: the sample it holds until it asks for the next */
    while (s->next < s->params.source->n_records &&
           s->next - s->params.first < s->n_slots - 1)
        submit(s);
}

const struct pack_sample *
pack_samples_next(struct pack_samples *s)
{
    struct slot *slot = pack_pool_next_polling(s->pool, s->lane, poll_watch, s);
    if (!slot)
        return NULL;
    if (s->next < s->params.source->n_records)
        submit(s);
    return &slot->sample;
}

uint64_t
pack_samples_peak_bytes(struct pack_samples *s)
{
    return pack_budget_peak(s->budget);
}
