/*
 * Whether a measured gain can be true. A machine that does other work slows today's
 * settings or the candidate, whichever is read just then: medians of a few rounds are then
 * off by any factor. Two things show it: rounds that differ widely, and rates that are
 * beyond what memory gives.
 */
#include <stdio.h>

#include "libpack/bench/bench_advice_parts.h"

static const double wide = 3, /* the interval's ends, over one another */
    slack = 2;                /* the fastest copy known is not the fastest there is */

double
pack_bench_most(const struct pack_profile *profile, uint64_t n_workers,
                uint64_t sample_bytes)
{
    double least_ns = 0;
    for (int i = 0; i < profile->copy.n; i++)
        if (least_ns <= 0 || profile->copy.value[i] < least_ns)
            least_ns = profile->copy.value[i];
    if (least_ns <= 0 || sample_bytes == 0)
        return 0;
    uint64_t n = n_workers;
    if (profile->n_cpus && n > profile->n_cpus)
        n = profile->n_cpus;
    return slack * (double)(n ? n : 1) * 1e9 / (least_ns * (double)sample_bytes);
}

bool
pack_bench_doubt(struct pack_bench_change *c, double rate, double most,
                 const struct bench_gain *predicted)
{
    if (!c->is_measured)
        return false;
    if (most > 0 && rate > most) {
        snprintf(c->remark, sizeof c->remark,
                 "%.3gx measured is not credible: other work disturbed it", c->gain);
        c->is_measured = false;
        c->gain = predicted->whole;
        c->first_gain = predicted->first;
        c->later_gain = predicted->later;
        c->gain_low = c->gain_high = 0;
        return true;
    }
    if (c->gain_low > 0 && c->gain_high > wide * c->gain_low) {
        snprintf(c->remark, sizeof c->remark,
                 "its rounds differ widely: other work disturbed the measurement");
        return true;
    }
    return false;
}
