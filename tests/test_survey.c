/* What is known of a file before HDF5 is asked: its superblock; of chunks: sizes, order, gaps and
 * overlaps, by hand; and what a child sends before it comes to a bad end. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libpack/audit/salvage.h"
#include "libpack/hdf5/chunk_stats.h"
#include "libpack/hdf5/superblock.h"
#include "libpack/hdf5/survey.h"
#include "tests/made_h5.h"
#include "tests/tap.h"

static const char path[] = "test_survey.tmp.h5";

/* ------------------------------------------------------------------ superblocks */

static const unsigned char signature[] = { 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n' };

static void
put(unsigned char *at, uint64_t value, int size)
{
    for (int i = 0; i < size; i++, value >>= 8)
        at[i] = (unsigned char)value;
}

/* Of version 0 or 1, with offsets of so many bytes. */
static void
make_old(unsigned char *bytes, unsigned version, int size, uint64_t end, uint64_t driver)
{
    unsigned char *at = bytes + (version == 1 ? 28 : 24);
    memset(bytes, 0, PACK_SUPERBLOCK_BYTES);
    memcpy(bytes, signature, sizeof signature);
    bytes[8] = (unsigned char)version;
    bytes[13] = (unsigned char)size;
    put(at + 2 * size, end, size);
    put(at + 3 * size, driver, size);
}

static void
make_new(unsigned char *bytes, unsigned version, int size, uint64_t end, unsigned flags)
{
    memset(bytes, 0, PACK_SUPERBLOCK_BYTES);
    memcpy(bytes, signature, sizeof signature);
    bytes[8] = (unsigned char)version;
    bytes[9] = (unsigned char)size;
    bytes[11] = (unsigned char)flags;
    put(bytes + 12 + 2 * size, end, size);
}

static void
test_superblocks(void)
{
    unsigned char bytes[PACK_SUPERBLOCK_BYTES];
    struct pack_superblock s;
    for (unsigned version = 0; version < 2; version++)
        for (int size = 2; size <= 8; size *= 2) {
            make_old(bytes, version, size, 777, UINT64_MAX);
            ok(pack_superblock_parse(bytes, 512, &s) && s.version == version &&
                   s.end_bytes == 777 && s.start_bytes == 512 && !s.has_driver &&
                   !s.is_marked_open,
               "version %u, offsets of %d bytes", version, size);
            make_old(bytes, version, size, 777, 96);
            ok(pack_superblock_parse(bytes, 0, &s) && s.has_driver, "with a driver's block");
        }
    for (unsigned flags = 0; flags < 8; flags++) {
        make_new(bytes, 2 + flags % 2, 8, UINT64_C(1) << 40, flags);
        ok(pack_superblock_parse(bytes, 0, &s) && s.end_bytes == UINT64_C(1) << 40 &&
               s.is_marked_open == ((flags & 5) != 0),
           "version %u, flags %u", 2 + flags % 2, flags);
    }
    make_new(bytes, 3, 8, UINT64_MAX, 0);
    ok(pack_superblock_parse(bytes, 0, &s) && s.end_bytes == 0, "an end that is not said");
    make_new(bytes, 4, 8, 1, 0);
    ok(!pack_superblock_parse(bytes, 0, &s), "a version that is not known");
    make_new(bytes, 3, 3, 1, 0);
    ok(!pack_superblock_parse(bytes, 0, &s), "offsets of 3 bytes");
    make_new(bytes, 3, 8, 1, 0);
    bytes[3] = 'f';
    ok(!pack_superblock_parse(bytes, 0, &s), "another file");
}

/* What HDF5 writes, behind user blocks. */
static void
test_found(void)
{
    static const unsigned starts[] = { 0, 512, 2048 };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        const struct made made = { .type = "u8", .rank = 1, .dims = { 100 },
                                   .user_block = starts[i], .v110 = i == 1 };
        struct pack_superblock s = { .version = 9 };
        made_write(&made, path);
        int fd = open(path, O_RDONLY);
        uint64_t size = (uint64_t)lseek(fd, 0, SEEK_END);
        ok(pack_superblock_find(fd, size, &s) && s.start_bytes == starts[i] &&
               s.end_bytes == size && s.version == (i == 1 ? 3 : 0),
           "behind a user block of %u bytes", starts[i]);
        close(fd);
    }
}

/* -------------------------------------------------------------------- chunks */

static void
test_stats(void)
{
    /* number, address, bytes, mask; the file has 1000 bytes */
    struct pack_chunk chunks[] = {
        { 0, 128, 100, 0 },         { 1, 256, 64, 1 },
        { 2, PACK_CHUNK_MISSING, 0, 0 }, { 3, 64, 64, 0 },
        { 4, 304, 32, 0 },          { 5, 960, 41, 0 },
        { 6, 512, 16, 0 },
    };
    const struct pack_chunkindex index = { .chunks = chunks, .n_chunks = 7 };
    struct pack_chunk_stats s;
    ok(pack_chunk_stats_make(&index, 1000, &s, NULL) == PACK_OK && s.n_stored == 6 &&
           s.n_missing == 1 && s.n_masked == 1 && s.left_out == 0,
       "stored, missing, masked");
    ok(s.stored_min_bytes == 16 && s.stored_max_bytes == 100 && s.stored_median_bytes == 64 &&
           s.stored_p99_bytes == 100,
       "sizes");
    ok(s.n_backward == 2, "two lie before the one that precedes them");
    ok(s.n_overlapping == 1 && s.n_beyond_end == 1 && s.first_bad == 4,
       "one overlaps, one is beyond the end");
    for (size_t i = 0; i < 7; i++)
        chunks[i].filter_mask = i == 2 ? 0 : i == 6 ? 6 : 3;
    ok(pack_chunk_stats_make(&index, 1000, &s, NULL) == PACK_OK && s.n_masked == 6 &&
           s.left_out == 2,
       "what all that are stored left out: %x", s.left_out);
    const struct pack_chunkindex missing = { .chunks = &chunks[2], .n_chunks = 1 };
    struct pack_chunk_stats no_stats;
    ok(pack_chunk_stats_make(&missing, 1000, &no_stats, NULL) == PACK_OK &&
           no_stats.left_out == 0,
       "nothing, where nothing is stored");
    /* 64 to 528: 64+100 bytes, 28 free, 64 + 16, 176 free, 16 */
    ok(s.span_bytes == 464 && s.gap_bytes == 28 + 176, "%llu bytes, of these %llu in no chunk",
       (unsigned long long)s.span_bytes, (unsigned long long)s.gap_bytes);
    ok(s.aligned_bytes == 16, "all addresses divide by 16");
    chunks[5].stored_bytes = 40;
    ok(pack_chunk_stats_make(&index, 1000, &s, NULL) == PACK_OK && s.n_beyond_end == 0,
       "a chunk may end where the file does");
    chunks[5].stored_bytes = UINT64_MAX;
    ok(pack_chunk_stats_make(&index, 1000, &s, NULL) == PACK_OK && s.n_beyond_end == 1,
       "sizes that lie do not overflow");
    chunks[0].address_bytes = 4 << 20;
    const struct pack_chunkindex one = { .chunks = chunks, .n_chunks = 1 };
    ok(pack_chunk_stats_make(&one, 8 << 20, &s, NULL) == PACK_OK &&
           s.aligned_bytes == 1 << 20 && s.gap_bytes == 0 && s.span_bytes == 100 &&
           s.first_bad == UINT64_MAX,
       "a single one");
    const struct pack_chunkindex none = { .chunks = chunks, .n_chunks = 0 };
    ok(pack_chunk_stats_make(&none, 1000, &s, NULL) == PACK_OK && s.n_stored == 0 &&
           s.aligned_bytes == 0 && s.span_bytes == 0,
       "none");
}

/* -------------------------------------------------------------------- sending */

static enum pack_status
send_some(void *context, struct pack_h5_guard *guard, struct pack_error *err)
{
    const char *how = context;
    enum pack_status status = pack_h5_guard_send(guard, "first,", 6, err);
    if (status == PACK_OK)
        status = pack_h5_guard_send(guard, "second", 6, err);
    if (strcmp(how, "segv") == 0)
        raise(SIGSEGV);
    if (strcmp(how, "flood") == 0) {
        char *much = calloc(1, 100 << 20);
        for (int i = 0; i < 3 && much && status == PACK_OK; i++)
            status = pack_h5_guard_send(guard, much, 100 << 20, err);
        free(much);
    }
    return status;
}

static void
test_sending(void)
{
    static const char *const ways[] = { "fine", "segv" };
    for (size_t i = 0; i < 2; i++) {
        struct pack_buf sent = { 0 };
        struct pack_error err = { .text = "" };
        enum pack_status status =
            pack_h5_guard_gather(path, NULL, send_some, (void *)ways[i], &sent, &err);
        ok(status == (i ? PACK_ERR_FORMAT : PACK_OK) && sent.size == 12 &&
               memcmp(sent.data, "first,second", 12) == 0,
           "what was sent arrives: %s %s", ways[i], err.text);
        pack_buf_done(&sent);
    }
    struct pack_buf sent = { 0 };
    struct pack_error err = { .text = "" };
    ok(pack_h5_guard_gather(path, NULL, send_some, "flood", &sent, &err) == PACK_ERR_LIMIT &&
           sent.size == 12 + (200u << 20),
       "there is a limit: %s", err.text);
    pack_buf_done(&sent);
    ok(pack_h5_guard_try(path, NULL, send_some, "fine", &err) == PACK_ERR_LIMIT,
       "who does not listen is not told");
}

/* --------------------------------------------------------------------- surveys */

static void
test_survey(void)
{
    const struct made made = { .type = "u8", .rank = 2, .dims = { 30, 8 }, .chunk = { 4, 8 },
                               .pipeline = "gzip:1", .sparse = true };
    struct pack_survey s;
    struct pack_error err = { .text = "" };
    made_write(&made, path);
    ok(pack_survey_file(path, NULL, NULL, &s, &err) == PACK_OK && s.is_complete &&
           s.status == PACK_OK && s.n_datasets == 1 && s.file.n_datasets == 1 &&
           s.datasets[0].has_stats && s.datasets[0].stats.n_stored == 4 &&
           s.datasets[0].stats.n_missing == 4 && s.n_alike == 0,
       "a file and its dataset %s", err.text);
    pack_survey_done(&s);
    ok(pack_survey_file("test_survey.nothing", NULL, NULL, &s, &err) == PACK_ERR_NOT_FOUND,
       "%s", err.text);
    ok(pack_survey_file("/", NULL, NULL, &s, &err) == PACK_ERR_ARGUMENT, "%s", err.text);
    ok(pack_survey_file("/dev/null", NULL, NULL, &s, &err) == PACK_ERR_ARGUMENT, "%s", err.text);
    if (truncate(path, 300) != 0)
        ok(false, "the file is cut");
    ok(pack_survey_file(path, NULL, NULL, &s, &err) == PACK_OK && s.is_complete &&
           s.status != PACK_OK && s.file.has_superblock && s.file.superblock.end_bytes > 300,
       "a file that was cut: %s", s.failure.text);
    pack_survey_done(&s);
}

static void
test_alike(void)
{
    struct pack_survey s;
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hsize_t dims[] = { 3, 4 }, other[] = { 3, 5 };
    hid_t space = H5Screate_simple(2, dims, NULL), larger = H5Screate_simple(2, other, NULL);
    H5Gclose(H5Gcreate2(file, "set", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    for (int i = 0; i < 9; i++) {
        char name[32];
        snprintf(name, sizeof name, i < 5 ? "set/%d" : "%d", i);
        H5Dclose(H5Dcreate2(file, name, i == 4 ? H5T_NATIVE_INT16 : H5T_NATIVE_UINT8,
                            i == 5 ? larger : space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    }
    H5Sclose(space);
    H5Sclose(larger);
    H5Fclose(file);
    enum pack_status status = pack_survey_file(path, NULL, NULL, &s, NULL);
    ok(status == PACK_OK && s.n_datasets == 9 && s.n_alike == 2 && s.alike[0].n == 4 &&
           strcmp(s.alike[0].group, "set") == 0 && s.alike[0].extent.extent[1] == 4 &&
           s.alike[1].n == 3 && s.alike[1].group[0] == '\0',
       "datasets are alike in two groups, most in the first");
    pack_survey_done(&s);
}

/* What a child says of chunks that are not of the dataset's grid is not followed. */
static void
test_lying(void)
{
    const struct pack_salvage_params params = { .file = "x.h5", .output = "never.h5" };
    static const uint64_t one_coordinate[1] = { 0 };
    for (int i = 0; i < 3; i++) {
        struct pack_verify_bad bad = { .rank = i == 0 ? 1 : 2, .coords = one_coordinate };
        struct pack_verify_set set = { .path = "x",
                                       .layout = PACK_LAYOUT_CHUNKED,
                                       .extent = { 2, { 9, 9 } },
                                       .chunk = { i == 1 ? 1 : 2, { 3, i == 2 ? 0 : 3 } },
                                       .is_done = true,
                                       .n_bad = 1,
                                       .n_listed = 1 };
        const struct pack_verify_result verified = { &set, 1, &bad, 1, .status = PACK_OK };
        struct pack_salvaged salvaged;
        struct pack_error err = { .text = "" };
        ok(pack_salvage(&params, &verified, &salvaged, &err) == PACK_ERR_FORMAT &&
               access("never.h5", F_OK) != 0,
           "no grid: %s", err.text);
    }
}

int
main(void)
{
    test_superblocks();
    test_found();
    test_stats();
    test_survey();
    test_alike();
    test_sending();
    test_lying();
    unlink(path);
    return done();
}
