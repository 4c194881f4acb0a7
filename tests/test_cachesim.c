/* The fast simulator against the slow one, access by access, and laws that both obey. */
#include <inttypes.h>

#include "libpack/model/cachesim_parts.h"
#include "libpack/model/replay.h"
#include "libpack/model/grid.h"
#include "libpack/base/rng.h"
#include "tests/ref_cachesim.h"
#include "tests/tap.h"

static struct pack_rng rng;

static uint64_t
below(uint64_t n)
{
    return pack_rng_below(&rng, n);
}

static double
random_w0(void)
{
    static const double values[] = { 0, 0.1, 0.3, 0.5, 0.75, 0.9, 0.99, 1 };
    return values[below(sizeof values / sizeof values[0])];
}

static bool
same_counts(const struct pack_cache_counts *a, const struct pack_cache_counts *b)
{
    return a->requests == b->requests && a->hits == b->hits && a->loads == b->loads &&
           a->decodes == b->decodes && a->fills == b->fills &&
           a->bypass_visits == b->bypass_visits && a->wanted_bytes == b->wanted_bytes &&
           a->evictions_space == b->evictions_space &&
           a->evictions_collision == b->evictions_collision &&
           a->walk_steps == b->walk_steps && a->peak_bytes == b->peak_bytes;
}

static bool
adds_up(const struct pack_cache_counts *c)
{
    return c->requests == c->hits + c->loads + c->fills + c->bypass_visits &&
           c->decodes <= c->loads && c->file_reads >= c->loads;
}

static void
say_counts(const char *who, const struct pack_cache_counts *c)
{
    note("%s: requests %" PRIu64 " hits %" PRIu64 " loads %" PRIu64 " decodes %" PRIu64
         " fills %" PRIu64 " bypass %" PRIu64 " space %" PRIu64 " collision %" PRIu64
         " steps %" PRIu64 " peak %" PRIu64,
         who, c->requests, c->hits, c->loads, c->decodes, c->fills, c->bypass_visits,
         c->evictions_space, c->evictions_collision, c->walk_steps, c->peak_bytes);
}

/* Both simulators of one dataset. */
struct pair {
    struct pack_grid grid;
    struct pack_cachesim_params params;
    uint64_t *stored_bytes, *selected;
    struct pack_cachesim *sim;
    struct ref_cachesim *ref;
};

static void
open_pair(struct pair *pair)
{
    struct pack_error err;
    if (pack_cachesim_new(&pair->grid, &pair->params, &pair->sim, &err)) {
        note("%s", err.text);
        exit(2);
    }
    pair->ref = ref_new(&pair->grid, &pair->params);
}

static void
close_pair(struct pair *pair)
{
    pack_cachesim_free(pair->sim);
    ref_free(pair->ref);
    free(pair->stored_bytes);
    free(pair->selected);
}

static bool
pair_agrees(const struct pair *pair)
{
    struct pack_cache_counts counts;
    pack_cachesim_counts(pair->sim, &counts);
    bool same = same_counts(&counts, ref_counts(pair->ref)) && adds_up(&counts);
    if (!same) {
        say_counts("fast", &counts);
        say_counts("slow", ref_counts(pair->ref));
    }
    return same;
}

/* ----------------------------------------------------- many visits, one axis */

/* Visits that favour a neighbourhood, so that there are hits, partial and whole reads. */
static bool
visits_agree(uint64_t n_visits)
{
    struct pair pair = { .params = { .filtered = true } };
    uint64_t n_chunks = 1 + below(3000), elements = 1 + below(8), n_at_once;
    struct pack_shape extent = { 1, { n_chunks * elements } },
                      chunk = { 1, { elements } };
    pack_grid_init(&pair.grid, &extent, &chunk, 1 + below(4), NULL);
    pair.params.cache = (struct pack_cache_params){
        .n_slots = 1 + below(4000),
        .size_bytes = pair.grid.chunk_bytes * (1 + below(1 + below(2500))) + below(2),
        .w0 = random_w0(),
    };
    open_pair(&pair);
    uint64_t centre = 0, spread = 1 + below(n_chunks), partial = below(3);
    bool same = true;
    for (uint64_t i = 0; i < n_visits && same; i += n_at_once) {
        uint64_t numbers[100], n_elements = partial ? 1 + below(elements) : elements;
        n_at_once = 1 + below(100);
        for (uint64_t k = 0; k < n_at_once; k++) {
            centre = below(200) == 0 ? below(n_chunks) : centre;
            numbers[k] = (centre + below(spread)) % n_chunks;
            ref_visit(pair.ref, numbers[k], n_elements);
        }
        pack_cachesim_visit_many(pair.sim, numbers, n_at_once, n_elements, NULL);
        same = pair_agrees(&pair);
    }
    if (!same)
        note("n_slots %" PRIu64 " size %" PRIu64 " w0 %g", pair.params.cache.n_slots,
             pair.params.cache.size_bytes, pair.params.cache.w0);
    close_pair(&pair);
    return same;
}

/* ------------------------------------------------ any selection, any rank */

static void
random_storage(struct pair *pair)
{
    free(pair->stored_bytes);
    free(pair->selected);
    pair->stored_bytes = calloc(pair->grid.n_chunks_total, sizeof pair->stored_bytes[0]);
    pair->selected = calloc(pair->grid.n_chunks_total, sizeof pair->selected[0]);
    if (!pair->stored_bytes || !pair->selected)
        exit(2);
    for (uint64_t i = 0; i < pair->grid.n_chunks_total; i++)
        pair->stored_bytes[i] = below(4) ? 100 + below(9) : 0;
}

static void
random_pair(struct pair *pair)
{
    struct pack_shape extent = { 0 }, chunk = { 0 };
    extent.rank = chunk.rank = 1 + (int)below(4);
    for (int i = 0; i < extent.rank; i++) {
        extent.extent[i] = 1 + below(i ? 9 : 40);
        chunk.extent[i] = 1 + below(i ? 5 : 8);
    }
    pack_grid_init(&pair->grid, &extent, &chunk, 1 + below(8), NULL);
    random_storage(pair);
    pair->params = (struct pack_cachesim_params){
        .cache = { .n_slots = below(5) ? 1 + below(120) : below(2) * 100000,
                   .size_bytes = pair->grid.chunk_bytes * below(20) + below(3),
                   .w0 = random_w0(),
                   .version = (enum pack_hdf5_version)below(3) },
        .filtered = below(3) > 0,
        .edge_unfiltered = below(4) == 0,
        .skip_missing = below(4) == 0,
        .stored_bytes = below(2) ? pair->stored_bytes : NULL,
    };
}

static void
select_element(struct pair *pair, const uint64_t *at)
{
    uint64_t coords[PACK_RANK_MAX];
    for (int i = 0; i < pair->grid.rank; i++)
        coords[i] = at[i] / pair->grid.chunk[i];
    pair->selected[pack_grid_number(&pair->grid, coords)]++;
}

/* Selects count[i] elements stride[i] apart, one by one. */
static void
select_block(struct pair *pair, const struct pack_box *box, const uint64_t *stride)
{
    uint64_t k[PACK_RANK_MAX] = { 0 }, at[PACK_RANK_MAX];
    for (int axis = 0; axis >= 0;) {
        for (int i = 0; i < box->rank; i++)
            at[i] = box->start[i] + k[i] * stride[i];
        select_element(pair, at);
        for (axis = box->rank - 1; axis >= 0; axis--) {
            if (++k[axis] < box->count[axis])
                break;
            k[axis] = 0;
        }
    }
}

static void
random_box(const struct pair *pair, struct pack_box *box)
{
    box->rank = pair->grid.rank;
    for (int i = 0; i < box->rank; i++) {
        box->start[i] = below(pair->grid.extent[i]);
        box->count[i] = 1 + below(pair->grid.extent[i] - box->start[i]);
        if (i == 0 && box->count[i] > 6)
            box->count[i] = 6;
    }
}

static const uint64_t ones[PACK_RANK_MAX] = { 1, 1, 1, 1, 1, 1, 1, 1 };

static void
read_box(struct pair *pair)
{
    struct pack_box box;
    random_box(pair, &box);
    select_block(pair, &box, ones);
    pack_cachesim_read(pair->sim, &box, NULL);
}

static void
read_strided(struct pair *pair)
{
    struct pack_box box;
    uint64_t stride[PACK_RANK_MAX];
    random_box(pair, &box);
    for (int i = 0; i < box.rank; i++) {
        stride[i] = 1 + below(12);
        box.count[i] =
            1 + below(1 + (pair->grid.extent[i] - 1 - box.start[i]) / stride[i]);
    }
    select_block(pair, &box, stride);
    pack_cachesim_read_strided(pair->sim, &box, stride, NULL);
}

static void
read_points(struct pair *pair)
{
    uint64_t points[20 * PACK_RANK_MAX], n = 1 + below(20);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t *at = points + i * (uint64_t)pair->grid.rank;
        for (int k = 0; k < pair->grid.rank; k++)
            at[k] = below(pair->grid.extent[k]);
        select_element(pair, at);
    }
    pack_cachesim_read_points(pair->sim, points, n, NULL);
}

/* Boxes apart from each other along axis 0. */
static void
read_boxes(struct pair *pair)
{
    struct pack_box boxes[8];
    size_t n = 0;
    for (uint64_t at = below(3); n < 8 && at < pair->grid.extent[0]; n++) {
        random_box(pair, &boxes[n]);
        boxes[n].start[0] = at;
        boxes[n].count[0] = 1 + below(2);
        if (boxes[n].count[0] > pair->grid.extent[0] - at)
            boxes[n].count[0] = pair->grid.extent[0] - at;
        select_block(pair, &boxes[n], ones);
        at += boxes[n].count[0] + below(4);
    }
    pack_cachesim_read_boxes(pair->sim, boxes, n, NULL);
}

static void
read_sample(struct pair *pair)
{
    uint64_t sample = below(pair->grid.extent[0]);
    struct pack_box box = { .rank = pair->grid.rank };
    memcpy(box.count, pair->grid.extent, sizeof box.count);
    box.start[0] = sample;
    box.count[0] = 1;
    select_block(pair, &box, ones);
    pack_cachesim_read_samples(pair->sim, &sample, 1, NULL);
}

static void
grow(struct pair *pair)
{
    struct pack_shape extent = { .rank = pair->grid.rank }, chunk = extent;
    memcpy(extent.extent, pair->grid.extent, sizeof extent.extent);
    memcpy(chunk.extent, pair->grid.chunk, sizeof chunk.extent);
    for (int i = 0; i < extent.rank; i++)
        extent.extent[i] += below(3) ? 0 : below(5);
    if (pair->params.edge_unfiltered || pair->grid.n_chunks_total > 3000)
        return;
    struct pack_grid grown;
    pack_grid_init(&grown, &extent, &chunk, pair->grid.elem_size, NULL);
    pair->grid = grown;
    bool listed = pair->params.stored_bytes != NULL;
    random_storage(pair);
    pair->params.stored_bytes = listed ? pair->stored_bytes : NULL;
    if (pack_cachesim_set_extent(pair->sim, &extent, pair->params.stored_bytes, NULL))
        exit(2);
    ref_set_extent(pair->ref, &grown, pair->params.stored_bytes);
}

static bool
selections_agree(int n_reads)
{
    static void (*const reads[])(struct pair *) = { read_box, read_strided, read_points,
                                                    read_boxes, read_sample };
    struct pair pair = { .sim = NULL };
    bool same = true;
    random_pair(&pair);
    open_pair(&pair);
    for (int i = 0; i < n_reads && same; i++) {
        if (below(30) == 0)
            grow(&pair);
        if (below(60) == 0) {
            pack_cachesim_reopen(pair.sim);
            ref_reopen(pair.ref);
        }
        reads[below(5)](&pair);
        ref_read(pair.ref, pair.selected);
        memset(pair.selected, 0, pair.grid.n_chunks_total * sizeof pair.selected[0]);
        same = pair_agrees(&pair);
    }
    close_pair(&pair);
    return same;
}

static void
test_reference(void)
{
    int n_same = 0;
    pack_rng_seed(&rng, 1);
    for (int i = 0; i < 60; i++)
        n_same += visits_agree(10000);
    is_number(n_same, 60, "60 x 10,000 visits as the library's own walk has them");
    n_same = 0;
    for (int i = 0; i < 1000; i++)
        n_same += selections_agree(120);
    is_number(n_same, 1000, "1,000 x 120 reads of all selections, growing and reopening");
}

/* -------------------------------------------------------------------- laws */

static struct pack_cachesim *
sim_of(const char *extent_text, const char *chunk_text, uint64_t n_slots,
       uint64_t size_bytes, double w0)
{
    struct pack_shape extent, chunk;
    struct pack_grid grid;
    struct pack_cachesim *sim = NULL;
    struct pack_error err;
    struct pack_cachesim_params params = {
        .filtered = true,
        .cache = { .n_slots = n_slots, .size_bytes = size_bytes, .w0 = w0 },
    };
    if (pack_shape_parse(extent_text, &extent, &err) ||
        pack_shape_parse(chunk_text, &chunk, &err) ||
        pack_grid_init(&grid, &extent, &chunk, 1, &err) ||
        pack_cachesim_new(&grid, &params, &sim, &err)) {
        note("%s", err.text);
        exit(2);
    }
    return sim;
}

/* Replays epochs of a pattern; counts of the last one. */
static struct pack_cache_counts
replay(struct pack_cachesim *sim, struct pack_pattern p, int n_epochs)
{
    const struct pack_grid *grid = pack_cachesim_grid(sim);
    struct pack_pattern_iter *it = NULL;
    struct pack_cache_counts counts = { 0 };
    uint64_t n;
    p.extent.rank = grid->rank;
    memcpy(p.extent.extent, grid->extent, sizeof p.extent.extent);
    if (pack_pattern_new(&p, &it, NULL))
        exit(2);
    for (int epoch = 0; epoch < n_epochs; epoch++) {
        pack_pattern_seek(it, (uint64_t)epoch, 0, NULL);
        pack_replay(it, sim, UINT64_MAX, &n, NULL);
        pack_cachesim_take(sim, &counts);
    }
    pack_pattern_free(it);
    return counts;
}

static void
test_laws(void)
{
    struct pack_pattern shuffle = { .kind = PACK_PATTERN_SHUFFLE };
    struct pack_cachesim *sim = sim_of("1000x8", "10x8", 521, 1 << 20, 0.75);
    struct pack_cache_counts c = replay(sim, shuffle, 1);
    ok(c.loads == 100 && c.requests == 1000 && c.evictions_space == 0,
       "with room and no collision, one load per chunk");
    c = replay(sim, shuffle, 2);
    ok(c.loads == 0 && c.hits == 1000 && c.peak_bytes == 8000,
       "and none once all are there");
    pack_cachesim_reopen(sim);
    c = replay(sim, shuffle, 1);
    ok(c.loads == 100, "reopening forgets everything");
    pack_cachesim_free(sim);

    sim = sim_of("1000x8", "10x8", 521, 79, 0.75);
    c = replay(sim, shuffle, 1);
    ok(c.loads == 1000 && c.decodes == 1000 && c.peak_bytes == 0,
       "a filtered chunk larger than the cache is decoded every time");
    pack_cachesim_free(sim);

    sim = sim_of("60x8", "1x8", 521, 80, 1);
    struct pack_box half = { 2, { 0, 0 }, { 60, 4 } };
    pack_cachesim_read(sim, &half, NULL);
    pack_cachesim_counts(sim, &c);
    ok(c.peak_bytes == 480 && c.evictions_space == 0,
       "w0 = 1 keeps chunks that are not completely read, whatever the limit");
    pack_cachesim_read(sim, &half, NULL);
    pack_cachesim_read(sim, &half, NULL);
    pack_cachesim_counts(sim, &c);
    ok(c.hits == 120 && c.loads == 60, "which then all hit");
    pack_cachesim_free(sim);

    /* the shape of a well-known article: one row too few, two chunks per image */
    sim = sim_of("2000x3x218x178", "100x3x217x178", 521, 1 << 28, 0.75);
    struct pack_pattern one = { .n_samples = 1 };
    c = replay(sim, one, 1);
    ok(c.requests == 2 && c.file_read_bytes == 2 * 100 * 3 * 217 * 178,
       "a row too few makes every image two chunks");
    pack_cachesim_free(sim);
}

/* 5 x 5 chunks a sample are 6 bits, so 64 slots a sample; the specification measured
 * these loads for 8 samples read in turn 4 times. */
static void
test_slots(void)
{
    static const struct {
        uint64_t n_slots, loads;
    } cases[] = { { 64, 800 },  { 128, 800 }, { 61, 776 },   { 127, 740 },
                  { 512, 200 }, { 521, 200 }, { 1024, 200 }, { 1031, 200 } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pack_cachesim *sim =
            sim_of("8x5x5", "1x1x1", cases[i].n_slots, 1 << 20, 0.75);
        struct pack_cache_counts total = { 0 };
        for (int epoch = 0; epoch < 4; epoch++) {
            struct pack_cache_counts c = replay(sim, (struct pack_pattern){ 0 }, 1);
            pack_cache_counts_add(&total, &c);
        }
        ok(total.requests == 800 && total.loads == cases[i].loads,
           "%" PRIu64 " slots: %" PRIu64 " loads", cases[i].n_slots, cases[i].loads);
        pack_cachesim_free(sim);
    }
}

/* With as many slots as the largest hash needs nothing ever collides. */
static void
test_hash(void)
{
    int n_right = 0;
    pack_rng_seed(&rng, 4);
    for (int i = 0; i < 200; i++) {
        struct pair pair = { .sim = NULL };
        uint64_t most = 0, coords[PACK_RANK_MAX];
        random_pair(&pair);
        pair.params.cache.version = (enum pack_hdf5_version)below(3);
        for (uint64_t k = 0; k < pair.grid.n_chunks_total; k++) {
            pack_grid_coords(&pair.grid, k, coords);
            uint64_t hash =
                pack_cachesim_hash(&pair.grid, pair.params.cache.version, coords);
            most = hash > most ? hash : most;
        }
        pair.params.cache.n_slots = most + 1;
        pair.params.cache.size_bytes = UINT32_MAX;
        pair.params.skip_missing = false;
        open_pair(&pair);
        for (int epoch = 0; epoch < 2; epoch++)
            for (uint64_t k = 0; k < pair.grid.n_chunks_total; k++) {
                pack_cachesim_visit(pair.sim, k, 1, NULL);
                ref_visit(pair.ref, k, 1);
            }
        n_right += pair_agrees(&pair) &&
                   ref_counts(pair.ref)->hits == pair.grid.n_chunks_total &&
                   ref_counts(pair.ref)->evictions_collision == 0;
        close_pair(&pair);
    }
    is_number(n_right, 200, "with a slot for every hash nothing collides");
}

static void
test_stored_size(void)
{
    struct pack_shape extent = { 1, { 25 } }, chunk = { 1, { 10 } };
    struct pack_box all = { 1, { 0 }, { 25 } };
    struct pack_cachesim_params params = { .filtered = true, .stored_rate = 0.25 };
    struct pack_cache_counts c;
    struct pack_cachesim *sim;
    struct pack_grid grid;
    pack_grid_init(&grid, &extent, &chunk, 4, NULL);
    pack_cache_params_defaults(&params.cache, PACK_HDF5_1_10);
    pack_cachesim_new(&grid, &params, &sim, NULL);
    pack_cachesim_read(sim, &all, NULL);
    pack_cachesim_counts(sim, &c);
    ok(c.file_read_bytes == 30 && c.wanted_bytes == 100, "chunks stored at a quarter");
    pack_cachesim_free(sim);
    params.edge_unfiltered = true;
    pack_cachesim_new(&grid, &params, &sim, NULL);
    pack_cachesim_read(sim, &all, NULL);
    pack_cachesim_counts(sim, &c);
    ok(c.file_read_bytes == 10 + 10 + 40 && c.decodes == 2,
       "unfiltered edges as they are");
    pack_cachesim_free(sim);
    static const uint64_t stored[] = { 7, 0, 9 };
    params.stored_bytes = stored;
    pack_cachesim_new(&grid, &params, &sim, NULL);
    pack_cachesim_read(sim, &all, NULL);
    pack_cachesim_counts(sim, &c);
    ok(c.file_read_bytes == 16 && c.loads == 2 && c.fills == 1,
       "or at a size of their own");
    pack_cachesim_free(sim);
}

/* Counted by hand: 16 rows of 10 bytes in a chunk of 16 x 20, and 2.x's sieve buffer. */
static void
test_direct(void)
{
    struct pack_shape extent = { 2, { 64, 20 } }, chunk = { 2, { 16, 20 } };
    struct pack_box half = { 2, { 0, 0 }, { 16, 10 } },
                    whole = { 2, { 0, 0 }, { 20, 20 } };
    struct pack_cachesim_params params = { .sieve_bytes = 64 };
    struct pack_cache_counts c;
    struct pack_cachesim *sim;
    struct pack_grid grid;
    pack_grid_init(&grid, &extent, &chunk, 1, NULL);
    pack_cachesim_new(&grid, &params, &sim, NULL);
    pack_cachesim_read(sim, &half, NULL);
    pack_cachesim_take(sim, &c);
    ok(c.bypass_visits == 1 && c.file_reads == 16 && c.file_read_bytes == 160,
       "without cache every row is a read of its own");
    pack_cachesim_read(sim, &whole, NULL);
    pack_cachesim_take(sim, &c);
    ok(c.bypass_visits == 2 && c.file_reads == 2 && c.file_read_bytes == 400,
       "unless rows are whole");
    pack_cachesim_free(sim);

    params.cache.version = PACK_HDF5_2_0;
    pack_cachesim_new(&grid, &params, &sim, NULL);
    pack_cachesim_read(sim, &half, NULL);
    pack_cachesim_take(sim, &c);
    ok(c.file_reads == 16 && c.file_read_bytes == 160,
       "2.0 reads piece by piece as 1.x does");
    pack_cachesim_free(sim);
    params.cache.version = PACK_HDF5_2_1;
    pack_cachesim_new(&grid, &params, &sim, NULL);
    pack_cachesim_read(sim, &half, NULL);
    pack_cachesim_take(sim, &c);
    /* 64 bytes from 0, 60, 120, 180, 240: rows 0-2 end at 50, row 3 at 70; 60 + 64 = 124
       holds rows 3-5; and so on; the last begins at 300 and ends with the chunk */
    ok(c.file_reads == 6 && c.file_read_bytes == 5 * 64 + 20,
       "2.1 reads more through its sieve buffer, in fewer reads");
    pack_cachesim_free(sim);
}

static void
test_growth(void)
{
    struct pack_cachesim *sim = sim_of("40x3x22x18", "1x3x21x18", 521, 1 << 20, 0.75);
    struct pack_shape grown = { 4, { 42, 3, 22, 18 } };
    struct pack_pattern first = { .n_samples = 20 };
    struct pack_cache_counts c = replay(sim, first, 4);
    ok(c.loads == 0, "20 images in two chunks each stay in an ample cache");
    pack_cachesim_set_extent(sim, &grown, NULL, NULL);
    c = replay(sim, first, 4);
    is_number((long long)c.loads, 40, "after an append their chunks share slots");
    pack_cachesim_reopen(sim);
    c = replay(sim, first, 4);
    is_number((long long)c.loads, 0, "until the dataset is opened anew");
    struct pack_error err;
    grown.extent[0] = 41;
    pack_cachesim_set_extent(sim, &grown, NULL, &err);
    is_text(err.text, "shrinking a dataset is not simulated", "shrinking is refused");
    pack_cachesim_free(sim);
}

static void
test_words(void)
{
    static const struct {
        const char *text;
        int version;
    } cases[] = { { "1.8", PACK_HDF5_1_8 },
                  { "1.8.22", PACK_HDF5_1_8 },
                  { "1.10", PACK_HDF5_1_10 },
                  { "1.12.3", PACK_HDF5_1_10 },
                  { "1.14.5", PACK_HDF5_1_10 },
                  { "2.0", PACK_HDF5_2_0 },
                  { "2.0.0", PACK_HDF5_2_0 },
                  { "2.1.1", PACK_HDF5_2_1 },
                  { "2", PACK_HDF5_2_1 },
                  { "1.1", -1 },
                  { "1.9", -1 },
                  { "1.100", -1 },
                  { "2.", -1 },
                  { "20", -1 },
                  { "", -1 },
                  { "1.10x", -1 } };
    bool right = true;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum pack_hdf5_version v = PACK_HDF5_1_8;
        enum pack_status status = pack_hdf5_version_parse(cases[i].text, &v, NULL);
        bool good = cases[i].version < 0 ? status == PACK_ERR_ARGUMENT
                                         : (!status && (int)v == cases[i].version);
        if (!good)
            note("'%s'", cases[i].text);
        right &= good;
    }
    ok(right, "versions are told apart");
    static const char *const compared[] = { "1.8.22", "1.14.3", "2", "2.0", "2.1.1" };
    static const char *const later[] = { "2.2", "2.2.0", "2.10", "2.11.1", "3.0", "" };
    right = true;
    for (size_t i = 0; i < sizeof compared / sizeof compared[0]; i++)
        right &= pack_hdf5_version_is_compared(compared[i]);
    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++)
        right &= !pack_hdf5_version_is_compared(later[i]);
    ok(right, "and those up to 2.1 from those that nobody has compared");
    struct pack_cache_params p;
    pack_cache_params_defaults(&p, PACK_HDF5_1_8);
    ok(p.n_slots == 521 && p.size_bytes == 1 << 20 && p.w0 == 0.75, "defaults of 1.x");
    pack_cache_params_defaults(&p, PACK_HDF5_2_0);
    ok(p.n_slots == 8191 && p.size_bytes == 8 << 20, "defaults of 2.0");
    pack_cache_params_defaults(&p, PACK_HDF5_2_1);
    ok(p.n_slots == 8191 && p.size_bytes == 8 << 20, "and of 2.1");
    struct pack_shape shape = { 1, { UINT64_C(1) << 40 } }, one = { 1, { 1 } };
    struct pack_cachesim_params params = {
        .cache = { .n_slots = UINT64_MAX, .size_bytes = UINT64_MAX, .w0 = 0.75 }
    };
    struct pack_cachesim *sim;
    struct pack_grid grid;
    struct pack_error err;
    pack_grid_init(&grid, &shape, &one, 1, NULL);
    ok(pack_cachesim_new(&grid, &params, &sim, &err) == PACK_ERR_LIMIT, "%s", err.text);
    params.cache.w0 = 1.5;
    pack_cachesim_new(&grid, &params, &sim, &err);
    is_text(err.text, "w0 of 1.5 is not between 0 and 1", "w0 above 1 is refused");
}

int
main(void)
{
    test_reference();
    test_laws();
    test_slots();
    test_hash();
    test_stored_size();
    test_direct();
    test_growth();
    test_words();
    return done();
}
