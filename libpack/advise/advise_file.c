/* Facts become a configuration; samples of the data become ratios. */
#include "libpack/advise/advise_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "libpack/hdf5/filter.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_boxes.h"
#include "libpack/hdf5/h5_guard.h"
#include "libpack/hdf5/h5_read.h"
#include "libpack/model/cost.h"
#include "libpack/base/checksum.h"
#include "libpack/base/numbers.h"

enum { MEASURED_MAX = 64, MEASURE_BYTES = 1 << 20, PIECES = 4, ENCODED_MAX = 256 };

struct measured {
    char codec[PACK_ADVISE_CODEC_MAX];
    int size_class; /* log2 of the chunk's bytes */
    double stored_rate;
};

/* A piece that was encoded: pieces of large chunks are often those of other sizes, too. */
struct encoded {
    char codec[PACK_ADVISE_CODEC_MAX];
    uint64_t checksum;
    size_t bytes, stored_bytes;
};

/* Pieces of the data, in memory that the child shares: no limit of files counts for it. */
struct pieces {
    size_t n, bytes[PIECES];
    unsigned char data[MEASURE_BYTES];
};

/* Where they are. */
struct places {
    struct pack_box box[PIECES];
};

struct pack_advise_file {
    const struct pack_h5_dataset *data;
    struct pack_h5_dataset *own;  /* the same, when it was opened here */
    struct pieces *picked; /* of its data, NULL: none yet */
    struct places places;  /* theirs */
    struct pack_watch watch; /* stop alone */
    const struct pack_profile *profile;
    struct measured measured[MEASURED_MAX];
    int n_measured;
    struct encoded encoded[ENCODED_MAX];
    int n_encoded;
};

static struct pieces *
pieces_new(void)
{
    void *at = mmap(NULL, sizeof(struct pieces), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static void
pieces_free(struct pieces *pieces)
{
    if (pieces)
        munmap(pieces, sizeof *pieces);
}

/* ----------------------------------------------------------------- opening */

/* Why there is nothing to advise on. */
static enum pack_status
check_data(const struct pack_h5_dataset *d, struct pack_error *err)
{
    const struct pack_facts *facts = &d->facts;
    char type[PACK_TYPE_TEXT_MAX];
    if (facts->type.class_id != PACK_TYPE_INTEGER &&
        facts->type.class_id != PACK_TYPE_FLOAT && facts->type.class_id != PACK_TYPE_ENUM)
        return pack_fail(err, PACK_ERR_UNSUPPORTED, "'%s:/%s' holds %s, not numbers",
                         d->file, d->path, pack_type_format(&facts->type, type));
    if (facts->type.bytes > MEASURE_BYTES / PIECES)
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "'%s:/%s' has elements of %s: no numbers are so large", d->file,
                         d->path, pack_counted(facts->type.bytes, "byte", "bytes").text);
    if (facts->layout == PACK_LAYOUT_VIRTUAL && !pack_h5_sources_largest(&d->sources))
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "'%s:/%s' is virtual, and none of its sources is there", d->file,
                         d->path);
    if (facts->layout == PACK_LAYOUT_COMPACT)
        return pack_fail(
            err, PACK_ERR_UNSUPPORTED,
            "'%s:/%s' is compact, %s in the file's metadata: there is nothing to tune",
            d->file, d->path, pack_counted(facts->logical_bytes, "byte", "bytes").text);
    return PACK_OK;
}

enum pack_status
pack_advise_file_of(const struct pack_h5_dataset *data, struct pack_advise_file **file,
                    struct pack_error *err)
{
    enum pack_status status = check_data(data, err);
    if (status != PACK_OK)
        return status;
    struct pack_advise_file *f = calloc(1, sizeof *f);
    if (!f)
        return pack_fail_memory(err, "a file");
    f->data = data;
    *file = f;
    return PACK_OK;
}

static enum pack_status
open_file(const char *path, const char *dataset, const struct pack_facts *known,
          struct pack_advise_file **file, struct pack_error *err)
{
    struct pack_h5_dataset *data = NULL;
    enum pack_status status =
        known ? pack_h5_dataset_open_known(path, dataset, known, &data, err)
              : pack_h5_dataset_open(path, dataset, &data, err);
    if (status == PACK_OK)
        status = pack_advise_file_of(data, file, err);
    if (status == PACK_OK)
        (*file)->own = data;
    else
        pack_h5_dataset_close(data);
    return status;
}

enum pack_status
pack_advise_file_open(const char *name, const struct pack_facts *known,
                      struct pack_advise_file **file, struct pack_error *err)
{
    char *path = NULL, *dataset = NULL;
    enum pack_status status = pack_h5_operand_split(name, &path, &dataset, err);
    if (status == PACK_OK)
        status = open_file(path, dataset, known, file, err);
    free(path);
    free(dataset);
    return status;
}

enum pack_status
pack_advise_file_open_with(const struct pack_advise_file *file, const char *dataset,
                           struct pack_advise_file **with, struct pack_error *err)
{
    return open_file(file->data->file, dataset, NULL, with, err);
}

void
pack_advise_file_close(struct pack_advise_file *f)
{
    if (!f)
        return;
    pieces_free(f->picked);
    pack_h5_dataset_close(f->own);
    free(f);
}

const struct pack_h5_dataset *
pack_advise_file_data(const struct pack_advise_file *file)
{
    return file->data;
}

void
pack_advise_file_chunk_max(const struct pack_advise_file *file, struct pack_shape *most)
{
    const struct pack_facts *facts = &file->data->facts;
    *most = facts->max_extent;
    for (int i = 0; i < facts->chunk.rank; i++) /* what is there, is possible */
        if (facts->chunk.extent[i] > most->extent[i])
            most->extent[i] = facts->chunk.extent[i];
}

uint32_t
pack_advise_file_missing_filter(const struct pack_advise_file *file)
{
    const struct pack_h5_sources *s = &file->data->sources;
    uint32_t id;
    if (pack_h5_lacks_filter(&file->data->facts.pipeline, file->data->chunks.left_out, &id))
        return id;
    for (size_t i = 0; i < s->n_sources; i++)
        if (pack_h5_lacks_filter(&s->sources[i].facts.pipeline, s->sources[i].chunks.left_out,
                                 &id))
            return id;
    return 0;
}

bool
pack_advise_file_has_old_index(const struct pack_advise_file *f)
{
    return f->data->facts.superblock_version < 3;
}

const uint64_t *
pack_advise_file_stored(const struct pack_advise_file *file, bool *skip_missing)
{
    *skip_missing = pack_facts_skip_missing(&file->data->facts);
    return file->data->chunks.stored_bytes;
}

/* Sums over the chunks of a dataset, or of all sources of a virtual one. */
struct stored {
    double full_bytes, stored_bytes, decode_ns; /* decode_ns: of all full bytes */
};

static void
add_stored(const struct pack_facts *facts, const struct pack_profile *profile,
           struct stored *sum)
{
    double full = (double)facts->n_chunks_stored * (double)facts->chunk_bytes;
    if (full <= 0)
        return;
    sum->full_bytes += full;
    sum->stored_bytes += (double)facts->stored_bytes;
    if (profile && facts->pipeline.n)
        sum->decode_ns += full * pack_cost_decode_ns(profile, &facts->pipeline,
                                                     (double)facts->stored_bytes / full);
}

static struct stored
stored_of(const struct pack_h5_dataset *d, const struct pack_profile *profile)
{
    struct stored sum = { 0 };
    add_stored(&d->facts, profile, &sum);
    for (size_t i = 0; i < d->sources.n_sources; i++)
        add_stored(&d->sources.sources[i].facts, profile, &sum);
    return sum;
}

/* Stored bytes per byte of a chunk, over the whole file. */
static double
stored_rate_of(const struct pack_h5_dataset *d)
{
    struct stored sum = stored_of(d, NULL);
    return sum.full_bytes > 0 && sum.stored_bytes > 0 ? sum.stored_bytes / sum.full_bytes
                                                      : 1;
}

/* A virtual dataset's: cut as its largest source is, as far as that can be told. */
static void
virtual_config(const struct pack_h5_dataset *d, const struct pack_profile *profile,
               struct pack_advise_config *config)
{
    const struct pack_h5_source *source = pack_h5_sources_largest(&d->sources);
    struct stored sum = stored_of(d, profile);
    char codec[PACK_PIPELINE_TEXT_MAX];
    config->is_virtual = true;
    if (d->sources.unclear)
        return;
    pack_h5_sources_chunk(&d->sources, source, &d->facts.extent, &config->chunk);
    config->edge_unfiltered = source->facts.edge_chunks_unfiltered;
    for (size_t i = 0; i < d->sources.n_sources && source->facts.pipeline.n == 0; i++)
        if (d->sources.sources[i].facts.pipeline.n)
            source = &d->sources.sources[i]; /* some are packed: so is the whole */
    if (source->facts.pipeline.n == 0)
        return;
    pack_pipeline_format(&source->facts.pipeline, codec);
    snprintf(config->codec, sizeof config->codec, "%.*s", PACK_ADVISE_CODEC_MAX - 1,
             codec);
    config->decode_ns = sum.full_bytes > 0 ? sum.decode_ns / sum.full_bytes : 0;
    config->stored_rate = stored_rate_of(d);
}

void
pack_advise_file_config(const struct pack_advise_file *file,
                        const struct pack_profile *profile,
                        struct pack_advise_config *config)
{
    const struct pack_facts *facts = &file->data->facts;
    char codec[PACK_PIPELINE_TEXT_MAX];
    *config = (struct pack_advise_config){ .codec = "none", .stored_rate = 1 };
    if (facts->layout == PACK_LAYOUT_VIRTUAL)
        virtual_config(file->data, profile, config);
    if (facts->layout != PACK_LAYOUT_CHUNKED)
        return;
    config->chunk = facts->chunk;
    config->edge_unfiltered = facts->edge_chunks_unfiltered;
    if (facts->pipeline.n == 0)
        return;
    pack_pipeline_format(&facts->pipeline, codec);
    snprintf(config->codec, sizeof config->codec, "%.*s", PACK_ADVISE_CODEC_MAX - 1,
             codec);
    config->stored_rate = stored_rate_of(file->data);
    config->decode_ns =
        pack_cost_decode_ns(profile, &facts->pipeline, config->stored_rate);
}

/* --------------------------------------------------------------- measuring */

void
pack_advise_file_use(struct pack_advise_file *file, const struct pack_watch *watch,
                     const struct pack_profile *profile)
{
    if (watch)
        file->watch = (struct pack_watch){ .context = watch->context, .stop = watch->stop };
    file->profile = profile;
}

/* A box of at most MEASURE_BYTES / PIECES, shaped like the chunk, shortened along its
 * slowest axes where it is too large, at the piece-th of PIECES places: where a chunk begins,
 * or a part of one that is as long, so that pieces of all large chunks are the same. */
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
        uint64_t step = box->count[i] ? box->count[i] : 1;
        box->start[i] = at / step * step;
        if (box->start[i] > places)
            box->start[i] = places;
    }
}

/* What the child does. */
struct picking {
    const struct pack_advise_file *file;
    const struct places *places;
    struct pieces *pieces;
};

static enum pack_status
read_pieces(void *context, struct pack_h5_guard *guard, struct pack_error *err)
{
    const struct picking *p = context;
    const struct pack_h5_dataset *d = p->file->data;
    struct pieces *to = p->pieces;
    struct pack_h5_boxes_params how = { .file = d->file, .dataset = d->path };
    struct pack_h5_boxes *reader = NULL;
    enum pack_status status = pack_h5_boxes_open(&how, &reader, err);
    pack_h5_guard_note(guard, "reading samples of '/%s'", d->path);
    for (size_t used = 0; status == PACK_OK && to->n < PIECES;) {
        const struct pack_box *box = &p->places->box[to->n];
        size_t bytes = d->facts.type.bytes;
        for (int k = 0; k < box->rank; k++)
            bytes *= box->count[k];
        to->bytes[to->n] = bytes;
        status = pack_h5_boxes_read(reader, box, 1, to->data + used, NULL, err);
        used += bytes;
        to->n += status == PACK_OK;
    }
    pack_h5_guard_note(guard, "closing it");
    pack_h5_boxes_close(reader);
    return status;
}

static uint64_t
largest_chunk(const struct pack_h5_dataset *d)
{
    uint64_t bytes = d->facts.layout == PACK_LAYOUT_CHUNKED ? d->facts.chunk_bytes : 0;
    for (size_t i = 0; i < d->sources.n_sources; i++)
        if (d->sources.sources[i].facts.layout == PACK_LAYOUT_CHUNKED &&
            d->sources.sources[i].facts.chunk_bytes > bytes)
            bytes = d->sources.sources[i].facts.chunk_bytes;
    return bytes < UINT64_C(1) << 40 ? bytes : UINT64_C(1) << 40;
}

/*
 * Pieces of such chunks, read by a child, as filters may crash on what a stranger stored; the
 * last ones are kept. They stand for these, too, where the file was changed since and cannot
 * be read now.
 */
static enum pack_status
pick(struct pack_advise_file *f, const struct pack_shape *chunk, struct pack_error *err)
{
    struct places places = { 0 };
    struct picking picking = { f, &places, NULL };
    /* a piece may touch many chunks, each of which is decoded whole */
    const struct pack_h5_guard_limits limits = {
        .cpu_ns = UINT64_C(300000000000),
        .memory_bytes = (UINT64_C(4) << 30) + 3 * largest_chunk(f->data),
        .watch = &f->watch,
    };
    for (int i = 0; i < PIECES; i++)
        piece_box(&f->data->facts, chunk, i, &places.box[i]);
    if (f->picked && memcmp(&f->places, &places, sizeof places) == 0)
        return PACK_OK;
    picking.pieces = pieces_new();
    if (!picking.pieces)
        return pack_fail_memory(err, "measuring");
    enum pack_status status =
        pack_h5_guard_try(f->data->file, &limits, read_pieces, &picking, err);
    bool is_over = status == PACK_ERR_INTERRUPTED || status == PACK_ERR_MEMORY;
    if (status != PACK_OK) {
        pieces_free(picking.pieces);
        return f->picked && !is_over ? PACK_OK : status;
    }
    pieces_free(f->picked);
    f->picked = picking.pieces;
    f->places = places;
    return PACK_OK;
}

/* How many bytes a piece takes when it is stored: encoded, unless the same one was before. */
static enum pack_status
stored_size(struct pack_advise_file *f, const struct pack_pipeline *pipeline,
            const char *codec, struct pack_filter_ctx *ctx, const unsigned char *piece,
            size_t bytes, size_t *stored_bytes, struct pack_error *err)
{
    uint64_t checksum = pack_checksum(piece, bytes, 0);
    struct pack_stored out;
    for (int i = 0; i < f->n_encoded; i++) {
        const struct encoded *e = &f->encoded[i];
        if (e->checksum == checksum && e->bytes == bytes &&
            strcmp(e->codec, codec) == 0) {
            *stored_bytes = e->stored_bytes;
            return PACK_OK;
        }
    }
    enum pack_status status =
        pack_pipeline_encode(pipeline, ctx, piece, bytes, &out, err);
    if (status != PACK_OK)
        return status;
    *stored_bytes = out.size;
    if (f->n_encoded < ENCODED_MAX) {
        struct encoded *e = &f->encoded[f->n_encoded++];
        *e = (struct encoded){ "", checksum, bytes, out.size };
        snprintf(e->codec, sizeof e->codec, "%s", codec);
    }
    return PACK_OK;
}

static enum pack_status
measure(struct pack_advise_file *f, const struct pack_pipeline *pipeline,
        const char *codec, double *stored_rate, struct pack_error *err)
{
    const struct pieces *picked = f->picked;
    struct pack_filter_ctx *ctx = NULL;
    size_t raw = 0, stored = 0;
    enum pack_status status = pack_filter_ctx_new(&ctx, err);
    for (size_t i = 0; status == PACK_OK && i < picked->n && i < PIECES; i++) {
        size_t bytes = picked->bytes[i], size = 0;
        if (bytes > MEASURE_BYTES - raw) /* the child's heap is damaged */
            break;
        status =
            stored_size(f, pipeline, codec, ctx, picked->data + raw, bytes, &size, err);
        if (status == PACK_OK) {
            raw += bytes;
            stored += size;
        }
    }
    pack_filter_ctx_free(ctx);
    if (status == PACK_OK && raw == 0)
        return pack_fail(err, PACK_ERR_FORMAT, "'%s': no samples of '/%s' could be read",
                         f->data->file, f->data->path);
    if (status == PACK_OK)
        *stored_rate = (double)stored / (double)raw;
    return status;
}

static const struct measured *
find_measured(const struct pack_advise_file *f, int size_class, const char *codec)
{
    for (int i = 0; i < f->n_measured; i++)
        if (f->measured[i].size_class == size_class &&
            strcmp(f->measured[i].codec, codec) == 0)
            return &f->measured[i];
    return NULL;
}

enum pack_status
pack_advise_file_measure(void *file, const struct pack_shape *chunk, const char *codec,
                         double *stored_rate, double *decode_ns, struct pack_error *err)
{
    struct pack_advise_file *f = file;
    struct pack_pipeline pipeline;
    uint64_t bytes = f->data->facts.type.bytes;
    uint32_t unknown;
    for (int i = 0; i < chunk->rank; i++)
        bytes *= chunk->extent[i];
    int size_class = ilogb((double)bytes);
    enum pack_status status =
        pack_pipeline_parse(codec, f->data->facts.type.bytes, &pipeline, NULL);
    if (status != PACK_OK || !pack_pipeline_is_known(&pipeline, &unknown)) {
        *stored_rate = stored_rate_of(f->data);
        *decode_ns =
            pack_cost_decode_ns(f->profile, &f->data->facts.pipeline, *stored_rate);
        return PACK_OK; /* only the present codec can be one that is not known here */
    }
    if (pack_advise_file_missing_filter(f)) { /* nothing can be read: as well as it is packed */
        *stored_rate = stored_rate_of(f->data);
        *decode_ns = pack_cost_decode_ns(f->profile, &pipeline, *stored_rate);
        return PACK_OK;
    }
    const struct measured *known = find_measured(f, size_class, codec);
    if (known)
        *stored_rate = known->stored_rate;
    else
        status = pick(f, chunk, err);
    if (status == PACK_OK && !known)
        status = measure(f, &pipeline, codec, stored_rate, err);
    if (status != PACK_OK)
        return status;
    if (!known && f->n_measured < MEASURED_MAX) {
        struct measured *m = &f->measured[f->n_measured++];
        snprintf(m->codec, sizeof m->codec, "%s", codec);
        m->size_class = size_class;
        m->stored_rate = *stored_rate;
    }
    *decode_ns = pack_cost_decode_ns(f->profile, &pipeline, *stored_rate);
    return PACK_OK;
}

enum pack_status
pack_advise_file_integers(const struct pack_advise_file *file, int64_t **values,
                          uint64_t *n, struct pack_error *err)
{
    const struct pack_h5_dataset *d = file->data;
    const uint64_t n_max = UINT64_C(1) << 30;
    int64_t h5 = -1;
    enum pack_status status = pack_h5_open(d->file, NULL, &h5, err);
    if (status != PACK_OK)
        return status;
    status = pack_h5_read_integers(h5, d->path, n_max, values, n, err);
    pack_h5_close(h5);
    return status == PACK_OK ? status : pack_error_prefix(err, status, "'%s'", d->file);
}
