/*
 * Members of a subset, chunk by chunk: sorted once, when an order is opened. An epoch lays the
 * chunks out on a line, and where each begins is found by halving.
 */
#include <stdlib.h>

#include "libpack/base/size.h"
#include "libpack/model/pattern_order.h"

/* A member and the chunk that it is in. */
struct placed {
    uint64_t chunk, member;
};

static int
by_chunk(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    return x->chunk != y->chunk ? (x->chunk > y->chunk) - (x->chunk < y->chunk)
                                : (x->member > y->member) - (x->member < y->member);
}

static void *
new_list(uint64_t n, size_t size)
{
    uint64_t bytes;
    return pack_size_mul(n, size, &bytes) && bytes <= SIZE_MAX / 2 ? malloc(bytes) : NULL;
}

static bool
is_grouped(const struct pack_pattern *p, uint64_t chunk_samples)
{
    for (uint64_t i = 1; i < p->n_subset; i++)
        if (p->subset[i] / chunk_samples < p->subset[i - 1] / chunk_samples)
            return false;
    return true;
}

static enum pack_status
sort(struct pack_order_groups *groups, const struct pack_pattern *p,
     uint64_t chunk_samples, struct pack_error *err)
{
    struct placed *placed = new_list(p->n_subset, sizeof *placed);
    groups->member = new_list(p->n_subset, sizeof *groups->member);
    if (!placed || !groups->member) {
        free(placed);
        return pack_fail_memory(err, "subset");
    }
    for (uint64_t i = 0; i < p->n_subset; i++)
        placed[i] = (struct placed){ p->subset[i] / chunk_samples, i };
    qsort(placed, p->n_subset, sizeof *placed, by_chunk);
    for (uint64_t i = 0; i < p->n_subset; i++)
        groups->member[i] = placed[i].member;
    free(placed);
    return PACK_OK;
}

/* The chunk of the i-th member, chunk by chunk. */
static uint64_t
chunk_of(const struct pack_order_groups *groups, const struct pack_pattern *p,
         uint64_t chunk_samples, uint64_t i)
{
    return p->subset[groups->member ? groups->member[i] : i] / chunk_samples;
}

/* Writes where chunks begin, if there is somewhere; returns how many there are. */
static uint64_t
find_chunks(const struct pack_order_groups *groups, const struct pack_pattern *p,
            uint64_t chunk_samples, uint64_t *first)
{
    uint64_t n = 0, last = 0;
    for (uint64_t i = 0; i < p->n_subset; i++) {
        uint64_t chunk = chunk_of(groups, p, chunk_samples, i);
        if (i > 0 && chunk == last)
            continue;
        if (first)
            first[n] = i;
        last = chunk;
        n++;
    }
    if (first)
        first[n] = p->n_subset;
    return n;
}

enum pack_status
pack_order_group(struct pack_order_groups *groups, const struct pack_pattern *p,
                 uint64_t chunk_samples, uint64_t *n_chunks, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    if (!is_grouped(p, chunk_samples))
        status = sort(groups, p, chunk_samples, err);
    if (status != PACK_OK)
        return status;
    uint64_t n = find_chunks(groups, p, chunk_samples, NULL);
    groups->first = new_list(n + 1, sizeof *groups->first);
    groups->line = new_list(n + 1, sizeof *groups->line);
    if (!groups->first || !groups->line)
        return pack_fail_memory(err, "subset");
    find_chunks(groups, p, chunk_samples, groups->first);
    *n_chunks = n;
    return PACK_OK;
}

void
pack_order_groups_done(struct pack_order_groups *groups)
{
    free(groups->line);
    free(groups->member);
    free(groups->first);
    *groups = (struct pack_order_groups){ .first = NULL };
}

void
pack_order_groups_line(struct pack_order_groups *groups,
                       const struct pack_permutation *permutation, uint64_t seed)
{
    uint64_t n = permutation->n, chunk, end = 0;
    if (groups->has_line && groups->line_seed == seed)
        return;
    for (uint64_t slot = 0; slot < n; slot++) {
        chunk = pack_permutation_at(permutation, slot);
        groups->line[slot] = end;
        end += groups->first[chunk + 1] - groups->first[chunk];
    }
    groups->line[n] = end;
    groups->line_seed = seed;
    groups->has_line = true;
}

uint64_t
pack_order_groups_slot(const struct pack_order_groups *groups, uint64_t n, uint64_t place)
{
    uint64_t low = 0, high = n; /* line[low] <= place < line[high] */
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (groups->line[middle] <= place)
            low = middle;
        else
            high = middle;
    }
    return low;
}
