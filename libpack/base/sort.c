#include "libpack/base/sort.h"

#include <stdlib.h>

static int
compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static int
compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

void
pack_sort_doubles(double *values, size_t n)
{
    if (n > 1)
        qsort(values, n, sizeof *values, compare_doubles);
}

void
pack_sort_u64(uint64_t *values, size_t n)
{
    if (n > 1)
        qsort(values, n, sizeof *values, compare_u64);
}

double
pack_sort_median(double *values, size_t n)
{
    if (n == 0)
        return 0;
    pack_sort_doubles(values, n);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

size_t
pack_sort_place(const uint64_t *values, size_t n, uint64_t value)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (values[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
