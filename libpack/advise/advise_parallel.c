/*
 * Several evaluations at a time, outcomes in the order of their configurations. The watch
 * belongs to the caller's thread: it is asked there, and what it says reaches the
 * evaluations as a flag.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "libpack/base/pool.h"
#include "libpack/advise/advise_parts.h"

struct job {
    const struct pack_advise_params *params;
    const struct pack_advise_config *config;
    uint64_t max_samples;
    struct pack_advise_outcome *outcome;
    enum pack_status status;
    struct pack_error err;
};

static void
work(void *item, unsigned worker, void *context)
{
    struct job *job = item;
    (void)worker, (void)context;
    job->status = pack_advise_evaluate(job->params, job->config, job->max_samples,
                                       job->outcome, &job->err);
}

static bool
flag_stops(void *context)
{
    return atomic_load((atomic_bool *)context);
}

/* The next finished job; asks the watch every millisecond meanwhile. */
static struct job *
next_job(struct pack_pool *pool, const struct pack_watch *watch, size_t left,
         atomic_bool *is_stopped)
{
    const struct timespec moment = { .tv_nsec = 1000000 };
    struct job *job;
    if (left == 0)
        return NULL;
    while ((job = pack_pool_try_next(pool, 0)) == NULL) {
        if (!watch->stop)
            return pack_pool_next(pool, 0);
        if (pack_watch_stops(watch))
            atomic_store(is_stopped, true);
        nanosleep(&moment, NULL);
    }
    return job;
}

enum pack_status
pack_advise_evaluate_all(const struct pack_advise_params *params,
                         const struct pack_advise_config *const *configs, size_t n,
                         const uint64_t *max_samples,
                         struct pack_advise_outcome *outcomes, struct pack_error *err)
{
    atomic_bool is_stopped = false;
    struct pack_advise_params inner = *params;
    struct pack_pool *pool = NULL;
    struct pack_pool_lane lane = { .work = work, .in_flight_max = n };
    struct job *jobs = calloc(n ? n : 1, sizeof *jobs), *job;
    enum pack_status status = jobs ? PACK_OK : pack_fail_memory(err, "evaluations");
    inner.watch = (struct pack_watch){ .context = &is_stopped, .stop = flag_stops };
    if (status == PACK_OK && n)
        status = pack_pool_new(params->n_threads ? params->n_threads : 1, &lane, 1, &pool,
                               err);
    size_t left = status == PACK_OK ? n : 0;
    for (size_t i = 0; i < left; i++) {
        jobs[i] = (struct job){ .params = &inner,
                                .config = configs[i],
                                .max_samples = max_samples ? max_samples[i] : 0,
                                .outcome = &outcomes[i] };
        pack_pool_submit(pool, 0, &jobs[i]);
    }
    while ((job = next_job(pool, &params->watch, left, &is_stopped)) != NULL) {
        left--;
        if (status != PACK_OK || job->status == PACK_OK)
            continue;
        status = job->status;
        if (err)
            *err = job->err;
    }
    pack_pool_free(pool);
    free(jobs);
    return status;
}
