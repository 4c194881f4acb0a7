/*
 * What a DataLoader is told: how one sample is read, and in which order. Orders that
 * PyTorch has are its samplers, blocks are the classes of snippet_pytorch.c; for what
 * neither has, a comment says so.
 */
#include "libpack/advise/snippet_parts.h"

#include <stdio.h>

#include "libpack/base/name.h"

static uint64_t
step_of(const struct pack_pattern *p)
{
    return p->step ? p->step : 1;
}

/* The first axis of a sample's box: rows that are read together. */
static uint64_t
rows_of(const struct pack_pattern *p)
{
    return p->box.rank ? p->box.extent[0] : 1;
}

/* Whether samples begin at random places along the other axes; a trace says where. */
static bool
has_crops(const struct pack_snippet_subject *s)
{
    const struct pack_pattern *p = &s->config->pattern;
    const struct pack_shape *extent = &s->params->data.extent;
    if (p->kind == PACK_PATTERN_TRACE)
        return false;
    for (int i = 1; i < p->box.rank; i++)
        if (p->box.extent[i] < extent->extent[i])
            return true;
    return false;
}

enum pack_status
pack_snippet_py_import(const struct pack_snippet_subject *s, struct pack_buf *buf,
                       struct pack_error *err)
{
    const struct pack_pattern *p = &s->config->pattern;
    bool is_block = p->kind == PACK_PATTERN_BLOCK;
    bool draws = (is_block && !p->local) || has_crops(s);
    return pack_buf_printf(buf, err, "%s%s", is_block && p->local ? ", numpy as np" : "",
                           draws ? ", random" : "");
}

/* -------------------------------------------------------------- one sample */

enum pack_status
pack_snippet_py_length(const struct pack_snippet_subject *s, struct pack_buf *buf,
                       struct pack_error *err)
{
    const struct pack_pattern *p = &s->config->pattern;
    unsigned long long rows = rows_of(p), step = step_of(p);
    bool is_plain = p->kind == PACK_PATTERN_TRACE || (rows == 1 && step == 1);
    enum pack_status status =
        is_plain ? PACK_OK : pack_buf_append(buf, "(", 1, err);
    if (status == PACK_OK)
        status = pack_buf_printf(buf, err, "f[");
    if (status == PACK_OK)
        status = pack_name_literal(s->dataset, '\'', buf, err);
    if (status == PACK_OK)
        status = pack_buf_printf(buf, err, "].shape[0]");
    return status == PACK_OK && !is_plain
               ? pack_buf_printf(buf, err, " - %llu) // %llu + 1", rows, step)
               : status;
}

static enum pack_status
print_crop(const struct pack_snippet_subject *s, const char *begin, struct pack_buf *buf,
           struct pack_error *err)
{
    const struct pack_shape *box = &s->config->pattern.box;
    enum pack_status status = pack_buf_printf(buf, err, "box = (");
    for (int i = 0; status == PACK_OK && i < box->rank; i++)
        status = pack_buf_printf(buf, err, "%llu%s", (unsigned long long)box->extent[i],
                                 i + 1 < box->rank ? ", " : ")\n");
    return status == PACK_OK
               ? pack_buf_printf(
                     buf, err,
                     "        at = [%s] + [random.randint(0, n - b) for n, b\n"
                     "                  in zip(self.images.shape[1:], box[1:])]\n"
                     "        cut = tuple(slice(a, a + b) for a, b in zip(at, box))\n"
                     "        return self.images[cut]%s",
                     begin, box->extent[0] == 1 ? "[0]" : "")
               : status;
}

enum pack_status
pack_snippet_py_read(const struct pack_snippet_subject *s, struct pack_buf *buf,
                     struct pack_error *err)
{
    const struct pack_pattern *p = &s->config->pattern;
    unsigned long long rows = rows_of(p), step = step_of(p);
    char begin[40] = "i";
    enum pack_status status = PACK_OK;
    if (step > 1)
        snprintf(begin, sizeof begin, "i * %llu", step);
    if (p->read != PACK_READ_SAMPLE) /* what was judged is another way */
        status = pack_buf_printf(buf, err, "# a batch in one read takes a __getitems__ of its own\n"
                                           "        ");
    if (s->with && status == PACK_OK)
        status = pack_buf_printf(buf, err, "# and self.file[");
    if (s->with && status == PACK_OK)
        status = pack_name_literal(s->with, '\'', buf, err);
    if (s->with && status == PACK_OK)
        status = pack_buf_printf(buf, err, "][i], which is read in step\n        ");
    if (status != PACK_OK)
        return status;
    if (has_crops(s))
        return print_crop(s, begin, buf, err);
    if (rows > 1 && p->kind != PACK_PATTERN_TRACE)
        return pack_buf_printf(buf, err, "return self.images[%s:%s + %llu]", begin, begin,
                               rows);
    return pack_buf_printf(buf, err, "return self.images[%s]", begin);
}

/* --------------------------------------------------------------- the order */

static enum pack_status
print_weights(const struct pack_pattern *p, struct pack_buf *buf, struct pack_error *err)
{
    enum pack_status status =
        pack_buf_printf(buf, err, "from torch.utils.data import WeightedRandomSampler\n\n"
                                  "with open(");
    if (status == PACK_OK)
        status = pack_name_literal(p->file ? p->file : "weights", '\'', buf, err);
    return status == PACK_OK
               ? pack_buf_printf(buf, err, ") as f:\n"
                                           "    weights = [float(w) for w in f.read().split()]\n")
               : status;
}

enum pack_status
pack_snippet_py_sampler(const struct pack_snippet_subject *s, struct pack_buf *buf,
                        struct pack_error *err)
{
    const struct pack_pattern *p = &s->config->pattern;
    switch (p->kind) {
    case PACK_PATTERN_BLOCK:
        return pack_buf_printf(buf, err, "%s\n",
                               p->local ? pack_snippet_local_blocks
                                        : pack_snippet_block_shuffle);
    case PACK_PATTERN_REPLACEMENT:
        return pack_buf_printf(buf, err, "from torch.utils.data import RandomSampler\n\n");
    case PACK_PATTERN_WEIGHTED: return print_weights(p, buf, err);
    case PACK_PATTERN_BUFFER:
        return pack_buf_printf(buf, err, "# PyTorch has no sampler for a shuffle buffer: "
                                         "this reads in sequence\n");
    case PACK_PATTERN_TRACE:
        return pack_buf_printf(buf, err, "# a trace is an order of its own: this reads whole "
                                         "samples in sequence\n");
    default: return PACK_OK;
    }
}

/* ", rank=..., world=8" where there are several; torchrun tells each process its own. */
static enum pack_status
print_rank(const struct pack_pattern *p, const char *world, struct pack_buf *buf,
           struct pack_error *err)
{
    if (p->world < 2)
        return PACK_OK;
    return pack_buf_printf(buf, err,
                           ",\n                    %s=%llu, "
                           "rank=int(os.environ.get('RANK', %llu))",
                           world, (unsigned long long)p->world,
                           (unsigned long long)p->rank);
}

static enum pack_status
print_blocks(const struct pack_snippet_subject *s, struct pack_buf *buf,
             struct pack_error *err)
{
    const struct pack_pattern *p = &s->config->pattern;
    unsigned long long rows = s->config->chunk.rank ? s->config->chunk.extent[0] : 1,
                       chunk = rows > step_of(p) ? rows / step_of(p) : 1,
                       pool = p->pool_chunks ? p->pool_chunks : 32,
                       batch = p->batch ? p->batch : 1;
    enum pack_status status =
        p->local ? pack_buf_printf(buf, err,
                                   "batch_sampler=LocalBlocks(\n"
                                   "                        len(images), chunk=%llu, "
                                   "pool=%llu, batch=%llu, workers=%llu",
                                   chunk, pool, batch, (unsigned long long)p->workers)
                 : pack_buf_printf(buf, err,
                                   "batch_size=%llu, sampler=BlockShuffle(\n"
                                   "                        len(images), chunk=%llu, "
                                   "pool=%llu",
                                   batch, chunk, pool);
    if (status == PACK_OK)
        status = print_rank(p, "world", buf, err);
    return status == PACK_OK ? pack_buf_printf(buf, err, ")") : status;
}

/* A rank's part of independent draws is as many fewer of them. */
static enum pack_status
print_draws(const struct pack_pattern *p, struct pack_buf *buf, struct pack_error *err)
{
    bool is_weighted = p->kind == PACK_PATTERN_WEIGHTED;
    char n[48] = "len(images)";
    if (p->draws)
        snprintf(n, sizeof n, "%llu", (unsigned long long)p->draws);
    enum pack_status status =
        pack_buf_printf(buf, err, "sampler=%s(\n                        %s, num_samples=%s",
                        is_weighted ? "WeightedRandomSampler" : "RandomSampler",
                        is_weighted ? "weights" : "images, replacement=True", n);
    if (status == PACK_OK && p->world > 1)
        status = pack_buf_printf(buf, err, " // %llu", (unsigned long long)p->world);
    return status == PACK_OK ? pack_buf_printf(buf, err, ")") : status;
}

enum pack_status
pack_snippet_py_order(const struct pack_snippet_subject *s, struct pack_buf *buf,
                      struct pack_error *err)
{
    const struct pack_pattern *p = &s->config->pattern;
    const char *shuffle = p->kind == PACK_PATTERN_SHUFFLE ? "True" : "False";
    if (p->kind == PACK_PATTERN_BLOCK)
        return print_blocks(s, buf, err);
    enum pack_status status = pack_buf_printf(
        buf, err, "batch_size=%llu, ", (unsigned long long)(p->batch ? p->batch : 1));
    if (status == PACK_OK &&
        (p->kind == PACK_PATTERN_REPLACEMENT || p->kind == PACK_PATTERN_WEIGHTED))
        return print_draws(p, buf, err);
    if (status == PACK_OK && p->world < 2)
        return pack_buf_printf(buf, err, "shuffle=%s", shuffle);
    if (status == PACK_OK) /* whose epoch is set with loader.sampler.set_epoch() */
        status = pack_buf_printf(
            buf, err, "sampler=DistributedSampler(images, shuffle=%s", shuffle);
    if (status == PACK_OK)
        status = print_rank(p, "num_replicas", buf, err);
    return status == PACK_OK ? pack_buf_printf(buf, err, ")") : status;
}
