/* Chunks keep their grid and filters: the good ones are taken as they are stored, of the bad ones
 * nothing is. */
#include "libpack/audit/salvage.h"

#include <stdlib.h>
#include <string.h>

#include "libpack/hdf5/clone.h"
#include "libpack/rechunk/rechunk.h"

/* What is asked of pack_rechunk(), for each dataset that lost something. */
struct plan {
    struct pack_rechunk_lost *lost;
    const char **paths; /* of these */
    size_t n;
};

static void
plan_done(struct plan *plan)
{
    for (size_t i = 0; i < plan->n; i++) {
        free((void *)plan->lost[i].path);
        free((void *)plan->lost[i].chunks);
        free((void *)plan->lost[i].rows);
    }
    free(plan->lost);
    free(plan->paths);
}

/* Whether a dataset can be put right so. */
static enum pack_status
check_set(const struct pack_salvage_params *p, const struct pack_verify_set *set,
          struct pack_error *err)
{
    if (!set->is_done)
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "cannot salvage '%s': '/%.200s' could not be read to the end: %s",
                         p->file, set->path, set->failure);
    if (set->n_bad > 0 && set->layout != PACK_LAYOUT_CHUNKED)
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "cannot salvage '%s': what is bad of '/%.200s' lies %s", p->file,
                         set->path,
                         set->layout == PACK_LAYOUT_VIRTUAL
                             ? "in other files, which are to be salvaged first"
                             : "in one piece with the rest, not in chunks");
    return PACK_OK;
}

static uint64_t
number_of(const struct pack_verify_set *set, const struct pack_verify_bad *bad)
{
    uint64_t number = 0;
    for (int i = 0; i < set->extent.rank; i++) {
        uint64_t chunk = set->chunk.extent[i];
        number = number * ((set->extent.extent[i] + chunk - 1) / chunk) + bad->coords[i];
    }
    return number;
}

static enum pack_status
add_set(const struct pack_verify_result *verified, const struct pack_verify_set *set,
        struct plan *plan, struct pack_error *err)
{
    uint64_t *chunks = calloc(set->n_listed + 1, sizeof *chunks);
    uint64_t *rows = calloc(set->n_bad_ranges + 1, 2 * sizeof *rows);
    char *path = strdup(set->path + strspn(set->path, "/"));
    plan->paths[plan->n] = path;
    plan->lost[plan->n++] = (struct pack_rechunk_lost){ path, chunks, set->n_listed, rows,
                                                        set->n_bad_ranges };
    if (!path || !chunks || !rows)
        return pack_fail_memory(err, "a list of chunks");
    for (size_t i = 0; i < set->n_listed; i++)
        chunks[i] = number_of(set, &verified->bad[set->first_bad + i]);
    for (size_t i = 0; i < set->n_bad_ranges; i++) {
        rows[2 * i] = set->bad_rows[i].first;
        rows[2 * i + 1] = set->bad_rows[i].n;
    }
    return PACK_OK;
}

static enum pack_status
make_plan(const struct pack_salvage_params *p, const struct pack_verify_result *verified,
          struct plan *plan, struct pack_salvaged *salvaged, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    plan->lost = calloc(verified->n_sets + 1, sizeof *plan->lost);
    plan->paths = calloc(verified->n_sets + 1, sizeof *plan->paths);
    if (!plan->lost || !plan->paths)
        return pack_fail_memory(err, "a list of datasets");
    for (size_t i = 0; i < verified->n_sets && status == PACK_OK; i++) {
        const struct pack_verify_set *set = &verified->sets[i];
        status = check_set(p, set, err);
        if (status != PACK_OK || set->n_bad == 0)
            continue;
        status = add_set(verified, set, plan, err);
        salvaged->n_sets++;
        salvaged->n_chunks += set->n_bad;
        salvaged->n_rows += set->n_bad_rows;
    }
    return status;
}

enum pack_status
pack_salvage(const struct pack_salvage_params *p, const struct pack_verify_result *verified,
             struct pack_salvaged *salvaged, struct pack_error *err)
{
    struct plan plan = { .n = 0 };
    struct pack_rechunk_result result = { .sets = NULL };
    *salvaged = (struct pack_salvaged){ .is_written = false };
    if (verified->status != PACK_OK)
        return pack_fail(err, PACK_ERR_UNSUPPORTED, "cannot salvage '%s': %s", p->file,
                         verified->failure.text);
    enum pack_status status = make_plan(p, verified, &plan, salvaged, err);
    const struct pack_rechunk_params params = { .input = p->file,
                                                .output = p->output,
                                                .datasets = plan.paths,
                                                .n_datasets = plan.n,
                                                .lost = plan.lost,
                                                .n_lost = plan.n,
                                                .force = p->force,
                                                .n_threads = p->n_threads,
                                                .watch = p->watch };
    if (status == PACK_OK && plan.n > 0) {
        status = pack_rechunk(&params, &result, err);
        salvaged->is_written = status == PACK_OK;
        salvaged->output_bytes = result.output_bytes;
        pack_rechunk_result_done(&result);
    }
    plan_done(&plan);
    return status;
}
