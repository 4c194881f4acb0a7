/*
 * Visits are numbered from 0. Each chunk knows its last visit seen, each visit the next one
 * of its chunk, as soon as that is seen:
 *
 *     chunk    a   b   a   c   b   a ...
 *     visit    0   1   2   3   4   5
 *     next     2   4   5   -   -   -      - : not seen yet
 *              ^ stepped
 *
 * Slots stand in a heap with the one whose chunk comes again last on top.
 */
#include "libpack/reader/plan.h"

#include <stdlib.h>

static const uint64_t UNSEEN = UINT64_MAX; /* as the next visit of a chunk */

struct visit {
    uint64_t number, next;
};

struct slot {
    uint64_t number, next; /* of the chunk that is held */
    uint64_t n_steps, n_loads;
    uint32_t at; /* in the heap */
};

struct pack_plan {
    struct visit *ahead; /* a ring: visit % ahead_max */
    uint64_t ahead_max, n_seen, n_stepped;
    uint64_t *last;    /* of each chunk: 1 + the last visit seen; 0: none */
    uint32_t *slot_of; /* of each chunk: 1 + its slot; 0: none */
    struct slot *slots;
    uint32_t *heap; /* of slots that are not empty */
    uint32_t n_slots, n_used;
};

enum pack_status
pack_plan_new(uint64_t n_chunks, uint64_t n_slots, uint64_t ahead_max,
              struct pack_plan **out, struct pack_error *err)
{
    struct pack_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return pack_fail_memory(err, "plan");
    plan->ahead_max = ahead_max;
    plan->n_slots = (uint32_t)n_slots;
    plan->ahead = calloc(ahead_max, sizeof *plan->ahead);
    plan->last = calloc(n_chunks, sizeof *plan->last);
    plan->slot_of = calloc(n_chunks, sizeof *plan->slot_of);
    plan->slots = calloc(n_slots + 1, sizeof *plan->slots);
    plan->heap = calloc(n_slots + 1, sizeof *plan->heap);
    if (!plan->ahead || !plan->last || !plan->slot_of || !plan->slots || !plan->heap) {
        pack_plan_free(plan);
        return pack_fail_memory(err, "plan");
    }
    *out = plan;
    return PACK_OK;
}

void
pack_plan_free(struct pack_plan *plan)
{
    if (!plan)
        return;
    free(plan->heap);
    free(plan->slots);
    free(plan->slot_of);
    free(plan->last);
    free(plan->ahead);
    free(plan);
}

/* --------------------------------------------------------------------- heap */

/* Whether slot a goes before slot b. */
static bool
goes_first(const struct pack_plan *plan, uint32_t a, uint32_t b)
{
    uint64_t x = plan->slots[a].next, y = plan->slots[b].next;
    return x != y ? x > y : a < b;
}

static void
put(struct pack_plan *plan, uint32_t at, uint32_t slot)
{
    plan->heap[at] = slot;
    plan->slots[slot].at = at;
}

/* Moves a slot whose next visit has changed to where it belongs. */
static void
settle(struct pack_plan *plan, uint32_t slot)
{
    uint32_t at = plan->slots[slot].at;
    while (at > 0 && goes_first(plan, slot, plan->heap[(at - 1) / 2])) {
        put(plan, at, plan->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        uint64_t child = 2 * (uint64_t)at + 1;
        if (child >= plan->n_used)
            break;
        if (child + 1 < plan->n_used &&
            goes_first(plan, plan->heap[child + 1], plan->heap[child]))
            child++;
        if (!goes_first(plan, plan->heap[child], slot))
            break;
        put(plan, at, plan->heap[child]);
        at = (uint32_t)child;
    }
    put(plan, at, slot);
}

/* ------------------------------------------------------------------- visits */

uint64_t
pack_plan_ahead(const struct pack_plan *plan)
{
    return plan->n_seen - plan->n_stepped;
}

void
pack_plan_see(struct pack_plan *plan, uint64_t number)
{
    uint64_t visit = plan->n_seen++, last = plan->last[number];
    uint32_t held = plan->slot_of[number];
    plan->ahead[visit % plan->ahead_max] = (struct visit){ number, UNSEEN };
    plan->last[number] = visit + 1;
    if (last > plan->n_stepped) {
        plan->ahead[(last - 1) % plan->ahead_max].next = visit;
    } else if (held) { /* and none of its visits is ahead */
        plan->slots[held - 1].next = visit;
        settle(plan, held - 1);
    }
}

/* The slot that a chunk is loaded into whose next visit is `next`; n_slots: none. */
static uint32_t
find_slot(struct pack_plan *plan, uint64_t next)
{
    if (plan->n_used < plan->n_slots) {
        put(plan, plan->n_used, plan->n_used);
        return plan->n_used++;
    }
    if (plan->n_slots == 0 || plan->slots[plan->heap[0]].next <= next)
        return plan->n_slots;
    plan->slot_of[plan->slots[plan->heap[0]].number] = 0;
    return plan->heap[0];
}

void
pack_plan_next(struct pack_plan *plan, struct pack_plan_step *step)
{
    const struct visit *visit = &plan->ahead[plan->n_stepped++ % plan->ahead_max];
    uint32_t held = plan->slot_of[visit->number];
    uint32_t at = held ? held - 1 : find_slot(plan, visit->next);
    *step = (struct pack_plan_step){ .action = PACK_PLAN_PASS };
    if (at == plan->n_slots)
        return;
    struct slot *slot = &plan->slots[at];
    slot->n_loads += !held;
    *step = (struct pack_plan_step){ .action = held ? PACK_PLAN_HIT : PACK_PLAN_LOAD,
                                     .slot = at,
                                     .n_loads = slot->n_loads,
                                     .n_before = slot->n_steps++ };
    slot->number = visit->number;
    slot->next = visit->next;
    plan->slot_of[visit->number] = at + 1;
    settle(plan, at);
}

/* -------------------------------------------------------------- fewer slots */

void
pack_plan_shrink(struct pack_plan *plan, uint64_t n_slots)
{
    uint32_t n_used = plan->n_used;
    if (n_slots >= plan->n_slots)
        return;
    plan->n_slots = (uint32_t)n_slots;
    for (uint32_t i = plan->n_slots; i < n_used; i++)
        plan->slot_of[plan->slots[i].number] = 0;
    n_used = n_used < plan->n_slots ? n_used : plan->n_slots;
    for (plan->n_used = 0; plan->n_used < n_used;) {
        uint32_t slot = plan->n_used++;
        put(plan, slot, slot);
        settle(plan, slot);
    }
}

uint64_t
pack_plan_steps(const struct pack_plan *plan, uint64_t slot)
{
    return plan->slots[slot].n_steps;
}
