/*
 * replay_vectors FILE.jsonl: replays recorded reads through the cache simulator and
 * compares, access by access, with the counts that HDF5 itself gave. Each line is one
 * dataset, its cache settings, a sequence of reads and the versions of HDF5 that gave the
 * counts. Prints "N of N exact", N counting lines times versions, and the first
 * difference. Exit status: 0 all exact, 1 differences, 2 cannot read.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpack/cachesim.h>
#include "libpack/model/grid.h"
#include "libpack/base/json.h"

typedef const struct pack_json_value value;

enum { RANK = PACK_RANK_MAX };

/* Why a line cannot be replayed; ends the program. */
static void
die(const char *id, const char *what)
{
    fprintf(stderr, "replay_vectors: %s: %s\n", id, what);
    exit(2);
}

static int
numbers(value *array, uint64_t *out)
{
    int n = 0;
    if (array && array->kind == PACK_JSON_ARRAY)
        for (value *v = array->first; v && n < RANK; v = v->next)
            out[n++] = (uint64_t)v->integer;
    return n;
}

static struct pack_shape
shape(value *line, const char *key)
{
    struct pack_shape s = { 0 };
    s.rank = numbers(pack_json_find(line, key), s.extent);
    return s;
}

static bool
truth(value *line, const char *key)
{
    value *v = pack_json_find(line, key);
    return v && v->kind == PACK_JSON_BOOL && v->truth;
}

static const char *
text(value *line, const char *key)
{
    value *v = pack_json_find(line, key);
    return v && v->text ? v->text : "";
}

/* A setting, unless it is -1 for the version's default. */
static void
set_u64(value *line, const char *key, uint64_t *out)
{
    value *v = pack_json_find(line, key);
    if (v && v->integer >= 0)
        *out = (uint64_t)v->integer;
}

/* One line under one version. */
struct run {
    const char *id, *version;
    struct pack_grid grid; /* as opened */
    struct pack_cachesim *sim;
    uint64_t *stored_bytes;
};

static void
open_run(struct run *run, value *line)
{
    struct pack_shape extent = shape(line, "shape"), chunk = shape(line, "chunk");
    struct pack_cachesim_params params = { .filtered = truth(line, "filtered"),
                                           .edge_unfiltered =
                                               truth(line, "edge_unfiltered") };
    struct pack_grid grid;
    struct pack_error err;
    enum pack_hdf5_version version;
    uint64_t elem_size = 0;
    value *w0 = pack_json_find(line, "w0");
    /* a snapshot of the developers' branch between 1.14 and 2.0 */
    const char *known = strcmp(run->version, "1.17.0") == 0 ? "1.14" : run->version;
    if (pack_hdf5_version_parse(known, &version, &err))
        die(run->id, err.text);
    pack_cache_params_defaults(&params.cache, version);
    set_u64(line, "nslots", &params.cache.n_slots);
    set_u64(line, "nbytes", &params.cache.size_bytes);
    set_u64(line, "elem_size", &elem_size);
    if (w0 && w0->number >= 0)
        params.cache.w0 = w0->number;
    if (pack_grid_init(&grid, &extent, &chunk, elem_size, &err))
        die(run->id, err.text);
    if (strcmp(text(line, "allocated"), "even") == 0) {
        run->stored_bytes = calloc(grid.n_chunks_total, sizeof run->stored_bytes[0]);
        for (uint64_t i = 0; run->stored_bytes && i < grid.n_chunks_total; i += 2)
            run->stored_bytes[i] = grid.chunk_bytes;
        params.stored_bytes = run->stored_bytes;
    }
    run->grid = grid;
    if (pack_cachesim_new(&grid, &params, &run->sim, &err))
        die(run->id, err.text);
}

static void
read_points(struct run *run, value *points)
{
    int rank = pack_cachesim_grid(run->sim)->rank;
    size_t n = 0;
    uint64_t *coords = calloc(points->n * (size_t)rank + RANK, sizeof coords[0]);
    if (!coords)
        die(run->id, "out of memory");
    for (value *p = points->first; p; p = p->next)
        numbers(p, coords + (size_t)rank * n++);
    if (pack_cachesim_read_points(run->sim, coords, n, NULL))
        die(run->id, "cannot replay points");
    free(coords);
}

/* The dataset grows: only chunks that it had in the beginning have storage. */
static void
set_extent(struct run *run, value *extents)
{
    struct pack_shape extent = { 0 }, chunk = { 0 };
    struct pack_grid grid;
    struct pack_error err;
    extent.rank = chunk.rank = numbers(extents, extent.extent);
    memcpy(chunk.extent, run->grid.chunk, sizeof chunk.extent);
    if (pack_grid_init(&grid, &extent, &chunk, run->grid.elem_size, &err))
        die(run->id, err.text);
    uint64_t *stored_bytes = calloc(grid.n_chunks_total, sizeof stored_bytes[0]);
    if (!stored_bytes)
        die(run->id, "out of memory");
    for (uint64_t i = 0; i < run->grid.n_chunks_total; i++) {
        uint64_t coords[RANK];
        pack_grid_coords(&run->grid, i, coords);
        stored_bytes[pack_grid_number(&grid, coords)] = grid.chunk_bytes;
    }
    if (pack_cachesim_set_extent(run->sim, &extent, stored_bytes, &err))
        die(run->id, err.text);
    free(run->stored_bytes);
    run->stored_bytes = stored_bytes;
}

static void
replay_op(struct run *run, value *op)
{
    struct pack_box box = { 0 };
    uint64_t stride[RANK];
    value *v;
    if (op->kind == PACK_JSON_ARRAY) {
        box.rank = numbers(op->first, box.start);
        numbers(op->first->next, box.count);
        pack_cachesim_read(run->sim, &box, NULL);
    } else if ((v = pack_json_find(op, "strided"))) {
        box.rank = numbers(v->first, box.start);
        numbers(v->first->next, stride);
        numbers(v->first->next->next, box.count);
        pack_cachesim_read_strided(run->sim, &box, stride, NULL);
    } else if ((v = pack_json_find(op, "points"))) {
        read_points(run, v);
    } else if ((v = pack_json_find(op, "set_extent"))) {
        set_extent(run, v);
    } else if (pack_json_find(op, "reopen")) {
        pack_cachesim_reopen(run->sim);
    } else if (!pack_json_find(op,
                               "second_handle")) { /* which shares the first's cache */
        die(run->id, "unknown operation");
    }
}

/* The recorded total up to an access, and where the next one is. */
static uint64_t
recorded(value **at, uint64_t otherwise)
{
    if (!*at)
        return otherwise;
    uint64_t n = (uint64_t)(*at)->integer;
    *at = (*at)->next;
    return n;
}

static value *
first_of(value *line, const char *key)
{
    value *v = pack_json_find(line, key);
    return v ? v->first : NULL;
}

/* Whether all counts are as recorded; says the first that is not. */
static bool
replay(value *line, const char *version, bool *said)
{
    struct run run = { .id = text(line, "id"), .version = version };
    value *loads = first_of(line, "loads_prefix");
    value *decodes = first_of(line, "decodes_prefix");
    value *reads = first_of(line, "raw_reads_prefix");
    value *ops = pack_json_find(line, "ops");
    bool exact = true;
    int n = 0;
    if (!ops)
        ops = pack_json_find(line, "accesses");
    if (!ops || !loads)
        die(run.id, "no accesses, or no loads");
    open_run(&run, line);
    for (value *op = ops->first; op && exact; op = op->next, n++) {
        struct pack_cache_counts c;
        replay_op(&run, op);
        pack_cachesim_counts(run.sim, &c);
        uint64_t want_loads = recorded(&loads, 0);
        uint64_t want_decodes =
            recorded(&decodes, truth(line, "filtered") ? want_loads : 0);
        uint64_t want_reads = recorded(&reads, want_loads);
        exact = c.loads == want_loads && c.decodes == want_decodes &&
                c.file_reads == want_reads;
        if (!exact && !*said) {
            printf("%s, HDF5 %s, access %d: loads %" PRIu64 " (recorded %" PRIu64
                   "), decodes %" PRIu64 " (%" PRIu64 "), file reads %" PRIu64
                   " (%" PRIu64 ")\n",
                   run.id, version, n, c.loads, want_loads, c.decodes, want_decodes,
                   c.file_reads, want_reads);
            *said = true;
        }
    }
    pack_cachesim_free(run.sim);
    free(run.stored_bytes);
    return exact;
}

int
main(int argc, char **argv)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size;
    int n = 0, n_exact = 0;
    bool said = false;
    FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!f) {
        fprintf(stderr,
                argc == 2 ? "replay_vectors: cannot open '%s': %s\n"
                          : "usage: replay_vectors FILE.jsonl\n",
                argc == 2 ? argv[1] : "", strerror(errno));
        return 2;
    }
    while ((size = getline(&line, &capacity, f)) > 0) {
        struct pack_json_doc *doc = NULL;
        value *root;
        struct pack_error err;
        if (pack_json_parse(line, (size_t)size, &doc, &root, &err))
            die(argv[1], err.text);
        n_exact += replay(root, text(root, "lib_version"), &said);
        n++;
        for (value *v = first_of(root, "same_result_versions"); v; v = v->next, n++)
            n_exact += replay(root, v->text, &said);
        pack_json_free(doc);
    }
    free(line);
    fclose(f);
    printf("%d of %d exact\n", n_exact, n);
    return n == 0 ? 2 : n_exact != n;
}
