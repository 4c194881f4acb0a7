/* Attributes first: they were written to say it. */
#include "libpack/hdf5/facts_layout.h"

#include <string.h>

static bool
is_channels(uint64_t n)
{
    return n == 1 || n == 3 || n == 4;
}

enum pack_facts_layout
pack_facts_layout(const struct pack_facts *facts)
{
    const uint64_t *extent = facts->extent.extent;
    if (facts->extent.rank != 4)
        return PACK_FACTS_UNKNOWN;
    bool is_first = is_channels(extent[1]), is_last = is_channels(extent[3]);
    if (facts->n_labels == 4 && strcmp(facts->label[1], "C") == 0)
        return PACK_FACTS_NCHW;
    if (facts->n_labels == 4 && strcmp(facts->label[3], "C") == 0)
        return PACK_FACTS_NHWC;
    if (strcmp(facts->interlace_mode, "INTERLACE_PLANE") == 0)
        return PACK_FACTS_NCHW;
    if (strcmp(facts->interlace_mode, "INTERLACE_PIXEL") == 0)
        return PACK_FACTS_NHWC;
    return is_first == is_last ? PACK_FACTS_UNKNOWN
           : is_first          ? PACK_FACTS_NCHW
                               : PACK_FACTS_NHWC;
}
