/*
 * One mutex, two conditions. Each lane is a ring of slots; between `head` and `tail` they
 * are
 *
 *     head ... done or running ... | next ... queued ... tail
 *
 * Workers take at `next`, the caller takes back at `head` once that slot is done. Items
 * are whole images or chunks, so a lock per item costs nothing that can be measured.
 */
#include "libpack/base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct slot {
    void *item;
    bool finished;
};

struct lane {
    struct pack_pool_lane params;
    struct slot *slots;
    uint64_t head, next, tail; /* counts of items; slot = count % in_flight_max */
};

struct worker {
    struct pack_pool *pool;
    unsigned number;
    pthread_t thread;
};

struct pack_pool {
    pthread_mutex_t lock;
    pthread_cond_t work_ready, item_finished;
    struct lane lanes[PACK_POOL_LANES_MAX];
    unsigned n_lanes;
    struct worker *workers;
    unsigned n_workers; /* started */
    const struct slot *awaited; /* what the caller waits for, or NULL */
    bool closing;
};

static struct slot *
slot_at(const struct lane *lane, uint64_t count)
{
    return &lane->slots[count % lane->params.in_flight_max];
}

/* The highest lane with a queued item, or NULL. */
static struct lane *
busiest(struct pack_pool *pool)
{
    for (unsigned i = pool->n_lanes; i-- > 0;)
        if (pool->lanes[i].next < pool->lanes[i].tail)
            return &pool->lanes[i];
    return NULL;
}

static void *
worker_main(void *argument)
{
    struct worker *worker = argument;
    struct pack_pool *pool = worker->pool;
    pthread_mutex_lock(&pool->lock);
    while (!pool->closing) {
        struct lane *lane = busiest(pool);
        if (!lane) {
            pthread_cond_wait(&pool->work_ready, &pool->lock);
            continue;
        }
        struct slot *slot = slot_at(lane, lane->next++);
        pthread_mutex_unlock(&pool->lock);
        lane->params.work(slot->item, worker->number, lane->params.context);
        pthread_mutex_lock(&pool->lock);
        slot->finished = true;
        if (slot == pool->awaited) /* others would wake the caller in vain */
            pthread_cond_signal(&pool->item_finished);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Starts the threads with all signals blocked. */
static enum pack_status
start_workers(struct pack_pool *pool, unsigned n_threads, struct pack_error *err)
{
    sigset_t all, before;
    enum pack_status status = PACK_OK;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (unsigned i = 0; i < n_threads && status == PACK_OK; i++) {
        struct worker *worker = &pool->workers[i];
        *worker = (struct worker){ .pool = pool, .number = i };
        int failed = pthread_create(&worker->thread, NULL, worker_main, worker);
        if (failed)
            status = pack_fail_errno(err, failed, "cannot start thread %u", i + 1);
        else
            pool->n_workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

/* Its time limits are by a clock that nobody sets. */
static void
init_timed(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

enum pack_status
pack_pool_new(unsigned n_threads, const struct pack_pool_lane *lanes, unsigned n_lanes,
              struct pack_pool **pool, struct pack_error *err)
{
    if (n_threads == 0 || n_threads > PACK_POOL_THREADS_MAX || n_lanes == 0 ||
        n_lanes > PACK_POOL_LANES_MAX)
        return pack_fail(err, PACK_ERR_ARGUMENT, "a pool has 1 to %d threads, not %u",
                         PACK_POOL_THREADS_MAX, n_threads);
    struct pack_pool *made = calloc(1, sizeof *made);
    if (!made)
        return pack_fail_memory(err, "thread pool");
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->work_ready, NULL);
    init_timed(&made->item_finished);
    made->n_lanes = n_lanes;
    bool complete = true;
    for (unsigned i = 0; i < n_lanes; i++) {
        made->lanes[i].params = lanes[i];
        made->lanes[i].slots = calloc(lanes[i].in_flight_max, sizeof(struct slot));
        complete = complete && made->lanes[i].slots;
    }
    made->workers = calloc(n_threads, sizeof *made->workers);
    enum pack_status status = complete && made->workers
                                  ? start_workers(made, n_threads, err)
                                  : pack_fail_memory(err, "thread pool");
    if (status != PACK_OK) {
        pack_pool_free(made);
        return status;
    }
    *pool = made;
    return PACK_OK;
}

void
pack_pool_free(struct pack_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->work_ready);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->n_workers; i++)
        pthread_join(pool->workers[i].thread, NULL);
    for (unsigned i = 0; i < pool->n_lanes; i++)
        free(pool->lanes[i].slots);
    free(pool->workers);
    pthread_cond_destroy(&pool->item_finished);
    pthread_cond_destroy(&pool->work_ready);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

bool
pack_pool_has_room(struct pack_pool *pool, unsigned lane)
{
    const struct lane *l = &pool->lanes[lane];
    return l->tail - l->head < l->params.in_flight_max;
}

void
pack_pool_submit(struct pack_pool *pool, unsigned lane, void *item)
{
    struct lane *l = &pool->lanes[lane];
    pthread_mutex_lock(&pool->lock);
    *slot_at(l, l->tail) = (struct slot){ .item = item };
    l->tail++;
    pthread_cond_signal(&pool->work_ready);
    pthread_mutex_unlock(&pool->lock);
}

/* What the caller does while it waits; poll is NULL for nothing. */
struct waiting {
    void (*poll)(void *context);
    void *context;
};

/* Waits for an item to be finished, or for the next time to poll. */
static void
wait_a_bit(struct pack_pool *pool, const struct waiting *waiting)
{
    static const long POLL_NS = 50000000;
    struct timespec until;
    if (!waiting->poll) {
        pthread_cond_wait(&pool->item_finished, &pool->lock);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += POLL_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (pthread_cond_timedwait(&pool->item_finished, &pool->lock, &until) == 0)
        return;
    pthread_mutex_unlock(&pool->lock);
    waiting->poll(waiting->context);
    pthread_mutex_lock(&pool->lock);
}

static void
wait_for(struct pack_pool *pool, const struct slot *slot, const struct waiting *waiting)
{
    pool->awaited = slot;
    while (!slot->finished)
        wait_a_bit(pool, waiting);
    pool->awaited = NULL;
}

/* Items that a caller who has to wait waits for: it is woken once for all of them, while
 * as many again and more are there for the workers. */
static uint64_t
n_together(const struct lane *lane)
{
    uint64_t in_flight = lane->tail - lane->head, most = lane->params.in_flight_max / 3;
    uint64_t n = in_flight < most ? in_flight : most;
    return n > 0 ? n : 1;
}

/* `waiting` is NULL where nothing is waited for. */
static void *
take_head(struct pack_pool *pool, unsigned lane, const struct waiting *waiting)
{
    struct lane *l = &pool->lanes[lane];
    void *item = NULL;
    pthread_mutex_lock(&pool->lock);
    if (l->head < l->tail) {
        struct slot *slot = slot_at(l, l->head);
        if (waiting && !slot->finished) {
            wait_for(pool, slot_at(l, l->head + n_together(l) - 1), waiting);
            wait_for(pool, slot, waiting);
        }
        if (slot->finished) {
            item = slot->item;
            l->head++;
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return item;
}

void *
pack_pool_next(struct pack_pool *pool, unsigned lane)
{
    return take_head(pool, lane, &(struct waiting){ NULL, NULL });
}

void *
pack_pool_next_polling(struct pack_pool *pool, unsigned lane,
                       void (*poll)(void *context), void *context)
{
    return take_head(pool, lane, &(struct waiting){ poll, context });
}

void *
pack_pool_try_next(struct pack_pool *pool, unsigned lane)
{
    return take_head(pool, lane, NULL);
}

unsigned
pack_pool_default_threads(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0
                ? CPU_COUNT(&set)
                : (int)sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > PACK_POOL_THREADS_MAX ? PACK_POOL_THREADS_MAX : (unsigned)n;
}

/* ------------------------------------------------------------------ budget */

struct pack_budget {
    pthread_mutex_t lock;
    pthread_cond_t given;
    uint64_t limit, held, peak;
    uint64_t next_ticket, serving; /* first come, first served */
};

enum pack_status
pack_budget_new(uint64_t limit_bytes, struct pack_budget **budget, struct pack_error *err)
{
    struct pack_budget *made = calloc(1, sizeof *made);
    if (!made)
        return pack_fail_memory(err, "memory budget");
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->given, NULL);
    made->limit = limit_bytes;
    *budget = made;
    return PACK_OK;
}

void
pack_budget_free(struct pack_budget *budget)
{
    if (!budget)
        return;
    pthread_cond_destroy(&budget->given);
    pthread_mutex_destroy(&budget->lock);
    free(budget);
}

static bool
fits(const struct pack_budget *budget, uint64_t bytes)
{
    return budget->held == 0 ||
           (bytes <= budget->limit && budget->held <= budget->limit - bytes);
}

void
pack_budget_take(struct pack_budget *budget, uint64_t bytes)
{
    pthread_mutex_lock(&budget->lock);
    uint64_t ticket = budget->next_ticket++;
    while (ticket != budget->serving || !fits(budget, bytes))
        pthread_cond_wait(&budget->given, &budget->lock);
    budget->serving++;
    budget->held += bytes;
    if (budget->held > budget->peak)
        budget->peak = budget->held;
    pthread_cond_broadcast(&budget->given);
    pthread_mutex_unlock(&budget->lock);
}

void
pack_budget_give(struct pack_budget *budget, uint64_t bytes)
{
    pthread_mutex_lock(&budget->lock);
    budget->held -= bytes;
    pthread_cond_broadcast(&budget->given);
    pthread_mutex_unlock(&budget->lock);
}

uint64_t
pack_budget_limit(const struct pack_budget *budget)
{
    return budget->limit;
}

uint64_t
pack_budget_peak(struct pack_budget *budget)
{
    pthread_mutex_lock(&budget->lock);
    uint64_t peak = budget->peak;
    pthread_mutex_unlock(&budget->lock);
    return peak;
}
