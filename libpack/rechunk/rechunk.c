/*
 * In this order, so that what is wrong is said before any work: the output is claimed, the
 * source is tried in a child process, its datasets are mapped and planned, everything else
 * of it is looked at. Then the copy is written: rechunk_write.c.
 */
#include "libpack/rechunk/rechunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libpack/base/check.h"
#include "libpack/base/pool.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_dataset.h"
#include "libpack/rechunk/rechunk_parts.h"
#include "libpack/rechunk/rechunk_run.h"

enum { MEMORY_BYTES = 1 << 30, CARRY_BYTES = 16 << 20 };

/* ------------------------------------------------------------------- checks */

/* The output is not the input, by whatever name. */
static enum pack_status
check_files(const struct pack_rechunk_params *p, struct pack_rechunk_result *result,
            struct pack_error *err)
{
    struct stat input, output;
    if (stat(p->input, &input) != 0)
        return pack_fail_errno(err, errno, "cannot open '%s'", p->input);
    result->input_bytes = (uint64_t)input.st_size;
    if (p->output && stat(p->output, &output) == 0 && input.st_dev == output.st_dev &&
        input.st_ino == output.st_ino)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "output",
                               "'%s' is '%s' itself, which is not rewritten in place",
                               p->output, p->input);
    return PACK_OK;
}

/* Something is, of `set` too where it is given. */
static enum pack_status
check_asked(const struct pack_rechunk_params *p, const struct pack_rechunk_set *set,
            struct pack_error *err)
{
    if (p->chunk || p->compress || p->fletcher32 || p->as || p->layout || p->shuffle ||
        p->n_lost > 0 || (set && (set->asked_chunk || set->asked_filters)))
        return PACK_OK;
    return pack_fail_param(err, PACK_ERR_ARGUMENT, "chunk",
                           "neither other chunks, nor other filters, nor another type, layout "
                           "or order are asked for%s%s%s",
                           set ? ", of '" : "", set ? set->path : "", set ? "'" : "");
}

static enum pack_status
check_params(const struct pack_rechunk_params *p, struct pack_error *err)
{
    bool has_specs = false;
    for (size_t i = 0; i < p->n_datasets; i++)
        has_specs = has_specs || strchr(p->datasets[i], '=');
    enum pack_status status =
        pack_check_count("n_threads", p->n_threads, PACK_POOL_THREADS_MAX, err);
    return status == PACK_OK && !has_specs ? check_asked(p, NULL, err) : status;
}

/* --------------------------------------------------------------------- sets */

/* HDF5 itself is to read both. */
static enum pack_status
check_verify(const struct pack_rechunk_params *p, const struct pack_rechunk_set *set,
             struct pack_error *err)
{
    char need[PACK_FILTER_NEED_MAX];
    uint32_t id;
    if (!pack_h5_missing_filter(&set->facts.pipeline, &id))
        return PACK_OK;
    return pack_fail_param(err, PACK_ERR_UNSUPPORTED, "verify",
                           "HDF5 cannot read '%s:/%s' for comparison: %s", p->input,
                           set->path, pack_filter_need(id, need));
}

/* Where the group of a dataset ends in its path. */
static size_t
group_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) : 0;
}

/* All of them are in one group, and of as many records. */
static enum pack_status
set_rows(const struct pack_rechunk_params *p, struct pack_rechunk_result *result,
         struct pack_rechunk_set *set, struct pack_error *err)
{
    size_t length = group_length(set->path);
    uint64_t n = set->facts.extent.extent[0];
    if (!p->shuffle)
        return PACK_OK;
    if (!result->group) {
        result->group = length > 0 ? strndup(set->path, length) : strdup("/");
        if (!result->group)
            return pack_fail_memory(err, "a path");
        pack_permutation_init(&result->rows, n, p->seed);
    }
    const char *first = result->sets[0].path;
    if (n != result->rows.n || length != group_length(first) ||
        strncmp(first, set->path, length) != 0)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "shuffle",
                               "'%s' and '%s' are not of one group, or not of one length",
                               first, set->path);
    set->rows = &result->rows;
    return PACK_OK;
}

static enum pack_status
plan_set(const struct pack_rechunk_params *p, struct pack_rechunk_result *result,
         struct pack_rechunk_set *set, struct pack_error *err)
{
    const struct pack_chunkmap_limits limits = { .memory_bytes = p->memory_bytes,
                                                 .watch = &p->watch };
    enum pack_status status =
        pack_chunkmap_open(p->input, set->path, &limits, &set->map, err);
    if (status != PACK_OK)
        return status;
    set->facts = set->map->facts;
    if (set->map->unmapped[0])
        return pack_fail_param(err, PACK_ERR_UNSUPPORTED,
                               set->facts.layout == PACK_LAYOUT_VIRTUAL ? "is_virtual" : NULL,
                               "cannot rechunk '%s:/%s': %s", p->input, set->path,
                               set->map->unmapped);
    status = set_rows(p, result, set, err);
    if (status == PACK_OK)
        status = pack_rechunk_spec(p, set, err);
    if (status == PACK_OK && p->verify)
        status = check_verify(p, set, err);
    const struct pack_rechunk_move_params params = pack_rechunk_move_of(p, set);
    return status == PACK_OK ? pack_rechunk_move_plan(&params, &set->move, err) : status;
}

/* Cuts "images=16,zstd:3" apart, in place. */
static enum pack_status
cut_spec(const struct pack_rechunk_params *p, struct pack_rechunk_set *set,
         struct pack_error *err)
{
    char *equals = strrchr(set->path, '='), *comma;
    struct pack_facts facts;
    if (!equals ||
        pack_dataset_facts(p->input, set->path, &facts, NULL) != PACK_ERR_NOT_FOUND)
        return PACK_OK;
    comma = strchr(equals, ',');
    if (equals[1] == '\0' || (comma && comma[1] == '\0'))
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "datasets",
                               "'%s': behind = there are a chunk, as in =16, filters, as in "
                               "=,zstd:3, or both, as in =16,zstd:3",
                               set->path);
    *equals = '\0';
    if (comma) {
        *comma = '\0';
        set->asked_filters = comma + 1;
    }
    if (equals[1] != '\0')
        set->asked_chunk = equals + 1;
    return PACK_OK;
}

/* What is said of a dataset says of which file, too. */
static enum pack_status
name_input(const struct pack_rechunk_params *p, enum pack_status status,
           struct pack_error *err)
{
    if (!err || status != PACK_ERR_UNSUPPORTED || strstr(err->text, p->input))
        return status;
    const char *param = err->param;
    (void)pack_error_prefix(err, status, "cannot rechunk '%.200s'", p->input);
    err->param = param;
    return status;
}

static enum pack_status
make_sets(const struct pack_rechunk_params *p, struct pack_rechunk_result *result,
          struct pack_error *err)
{
    size_t n = p->n_datasets > 0 ? p->n_datasets : 1;
    enum pack_status status = PACK_OK;
    result->sets = calloc(n, sizeof *result->sets);
    if (!result->sets)
        return pack_fail_memory(err, "a list of datasets");
    for (size_t i = 0; i < n && status == PACK_OK; i++) {
        struct pack_rechunk_set *set = &result->sets[result->n_sets++];
        if (p->n_datasets == 0) {
            status = pack_h5_dataset_find(p->input, &set->path, err);
        } else {
            const char *path = p->datasets[i];
            set->path = strdup(path + strspn(path, "/"));
            if (!set->path)
                status = pack_fail_memory(err, "a path");
            else
                status = cut_spec(p, set, err);
            if (status == PACK_OK)
                status = check_asked(p, set, err);
        }
        if (status == PACK_OK)
            status = plan_set(p, result, set, err);
    }
    return name_input(p, status, err);
}

/* ------------------------------------------------------------------ copying */

const struct pack_rechunk_lost *
pack_rechunk_lost_of(const struct pack_rechunk_params *p, const struct pack_rechunk_set *set)
{
    for (size_t i = 0; i < p->n_lost; i++)
        if (strcmp(p->lost[i].path, set->path) == 0)
            return &p->lost[i];
    return NULL;
}

static enum pack_status
open_clone(const struct pack_rechunk_params *p, struct pack_rechunk_result *result,
           struct pack_clone_set **sets, struct pack_clone **clone,
           struct pack_error *err)
{
    struct pack_clone_params params = { .file = p->input,
                                        .n_sets = result->n_sets,
                                        .noted = p->noted,
                                        .n_noted = p->n_noted,
                                        .room_bytes = p->memory_bytes < CARRY_BYTES
                                                          ? p->memory_bytes
                                                          : CARRY_BYTES,
                                        .rows = p->shuffle ? &result->rows : NULL,
                                        .group = result->group,
                                        .rows_bytes = p->memory_bytes,
                                        .watch = p->watch };
    *sets = calloc(result->n_sets, sizeof **sets);
    if (!*sets)
        return pack_fail_memory(err, "a list of datasets");
    for (size_t i = 0; i < result->n_sets; i++) {
        const struct pack_rechunk_set *set = &result->sets[i];
        (*sets)[i] = (struct pack_clone_set){ .path = set->path,
                                              .chunk = set->chunk,
                                              .pipeline = set->pipeline,
                                              .is_contiguous = set->is_contiguous,
                                              .axes = set->axes,
                                              .is_planes = pack_rechunk_is_planes(set),
                                              .edge_chunks_unfiltered =
                                                  set->verbatim &&
                                                  set->facts.edge_chunks_unfiltered };
        const struct pack_rechunk_lost *lost = pack_rechunk_lost_of(p, set);
        if (lost) {
            (*sets)[i].lost = lost->rows;
            (*sets)[i].n_lost = lost->n_rows;
        }
    }
    params.sets = *sets;
    enum pack_status status = pack_clone_open(&params, clone, err);
    if (status == PACK_OK)
        result->counts = pack_clone_counts(*clone);
    return status;
}

/* What can only be said when all of the data was looked at. */
static enum pack_status
prove_sets(const struct pack_rechunk_params *p, struct pack_rechunk_result *result,
           struct pack_clone_set *sets, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < result->n_sets && status == PACK_OK; i++) {
        struct pack_rechunk_set *set = &result->sets[i];
        if (!set->narrow)
            continue;
        status = pack_rechunk_prove(p, set, err);
        sets[i].is_narrowed = true;
        sets[i].fill = set->narrow->fill;
        sets[i].scale = pack_narrow_scale_name(set->narrow->scale);
    }
    return status;
}

enum pack_status
pack_rechunk(const struct pack_rechunk_params *params, struct pack_rechunk_result *result,
             struct pack_error *err)
{
    struct pack_rechunk_params p = *params;
    struct pack_clone_set *sets = NULL;
    struct pack_rechunk_run run = { .params = &p, .result = result, .stored_fd = -1 };
    if (p.n_threads == 0)
        p.n_threads = pack_pool_default_threads();
    if (p.memory_bytes == 0)
        p.memory_bytes = MEMORY_BYTES;
    enum pack_status status = check_params(&p, err);
    if (status == PACK_OK)
        status = check_files(&p, result, err);
    if (status == PACK_OK && !p.dry_run)
        status = pack_rechunk_claim(&run, err);
    if (status == PACK_OK)
        status = pack_h5_register_zstd(err);
    if (status == PACK_OK)
        status = pack_clone_try(p.input, err);
    if (status == PACK_OK)
        status = make_sets(&p, result, err);
    if (status == PACK_OK)
        status = open_clone(&p, result, &sets, &run.clone, err);
    if (status == PACK_OK)
        status = prove_sets(&p, result, sets, err);
    if (status == PACK_OK && !p.dry_run)
        status = pack_rechunk_write(&run, err);
    pack_rechunk_release(&run, status);
    pack_clone_close(run.clone);
    free(sets);
    return status;
}

enum pack_status
pack_rechunk_check_output(const struct pack_rechunk_params *params, struct pack_error *err)
{
    struct pack_rechunk_result result = { .sets = NULL };
    struct pack_rechunk_run run = { .params = params, .result = &result, .stored_fd = -1 };
    enum pack_status status = check_files(params, &result, err);
    if (status == PACK_OK && !params->force)
        status = pack_rechunk_claim(&run, err);
    pack_rechunk_release(&run, status);
    return status;
}

void
pack_rechunk_result_done(struct pack_rechunk_result *result)
{
    for (size_t i = 0; i < result->n_sets; i++) {
        pack_chunkmap_close(result->sets[i].map);
        free(result->sets[i].path);
        free(result->sets[i].narrow);
    }
    free(result->sets);
    free(result->group);
    *result = (struct pack_rechunk_result){ .sets = NULL };
}
