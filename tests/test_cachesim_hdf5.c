/*
 * The cache simulator against the HDF5 that is installed: random datasets, settings and
 * reads, with a filter that counts how often it runs and the file driver that counts
 * reads.
 *
 *     test_cachesim_hdf5 [--configs N] [--seed S]        500 configurations from seed 1
 *
 * Every count has to agree after every read, with one exception that cachesim.h states:
 * how many pieces a strided selection falls into past the cache.
 */
#include <inttypes.h>
#include <unistd.h>

#include <hdf5.h>

#include <libpack/cachesim.h>
#include "libpack/hdf5/h5_count.h"
#include "libpack/model/grid.h"
#include "libpack/base/rng.h"
#include "tests/tap.h"

enum { FILTER_ID = 300, RANK_MAX = 4, READS = 60 };

static struct pack_rng rng;

static uint64_t
below(uint64_t n)
{
    return pack_rng_below(&rng, n);
}

/* Stops when HDF5 refuses something that it should not. */
static hid_t
must(hid_t id)
{
    if (id < 0) {
        H5Eprint2(H5E_DEFAULT, stderr);
        abort();
    }
    return id;
}

/* ----------------------------------------------------------- counting filter */

static uint64_t n_decodes;
static size_t chunk_bytes; /* of the dataset being read */

/* Whatever was stored decodes to a whole chunk. */
static size_t
run_filter(unsigned flags, size_t n_cd, const unsigned *cd, size_t size, size_t *capacity,
           void **buffer)
{
    (void)n_cd;
    (void)cd;
    if (!(flags & H5Z_FLAG_REVERSE))
        return size;
    n_decodes++;
    void *chunk = H5allocate_memory(chunk_bytes, true);
    if (!chunk)
        return 0;
    H5free_memory(*buffer);
    *buffer = chunk;
    *capacity = chunk_bytes;
    return chunk_bytes;
}

static const H5Z_class2_t filter = {
    H5Z_CLASS_T_VERS, FILTER_ID, 1, 1, "count", NULL, NULL, run_filter,
};

/* ------------------------------------------------------------- one dataset */

struct config {
    struct pack_grid grid;
    struct pack_cachesim_params params;
    bool latest, unlimited, defaults;
    uint64_t *stored_bytes;
    char *buffer;
    hid_t fapl, file, set;
    struct pack_h5_count count;
    struct pack_cachesim *sim;
    uint64_t reads_off; /* file reads that HDF5 did more (or, wrapped around, less) */
    const char *op;
};

static uint64_t n_strided_off; /* strided reads past the cache, in other pieces */

static const char path[] = "test_cachesim_hdf5.tmp.h5";

static hid_t
element_type(uint64_t size)
{
    switch (size) {
    case 1: return H5T_NATIVE_UINT8;
    case 2: return H5T_NATIVE_UINT16;
    case 4: return H5T_NATIVE_UINT32;
    default: return H5T_NATIVE_UINT64;
    }
}

static void
random_config(struct config *c)
{
    static const double w0s[] = { 0, 0.1, 0.3, 0.5, 0.75, 0.9, 0.99, 1 };
    struct pack_shape extent = { 0 }, chunk = { 0 };
    extent.rank = chunk.rank = 1 + (int)below(RANK_MAX);
    bool large = below(8) == 0; /* chunks beyond the sieve buffer */
    for (int i = 0; i < extent.rank; i++) {
        extent.extent[i] = 1 + below(i ? 14 : 60);
        chunk.extent[i] = 1 + below(i ? 7 : 10);
        if (large && i == extent.rank - 1)
            extent.extent[i] = 3000 + below(30000);
        if (large && i == extent.rank - 1)
            chunk.extent[i] = 2000 + below(20000);
        if (chunk.extent[i] > extent.extent[i])
            chunk.extent[i] = extent.extent[i];
    }
    if (large)
        for (int i = 0; i < extent.rank - 1; i++)
            extent.extent[i] = chunk.extent[i] = 1 + below(3);
    pack_grid_init(&c->grid, &extent, &chunk, UINT64_C(1) << below(4), NULL);
    c->latest = below(3) == 0;
    c->unlimited = below(3) == 0;
    c->params.filtered = below(3) > 0;
    c->params.edge_unfiltered = c->latest && below(3) == 0;
    c->params.skip_missing = below(5) == 0;
    enum pack_hdf5_version version = H5_VERSION_GE(2, 1, 0)   ? PACK_HDF5_2_1
                                     : H5_VERSION_GE(2, 0, 0) ? PACK_HDF5_2_0
                                                              : PACK_HDF5_1_10;
    pack_cache_params_defaults(&c->params.cache, version);
    c->defaults = below(8) == 0;
    if (c->defaults)
        return;
    c->params.cache.n_slots = below(6) ? 1 + below(below(2) ? 30 : 300) : below(2) * 4099;
    c->params.cache.size_bytes =
        below(6) ? c->grid.chunk_bytes * (1 + below(15)) + below(3) - 1 : 0;
    c->params.cache.w0 = w0s[below(sizeof w0s / sizeof w0s[0])];
}

static bool
is_filtered(const struct config *c, const uint64_t *coords)
{
    return c->params.filtered &&
           !(c->params.edge_unfiltered && pack_grid_is_edge(&c->grid, coords));
}

/* Stores three chunks of four, filtered ones with a size of their own. */
static void
store_chunks(struct config *c, hid_t set)
{
    for (uint64_t i = 0; i < c->grid.n_chunks_total; i++) {
        uint64_t coords[PACK_RANK_MAX];
        hsize_t offset[PACK_RANK_MAX];
        pack_grid_coords(&c->grid, i, coords);
        for (int k = 0; k < c->grid.rank; k++)
            offset[k] = coords[k] * c->grid.chunk[k];
        if (below(4) == 0)
            continue;
        c->stored_bytes[i] = c->grid.chunk_bytes;
        if (is_filtered(c, coords))
            c->stored_bytes[i] = 1 + below(c->grid.chunk_bytes + 20);
        must(H5Dwrite_chunk(set, H5P_DEFAULT, 0, offset, c->stored_bytes[i], c->buffer));
    }
}

static void
make_file(struct config *c)
{
    hsize_t dims[PACK_RANK_MAX], most[PACK_RANK_MAX], chunk[PACK_RANK_MAX];
    hid_t dcpl = must(H5Pcreate(H5P_DATASET_CREATE));
    for (int i = 0; i < c->grid.rank; i++) {
        dims[i] = c->grid.extent[i];
        chunk[i] = c->grid.chunk[i];
        most[i] = c->unlimited ? H5S_UNLIMITED : dims[i];
    }
    must(H5Pset_chunk(dcpl, c->grid.rank, chunk));
    must(H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_INCR));
    if (c->params.filtered)
        must(H5Pset_filter(dcpl, FILTER_ID, 0, 0, NULL));
    if (c->params.edge_unfiltered)
        must(H5Pset_chunk_opts(dcpl, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS));
    if (c->params.skip_missing)
        must(H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER));
    hid_t space = must(H5Screate_simple(c->grid.rank, dims, most));
    hid_t fapl = must(H5Pcreate(H5P_FILE_ACCESS));
    if (c->latest)
        must(H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST));
    hid_t file = must(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl));
    hid_t set = must(H5Dcreate2(file, "x", element_type(c->grid.elem_size), space,
                                H5P_DEFAULT, dcpl, H5P_DEFAULT));
    store_chunks(c, set);
    must(H5Dclose(set));
    must(H5Fclose(file));
    must(H5Pclose(fapl));
    must(H5Sclose(space));
    must(H5Pclose(dcpl));
}

static hid_t
open_set(const struct config *c)
{
    hid_t dapl = must(H5Pcreate(H5P_DATASET_ACCESS));
    if (!c->defaults)
        must(H5Pset_chunk_cache(dapl, c->params.cache.n_slots, c->params.cache.size_bytes,
                                c->params.cache.w0));
    hid_t set = must(H5Dopen2(c->file, "x", dapl));
    must(H5Pclose(dapl));
    return set;
}

static void
open_config(struct config *c)
{
    struct pack_error err;
    /* room for whole chunks behind the extent, and for repeated points */
    uint64_t n_bytes = c->grid.chunk_bytes * (c->grid.n_chunks_total + 1);
    c->stored_bytes = calloc(c->grid.n_chunks_total, sizeof c->stored_bytes[0]);
    c->buffer = calloc(1, n_bytes + 1000);
    if (!c->stored_bytes || !c->buffer)
        abort();
    chunk_bytes = c->grid.chunk_bytes;
    n_decodes = 0;
    make_file(c);
    c->params.stored_bytes = c->stored_bytes;
    c->fapl = must(H5Pcreate(H5P_FILE_ACCESS));
    if (pack_h5_count_set(c->fapl, &c->count, &err) ||
        pack_cachesim_new(&c->grid, &c->params, &c->sim, &err)) {
        note("%s", err.text);
        abort();
    }
    c->file = must(H5Fopen(path, c->unlimited ? H5F_ACC_RDWR : H5F_ACC_RDONLY, c->fapl));
    c->set = open_set(c);
}

static void
close_config(struct config *c)
{
    must(H5Dclose(c->set));
    must(H5Fclose(c->file));
    must(H5Pclose(c->fapl));
    pack_cachesim_free(c->sim);
    free(c->stored_bytes);
    free(c->buffer);
}

/* ------------------------------------------------------------------- reads */

static void
random_box(const struct config *c, struct pack_box *box)
{
    box->rank = c->grid.rank;
    for (int i = 0; i < box->rank; i++) {
        bool whole = below(3) == 0;
        box->start[i] = whole ? 0 : below(c->grid.extent[i]);
        box->count[i] =
            whole ? c->grid.extent[i] : 1 + below(c->grid.extent[i] - box->start[i]);
    }
}

/* Reads what is selected in `space` into memory of the given shape. */
static void
read_selection(struct config *c, hid_t space, int rank, const hsize_t *shape)
{
    hid_t memory = must(H5Screate_simple(rank, shape, NULL));
    must(H5Dread(c->set, element_type(c->grid.elem_size), memory, space, H5P_DEFAULT,
                 c->buffer));
    must(H5Sclose(memory));
    must(H5Sclose(space));
}

static hid_t
select_box(const struct config *c, hid_t space, H5S_seloper_t op,
           const struct pack_box *box, const uint64_t *stride)
{
    hsize_t start[PACK_RANK_MAX], count[PACK_RANK_MAX], step[PACK_RANK_MAX];
    for (int i = 0; i < c->grid.rank; i++) {
        start[i] = box->start[i];
        count[i] = box->count[i];
        step[i] = stride ? stride[i] : 1;
    }
    must(H5Sselect_hyperslab(space, op, start, step, count, NULL));
    return space;
}

static void
read_block(struct config *c, const struct pack_box *box, const uint64_t *stride)
{
    hsize_t shape[PACK_RANK_MAX];
    for (int i = 0; i < box->rank; i++)
        shape[i] = box->count[i];
    hid_t space = must(H5Dget_space(c->set));
    read_selection(c, select_box(c, space, H5S_SELECT_SET, box, stride), box->rank,
                   shape);
}

static void
read_box(struct config *c)
{
    struct pack_box box;
    random_box(c, &box);
    read_block(c, &box, NULL);
    pack_cachesim_read(c->sim, &box, NULL);
}

static void
read_strided(struct config *c)
{
    struct pack_box box;
    uint64_t stride[PACK_RANK_MAX];
    random_box(c, &box);
    for (int i = 0; i < box.rank; i++) {
        stride[i] = 1 + below(6);
        box.count[i] = 1 + below(1 + (c->grid.extent[i] - 1 - box.start[i]) / stride[i]);
    }
    read_block(c, &box, stride);
    pack_cachesim_read_strided(c->sim, &box, stride, NULL);
}

static void
read_points(struct config *c)
{
    hsize_t points[30 * PACK_RANK_MAX], n = 1 + below(30);
    uint64_t coords[30 * PACK_RANK_MAX];
    int rank = c->grid.rank;
    for (uint64_t i = 0; i < n; i++)
        for (int k = 0; k < rank; k++) {
            uint64_t at = below(c->grid.extent[k]);
            if (i > 0 && below(2)) /* neighbours and repeats */
                at = coords[(i - 1) * (uint64_t)rank + (uint64_t)k];
            if (i > 0 && k == rank - 1 && at + 1 < c->grid.extent[k] && below(2))
                at++;
            points[i * (uint64_t)rank + (uint64_t)k] =
                coords[i * (uint64_t)rank + (uint64_t)k] = at;
        }
    hid_t space = must(H5Dget_space(c->set));
    must(H5Sselect_elements(space, H5S_SELECT_SET, n, points));
    read_selection(c, space, 1, &n);
    pack_cachesim_read_points(c->sim, coords, n, NULL);
}

/* A union of blocks apart from each other along axis 0. */
static void
read_boxes(struct config *c)
{
    struct pack_box boxes[6];
    size_t n = 0;
    hsize_t n_elements = 0;
    bool alike = below(2); /* as a list of indexes makes them */
    hid_t space = must(H5Dget_space(c->set));
    for (uint64_t at = below(3); n < 6 && at < c->grid.extent[0]; n++) {
        hsize_t elements = 1;
        random_box(c, &boxes[n]);
        if (alike && n > 0)
            boxes[n] = boxes[0];
        boxes[n].start[0] = at;
        boxes[n].count[0] = 1 + below(2);
        if (boxes[n].count[0] > c->grid.extent[0] - at)
            boxes[n].count[0] = c->grid.extent[0] - at;
        at += boxes[n].count[0] + below(4);
        for (int i = 0; i < c->grid.rank; i++)
            elements *= boxes[n].count[i];
        n_elements += elements;
        select_box(c, space, n ? H5S_SELECT_OR : H5S_SELECT_SET, &boxes[n], NULL);
    }
    if (n == 0) {
        must(H5Sclose(space));
        return;
    }
    read_selection(c, space, 1, &n_elements);
    pack_cachesim_read_boxes(c->sim, boxes, n, NULL);
}

static void
read_sample(struct config *c)
{
    uint64_t sample = below(c->grid.extent[0]);
    struct pack_box box = { .rank = c->grid.rank };
    memcpy(box.count, c->grid.extent, sizeof box.count);
    box.start[0] = sample;
    box.count[0] = 1;
    read_block(c, &box, NULL);
    pack_cachesim_read_samples(c->sim, &sample, 1, NULL);
}

/* ----------------------------------------------------- growing and opening */

static void
grow(struct config *c)
{
    struct pack_shape extent = { .rank = c->grid.rank }, chunk = extent;
    hsize_t dims[PACK_RANK_MAX];
    struct pack_grid grown;
    for (int i = 0; i < extent.rank; i++) {
        extent.extent[i] = c->grid.extent[i] + (below(3) ? 0 : below(6));
        chunk.extent[i] = c->grid.chunk[i];
        dims[i] = extent.extent[i];
    }
    if (!c->unlimited || c->params.edge_unfiltered ||
        pack_grid_init(&grown, &extent, &chunk, c->grid.elem_size, NULL) ||
        grown.chunk_bytes * grown.n_chunks_total > 30000000)
        return;
    uint64_t *stored_bytes = calloc(grown.n_chunks_total, sizeof stored_bytes[0]);
    char *buffer =
        realloc(c->buffer, grown.chunk_bytes * (grown.n_chunks_total + 1) + 1000);
    if (!stored_bytes || !buffer)
        abort();
    for (uint64_t i = 0; i < c->grid.n_chunks_total; i++) {
        uint64_t coords[PACK_RANK_MAX];
        pack_grid_coords(&c->grid, i, coords);
        stored_bytes[pack_grid_number(&grown, coords)] = c->stored_bytes[i];
    }
    c->op = "set_extent";
    must(H5Dset_extent(c->set, dims));
    if (pack_cachesim_set_extent(c->sim, &extent, stored_bytes, NULL))
        abort();
    free(c->stored_bytes);
    c->stored_bytes = stored_bytes;
    c->buffer = buffer;
    c->grid = grown;
}

static void
reopen(struct config *c)
{
    c->op = "reopen";
    must(H5Dclose(c->set));
    c->set = open_set(c);
    pack_cachesim_reopen(c->sim);
}

/* Opens a second handle, which shares the cache whatever it asks for, and goes on with
 * it. */
static void
second_handle(struct config *c)
{
    hid_t dapl = must(H5Pcreate(H5P_DATASET_ACCESS));
    c->op = "second handle";
    must(H5Pset_chunk_cache(dapl, 0, 0, 0));
    hid_t set = must(H5Dopen2(c->file, "x", dapl));
    must(H5Pclose(dapl));
    must(H5Dclose(c->set));
    c->set = set;
}

/* ---------------------------------------------------------------- compared */

static bool
agrees(struct config *c, const struct pack_cache_counts *before,
       const struct pack_cache_counts *now)
{
    uint64_t reads_off = c->count.raw.file_reads - now->file_reads;
    bool strided_past =
        strcmp(c->op, "strided") == 0 && now->bypass_visits > before->bypass_visits;
    if (strided_past && reads_off != c->reads_off) {
        c->reads_off = reads_off;
        n_strided_off++;
    }
    return now->decodes == n_decodes && reads_off == c->reads_off &&
           now->file_read_bytes == c->count.raw.file_read_bytes &&
           now->requests == now->hits + now->loads + now->fills + now->bypass_visits;
}

static void
say(const struct config *c, const struct pack_cache_counts *counts, int read)
{
    char extent[PACK_SHAPE_TEXT_MAX], chunk[PACK_SHAPE_TEXT_MAX];
    struct pack_shape e = { .rank = c->grid.rank }, k = e;
    memcpy(e.extent, c->grid.extent, sizeof e.extent);
    memcpy(k.extent, c->grid.chunk, sizeof k.extent);
    note("%s in chunks of %s, %" PRIu64 " bytes, %s%s%s, %" PRIu64 " slots, %" PRIu64
         " bytes, w0 %g",
         pack_shape_format(&e, extent), pack_shape_format(&k, chunk), c->grid.elem_size,
         c->params.filtered ? "filtered" : "not filtered",
         c->params.edge_unfiltered ? ", edges not" : "",
         c->params.skip_missing ? ", missing skipped" : "", c->params.cache.n_slots,
         c->params.cache.size_bytes, c->params.cache.w0);
    note("read %d (%s): decodes %" PRIu64 ", HDF5 %" PRIu64 "; file reads %" PRIu64
         ", HDF5 %" PRIu64 "; bytes %" PRIu64 ", HDF5 %" PRIu64,
         read, c->op, counts->decodes, n_decodes, counts->file_reads,
         c->count.raw.file_reads, counts->file_read_bytes, c->count.raw.file_read_bytes);
}

static bool
run_config(void)
{
    static const struct {
        const char *name;
        void (*read)(struct config *);
    } reads[] = { { "box", read_box },
                  { "strided", read_strided },
                  { "points", read_points },
                  { "boxes", read_boxes },
                  { "sample", read_sample } };
    struct config c = { .op = "" };
    struct pack_cache_counts before = { 0 }, now;
    bool same = true;
    random_config(&c);
    open_config(&c);
    for (int i = 0; i < READS && same; i++) {
        uint64_t extra = below(50);
        if (extra < 2)
            grow(&c);
        else if (extra == 2)
            reopen(&c);
        else if (extra == 3)
            second_handle(&c);
        int k = (int)below(5);
        c.op = reads[k].name;
        reads[k].read(&c);
        pack_cachesim_counts(c.sim, &now);
        same = agrees(&c, &before, &now);
        before = now;
        if (!same)
            say(&c, &now, i);
    }
    close_config(&c);
    return same;
}

int
main(int argc, char **argv)
{
    long n_configs = 500, n_same = 0;
    uint64_t seed = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--configs") == 0)
            n_configs = atol(argv[i + 1]);
        else if (strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[i + 1], NULL, 10);
    }
    must(H5Eset_auto2(H5E_DEFAULT, NULL, NULL));
    must(H5Zregister(&filter));
    for (long i = 0; i < n_configs; i++) {
        pack_rng_seed(&rng, pack_rng_mix(seed, (uint64_t)i));
        bool same = run_config();
        if (!same)
            note("configuration %ld of seed %" PRIu64, i, seed);
        n_same += same;
    }
    unlink(path);
    note("HDF5 %d.%d.%d, seed %" PRIu64 "; %" PRIu64
         " strided reads past the cache in other pieces",
         H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE, seed, n_strided_off);
    is_number(n_same, n_configs, "the simulator counts what HDF5 does");
    return done();
}
