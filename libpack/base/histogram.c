#include "libpack/base/histogram.h"

/* 0 to 15 have buckets of their own; from there on the three bits below the highest one
 * choose among eight. */
static unsigned
bucket_of(uint64_t ns)
{
    if (ns < 16)
        return (unsigned)ns;
    unsigned power = 63 - (unsigned)__builtin_clzll(ns);
    return (power - 2) * 8 + (unsigned)(ns >> (power - 3) & 7);
}

static uint64_t
bucket_end(unsigned bucket)
{
    if (bucket < 16)
        return bucket;
    unsigned power = bucket / 8 + 2;
    uint64_t low = (UINT64_C(8) + bucket % 8) << (power - 3);
    return low + ((UINT64_C(1) << (power - 3)) - 1);
}

void
pack_histogram_add(struct pack_histogram *histogram, uint64_t ns)
{
    histogram->n++;
    histogram->bucket[bucket_of(ns)]++;
    if (ns > histogram->max_ns)
        histogram->max_ns = ns;
}

void
pack_histogram_merge(struct pack_histogram *total, const struct pack_histogram *part)
{
    total->n += part->n;
    for (int i = 0; i < PACK_HISTOGRAM_BUCKETS; i++)
        total->bucket[i] += part->bucket[i];
    if (part->max_ns > total->max_ns)
        total->max_ns = part->max_ns;
}

uint64_t
pack_histogram_at(const struct pack_histogram *histogram, double part)
{
    uint64_t seen = 0;
    for (unsigned i = 0; i < PACK_HISTOGRAM_BUCKETS && histogram->n > 0; i++) {
        seen += histogram->bucket[i];
        if ((double)seen >= part * (double)histogram->n && seen > 0)
            return bucket_end(i) < histogram->max_ns ? bucket_end(i) : histogram->max_ns;
    }
    return histogram->max_ns;
}
