/* What public functions refuse before they look further: each check writes the sentence
 * and names the parameter. */
#ifndef LIBPACK_CHECK_H
#define LIBPACK_CHECK_H

#include <stdint.h>

#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Pairs of a parameter's name and its pointer, up to a NULL in place of a name:
 * PACK_ERR_ARGUMENT for the first pointer that is NULL. */
enum pack_status pack_check_given(struct pack_error *err, ...)
    __attribute__((sentinel));

/* A value of an enum that counts from 0 to n - 1. */
enum pack_status pack_check_choice(const char *param, int value, int n,
                                   struct pack_error *err);

/* A number from `min` to `max`; NaN is none. */
enum pack_status pack_check_number(const char *param, double value, double min,
                                   double max, struct pack_error *err);

/* A count of at most `max`. */
enum pack_status pack_check_count(const char *param, uint64_t value, uint64_t max,
                                  struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
