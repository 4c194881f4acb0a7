/* Numbers in order, and the one in the middle. */
#ifndef LIBPACK_SORT_H
#define LIBPACK_SORT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The least first; none of them is NaN. */
void pack_sort_doubles(double *values, size_t n);
void pack_sort_u64(uint64_t *values, size_t n);

/* Of n values in order: the place of the first that is not less than `value`, n where there is
 * none. */
size_t pack_sort_place(const uint64_t *values, size_t n, uint64_t value);

/* Sorts them. Of an even number of values the mean of the two in the middle; 0 without
 * any. */
double pack_sort_median(double *values, size_t n);

#ifdef __cplusplus
}
#endif
#endif
