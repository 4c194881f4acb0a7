/* Sizes: products that overflow are refused, texts and numbers agree in both
 * directions. */
#include "libpack/base/size.h"

#include <errno.h>

#include "libpack/base/check.h"
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
    ok(pack_shape_parse(many, &shape, &err) == PACK_ERR_ARGUMENT &&
           strstr(err.text, "' has more than 32 dimensions"),
       "33 dimensions are too many: %s", err.text);
    many[63] = '\0';
    ok(pack_shape_parse(many, &shape, NULL) == PACK_OK && shape.rank == PACK_RANK_MAX,
       "32 are not");
    ok(pack_shape_parse("3X18446744073709551615", &shape, NULL) == PACK_OK && shape.rank == 2 &&
           shape.extent[1] == UINT64_MAX,
       "nor is any extent too large for 64 bits");
    const struct pack_shape none = { .rank = 0 }, odd = { .rank = PACK_RANK_MAX + 1 },
                            negative = { .rank = -1 }, five = { 1, { 5 } },
                            fives = { 2, { 5, 5 } }, other = { 2, { 5, 6 } };
    is_text(pack_shape_format(&none, text), "scalar", "no dimension is a scalar");
    is_text(pack_shape_format(&odd, text), "unknown", "too many are not known");
    is_text(pack_shape_format(&negative, text), "unknown", "nor are too few");
    is_text(pack_shape_format(NULL, text), "unknown", "nor is none at all");
    is_text(pack_shape_format(&five, text), "5", "one dimension");
    ok(pack_shape_equal(&five, &five) && pack_shape_equal(&none, &none) &&
           !pack_shape_equal(&five, &fives) && !pack_shape_equal(&fives, &other) &&
           !pack_shape_equal(&odd, &odd) && !pack_shape_equal(&five, NULL),
       "shapes are equal in all dimensions");
    uint64_t count = 7;
    ok(pack_shape_count(&none, &count) && count == 1 && pack_shape_count(&other, &count) &&
           count == 30 && !pack_shape_count(&odd, &count) && count == 30,
       "elements are counted");
}

static void
test_bytes(void)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = { { "0", 0 },           { "4096", 4096 },  { "64K", 65536 },
                 { "64KiB", 65536 },   { "64kb", 65536 }, { "1.5M", 1572864 },
                 { "2G", 1ull << 31 }, { "12B", 12 },     { "1T", 1ull << 40 },
                 { "1.25k", 1280 },    { "0.5KiB", 512 }, { "0.001K", 1 },
                 { "1Mb", 1 << 20 },   { "3mIB", 3 << 20 },
                 { "16777215T", 16777215ull << 40 } };
    static const char *const bad[] = { "",   "K",    "1.5", "-1",
                                       "1X", "1KiX", "1.K", "99999999T",
                                       "1.5B", "1 K", "1Ki", "1KBB", "16777216T" };
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
    static const struct {
        uint64_t bytes;
        const char *text;
    } shown[] = { { 0, "0 B" },
                  { 1, "1 B" },
                  { 1024, "1.0 KiB" },
                  { 1536, "1.5 KiB" },
                  { 1023 * 1024 + 921, "1023.9 KiB" },
                  { 1 << 20, "1.0 MiB" },
                  { 3ull << 29, "1.5 GiB" },
                  { 1ull << 40, "1.0 TiB" },
                  { 1ull << 50, "1.0 PiB" },
                  { 1ull << 60, "1.0 EiB" },
                  { UINT64_MAX, "16.0 EiB" } };
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        is_text(pack_bytes_format(shown[i].bytes, text), shown[i].text, shown[i].text);
    ok(pack_bytes_format(5, NULL) == NULL, "no text for nobody");
    bytes = 7;
    pack_bytes_parse("16777216T", &bytes, &err);
    is_text(err.text, "'16777216T' is more than 64 bits can count", "2^64 is too much");
    ok(bytes == 7, "and leaves the number alone");
}

/* Numbers, and the sentences for what is none. */
static void
test_numbers(void)
{
    static const struct {
        const char *text;
        uint64_t max, value;
        const char *says;
    } cases[] = {
        { "0", 0, 0, NULL },
        { "007", 9, 7, NULL },
        { "9", 9, 9, NULL },
        { "10", 9, 0, "'10' is more than 9" },
        { "18446744073709551615", UINT64_MAX, UINT64_MAX, NULL },
        { "18446744073709551616", UINT64_MAX, 0,
          "'18446744073709551616' is more than 18446744073709551615" },
        { "", 9, 0, "'' is not a whole number" },
        { "-1", 9, 0, "'-1' is not a whole number" },
        { "+1", 9, 0, "'+1' is not a whole number" },
        { " 1", 9, 0, "' 1' is not a whole number" },
        { "1 ", 9, 0, "'1 ' is not a whole number" },
        { "1x", 9, 0, "'1x' is not a whole number" },
        { "18446744073709551616x", 9, 0, "'18446744073709551616x' is not a whole number" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pack_error err = { .text = "" };
        uint64_t value = 77;
        enum pack_status status = pack_u64_parse(cases[i].text, cases[i].max, &value, &err);
        ok(cases[i].says ? status == PACK_ERR_ARGUMENT && value == 77 &&
                               strcmp(err.text, cases[i].says) == 0
                         : status == PACK_OK && value == cases[i].value,
           "'%s' of %llu at most: %s", cases[i].text, (unsigned long long)cases[i].max,
           cases[i].says ? err.text : "a number");
    }
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

/* What the system says, and what it is called. */
static void
test_statuses(void)
{
    static const struct {
        int errnum;
        enum pack_status status;
        const char *name;
    } cases[] = {
        { ENOMEM, PACK_ERR_MEMORY, "memory" },    { ENOENT, PACK_ERR_NOT_FOUND, "not found" },
        { ENOTDIR, PACK_ERR_NOT_FOUND, "not found" }, { EEXIST, PACK_ERR_EXISTS, "exists" },
        { EACCES, PACK_ERR_IO, "io" },            { EIO, PACK_ERR_IO, "io" },
        { EINVAL, PACK_ERR_IO, "io" },
    };
    static const char *const names[] = {
        "ok",    "argument", "memory",    "io",      "format",   "unsupported",
        "limit", "exists",   "not found", "changed", "mismatch", "interrupted", "unknown",
    };
    int wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        wrong += pack_fail_errno(NULL, cases[i].errnum, "x") != cases[i].status ||
                 strcmp(pack_status_name(cases[i].status), cases[i].name) != 0;
    is_number(wrong, 0, "errors of the system have their status");
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        wrong += strcmp(pack_status_name((enum pack_status)i), names[i]) != 0;
    ok(wrong == 0 && strcmp(pack_status_name((enum pack_status)-1), "unknown") == 0,
       "each has its name");
    struct pack_error err = { .text = "is gone", .status = PACK_ERR_IO };
    errno = 5;
    ok(pack_error_param(&err, PACK_ERR_IO, NULL) == PACK_ERR_IO && !err.param &&
           strcmp(err.text, "is gone") == 0,
       "no parameter, no change");
    ok(pack_error_param(&err, PACK_ERR_FORMAT, "file") == PACK_ERR_IO &&
           strcmp(err.param, "file") == 0 && strcmp(err.text, "file: is gone") == 0,
       "one is named in front, and the status stays");
    ok(pack_error_param(NULL, PACK_ERR_FORMAT, "file") == PACK_ERR_FORMAT &&
           pack_error_param(NULL, PACK_ERR_FORMAT, NULL) == PACK_ERR_FORMAT &&
           pack_error_prefix(NULL, PACK_ERR_LIMIT, "x") == PACK_ERR_LIMIT,
       "also where nobody listens");
    errno = EDOM;
    (void)pack_fail_param(&err, PACK_ERR_LIMIT, "n", "%d", 3);
    ok(errno == EDOM && err.status == PACK_ERR_LIMIT && strcmp(err.param, "n") == 0,
       "what the system said last stays");
    (void)pack_fail(&err, PACK_ERR_MEMORY, "%s", "more");
    ok(!err.param, "another failure is of no parameter");
    ok(pack_fail_memory(&err, "a list") == PACK_ERR_MEMORY &&
           strcmp(err.text, "out of memory: a list") == 0,
       "memory is told for what");
    ok(pack_check_count("n", 5, 5, &err) == PACK_OK &&
           pack_check_count("n", 6, 5, &err) == PACK_ERR_ARGUMENT &&
           strcmp(err.text, "n of 6 is over the limit of 5") == 0 &&
           strcmp(err.param, "n") == 0,
       "a count has a limit");
    ok(pack_check_choice("fit", 0, 3, &err) == PACK_OK &&
           pack_check_choice("fit", 2, 3, &err) == PACK_OK &&
           pack_check_choice("fit", -1, 3, &err) == PACK_ERR_ARGUMENT &&
           pack_check_choice("fit", 3, 3, &err) == PACK_ERR_ARGUMENT &&
           strcmp(err.text, "fit 3 does not exist") == 0,
       "a choice is one of several");
    ok(pack_check_number("w0", 0, 0, 1, &err) == PACK_OK &&
           pack_check_number("w0", 1, 0, 1, &err) == PACK_OK &&
           pack_check_number("w0", -0.1, 0, 1, &err) == PACK_ERR_ARGUMENT &&
           pack_check_number("w0", 0.0 / 0.0, 0, 1, &err) == PACK_ERR_ARGUMENT &&
           pack_check_number("w0", 1.5, 0, 1, &err) == PACK_ERR_ARGUMENT &&
           strcmp(err.text, "w0 of 1.5 is not from 0 to 1") == 0,
       "a number lies between two");
    ok(pack_check_given(&err, "a", "x", "b", NULL, "c", NULL, NULL) == PACK_ERR_ARGUMENT &&
           strcmp(err.text, "b is NULL") == 0 && strcmp(err.param, "b") == 0 &&
           pack_check_given(&err, "a", "x", NULL) == PACK_OK,
       "the first that is missing is named");
}

int
main(void)
{
    test_products();
    test_shapes();
    test_bytes();
    test_numbers();
    test_error();
    test_statuses();
    return done();
}
