/* Twice sorted: by size for the quantiles, by address for gaps and overlaps. */
#include "libpack/hdf5/chunk_stats.h"

#include <stdlib.h>

enum { ALIGNED_MAX = 1 << 20 };

struct place {
    uint64_t address, bytes, number;
};

static int
by_bytes(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int
by_address(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Most are in order already, by either. */
static void
sort(struct place *places, uint64_t n, int (*compare)(const void *, const void *))
{
    uint64_t i = 1;
    while (i < n && compare(&places[i - 1], &places[i]) <= 0)
        i++;
    if (i < n)
        qsort(places, n, sizeof *places, compare);
}

/* Those that are stored, in logical order. */
static uint64_t
list(const struct pack_chunkindex *index, struct place *places, struct pack_chunk_stats *s)
{
    uint64_t n = 0, bits = 0;
    uint32_t left_out = UINT32_MAX;
    for (uint64_t i = 0; i < index->n_chunks; i++) {
        const struct pack_chunk *c = &index->chunks[i];
        if (c->address_bytes == PACK_CHUNK_MISSING)
            continue;
        if (n > 0 && c->address_bytes < places[n - 1].address)
            s->n_backward++;
        places[n++] = (struct place){ c->address_bytes, c->stored_bytes, i };
        s->n_masked += c->filter_mask != 0;
        left_out &= c->filter_mask;
        bits |= c->address_bytes;
    }
    s->n_stored = n;
    s->left_out = n > 0 ? left_out : 0;
    s->n_missing = index->n_chunks - n;
    for (s->aligned_bytes = n > 0; n > 0 && s->aligned_bytes < ALIGNED_MAX; s->aligned_bytes *= 2)
        if (bits & s->aligned_bytes)
            break;
    return n;
}

static void
note_bad(struct pack_chunk_stats *s, uint64_t number)
{
    if (number < s->first_bad)
        s->first_bad = number;
}

/* By address; an end beyond 64 bits is one beyond the file. */
static void
measure_span(const struct place *places, uint64_t n, uint64_t file_bytes,
             struct pack_chunk_stats *s)
{
    uint64_t reach = n ? places[0].address : 0;
    for (uint64_t i = 0; i < n; i++) {
        const struct place *p = &places[i];
        if (p->address > file_bytes || p->bytes > file_bytes - p->address) {
            s->n_beyond_end++;
            note_bad(s, p->number);
            continue;
        }
        if (p->address < reach && p->bytes > 0) {
            s->n_overlapping++;
            note_bad(s, p->number);
        } else {
            s->gap_bytes += p->address - reach;
        }
        if (p->address + p->bytes > reach)
            reach = p->address + p->bytes;
    }
    s->span_bytes = n && reach > places[0].address ? reach - places[0].address : 0;
}

enum pack_status
pack_chunk_stats_make(const struct pack_chunkindex *index, uint64_t file_bytes,
                      struct pack_chunk_stats *stats, struct pack_error *err)
{
    struct pack_chunk_stats s = { .first_bad = UINT64_MAX };
    struct place *places = calloc(index->n_chunks + 1, sizeof *places);
    if (!places)
        return pack_fail_memory(err, "a list of chunks");
    uint64_t n = list(index, places, &s);
    if (n > 0) {
        sort(places, n, by_bytes);
        s.stored_min_bytes = places[0].bytes;
        s.stored_median_bytes = places[n / 2].bytes;
        s.stored_p99_bytes = places[n - 1 - n / 100].bytes;
        s.stored_max_bytes = places[n - 1].bytes;
        sort(places, n, by_address);
        measure_span(places, n, file_bytes, &s);
    }
    free(places);
    *stats = s;
    return PACK_OK;
}
