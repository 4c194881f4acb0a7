#include "libpack/advise/training.h"

#include <math.h>

bool
pack_advise_training(const struct pack_trace_job *job, double speedup,
                     struct pack_advise_training *t)
{
    if (!job || !job->is_replayed || job->box_ns <= 0 || job->read_ns <= 0 ||
        job->read_ns > job->box_ns || speedup <= 0)
        return false;
    double others_ns = job->box_ns - job->read_ns;
    double ns = others_ns + job->read_ns / speedup;
    t->recorded_rate = 1e9 * (double)job->workers / job->box_ns;
    t->reading = job->read_ns / job->box_ns;
    t->gain = job->box_ns / ns;
    t->rate = t->recorded_rate * t->gain;
    t->most = others_ns > 0 ? job->box_ns / others_ns : INFINITY;
    return true;
}
