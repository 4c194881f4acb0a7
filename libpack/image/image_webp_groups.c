/*
 * How many groups of prefix codes a lossless WebP has, without decoding it: libwebp makes
 * tables of 20 KiB for each, up to 65536, whatever the picture's size. The stream is
 *
 *     (1 kind [size] [picture of what the transform does])* 0  cache  1 size groups  ...
 *
 * where `groups` is a picture, too, whose pixels say which group each block of pixels has.
 * To find it the small pictures in front are gone through, of which only lengths count.
 * A pixel that is a copy of an earlier one has no other group, so that the literal pixels
 * are enough to know how many there are. What libwebp will refuse may be counted as anything.
 *
 * Follows the WebP lossless bitstream specification (RFC 9649) and ReadHuffmanCodes() of
 * libwebp's src/dec/vp8l_dec.c. Codes are read bit by bit as they are in Mark Adler's puff.
 */
#include "libpack/image/image_parts.h"

#include <string.h>

enum {
    LENGTH_MAX = 15,  /* of a code, in bits */
    ALPHABET_MAX = 256 + 24 + (1 << 11),
    N_CODES = 5, /* green with lengths and cache, red, blue, alpha, distance */
    N_LENGTH_CODES = 19,
    GROUPS_MAX = 65536,
    KEPT_MAX = 1000 /* libwebp has groups that are not used up to here */
};

enum transform { PREDICTOR, CROSS_COLOR, SUBTRACT_GREEN, COLOR_INDEXING };

struct stream {
    const uint8_t *data;
    uint64_t n_bits, at;
    bool is_bad;
};

struct code {
    uint16_t count[LENGTH_MAX + 1]; /* symbols of each length */
    uint16_t symbols[ALPHABET_MAX]; /* in the order of their codes */
    int single;                     /* the only symbol, which takes no bits, or -1 */
};

/* Literal pixels of a picture of groups. */
struct seen {
    uint8_t groups[GROUPS_MAX / 8];
    uint32_t n, max;
};

static uint32_t
bits(struct stream *s, int n)
{
    uint32_t value = 0;
    if (n > 0 && (s->at > s->n_bits || (uint64_t)n > s->n_bits - s->at))
        s->is_bad = true;
    for (int i = 0; i < n && !s->is_bad; i++, s->at++)
        value |= (uint32_t)(s->data[s->at / 8] >> s->at % 8 & 1) << i;
    return value;
}

/* ------------------------------------------------------------------ codes */

static void
make_code(struct stream *s, struct code *code, const uint8_t *lengths, int n)
{
    uint16_t offsets[LENGTH_MAX + 2] = { 0 };
    int left = 1, n_used = 0;
    memset(code->count, 0, sizeof code->count);
    code->single = -1;
    for (int i = 0; i < n; i++)
        code->count[lengths[i]]++;
    code->count[0] = 0;
    for (int len = 1; len <= LENGTH_MAX; len++) {
        offsets[len + 1] = (uint16_t)(offsets[len] + code->count[len]);
        left = 2 * left - code->count[len];
        s->is_bad |= left < 0;
        n_used += code->count[len];
    }
    for (int i = 0; i < n; i++)
        if (lengths[i])
            code->symbols[offsets[lengths[i]]++] = (uint16_t)i;
    if (n_used == 1)
        code->single = code->symbols[0];
    else
        s->is_bad |= left != 0;
}

static int
symbol(struct stream *s, const struct code *code)
{
    int value = 0, first = 0, index = 0;
    if (code->single >= 0)
        return code->single;
    for (int len = 1; len <= LENGTH_MAX && !s->is_bad; len++) {
        value |= (int)bits(s, 1);
        int count = code->count[len];
        if (value - count < first)
            return code->symbols[index + (value - first)];
        index += count;
        first = (first + count) << 1;
        value <<= 1;
    }
    s->is_bad = true;
    return 0;
}

/* Lengths that are themselves coded. */
static void
read_lengths(struct stream *s, struct code *code, uint8_t *lengths, int n)
{
    static const uint8_t order[N_LENGTH_CODES] = { 17, 18, 0, 1, 2,  3,  4,  5,  16, 6,
                                                   7,  8,  9, 10, 11, 12, 13, 14, 15 };
    uint8_t own[N_LENGTH_CODES] = { 0 }, before = 8;
    int n_own = 4 + (int)bits(s, 4), n_coded = n, at = 0;
    for (int i = 0; i < n_own; i++)
        own[order[i]] = (uint8_t)bits(s, 3);
    make_code(s, code, own, N_LENGTH_CODES);
    if (bits(s, 1))
        n_coded = 2 + (int)bits(s, 2 + 2 * (int)bits(s, 3));
    while (at < n && n_coded-- > 0 && !s->is_bad) {
        int length = symbol(s, code), repeat = 1;
        if (length < 16) {
            before = length ? (uint8_t)length : before;
        } else {
            repeat = length == 16 ? 3 + (int)bits(s, 2)
                                  : length == 17 ? 3 + (int)bits(s, 3) : 11 + (int)bits(s, 7);
            length = length == 16 ? before : 0;
        }
        s->is_bad |= repeat > n - at;
        for (; repeat > 0 && !s->is_bad; repeat--)
            lengths[at++] = (uint8_t)length;
    }
}

static void
read_code(struct stream *s, struct code *code, int n)
{
    uint8_t lengths[ALPHABET_MAX] = { 0 };
    if (bits(s, 1)) { /* one symbol or two */
        bool is_pair = bits(s, 1);
        uint32_t first = bits(s, bits(s, 1) ? 8 : 1);
        lengths[first] = 1;
        if (is_pair)
            lengths[bits(s, 8)] = 1;
    } else {
        read_lengths(s, code, lengths, n);
    }
    make_code(s, code, lengths, n);
}

/* --------------------------------------------------------------- pictures */

/* A length or a distance, by its symbol and what follows. */
static uint32_t
extended(struct stream *s, int sym)
{
    if (sym < 4)
        return (uint32_t)sym + 1;
    int extra = (sym - 2) >> 1;
    return ((uint32_t)(2 + (sym & 1)) << extra) + bits(s, extra) + 1;
}

static void
see(struct seen *seen, uint32_t group)
{
    uint8_t bit = (uint8_t)(1u << group % 8);
    seen->n += !(seen->groups[group / 8] & bit);
    seen->groups[group / 8] |= bit;
    if (group > seen->max)
        seen->max = group;
}

static int
cache_size(struct stream *s)
{
    int n = bits(s, 1) ? (int)bits(s, 4) : 0;
    s->is_bad |= n > 11;
    return n && n <= 11 ? 1 << n : 0;
}

/* Goes through a picture of one group of codes. */
static void
walk_picture(struct stream *s, uint64_t n_pixels, struct code codes[N_CODES],
             struct seen *seen)
{
    const int sizes[N_CODES] = { 256 + 24 + cache_size(s), 256, 256, 256, 40 };
    for (int i = 0; i < N_CODES && !s->is_bad; i++)
        read_code(s, &codes[i], sizes[i]);
    for (uint64_t n = 0; n < n_pixels && !s->is_bad;) {
        int green = symbol(s, &codes[0]);
        if (green < 256) {
            uint32_t red = (uint32_t)symbol(s, &codes[1]);
            symbol(s, &codes[2]);
            symbol(s, &codes[3]);
            see(seen, red << 8 | (uint32_t)green);
            n++;
        } else if (green < 256 + 24) {
            n += extended(s, green - 256);
            extended(s, symbol(s, &codes[4]));
        } else { /* of an earlier one, or 0 where there was none */
            see(seen, 0);
            n++;
        }
    }
}

static uint64_t
blocks(uint32_t width, uint32_t height, uint32_t size_bits)
{
    uint64_t side = UINT64_C(1) << size_bits;
    return ((width + side - 1) >> size_bits) * ((height + side - 1) >> size_bits);
}

/* Goes through what stands in front of the groups; the width may become that of packed
 * indices. */
static void
walk_transforms(struct stream *s, uint32_t *width, uint32_t height,
                struct code codes[N_CODES], struct seen *seen)
{
    for (int n = 0; bits(s, 1) && !s->is_bad; n++) {
        enum transform kind = bits(s, 2);
        uint64_t n_pixels = 0;
        s->is_bad |= n == 4; /* each is there once */
        if (kind == PREDICTOR || kind == CROSS_COLOR) {
            n_pixels = blocks(*width, height, bits(s, 3) + 2);
        } else if (kind == COLOR_INDEXING) {
            n_pixels = bits(s, 8) + 1;
            uint32_t packed = n_pixels > 16 ? 0 : n_pixels > 4 ? 1 : n_pixels > 2 ? 2 : 3;
            *width = (*width + (1u << packed) - 1) >> packed;
        }
        if (n_pixels)
            walk_picture(s, n_pixels, codes, seen);
    }
}

uint64_t
pack_webp_groups(const uint8_t *data, size_t size, uint32_t width, uint32_t height,
                 bool *is_bad)
{
    struct stream s = { .data = data, .n_bits = 8 * (uint64_t)size };
    struct code codes[N_CODES];
    struct seen seen = { .n = 0 };
    uint64_t n = 1;
    walk_transforms(&s, &width, height, codes, &seen);
    cache_size(&s);
    if (bits(&s, 1)) {
        uint32_t size_bits = bits(&s, 3) + 2;
        memset(&seen, 0, sizeof seen);
        walk_picture(&s, blocks(width, height, size_bits), codes, &seen);
        bool is_mapped =
            seen.max >= KEPT_MAX || seen.max >= (uint64_t)width * height;
        n = is_mapped ? seen.n : seen.max + UINT64_C(1);
    }
    *is_bad = s.is_bad;
    return n;
}
