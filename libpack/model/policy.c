/*
 * LRU is a hash table into a doubly linked list. Belady's optimum needs to know of each
 * visit when the chunk's next one is; then an entry is nothing but that moment: the visit
 * at moment i is a hit if an entry waits for i, and the victim is the entry that waits
 * longest.
 */
#include "libpack/model/policy.h"
#include "libpack/base/size.h"
#include "libpack/base/sort.h"
#include "libpack/model/grid.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* -------------------------------------------------------------- collecting */

static enum pack_status
reserve(struct pack_visits *visits, uint64_t more, struct pack_error *err)
{
    uint64_t need, bytes;
    if (!pack_size_add(visits->n, more, &need))
        return pack_fail_memory(err, "chunk visits");
    if (need <= visits->capacity)
        return PACK_OK;
    if (need < 2 * (uint64_t)visits->capacity)
        need = 2 * (uint64_t)visits->capacity;
    uint64_t *numbers = NULL;
    if (pack_size_mul(need, sizeof numbers[0], &bytes) && bytes <= SIZE_MAX)
        numbers = realloc(visits->numbers, (size_t)bytes);
    if (!numbers)
        return pack_fail_memory(err, "chunk visits");
    visits->numbers = numbers;
    visits->capacity = (size_t)need;
    return PACK_OK;
}

enum pack_status
pack_visits_add(struct pack_visits *visits, const struct pack_grid *grid,
                const struct pack_box *boxes, size_t n_boxes, struct pack_error *err)
{
    size_t first = visits->n, unique = first;
    for (size_t i = 0; i < n_boxes; i++) {
        struct pack_grid_cursor c;
        enum pack_status status = reserve(visits, pack_grid_count(grid, &boxes[i]), err);
        if (status) {
            visits->n = first;
            return status;
        }
        for (bool more = pack_grid_first(&c, grid, &boxes[i]); more;
             more = pack_grid_next(&c))
            visits->numbers[visits->n++] = c.number;
    }
    if (n_boxes < 2)
        return PACK_OK;
    pack_sort_u64(visits->numbers + first, visits->n - first);
    for (size_t i = first; i < visits->n; i++)
        if (i == first || visits->numbers[i] != visits->numbers[unique - 1])
            visits->numbers[unique++] = visits->numbers[i];
    visits->n = unique;
    return PACK_OK;
}

enum pack_status
pack_visits_replay(struct pack_visits *visits, const struct pack_grid *grid,
                   struct pack_pattern_iter *iter, uint64_t max, struct pack_error *err)
{
    struct pack_request request;
    enum pack_status status = PACK_OK;
    for (uint64_t done = 0;
         status == PACK_OK && done < max && pack_pattern_next(iter, &request);
         done += request.n_samples) {
        for (size_t i = 0; i < request.n_boxes && status == PACK_OK; i++)
            status = pack_grid_check_box(grid, &request.boxes[i], err);
        if (status == PACK_OK)
            status = pack_visits_add(visits, grid, request.boxes, request.n_boxes, err);
    }
    return status;
}

void
pack_visits_free(struct pack_visits *visits)
{
    free(visits->numbers);
    *visits = (struct pack_visits){ 0 };
}

/* -------------------------------------------------------------- hash table */

/* A power of two that is not less than n. */
static uint64_t
power_of_two(uint64_t n)
{
    uint64_t power = 1;
    while (power < n)
        power *= 2;
    return power;
}

static uint64_t
hash(uint64_t number)
{
    number *= UINT64_C(0x9e3779b97f4a7c15);
    return number ^ number >> 32;
}

/* --------------------------------------------------------------------- LRU */

/* Nodes count from 1; node 0 is the list's head and tail, and the end of every chain. */
struct node {
    uint64_t number;
    uint32_t chain; /* the next node of the same bucket */
    uint32_t newer, older;
};

struct lru {
    struct node *nodes;
    uint32_t *buckets;
    uint64_t n_buckets, n_nodes, n_entries;
};

static uint32_t *
bucket_of(const struct lru *lru, uint64_t number)
{
    return &lru->buckets[hash(number) & (lru->n_buckets - 1)];
}

static void
unlink_node(struct lru *lru, uint32_t at)
{
    struct node *node = &lru->nodes[at];
    lru->nodes[node->newer].older = node->older;
    lru->nodes[node->older].newer = node->newer;
}

static void
make_newest(struct lru *lru, uint32_t at)
{
    struct node *ends = &lru->nodes[0], *node = &lru->nodes[at];
    node->newer = 0;
    node->older = ends->older;
    lru->nodes[ends->older].newer = at;
    ends->older = at;
}

/* A node for a new chunk: an unused one, or that of the oldest. */
static uint32_t
take_node(struct lru *lru)
{
    if (lru->n_nodes < lru->n_entries)
        return (uint32_t)++lru->n_nodes;
    uint32_t at = lru->nodes[0].newer, *link = bucket_of(lru, lru->nodes[at].number);
    unlink_node(lru, at);
    while (*link != at)
        link = &lru->nodes[*link].chain;
    *link = lru->nodes[at].chain;
    return at;
}

/* True when the chunk had to be loaded. */
static bool
lru_visit(struct lru *lru, uint64_t number)
{
    uint32_t *bucket = bucket_of(lru, number), at = *bucket;
    while (at && lru->nodes[at].number != number)
        at = lru->nodes[at].chain;
    if (at) {
        unlink_node(lru, at);
        make_newest(lru, at);
        return false;
    }
    at = take_node(lru);
    lru->nodes[at].number = number;
    lru->nodes[at].chain = *bucket;
    *bucket = at;
    make_newest(lru, at);
    return true;
}

enum pack_status
pack_policy_lru(const uint64_t *numbers, size_t n, uint64_t n_entries, uint64_t *loads,
                struct pack_error *err)
{
    struct lru lru = { .n_entries = n_entries < n ? n_entries : n };
    uint64_t n_loads = 0;
    if (lru.n_entries >> 31)
        return pack_fail(err, PACK_ERR_LIMIT, "an LRU cache of 2^31 chunks or more");
    if (lru.n_entries == 0) {
        *loads = n;
        return PACK_OK;
    }
    lru.n_buckets = power_of_two(lru.n_entries + lru.n_entries / 2);
    lru.nodes = calloc(lru.n_entries + 1, sizeof lru.nodes[0]);
    lru.buckets = calloc(lru.n_buckets, sizeof lru.buckets[0]);
    enum pack_status status =
        lru.nodes && lru.buckets ? PACK_OK : pack_fail_memory(err, "LRU cache");
    if (status == PACK_OK) {
        for (size_t i = 0; i < n; i++)
            n_loads += lru_visit(&lru, numbers[i]);
        *loads = n_loads;
    }
    free(lru.buckets);
    free(lru.nodes);
    return status;
}

/* ------------------------------------------------------------------ Belady */

/* When each visit's chunk is visited next; n: never. False without memory. */
static bool
find_next_visits(const uint64_t *numbers, size_t n, size_t *next)
{
    struct seen {
        uint64_t number;
        size_t at; /* 1 + the moment */
    };
    uint64_t n_buckets = power_of_two(2 * (uint64_t)n + 1);
    struct seen *seen = calloc(n_buckets, sizeof *seen);
    if (!seen)
        return false;
    for (size_t i = n; i-- > 0;) {
        uint64_t k = hash(numbers[i]) & (n_buckets - 1);
        while (seen[k].at && seen[k].number != numbers[i])
            k = (k + 1) & (n_buckets - 1);
        next[i] = seen[k].at ? seen[k].at - 1 : n;
        seen[k] = (struct seen){ numbers[i], i + 1 };
    }
    free(seen);
    return true;
}

/* A heap of moments, the latest on top. Moments that have passed stay below all
 * others. */
static void
heap_push(size_t *heap, size_t *size, size_t moment)
{
    size_t at = (*size)++;
    while (at > 0 && heap[(at - 1) / 2] < moment) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = moment;
}

static void
heap_pop(size_t *heap, size_t *size)
{
    size_t moment = heap[--*size], at = 0, child;
    while ((child = 2 * at + 1) < *size) {
        child += child + 1 < *size && heap[child + 1] > heap[child];
        if (heap[child] <= moment)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moment;
}

/* `next` is when chunks come again, `waits` tells which moments an entry waits for. */
static uint64_t
count_belady(const size_t *next, size_t n, uint64_t n_entries, size_t *heap, bool *waits)
{
    size_t heap_size = 0;
    uint64_t n_loads = 0, n_held = 0, n_done = 0; /* held, and never wanted again */
    for (size_t i = 0; i < n; i++) {
        if (waits[i]) {
            waits[i] = false;
            n_held--;
        } else {
            n_loads++;
        }
        if (n_held == n_entries) {
            n_held--;
            if (n_done > 0) {
                n_done--;
            } else {
                waits[heap[0]] = false;
                heap_pop(heap, &heap_size);
            }
        }
        n_held++;
        if (next[i] == n) {
            n_done++;
        } else {
            waits[next[i]] = true;
            heap_push(heap, &heap_size, next[i]);
        }
    }
    return n_loads;
}

enum pack_status
pack_policy_belady(const uint64_t *numbers, size_t n, uint64_t n_entries, uint64_t *loads,
                   struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    size_t *next = NULL, *heap = NULL;
    bool *waits = NULL;
    if (n_entries == 0 || n == 0) {
        *loads = n;
        return PACK_OK;
    }
    next = calloc(n, sizeof *next);
    heap = calloc(n, sizeof *heap);
    waits = calloc(n, sizeof *waits);
    if (next && heap && waits && find_next_visits(numbers, n, next))
        *loads = count_belady(next, n, n_entries, heap, waits);
    else
        status = pack_fail_memory(err, "Belady's optimum");
    free(waits);
    free(heap);
    free(next);
    return status;
}
