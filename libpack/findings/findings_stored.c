/* Of datasets; findings_file.c has those of files. As in findings.c, a rule is a function and a
 * line; its name and severity are in rules.c. */
#include "libpack/findings/findings_stored.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "libpack/base/name.h"
#include "libpack/base/numbers.h"
#include "libpack/base/size.h"
#include "libpack/findings/rules.h"
#include "libpack/findings/thresholds.h"
#include "libpack/hdf5/filter.h"

#define SAY(text, ...) snprintf(text, sizeof(text), __VA_ARGS__)

struct look {
    const struct pack_survey_dataset *d;
    const struct pack_facts *f; /* of d */
    const struct pack_stored_reading *r;
    const struct pack_thresholds *t;
};

static bool
has_filter(const struct pack_pipeline *pipeline, uint32_t id)
{
    for (int i = 0; i < pipeline->n; i++)
        if (pipeline->filter[i].id == id)
            return true;
    return false;
}

/* Bytes in the file of each byte of a chunk that is there; 0: not known. */
static double
stored_rate(const struct pack_facts *f)
{
    double chunks = (double)f->n_chunks_stored * (double)f->chunk_bytes;
    return chunks > 0 ? (double)f->stored_bytes / chunks : 0;
}

/* --------------------------------------------------------------------- layout */

bool
pack_is_guessed_chunk(const struct pack_shape *extent, uint64_t elem_size,
                      const struct pack_shape *chunk)
{
    static const double base = 16 << 10, least = 8 << 10, most = 1 << 20;
    double guess[PACK_RANK_MAX], bytes = (double)elem_size, elements = 1;
    if (extent->rank == 0 || extent->rank != chunk->rank)
        return false;
    for (int i = 0; i < extent->rank; i++) {
        guess[i] = extent->extent[i] ? (double)extent->extent[i] : 1024;
        elements *= guess[i];
    }
    double target =
        fmin(fmax(base * pow(2, log10(elements * bytes / (1 << 20))), least), most);
    for (int i = 0;; i = (i + 1) % extent->rank) {
        elements = 1;
        for (int k = 0; k < extent->rank; k++)
            elements *= guess[k];
        double size = elements * bytes;
        if (((size < target || fabs(size - target) / target < 0.5) && size < most) ||
            elements <= 1)
            break;
        guess[i] = ceil(guess[i] / 2);
    }
    for (int i = 0; i < extent->rank; i++)
        if (guess[i] != (double)chunk->extent[i])
            return false;
    return true;
}

/* Chunks that h5py made up, where they cut through samples. */
static bool
guessed_chunks(const struct look *l, struct pack_finding *out)
{
    char chunk[PACK_SHAPE_TEXT_MAX];
    const struct pack_facts *f = l->f;
    bool cuts = false;
    for (int i = 1; i < f->chunk.rank; i++)
        cuts = cuts || f->chunk.extent[i] < f->extent.extent[i];
    if (!cuts || !pack_is_guessed_chunk(&f->extent, f->type.bytes, &f->chunk))
        return false;
    SAY(out->evidence,
        "chunks of %s are what h5py guesses for this shape when it is not told "
        "which: they cut through samples",
        pack_shape_format(&f->chunk, chunk));
    return true;
}

static bool
is_decoded_again(const struct look *l)
{
    return l->f->pipeline.n > 0 && l->r->epoch_samples > 0 &&
           l->f->chunk_bytes > l->r->cache.size_bytes && l->r->decodes_per_sample > 0 &&
           l->f->chunk.extent[0] > 1;
}

/* Chunks of up to so many bytes are read with hardly more than the first of them. */
static bool
dragged_chunks(const struct look *l, struct pack_finding *out)
{
    char size[PACK_BYTES_TEXT_MAX], chunk[PACK_SHAPE_TEXT_MAX];
    if (l->r->amplification <= 1 ||
        l->r->amplification < pack_threshold(l->t, 105, "factor") ||
        (double)l->f->chunk_bytes <= pack_threshold(l->t, 105, "bytes") ||
        l->f->chunk.extent[0] < 2 || is_decoded_again(l))
        return false;
    out->value = l->r->amplification;
    out->price_bytes = l->r->read_bytes * (1 - 1 / l->r->amplification);
    SAY(out->evidence,
        "each read of a sample brings a chunk of %s: %s bytes come from the file for each "
        "byte wanted, %s in an epoch",
        pack_shape_format(&l->f->chunk, chunk), pack_figure(l->r->amplification).text,
        pack_bytes_format((uint64_t)l->r->read_bytes, size));
    return true;
}

static bool
tiny_chunks(const struct look *l, struct pack_finding *out)
{
    enum { INDEX_BYTES = 40 };
    if (l->f->chunk_bytes == 0 ||
        (double)l->f->chunk_bytes > pack_threshold(l->t, 106, "bytes") ||
        (double)l->f->n_chunks_stored < pack_threshold(l->t, 106, "chunks"))
        return false;
    double percent = 100.0 * INDEX_BYTES / (double)l->f->chunk_bytes;
    out->value = (double)l->f->chunk_bytes;
    out->price_bytes = (double)l->f->n_chunks_stored * INDEX_BYTES;
    SAY(out->evidence,
        "%llu chunks of %llu bytes: an index of some %d bytes for each is %.*f %% of the data",
        (unsigned long long)l->f->n_chunks_stored, (unsigned long long)l->f->chunk_bytes,
        INDEX_BYTES, percent < 10 ? 1 : 0, percent);
    return true;
}

static bool
huge_chunks(const struct look *l, struct pack_finding *out)
{
    static const uint64_t limit = UINT64_C(1) << 32;
    char size[PACK_BYTES_TEXT_MAX];
    bool is_filtered = l->f->pipeline.n > 0 && l->f->chunk_bytes > 0;
    bool is_huge =
        is_filtered && (double)l->f->chunk_bytes >= pack_threshold(l->t, 107, "bytes");
    if (!is_huge && l->f->chunk_bytes < limit)
        return false;
    out->value = (double)l->f->chunk_bytes;
    SAY(out->evidence, "a chunk has %s, which %s",
        pack_bytes_format(l->f->chunk_bytes, size),
        l->f->chunk_bytes >= limit
            ? "HDF5 reads from 2.0 on only"
            : "each reader decodes as a whole, in its own memory, for any part of it");
    return true;
}

static bool
decoded_again(const struct look *l, struct pack_finding *out)
{
    char chunk[PACK_BYTES_TEXT_MAX], cache[PACK_BYTES_TEXT_MAX];
    if (!is_decoded_again(l))
        return false;
    out->value = l->r->decodes_per_sample *
                 (double)l->f->chunk_bytes * /* of a sample's bytes */
                 (double)l->f->extent.extent[0] / (double)l->f->logical_bytes;
    out->price_bytes = l->r->read_bytes * (1 - 1 / fmax(1, l->r->amplification));
    SAY(out->evidence,
        "filtered chunks of %s do not fit the chunk cache of %s: each access decodes one anew, "
        "%s samples for each that is wanted",
        pack_bytes_format(l->f->chunk_bytes, chunk),
        pack_bytes_format(l->r->cache.size_bytes, cache), pack_figure(out->value).text);
    return true;
}

/* ------------------------------------------------------------ types and filters */

/* So much that what its filters do is worth a word. */
static bool
is_large(const struct look *l, int code)
{
    return (double)l->f->n_chunks_stored * (double)l->f->chunk_bytes >=
           pack_threshold(l->t, code, "bytes");
}

static bool
shuffled_bytes(const struct look *l, struct pack_finding *out)
{
    if (!is_large(l, 401) || l->f->type.bytes != 1 ||
        !has_filter(&l->f->pipeline, PACK_FILTER_SHUFFLE))
        return false;
    SAY(out->evidence,
        "elements have one byte: the shuffle filter copies them and changes "
        "nothing");
    return true;
}

static bool
variable_length(const struct look *l, struct pack_finding *out)
{
    if (!l->f->type.is_variable ||
        (double)l->f->n_elements < pack_threshold(l->t, 402, "elements"))
        return false;
    out->value = (double)l->f->n_elements;
    SAY(out->evidence,
        "%llu elements of variable length: each is a reference into a heap%s, and is read by "
        "itself",
        (unsigned long long)l->f->n_elements,
        l->f->pipeline.n > 0 ? ", which the filters do not reach" : "");
    SAY(out->remedy, "strings of a fixed length, or one flat dataset with offsets");
    return true;
}

static bool
is_needless(const struct look *l)
{
    return is_large(l, 403) && pack_pipeline_compresses(&l->f->pipeline) &&
           stored_rate(l->f) > pack_threshold(l->t, 403, "rate");
}

/* Whether all chunks left out whatever compresses: which filters they left out, and went through. */
static bool
is_left_out(const struct look *l, struct pack_pipeline *left, struct pack_pipeline *done)
{
    left->n = done->n = 0;
    for (int i = 0; i < l->f->pipeline.n; i++) {
        struct pack_pipeline *of = l->d->stats.left_out >> i & 1 ? left : done;
        of->filter[of->n++] = l->f->pipeline.filter[i];
    }
    return !pack_pipeline_compresses(done);
}

static bool
needless_compression(const struct look *l, struct pack_finding *out)
{
    char text[PACK_PIPELINE_TEXT_MAX], rest[PACK_PIPELINE_TEXT_MAX];
    struct pack_pipeline left, done;
    if (!is_needless(l))
        return false;
    out->value = stored_rate(l->f);
    if (is_left_out(l, &left, &done)) {
        pack_pipeline_format(&left, text);
        pack_pipeline_format(&done, rest);
        SAY(out->evidence,
            "%.60s was left out of all chunks, for it saves nothing: it decodes nothing, and "
            "yet has each chunk read as a whole%s%.60s%s",
            text, done.n > 0 ? "; " : "", done.n > 0 ? rest : "",
            done.n > 0 ? " is undone all the same" : "");
        return true;
    }
    pack_pipeline_format(&l->f->pipeline, text);
    out->price_s = l->r->decode_s;
    SAY(out->evidence,
        "%.60s leaves %.3g %% of the data: it saves next to nothing and is undone "
        "at every load",
        text, 100 * out->value);
    return true;
}

static bool
slow_codec(const struct look *l, struct pack_finding *out)
{
    static const double shrunk = 0.25;
    double factor = l->r->zstd_ns > 0 ? l->r->gzip_ns / l->r->zstd_ns : 0;
    if (!is_large(l, 404) || !has_filter(&l->f->pipeline, PACK_FILTER_DEFLATE) ||
        is_needless(l) || factor <= 1 || factor < pack_threshold(l->t, 404, "factor"))
        return false;
    out->value = factor;
    out->price_s = l->r->decode_s * (1 - 1 / factor);
    SAY(out->evidence,
        "deflate takes %s times as long to decode as zstd, which stores %s",
        pack_figure(factor).text,
        l->f->stored_bytes < shrunk * (double)l->f->logical_bytes
            ? "photographs in about as many bytes, but what shrinks as much as this in up to "
              "twice as many"
            : "as much in about as many bytes");
    return true;
}

/* ------------------------------------------------------------------ in the file */

static bool
damaged_dataset(const struct look *l, struct pack_finding *out)
{
    if (!l->d->failure[0] || l->d->is_too_many)
        return false;
    SAY(out->evidence, "%s", l->d->failure);
    return true;
}

static bool
unlisted_chunks(const struct look *l, struct pack_finding *out)
{
    if (!l->d->is_too_many)
        return false;
    out->value = (double)l->f->n_chunks_total;
    SAY(out->evidence,
        "it has room for %llu chunks, of which %llu are stored: more than this program lists, so "
        "that where they lie is not known, and nobody is asked who reads them",
        (unsigned long long)l->f->n_chunks_total, (unsigned long long)l->f->n_chunks_stored);
    SAY(out->remedy, "write it with larger chunks, of some whole samples, or end it where its "
                     "data ends");
    return true;
}

static bool
missing_filter(const struct look *l, struct pack_finding *out)
{
    char need[PACK_FILTER_NEED_MAX];
    if (l->d->missing_filter == 0)
        return false;
    out->value = l->d->missing_filter;
    SAY(out->evidence, "it %s", pack_filter_need(l->d->missing_filter, need));
    return true;
}

static bool
overlapping_chunks(const struct look *l, struct pack_finding *out)
{
    if (!l->d->has_stats || l->d->stats.n_overlapping == 0)
        return false;
    out->value = (double)l->d->stats.n_overlapping;
    SAY(out->evidence, "%s in bytes that another one claims",
        pack_counted(l->d->stats.n_overlapping, "chunk begins", "chunks begin").text);
    return true;
}

static bool
chunks_beyond_end(const struct look *l, struct pack_finding *out)
{
    if (!l->d->has_stats || l->d->stats.n_beyond_end == 0)
        return false;
    out->value = (double)l->d->stats.n_beyond_end;
    SAY(out->evidence, "%s beyond the end of the file, the first being number %llu",
        pack_counted(l->d->stats.n_beyond_end, "chunk reaches", "chunks reach").text,
        (unsigned long long)l->d->stats.first_bad);
    return true;
}

static bool
data_beyond_end(const struct look *l, struct pack_finding *out)
{
    char size[PACK_BYTES_TEXT_MAX];
    if (l->d->beyond_bytes == 0)
        return false;
    out->value = (double)l->d->beyond_bytes;
    SAY(out->evidence, "%s of its data, %.3g %%, lie beyond the end of the file",
        pack_bytes_format(l->d->beyond_bytes, size),
        100 * (double)l->d->beyond_bytes / (double)l->f->logical_bytes);
    return true;
}

static const char *
missing_reads_as(const struct look *l)
{
    return l->f->fill_is_zero ? "zeros" : "the fill value";
}

static bool
missing_sources(const struct look *l, struct pack_finding *out)
{
    char name[PACK_NAME_TEXT_MAX];
    if (l->d->n_missing_sources == 0)
        return false;
    out->value = (double)l->d->n_missing_sources;
    SAY(out->evidence,
        "%llu of %s not there, the first is of '%s': what they hold reads as %s",
        (unsigned long long)l->d->n_missing_sources,
        pack_counted(l->d->n_sources, "source is", "sources are").text,
        pack_name_text(l->d->missing_source, name),
        missing_reads_as(l));
    return true;
}

static bool
missing_chunks(const struct look *l, struct pack_finding *out)
{
    if (l->f->layout == PACK_LAYOUT_CONTIGUOUS && pack_facts_is_unwritten(l->f) &&
        l->f->n_elements > 0 && pack_threshold(l->t, 508, "chunks") <= 1) {
        out->value = 1;
        SAY(out->evidence, "nothing was ever written: all of it reads as %s",
            missing_reads_as(l));
        return true;
    }
    if (!l->d->has_stats || l->d->stats.n_missing == 0 ||
        (double)l->d->stats.n_missing < pack_threshold(l->t, 508, "chunks"))
        return false;
    out->value = (double)l->d->stats.n_missing;
    SAY(out->evidence, "%llu of %s never written: what they hold reads as %s",
        (unsigned long long)l->d->stats.n_missing,
        pack_counted(l->f->n_chunks_total, "chunk was", "chunks were").text,
        missing_reads_as(l));
    return true;
}

static bool
scattered_chunks(const struct look *l, struct pack_finding *out)
{
    const struct pack_chunk_stats *s = &l->d->stats;
    if (!l->d->has_stats || s->n_backward == 0 ||
        (double)s->n_stored < pack_threshold(l->t, 509, "chunks") ||
        (double)s->n_backward < pack_threshold(l->t, 509, "rate") * (double)s->n_stored)
        return false;
    out->value = (double)s->n_backward / (double)s->n_stored;
    SAY(out->evidence,
        "%.3g %% of the chunks lie in front of the one that comes before them: a "
        "reader in order jumps back %llu times",
        100 * out->value, (unsigned long long)s->n_backward);
    return true;
}

static bool
old_index(const struct look *l, struct pack_finding *out)
{
    if (l->f->index != PACK_INDEX_BTREE1 ||
        (double)l->f->n_chunks_stored < pack_threshold(l->t, 511, "chunks"))
        return false;
    out->value = (double)l->f->n_chunks_stored;
    SAY(out->evidence,
        "%llu chunks in a version 1 B-tree, which has to be walked where newer "
        "files compute a place",
        (unsigned long long)l->f->n_chunks_stored);
    SAY(out->remedy, "write it with libver='v110', or larger chunks");
    return true;
}

static bool
masked_chunks(const struct look *l, struct pack_finding *out)
{
    if (!l->d->has_stats || l->d->stats.n_masked == 0 ||
        (double)l->d->stats.n_masked < pack_threshold(l->t, 513, "chunks"))
        return false;
    out->value = (double)l->d->stats.n_masked;
    SAY(out->evidence, "%s stored without some of the filters",
        pack_counted(l->d->stats.n_masked, "chunk is", "chunks are").text);
    return true;
}

/* What is not known of a dataset that failed is zero, which no rule takes for a finding. */
static const struct {
    int code;
    bool (*find)(const struct look *look, struct pack_finding *out);
} rules[] = {
    { 101, missing_filter },    { 104, guessed_chunks },  { 105, dragged_chunks },
    { 106, tiny_chunks },       { 107, huge_chunks },     { 205, decoded_again },
    { 401, shuffled_bytes },    { 402, variable_length }, { 403, needless_compression },
    { 404, slow_codec },        { 505, damaged_dataset }, { 506, overlapping_chunks },
    { 507, chunks_beyond_end }, { 508, missing_chunks },  { 509, scattered_chunks },
    { 511, old_index },         { 513, masked_chunks },   { 514, missing_sources },
    { 516, data_beyond_end },   { 517, unlisted_chunks },
};

_Static_assert(sizeof rules / sizeof *rules <= PACK_FINDINGS_STORED_MAX,
               "callers have room for all");

size_t
pack_findings_dataset(const struct pack_survey_dataset *dataset,
                      const struct pack_stored_reading *reading,
                      const struct pack_thresholds *thresholds,
                      struct pack_finding *findings, size_t max)
{
    const struct look look = { dataset, &dataset->facts, reading, thresholds };
    size_t n = 0;
    for (size_t i = 0; i < sizeof rules / sizeof *rules && n < max; i++) {
        const struct pack_rule *rule = pack_rule_of(rules[i].code);
        struct pack_finding found = { .code = rule->code,
                                      .id = rule->id,
                                      .severity = rule->severity };
        if (rules[i].find(&look, &found))
            findings[n++] = found;
    }
    return n;
}
