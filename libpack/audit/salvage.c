/* Chunks keep their grid and filters: the good ones are taken as they are stored, of the bad ones
 * nothing is. */
#include "libpack/audit/salvage.h"

#include <stdlib.h>
#include <string.h>

#include "libpack/hdf5/clone.h"
#include "libpack/hdf5/cut_file.h"
#include "libpack/rechunk/rechunk.h"

/* What is asked of pack_rechunk(), for each dataset that lost something. */
struct plan {
    struct pack_rechunk_lost *lost;
    const char **paths; /* of these */
    size_t n;
    struct pack_clone_noted *noted; /* datasets without chunks */
    size_t n_noted;
};

static void
plan_done(struct plan *plan)
{
    for (size_t i = 0; i < plan->n; i++) {
        free((void *)plan->lost[i].path);
        free((void *)plan->lost[i].chunks);
        free((void *)plan->lost[i].rows);
    }
    for (size_t i = 0; i < plan->n_noted; i++) {
        free((void *)plan->noted[i].path);
        free((void *)plan->noted[i].lost);
    }
    free(plan->noted);
    free(plan->lost);
    free(plan->paths);
}

/* Whether a dataset can be put right so. */
static enum pack_status
check_set(const struct pack_salvage_params *p, const struct pack_verify_set *set,
          bool is_cut, struct pack_error *err)
{
    if (!set->is_done)
        return pack_fail(
            err, PACK_ERR_UNSUPPORTED,
            "cannot salvage '%s': '/%.200s' could not be read to the end: %s", p->file,
            set->path, set->failure);
    bool has_zeros = is_cut && set->layout != PACK_LAYOUT_VIRTUAL;
    bool has_chunks = set->layout == PACK_LAYOUT_CHUNKED && !set->is_by_hdf5;
    if (set->n_bad > 0 && !has_chunks && !has_zeros)
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "cannot salvage '%s': what is bad of '/%.200s' lies %s", p->file,
                         set->path,
                         set->layout == PACK_LAYOUT_VIRTUAL
                             ? "in other files, which are to be salvaged first"
                         : set->layout == PACK_LAYOUT_CHUNKED
                             ? "in chunks that HDF5 alone can read"
                             : "in one piece with the rest, not in chunks");
    return PACK_OK;
}

/* Whether what a child said of chunks, which may be anything, is of this dataset's grid. */
static bool
is_of_grid(const struct pack_verify_result *verified, const struct pack_verify_set *set)
{
    bool is = set->chunk.rank == set->extent.rank;
    for (int i = 0; i < set->extent.rank && is; i++)
        is = set->chunk.extent[i] > 0;
    for (size_t i = 0; i < set->n_listed && is; i++)
        is = verified->bad[set->first_bad + i].rank == set->extent.rank;
    return is;
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

static uint64_t *
list_rows(const struct pack_verify_set *set)
{
    uint64_t *rows = calloc(set->n_bad_ranges + 1, 2 * sizeof *rows);
    for (size_t i = 0; rows && i < set->n_bad_ranges; i++) {
        rows[2 * i] = set->bad_rows[i].first;
        rows[2 * i + 1] = set->bad_rows[i].n;
    }
    return rows;
}

/* What lies behind the end of a file that is cut reads as zeros. */
static enum pack_status
add_noted(const struct pack_verify_set *set, struct plan *plan, struct pack_error *err)
{
    uint64_t *rows = list_rows(set);
    char *path = strdup(set->path + strspn(set->path, "/"));
    plan->noted[plan->n_noted++] =
        (struct pack_clone_noted){ path, rows, set->n_bad_ranges };
    return path && rows ? PACK_OK : pack_fail_memory(err, "a list of samples");
}

static enum pack_status
add_set(const struct pack_verify_result *verified, const struct pack_verify_set *set,
        struct plan *plan, struct pack_error *err)
{
    if (!is_of_grid(verified, set))
        return pack_fail(err, PACK_ERR_FORMAT, "what was found of '/%.200s' is damaged",
                         set->path);
    uint64_t *chunks = calloc(set->n_listed + 1, sizeof *chunks);
    uint64_t *rows = list_rows(set);
    char *path = strdup(set->path + strspn(set->path, "/"));
    plan->paths[plan->n] = path;
    plan->lost[plan->n++] = (struct pack_rechunk_lost){ path, chunks, set->n_listed, rows,
                                                        set->n_bad_ranges };
    if (!path || !chunks || !rows)
        return pack_fail_memory(err, "a list of chunks");
    for (size_t i = 0; i < set->n_listed; i++)
        chunks[i] = number_of(set, &verified->bad[set->first_bad + i]);
    return PACK_OK;
}

/* Where nothing that has chunks lost any, one of them goes along, whole. */
static enum pack_status
add_whole(const struct pack_salvage_params *p, const struct pack_verify_result *verified,
          struct plan *plan, struct pack_error *err)
{
    for (size_t i = 0; i < verified->n_sets; i++)
        if (verified->sets[i].layout == PACK_LAYOUT_CHUNKED &&
            !verified->sets[i].is_by_hdf5 && verified->sets[i].n_stored > 0)
            return add_set(verified, &verified->sets[i], plan, err);
    return pack_fail(err, PACK_ERR_UNSUPPORTED,
                     "cannot salvage '%s': it has no dataset with chunks", p->file);
}

static enum pack_status
make_plan(const struct pack_salvage_params *p, const struct pack_verify_result *verified,
          struct plan *plan, struct pack_salvaged *salvaged, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    plan->lost = calloc(verified->n_sets + 1, sizeof *plan->lost);
    plan->paths = calloc(verified->n_sets + 1, sizeof *plan->paths);
    plan->noted = calloc(verified->n_sets + 1, sizeof *plan->noted);
    if (!plan->lost || !plan->paths || !plan->noted)
        return pack_fail_memory(err, "a list of datasets");
    for (size_t i = 0; i < verified->n_sets && status == PACK_OK; i++) {
        const struct pack_verify_set *set = &verified->sets[i];
        status = check_set(p, set, verified->end_bytes > 0, err);
        if (status != PACK_OK || set->n_bad == 0)
            continue;
        status = set->layout == PACK_LAYOUT_CHUNKED && !set->is_by_hdf5
                     ? add_set(verified, set, plan, err)
                     : add_noted(set, plan, err);
        salvaged->n_sets++;
        salvaged->n_chunks += set->n_bad;
        salvaged->n_rows += set->n_bad_rows;
    }
    if (status == PACK_OK && plan->n == 0 && plan->n_noted > 0)
        status = add_whole(p, verified, plan, err);
    return status;
}

enum pack_status
pack_salvage(const struct pack_salvage_params *p,
             const struct pack_verify_result *verified, struct pack_salvaged *salvaged,
             struct pack_error *err)
{
    struct plan plan = { .n = 0 };
    struct pack_rechunk_result result = { .sets = NULL };
    *salvaged = (struct pack_salvaged){ .is_written = false };
    if (verified->status != PACK_OK)
        return pack_fail(err, PACK_ERR_UNSUPPORTED, "cannot salvage '%s': %s", p->file,
                         verified->failure.text);
    struct pack_cut_file cut;
    bool is_cut = pack_cut_file_open(p->file, &cut);
    enum pack_status status = make_plan(p, verified, &plan, salvaged, err);
    const struct pack_rechunk_params params = { .input = is_cut ? cut.name : p->file,
                                                .output = p->output,
                                                .datasets = plan.paths,
                                                .n_datasets = plan.n,
                                                .lost = plan.lost,
                                                .n_lost = plan.n,
                                                .noted = plan.noted,
                                                .n_noted = plan.n_noted,
                                                .force = p->force,
                                                .n_threads = p->n_threads,
                                                .watch = p->watch };
    if (status == PACK_OK && plan.n > 0) {
        status = pack_rechunk(&params, &result, err);
        salvaged->is_written = status == PACK_OK;
        salvaged->output_bytes = result.output_bytes;
        pack_rechunk_result_done(&result);
    }
    if (err && status != PACK_OK)
        pack_cut_file_rename(&cut, p->file, err->text, sizeof err->text);
    pack_cut_file_close(&cut);
    plan_done(&plan);
    return status;
}
