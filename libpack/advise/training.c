#include "libpack/advise/training.h"

#include <math.h>

enum { ROUNDS = 50 };

/* Of this much reading what is left is so little that other work looks larger than it is: it finds
 * its memory out of the processor's caches, beside workers that decode all the time. */
static const double NEARLY_ALL = 0.95;

/*
 * From one sample of a worker to its next, with reads `speedup` times as fast. A worker's own work
 * waits for a processor as it did, in proportion to how busy they are; it takes no less than the
 * training of as many samples as there are workers takes each process that trains, and than the
 * processors take for the work of all.
 */
static double
time_of(const struct pack_trace_job *job, double n_cpus, double speedup)
{
    double ready = job->busy + job->delayed, alone = ready > 0 ? job->busy / ready : 1;
    double all_ns = job->box_ns - job->read_ns + job->read_ns / speedup;
    double training_ns = job->parent_busy * job->box_ns;
    double work_ns = job->busy * fmin(job->box_ns, all_ns);
    double load_ns = (work_ns * (double)job->workers + training_ns * (double)job->parents) / n_cpus;
    double busy_ns = (job->busy * (double)job->workers + job->parent_busy * (double)job->parents) *
                     job->box_ns / n_cpus;
    double least_ns = fmax(training_ns, load_ns), ns = fmax(all_ns, least_ns);
    for (int i = 0; i < ROUNDS && busy_ns > 0; i++) { /* its own rate says how busy they are */
        double busier = load_ns / ns * job->box_ns / busy_ns;
        double next_ns = all_ns * alone / fmax(alone / 2, 1 - (1 - alone) * busier);
        ns = fmax(least_ns, (ns + next_ns) / 2);
    }
    return ns;
}

bool
pack_advise_training(const struct pack_trace_job *job, double speedup, double n_cpus,
                     struct pack_advise_training *t)
{
    if (!job || !job->is_replayed || job->box_ns <= 0 || job->read_ns <= 0 ||
        job->read_ns > job->box_ns || speedup <= 0 || n_cpus < 1)
        return false;
    double least_ns = time_of(job, n_cpus, INFINITY);
    t->recorded_rate = 1e9 * (double)job->workers / job->box_ns;
    t->reading = job->read_ns / job->box_ns;
    t->training = job->parent_busy;
    t->most = least_ns > 0 ? fmax(1, job->box_ns / least_ns) : INFINITY;
    double ns = time_of(job, n_cpus, speedup);
    t->gain = job->box_ns / ns;
    t->is_least = t->reading > NEARLY_ALL && t->gain > 1 && ns > job->parent_busy * job->box_ns;
    if (speedup >= 1)
        t->gain = fmax(1, t->gain); /* it has been done */
    t->rate = t->recorded_rate * t->gain;
    return true;
}
