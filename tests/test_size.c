/* Sizes: products that overflow are refused, texts and numbers agree in both
 * directions. */
#include "libpack/base/size.h"
#include "tests/tap.h"

static void
test_products(void)
{
    uint64_t out = 7;
    ok(!pack_size_mul(UINT64_C(1) << 32, UINT64_C(1) << 32, &out) && out == 7,
       "2^32 * 2^32 is refused and leaves the output alone");
    ok(pack_size_mul(UINT64_MAX, 1, &out) && out == UINT64_MAX, "2^64-1 * 1 fits");
    ok(!pack_size_add(UINT64_MAX, 1, &out), "2^64-1 + 1 is refused");
    struct pack_shape huge = { .rank = 3, .extent = { 1u << 30, 1u << 30, 1u << 30 } };
    ok(!pack_shape_count(&huge, &out), "a shape of 2^90 elements is refused");
    huge.extent[2] = 0;
    ok(pack_shape_count(&huge, &out) && out == 0, "a shape with an empty axis counts 0");
}

static void
test_shapes(void)
{
    static const char *const bad[] = {
        "",    "x",    "3x",   "x3",    "3xx4",
        "0x3", "-1x2", "3x 4", "3x4.5", "18446744073709551616"
    };
    char text[PACK_SHAPE_TEXT_MAX];
    struct pack_shape shape;
    struct pack_error err;
    ok(pack_shape_parse("1x224x224x3", &shape, &err) == PACK_OK && shape.rank == 4 &&
           shape.extent[1] == 224,
       "1x224x224x3 is read");
    is_text(pack_shape_format(&shape, text), "1x224x224x3", "and printed the same");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ok(pack_shape_parse(bad[i], &shape, &err) == PACK_ERR_ARGUMENT,
           "'%s' is no shape: %s", bad[i], err.text);
    char many[200] = "1";
    for (int i = 0; i < 32; i++)
        strcat(many, "x1");
    ok(pack_shape_parse(many, &shape, NULL) == PACK_ERR_ARGUMENT,
       "33 dimensions are too many");
}

static void
test_bytes(void)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = { { "0", 0 },           { "4096", 4096 },  { "64K", 65536 },
                 { "64KiB", 65536 },   { "64kb", 65536 }, { "1.5M", 1572864 },
                 { "2G", 1ull << 31 }, { "12B", 12 },     { "1T", 1ull << 40 } };
    static const char *const bad[] = { "",   "K",    "1.5", "-1",
                                       "1X", "1KiX", "1.K", "99999999T" };
    uint64_t bytes;
    struct pack_error err;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        ok(pack_bytes_parse(good[i].text, &bytes, &err) == PACK_OK &&
               bytes == good[i].bytes,
           "%s is %llu bytes", good[i].text, (unsigned long long)good[i].bytes);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ok(pack_bytes_parse(bad[i], &bytes, &err) == PACK_ERR_ARGUMENT,
           "'%s' is no size: %s", bad[i], err.text);
    char text[PACK_BYTES_TEXT_MAX];
    is_text(pack_bytes_format(1023, text), "1023 B", "bytes stay bytes below 1 KiB");
    is_text(pack_bytes_format(150528, text), "147.0 KiB", "147.0 KiB");
    is_text(pack_bytes_format((1ull << 20) - 1, text), "1.0 MiB",
            "1024.0 KiB is never printed");
}

static void
test_error(void)
{
    struct pack_error err;
    ok(pack_fail_errno(&err, 28, "cannot write '%s'", "x") == PACK_ERR_IO,
       "ENOSPC is an I/O error");
    is_text(err.text, "cannot write 'x': No space left on device",
            "with the system's words");
    pack_error_prefix(&err, PACK_ERR_IO, "image %d", 3);
    is_text(err.text, "image 3: cannot write 'x': No space left on device",
            "prefix goes in front");
}

int
main(void)
{
    test_products();
    test_shapes();
    test_bytes();
    test_error();
    return done();
}
