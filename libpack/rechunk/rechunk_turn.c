/* Images with their channels first or last: which they have, and how axes change. */
#include "libpack/rechunk/rechunk_parts.h"

#include <string.h>

enum layout { LAYOUT_UNKNOWN = 0, LAYOUT_NHWC, LAYOUT_NCHW };

static const int to_nchw[] = { 0, 3, 1, 2 }, to_nhwc[] = { 0, 2, 3, 1 };

static bool
is_channels(uint64_t n)
{
    return n == 1 || n == 3 || n == 4;
}

/* What its attributes say, else an axis that is as long as channels are many. */
static enum layout
layout_of(const struct pack_facts *facts)
{
    const uint64_t *extent = facts->extent.extent;
    bool is_first = is_channels(extent[1]), is_last = is_channels(extent[3]);
    if (facts->n_labels == 4 && strcmp(facts->label[1], "C") == 0)
        return LAYOUT_NCHW;
    if (facts->n_labels == 4 && strcmp(facts->label[3], "C") == 0)
        return LAYOUT_NHWC;
    if (strcmp(facts->interlace_mode, "INTERLACE_PLANE") == 0)
        return LAYOUT_NCHW;
    if (strcmp(facts->interlace_mode, "INTERLACE_PIXEL") == 0)
        return LAYOUT_NHWC;
    return is_first == is_last ? LAYOUT_UNKNOWN : is_first ? LAYOUT_NCHW : LAYOUT_NHWC;
}

/* Nothing but the layout was to change, and it does not. */
static bool
is_all(const struct pack_rechunk_params *p)
{
    return p->n_datasets <= 1 && !p->chunk && !p->compress && !p->fletcher32 && !p->as &&
           !p->shuffle;
}

enum pack_status
pack_rechunk_turn(const struct pack_rechunk_params *p, struct pack_rechunk_set *set,
                  struct pack_error *err)
{
    const struct pack_facts *facts = &set->facts;
    char text[PACK_SHAPE_TEXT_MAX];
    if (!p->layout)
        return PACK_OK;
    enum layout wanted = strcmp(p->layout, "nchw") == 0   ? LAYOUT_NCHW
                         : strcmp(p->layout, "nhwc") == 0 ? LAYOUT_NHWC
                                                          : LAYOUT_UNKNOWN;
    if (wanted == LAYOUT_UNKNOWN)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "layout",
                               "unknown layout '%s': nhwc and nchw are known", p->layout);
    enum layout found = facts->extent.rank == 4 ? layout_of(facts) : LAYOUT_UNKNOWN;
    if (found == LAYOUT_UNKNOWN)
        return pack_fail_param(err, PACK_ERR_UNSUPPORTED, "layout",
                               "'%s:/%s' of %s is neither nhwc nor nchw as far as can be seen: "
                               "four axes, of which DIMENSION_LABELS calls one C, or only the "
                               "second or only the last is 1, 3 or 4 long",
                               p->input, set->path, pack_shape_format(&facts->extent, text));
    if (found == wanted && is_all(p))
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "layout", "'%s:/%s' is %s already",
                               p->input, set->path, p->layout);
    if (found != wanted)
        set->axes = wanted == LAYOUT_NCHW ? to_nchw : to_nhwc;
    return PACK_OK;
}

bool
pack_rechunk_is_planes(const struct pack_rechunk_set *set)
{
    return set->axes == to_nchw;
}
