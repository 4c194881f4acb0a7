/* Numbers of a wider type that are bytes: integers of 0 to 255, or those by 255. */
#ifndef LIBPACK_NARROW_H
#define LIBPACK_NARROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What stands for byte k; the quotient and the product are rounded to the type once each,
 * and so is 1/255. Integers are PACK_NARROW_SAME only. */
enum pack_narrow_scale {
    PACK_NARROW_SAME = 0, /* k */
    PACK_NARROW_QUOTIENT, /* k / 255 */
    PACK_NARROW_PRODUCT,  /* k * (1 / 255) */
    PACK_NARROW_SCALES
};

struct pack_narrow {
    struct pack_type type;
    int n_scales;                           /* that the type can have */
    uint64_t bits[PACK_NARROW_SCALES][256]; /* of k's element, in the machine's order */
    enum pack_narrow_scale scale;           /* which it is, once that is known */
    unsigned char fill;                     /* of what is not stored, likewise */
};

/* "k", "k/255", "k*(1/255)". */
const char *pack_narrow_scale_name(enum pack_narrow_scale scale);

/* Whether the type is one of these: integers of 1, 2, 4 or 8 bytes, floats of 2, 4 or 8, in
 * either order. That floats are laid out as IEEE 754 has them is for the caller to know. */
bool pack_narrow_init(struct pack_narrow *narrow, const struct pack_type *type);

/* The first of n elements that no byte stands for in a scale, bit for bit: so neither NaN
 * nor -0.0 has one. n: there is none. */
size_t pack_narrow_scan(const struct pack_narrow *narrow, enum pack_narrow_scale scale,
                        const void *data, size_t n);

/* n elements as bytes, in narrow->scale; those that are none become 0. Goes forward: `to`
 * may be `data`. */
void pack_narrow_put(const struct pack_narrow *narrow, const void *data, size_t n,
                     unsigned char *to);

enum { PACK_NARROW_TEXT_MAX = 32 };
/* An element as text, floats with as many digits as tell them apart. Returns text. */
char *pack_narrow_text(const struct pack_narrow *narrow, const void *element, char *text);

#ifdef __cplusplus
}
#endif
#endif
