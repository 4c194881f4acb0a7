/* Filter pipelines: the bytes are those that HDF5 itself stores, each reads the other's,
 * and damaged or hostile chunks end in a sentence. */
#include <stdint.h>
#include <unistd.h>
#include <zstd.h>

#include "libpack/hdf5/filter.h"
#include "libpack/hdf5/filter_parts.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_parts.h"
#include "libpack/base/rng.h"
#include "tests/tap.h"

enum { SIZE_MAX_TESTED = 200000 };

static struct pack_filter_ctx *ctx;

/* Contents that compress well, a bit, and not at all. */
static void
fill(uint8_t *data, size_t size, int kind, uint64_t seed)
{
    struct pack_rng rng;
    pack_rng_seed(&rng, seed);
    for (size_t i = 0; i < size; i++)
        data[i] = kind == 0   ? (uint8_t)(i / 512)
                  : kind == 1 ? (uint8_t)(i / 3 + (pack_rng_next(&rng) & 3))
                              : (uint8_t)pack_rng_next(&rng);
}

static hid_t
type_of(size_t bytes)
{
    return bytes == 1   ? H5T_STD_U8LE
           : bytes == 2 ? H5T_STD_U16LE
           : bytes == 4 ? H5T_STD_U32LE
           : bytes == 8 ? H5T_STD_U64LE
                        : -1;
}

/* A file in memory with a dataset of one chunk of n elements, filtered by `pipeline`. */
struct target {
    hid_t file, set;
};

static bool
target_open(struct target *target, const struct pack_pipeline *pipeline, size_t n,
            hid_t type)
{
    hsize_t dims[] = { n };
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_fapl_core(fapl, 1 << 20, false);
    H5Pset_chunk(dcpl, 1, dims);
    for (int i = 0; i < pipeline->n; i++) {
        const struct pack_filter *filter = &pipeline->filter[i];
        size_t n_cd = filter->id == PACK_FILTER_SHUFFLE ? 0 : filter->n_cd;
        H5Pset_filter(dcpl, (H5Z_filter_t)filter->id, filter->flags, n_cd, filter->cd);
    }
    hid_t space = H5Screate_simple(1, dims, NULL);
    target->file = H5Fcreate("test_filter.tmp.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    target->set =
        H5Dcreate2(target->file, "x", type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    H5Sclose(space);
    H5Pclose(dcpl);
    H5Pclose(fapl);
    return target->set >= 0;
}

static void
target_close(struct target *target)
{
    H5Dclose(target->set);
    H5Fclose(target->file);
}

/* Whether encoding into the caller's room gives the same, and leaves it there. */
static bool
stays_in_room(const struct pack_pipeline *pipeline, const uint8_t *data, size_t size,
              const struct pack_stored *want)
{
    struct pack_stored got = { 0 };
    size_t bound = pack_pipeline_bound(pipeline, size);
    uint8_t *room = malloc(bound ? bound : 1); /* memory checkers see what is beyond */
    bool same = pack_pipeline_encode_to(pipeline, ctx, data, size, room, &got, NULL) ==
                    PACK_OK &&
                (got.data == room || (got.data == data && got.size == size)) &&
                got.size == want->size && got.filter_mask == want->filter_mask &&
                memcmp(got.data, want->data, got.size) == 0;
    free(room);
    return same;
}

/* Our bytes equal HDF5's, and each decodes the other's. */
static bool
agrees(const struct pack_pipeline *pipeline, const uint8_t *data, size_t n, size_t width)
{
    static uint8_t theirs[2 * SIZE_MAX_TESTED], back[SIZE_MAX_TESTED];
    struct pack_error err = { .text = "" };
    struct target target;
    hsize_t origin[] = { 0 }, theirs_size = 0;
    uint32_t theirs_mask = 0;
    hid_t type = type_of(width);
    struct pack_stored ours = { .filter_mask = 99 };
    size_t size = n * width;
    bool good =
        target_open(&target, pipeline, n, type) &&
        H5Dwrite(target.set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0 &&
        H5Dflush(target.set) >= 0 &&
        H5Dget_chunk_storage_size(target.set, origin, &theirs_size) >= 0 &&
        pack_h5_read_chunk(target.set, origin, &theirs_mask, theirs, sizeof theirs) >= 0;
    target_close(&target);
    good = good &&
           pack_pipeline_encode(pipeline, ctx, data, size, &ours, &err) == PACK_OK;
    if (!good || ours.size != theirs_size || ours.filter_mask != theirs_mask ||
        memcmp(ours.data, theirs, ours.size) != 0) {
        note("%zu bytes, mask %x; HDF5: %llu bytes, mask %x: %s", ours.size,
             ours.filter_mask, (unsigned long long)theirs_size, theirs_mask, err.text);
        return false;
    }
    memset(back, 0, size);
    good = target_open(&target, pipeline, n, type) &&
           H5Dwrite_chunk(target.set, H5P_DEFAULT, ours.filter_mask, origin, ours.size,
                          ours.data) >= 0 &&
           H5Dread(target.set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, back) >= 0 &&
           memcmp(back, data, size) == 0;
    target_close(&target);
    memset(back, 0, size);
    struct pack_stored stored = { theirs, (size_t)theirs_size, theirs_mask };
    if (pack_pipeline_decode(pipeline, ctx, &stored, back, size, &err) != PACK_OK ||
        memcmp(back, data, size) != 0) {
        note("decoding: %s", err.text);
        good = false;
    }
    stored = (struct pack_stored){ theirs, (size_t)theirs_size, theirs_mask };
    return good && ours.size <= pack_pipeline_bound(pipeline, size) &&
           stays_in_room(pipeline, data, size, &stored);
}

static void
test_against_hdf5(void)
{
    static const char *const texts[] = {
        "none",
        "gzip:0",
        "gzip:1",
        "gzip:4",
        "gzip:9",
        "fletcher32",
        "shuffle",
        "shuffle+gzip:6",
        "gzip:6+fletcher32",
        "shuffle+gzip:1+fletcher32",
        "fletcher32+gzip:1",
        "gzip:1+gzip:1",
        "shuffle+fletcher32+fletcher32",
    };
    static const size_t widths[] = { 1, 2, 4, 8 }, counts[] = { 1, 2, 5, 719, 12345 };
    static uint8_t data[SIZE_MAX_TESTED];
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        int n = 0, bad = 0;
        for (size_t w = 0; w < 4; w++)
            for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
                for (int kind = 0; kind < 3; kind++, n++) {
                    struct pack_pipeline pipeline;
                    pack_pipeline_parse(texts[t], (uint32_t)widths[w], &pipeline, NULL);
                    fill(data, counts[c] * widths[w], kind, (uint64_t)n);
                    bad += !agrees(&pipeline, data, counts[c], widths[w]);
                }
        ok(bad == 0, "%s: same bytes as HDF5's, and read both ways, %d times", texts[t],
           n);
    }
}

/* Bytes behind the last whole element stay where they are. */
static void
test_rest(void)
{
    static const uint8_t data[11] = "abcdABCD+-*";
    int bad = 0;
    for (size_t size = 1; size <= sizeof data; size++) {
        struct pack_pipeline pipeline;
        uint8_t back[sizeof data];
        struct pack_stored stored = { 0 };
        memset(back, 0xee, sizeof back);
        pack_pipeline_parse("shuffle", 4, &pipeline, NULL);
        bad += pack_pipeline_encode(&pipeline, ctx, data, size, &stored, NULL) != PACK_OK ||
               stored.size != size ||
               (size == sizeof data && memcmp(stored.data, "aAbBcCdD+-*", size) != 0) ||
               pack_pipeline_decode(&pipeline, ctx, &stored, back, size, NULL) != PACK_OK ||
               memcmp(back, data, size) != 0;
    }
    is_number(bad, 0, "shuffled bytes that are no whole elements stay at the end");
}

static void
test_zstd(void)
{
    static uint8_t data[SIZE_MAX_TESTED], want[2 * SIZE_MAX_TESTED],
        back[SIZE_MAX_TESTED];
    int bad = 0, n = 0;
    for (int level = -5; level <= 9; level += 2)
        for (int kind = 0; kind < 3; kind++)
            for (size_t size = 1; size <= SIZE_MAX_TESTED; size = size * 21 + 1, n++) {
                char text[32];
                struct pack_pipeline pipeline;
                struct pack_stored ours = { 0 }, theirs = { .data = want };
                snprintf(text, sizeof text, "zstd:%d", level);
                pack_pipeline_parse(text, 1, &pipeline, NULL);
                fill(data, size, kind, (uint64_t)n);
                theirs.size = ZSTD_compress(want, sizeof want, data, size, level);
                bad += pack_pipeline_encode(&pipeline, ctx, data, size, &ours, NULL) !=
                           PACK_OK ||
                       ours.filter_mask != 0 || ours.size != theirs.size ||
                       memcmp(ours.data, want, theirs.size) != 0 ||
                       pack_pipeline_decode(&pipeline, ctx, &theirs, back, size, NULL) !=
                           PACK_OK ||
                       memcmp(back, data, size) != 0;
            }
    ok(bad == 0, "zstd: the frames of ZSTD_compress, from a reused context, %d times", n);
}

/* The filter that is registered with HDF5 stores what a pipeline does, at any level. */
static void
test_zstd_in_hdf5(void)
{
    static const char *const texts[] = { "zstd:-50", "zstd:-1", "zstd:1", "zstd:3", "zstd:9",
                                         "zstd:19",  "shuffle+zstd:12+fletcher32" };
    static uint8_t data[SIZE_MAX_TESTED];
    int bad = 0, n = 0;
    struct pack_pipeline pipeline;
    if (!ok(pack_h5_register_zstd(NULL) == PACK_OK, "zstd is registered"))
        return;
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++)
        for (int kind = 0; kind < 3; kind++, n++) {
            pack_pipeline_parse(texts[t], 2, &pipeline, NULL);
            fill(data, 50000, kind, (uint64_t)n);
            bad += !agrees(&pipeline, data, 25000, 2);
        }
    pipeline = (struct pack_pipeline){ 0 };
    pack_pipeline_add(&pipeline, PACK_FILTER_ZSTD, 0, 0, NULL, NULL);
    bad += !agrees(&pipeline, data, 25000, 2);
    ok(bad == 0, "in HDF5 it has the levels of pipelines, and 3 where none is given");

    static const uint8_t bomb[] = { 0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 1, 0, 0,
                                    3,    0,    0,    'x' };
    static uint8_t frame[1000], back[50000];
    struct target target;
    hsize_t origin[] = { 0 };
    int n_read = 0;
    for (int i = 0; i < 4; i++) {
        const void *bytes = i == 0 ? bomb : i == 1 ? (const void *)"no frame" : frame;
        size_t size = i == 0 ? sizeof bomb : 8;
        fill(data, 1000, 0, 0);
        if (i >= 2)
            size = ZSTD_compress(frame, sizeof frame, data, 1000, 3) - (i == 2);
        n_read += target_open(&target, &pipeline, 1000, H5T_STD_U8LE) &&
                  H5Dwrite_chunk(target.set, H5P_DEFAULT, 0, origin, size, bytes) >= 0 &&
                  H5Dread(target.set, H5T_STD_U8LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, back) >= 0;
        target_close(&target);
    }
    ok(n_read == 1 && memcmp(back, data, 1000) == 0,
       "what is no frame, claims too much or is cut is not decoded, a whole one is");
}

/* How much a frame says it holds is believed only as far as its length allows. */
static void
test_zstd_claims(void)
{
    static uint8_t zeros[3 << 20], frame[1000];
    static const uint8_t bomb[] = { 0x28, 0xb5, 0x2f, 0xfd, 0xe0, /* 2^40 bytes */
                                    0,    0,    0,    0,    0,    1, 0, 0,
                                    3,    0,    0,    'x' };
    size_t size = ZSTD_compress(frame, sizeof frame, zeros, sizeof zeros, 19);
    is_number((long long)pack_filter_zstd_size(frame, size), sizeof zeros,
              "a frame of zeros is believed");
    is_number((long long)pack_filter_zstd_size(bomb, sizeof bomb), 0,
              "17 bytes that claim a tebibyte are not");
}

/* A fletcher32 sum with the bytes of its halves exchanged is what HDF5 1.6.2 wrote. */
static void
test_old_fletcher(void)
{
    struct pack_pipeline pipeline;
    uint8_t data[100], back[100], stored[104];
    struct pack_stored out;
    fill(data, sizeof data, 2, 1);
    pack_pipeline_parse("fletcher32", 1, &pipeline, NULL);
    pack_pipeline_encode(&pipeline, ctx, data, sizeof data, &out, NULL);
    memcpy(stored, out.data, sizeof stored);
    out.data = stored;
    uint8_t a = stored[100], c = stored[102];
    stored[100] = stored[101], stored[101] = a;
    stored[102] = stored[103], stored[103] = c;
    ok(pack_pipeline_decode(&pipeline, ctx, &out, back, sizeof back, NULL) == PACK_OK,
       "a fletcher32 sum as HDF5 1.6.2 wrote it is accepted");
}

static void
expect_decode(const char *text, const void *data, size_t size, size_t out_size,
              enum pack_status want, const char *what)
{
    struct pack_pipeline pipeline = { 0 };
    struct pack_error err = { .text = "(no failure)" };
    struct pack_stored stored = { .data = data, .size = size };
    static uint8_t out[SIZE_MAX_TESTED];
    if (pack_pipeline_parse(text, 1, &pipeline, NULL) != PACK_OK)
        pack_pipeline_add(&pipeline, 32001, 0, 0, NULL, NULL);
    ok(pack_pipeline_decode(&pipeline, ctx, &stored, out, out_size, &err) == want,
       "%s: %s", what, err.text);
}

static void
test_damage(void)
{
    static uint8_t data[50000], stored[SIZE_MAX_TESTED];
    static const char *const texts[] = { "gzip:4", "zstd:3", "fletcher32" };
    fill(data, sizeof data, 1, 5);
    for (size_t t = 0; t < 3; t++) {
        struct pack_pipeline pipeline;
        struct pack_stored out;
        pack_pipeline_parse(texts[t], 1, &pipeline, NULL);
        pack_pipeline_encode(&pipeline, ctx, data, sizeof data, &out, NULL);
        size_t size = out.size;
        memcpy(stored, out.data, size);
        expect_decode(texts[t], stored, size / 2, sizeof data, PACK_ERR_FORMAT, "cut");
        expect_decode(texts[t], stored, 0, sizeof data, PACK_ERR_FORMAT, "empty");
        expect_decode(texts[t], stored, size, sizeof data - 1, PACK_ERR_FORMAT,
                      "more than the chunk");
        expect_decode(texts[t], stored, size, sizeof data + 1, PACK_ERR_FORMAT,
                      "less than the chunk");
        memset(stored, 0xA5, 64);
        expect_decode(texts[t], stored, size, sizeof data, PACK_ERR_FORMAT,
                      "overwritten");
    }
    expect_decode("(blosc)", data, 100, 100, PACK_ERR_UNSUPPORTED, "an unknown filter");
    expect_decode("shuffle+shuffle", data, 1000, 100, PACK_ERR_FORMAT, "too many bytes");
}

static void
expect_mask(const char *what, const struct pack_pipeline *pipeline, uint32_t want_mask,
            enum pack_status want)
{
    uint8_t data[64] = { 0 };
    struct pack_stored out = { 0 };
    struct pack_error err = { .text = "" };
    enum pack_status status =
        pack_pipeline_encode(pipeline, ctx, data, sizeof data, &out, &err);
    ok(status == want && out.filter_mask == want_mask && (want || !err.text[0]), "%s: %s", what,
       err.text);
}

/* As h5py 3.7 stores 94 bytes: literals, and copies that are short, long and overlap. */
static void
test_lzf(void)
{
    static const uint8_t stored[] =
        "\x03"
        "abca\xe0\x05\x02\x1f\0\1\2\3\4\5\6\7\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
        "\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x08"
        "\x20\x21\x22\x23\x24\x25\x26\x27\0\xe0\x14\0\x40\x54\x01"
        "bc";
    enum { STORED = sizeof stored - 1, SIZE = 94 };
    struct pack_pipeline pipeline = { 0 };
    struct pack_stored chunk = { stored, STORED, 0 };
    uint8_t data[SIZE], want[SIZE], copy[STORED];
    struct pack_rng rng;
    int n_bad = 0;
    uint32_t id = 0;
    for (int i = 0; i < SIZE; i++)
        want[i] = (uint8_t)(i < 18   ? "abc"[i % 3]
                            : i < 58 ? i - 18
                            : i < 88 ? 0
                                     : "abc"[(i - 88) % 3]);
    pack_pipeline_add(&pipeline, PACK_FILTER_LZF, PACK_FILTER_OPTIONAL, 0, NULL, NULL);
    ok(pack_pipeline_decode(&pipeline, ctx, &chunk, data, SIZE, NULL) == PACK_OK &&
           memcmp(data, want, SIZE) == 0,
       "lzf is decoded as h5py encodes it");
    ok(pack_pipeline_is_decoded(&pipeline, &id) && !pack_pipeline_is_known(&pipeline, &id) &&
           id == PACK_FILTER_LZF,
       "but is not one of those that are written");
    for (size_t size = 0; size < STORED; size++) {
        uint8_t *cut = malloc(size + 1); /* memory checkers see what is beyond */
        memcpy(cut, stored, size);
        chunk = (struct pack_stored){ cut, size, 0 };
        n_bad +=
            pack_pipeline_decode(&pipeline, ctx, &chunk, data, SIZE, NULL) != PACK_ERR_FORMAT;
        free(cut);
    }
    is_number(n_bad, 0, "a cut stream is damaged");
    pack_rng_seed(&rng, 3);
    for (int i = 0; i < 20000; i++) {
        memcpy(copy, stored, STORED);
        for (int k = 0; k < 3; k++)
            copy[pack_rng_below(&rng, STORED)] = (uint8_t)pack_rng_next(&rng);
        chunk = (struct pack_stored){ copy, STORED, 0 };
        enum pack_status status =
            pack_pipeline_decode(&pipeline, ctx, &chunk, data, SIZE, NULL);
        n_bad += status != PACK_OK && status != PACK_ERR_FORMAT;
    }
    is_number(n_bad, 0, "so is any other stream, if it does not decode");
    chunk = (struct pack_stored){ NULL, 0, 0 };
    ok(pack_pipeline_encode(&pipeline, ctx, want, SIZE, &chunk, NULL) == PACK_OK &&
           chunk.filter_mask == 1 && chunk.data == want,
       "where it would be written it is skipped");
}

static void
test_optional(void)
{
    struct pack_pipeline pipeline = { 0 };
    uint32_t bad_level = 10, level = 1;
    pack_pipeline_add(&pipeline, 1, PACK_FILTER_OPTIONAL, 1, &bad_level, NULL);
    pack_pipeline_add(&pipeline, 1, 0, 1, &level, NULL);
    expect_mask("an optional filter that cannot work is skipped", &pipeline, 1, PACK_OK);
    pipeline.filter[0].flags = 0;
    expect_mask("one that is not optional fails", &pipeline, 0, PACK_ERR_ARGUMENT);
    pipeline.filter[0].id = 32001;
    expect_mask("so does one that is unknown", &pipeline, 0, PACK_ERR_UNSUPPORTED);
    pipeline.filter[0].flags = PACK_FILTER_OPTIONAL;
    expect_mask("unless it is optional", &pipeline, 1, PACK_OK);
    struct pack_filter first = pipeline.filter[0];
    uint8_t data[64] = { 0 }, want[64];
    pipeline.filter[0] = pipeline.filter[1];
    pipeline.filter[1] = first;
    struct pack_stored out = { 0 };
    bool good = pack_pipeline_encode(&pipeline, ctx, data, sizeof data, &out, NULL) ==
                    PACK_OK &&
                out.filter_mask == 2 && out.size < sizeof want;
    memcpy(want, out.data, good ? out.size : 0);
    out.data = want;
    ok(good && stays_in_room(&pipeline, data, sizeof data, &out),
       "what is before a last filter that is skipped is left in the caller's room too");
}

/* What encoding can store, whichever filters are skipped. */
static void
test_bound(void)
{
    struct pack_pipeline gzip = { 0 }, p = { 0 };
    uint32_t level = 1;
    pack_pipeline_add(&gzip, PACK_FILTER_DEFLATE, 0, 1, &level, NULL);
    size_t alone = pack_pipeline_bound(&gzip, 1000);
    ok(alone > 1000, "a filter that is known may add to a chunk");
    is_number((long long)pack_pipeline_bound(&gzip, SIZE_MAX - 1), 0,
              "0 where that does not fit");
    pack_pipeline_add(&p, PACK_FILTER_DEFLATE, PACK_FILTER_OPTIONAL, 1, &level, NULL);
    is_number((long long)pack_pipeline_bound(&p, 1000), (long long)alone,
              "an optional one, too");
    is_number((long long)(pack_pipeline_bound(&p, SIZE_MAX - 1) - (SIZE_MAX - 1)), 0,
              "which leaves a chunk as it is where it does not fit");
    pack_pipeline_add(&p, 32001, PACK_FILTER_OPTIONAL, 0, NULL, NULL);
    is_number((long long)pack_pipeline_bound(&p, 1000), (long long)alone,
              "an optional one that is not known adds nothing");
    p.filter[1].flags = 0;
    is_number((long long)pack_pipeline_bound(&p, 1000), 0, "of one that is needed it is 0");
}

static void
test_texts(void)
{
    static const char *const good[][2] = {
        { "none", "none" },
        { "gzip", "gzip:4" },
        { "deflate:9", "gzip:9" },
        { "zstd", "zstd:3" },
        { "zstd:-5", "zstd:-5" },
        { "shuffle+zstd:19+fletcher32", "shuffle+zstd:19+fletcher32" },
    };
    static const char *const bad[] = { "",          "gzip:",
                                       "gzip:10",   "gzip:4x",
                                       "gzip: 4",   "zstd:23",
                                       "+gzip",     "gzip+",
                                       "lz4",       "shuffle:4",
                                       "none+gzip", "gzip++zstd",
                                       "GZIP",      "zstd:99999999999999999999" };
    struct pack_pipeline pipeline;
    struct pack_error err;
    char text[PACK_PIPELINE_TEXT_MAX];
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        enum pack_status status = pack_pipeline_parse(good[i][0], 2, &pipeline, &err);
        is_text(status ? err.text : pack_pipeline_format(&pipeline, text), good[i][1],
                good[i][0]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ok(pack_pipeline_parse(bad[i], 1, &pipeline, &err) == PACK_ERR_ARGUMENT,
           "'%s' is refused: %s", bad[i], err.text);
    pipeline.n = 0;
    for (uint32_t i = 0; i < PACK_PIPELINE_MAX; i++)
        pack_pipeline_add(&pipeline, UINT32_MAX - i, 0, 0, NULL, NULL);
    ok(pack_pipeline_add(&pipeline, 1, 0, 0, NULL, &err) == PACK_ERR_ARGUMENT,
       "a full pipeline takes no more: %s", err.text);
    ok(strlen(pack_pipeline_format(&pipeline, text)) < sizeof text &&
           strstr(text, "+..."),
       "a text that is too long is cut");
    is_text(pack_filter_need(32015, text), "needs filter 32015 (zstd): import hdf5plugin",
            "a missing filter is named with its package");
    pack_filter_need(UINT32_MAX, text);
    ok(strlen(text) < PACK_FILTER_NEED_MAX, "and one that nobody knows: %s", text);
}

/* The words for what cannot be, and for filters that are not there. */
static void
test_sentences(void)
{
    static const char *const bad[][2] = {
        { "gzip:10", "gzip level '10' is not a number from 0 to 9" },
        { "gzip:-1", "gzip level '-1' is not a number from 0 to 9" },
        { "gzip:", "gzip level '' is not a number from 0 to 9" },
        { "zstd:23", "zstd level '23' is not a number from -50 to 22" },
        { "zstd:-51", "zstd level '-51' is not a number from -50 to 22" },
        { "zstd:--5", "zstd level '--5' is not a number from -50 to 22" },
        { "gzip:1+zstd:3x+gzip", "zstd level '3x' is not a number from -50 to 22" },
        { "shuffle:4", "shuffle takes no level" },
        { "fletcher32:1", "fletcher32 takes no level" },
        { "gzip+lz4", "'lz4' is not none, gzip, zstd, shuffle or fletcher32" },
        { "gzi", "'gzi' is not none, gzip, zstd, shuffle or fletcher32" },
        { "gzipp", "'gzipp' is not none, gzip, zstd, shuffle or fletcher32" },
        { "", "'' is not none, gzip, zstd, shuffle or fletcher32" },
    };
    static const char *const good[] = { "gzip:0", "gzip:9", "zstd:-50", "zstd:22", "zstd:0" };
    static const struct {
        uint32_t id;
        const char *need;
    } needs[] = {
        { 1, "needs filter 1 (gzip): an HDF5 built with zlib" },
        { 2, "needs filter 2 (shuffle): any HDF5" },
        { 3, "needs filter 3 (fletcher32): any HDF5" },
        { 4, "needs filter 4 (szip): an HDF5 built with libaec" },
        { 5, "needs filter 5 (nbit): any HDF5" },
        { 6, "needs filter 6 (scaleoffset): any HDF5" },
        { 305, "needs filter 305 (lzo): PyTables" },
        { 307, "needs filter 307 (bzip2): import hdf5plugin" },
        { 32000, "needs filter 32000 (lzf): import h5py, or Debian's hdf5-plugin-lzf" },
        { 32001, "needs filter 32001 (blosc): import hdf5plugin" },
        { 32004, "needs filter 32004 (lz4): import hdf5plugin" },
        { 32008, "needs filter 32008 (bitshuffle): import hdf5plugin" },
        { 32013, "needs filter 32013 (zfp): import hdf5plugin" },
        { 32015, "needs filter 32015 (zstd): import hdf5plugin" },
        { 32017, "needs filter 32017 (sz): import hdf5plugin" },
        { 32018, "needs filter 32018 (fcidecomp): import hdf5plugin" },
        { 32019, "needs filter 32019 (jpeg): the HDF Group's hdf5_plugins" },
        { 32024, "needs filter 32024 (sz3): import hdf5plugin" },
        { 32026, "needs filter 32026 (blosc2): import hdf5plugin" },
        { 32028, "needs filter 32028 (sperr): import hdf5plugin" },
        { 77, "needs filter 77, which has no usual package" },
    };
    struct pack_pipeline pipeline = { 0 };
    struct pack_error err;
    char text[PACK_PIPELINE_TEXT_MAX], long_name[101];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        err.text[0] = '\0';
        pack_pipeline_parse(bad[i][0], 1, &pipeline, &err);
        is_text(err.text, bad[i][1], bad[i][0]);
    }
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        is_text(pack_pipeline_parse(good[i], 1, &pipeline, &err)
                    ? err.text
                    : pack_pipeline_format(&pipeline, text),
                good[i], "a level at its limit");
    memset(long_name, 'x', 100);
    long_name[100] = '\0';
    pack_pipeline_parse(long_name, 1, &pipeline, &err);
    ok(strlen(err.text) == 82 + strlen(" is not none, gzip, zstd, shuffle or fletcher32"),
       "80 letters of a name are enough: %s", err.text);
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
        is_text(pack_filter_need(needs[i].id, text), needs[i].need, "what a filter needs");
    ok(pack_pipeline_parse("shuffle+zstd:7+gzip+fletcher32", 8, &pipeline, &err) == PACK_OK &&
           pipeline.n == 4 && pipeline.filter[0].n_cd == 1 && pipeline.filter[0].cd[0] == 8 &&
           pipeline.filter[0].flags == PACK_FILTER_OPTIONAL && pipeline.filter[1].n_cd == 1 &&
           pipeline.filter[1].cd[0] == 7 && pipeline.filter[1].flags == PACK_FILTER_OPTIONAL &&
           pipeline.filter[2].cd[0] == 4 && pipeline.filter[3].n_cd == 0 &&
           pipeline.filter[3].flags == 0,
       "stages have their numbers, and only checksums are not optional");
    pipeline = (struct pack_pipeline){ 0 };
    pack_pipeline_add(&pipeline, 12345, 0, 0, NULL, NULL);
    is_text(pack_pipeline_format(&pipeline, text), "filter-12345", "an unknown one has a number");
    pipeline.n = -1;
    is_text(pack_pipeline_format(&pipeline, text), "unknown", "a pipeline that cannot be");
}

int
main(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (pack_filter_ctx_new(&ctx, NULL) != PACK_OK)
        return 1;
    test_against_hdf5();
    test_rest();
    test_zstd();
    test_zstd_in_hdf5();
    test_zstd_claims();
    test_old_fletcher();
    test_damage();
    test_lzf();
    test_optional();
    test_bound();
    test_texts();
    test_sentences();
    pack_filter_ctx_free(ctx);
    return done();
}
