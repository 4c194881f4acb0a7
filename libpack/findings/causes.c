/* A table of causes, each a test with its sentence; the first that applies is told. */
#include "libpack/findings/causes.h"

#include <stdio.h>

#include <libpack/shape.h>
#include "libpack/base/numbers.h"

#define SAY(...) snprintf(text, PACK_CAUSE_TEXT_MAX, __VA_ARGS__)

static double
requests_per_sample(const struct pack_cause_facts *f)
{
    return f->n_samples > 0 ? (double)f->counts.requests / f->n_samples : 0;
}

static uint64_t
held_chunks(const struct pack_cause_facts *f)
{
    uint64_t n = f->cache.n_slots ? f->cache.size_bytes / f->grid.chunk_bytes : 0;
    return n < f->grid.n_chunks_total ? n : f->grid.n_chunks_total;
}

/* "sample", or "read" of anything else. */
static const char *
unit(const struct pack_cause_facts *f)
{
    return f->reads_whole_samples ? "sample" : "read";
}

static bool
contiguous(const struct pack_cause_facts *f, char *text)
{
    if (f->grid.rank != 0)
        return false;
    SAY("Contiguous data is read piece by piece, %s and %.2f bytes from the file "
        "for each byte wanted.",
        pack_figured(f->loads_per_sample, "piece", "pieces").text, f->amplification);
    return true;
}

static bool
reopening(const struct pack_cause_facts *f, char *text)
{
    char chunk[PACK_BYTES_TEXT_MAX], wanted[PACK_BYTES_TEXT_MAX];
    if (!f->reopens)
        return false;
    SAY("The dataset is opened by name at each read, which empties its cache each time: "
        "each sample of %s loads %s of %s.",
        pack_bytes_format((uint64_t)f->read_bytes, wanted),
        pack_figured(f->loads_per_sample, "chunk", "chunks").text,
        pack_bytes_format(f->grid.chunk_bytes, chunk));
    return true;
}

static bool
no_room(const struct pack_cause_facts *f, char *text)
{
    char chunk[PACK_BYTES_TEXT_MAX], cache[PACK_BYTES_TEXT_MAX],
        wanted[PACK_BYTES_TEXT_MAX];
    if (f->counts.decodes == 0 || held_chunks(f) > 0)
        return false;
    SAY("A chunk of %s does not fit in the cache of %s, so that every read of %s loads "
        "and decodes %s again.",
        pack_bytes_format(f->grid.chunk_bytes, chunk),
        pack_bytes_format(f->cache.size_bytes, cache),
        pack_bytes_format((uint64_t)f->read_bytes, wanted),
        pack_figured(f->loads_per_sample, "whole chunk", "whole chunks").text);
    return true;
}

static bool
growth(const struct pack_cause_facts *f, char *text)
{
    char peak[PACK_BYTES_TEXT_MAX], cache[PACK_BYTES_TEXT_MAX];
    if (f->cache.w0 < 1 || f->peak_bytes < 2 * (double)f->cache.size_bytes)
        return false;
    SAY("rdcc_w0 = 1 keeps chunks that were read in part whatever the limit says: the "
        "cache of %s grew to %s%s.",
        pack_bytes_format(f->cache.size_bytes, cache),
        pack_bytes_format((uint64_t)f->peak_bytes, peak),
        f->workers > 1 ? " in each worker" : "");
    return true;
}

/* An axis of two chunks, of which the second holds an eighth of its length at most. */
static int
narrow_axis(const struct pack_grid *grid)
{
    for (int i = 1; i < grid->rank; i++) {
        uint64_t rest = grid->extent[i] % grid->chunk[i];
        if (rest > 0 && rest <= grid->chunk[i] / 8 && grid->n_chunks[i] == 2)
            return i;
    }
    return -1;
}

static bool
narrow(const struct pack_cause_facts *f, char *text)
{
    int axis = narrow_axis(&f->grid);
    if (axis < 0 || !f->reads_whole_samples || requests_per_sample(f) <= 1.5)
        return false;
    SAY("Chunks cover %llu of %llu along axis %d, so that every sample has a second chunk "
        "that is nearly empty: %.2f bytes come from the file for each byte wanted.",
        (unsigned long long)f->grid.chunk[axis], (unsigned long long)f->grid.extent[axis],
        axis, f->amplification);
    return true;
}

static bool
collisions(const struct pack_cause_facts *f, char *text)
{
    const struct pack_cache_counts *c = &f->counts;
    if (c->loads == 0 || c->evictions_collision * 10 <= c->loads)
        return false;
    SAY("%.0f %% of the loads push another chunk out of the same slot although bytes are "
        "free: %s too few for this grid.",
        100 * (double)c->evictions_collision / (double)c->loads,
        pack_counted(f->cache.n_slots, "slot is", "slots are").text);
    return true;
}

static bool
whole_chunks(const struct pack_cause_facts *f, char *text)
{
    char chunk[PACK_BYTES_TEXT_MAX], wanted[PACK_BYTES_TEXT_MAX];
    if (f->counts.loads == 0 || f->amplification <= 1.25)
        return false;
    SAY("Each %s of %s costs %s chunks of %s: the cache holds %llu of %s and "
        "this order finds %.1f %% of its requests there%s%s.",
        unit(f), pack_bytes_format((uint64_t)f->read_bytes, wanted),
        pack_figure(f->loads_per_sample).text,
        pack_bytes_format(f->grid.chunk_bytes, chunk), (unsigned long long)held_chunks(f),
        pack_counted(f->grid.n_chunks_total, "chunk", "chunks").text, 100 * f->hit_rate,
        f->stored_factor > 1.1 ? ", and chunks that reach beyond the data double the work"
                               : "",
        f->is_filtered || f->hit_rate > 0.5 || f->amplification < 2
            ? ""
            : "; with a cache smaller than a chunk HDF5 would read only what is wanted");
    return true;
}

static bool
cut(const struct pack_cause_facts *f, char *text)
{
    char chunk[PACK_BYTES_TEXT_MAX], wanted[PACK_BYTES_TEXT_MAX];
    double n = requests_per_sample(f);
    if (n <= 1.5)
        return false;
    pack_bytes_format(f->grid.chunk_bytes, chunk);
    pack_bytes_format((uint64_t)f->read_bytes, wanted);
    if (f->reads_whole_samples)
        SAY("Chunks cut through samples: each read gathers %s chunks of %s to make one "
            "sample of %s.",
            pack_figure(n).text, chunk, wanted);
    else
        SAY("Each read of %s lies in %s chunks of %s: %.2f bytes come from the file for "
            "each byte wanted.",
            wanted, pack_figure(n).text, chunk, f->amplification);
    return true;
}

static bool
overhang(const struct pack_cause_facts *f, char *text)
{
    if (f->stored_factor <= 1.05)
        return false;
    SAY("Chunks that reach beyond the data make the file %.2f times as large as what is "
        "in it.",
        f->stored_factor);
    return true;
}

static bool
decoding(const struct pack_cause_facts *f, char *text)
{
    if (f->decode_rate < 0.5 || f->decodes_per_chunk <= 1.05)
        return false;
    SAY("Each chunk is decoded %s times an epoch, which takes %.0f %% of the time of "
        "reading.",
        pack_figure(f->decodes_per_chunk).text, 100 * f->decode_rate);
    return true;
}

static const struct {
    const char *name;
    bool (*tell)(const struct pack_cause_facts *facts, char *text);
} causes[] = {
    { "contiguous", contiguous }, { "reopening", reopening },   { "no-room", no_room },
    { "growth", growth },         { "narrow", narrow },         { "collisions", collisions },
    { "whole-chunks", whole_chunks }, { "cut", cut },           { "overhang", overhang },
    { "decoding", decoding },
};

const char *
pack_causes_find(const struct pack_cause_facts *f, char text[PACK_CAUSE_TEXT_MAX])
{
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (causes[i].tell(f, text))
            return causes[i].name;
    SAY("Nothing is lost to the layout: %.2f bytes come from the file for each byte "
        "wanted, in %s reads a sample.",
        f->amplification, pack_figure(f->loads_per_sample).text);
    return NULL;
}
