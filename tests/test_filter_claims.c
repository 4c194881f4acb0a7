/* What headers say of sizes: believed up to the bytes of the dataset's chunk, and no plugin is
 * called with one that says more. Real headers: filter_plugins.sh. */
#include "libpack/hdf5/filter_claims.h"
#include "libpack/hdf5/filter_plugin.h"
#include "tests/tap.h"

enum { BLOSC = 32001, LZ4 = 32004, BITSHUFFLE = 32008, BLOSC2 = 32026, MOST = 1000, SIZE = 200 };

static unsigned char bytes[SIZE];

static void
put_big(size_t at, int n, uint64_t value)
{
    for (int i = n - 1; i >= 0; i--, value >>= 8)
        bytes[at + (size_t)i] = (unsigned char)value;
}

static void
put_little(size_t at, uint32_t value)
{
    for (size_t i = 0; i < 4; i++, value >>= 8)
        bytes[at + i] = (unsigned char)value;
}

/* The sentence ends with `wants`; it is fine when that is NULL. */
static void
check(const struct pack_filter *filter, size_t size, const char *wants, const char *what)
{
    struct pack_error err = { .text = "" };
    /* a copy of just these bytes, for a sanitizer to see who reads beyond them */
    unsigned char *copy = memcpy(malloc(size + 1), bytes, size);
    enum pack_status status =
        pack_claims_check(filter, (struct pack_block){ copy, size }, MOST, &err);
    free(copy);
    size_t n = strlen(err.text), m = wants ? strlen(wants) : 0;
    ok(wants ? status == PACK_ERR_FORMAT && n >= m && strcmp(err.text + n - m, wants) == 0
             : status == PACK_OK,
       "%s%s%s", what, err.text[0] ? ": " : "", err.text);
}

static void
test_blosc(void)
{
    const struct pack_filter filter = { .id = BLOSC };
    memset(bytes, 0xff, sizeof bytes);
    put_little(4, MOST);
    put_little(12, SIZE);
    check(&filter, SIZE, NULL, "a header of blosc");
    check(&filter, SIZE - 1, "stored 200 bytes, of which 199 are there", "one byte less");
    check(&filter, 15, "(blosc) stored 16 bytes, of which 15 are there", "less than a header");
    put_little(4, MOST + 1);
    check(&filter, SIZE, "(blosc) says that it decodes to 1001 bytes, of 1000 at most",
          "one byte more than a chunk has");
    put_little(4, UINT32_MAX);
    check(&filter, SIZE, "to 4294967295 bytes, of 1000 at most", "four gigabytes");
}

static void
test_lz4(void)
{
    struct pack_filter filter = { .id = LZ4 };
    memset(bytes, 0xff, sizeof bytes);
    check(&filter, SIZE, "(lz4) says that it decodes to 18446744073709551615 bytes, of 1000 at most",
          "lz4's largest number");
    put_big(0, 8, MOST);
    check(&filter, 12, NULL, "a header of lz4");
    check(&filter, 11, "(lz4) stored 12 bytes, of which 11 are there", "less than a header");
    put_big(0, 8, MOST + 1);
    check(&filter, 12, "to 1001 bytes, of 1000 at most", "one byte more");
    filter = (struct pack_filter){ .id = BITSHUFFLE, .n_cd = 5, .cd = { 0, 4, 2, 0, 2 } };
    check(&filter, SIZE, "(bitshuffle) says that it decodes to 1001 bytes, of 1000 at most",
          "bitshuffle with lz4");
    filter.cd[4] = 3;
    check(&filter, SIZE, "to 1001 bytes, of 1000 at most", "bitshuffle with zstd");
    filter.cd[4] = 0;
    check(&filter, SIZE, NULL, "bitshuffle alone has no header");
    filter.n_cd = 4, filter.cd[4] = 2;
    check(&filter, 3, NULL, "nor has an older one");
}

static void
test_blosc2(void)
{
    enum { HEADER = 100 };
    struct pack_filter filter = { .id = BLOSC2 };
    memset(bytes, 0xff, sizeof bytes);
    put_big(11, 4, HEADER);
    put_big(30, 8, MOST);
    put_big(53, 4, MOST);
    put_little(HEADER + 4, MOST);
    check(&filter, SIZE, NULL, "a frame of blosc2");
    check(&filter, 86, "(blosc2) stored 87 bytes, of which 86 are there", "less than a header");
    put_big(30, 8, UINT64_C(1) << 40);
    check(&filter, SIZE, "to 1099511627776 bytes, of 1000 at most", "a frame too large");
    put_big(30, 8, MOST);
    put_big(53, 4, 0x7fffffff);
    check(&filter, SIZE, "to 2147483647 bytes, of 1000 at most", "chunks too large");
    put_big(53, 4, MOST);
    put_little(HEADER + 4, MOST + 1);
    check(&filter, SIZE, "to 1001 bytes, of 1000 at most", "a chunk too large");
    check(&filter, HEADER + 15, NULL, "a chunk that is not there is not looked at");
    put_big(30, 8, 2 * 2 * 2 * MOST + 7);
    filter = (struct pack_filter){ .id = BLOSC2, .n_cd = 11, .cd = { 1, 0, 4, MOST, 5, 1, 0, 3 } };
    check(&filter, SIZE, NULL, "three dimensions in blocks");
    put_big(30, 8, 2 * 2 * 2 * MOST + 8);
    check(&filter, SIZE, "to 8008 bytes, of 1000 at most", "too many blocks");
    put_big(30, 8, MOST);
    filter.cd[3] = 0x7fffffff;
    check(&filter, SIZE, "to 2147483647 bytes, of 1000 at most", "a value of the filter's");
    filter.cd[7] = UINT32_MAX;
    filter.cd[3] = MOST << 16;
    check(&filter, SIZE, NULL, "and of dimensions without number, 16 are believed");
    filter.cd[3] += 1 << 16;
    check(&filter, SIZE, "to 65601536 bytes, of 1000 at most", "but no more");
}

static int n_calls;

static size_t
call(unsigned flags, size_t n_cd, const unsigned *cd, size_t size, size_t *capacity,
     void **buffer)
{
    (void)flags, (void)n_cd, (void)cd, (void)capacity, (void)buffer;
    n_calls++;
    return size;
}

static void
test_calling(void)
{
    const struct pack_filter filter = { .id = LZ4 };
    struct pack_plugin plugin = { .id = LZ4 };
    struct pack_plugin_buffer buffer = { .data = NULL };
    unsigned char out[SIZE];
    struct pack_block block = { bytes, SIZE };
    struct pack_block_room room = { out, SIZE };
    size_t (*function)(unsigned, size_t, const unsigned *, size_t, size_t *, void **) = call;
    memcpy(&plugin.call, &function, sizeof plugin.call);
    put_big(0, 8, SIZE + 1);
    ok(pack_plugin_decode(&plugin, &filter, room, &buffer, &block, NULL) == PACK_ERR_FORMAT &&
           n_calls == 0,
       "a plugin is not called with a header that says too much");
    put_big(0, 8, SIZE);
    ok(pack_plugin_decode(&plugin, &filter, room, &buffer, &block, NULL) == PACK_OK &&
           n_calls == 1 && block.data == out && block.size == SIZE &&
           memcmp(out, bytes, SIZE) == 0,
       "and is with another");
    free(buffer.data);
}

int
main(void)
{
    const struct pack_filter other = { .id = 307 };
    test_blosc();
    test_lz4();
    test_blosc2();
    memset(bytes, 0xff, sizeof bytes);
    check(&other, 1, NULL, "other filters have no header that is known here");
    test_calling();
    return done();
}
