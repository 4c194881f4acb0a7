/* Chunks read and decoded without HDF5: the bytes that HDF5 reads, over filters, masks and
 * edges; claims that are lies end in a sentence. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libpack/base/system.h"
#include "libpack/hdf5/h5.h"
#include "libpack/model/grid.h"
#include "libpack/reader/chunkload.h"
#include "tests/made_h5.h"
#include "tests/tap.h"

static const char path[] = "test_chunkload.tmp.h5";

static const char *const pipelines[] = {
    "gzip:4",
    "shuffle",
    "fletcher32",
    "zstd:1",
    "shuffle+gzip:1",
    "shuffle+zstd:3",
    "gzip:6+fletcher32",
    "shuffle+gzip:9+fletcher32",
    "fletcher32+zstd:2",
    "gzip:1+zstd:1",
};

static const struct pack_fetch_ops *const strategies[] = { &pack_fetch_pread,
                                                           &pack_fetch_mmap,
                                                           &pack_fetch_direct };
enum { N_STRATEGIES = 3 };

/* An open dataset. */
struct opened {
    struct pack_chunkmap *map;
    struct pack_fetch fetch;
    struct pack_chunkload load;
    int fd;
};

static bool
open_all(struct opened *o, const struct pack_fetch_ops *ops)
{
    struct pack_error err = { .text = "" };
    *o = (struct opened){ .fd = open(path, O_RDONLY) };
    bool good = pack_chunkmap_open(path, "x", NULL, &o->map, &err) == PACK_OK &&
                pack_fetch_open(&o->fetch, ops, o->fd, o->map->file.size_bytes, &err) ==
                    PACK_OK &&
                pack_chunkload_init(&o->load, o->map, &o->fetch, &err) == PACK_OK;
    if (!good)
        note("%s", err.text);
    return good;
}

static void
close_all(struct opened *o)
{
    pack_chunkload_done(&o->load);
    pack_fetch_close(&o->fetch);
    pack_chunkmap_close(o->map);
    close(o->fd);
}

/* The block `part` of chunk `number` into its place in `all`. */
static enum pack_status
load_part(struct opened *o, const struct pack_grid_cursor *c, uint8_t *all,
          struct pack_error *err)
{
    const struct pack_grid *grid = &o->map->grid;
    struct pack_strided s;
    struct pack_chunk chunk;
    uint64_t start[PACK_RANK_MAX];
    for (int i = 0; i < grid->rank; i++)
        start[i] = c->coords[i] * grid->chunk[i] + c->start[i];
    pack_strided_set(&s, grid->rank, c->count, grid->elem_size,
                     (struct pack_strided_place){ grid->chunk, c->start },
                     (struct pack_strided_place){ grid->extent, start });
    enum pack_chunk_kind kind = pack_chunkmap_chunk(o->map, c->number, &chunk);
    if (kind != PACK_CHUNK_CODED)
        return pack_chunkload_copy(&o->load, kind, &chunk, &s, all, err);
    uint8_t *decoded = malloc(grid->chunk_bytes);
    enum pack_status status = pack_chunkload_decode(&o->load, &chunk, decoded, err);
    if (status == PACK_OK)
        pack_strided_copy(&s, 0, decoded + s.from, all + s.to);
    free(decoded);
    return status;
}

/* All of the dataset, in a box that starts at `corner` along every axis. */
static bool
agrees(struct opened *o, uint64_t corner, const uint8_t *want)
{
    const struct pack_grid *grid = &o->map->grid;
    size_t size = (size_t)o->map->facts.logical_bytes;
    uint8_t *got = malloc(size);
    struct pack_box box = { .rank = grid->rank };
    struct pack_grid_cursor c;
    struct pack_error err = { .text = "" };
    bool good = true;
    memcpy(got, want, size);
    for (int i = 0; i < grid->rank; i++) {
        box.start[i] = corner < grid->extent[i] ? corner : 0;
        box.count[i] = grid->extent[i] - box.start[i];
    }
    for (bool more = pack_grid_first(&c, grid, &box); more; more = pack_grid_next(&c)) {
        uint64_t at = 0; /* spoil one element, so that it must be written */
        for (int i = 0; i < grid->rank; i++)
            at = at * grid->extent[i] + c.coords[i] * grid->chunk[i] + c.start[i];
        memset(got + at * grid->elem_size, 0xa5, grid->elem_size);
        good = good && load_part(o, &c, got, &err) == PACK_OK;
    }
    good = good && memcmp(got, want, size) == 0;
    if (err.text[0])
        note("%s", err.text);
    free(got);
    return good;
}

static bool
reads_as_hdf5(const struct made *made)
{
    size_t size;
    uint8_t *want = made_write(made, path) ? made_read(path, "x", false, &size) : NULL;
    bool good = want != NULL;
    for (size_t k = 0; k < N_STRATEGIES && good; k++) {
        struct opened o;
        good = open_all(&o, strategies[k]) && agrees(&o, 0, want) && agrees(&o, 1, want);
        close_all(&o);
    }
    free(want);
    return good;
}

static void
test_pipelines(void)
{
    static const char *const types[] = { "u8", ">i16", "f64" };
    for (size_t p = 0; p < sizeof pipelines / sizeof pipelines[0]; p++) {
        int n = 0, n_good = 0;
        for (int kind = 0; kind < 12; kind++, n++) {
            struct made made = { .name = pipelines[p],
                                 .type = types[kind % 3],
                                 .rank = 2,
                                 .dims = { 37, 29 },
                                 .chunk = { 8, 5 },
                                 .pipeline = pipelines[p],
                                 .v110 = true,
                                 .sparse = kind % 2,
                                 .masked = kind % 4 > 1,
                                 .plain_edges = kind >= 6,
                                 .fill = kind > 3 ? 77 : 0 };
            n_good += reads_as_hdf5(&made);
        }
        is_number(n_good, n, pipelines[p]);
    }
}

static void
test_unfiltered(void)
{
    static const struct made mades[] = {
        { .name = "contiguous", .type = "f32", .rank = 3, .dims = { 40, 50, 60 } },
        { .name = "wide rows", .type = "f64", .rank = 3, .dims = { 3, 4, 9000 } },
        { .name = "compact",
          .type = "i16",
          .rank = 2,
          .dims = { 30, 30 },
          .compact = true },
        { .name = "chunked",
          .type = "u8",
          .rank = 5,
          .dims = { 3, 4, 5, 6, 7 },
          .chunk = { 2, 3, 2, 4, 5 },
          .sparse = true,
          .fill = 3 },
    };
    for (size_t i = 0; i < sizeof mades / sizeof mades[0]; i++)
        ok(reads_as_hdf5(&mades[i]), "%s without filters", mades[i].name);
}

/* Reads that a block takes: `n` rows of `wide` bytes, that lie `apart`. */
static uint64_t
n_reads(struct opened *o, uint64_t n, uint64_t wide, uint64_t apart)
{
    static uint8_t out[1 << 20];
    const uint64_t extent[] = { n, apart }, count[] = { n, wide }, zero[] = { 0, 0 };
    struct pack_strided s;
    struct pack_chunk chunk;
    uint64_t before = o->load.file_reads;
    pack_strided_set(&s, 2, count, 1, (struct pack_strided_place){ extent, zero },
                     (struct pack_strided_place){ count, zero });
    enum pack_chunk_kind kind = pack_chunkmap_chunk(o->map, 0, &chunk);
    pack_chunkload_copy(&o->load, kind, &chunk, &s, out, NULL);
    return o->load.file_reads - before;
}

static void
test_reads(void)
{
    static const struct made made = {
        .name = "long", .type = "u8", .rank = 2, .dims = { 2, 3000000 }
    };
    struct opened o;
    made_write(&made, path);
    if (!open_all(&o, strategies[0]))
        return;
    is_number((long long)n_reads(&o, 60, 2000, 3000), 1, "rows near by are read at once");
    is_number((long long)n_reads(&o, 20, 10, 10000), 20, "those far apart one by one");
    is_number((long long)n_reads(&o, 7, 100000, 100001), 7,
              "so are rows beyond the room");
    is_number((long long)n_reads(&o, 7, 100000, 100000), 1, "one run is one read");
    close_all(&o);
    ok(reads_as_hdf5(&made), "a run that is longer than the room");
    if (!open_all(&o, &pack_fetch_direct))
        return;
    struct pack_chunk chunk, part;
    const void *data;
    uint8_t byte[1];
    pack_chunkmap_chunk(o.map, 0, &chunk);
    part = chunk;
    part.stored_bytes = 1000;
    pack_chunkload_gather(&o.load, chunk.address_bytes, 1000);
    bool had = pack_chunkload_has(&o.load, &part);
    pack_chunkload_view(&o.load, PACK_CHUNK_RAW, &chunk, 200000, 1, byte, &data, NULL);
    ok(had && pack_chunkload_has(&o.load, &part) == (o.fetch.align == 0),
       "what was gathered is gone when another range was read into its room");
    close_all(&o);
}

/* Of a file of no file system that could. */
static void
test_refusal(void)
{
    struct pack_fetch fetch = { .ops = NULL };
    int fd = open("/proc/self/maps", O_RDONLY);
    bool opened = pack_fetch_open(&fetch, &pack_fetch_direct, fd, 100, NULL) == PACK_OK;
    char room[100];
    const void *data = NULL;
    ok(opened && fetch.ops == &pack_fetch_pread && !fetch.align && pack_fetch_direct.refusal &&
           pack_fetch_view(&fetch, 3, 10, room, &data, NULL) == PACK_OK && data == room,
       "what cannot be read past the page cache is read as usual");
    pack_fetch_close(&fetch);
    close(fd);
}

/* On tmpfs, which every machine has, and on /proc, which is no disk. */
static void
test_best(void)
{
    const uint64_t least = PACK_FETCH_MAPPED_BYTES, most = pack_system_ram_bytes() / 2;
    int memory = memfd_create("test_chunkload", MFD_CLOEXEC);
    int other = open("/proc/self/maps", O_RDONLY);
    ok(pack_fetch_best(memory, least, false) == &pack_fetch_mmap &&
           pack_fetch_best(memory, most, false) == &pack_fetch_mmap,
       "files without filters that memory holds are mapped");
    ok(pack_fetch_best(memory, least - 1, false) == &pack_fetch_pread &&
           pack_fetch_best(memory, most + 1, false) == &pack_fetch_pread,
       "small ones and those that memory does not hold are not");
    ok(pack_fetch_best(memory, least, true) == &pack_fetch_pread, "nor what has filters");
    ok(pack_fetch_best(other, least, false) == &pack_fetch_pread &&
           pack_fetch_best(-1, least, false) == &pack_fetch_pread,
       "nor what lies elsewhere");
    close(memory);
    close(other);
}

/* ------------------------------------------------------------------ lies */

static void
is_refused(struct opened *o, struct pack_chunk chunk, const char *what)
{
    struct pack_error err = { .text = "" };
    uint8_t *out = malloc(o->map->grid.chunk_bytes);
    enum pack_status status = pack_chunkload_decode(&o->load, &chunk, out, &err);
    ok((status == PACK_ERR_FORMAT || status == PACK_ERR_CHANGED ||
        status == PACK_ERR_IO) &&
           strstr(err.text, "chunk (0,1)"),
       "%s: %s", what, err.text);
    free(out);
}

static void
test_lies(const struct pack_fetch_ops *ops)
{
    static const struct made made = { .name = "lies",
                                      .type = "i16",
                                      .rank = 2,
                                      .dims = { 40, 40 },
                                      .chunk = { 20, 20 },
                                      .pipeline = "shuffle+gzip:4+fletcher32" };
    struct opened o;
    struct pack_chunk good, lie;
    made_write(&made, path);
    if (!open_all(&o, ops))
        return;
    pack_chunkmap_chunk(o.map, 1, &good);
    lie = good;
    lie.address_bytes = o.map->file.size_bytes - 3;
    is_refused(&o, lie, "behind the end");
    lie.address_bytes = UINT64_MAX - 1;
    is_refused(&o, lie, "at the end of all numbers");
    lie = good;
    lie.stored_bytes = UINT64_C(1) << 40;
    is_refused(&o, lie, "a terabyte");
    lie.stored_bytes = 0;
    is_refused(&o, lie, "nothing");
    lie.stored_bytes = good.stored_bytes - 1;
    is_refused(&o, lie, "a byte less");
    lie = good;
    lie.address_bytes++;
    is_refused(&o, lie, "a byte further");
    lie = good;
    lie.filter_mask = 2;
    is_refused(&o, lie, "gzip that is said to be skipped");
    struct pack_strided s;
    struct pack_error err = { .text = "" };
    static uint8_t out[800];
    const uint64_t zero[] = { 0, 0 };
    struct pack_strided_place place = { o.map->grid.chunk, zero };
    pack_strided_set(&s, 2, o.map->grid.chunk, 2, place, place);
    lie = good;
    ok(pack_chunkload_copy(&o.load, PACK_CHUNK_RAW, &lie, &s, out, &err) ==
           PACK_ERR_FORMAT,
       "a raw chunk of another size: %s", err.text);
    lie.stored_bytes = 800;
    lie.address_bytes = UINT64_MAX - 800;
    ok(pack_chunkload_copy(&o.load, PACK_CHUNK_RAW, &lie, &s, out, &err) ==
           PACK_ERR_FORMAT,
       "one behind the end of all numbers: %s", err.text);
    if (truncate(path, 512) == 0)
        is_refused(&o, good, "a file that was cut short since");
    close_all(&o);
}

/* A view of a mapping whose pages nobody asked for. */
static enum pack_status
view_unasked(const struct pack_fetch *fetch, uint64_t address, size_t size, void *room,
             const void **data, struct pack_error *err)
{
    (void)size;
    (void)room;
    (void)err;
    *data = (const unsigned char *)fetch->mapping + address;
    return PACK_OK;
}

/* Between the view of a chunk and its copy the file is cut. */
static void
test_cut_mapping(const char *pipeline)
{
    const struct made made = { .name = "cut",
                               .type = "u8",
                               .rank = 2,
                               .dims = { 2, 40000 },
                               .chunk = { 1, 40000 },
                               .pipeline = pipeline };
    struct pack_fetch_ops unasked = pack_fetch_mmap;
    struct pack_error err = { .text = "" };
    struct pack_grid_cursor c;
    struct opened o;
    static uint8_t out[80000];
    unasked.view = view_unasked;
    made_write(&made, path);
    if (!open_all(&o, &pack_fetch_mmap) || o.fetch.ops != &pack_fetch_mmap) {
        skip("no file is mapped here");
        return;
    }
    o.fetch.ops = &unasked;
    struct pack_box box = { .rank = 2, .count = { 2, 40000 } };
    bool was_there = pack_grid_first(&c, &o.map->grid, &box) &&
                     load_part(&o, &c, out, &err) == PACK_OK;
    for (int gathered = 0; gathered < 2; gathered++) {
        struct pack_chunk chunk;
        pack_chunkmap_chunk(o.map, 0, &chunk);
        if (gathered)
            pack_chunkload_gather(&o.load, chunk.address_bytes, chunk.stored_bytes);
        enum pack_status status =
            truncate(path, 512) == 0 ? load_part(&o, &c, out, &err) : PACK_OK;
        ok(was_there && status == PACK_ERR_IO && strstr(err.text, "chunk (0,0)"),
           "a mapping that is cut, %s: %s", pipeline ? pipeline : "no filter", err.text);
    }
    close_all(&o);
}

/* Calls of the library's for pages of files. */
static struct {
    int n;
    unsigned char *at;
    size_t size;
} asked;

int
madvise(void *at, size_t size, int advice)
{
    enum { POPULATE_READ = 22 };
    if (advice == POPULATE_READ) {
        asked.n++;
        asked.at = at;
        asked.size = size;
    }
    return (int)syscall(SYS_madvise, at, size, advice);
}

/* Pages of a mapping are asked for the first time that they are viewed, all of them, and
 * never again. */
static void
test_asked(void)
{
    enum { PAGES = 300, ROUNDS = 2000 };
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = PAGES * page - page / 2;
    struct pack_fetch fetch = { .ops = NULL };
    bool seen[PAGES] = { true }; /* by its opening */
    const void *data = NULL;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), n_new = 0, n_wrong = 0;
    uint32_t random = 1;
    if (ftruncate(fd, (off_t)size) != 0 ||
        pack_fetch_open(&fetch, &pack_fetch_mmap, fd, size, NULL) != PACK_OK ||
        fetch.ops != &pack_fetch_mmap) {
        skip("no file is mapped here");
        close(fd);
        return;
    }
    for (int i = 0; i < ROUNDS; i++) {
        random = random * 1664525 + 1013904223;
        size_t from = random % size;
        random = random * 1664525 + 1013904223;
        size_t n = i % 3 == 0 ? random % (size - from + 1) / 8 : random % (2 * page);
        n = i == ROUNDS - 1 ? size - from : n <= size - from ? n : size - from;
        if (i % 5 == 0) { /* whole pages */
            from -= from % page;
            n -= n % page;
        }
        size_t first = from / page, last = n ? (from + n - 1) / page : first;
        bool is_new = false;
        for (size_t k = first; n && k <= last; k++) {
            is_new |= !seen[k];
            seen[k] = true;
        }
        asked.n = 0;
        if (pack_fetch_view(&fetch, from, n, NULL, &data, NULL) != PACK_OK)
            n_wrong++;
        const unsigned char *begin = (unsigned char *)fetch.mapping + first * page;
        size_t end = from + n - first * page;
        if (asked.n != is_new || (is_new && (asked.at != begin || asked.size < end ||
                                             asked.size > end + page)))
            n_wrong++;
        n_new += is_new;
    }
    ok(n_wrong == 0 && n_new > 20 && n_new < ROUNDS / 2,
       "pages asked for once: %d, %d wrong", n_new, n_wrong);
    pack_fetch_close(&fetch);
    close(fd);
}

int
main(void)
{
    pack_h5_quiet();
    pack_h5_register_zstd(NULL);
    test_pipelines();
    test_unfiltered();
    test_reads();
    test_refusal();
    test_best();
    for (size_t k = 0; k < N_STRATEGIES; k++)
        test_lies(strategies[k]);
    test_cut_mapping(NULL);
    test_cut_mapping("fletcher32");
    test_asked();
    unlink(path);
    return done();
}
