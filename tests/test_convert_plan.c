/*
 * What is decided before anything is decoded: shapes, chunks and memory of random plans
 * against arithmetic of their own, the bounds at which a plan is refused, what options and
 * sources cannot be, and rows of images that cannot be read.
 */
#include "libpack/convert/convert_run.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/base/pool.h"
#include "libpack/base/rng.h"
#include "libpack/convert/sample_chain.h"
#include "libpack/source/records.h"
#include "tests/tap.h"

enum { RECORDS_MAX = 100000 };
static struct pack_error err;
static struct pack_record gone_records[RECORDS_MAX]; /* whose files are not there */
static struct pack_source_root nowhere = { .path = "/nonexistent" };

/* --------------------------------------------------------------------- plans */

static uint64_t
clamped(uint64_t share, uint64_t least, uint64_t most)
{
    return share < least ? least : share > most ? most : share;
}

/* A whole chunk shape, no larger than a sample. */
static struct pack_shape
random_chunk(struct pack_rng *rng, const uint64_t *sample, int rank)
{
    struct pack_shape chunk = { rank + 1, { 1 + pack_rng_below(rng, 4) } };
    for (int i = 0; i < rank; i++)
        chunk.extent[i + 1] = 1 + pack_rng_below(rng, sample[i]);
    return chunk;
}

/* What a plan for these parameters is to be, from the manual; false: memory is too small. */
static bool
expect(const struct pack_convert_params *p, uint64_t h, uint64_t w,
       struct pack_convert_plan *e)
{
    const struct pack_convert_options *o = &p->options;
    uint64_t c = o->image.mode == PACK_IMAGE_GRAY ? 1 : 3, n = o->chunk_samples;
    bool planes = o->layout == PACK_PIXEL_NCHW;
    uint64_t axes[3] = { planes ? c : h, planes ? h : w, planes ? w : c };
    *e = (struct pack_convert_plan){ .out_h = (uint32_t)h,
                                     .out_w = (uint32_t)w,
                                     .n_channels = (int)c,
                                     .n_threads = p->n_threads,
                                     .sample_bytes = h * w * c };
    e->sample.rank = c == 1 && !planes ? 2 : 3;
    memcpy(e->sample.extent, axes, sizeof axes);
    if (n == 0 && o->chunk.rank == 0) {
        n = (o->goal == PACK_CHUNK_FOR_BLOCK_SHUFFLE ? 1 << 20 : 65535) / e->sample_bytes;
        n = n < 1 ? 1 : n > p->source->n_records ? p->source->n_records : n;
    }
    e->chunk = (struct pack_shape){ e->sample.rank + 1, { n, axes[0], axes[1], axes[2] } };
    if (o->chunk.rank)
        e->chunk = o->chunk;
    e->block_samples = e->chunk.extent[0];
    e->block_bytes = e->block_samples * e->sample_bytes;
    e->chunk_bytes = e->chunk.extent[0];
    e->chunks_per_block = 1;
    for (int i = 0; i < e->sample.rank; i++) {
        uint64_t side = e->chunk.extent[i + 1];
        e->chunk_bytes *= side;
        e->chunks_per_block *= axes[i] / side + (axes[i] % side != 0);
    }
    e->whole = e->chunk_bytes == e->block_bytes;
    e->direct = e->block_samples == 1;
    if (!e->whole || o->pipeline.n)
        e->coded_bytes =
            e->chunks_per_block * pack_pipeline_bound(&o->pipeline, e->chunk_bytes);
    uint64_t notes = e->chunks_per_block * (sizeof(struct chunk_record) + sizeof(void *));
    if (!e->whole && o->pipeline.n)
        e->coding_bytes = e->chunk_bytes;
    if (o->pipeline.n == 2) /* what zstd makes, for fletcher32 to take */
        e->coding_bytes += pack_pipeline_bound(&o->pipeline, e->chunk_bytes);
    uint64_t coded = e->coded_bytes + e->coding_bytes;
    e->slot_bytes = e->sample_bytes + (e->direct ? coded + notes : 0);
    e->filling_bytes = notes + (e->direct ? 0 : e->block_bytes + coded);
    uint64_t memory = p->memory_bytes, t = p->n_threads;
    uint64_t slots = clamped(memory / (e->direct ? 2 : 4), 2 * e->slot_bytes,
                             (4 * t + 4) * e->slot_bytes);
    uint64_t blocks = clamped(memory / 2, (e->direct ? 1 : 2) * e->filling_bytes,
                              (e->direct ? 1 : t + 2) * e->filling_bytes);
    e->n_slots = slots / e->slot_bytes;
    e->n_blocks = blocks / e->filling_bytes;
    e->buffer_bytes = e->n_slots * e->slot_bytes + e->n_blocks * e->filling_bytes;
    e->decode_bytes = memory > slots + blocks ? memory - slots - blocks : 0;
    return e->decode_bytes > 0 &&
           2 * e->slot_bytes + 2 * e->filling_bytes <= memory - memory / 4;
}

static bool
same_plan(const struct pack_convert_plan *a, const struct pack_convert_plan *b)
{
    bool same_sample = a->sample.rank == b->sample.rank;
    for (int i = 0; i < a->sample.rank && same_sample; i++)
        same_sample = a->sample.extent[i] == b->sample.extent[i];
    return same_sample && pack_shape_equal(&a->chunk, &b->chunk) && a->out_h == b->out_h &&
           a->out_w == b->out_w && a->n_channels == b->n_channels &&
           a->sample_bytes == b->sample_bytes && a->chunk_bytes == b->chunk_bytes &&
           a->chunks_per_block == b->chunks_per_block &&
           a->block_samples == b->block_samples && a->block_bytes == b->block_bytes &&
           a->whole == b->whole && a->direct == b->direct &&
           a->coded_bytes == b->coded_bytes && a->coding_bytes == b->coding_bytes &&
           a->slot_bytes == b->slot_bytes &&
           a->filling_bytes == b->filling_bytes && a->n_threads == b->n_threads &&
           a->n_slots == b->n_slots && a->n_blocks == b->n_blocks &&
           a->decode_bytes == b->decode_bytes && a->buffer_bytes == b->buffer_bytes;
}

/* The bound that is told is the least one that holds the chunks and a byte to decode in. */
static bool
tells_bound(struct pack_convert_params p, uint32_t h, uint32_t w)
{
    struct pack_convert_plan plan;
    const char *at = strstr(err.text, "which take ");
    uint64_t mib = at ? strtoull(at + strlen("which take "), NULL, 10) : 0;
    struct pack_error own;
    p.memory_bytes = mib << 20;
    bool holds = mib && pack_convert_plan_make(&p, h, w, &plan, &own) == PACK_OK;
    p.memory_bytes = (mib - 1) << 20;
    return holds &&
           (mib == 1 || pack_convert_plan_make(&p, h, w, &plan, &own) == PACK_ERR_MEMORY);
}

static void
random_params(struct pack_rng *rng, struct pack_convert_params *p, uint64_t h, uint64_t w)
{
    static const char *const pipelines[] = { "none", "gzip:1", "zstd:3+fletcher32" };
    struct pack_convert_options *o = &p->options;
    p->source->n_records = 1 + pack_rng_below(rng, pack_rng_below(rng, 2) ? 20 : RECORDS_MAX);
    p->n_threads = 1 + (unsigned)pack_rng_below(rng, 9);
    p->memory_bytes = 1 + pack_rng_below(rng, UINT64_C(1) << (10 + pack_rng_below(rng, 20)));
    o->image.mode = (enum pack_image_mode)pack_rng_below(rng, 2);
    o->layout = (enum pack_pixel_layout)pack_rng_below(rng, 2);
    o->goal = (enum pack_chunk_goal)pack_rng_below(rng, 2);
    if (pack_pipeline_parse(pipelines[pack_rng_below(rng, 3)], 1, &o->pipeline, NULL))
        abort();
    bool gray = o->image.mode == PACK_IMAGE_GRAY, planes = o->layout == PACK_PIXEL_NCHW;
    uint64_t c = gray ? 1 : 3;
    uint64_t axes[3] = { planes ? c : h, planes ? h : w, planes ? w : c };
    switch (pack_rng_below(rng, 4)) {
    case 0: o->chunk = random_chunk(rng, axes, gray && !planes ? 2 : 3); break;
    case 1: o->chunk_samples = 1 + pack_rng_below(rng, 9); break;
    default: break; /* automatic */
    }
}

static void
test_random_plans(void)
{
    struct pack_rng rng;
    int wrong = 0, n_small = 0, n_good = 0;
    pack_rng_seed(&rng, 3);
    for (int i = 0; i < RECORDS_MAX; i++)
        gone_records[i].name = "none.jpg";
    for (int i = 0; i < 3000; i++) {
        struct pack_source source = {
            .records = gone_records, .roots = &nowhere, .n_roots = 1
        };
        struct pack_convert_params p = { .source = &source };
        struct pack_convert_plan plan, want;
        uint32_t h = 1 + (uint32_t)pack_rng_below(&rng, 200),
                 w = 1 + (uint32_t)pack_rng_below(&rng, 200);
        random_params(&rng, &p, h, w);
        bool holds = expect(&p, h, w, &want);
        enum pack_status status = pack_convert_plan_make(&p, h, w, &plan, &err);
        bool right = holds ? status == PACK_OK && same_plan(&plan, &want)
                           : status == PACK_ERR_MEMORY && tells_bound(p, h, w);
        if (!right && wrong++ < 5)
            note("plan %d of %ux%u: status %d, %s", i, h, w, (int)status, err.text);
        n_good += holds;
        n_small += !holds;
    }
    ok(wrong == 0 && n_good > 500 && n_small > 200,
       "shapes and memory of %d random plans are right, and %d times too small a bound is "
       "told with the least that does",
       n_good, n_small);
    struct pack_convert_plan none = { .n_threads = 1 };
    ok(pack_convert_left_bytes(&none, 12345) == 12345,
       "where nothing is known of a file all memory is left");
}

/* One plan: what it gives and a piece of what it says. */
static bool
plans(uint64_t n_records, struct pack_convert_options o, uint32_t h, uint32_t w,
      enum pack_status want, const char *says)
{
    struct pack_source source = { .n_records = n_records };
    struct pack_convert_params p = {
        .source = &source, .options = o, .n_threads = 1, .memory_bytes = UINT64_C(1) << 50
    };
    struct pack_convert_plan plan;
    err.text[0] = '\0';
    enum pack_status status = pack_convert_plan_make(&p, h, w, &plan, &err);
    bool right = status == want && strstr(err.text, says);
    if (!right)
        note("status %d: %s", (int)status, err.text);
    return right;
}

static void
test_bounds(void)
{
    const struct pack_convert_options gray = { .image.mode = PACK_IMAGE_GRAY };
    struct pack_convert_options o = gray;
    ok(plans(1, gray, 65535, 65537, PACK_OK, "") &&
           plans(1, gray, 65536, 65536, PACK_ERR_LIMIT, "HDF5's limit of 4 GiB"),
       "a chunk may have a byte less than 4 GiB");
    o.chunk_samples = 1 << 22;
    ok(plans(1, o, 1, 1, PACK_OK, ""), "and four million samples");
    o.chunk_samples++;
    ok(plans(1, o, 1, 1, PACK_ERR_LIMIT, "more than 4194304 samples in a chunk"),
       "and no more of them");
    o.chunk_samples = UINT64_MAX;
    ok(plans(1, o, 2, 2, PACK_ERR_LIMIT, "are larger than"),
       "nor as many as cannot be counted");
    o.chunk_samples = 1;
    ok(plans(UINT64_C(1) << 30, o, 1, 1, PACK_OK, "") &&
           plans((UINT64_C(1) << 30) + 1, o, 1, 1, PACK_ERR_LIMIT,
                 "would be 1073741825 for 1073741825 images, more than 1073741824"),
       "a file may have 2^30 chunks");
    o = gray;
    o.chunk = (struct pack_shape){ 3, { 2, 1, 1 } };
    ok(plans(UINT64_MAX, o, 1000, 1000, PACK_ERR_LIMIT,
             "chunks of 2x1x1 would be 18446744073709551615 for"),
       "also where they cannot be counted: %s", err.text);
    ok(plans(3, o, 2, 2, PACK_OK, "") &&
           plans((UINT64_C(1) << 29) - 1, o, 2, 2, PACK_OK, "") &&
           plans((UINT64_C(1) << 29) + 1, o, 2, 2, PACK_ERR_LIMIT, "1073741828"),
       "those of a last block that is not full count, too");
    o.chunk = (struct pack_shape){ 4, { 1, 2, 2, 1 } };
    ok(plans(1, o, 2, 2, PACK_ERR_ARGUMENT,
             "chunk 1x2x2x1 has 4 dimensions, the dataset has 3"),
       "a chunk of other dimensions is refused");
    o.chunk = (struct pack_shape){ 3, { 9, 2, 3 } };
    ok(plans(1, o, 2, 3, PACK_OK, "") &&
           plans(1, o, 3, 2, PACK_ERR_ARGUMENT,
                 "chunk 9x2x3 is larger than a sample along axis 2 (2)"),
       "and one larger than a sample, but for how many");
}

/* ------------------------------------------------------------------- options */

static bool
refuses(const struct pack_convert_options *o, const char *param)
{
    bool right = pack_convert_check_options(o, &err) == PACK_ERR_ARGUMENT &&
                 strcmp(err.param, param) == 0;
    if (!right)
        note("%s: '%s', %s", param, err.param, err.text);
    return right;
}

static void
test_options(void)
{
    struct pack_convert_options o = {
        .image = { .mode = PACK_IMAGE_GRAY },
        .layout = PACK_PIXEL_NCHW,
        .goal = PACK_CHUNK_FOR_BLOCK_SHUFFLE,
        .libver = PACK_LIBVER_LATEST,
        .on_error = PACK_ON_ERROR_BLANK,
        .chunk = { PACK_RANK_MAX, { 0 } },
        .pipeline = { .n = PACK_PIPELINE_MAX },
    }, bad;
    struct pack_image_window window = { 0 };
    for (int i = 0; i < PACK_RANK_MAX; i++)
        o.chunk.extent[i] = 1;
    for (int i = 0; i < PACK_PIPELINE_MAX; i++)
        o.pipeline.filter[i].n_cd = PACK_FILTER_CD_MAX;
    ok(pack_convert_check_options(&o, &err) == PACK_OK,
       "options may have their last and largest values");
    int wrong = 0;
    wrong += !(bad = o, bad.image.mode = PACK_IMAGE_GRAY + 1, refuses(&bad, "mode"));
    wrong += !(bad = o, bad.layout = PACK_PIXEL_NCHW + 1, refuses(&bad, "layout"));
    wrong += !(bad = o, bad.goal = PACK_CHUNK_FOR_BLOCK_SHUFFLE + 1, refuses(&bad, "goal"));
    wrong += !(bad = o, bad.libver = PACK_LIBVER_LATEST + 1, refuses(&bad, "libver"));
    wrong += !(bad = o, bad.on_error = PACK_ON_ERROR_BLANK + 1, refuses(&bad, "on_error"));
    wrong += !(bad = o, bad.image.window = &window, refuses(&bad, "window"));
    wrong += !(bad = o, bad.image.reduce = 1, refuses(&bad, "reduce"));
    wrong += !(bad = o, bad.chunk.rank++, refuses(&bad, "chunk"));
    wrong += !(bad = o, bad.chunk.rank = -1, refuses(&bad, "chunk"));
    wrong += !(bad = o, bad.chunk.extent[0] = 0, refuses(&bad, "chunk"));
    wrong += !(bad = o, bad.chunk.extent[PACK_RANK_MAX - 1] = 0, refuses(&bad, "chunk"));
    wrong += !(bad = o, bad.pipeline.n++, refuses(&bad, "pipeline"));
    wrong += !(bad = o, bad.pipeline.filter[31].n_cd++, refuses(&bad, "pipeline"));
    wrong += !(bad = o, bad.pipeline.filter[0].n_cd++, refuses(&bad, "pipeline"));
    ok(wrong == 0, "and none behind them");
}

static bool
orders(struct pack_source source, struct pack_convert_options o, const char *param)
{
    err = (struct pack_error){ 0 };
    enum pack_status status = pack_convert_check_order(&source, &o, &err);
    return *param ? status == PACK_ERR_ARGUMENT && strcmp(err.param, param) == 0
                  : status == PACK_OK;
}

static bool
is_refused_as(struct pack_source source, struct pack_convert_options o, const char *text)
{
    bool right = pack_convert_check_order(&source, &o, &err) == PACK_ERR_ARGUMENT &&
                 strcmp(err.text, text) == 0;
    if (!right)
        note("%s", err.text);
    return right;
}

/* `valid` tells blank images, and is no column of theirs then. */
static void
test_columns(void)
{
    struct pack_column columns[] = { { .name = "age" }, { .name = "valid" } };
    struct pack_list list = { .columns = columns, .n_columns = 2 };
    struct pack_source source = { .list = &list }, folder = { 0 };
    struct pack_convert_options blank = { .on_error = PACK_ON_ERROR_BLANK }, none = { 0 };
    ok(pack_convert_check_columns(&source, &blank, &err) == PACK_ERR_ARGUMENT &&
           strcmp(err.param, "on_error") == 0 && strstr(err.text, "a column 'valid'"),
       "a column called valid is refused beside blank images: %s", err.text);
    ok(pack_convert_check_columns(&source, &none, &err) == PACK_OK &&
           pack_convert_check_columns(&folder, &blank, &err) == PACK_OK &&
           pack_convert_check_columns(NULL, &blank, &err) == PACK_OK &&
           (list.n_columns = 1,
            pack_convert_check_columns(&source, &blank, &err) == PACK_OK),
       "where there are none it is a column as others are");
}

static void
test_sources(void)
{
    uint64_t index = 0;
    const struct pack_source plain = { .n_records = 5, .n_listed = 5 },
                             shuffled = { .n_records = 5, .n_listed = 5,
                                          .source_index = &index, .seed = 7 },
                             cut = { .n_records = 3, .n_listed = 5 };
    const struct pack_convert_options none = { 0 }, three = { .limit = 3 },
                                      six = { .limit = 6 }, five = { .limit = 5 },
                                      seven = { .shuffle = true, .seed = 7 },
                                      eight = { .shuffle = true, .seed = 8 };
    ok(orders(plain, none, "") && orders(plain, five, "") && orders(plain, six, "") &&
           orders(cut, three, "") && orders(shuffled, seven, ""),
       "a source is shuffled and limited as the options say");
    ok(orders(plain, three, "limit") && orders(cut, none, "limit") &&
           orders(cut, six, "limit"),
       "another limit is refused");
    ok(orders(plain, seven, "shuffle") && orders(shuffled, none, "shuffle") &&
           orders(shuffled, eight, "seed"),
       "and another order");
    ok(is_refused_as(shuffled, none, "the source is shuffled, the options say otherwise") &&
           is_refused_as(plain, seven, "the source is not shuffled, the options say otherwise") &&
           is_refused_as(shuffled, eight,
                         "the source was shuffled with seed 7, the options say 8") &&
           is_refused_as(cut, none,
                         "the source was limited to 3 of 5 images, the options ask for 5") &&
           is_refused_as(plain, three,
                         "the source was limited to 5 of 5 images, the options ask for 3"),
       "each is told with what the source and the options have");
    struct pack_convert_result result;
    struct pack_source source = plain, empty = { 0 };
    struct pack_convert_params p = { .source = &source,
                                     .n_threads = PACK_POOL_THREADS_MAX };
    ok(pack_convert_check_source(&p, &result, true, &err) == PACK_OK, "threads have a limit");
    p.n_threads++;
    ok(pack_convert_check_source(&p, &result, true, &err) == PACK_ERR_ARGUMENT &&
           strcmp(err.param, "n_threads") == 0,
       "which is kept: %s", err.text);
    p = (struct pack_convert_params){ .source = &empty };
    ok(pack_convert_check_source(&p, &result, false, &err) == PACK_ERR_ARGUMENT &&
           strcmp(err.text, "the source holds no image") == 0,
       "a source without images is refused");
    p = (struct pack_convert_params){ .resume = true };
    ok(pack_convert_check_source(&p, &result, true, &err) == PACK_OK &&
           pack_convert_check_source(&p, &result, false, &err) == PACK_ERR_ARGUMENT &&
           (p.resume = false,
            pack_convert_check_source(&p, &result, true, &err) == PACK_ERR_ARGUMENT),
       "only who resumes needs no source");
    p.output = "";
    ok(pack_convert_check_output(&p, &err) == PACK_ERR_ARGUMENT &&
           (p.output = NULL, pack_convert_check_output(&p, &err) == PACK_ERR_ARGUMENT) &&
           (p.output = "x", pack_convert_check_output(&p, &err) == PACK_OK),
       "an output has a name");
}

/* --------------------------------------------------------------------- range */

static void
test_range(void)
{
    struct pack_convert_range range = { 0 };
    struct pack_image_info info = { .sample_low = 0, .sample_high = 65535 };
    pack_convert_range_add(&range, &info);
    ok(!range.is_known, "an image without a range has none");
    const uint16_t pairs[][4] = { { 50, 60, 50, 60 }, { 55, 58, 50, 60 },
                                  { 40, 45, 40, 60 }, { 70, 90, 40, 90 },
                                  { 40, 90, 40, 90 }, { 0, 65535, 0, 65535 } };
    int wrong = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        info = (struct pack_image_info){ .has_range = true, .sample_low = pairs[i][0],
                                         .sample_high = pairs[i][1] };
        pack_convert_range_add(&range, &info);
        wrong += !range.is_known || range.low != pairs[i][2] || range.high != pairs[i][3];
    }
    ok(wrong == 0, "of others it is the smallest and the largest");
}

/* ---------------------------------------------------------------------- rows */

static void
test_rows(void)
{
    struct pack_record records[300];
    struct pack_source_root root = { .path = "/photos" };
    struct pack_source source = { .records = records, .n_records = 300, .n_listed = 300,
                                  .roots = &root, .n_roots = 1 };
    char names[300][8];
    for (int i = 0; i < 300; i++) {
        snprintf(names[i], sizeof names[i], "%d.jpg", i);
        records[i] = (struct pack_record){ .name = names[i] };
    }
    struct pack_convert_params params = { .source = &source };
    struct pack_convert_row row = { 0 };
    struct pack_sample gone = { .outcome = PACK_SAMPLE_MISSING,
                                .reason = "cannot be opened: no such file" },
                       bad = { .outcome = PACK_SAMPLE_REJECTED, .is_read = true },
                       odd = { .outcome = PACK_SAMPLE_REJECTED, .reason = "a socket" };
    ok(pack_convert_row_count(&params, &row, &odd, &err) == PACK_OK && row.n == 0,
       "what is no file begins no row");
    enum pack_status status = PACK_OK;
    for (int i = 10; i < 109 && status == PACK_OK; i++) {
        gone.index = (uint64_t)i;
        status = pack_convert_row_count(&params, &row, &gone, &err);
    }
    ok(status == PACK_OK && row.n == 99 && row.first == 10 && row.alike,
       "99 in a row may be gone");
    struct pack_convert_row longer = row, ended = row, mixed = row, others = row,
                            deleted = row;
    ok(pack_convert_row_count(&params, &ended, &bad, &err) == PACK_OK && ended.n == 0,
       "one that is read ends the row, though it is no image");
    gone.index = 109;
    ok(pack_convert_row_count(&params, &row, &gone, &err) == PACK_ERR_IO &&
           strcmp(err.text,
                  "100 images in a row cannot be read, from '/photos/10.jpg', which cannot "
                  "be opened: no such file, to '/photos/109.jpg'; all fail alike, as when a "
                  "disk or a server is gone") == 0,
       "a hundred are too many: %s", err.text);
    odd.index = 109;
    ok(pack_convert_row_count(&params, &longer, &odd, &err) == PACK_ERR_IO &&
           !strstr(err.text, "alike"),
       "also where they do not fail alike");
    ok(!err.param, "what may be at fault has no parameter");
    mixed.gone = deleted.gone = true;
    pack_convert_row_count(&params, &mixed, &gone, &err);
    ok(!err.param, "nor where one of them is there");
    gone.status = PACK_ERR_NOT_FOUND;
    pack_convert_row_count(&params, &others, &gone, &err);
    ok(!err.param, "nor where one alone is not");
    ok(pack_convert_row_count(&params, &deleted, &gone, &err) == PACK_ERR_IO && err.param &&
           strcmp(err.param, "gone_are_rejects") == 0,
       "a hundred that are not there may have been deleted");
    deleted.n = 99;
    params.gone_are_rejects = true;
    ok(pack_convert_row_count(&params, &deleted, &gone, &err) == PACK_OK && deleted.n == 99,
       "which can be said");
    gone.status = PACK_ERR_IO;
    ok(pack_convert_row_count(&params, &deleted, &gone, &err) == PACK_ERR_IO,
       "but not of those that are there");
    struct pack_convert_row rejects = { 0 };
    pack_convert_row_add(&rejects, 7, "is no image", false);
    ok(pack_convert_fail_empty(&source, &rejects, &err) == PACK_ERR_FORMAT &&
           strcmp(err.text, "no readable image: 1 file was rejected, '/photos/7.jpg': is no "
                            "image") == 0,
       "one file that is rejected: %s", err.text);
    pack_convert_row_add(&rejects, 9, "is no image", true);
    ok(pack_convert_fail_empty(&source, &rejects, &err) == PACK_ERR_FORMAT &&
           strcmp(err.text, "no readable image: 2 files were rejected, first "
                            "'/photos/7.jpg': is no image") == 0,
       "two: %s", err.text);
    struct pack_convert_params p = { .source = &source };
    struct pack_sample stopped = { .outcome = PACK_SAMPLE_FAILED,
                                   .status = PACK_ERR_INTERRUPTED };
    ok(pack_convert_fail_sample(&p, NULL, &stopped, &err) == PACK_ERR_INTERRUPTED &&
           strcmp(err.text, "interrupted") == 0,
       "an image that was not waited for is no failure of it");
}

/* An empty file is no image, but one that can be read: it ends a row, and nothing is lost. */
static void
test_empty_file(void)
{
    char path[] = "/tmp/test_convert_plan.XXXXXX";
    int fd = mkstemp(path);
    struct pack_record records[2] = { { .name = path + strlen("/tmp/") },
                                      { .name = "test_convert_plan.none" } };
    struct pack_source_root root = { .path = "/tmp" };
    struct pack_source source = { .records = records, .n_records = 2, .n_listed = 2,
                                  .roots = &root, .n_roots = 1 };
    struct pack_convert_params params = { .source = &source };
    struct run run = { .params = &params, .row = { .first = 1, .n = 1 } };
    struct pack_sample empty = { .outcome = PACK_SAMPLE_REJECTED, .is_read = true },
                       gone = { .index = 1, .outcome = PACK_SAMPLE_REJECTED, .is_read = true },
                       lost = { 0 };
    ok(fd >= 0 && !pack_convert_is_lost(&run, &empty, &lost),
       "an empty file behind one that is missing is not lost: %s", lost.reason);
    ok(pack_convert_row_end(&params, &run.row, &err) == PACK_OK,
       "and shows that others can be read");
    ok(pack_convert_is_lost(&run, &gone, &lost) && lost.outcome == PACK_SAMPLE_MISSING &&
           strcmp(lost.reason, "cannot be opened again: No such file or directory") == 0,
       "one that is not there any more is: %s", lost.reason);
    close(fd);
    unlink(path);
    ok(mkdir(path, 0700) == 0 && pack_convert_is_lost(&run, &empty, &lost) &&
           lost.outcome == PACK_SAMPLE_REJECTED &&
           strcmp(lost.reason, "is no file any more") == 0,
       "so is one in whose place a folder is: %s", lost.reason);
    rmdir(path);
}

/* At the end of a source a row is a few rejects, if one of the hundred images before the end
 * of it can still be read. */
static void
test_row_at_end(void)
{
    enum { N = 300 };
    char path[] = "/tmp/test_convert_plan.XXXXXX", names[N][8];
    int fd = mkstemp(path);
    struct pack_record records[N];
    struct pack_source_root root = { .path = "/tmp" }, gone = { .path = "/gone" };
    struct pack_source source = { .records = records, .n_records = N, .n_listed = N,
                                  .roots = &root, .n_roots = 1 };
    struct pack_convert_params params = { .source = &source };
    /* the row, the image that can be read, and whether this is near enough */
    static const struct {
        uint64_t first, n;
        int readable;
        bool is_near;
    } cases[] = {
        { 250, 3, 249, true },  { 250, 3, 153, true },  { 250, 3, 152, false },
        { 250, 99, 249, true }, { 250, 99, 248, false }, { 250, 1, 151, true },
        { 250, 1, 150, false }, { 2, 5, 0, true },       { 2, 5, 2, false },
        { 2, 5, 7, false },
    };
    int wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pack_convert_row row = { .first = cases[i].first, .n = cases[i].n };
        for (int k = 0; k < N; k++) {
            snprintf(names[k], sizeof names[k], "%d.jpg", k);
            records[k] = (struct pack_record){ .name = names[k] };
        }
        records[cases[i].readable].name = path + strlen("/tmp/");
        enum pack_status status = pack_convert_row_end(&params, &row, &err);
        wrong += status != (cases[i].is_near ? PACK_OK : PACK_ERR_IO);
    }
    is_number(wrong, 0, "a hundred images, the row among them, decide at the end");
    struct pack_convert_row behind = { .first = 250, .n = 3 };
    records[7].name = names[7];
    records[3].name = path + strlen("/tmp/");
    params.gone_are_rejects = true;
    ok(pack_convert_row_end(&params, &behind, &err) == PACK_OK,
       "those that are gone do not count where they are to be rejects");
    params.gone_are_rejects = false;
    close(fd);
    unlink(path);
    struct pack_convert_row row = { .first = 0, .n = 0 };
    ok(pack_convert_row_end(&params, &row, &err) == PACK_OK, "without a row nothing is lost");

    root = gone;
    for (int k = 0; k < N; k++)
        records[k].name = names[k];
    pack_convert_row_add(&row, 0, "cannot be opened: gone", true);
    pack_convert_row_end(&params, &row, &err);
    is_text(err.text, "'/gone/0.jpg' cannot be opened: gone", "one image alone");
    pack_convert_row_add(&row, 1, "cannot be read: gone", true);
    pack_convert_row_end(&params, &row, &err);
    is_text(err.text,
            "2 images in a row cannot be read, from '/gone/0.jpg', which cannot be opened: "
            "gone, to '/gone/1.jpg'; all fail alike, as when a disk or a server is gone",
            "two from the first on");
    row.n = 0;
    pack_convert_row_add(&row, 7, "cannot be opened: gone", true);
    pack_convert_row_end(&params, &row, &err);
    is_text(err.text,
            "'/gone/7.jpg' cannot be opened: gone; none of those before can be read again",
            "one behind others");
    pack_convert_row_add(&row, 8, "cannot be opened: moved", true);
    pack_convert_row_end(&params, &row, &err);
    is_text(err.text,
            "2 images in a row cannot be read, from '/gone/7.jpg', which cannot be opened: "
            "gone, to '/gone/8.jpg'; none of those before can be read again",
            "two that do not fail alike");
    pack_convert_row_add(&row, 12, "cannot be opened: moved", true);
    pack_convert_row_end(&params, &row, &err);
    ok(strstr(err.text, "3 images in a row") && strstr(err.text, "to '/gone/12.jpg'"),
       "the last of them, where others between are gone: %s", err.text);
    row.n = 0;
    ok(pack_convert_fail_empty(&source, &row, &err) == PACK_ERR_FORMAT &&
           strcmp(err.text, "no readable image") == 0,
       "no image and no reject");
    pack_convert_row_add(&row, 0, "is not there: gone", true);
    pack_convert_row_add(&row, 1, "is not there: gone", true);
    pack_convert_fail_empty(&source, &row, &err);
    is_text(err.text,
            "no readable image: 2 files were rejected, first '/gone/0.jpg': is not there: "
            "gone; all fail alike, as when a disk or a server is gone",
            "rejects alone");
}

/* What the system says, and what becomes of the image. */
static void
test_outcomes(void)
{
    static const struct {
        int errnum;
        enum pack_sample_outcome outcome;
    } of[] = {
        { 0, PACK_SAMPLE_REJECTED },       { ENOTDIR, PACK_SAMPLE_REJECTED },
        { ELOOP, PACK_SAMPLE_REJECTED },   { ENAMETOOLONG, PACK_SAMPLE_REJECTED },
        { EINVAL, PACK_SAMPLE_REJECTED },  { ENXIO, PACK_SAMPLE_REJECTED },
        { ENODEV, PACK_SAMPLE_REJECTED },  { ENOENT, PACK_SAMPLE_MISSING },
        { EACCES, PACK_SAMPLE_MISSING },   { EPERM, PACK_SAMPLE_MISSING },
        { EIO, PACK_SAMPLE_MISSING },      { EUCLEAN, PACK_SAMPLE_MISSING },
        { EBADMSG, PACK_SAMPLE_MISSING },  { EMFILE, PACK_SAMPLE_FAILED },
        { ENOMEM, PACK_SAMPLE_FAILED },    { ESTALE, PACK_SAMPLE_FAILED },
        { EHOSTDOWN, PACK_SAMPLE_FAILED }, { ECONNABORTED, PACK_SAMPLE_FAILED },
    };
    int wrong = 0;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        wrong += pack_sample_outcome_of(of[i].errnum) != of[i].outcome;
    ok(wrong == 0, "errors of the file, of its place, and of the machine are told apart");
}

int
main(void)
{
    test_random_plans();
    test_bounds();
    test_options();
    test_columns();
    test_sources();
    test_range();
    test_rows();
    test_empty_file();
    test_row_at_end();
    test_outcomes();
    return done();
}
