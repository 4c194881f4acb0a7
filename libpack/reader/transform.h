/* What is made of a sample before it is handed out: cut, resized, flipped, turned,
 * normalised. Numbers in, bytes out: no state but a thread's own. */
#ifndef LIBPACK_TRANSFORM_H
#define LIBPACK_TRANSFORM_H

#include <libpack/dataset.h>
#include <libpack/reader.h>
#include "libpack/image/normalise.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One that was looked at; nothing changes afterwards. */
struct pack_transform {
    struct pack_reader_transform asked; /* without zeros that mean a default */
    uint64_t seed;
    bool is_planes, makes_planes; /* channels come first: in the file, in what is made */
    uint32_t in_h, in_w, out_h, out_w, channels;
    int rank; /* of a sample in the file, axis 0 included */
    size_t value_bytes, out_bytes; /* of what is made: a value, a sample */
    struct pack_normalise_table table;
};

/* What one thread works with. */
struct pack_transform_hand;

/*
 * Looks at what is asked for samples of shape `sample`, axis 0 included, of the dataset.
 * PACK_ERR_UNSUPPORTED for others than images of bytes; PACK_ERR_ARGUMENT, naming the member.
 */
enum pack_status pack_transform_init(struct pack_transform *transform,
                                     const struct pack_reader_transform *asked,
                                     const struct pack_facts *facts,
                                     const struct pack_shape *sample, uint64_t seed,
                                     struct pack_error *err);

/* Of what is made, axis 0 included. */
void pack_transform_shape(const struct pack_transform *transform, struct pack_shape *shape);

/* Where a sample is cut in an epoch, and whether it is flipped then. */
struct pack_transform_drawn {
    uint32_t y, x, h, w;
    bool flips;
};
void pack_transform_draw(const struct pack_transform *transform, uint64_t epoch,
                         uint64_t sample, struct pack_transform_drawn *drawn);

/* The bytes of a sample that are looked at: n of them, from `first` on. */
void pack_transform_wanted(const struct pack_transform *transform,
                           const struct pack_transform_drawn *drawn, uint64_t *first,
                           uint64_t *n);

/* Bytes of a hand, at most; UINT64_MAX: more than can be counted. */
uint64_t pack_transform_hand_bytes(const struct pack_transform *transform);
enum pack_status pack_transform_hand_new(const struct pack_transform *transform,
                                         struct pack_transform_hand **hand,
                                         struct pack_error *err);
void pack_transform_hand_free(struct pack_transform_hand *hand); /* accepts NULL */

/* Makes out_bytes at `out`, aligned for its values, from a sample as it is in the file.
 * PACK_ERR_MEMORY. */
enum pack_status pack_transform_apply(const struct pack_transform *transform,
                                      struct pack_transform_hand *hand,
                                      const struct pack_transform_drawn *drawn,
                                      const unsigned char *sample, void *out,
                                      struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
