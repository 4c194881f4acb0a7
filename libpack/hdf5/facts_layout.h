/* Where the channels of images are. */
#ifndef LIBPACK_FACTS_LAYOUT_H
#define LIBPACK_FACTS_LAYOUT_H

#include <libpack/dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pack_facts_layout { PACK_FACTS_UNKNOWN = 0, PACK_FACTS_NHWC, PACK_FACTS_NCHW };

/*
 * Of a dataset of four axes, else unknown: which one DIMENSION_LABELS calls C, what
 * INTERLACE_MODE says, or which of the second and the last alone is 1, 3 or 4 long.
 */
enum pack_facts_layout pack_facts_layout(const struct pack_facts *facts);

#ifdef __cplusplus
}
#endif
#endif
