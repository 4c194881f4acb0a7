/* Where the bytes of a dataset lie: what the map says is there, read without HDF5, is what
 * HDF5 reads; what it cannot know it says. */
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libpack/model/grid.h"
#include "libpack/reader/chunkmap.h"
#include "tests/made_h5.h"
#include "tests/tap.h"

static const char path[] = "test_chunkmap.tmp.h5";

static const struct made plain[] = {
    { .name = "contiguous", .type = "i16", .rank = 2, .dims = { 23, 17 } },
    { .name = "contiguous, of many rows", .type = "f64", .rank = 1, .dims = { 50001 } },
    { .name = "contiguous, half of it written",
      .type = "u8",
      .rank = 2,
      .dims = { 23, 17 },
      .sparse = true,
      .fill = 9 },
    { .name = "contiguous, not written",
      .type = "i16",
      .rank = 2,
      .dims = { 1, 17 },
      .sparse = true,
      .fill = 9 },
    { .name = "contiguous behind a user block",
      .type = "u8",
      .rank = 3,
      .dims = { 5, 6, 7 },
      .user_block = 512 },
    { .name = "compact", .type = "i64", .rank = 1, .dims = { 100 }, .compact = true },
    { .name = "B-tree v1",
      .type = "i16",
      .rank = 2,
      .dims = { 23, 17 },
      .chunk = { 4, 5 },
      .sparse = true,
      .fill = -2 },
    { .name = "B-tree v1 behind a user block",
      .type = "i16",
      .rank = 2,
      .dims = { 23, 17 },
      .chunk = { 4, 5 },
      .user_block = 1024 },
    { .name = "fixed array",
      .type = "f32",
      .rank = 3,
      .dims = { 9, 5, 4 },
      .chunk = { 2, 2, 3 },
      .v110 = true,
      .sparse = true },
    { .name = "implicit",
      .type = "u8",
      .rank = 1,
      .dims = { 1000 },
      .chunk = { 64 },
      .v110 = true,
      .early = true },
    { .name = "extensible array behind a user block",
      .type = "u8",
      .rank = 2,
      .dims = { 23, 17 },
      .chunk = { 4, 5 },
      .v110 = true,
      .grows = true,
      .user_block = 2048 },
    { .name = "one chunk, larger than the data",
      .type = "i16",
      .rank = 1,
      .dims = { 10 },
      .chunk = { 16 },
      .grows = true },
};

/* One chunk of unfiltered data as the map has it. */
static bool
take_chunk(const struct pack_chunkmap *map, int fd, uint64_t number, uint8_t *out)
{
    struct pack_chunk chunk;
    size_t size = (size_t)map->grid.chunk_bytes, elem = map->facts.type.bytes;
    switch (pack_chunkmap_chunk(map, number, &chunk)) {
    case PACK_CHUNK_FILLED:
        for (size_t i = 0; i < size; i += elem)
            memcpy(out + i, map->fill, elem);
        return true;
    case PACK_CHUNK_HELD: {
        size_t left = (size_t)(map->facts.logical_bytes - chunk.address_bytes);
        memcpy(out, map->compact + chunk.address_bytes, left < size ? left : size);
        return true;
    }
    case PACK_CHUNK_RAW: /* the last of contiguous data ends with the file, maybe */
        return pread(fd, out, size, (off_t)chunk.address_bytes) > 0 &&
               chunk.stored_bytes == size;
    default: return false;
    }
}

/* Places the part of a chunk that is in the dataset. */
static void
place(const struct pack_grid *grid, uint64_t number, const uint8_t *chunk, uint8_t *all)
{
    uint64_t coords[PACK_RANK_MAX], elem = grid->elem_size;
    pack_grid_coords(grid, number, coords);
    for (uint64_t e = 0; e < grid->chunk_elements; e++) {
        uint64_t left = e, at = 0, step = 1;
        bool inside = true;
        for (int i = grid->rank - 1; i >= 0; i--) {
            uint64_t index = coords[i] * grid->chunk[i] + left % grid->chunk[i];
            left /= grid->chunk[i];
            inside = inside && index < grid->extent[i];
            at += index * step;
            step *= grid->extent[i];
        }
        if (inside)
            memcpy(all + at * elem, chunk + e * elem, elem);
    }
}

static const char *
compare(const struct pack_chunkmap *map)
{
    size_t size;
    uint8_t *want = made_read(path, "x", false, &size);
    uint8_t *got = calloc(1, size), *chunk = calloc(1, map->grid.chunk_bytes);
    int fd = open(path, O_RDONLY);
    const char *bad = want && size == map->facts.logical_bytes ? NULL : "other size";
    for (uint64_t i = 0; i < map->grid.n_chunks_total && !bad; i++) {
        if (!take_chunk(map, fd, i, chunk))
            bad = "a chunk is not there";
        place(&map->grid, i, chunk, got);
    }
    if (!bad && memcmp(got, want, size) != 0)
        bad = "bytes differ";
    close(fd);
    free(chunk);
    free(got);
    free(want);
    return bad;
}

static void
test_plain(void)
{
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        struct pack_chunkmap *map = NULL;
        struct pack_error err = { .text = "" };
        const char *bad = "not opened";
        if (made_write(&plain[i], path) &&
            pack_chunkmap_open(path, "x", NULL, &map, &err) == PACK_OK)
            bad = map->unmapped[0] ? map->unmapped : compare(map);
        ok(!bad, "%s, in %llu chunks: bytes are where the map says %s%s", plain[i].name,
           map ? (unsigned long long)map->grid.n_chunks_total : 0, bad ? bad : "",
           err.text);
        pack_chunkmap_close(map);
    }
}

/* Chunks of each kind in a filtered dataset of 12 chunks, of which 3 columns are 2. */
static void
test_filtered(void)
{
    static const struct made coded = {
        .name = "coded",
        .type = "i16",
        .rank = 2,
        .dims = { 15, 11 },
        .chunk = { 4, 4 },
        .pipeline = "shuffle+gzip:4",
        .v110 = true,
        .masked = true,
        .plain_edges = true,
    };
    struct pack_chunkmap *map = NULL;
    struct pack_error err = { .text = "" };
    struct pack_chunk chunk;
    int n[4] = { 0 };
    uint64_t most = 0;
    if (!made_write(&coded, path) ||
        pack_chunkmap_open(path, "x", NULL, &map, &err) != PACK_OK) {
        ok(false, "a filtered dataset is opened %s", err.text);
        return;
    }
    for (uint64_t i = 0; i < map->grid.n_chunks_total; i++) {
        enum pack_chunk_kind kind = pack_chunkmap_chunk(map, i, &chunk);
        n[kind]++;
        if (kind == PACK_CHUNK_CODED && chunk.stored_bytes > most)
            most = chunk.stored_bytes;
    }
    is_number(n[PACK_CHUNK_RAW], 1 + 3 + 3, "masked and edge chunks are raw");
    ok(n[PACK_CHUNK_CODED] == 5 && map->n_coded == 5 && most == map->stored_max_bytes,
       "all others are coded, in %llu bytes at most", (unsigned long long)most);
    ok(pack_chunkmap_chunk(map, 1, &chunk) == PACK_CHUNK_CODED && chunk.filter_mask == 1,
       "one filter that is skipped leaves the others");
    pack_chunkmap_close(map);
}

/* ----------------------------------------------------------------- the rest */

static void
make_virtual_and_external(void)
{
    hsize_t dims[] = { 10 };
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    hid_t list = H5Pcreate(H5P_DATASET_CREATE), text = H5Tcopy(H5T_C_S1);
    hid_t scalar = H5Screate(H5S_SCALAR), odd = H5Pcreate(H5P_DATASET_CREATE);
    H5Tset_size(text, H5T_VARIABLE);
    H5Pset_virtual(dcpl, space, "test_chunkmap.none.h5", "y", space);
    H5Pset_external(list, "test_chunkmap.none", 0, 10);
    H5Pset_chunk(odd, 1, dims);
    H5Pset_filter(odd, 32003, H5Z_FLAG_OPTIONAL, 0, NULL);
    H5Dclose(H5Dcreate2(file, "v", H5T_STD_U8LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT));
    H5Dclose(H5Dcreate2(file, "e", H5T_STD_U8LE, space, H5P_DEFAULT, list, H5P_DEFAULT));
    H5Dclose(H5Dcreate2(file, "s", H5T_STD_U8LE, scalar, H5P_DEFAULT, H5P_DEFAULT,
                        H5P_DEFAULT));
    H5Dclose(H5Dcreate2(file, "t", text, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Dclose(H5Dcreate2(file, "o", H5T_STD_U8LE, space, H5P_DEFAULT, odd, H5P_DEFAULT));
    H5Premove_filter(odd, H5Z_FILTER_ALL);
    H5Pset_scaleoffset(odd, H5Z_SO_INT, 0);
    H5Dclose(H5Dcreate2(file, "l", H5T_STD_U8LE, space, H5P_DEFAULT, odd, H5P_DEFAULT));
    H5Pclose(odd);
    H5Sclose(scalar);
    H5Tclose(text);
    H5Pclose(list);
    H5Pclose(dcpl);
    H5Sclose(space);
    H5Fclose(file);
}

static void
test_others(void)
{
    static const struct {
        const char *set, *why;
    } unmapped[] = { { "v", "virtual" }, { "e", "external" }, { "o", "needs filter 32003" },
                     { "l", "HDF5 alone decodes filter 6 (scaleoffset)" } };
    struct pack_error err = { .text = "" };
    struct pack_chunkmap *map = NULL;
    make_virtual_and_external();
    for (size_t i = 0; i < sizeof unmapped / sizeof unmapped[0]; i++) {
        bool good = pack_chunkmap_open(path, unmapped[i].set, NULL, &map, &err) == PACK_OK;
        ok(good && strstr(map->unmapped, unmapped[i].why),
           "what HDF5 itself has to read is said: %s%s", good ? map->unmapped : "",
           err.text);
        pack_chunkmap_close(map);
        map = NULL;
    }
    ok(pack_chunkmap_open(path, "s", NULL, &map, &err) == PACK_ERR_UNSUPPORTED, "%s", err.text);
    ok(pack_chunkmap_open(path, "t", NULL, &map, &err) == PACK_ERR_UNSUPPORTED, "%s", err.text);
    ok(pack_chunkmap_open(path, "n", NULL, &map, &err) == PACK_ERR_NOT_FOUND, "%s", err.text);
    ok(pack_chunkmap_open("none.h5", "x", NULL, &map, &err) == PACK_ERR_NOT_FOUND, "%s",
       err.text);
}

static void
test_changes(void)
{
    struct pack_error err = { .text = "" };
    struct pack_chunkmap *map = NULL;
    struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
    struct stat st;
    made_write(&plain[0], path);
    if (pack_chunkmap_open(path, "x", NULL, &map, &err) != PACK_OK) {
        ok(false, "%s", err.text);
        return;
    }
    int fd = open(path, O_RDONLY);
    ok(pack_chunkmap_check(map, fd, &err) == PACK_OK &&
           pack_chunkmap_check(map, -1, &err) == PACK_OK,
       "a file that nobody touched is the same");
    utimensat(AT_FDCWD, path, times, 0);
    ok(pack_chunkmap_check(map, fd, &err) == PACK_ERR_CHANGED, "%s", err.text);
    fstat(fd, &st);
    if (truncate(path, st.st_size - 1) == 0)
        ok(pack_chunkmap_check(map, fd, &err) == PACK_ERR_CHANGED, "%s", err.text);
    unlink(path);
    made_write(&plain[0], path);
    ok(pack_chunkmap_check(map, -1, &err) == PACK_ERR_CHANGED, "%s", err.text);
    close(fd);
    pack_chunkmap_close(map);
}

/* A layout message whose version is another makes contiguous data compact, of no bytes. */
static void
test_short_compact(void)
{
    static const struct made made = { .type = "u8", .rank = 2, .dims = { 64, 768 } };
    static uint8_t bytes[1 << 16];
    struct pack_chunkmap *map = NULL;
    struct pack_error err = { .text = "" };
    uint8_t layout[10] = { 3, 1 };
    made_write(&made, path);
    if (pack_chunkmap_open(path, "x", NULL, &map, &err) == PACK_OK)
        memcpy(layout + 2, &map->facts.contiguous_address, 8);
    pack_chunkmap_close(map);
    int fd = open(path, O_RDWR);
    ssize_t size = pread(fd, bytes, sizeof bytes, 0);
    uint8_t *found = size > 0 ? memmem(bytes, (size_t)size, layout, sizeof layout) : NULL;
    bool changed = found && pwrite(fd, "\1", 1, found - bytes) == 1;
    close(fd);
    map = NULL;
    enum pack_status status = pack_chunkmap_open(path, "x", NULL, &map, &err);
    ok(changed && status != PACK_OK && strstr(err.text, path), "%s", err.text);
    if (status == PACK_OK)
        pack_chunkmap_close(map);
}

/* A dataset of n_all chunks, of which the first n_stored are in the file. */
static void
make_many(hsize_t n_all, hsize_t n_stored)
{
    static unsigned char values[1 << 14];
    hsize_t dims = n_all, one = 1, n = n_stored, start = 0;
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, &dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(dcpl, 1, &one);
    hid_t set = H5Dcreate2(file, "x", H5T_STD_U8LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    hid_t memory = H5Screate_simple(1, &n, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &n, NULL);
    H5Dwrite(set, H5T_NATIVE_UINT8, memory, space, H5P_DEFAULT, values);
    H5Sclose(memory);
    H5Dclose(set);
    H5Pclose(dcpl);
    H5Sclose(space);
    H5Fclose(file);
}

struct asked {
    int n, stop_at;
};

static bool
is_asked(void *context)
{
    struct asked *asked = context;
    return ++asked->n == asked->stop_at;
}

static void
test_limits(void)
{
    struct asked asked = { .stop_at = 2 };
    struct pack_watch watch = { .context = &asked, .stop = is_asked };
    uint64_t n_many = (1 << 16) + 1, enough = n_many * sizeof(struct pack_chunk);
    struct pack_chunkmap_limits limits = { .memory_bytes = enough - 1, .watch = &watch };
    struct pack_chunkmap *map = NULL;
    struct pack_error err = { .text = "" };
    make_many(n_many, 3);
    ok(pack_chunkmap_open(path, "x", &limits, &map, &err) == PACK_ERR_MEMORY &&
           strcmp(err.param, "memory_bytes") == 0 && strstr(err.text, "65537") &&
           strstr(err.text, path),
       "%s", err.text);
    limits.memory_bytes = enough;
    bool good = pack_chunkmap_open(path, "x", &limits, &map, &err) == PACK_OK;
    ok(good && asked.n == 0 && map->index.n_missing == n_many - 3,
       "behind the last chunk that there is none is looked for");
    pack_chunkmap_close(good ? map : NULL);
    make_many(1 << 14, 1 << 14);
    ok(pack_chunkmap_open(path, "x", &limits, &map, &err) == PACK_ERR_INTERRUPTED &&
           asked.n == 2,
       "listing chunks is stopped: %s, asked %d times", err.text, asked.n);
    asked = (struct asked){ .stop_at = 0 };
    limits.memory_bytes = 1; /* of so few it is others who say it */
    good = pack_chunkmap_open(path, "x", &limits, &map, &err) == PACK_OK;
    ok(good && asked.n == 4 && map->index.n_missing == 0, "all of them are listed");
    pack_chunkmap_close(good ? map : NULL);
}

int
main(void)
{
    pack_h5_quiet();
    test_limits();
    test_plain();
    test_filtered();
    test_others();
    test_changes();
    test_short_compact();
    unlink(path);
    return done();
}
