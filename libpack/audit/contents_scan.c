#include "libpack/audit/contents_scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/checksum.h"
#include "libpack/hdf5/filter.h"
#include "libpack/rechunk/narrow.h"

enum { TRY_BYTES = 8 << 20, BLOCK_BYTES = 64 << 10 };

/* What tells a sample from others. */
struct print {
    uint64_t one, two, number;
};

struct pack_scan {
    struct pack_type type;
    size_t bytes, n_values; /* of a sample */
    uint64_t n;             /* samples that are expected */
    struct pack_contents found;
    struct pack_narrow narrow;
    bool is_narrow[PACK_NARROW_SCALES]; /* so far */
    unsigned char first[8];             /* value of all */
    bool varies;
    struct print *prints; /* NULL: not looked for */
    int64_t *labels;      /* NULL: these are none */
    uint64_t n_tries, next_try;
    double tried_bytes, left_bytes;
    double tried_as_bytes, left_as_bytes; /* of numbers as bytes */
    unsigned char *as_bytes;              /* room for those of a try */
    size_t as_bytes_size;
    struct pack_pipeline pipeline, bytes_pipeline;
    struct pack_filter_ctx *ctx;
};

enum pack_status
pack_scan_open(const struct pack_facts *f, uint64_t n, bool is_all, struct pack_scan **out,
               struct pack_error *err)
{
    struct pack_scan *s = calloc(1, sizeof *s);
    if (!s)
        return pack_fail_memory(err, "a look at samples");
    *out = s;
    s->type = f->type;
    s->type.order = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? PACK_ORDER_BIG : PACK_ORDER_LITTLE;
    s->bytes = (size_t)(f->logical_bytes / f->extent.extent[0]);
    s->n_values = s->bytes / f->type.bytes;
    s->n = n;
    if (f->type.bytes > 1 && pack_narrow_init(&s->narrow, &s->type))
        for (int i = 0; i < s->narrow.n_scales; i++)
            s->is_narrow[i] = true;
    bool is_label = is_all && s->n_values == 1 && f->type.class_id == PACK_TYPE_INTEGER;
    if (is_label)
        s->labels = calloc((size_t)n, sizeof *s->labels);
    else if (is_all)
        s->prints = calloc((size_t)n, sizeof *s->prints);
    if (is_all && !s->labels && !s->prints)
        return pack_fail_memory(err, "a look at samples");
    enum pack_status status = pack_pipeline_parse(f->type.bytes > 1 ? "shuffle+zstd:3" : "zstd:3",
                                                  f->type.bytes, &s->pipeline, err);
    if (status == PACK_OK)
        status = pack_pipeline_parse("zstd:3", 1, &s->bytes_pipeline, err);
    return status == PACK_OK ? pack_filter_ctx_new(&s->ctx, err) : status;
}

size_t
pack_scan_bytes(const struct pack_scan *s)
{
    return s->bytes;
}

/* ------------------------------------------------------------------- samples */

static uint64_t
bits_of(const unsigned char *at, uint32_t bytes)
{
    uint64_t bits = 0;
    memcpy(__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? (unsigned char *)&bits + 8 - bytes
                                                  : (unsigned char *)&bits,
           at, bytes);
    return bits;
}

/* The bits of a float's exponent; 0: not known. What has two bytes and is not IEEE's is taken for
 * bfloat16. */
static uint64_t
exponent_of(const struct pack_type *type)
{
    if (type->class_id != PACK_TYPE_FLOAT)
        return 0;
    if (!type->is_ieee)
        return type->bytes == 2 ? 0x7f80 : 0;
    return type->bytes == 2   ? 0x7c00
           : type->bytes == 4 ? 0x7f800000
           : type->bytes == 8 ? UINT64_C(0x7ff0000000000000)
                              : 0;
}

/* A NaN or an infinity: all bits of the exponent. */
static bool
has_odd(const struct pack_scan *s, const unsigned char *data)
{
    uint32_t bytes = s->type.bytes;
    uint64_t exponent = exponent_of(&s->type);
    if (exponent == 0)
        return false;
    for (size_t i = 0; i < s->n_values; i++)
        if ((bits_of(data + i * bytes, bytes) & exponent) == exponent)
            return true;
    return false;
}

static int64_t
label_of(const struct pack_scan *s, const unsigned char *data)
{
    uint32_t unused = 64 - 8 * s->type.bytes;
    uint64_t bits = bits_of(data, s->type.bytes) << unused;
    return s->type.is_signed ? (int64_t)bits >> unused : (int64_t)(bits >> unused);
}

enum pack_status
pack_scan_sample(struct pack_scan *s, uint64_t number, const void *sample,
                 struct pack_error *err)
{
    const unsigned char *data = sample;
    uint32_t bytes = s->type.bytes;
    struct pack_contents *c = &s->found;
    bool is_constant = memcmp(data, data + bytes, s->bytes - bytes) == 0;
    if (c->n_samples == s->n)
        return pack_fail(err, PACK_ERR_FORMAT, "more samples than there are");
    if (c->n_samples == 0)
        memcpy(s->first, data, bytes < sizeof s->first ? bytes : sizeof s->first);
    s->varies = s->varies || !is_constant || bytes > sizeof s->first ||
                memcmp(s->first, data, bytes) != 0;
    for (int i = 0; i < PACK_NARROW_SCALES; i++)
        s->is_narrow[i] =
            s->is_narrow[i] && pack_narrow_scan(&s->narrow, (enum pack_narrow_scale)i, data,
                                                s->n_values) == s->n_values;
    if (has_odd(s, data) && c->n_odd++ == 0)
        c->first_odd = number;
    if (is_constant && s->n_values > 1 && c->n_constant++ == 0)
        c->first_constant = number;
    if (s->prints)
        s->prints[c->n_samples] = (struct print){ pack_checksum(data, s->bytes, 1),
                                                  pack_checksum(data, s->bytes, 2), number };
    if (s->labels)
        s->labels[c->n_samples] = label_of(s, data);
    c->n_samples++;
    return PACK_OK;
}

/* The same as bytes, as long as they may be some. */
static enum pack_status
try_as_bytes(struct pack_scan *s, const void *data, size_t size, struct pack_error *err)
{
    struct pack_stored stored;
    size_t n = size / s->type.bytes;
    int scale = 0;
    while (scale < PACK_NARROW_SCALES && !s->is_narrow[scale])
        scale++;
    if (scale == PACK_NARROW_SCALES)
        return PACK_OK;
    if (n > s->as_bytes_size) {
        free(s->as_bytes);
        s->as_bytes_size = 0;
        if (!(s->as_bytes = malloc(n)))
            return pack_fail_memory(err, "a look at samples");
        s->as_bytes_size = n;
    }
    s->narrow.scale = (enum pack_narrow_scale)scale;
    pack_narrow_put(&s->narrow, data, n, s->as_bytes);
    enum pack_status status =
        pack_pipeline_encode(&s->bytes_pipeline, s->ctx, s->as_bytes, n, &stored, err);
    if (status == PACK_OK) {
        s->tried_as_bytes += (double)n;
        s->left_as_bytes += (double)stored.size;
    }
    return status;
}

/* Blocks from all over: of so many batches one is tried. */
enum pack_status
pack_scan_try(struct pack_scan *s, const void *data, size_t n_samples, struct pack_error *err)
{
    size_t size = n_samples * s->bytes, least = s->bytes > BLOCK_BYTES ? s->bytes : BLOCK_BYTES;
    struct pack_stored stored;
    if (s->labels || s->n_tries++ < s->next_try)
        return PACK_OK;
    size = size < least ? size : least / s->bytes * s->bytes;
    double batches = ceil((double)s->n / (double)n_samples), blocks = TRY_BYTES / (double)size;
    s->next_try = s->n_tries + (uint64_t)(blocks < batches ? batches / blocks : 0);
    enum pack_status status =
        pack_pipeline_encode(&s->pipeline, s->ctx, data, size, &stored, err);
    if (status == PACK_OK) {
        s->tried_bytes += (double)size;
        s->left_bytes += (double)stored.size;
        status = try_as_bytes(s, data, size, err);
    }
    return status;
}

/* ----------------------------------------------------------------------- end */

static int
by_print(const void *a, const void *b)
{
    const struct print *x = a, *y = b;
    if (x->one != y->one)
        return x->one < y->one ? -1 : 1;
    if (x->two != y->two)
        return x->two < y->two ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Of samples that are alike, all but the first. */
static void
find_twice(struct pack_scan *s)
{
    struct pack_contents *c = &s->found;
    uint64_t once = 0;
    if (!s->prints || c->n_samples == 0)
        return;
    qsort(s->prints, (size_t)c->n_samples, sizeof *s->prints, by_print);
    c->first_twice = UINT64_MAX;
    for (uint64_t i = 1; i < c->n_samples; i++) {
        const struct print *p = &s->prints[i], *first = &s->prints[once];
        if (p->one != first->one || p->two != first->two) {
            once = i;
            continue;
        }
        c->n_twice++;
        if (p->number < c->first_twice) {
            c->first_twice = p->number;
            c->first_once = first->number;
        }
    }
    c->first_twice = c->n_twice ? c->first_twice : 0;
}

static int
by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Different ones among n, which are sorted for it. */
static uint64_t
count_classes(int64_t *labels, size_t n)
{
    uint64_t classes = n > 0;
    qsort(labels, n, sizeof *labels, by_value);
    for (size_t i = 1; i < n; i++)
        classes += labels[i] != labels[i - 1];
    return classes;
}

/* How many classes there are among those of a window, as they lie and drawn at random. */
static void
find_runs(struct pack_scan *s)
{
    enum { W = PACK_CONTENTS_WINDOW };
    struct pack_contents *c = &s->found;
    size_t n = (size_t)c->n_samples, windows = n / W, run = 0;
    double seen = 0;
    if (!s->labels || windows == 0)
        return;
    for (size_t i = 0; i < windows; i++)
        seen += (double)count_classes(s->labels + i * W, W);
    c->classes_seen = seen / (double)windows;
    c->n_classes = count_classes(s->labels, n);
    for (size_t i = 1; i <= n; i++) {
        run++;
        if (i < n && s->labels[i] == s->labels[i - 1])
            continue;
        c->classes_random += 1 - pow(1 - (double)run / (double)n, W);
        run = 0;
    }
}

void
pack_scan_end(struct pack_scan *s, struct pack_contents *out)
{
    struct pack_contents *c = &s->found;
    c->is_known = c->n_samples > 0;
    for (int i = PACK_NARROW_SCALES - 1; i >= 0 && s->varies; i--)
        if (s->is_narrow[i])
            strncpy(c->scale, pack_narrow_scale_name((enum pack_narrow_scale)i),
                    sizeof c->scale - 1);
    c->zstd_rate = s->tried_bytes > 0 ? s->left_bytes / s->tried_bytes : 0;
    if (c->scale[0] && s->tried_as_bytes > 0)
        c->bytes_zstd_rate = s->left_as_bytes / s->tried_as_bytes;
    find_twice(s);
    find_runs(s);
    *out = *c;
}

void
pack_scan_close(struct pack_scan *s)
{
    if (!s)
        return;
    pack_filter_ctx_free(s->ctx);
    free(s->as_bytes);
    free(s->prints);
    free(s->labels);
    free(s);
}
