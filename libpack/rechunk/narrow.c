/*
 * A scale is a table of 256 elements, as bits. An element says by its value which byte may
 * stand for it, and is that byte when its bits are the table's: whatever the rounding, what
 * is made of the byte by the same table is the element again.
 *
 * k/255 has the binary digits of k over and over behind the point, so that rounding it to
 * double first and then to a narrower float is no other than rounding it once.
 */
#include "libpack/rechunk/narrow.h"

#include <endian.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *
pack_narrow_scale_name(enum pack_narrow_scale scale)
{
    static const char *const names[] = { "k", "k/255", "k*(1/255)" };
    return names[scale];
}

/* ------------------------------------------------------------------- floats */

enum { HALF_DIGITS = 10, HALF_LEAST = -14 }; /* of the mantissa; exponent of normal ones */

static double
half_value(uint64_t bits)
{
    int exponent = (int)(bits >> HALF_DIGITS & 31);
    double digits = (double)(bits & 1023), sign = bits >> 15 & 1 ? -1 : 1;
    if (exponent == 31)
        return digits > 0 ? (double)NAN : sign * (double)INFINITY;
    return exponent == 0 ? sign * ldexp(digits, HALF_LEAST - HALF_DIGITS)
                         : sign * ldexp(1024 + digits, exponent - 25);
}

/* Of a value of 0 to 255; ties go to even, as rint() has it. */
static uint64_t
half_bits(double value)
{
    int exponent;
    if (value < ldexp(1, HALF_LEAST))
        return (uint64_t)rint(ldexp(value, HALF_DIGITS - HALF_LEAST));
    frexp(value, &exponent); /* value is 0.1... times 2^exponent */
    uint64_t digits = (uint64_t)rint(ldexp(value, HALF_DIGITS + 1 - exponent));
    return ((uint64_t)(exponent + 13) << HALF_DIGITS) + digits;
}

static uint64_t
float_bits(uint32_t bytes, double value)
{
    float narrow = (float)value;
    uint32_t single;
    uint64_t wide;
    if (bytes == 2)
        return half_bits(value);
    memcpy(&single, &narrow, sizeof single);
    memcpy(&wide, &value, sizeof wide);
    return bytes == 4 ? single : wide;
}

static double
float_value(uint32_t bytes, uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float single;
    double wide;
    if (bytes == 2)
        return half_value(bits);
    memcpy(&single, &low, sizeof single);
    memcpy(&wide, &bits, sizeof wide);
    return bytes == 4 ? (double)single : wide;
}

/* ------------------------------------------------------------------- tables */

static void
fill_tables(struct pack_narrow *narrow)
{
    uint32_t bytes = narrow->type.bytes;
    bool is_float = narrow->type.class_id == PACK_TYPE_FLOAT;
    double part = float_value(bytes, float_bits(bytes, 1 / 255.0));
    for (unsigned k = 0; k < 256; k++) {
        narrow->bits[PACK_NARROW_SAME][k] = is_float ? float_bits(bytes, k) : k;
        narrow->bits[PACK_NARROW_QUOTIENT][k] = float_bits(bytes, k / 255.0);
        narrow->bits[PACK_NARROW_PRODUCT][k] = float_bits(bytes, k * part);
    }
    narrow->n_scales = is_float ? PACK_NARROW_SCALES : 1;
}

bool
pack_narrow_init(struct pack_narrow *narrow, const struct pack_type *type)
{
    uint32_t bytes = type->bytes;
    bool is_float = type->class_id == PACK_TYPE_FLOAT;
    memset(narrow, 0, sizeof *narrow);
    narrow->type = *type;
    if ((type->class_id != PACK_TYPE_INTEGER && !is_float) ||
        (type->order == PACK_ORDER_NONE && bytes > 1) ||
        (bytes != 2 && bytes != 4 && bytes != 8 && (bytes != 1 || is_float)))
        return false;
    fill_tables(narrow);
    return true;
}

/* ----------------------------------------------------------------- elements */

static uint64_t
get_little(const unsigned char *at, uint32_t bytes)
{
    uint16_t half;
    uint32_t single;
    uint64_t wide;
    switch (bytes) {
    case 1: return *at;
    case 2: memcpy(&half, at, sizeof half); return le16toh(half);
    case 4: memcpy(&single, at, sizeof single); return le32toh(single);
    default: memcpy(&wide, at, sizeof wide); return le64toh(wide);
    }
}

static uint64_t
get_big(const unsigned char *at, uint32_t bytes)
{
    uint16_t half;
    uint32_t single;
    uint64_t wide;
    switch (bytes) {
    case 1: return *at;
    case 2: memcpy(&half, at, sizeof half); return be16toh(half);
    case 4: memcpy(&single, at, sizeof single); return be32toh(single);
    default: memcpy(&wide, at, sizeof wide); return be64toh(wide);
    }
}

static uint64_t
get_bits(const struct pack_narrow *narrow, const unsigned char *at)
{
    return narrow->type.order == PACK_ORDER_BIG ? get_big(at, narrow->type.bytes)
                                                : get_little(at, narrow->type.bytes);
}

/* The byte that stands for an element; -1: none. */
static int
byte_of(const struct pack_narrow *narrow, enum pack_narrow_scale scale, uint64_t bits)
{
    unsigned k;
    if (narrow->type.class_id == PACK_TYPE_INTEGER)
        return bits < 256 && (!narrow->type.is_signed || narrow->type.bytes > 1 || bits < 128)
                   ? (int)bits
                   : -1;
    double value = float_value(narrow->type.bytes, bits);
    if (scale != PACK_NARROW_SAME)
        value *= 255;
    if (!(value >= 0 && value < 255.5)) /* nor NaN */
        return -1;
    k = (unsigned)(value + 0.5);
    return k < 256 && narrow->bits[scale][k] == bits ? (int)k : -1;
}

size_t
pack_narrow_scan(const struct pack_narrow *narrow, enum pack_narrow_scale scale,
                 const void *data, size_t n)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < n; i++, at += narrow->type.bytes)
        if (byte_of(narrow, scale, get_bits(narrow, at)) < 0)
            return i;
    return n;
}

void
pack_narrow_put(const struct pack_narrow *narrow, const void *data, size_t n,
                unsigned char *to)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < n; i++, at += narrow->type.bytes) {
        int k = byte_of(narrow, narrow->scale, get_bits(narrow, at));
        to[i] = (unsigned char)(k < 0 ? 0 : k);
    }
}

char *
pack_narrow_text(const struct pack_narrow *narrow, const void *element, char *text)
{
    static const int DIGITS[] = { [2] = 5, [4] = 9, [8] = 17 };
    uint32_t bytes = narrow->type.bytes;
    uint64_t bits = get_bits(narrow, element);
    unsigned above = 64 - 8 * bytes;
    if (narrow->type.class_id == PACK_TYPE_FLOAT)
        snprintf(text, PACK_NARROW_TEXT_MAX, "%.*g", DIGITS[bytes], float_value(bytes, bits));
    else if (narrow->type.is_signed && bits >> (8 * bytes - 1))
        snprintf(text, PACK_NARROW_TEXT_MAX, "-%" PRIu64, (~bits << above >> above) + 1);
    else
        snprintf(text, PACK_NARROW_TEXT_MAX, "%" PRIu64, bits);
    return text;
}
