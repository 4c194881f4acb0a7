/* Overflow-checked sizes, and decimal numbers. */
#ifndef LIBPACK_SIZE_H
#define LIBPACK_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/shape.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* *out = a * b or a + b; false, with *out untouched, when the result does not fit. */
bool pack_size_mul(uint64_t a, uint64_t b, uint64_t *out);
bool pack_size_add(uint64_t a, uint64_t b, uint64_t *out);

/* Decimal integer without sign, special forms or trailing text, at most `max`. */
enum pack_status pack_u64_parse(const char *text, uint64_t max, uint64_t *value,
                                struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
