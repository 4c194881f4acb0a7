/* Images with their channels first or last: which they have, and how axes change. */
#include "libpack/rechunk/rechunk_parts.h"

#include <string.h>

#include "libpack/hdf5/facts_layout.h"

static const int to_nchw[] = { 0, 3, 1, 2 }, to_nhwc[] = { 0, 2, 3, 1 };

/* Nothing but the layout was to change, and it does not. */
static bool
is_all(const struct pack_rechunk_params *p, const struct pack_rechunk_set *set)
{
    return p->n_datasets <= 1 && !set->asked_chunk && !set->asked_filters && !p->chunk &&
           !p->compress && !p->fletcher32 && !p->as && !p->shuffle;
}

enum pack_status
pack_rechunk_turn(const struct pack_rechunk_params *p, struct pack_rechunk_set *set,
                  struct pack_error *err)
{
    const struct pack_facts *facts = &set->facts;
    char text[PACK_SHAPE_TEXT_MAX];
    if (!p->layout)
        return PACK_OK;
    enum pack_facts_layout wanted = strcmp(p->layout, "nchw") == 0   ? PACK_FACTS_NCHW
                                    : strcmp(p->layout, "nhwc") == 0 ? PACK_FACTS_NHWC
                                                                     : PACK_FACTS_UNKNOWN;
    if (wanted == PACK_FACTS_UNKNOWN)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "layout",
                               "unknown layout '%s': nhwc and nchw are known", p->layout);
    enum pack_facts_layout found = pack_facts_layout(facts);
    if (found == PACK_FACTS_UNKNOWN)
        return pack_fail_param(err, PACK_ERR_UNSUPPORTED, "layout",
                               "'%s:/%s' of %s is neither nhwc nor nchw as far as can be seen: "
                               "four axes, of which DIMENSION_LABELS calls one C, or only the "
                               "second or only the last is 1, 3 or 4 long",
                               p->input, set->path, pack_shape_format(&facts->extent, text));
    if (found == wanted && is_all(p, set))
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "layout", "'%s:/%s' is %s already",
                               p->input, set->path, p->layout);
    if (found != wanted)
        set->axes = wanted == PACK_FACTS_NCHW ? to_nchw : to_nhwc;
    return PACK_OK;
}

bool
pack_rechunk_is_planes(const struct pack_rechunk_set *set)
{
    return set->axes == to_nchw;
}
