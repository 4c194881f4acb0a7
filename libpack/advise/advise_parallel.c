/* Several evaluations at a time, outcomes in the order of their configurations. */
#include <stdlib.h>

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

enum pack_status
pack_advise_evaluate_all(const struct pack_advise_params *params,
                         const struct pack_advise_config *const *configs, size_t n,
                         const uint64_t *max_samples,
                         struct pack_advise_outcome *outcomes, struct pack_error *err)
{
    struct pack_pool *pool = NULL;
    struct pack_pool_lane lane = { .work = work, .in_flight_max = n };
    struct job *jobs = calloc(n ? n : 1, sizeof *jobs), *job;
    enum pack_status status = jobs ? PACK_OK : pack_fail_memory(err, "evaluations");
    if (status == PACK_OK && n)
        status = pack_pool_new(params->n_threads ? params->n_threads : 1, &lane, 1, &pool,
                               err);
    for (size_t i = 0; status == PACK_OK && i < n; i++) {
        jobs[i] = (struct job){ .params = params,
                                .config = configs[i],
                                .max_samples = max_samples ? max_samples[i] : 0,
                                .outcome = &outcomes[i] };
        pack_pool_submit(pool, 0, &jobs[i]);
    }
    while (pool && (job = pack_pool_next(pool, 0)) != NULL) {
        if (status == PACK_OK && job->status != PACK_OK)
            status = pack_fail(err, job->status, "%s", job->err.text);
    }
    pack_pool_free(pool);
    free(jobs);
    return status;
}
