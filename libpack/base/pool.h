/* Worker threads with results in order of submission and a bound on items in flight; a
 * byte budget. */
#ifndef LIBPACK_POOL_H
#define LIBPACK_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PACK_POOL_LANES_MAX = 4, PACK_POOL_THREADS_MAX = 1024 };

/*
 * One kind of work. `work` runs on a worker thread, numbered from 0, and leaves its
 * result in the item; it must not wait for other items of the pool.
 */
typedef void (*pack_pool_work_fn)(void *item, unsigned worker, void *context);

struct pack_pool_lane {
    pack_pool_work_fn work;
    void *context;
    size_t in_flight_max; /* items submitted and not yet taken back, at least 1 */
};

/*
 * A pool runs items of several lanes on the same threads. Within a lane, items come back
 * in the order of submission whatever order they finish in, so that what a caller makes
 * of them does not depend on the number of threads. A free worker takes the oldest item
 * of the highest lane that has one: later stages of a pipeline get the higher lanes,
 * which drains it instead of filling it.
 *
 * One thread submits and takes; items belong to the caller throughout. Signals are
 * blocked in the workers, so that they reach the caller's thread.
 */
struct pack_pool;

/* PACK_ERR_ARGUMENT, PACK_ERR_MEMORY, or PACK_ERR_IO when the system refuses a thread. */
enum pack_status pack_pool_new(unsigned n_threads, const struct pack_pool_lane *lanes,
                               unsigned n_lanes, struct pack_pool **pool,
                               struct pack_error *err);

/* Waits for the items that are being worked on, drops those still queued.
 * Accepts NULL. */
void pack_pool_free(struct pack_pool *pool);

/* Whether the lane takes another item now. */
bool pack_pool_has_room(struct pack_pool *pool, unsigned lane);

/* Queues an item; the lane must have room. */
void pack_pool_submit(struct pack_pool *pool, unsigned lane, void *item);

/* Takes back the lane's oldest item; NULL when none is in flight. One that is not done is
 * waited for together with those behind it, a third of in_flight_max in all: the caller
 * is woken once for several. */
void *pack_pool_next(struct pack_pool *pool, unsigned lane);

/* As pack_pool_next, but calls `poll` some twenty times a second while it waits. */
void *pack_pool_next_polling(struct pack_pool *pool, unsigned lane,
                             void (*poll)(void *context), void *context);

/* As pack_pool_next, but NULL instead of waiting. */
void *pack_pool_try_next(struct pack_pool *pool, unsigned lane);

/* Processors this process may run on, at least 1. */
unsigned pack_pool_default_threads(void);

/* ------------------------------------------------------------------ budget
 *
 * Bounds the bytes that many threads hold at once. Requests are served in order of
 * arrival, so a large one is never starved by small ones; one larger than the whole
 * budget is admitted when nothing else is held. A thread must not take a second share
 * while it holds one.
 */
struct pack_budget;

enum pack_status pack_budget_new(uint64_t limit_bytes, struct pack_budget **budget,
                                 struct pack_error *err);
void pack_budget_free(struct pack_budget *budget);
void pack_budget_take(struct pack_budget *budget, uint64_t bytes); /* waits */
void pack_budget_give(struct pack_budget *budget, uint64_t bytes);
uint64_t pack_budget_peak(struct pack_budget *budget); /* most bytes ever held at once */
uint64_t pack_budget_limit(const struct pack_budget *budget);

#ifdef __cplusplus
}
#endif
#endif
