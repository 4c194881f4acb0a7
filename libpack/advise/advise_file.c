/* Facts become a configuration; samples of the data become ratios. */
#include "libpack/advise/advise_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpack/dataset.h>
#include "libpack/hdf5/filter.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_guard.h"
#include "libpack/hdf5/h5_read.h"
#include "libpack/hdf5/readset.h"
#include "libpack/model/cost.h"
#include "libpack/base/numbers.h"

enum { MEASURED_MAX = 64, MEASURE_BYTES = 1 << 20, PIECES = 4, NAMES_MAX = 400 };

struct measured {
    char codec[PACK_ADVISE_CODEC_MAX];
    int size_class; /* log2 of the chunk's bytes */
    double stored_rate;
};

struct pack_advise_file {
    char *path;
    int64_t h5;
    struct pack_facts facts;
    uint64_t *stored_bytes;        /* of each chunk; NULL when all are alike */
    struct pack_h5_reader *reader; /* opened when first measured */
    const struct pack_profile *profile;
    struct measured measured[MEASURED_MAX];
    int n_measured;
};

/* ----------------------------------------------------------------- opening */

static bool
is_numeric(const struct pack_facts *facts)
{
    return facts->type.class_id == PACK_TYPE_INTEGER ||
           facts->type.class_id == PACK_TYPE_FLOAT ||
           facts->type.class_id == PACK_TYPE_ENUM;
}

/* Why there is nothing to advise on. */
static enum pack_status
check_facts(const struct pack_facts *facts, struct pack_error *err)
{
    char type[PACK_TYPE_TEXT_MAX];
    if (facts->space != PACK_SPACE_SIMPLE || facts->extent.rank == 0)
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "'%.200s' is %s and has no samples to read", facts->path,
                         facts->space == PACK_SPACE_NULL ? "empty (a null space)"
                                                         : "a single value");
    if (!is_numeric(facts))
        return pack_fail(err, PACK_ERR_UNSUPPORTED, "'%.200s' holds %s, not numbers",
                         facts->path, pack_type_format(&facts->type, type));
    if (facts->layout == PACK_LAYOUT_VIRTUAL)
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "'%.200s' is virtual, put together from %s: ask about %s",
                         facts->path,
                         pack_counted(facts->n_virtual, "source", "sources").text,
                         facts->n_virtual == 1 ? "that" : "those");
    if (facts->layout == PACK_LAYOUT_COMPACT)
        return pack_fail(
            err, PACK_ERR_UNSUPPORTED,
            "'%.200s' is compact, %s in the file's metadata: there is nothing to tune",
            facts->path, pack_counted(facts->logical_bytes, "byte", "bytes").text);
    if (facts->n_elements == 0)
        return pack_fail(err, PACK_ERR_UNSUPPORTED, "'%.200s' is empty", facts->path);
    return PACK_OK;
}

/* What walking over the file's datasets found. */
struct choice {
    int64_t h5;
    struct pack_h5_guard *guard;
    int n;
    char last[PACK_FACTS_PATH_MAX], preferred[PACK_FACTS_PATH_MAX], names[NAMES_MAX];
};

static enum pack_status
consider(void *context, const char *path, struct pack_error *err)
{
    struct choice *c = context;
    struct pack_facts facts;
    size_t used = strlen(c->names);
    (void)err;
    pack_h5_guard_note(c->guard, "reading '/%s'", path);
    if (strlen(path) >= sizeof c->last ||
        pack_facts_read(c->h5, path, &facts, NULL) != PACK_OK ||
        facts.space != PACK_SPACE_SIMPLE || facts.extent.rank == 0 || !is_numeric(&facts))
        return PACK_OK;
    c->n++;
    strcpy(c->last, path);
    if (strcmp(path, "images") == 0 || (strcmp(path, "data") == 0 && !c->preferred[0]))
        strcpy(c->preferred, path);
    snprintf(c->names + used, sizeof c->names - used, "%s/%s", used ? ", " : "", path);
    return PACK_OK;
}

static enum pack_status
choose_dataset(int64_t h5, struct pack_h5_guard *guard, char *dataset,
               struct pack_error *err)
{
    struct choice c = { .h5 = h5, .guard = guard };
    pack_h5_guard_note(guard, "listing its datasets");
    enum pack_status status = pack_h5_datasets(h5, consider, &c, err);
    if (status != PACK_OK && c.n == 0)
        return status;
    if (c.n == 0)
        return pack_fail(err, PACK_ERR_NOT_FOUND, "it holds no numeric dataset");
    if (c.n > 1 && !c.preferred[0])
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "it holds %d numeric datasets, name one as FILE:/DATASET: %s",
                         c.n, c.names);
    strcpy(dataset, c.preferred[0] ? c.preferred : c.last);
    return PACK_OK;
}

/* Sizes of chunks, where they differ from each other. */
static enum pack_status
list_chunks(struct pack_advise_file *f, struct pack_error *err)
{
    const struct pack_facts *facts = &f->facts;
    struct pack_chunkindex index;
    if (facts->layout != PACK_LAYOUT_CHUNKED ||
        (facts->pipeline.n == 0 && facts->n_chunks_stored == facts->n_chunks_total))
        return PACK_OK;
    enum pack_status status = pack_chunkindex_read(f->path, facts->path, 0, &index, err);
    if (status == PACK_ERR_LIMIT)
        return PACK_OK; /* the average has to do */
    if (status != PACK_OK)
        return status;
    f->stored_bytes = calloc(index.n_chunks ? index.n_chunks : 1, sizeof(uint64_t));
    for (uint64_t i = 0; f->stored_bytes && i < index.n_chunks; i++)
        f->stored_bytes[i] = index.chunks[i].stored_bytes;
    pack_chunkindex_done(&index);
    return f->stored_bytes ? PACK_OK : pack_fail_memory(err, "sizes of chunks");
}

static enum pack_status
open_dataset(struct pack_advise_file *f, const char *dataset, struct pack_h5_guard *guard,
             struct pack_error *err)
{
    char chosen[PACK_FACTS_PATH_MAX] = "";
    enum pack_status status = pack_h5_register_zstd(err);
    if (status == PACK_OK)
        status = pack_h5_open(f->path, NULL, &f->h5, err);
    if (status != PACK_OK)
        return status; /* names the file */
    if (!dataset) {
        status = choose_dataset(f->h5, guard, chosen, err);
        dataset = chosen;
    }
    pack_h5_guard_note(guard, "reading '/%s'", dataset + strspn(dataset, "/"));
    if (status == PACK_OK)
        status = pack_facts_read(f->h5, dataset, &f->facts, err);
    if (status == PACK_OK)
        status = check_facts(&f->facts, err);
    if (status != PACK_OK)
        return pack_error_prefix(err, status, "'%s'", f->path);
    pack_h5_guard_note(guard, "listing the chunks of '/%s'", pack_advise_file_dataset(f));
    return list_chunks(f, err);
}

/* The same in a child, whose copy of the file is closed and lost. */
struct attempt {
    struct pack_advise_file *file;
    const char *dataset;
};

static enum pack_status
try_dataset(void *context, struct pack_h5_guard *guard, struct pack_error *err)
{
    const struct attempt *attempt = context;
    enum pack_status status = open_dataset(attempt->file, attempt->dataset, guard, err);
    if (status == PACK_OK)
        pack_h5_guard_note(guard, "closing it");
    pack_h5_close(attempt->file->h5);
    return status;
}

static enum pack_status
open_file(char *path, const char *dataset, struct pack_advise_file **file,
          struct pack_error *err)
{
    struct pack_advise_file *f = calloc(1, sizeof *f);
    if (!f) {
        free(path);
        return pack_fail_memory(err, "a file");
    }
    f->path = path;
    f->h5 = -1;
    struct attempt attempt = { f, dataset };
    enum pack_status status = pack_h5_guard_try(path, NULL, try_dataset, &attempt, err);
    if (status == PACK_OK)
        status = open_dataset(f, dataset, NULL, err);
    if (status == PACK_OK)
        *file = f;
    else
        pack_advise_file_close(f);
    return status;
}

enum pack_status
pack_advise_file_open(const char *name, struct pack_advise_file **file,
                      struct pack_error *err)
{
    char *path, *dataset;
    enum pack_status status = pack_readset_split(name, &path, &dataset, err);
    if (status == PACK_OK)
        status = open_file(path, dataset, file, err);
    free(dataset);
    return status;
}

enum pack_status
pack_advise_file_open_with(const struct pack_advise_file *file, const char *dataset,
                           struct pack_advise_file **with, struct pack_error *err)
{
    char *path = strdup(file->path);
    return path ? open_file(path, dataset, with, err)
                : pack_fail_memory(err, "a file name");
}

void
pack_advise_file_close(struct pack_advise_file *f)
{
    if (!f)
        return;
    pack_h5_reader_close(f->reader);
    pack_h5_close(f->h5);
    free(f->stored_bytes);
    free(f->path);
    free(f);
}

const struct pack_facts *
pack_advise_file_facts(const struct pack_advise_file *file)
{
    return &file->facts;
}

const char *
pack_advise_file_path(const struct pack_advise_file *file)
{
    return file->path;
}

const char *
pack_advise_file_dataset(const struct pack_advise_file *file)
{
    return file->facts.path + strspn(file->facts.path, "/");
}

void
pack_advise_file_chunk_max(const struct pack_advise_file *file, struct pack_shape *most)
{
    const struct pack_facts *facts = &file->facts;
    *most = facts->max_extent;
    for (int i = 0; i < facts->chunk.rank; i++) /* what is there, is possible */
        if (facts->chunk.extent[i] > most->extent[i])
            most->extent[i] = facts->chunk.extent[i];
}

uint32_t
pack_advise_file_missing_filter(const struct pack_advise_file *file)
{
    uint32_t id;
    return pack_h5_missing_filter(&file->facts.pipeline, &id) ? id : 0;
}

const uint64_t *
pack_advise_file_stored(const struct pack_advise_file *file, bool *skip_missing)
{
    *skip_missing = pack_facts_skip_missing(&file->facts);
    return file->stored_bytes;
}

/* Stored bytes per byte of a chunk, over the whole file. */
static double
stored_rate_of(const struct pack_facts *facts)
{
    double full = (double)facts->n_chunks_stored * (double)facts->chunk_bytes;
    return full > 0 && facts->stored_bytes > 0 ? (double)facts->stored_bytes / full : 1;
}

void
pack_advise_file_config(const struct pack_advise_file *file,
                        const struct pack_profile *profile,
                        struct pack_advise_config *config)
{
    const struct pack_facts *facts = &file->facts;
    char codec[PACK_PIPELINE_TEXT_MAX];
    *config = (struct pack_advise_config){ .codec = "none", .stored_rate = 1 };
    if (facts->layout != PACK_LAYOUT_CHUNKED)
        return;
    config->chunk = facts->chunk;
    config->edge_unfiltered = facts->edge_chunks_unfiltered;
    if (facts->pipeline.n == 0)
        return;
    pack_pipeline_format(&facts->pipeline, codec);
    snprintf(config->codec, sizeof config->codec, "%.*s", PACK_ADVISE_CODEC_MAX - 1,
             codec);
    config->decode_ns = pack_cost_decode_ns(profile, &facts->pipeline);
    config->stored_rate = stored_rate_of(facts);
}

/* --------------------------------------------------------------- measuring */

void
pack_advise_file_use(struct pack_advise_file *file, const struct pack_profile *profile)
{
    file->profile = profile;
}

/* A box of at most MEASURE_BYTES / PIECES, shaped like the chunk, shortened along its
 * slowest axes where it is too large, at the piece-th of PIECES places. */
static void
piece_box(const struct pack_facts *facts, const struct pack_shape *chunk, int piece,
          struct pack_box *box)
{
    uint64_t bytes = facts->type.bytes;
    box->rank = chunk->rank;
    for (int i = chunk->rank - 1; i >= 0; i--) {
        uint64_t room = MEASURE_BYTES / PIECES / bytes, n = chunk->extent[i];
        n = n < facts->extent.extent[i] ? n : facts->extent.extent[i];
        box->count[i] = n <= room ? n : room ? room : 1;
        bytes *= box->count[i];
    }
    for (int i = 0; i < chunk->rank; i++) {
        uint64_t places = facts->extent.extent[i] - box->count[i];
        uint64_t at = (uint64_t)((double)places * (piece + 0.5) / PIECES);
        box->start[i] = at / chunk->extent[i] * chunk->extent[i];
        if (box->start[i] > places)
            box->start[i] = places;
    }
}

static enum pack_status
measure(struct pack_advise_file *f, const struct pack_shape *chunk,
        const struct pack_pipeline *pipeline, double *stored_rate,
        struct pack_error *err)
{
    struct pack_filter_ctx *ctx = NULL;
    struct pack_box box;
    uint64_t raw = 0, stored = 0;
    void *data = malloc(MEASURE_BYTES);
    enum pack_status status = data ? PACK_OK : pack_fail_memory(err, "measuring");
    if (status == PACK_OK)
        status = pack_filter_ctx_new(&ctx, err);
    if (status == PACK_OK && !f->reader)
        status = pack_h5_reader_open(f->h5, f->facts.path, NULL, &f->reader, err);
    for (int i = 0; status == PACK_OK && i < PIECES; i++) {
        const void *out;
        size_t size, bytes = f->facts.type.bytes;
        uint32_t mask;
        piece_box(&f->facts, chunk, i, &box);
        for (int k = 0; k < box.rank; k++)
            bytes *= box.count[k];
        status = pack_h5_reader_read(f->reader, &box, data, err);
        if (status == PACK_OK)
            status =
                pack_pipeline_encode(pipeline, ctx, data, bytes, &out, &size, &mask, err);
        if (status == PACK_OK) {
            raw += bytes;
            stored += size;
        }
    }
    pack_filter_ctx_free(ctx);
    free(data);
    if (status != PACK_OK)
        return pack_error_prefix(err, status, "'%s:/%s'", f->path,
                                 pack_advise_file_dataset(f));
    *stored_rate = (double)stored / (double)raw;
    return PACK_OK;
}

enum pack_status
pack_advise_file_measure(void *file, const struct pack_shape *chunk, const char *codec,
                         double *stored_rate, double *decode_ns, struct pack_error *err)
{
    struct pack_advise_file *f = file;
    struct pack_pipeline pipeline;
    uint64_t bytes = f->facts.type.bytes;
    uint32_t unknown;
    for (int i = 0; i < chunk->rank; i++)
        bytes *= chunk->extent[i];
    int size_class = ilogb((double)bytes);
    enum pack_status status =
        pack_pipeline_parse(codec, f->facts.type.bytes, &pipeline, NULL);
    if (status != PACK_OK || !pack_pipeline_is_known(&pipeline, &unknown)) {
        *stored_rate = stored_rate_of(&f->facts);
        *decode_ns = pack_cost_decode_ns(f->profile, &f->facts.pipeline);
        return PACK_OK; /* only the present codec can be one that is not known here */
    }
    if (!f->facts.filters_available) { /* nothing can be read: as well as it is packed */
        *stored_rate = stored_rate_of(&f->facts);
        *decode_ns = pack_cost_decode_ns(f->profile, &pipeline);
        return PACK_OK;
    }
    *decode_ns = pack_cost_decode_ns(f->profile, &pipeline);
    for (int i = 0; i < f->n_measured; i++) {
        if (f->measured[i].size_class == size_class &&
            strcmp(f->measured[i].codec, codec) == 0) {
            *stored_rate = f->measured[i].stored_rate;
            return PACK_OK;
        }
    }
    status = measure(f, chunk, &pipeline, stored_rate, err);
    if (status == PACK_OK && f->n_measured < MEASURED_MAX) {
        struct measured *m = &f->measured[f->n_measured++];
        snprintf(m->codec, sizeof m->codec, "%s", codec);
        m->size_class = size_class;
        m->stored_rate = *stored_rate;
    }
    return status;
}

enum pack_status
pack_advise_file_integers(const struct pack_advise_file *file, int64_t **values,
                          uint64_t *n, struct pack_error *err)
{
    const uint64_t n_max = UINT64_C(1) << 30;
    return pack_h5_read_integers(file->h5, file->facts.path, n_max, values, n, err);
}
