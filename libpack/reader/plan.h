/* Which decoded chunk is kept, which goes: Belady's choice over as much of the future as is
 * known. Numbers alone: no bytes, no files, no clocks. */
#ifndef LIBPACK_PLAN_H
#define LIBPACK_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pack_plan_action {
    PACK_PLAN_HIT = 0, /* it is in a slot */
    PACK_PLAN_LOAD,    /* it is decoded into a slot, and stays there */
    PACK_PLAN_PASS     /* it is decoded, used and forgotten */
};

/*
 * What a visit does. Steps may be carried out by several threads: one that hits waits
 * until its slot was loaded `n_loads` times, one that loads until `n_before` steps have
 * been through with the slot. All that is waited for is earlier in the plan.
 */
struct pack_plan_step {
    enum pack_plan_action action;
    uint32_t slot;     /* not of PASS */
    uint64_t n_loads;  /* of this slot, this step's included */
    uint64_t n_before; /* steps of this slot before this one */
};

/*
 * Visits come in the order in which they are to be made; each is seen first, and stepped
 * when at most `ahead_max` have been seen. A chunk that is not held goes
 *
 *   - into an empty slot,
 *   - else into the slot whose chunk is visited again last, if that is later than its own
 *     next visit, or into the first of several,
 *   - else it passes.
 *
 * "Not within what has been seen" is the latest of all. With the whole future seen, no
 * other plan of as many slots makes fewer loads (Belady 1966; passing included, loads lie
 * between those of pack_policy_belady() with n_slots and with n_slots + 1 entries). With
 * less, what is held stays: a cache too small for an order without near repeats keeps its
 * first chunks instead of turning over for nothing.
 *
 * Depends on the visits, n_slots and on how many were seen at each step alone. O(log
 * n_slots) time a visit.
 */
struct pack_plan;

/* Chunk numbers are below n_chunks; at most 2^32 - 1 slots. PACK_ERR_MEMORY. */
enum pack_status pack_plan_new(uint64_t n_chunks, uint64_t n_slots, uint64_t ahead_max,
                               struct pack_plan **plan, struct pack_error *err);
void pack_plan_free(struct pack_plan *plan); /* accepts NULL */

/* Memory of one: for each chunk, slot, and visit seen ahead. */
enum {
    PACK_PLAN_CHUNK_BYTES = 12,
    PACK_PLAN_SLOT_BYTES = 44,
    PACK_PLAN_AHEAD_BYTES = 16
};

/* Visits seen and not stepped. */
uint64_t pack_plan_ahead(const struct pack_plan *plan);
/* The next visit after those seen; fewer than ahead_max are ahead. */
void pack_plan_see(struct pack_plan *plan, uint64_t number);
/* What the oldest visit does; at least one is ahead. */
void pack_plan_next(struct pack_plan *plan, struct pack_plan_step *step);

/* Slots from n_slots on are used by no later step, and what they hold is forgotten. O(n_slots
 * log n_slots) time. */
void pack_plan_shrink(struct pack_plan *plan, uint64_t n_slots);
/* Steps of a slot, of those that there were when the plan was new, so far. */
uint64_t pack_plan_steps(const struct pack_plan *plan, uint64_t slot);

#ifdef __cplusplus
}
#endif
#endif
