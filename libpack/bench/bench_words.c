/* The advisor's rows as changes in words: what to do, and the parameters that do it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libpack/advise/snippet.h"
#include "libpack/base/numbers.h"
#include "libpack/base/size.h"
#include "libpack/bench/bench_advice_parts.h"
#include "libpack/rechunk/rechunk.h"

/* What is to be changed. */
struct run {
    const struct pack_bench_params *params;
    const struct pack_cache_params *cache;
};

/* Options of a cache, behind what a command says already. */
static void
put_cache(const struct run *run, const struct pack_cache_params *cache, char *text,
          size_t size)
{
    const struct pack_cache_params *now = run->cache;
    size_t used = strlen(text);
    if (cache->size_bytes != now->size_bytes)
        used += (size_t)snprintf(text + used, size - used, "%s{rdcc_nbytes} %" PRIu64,
                                 used ? " " : "", cache->size_bytes);
    if (cache->size_bytes == 0)
        return; /* nothing else counts then */
    if (cache->n_slots != now->n_slots)
        used += (size_t)snprintf(text + used, size - used, "%s{rdcc_nslots} %" PRIu64,
                                 used ? " " : "", cache->n_slots);
    if (cache->w0 != now->w0)
        snprintf(text + used, size - used, "%s{rdcc_w0} %g", used ? " " : "", cache->w0);
}

static void
word_settings(const struct run *run, const struct pack_advise_config *config,
              struct pack_bench_change *c)
{
    char bytes[PACK_BYTES_TEXT_MAX];
    const struct pack_h5_dataset *d = run->params->set->parts[0].data;
    bool reads_past = d->facts.pipeline.n == 0 &&
                      d->chunks.grid.chunk_bytes > config->cache.size_bytes;
    pack_bytes_format(config->cache.size_bytes, bytes);
    if (config->cache.size_bytes == 0)
        snprintf(c->what, sizeof c->what,
                 "no chunk cache: HDF5 then reads just what is wanted");
    else if (reads_past)
        snprintf(c->what, sizeof c->what,
                 "a chunk cache of %s: nothing but what is wanted is read", bytes);
    else
        snprintf(c->what, sizeof c->what, "a chunk cache of %s in each worker", bytes);
    put_cache(run, &config->cache, c->command, sizeof c->command);
}

static void
word_order(const struct run *run, const struct pack_advise_config *config,
           struct pack_bench_change *c)
{
    const struct pack_pattern *p = &config->pattern;
    uint64_t chunk_bytes = run->params->set->parts[0].data->chunks.grid.chunk_bytes;
    bool holds = chunk_bytes && config->cache.size_bytes / chunk_bytes >= p->pool_chunks;
    snprintf(c->what, sizeof c->what, "block shuffle over %.60s%s",
             pack_counted(p->pool_chunks, "chunk", "chunks").text,
             holds ? ", with a cache that holds them" : "");
    snprintf(c->command, sizeof c->command, "{pattern} block:chunks=%" PRIu64 "%s",
             p->pool_chunks, p->local ? ",local" : "");
    put_cache(run, &config->cache, c->command, sizeof c->command);
}

/* "chunks of one sample, zstd:3" */
static void
word_layout(const struct run *run, const struct pack_advise_config *config,
            struct pack_bench_change *c)
{
    char chunk[PACK_SHAPE_TEXT_MAX];
    struct pack_shape one = run->params->set->extent;
    bool is_packed = strcmp(config->codec, "none") != 0;
    one.extent[0] = 1;
    if (config->chunk.rank == 0)
        snprintf(c->what, sizeof c->what, "no chunks: contiguous data");
    else if (pack_shape_equal(&one, &config->chunk))
        snprintf(c->what, sizeof c->what, "chunks of one sample%s%s",
                 is_packed ? ", " : "", is_packed ? config->codec : "");
    else
        snprintf(c->what, sizeof c->what, "chunks of %.60s%s%.40s",
                 pack_shape_format(&config->chunk, chunk), is_packed ? ", " : "",
                 is_packed ? config->codec : "");
}

/* The command that writes the file anew, where h5rechunk can do it; braces are for
 * parameters, and a part of a name is none. */
static bool
put_rechunk(const struct run *run, const struct pack_advise_config *config,
            struct pack_bench_change *c)
{
    enum { LINE_MOST = sizeof c->command / 2 };
    const struct pack_readset *set = run->params->set;
    const struct pack_h5_dataset *d = set->parts[0].data;
    struct pack_buf line = { 0 };
    if (!pack_rechunk_can(d) || !pack_snippet_can_rechunk(config, d->facts.type.bytes))
        return false;
    enum pack_status status =
        pack_snippet_rechunk(d->file, d->path, config, &line, NULL);
    if (status == PACK_OK &&
        (line.size > LINE_MOST || memchr(line.data, '{', line.size))) {
        line.size = 0;
        status = pack_snippet_rechunk("FILE", "DATASET", config, &line, NULL);
    }
    if (status == PACK_OK)
        snprintf(c->command, sizeof c->command, "%.*s%s", (int)line.size,
                 (const char *)line.data,
                 set->n_parts > 1 ? " (and the others, each into a file of its own)" : "");
    pack_buf_done(&line);
    return status == PACK_OK;
}

static void
word_rewrite(const struct run *run, const struct pack_advise_config *config,
             struct pack_bench_change *c)
{
    char chunk[PACK_SHAPE_TEXT_MAX], options[256] = "", order[80] = "";
    const struct pack_pattern *p = &config->pattern;
    bool is_packed = strcmp(config->codec, "none") != 0;
    word_layout(run, config, c);
    if (p->kind != run->params->pattern.kind)
        snprintf(order, sizeof order, " {pattern} block:chunks=%" PRIu64 "%s",
                 p->pool_chunks, p->local ? ",local" : "");
    if (config->chunk.rank)
        put_cache(run, &config->cache, options, sizeof options);
    bool is_rechunked = put_rechunk(run, config, c);
    if (!is_rechunked && config->chunk.rank)
        snprintf(c->command, sizeof c->command, "pack or repack with chunks of %.200s%s%s",
                 pack_shape_format(&config->chunk, chunk),
                 is_packed ? ", compressed with " : "", is_packed ? config->codec : "");
    else if (!is_rechunked)
        snprintf(c->command, sizeof c->command, "repack without chunks");
    size_t used = strlen(c->command);
    bool has_options = order[0] || options[0];
    snprintf(c->command + used, sizeof c->command - used, ", then run again%s%s%s%s%s",
             !is_rechunked                   ? ""
             : run->params->set->n_parts > 1 ? " on these"
                                             : " on it",
             has_options ? " with" : "", order,
             options[0] ? " " : "", options);
}

void
pack_bench_word(const struct pack_bench_params *params,
                const struct bench_question *question,
                const struct pack_advise_outcome *row, struct pack_bench_change *change)
{
    const struct run run = { .params = params, .cache = &question->now.cache };
    switch (row->change) {
    case PACK_ADVISE_SETTINGS: word_settings(&run, &row->config, change); break;
    case PACK_ADVISE_ORDER: word_order(&run, &row->config, change); break;
    default: word_rewrite(&run, &row->config, change);
    }
}
