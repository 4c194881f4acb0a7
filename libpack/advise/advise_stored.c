/*
 * What the auditor says of a dataset, beside today's warnings: the rules of
 * findings_stored.h, asked about the same reader.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/advise/advise_stored.h"
#include "libpack/hdf5/chunk_stats.h"
#include "libpack/hdf5/h5_chunks.h"
#include "libpack/hdf5/h5_guard.h"

void
pack_advise_stored_reading(const struct pack_advise_params *params,
                           const struct pack_advise_outcome *o, struct pack_stored_reading *s)
{
    const struct pack_profile *profile = params->machine.profile;
    double workers = (double)pack_advise_workers(params);
    double samples = o->epoch_samples;
    double lanes = fmin(workers, (double)profile->n_cpus);
    double scale = o->steady_samples > 0 ? samples / o->steady_samples / lanes : 0;
    *s = (struct pack_stored_reading){
        .epoch_samples = samples,
        .epoch_s = o->later_rate > 0 ? samples / o->later_rate : 0,
        .amplification = o->amplification,
        .read_bytes = o->bytes_per_sample * samples,
        .decodes_per_sample =
            o->steady_samples > 0 ? (double)o->steady.decodes / o->steady_samples : 0,
        .decode_s = o->steady_cost.decode_ns * scale / 1e9,
        .gzip_ns = profile->gzip_decode_ns,
        .zstd_ns = profile->zstd_decode_ns,
        .cache = o->config.cache,
        .workers = pack_advise_workers(params),
    };
}

/* ------------------------------------------------------------- facts of a file */

struct placing {
    const struct pack_h5_dataset *data;
    struct pack_survey_dataset *d;
};

static enum pack_status
place_chunks(void *context, struct pack_h5_guard *guard, struct pack_error *err)
{
    const struct placing *p = context;
    const struct pack_h5_dataset *data = p->data;
    struct pack_chunkindex index;
    struct stat st;
    if (stat(data->file, &st) != 0)
        return pack_fail(err, PACK_ERR_IO, "'%.200s' is gone", data->file);
    pack_h5_guard_note(guard, "listing the chunks of '/%s'", data->path);
    enum pack_status status =
        pack_h5_chunks_list(data->file, data->path, &data->facts, 0, NULL, &index, err);
    if (status != PACK_OK)
        return status;
    status = pack_chunk_stats_make(&index, (uint64_t)st.st_size, &p->d->stats, err);
    pack_chunkindex_done(&index);
    return status;
}

/* Where chunks lie is listed of so many that nobody waits for it. */
static void
survey(const struct pack_advise_file *file, struct pack_survey_dataset *d)
{
    enum { LISTED_MAX = 1 << 16 };
    const struct pack_h5_dataset *data = pack_advise_file_data(file);
    struct placing placing = { data, d };
    const struct pack_h5_source *first;
    memset(d, 0, sizeof *d);
    d->facts = data->facts;
    d->missing_filter = pack_advise_file_missing_filter(file);
    d->n_missing_sources = pack_h5_sources_missing(&data->sources, &first);
    if (d->n_missing_sources > 0)
        snprintf(d->missing_source, sizeof d->missing_source, "%.*s", PACK_SURVEY_TEXT_MAX - 1,
                 first->file);
    struct stat st;
    if (stat(data->file, &st) == 0 && strcmp(data->file, data->data_file) == 0)
        d->beyond_bytes = pack_survey_beyond(&d->facts, (uint64_t)st.st_size);
    d->n_sources = data->sources.n_sources;
    if (data->facts.layout != PACK_LAYOUT_CHUNKED || data->facts.n_chunks_total > LISTED_MAX ||
        strcmp(data->file, data->data_file) != 0)
        return;
    d->has_stats =
        pack_h5_guard_try(data->file, NULL, place_chunks, &placing, NULL) == PACK_OK &&
        place_chunks(&placing, NULL, NULL) == PACK_OK;
}

/* ------------------------------------------------------------------- warnings */

static bool
is_said(const struct pack_advise_result *r, int code)
{
    bool is = false;
    for (size_t i = 0; i < r->n_warnings; i++)
        is = is || r->warnings[i].code == code;
    return is;
}

enum pack_status
pack_advise_warn_stored(const struct pack_advise_params *params,
                        const struct pack_advise_file *file, struct pack_advise_result *r,
                        struct pack_error *err)
{
    struct pack_finding found[PACK_FINDINGS_STORED_MAX];
    struct pack_stored_reading reading;
    if (!file || !r->has_now)
        return PACK_OK;
    struct pack_survey_dataset *d = malloc(sizeof *d);
    if (!d)
        return pack_fail_memory(err, "findings");
    survey(file, d);
    pack_advise_stored_reading(params, &r->now, &reading);
    size_t n = pack_findings_dataset(d, &reading, NULL, found, PACK_FINDINGS_STORED_MAX);
    for (size_t i = 0; i < n && r->n_warnings < PACK_ADVISE_WARNINGS_MAX; i++)
        if (!is_said(r, found[i].code))
            pack_advise_warning_of(&found[i], &r->warnings[r->n_warnings++]);
    free(d);
    if (r->rows[0].is_now) {
        r->n_choice_warnings = r->n_warnings;
        memcpy(r->choice_warnings, r->warnings, sizeof r->warnings);
    }
    return PACK_OK;
}
