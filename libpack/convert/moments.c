#include "libpack/convert/moments.h"

#include <math.h>

void
pack_moments_add(struct pack_moments *moments, const uint64_t sum[3],
                 const uint64_t sumsq[3])
{
    for (int c = 0; c < 3; c++) {
        moments->sum[c] += sum[c];
        moments->sumsq[c] += sumsq[c];
    }
}

double
pack_moments_mean(const struct pack_moments *moments, int c, uint64_t n_pixels)
{
    return (double)((long double)moments->sum[c] / (long double)n_pixels);
}

double
pack_moments_std(const struct pack_moments *moments, int c, uint64_t n_pixels)
{
    /* n * sumsq - sum * sum without rounding: at most 2^50 pixels of 2^16 twice over */
    unsigned __int128 spread = (unsigned __int128)n_pixels * moments->sumsq[c] -
                               moments->sum[c] * moments->sum[c];
    return (double)(sqrtl((long double)spread) / (long double)n_pixels);
}
