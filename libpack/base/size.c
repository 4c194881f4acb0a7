/* Sizes come from files and command lines: every product is checked before it is used. */
#include "libpack/base/size.h"
#include "libpack/base/check.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool
pack_size_mul(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *out = product;
    return true;
}

bool
pack_size_add(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out = sum;
    return true;
}

static bool
is_shape(const struct pack_shape *shape)
{
    return shape && shape->rank >= 0 && shape->rank <= PACK_RANK_MAX;
}

bool
pack_shape_count(const struct pack_shape *shape, uint64_t *count)
{
    uint64_t product = 1;
    if (!is_shape(shape) || !count)
        return false;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->extent[i] == 0) {
            *count = 0;
            return true;
        }
        if (!pack_size_mul(product, shape->extent[i], &product))
            return false;
    }
    *count = product;
    return true;
}

bool
pack_shape_equal(const struct pack_shape *a, const struct pack_shape *b)
{
    return is_shape(a) && is_shape(b) && a->rank == b->rank &&
           memcmp(a->extent, b->extent, (size_t)a->rank * sizeof a->extent[0]) == 0;
}

/* Reads digits at *text, moves *text behind them. */
static bool
parse_digits(const char **text, uint64_t *value)
{
    if (!isdigit((unsigned char)**text))
        return false;
    char *end;
    errno = 0;
    *value = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0;
}

enum pack_status
pack_shape_parse(const char *text, struct pack_shape *shape, struct pack_error *err)
{
    struct pack_shape parsed = { 0 };
    const char *p = text;
    if (!text || !shape)
        return pack_check_given(err, "text", text, "shape", shape, NULL);
    for (;;) {
        if (parsed.rank == PACK_RANK_MAX)
            return pack_fail(err, PACK_ERR_ARGUMENT,
                             "'%.80s' has more than %d dimensions", text, PACK_RANK_MAX);
        uint64_t extent;
        if (!parse_digits(&p, &extent) || extent == 0)
            return pack_fail(err, PACK_ERR_ARGUMENT,
                             "'%.80s' is not a shape like 224x224x3", text);
        parsed.extent[parsed.rank++] = extent;
        if (*p == '\0')
            break;
        if (*p != 'x' && *p != 'X')
            return pack_fail(err, PACK_ERR_ARGUMENT,
                             "'%.80s' is not a shape like 224x224x3", text);
        p++;
    }
    *shape = parsed;
    return PACK_OK;
}

char *
pack_shape_format(const struct pack_shape *shape, char *text)
{
    if (!text)
        return NULL;
    if (!is_shape(shape))
        return strcpy(text, "unknown");
    if (shape->rank == 0)
        return strcpy(text, "scalar");
    char *p = text;
    for (int i = 0; i < shape->rank; i++)
        p += sprintf(p, "%s%" PRIu64, i ? "x" : "", shape->extent[i]);
    return text;
}

/* The power of 1024 that a unit stands for, or -1. */
static int
unit_power(const char *unit)
{
    static const char letters[] = "KMGT";
    if (*unit == '\0' || strcasecmp(unit, "b") == 0)
        return 0;
    const char *at = strchr(letters, toupper((unsigned char)*unit));
    if (!at)
        return -1;
    unit++;
    if (*unit != '\0' && strcasecmp(unit, "b") != 0 && strcasecmp(unit, "ib") != 0)
        return -1;
    return (int)(at - letters) + 1;
}

enum pack_status
pack_bytes_parse(const char *text, uint64_t *bytes, struct pack_error *err)
{
    const char *p = text;
    uint64_t whole;
    double fraction = 0;
    bool has_fraction = false;
    if (!text || !bytes)
        return pack_check_given(err, "text", text, "bytes", bytes, NULL);
    if (!parse_digits(&p, &whole))
        goto bad;
    if (*p == '.') {
        double place = 0.1;
        has_fraction = true;
        if (!isdigit((unsigned char)*++p))
            goto bad;
        for (; isdigit((unsigned char)*p); p++, place /= 10)
            fraction += place * (*p - '0');
    }
    int power = unit_power(p);
    if (power < 0 || (has_fraction && power == 0))
        goto bad;
    uint64_t unit = UINT64_C(1) << (10 * power), scaled;
    if (!pack_size_mul(whole, unit, &scaled) ||
        !pack_size_add(scaled, (uint64_t)llround(fraction * (double)unit), &scaled))
        return pack_fail(err, PACK_ERR_ARGUMENT, "'%.80s' is more than 64 bits can count",
                         text);
    *bytes = scaled;
    return PACK_OK;
bad:
    return pack_fail(err, PACK_ERR_ARGUMENT, "'%.80s' is not a size like 512M or 4GiB",
                     text);
}

char *
pack_bytes_format(uint64_t bytes, char *text)
{
    if (!text)
        return NULL;
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    if (bytes < 1024) {
        snprintf(text, PACK_BYTES_TEXT_MAX, "%" PRIu64 " B", bytes);
        return text;
    }
    double value = (double)bytes;
    int unit = 0;
    while (value >= 1023.95 && unit < 6) {
        value /= 1024;
        unit++;
    }
    snprintf(text, PACK_BYTES_TEXT_MAX, "%.1f %s", value, units[unit]);
    return text;
}

enum pack_status
pack_u64_parse(const char *text, uint64_t max, uint64_t *value, struct pack_error *err)
{
    const char *p = text;
    uint64_t parsed;
    if (!isdigit((unsigned char)*p))
        return pack_fail(err, PACK_ERR_ARGUMENT, "'%.80s' is not a whole number", text);
    bool fits = parse_digits(&p, &parsed);
    if (*p != '\0')
        return pack_fail(err, PACK_ERR_ARGUMENT, "'%.80s' is not a whole number", text);
    if (!fits || parsed > max)
        return pack_fail(err, PACK_ERR_ARGUMENT, "'%.80s' is more than %" PRIu64, text,
                         max);
    *value = parsed;
    return PACK_OK;
}
