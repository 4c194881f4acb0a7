/*
 * The resampling passes for AVX-512 with VNNI.
 *
 * vpdpbusd multiplies four unsigned bytes by four signed ones and adds the products to a
 * 32-bit sum. So k is split once, in its table, into three signed digits, and each pass
 * keeps three sums:
 *
 *     sum of p * k  ==  ((sum of p * d2) * 2^8 + sum of p * d1) * 2^8 + sum of p * d0
 *
 * which is exact, so nothing differs from the scalar definition. A pixel's four taps are
 * brought together in 32 bits, by a shuffle across, by unpacking four rows down. The
 * tables end in zeros up to whole groups of four taps; what is read behind a row is
 * multiplied by them.
 */
#include "libpack/image/resample_parts.h"

#include <immintrin.h>
#include <string.h>

#define VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

enum { GROUP = PACK_RESAMPLE_GROUP, GROUP_DIGITS = PACK_RESAMPLE_DIGITS * GROUP };

static inline int32_t
load_word(const void *p)
{
    int32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

static inline void
store_word(uint8_t *p, int32_t word)
{
    memcpy(p, &word, sizeof word);
}

/* ------------------------------------------------------------------ across */

/* Of four rows, each in its quarter of the registers. */
struct wide_sums {
    __m512i d0, d1, d2;
};

VNNI static inline void
add_wide(struct wide_sums *sums, __m512i taps, const int8_t *digits)
{
    sums->d0 =
        _mm512_dpbusd_epi32(sums->d0, taps, _mm512_set1_epi32(load_word(digits)));
    sums->d1 = _mm512_dpbusd_epi32(sums->d1, taps,
                                   _mm512_set1_epi32(load_word(digits + GROUP)));
    sums->d2 = _mm512_dpbusd_epi32(sums->d2, taps,
                                   _mm512_set1_epi32(load_word(digits + 2 * GROUP)));
}

/* Sixteen bytes of each of four rows. */
VNNI static inline __m512i
load_four(const uint8_t *const *rows, size_t at)
{
    __m512i all =
        _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(rows[0] + at)));
    all = _mm512_inserti32x4(all, _mm_loadu_si128((const __m128i *)(rows[1] + at)), 1);
    all = _mm512_inserti32x4(all, _mm_loadu_si128((const __m128i *)(rows[2] + at)), 2);
    return _mm512_inserti32x4(all, _mm_loadu_si128((const __m128i *)(rows[3] + at)), 3);
}

/* One RGB pixel of four rows, four bytes each. */
VNNI static inline __m128i
rgb_pixel(const uint8_t *const *rows, size_t at, const int8_t *digits, uint32_t taps)
{
    const __m512i together = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11, -1, -1, -1, -1));
    const __m512i zero = _mm512_setzero_si512();
    struct wide_sums sums = { _mm512_set1_epi32(1 << (PACK_RESAMPLE_BITS - 1)), zero,
                              zero };
    add_wide(&sums, _mm512_shuffle_epi8(load_four(rows, at), together), digits);
    for (uint32_t t = GROUP; t < taps; t += GROUP) {
        digits += GROUP_DIGITS;
        add_wide(&sums,
                 _mm512_shuffle_epi8(load_four(rows, at + 3 * (size_t)t), together),
                 digits);
    }
    __m512i sum = _mm512_add_epi32(_mm512_slli_epi32(sums.d2, 8), sums.d1);
    sum = _mm512_add_epi32(_mm512_slli_epi32(sum, 8), sums.d0);
    sum = _mm512_max_epi32(_mm512_srai_epi32(sum, PACK_RESAMPLE_BITS), zero);
    return _mm512_cvtusepi32_epi8(sum);
}

/* A pixel is three bytes; the next one overwrites the fourth. */
VNNI static void
horizontal_rgb(uint8_t *const *out, const uint8_t *const *rows,
               const struct pack_resample_table *table)
{
    /* copies, as for all the compiler knows a byte that is written may be one of these */
    const struct pack_resample_table t = *table;
    const uint8_t *const in[] = { rows[0], rows[1], rows[2], rows[3] };
    uint8_t *const to[] = { out[0], out[1], out[2], out[3] };
    const int8_t *digits = t.digits;
    size_t step = (size_t)t.taps * PACK_RESAMPLE_DIGITS, at = 0;
    for (uint32_t i = 0; i < t.n; i++, digits += step, at += 3) {
        __m128i pixel = rgb_pixel(in, (size_t)t.first[i] * 3, digits, t.count[i]);
        store_word(to[0] + at, _mm_cvtsi128_si32(pixel));
        store_word(to[1] + at, _mm_extract_epi32(pixel, 1));
        store_word(to[2] + at, _mm_extract_epi32(pixel, 2));
        store_word(to[3] + at, _mm_extract_epi32(pixel, 3));
    }
}

/* Four bytes of each of four rows. */
VNNI static inline __m128i
load_quarters(const uint8_t *const *rows, size_t at)
{
    return _mm_setr_epi32(load_word(rows[0] + at), load_word(rows[1] + at),
                          load_word(rows[2] + at), load_word(rows[3] + at));
}

/* One gray pixel of four rows: four taps of each row are a quarter of the register. */
VNNI static void
horizontal_gray(uint8_t *const *out, const uint8_t *const *rows,
                const struct pack_resample_table *table)
{
    const __m128i zero = _mm_setzero_si128();
    const int8_t *digits = table->digits;
    size_t step = (size_t)table->taps * PACK_RESAMPLE_DIGITS;
    for (uint32_t i = 0; i < table->n; i++, digits += step) {
        const int8_t *d = digits;
        __m128i d0 = _mm_set1_epi32(1 << (PACK_RESAMPLE_BITS - 1)), d1 = zero, d2 = zero;
        for (uint32_t t = 0; t < table->count[i]; t += GROUP, d += GROUP_DIGITS) {
            __m128i taps = load_quarters(rows, (size_t)table->first[i] + t);
            d0 = _mm_dpbusd_epi32(d0, taps, _mm_set1_epi32(load_word(d)));
            d1 = _mm_dpbusd_epi32(d1, taps, _mm_set1_epi32(load_word(d + GROUP)));
            d2 = _mm_dpbusd_epi32(d2, taps, _mm_set1_epi32(load_word(d + 2 * GROUP)));
        }
        __m128i sum = _mm_add_epi32(_mm_slli_epi32(d2, 8), d1);
        sum = _mm_add_epi32(_mm_slli_epi32(sum, 8), d0);
        sum = _mm_max_epi32(_mm_srai_epi32(sum, PACK_RESAMPLE_BITS), zero);
        uint32_t bytes = (uint32_t)_mm_cvtsi128_si32(_mm_cvtusepi32_epi8(sum));
        for (int row = 0; row < PACK_RESAMPLE_ROWS; row++)
            out[row][i] = (uint8_t)(bytes >> (8 * row));
    }
}

static void
vnni_horizontal(uint8_t *const *out, const uint8_t *const *rows, int channels,
                const struct pack_resample_table *table)
{
    if (channels == 3)
        horizontal_rgb(out, rows, table);
    else
        horizontal_gray(out, rows, table);
}

/* -------------------------------------------------------------------- down */

/* Of eight neighbouring bytes. */
struct sums {
    __m256i d0, d1, d2;
};

VNNI static inline void
add(struct sums *sums, __m256i taps, const __m256i k[PACK_RESAMPLE_DIGITS])
{
    sums->d0 = _mm256_dpbusd_epi32(sums->d0, taps, k[0]);
    sums->d1 = _mm256_dpbusd_epi32(sums->d1, taps, k[1]);
    sums->d2 = _mm256_dpbusd_epi32(sums->d2, taps, k[2]);
}

VNNI static inline __m256i
descale(const struct sums *sums)
{
    __m256i sum = _mm256_add_epi32(_mm256_slli_epi32(sums->d2, 8), sums->d1);
    sum = _mm256_add_epi32(_mm256_slli_epi32(sum, 8), sums->d0);
    return _mm256_srai_epi32(sum, PACK_RESAMPLE_BITS);
}

VNNI static inline __m256i
load_row(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

/* 32 neighbouring bytes of one output row, four source rows at a time. */
VNNI static inline void
vertical_block(uint8_t *out, const uint8_t *const *rows, size_t x, const int8_t *digits,
               uint32_t taps)
{
    const __m256i zero = _mm256_setzero_si256();
    struct sums a = { _mm256_set1_epi32(1 << (PACK_RESAMPLE_BITS - 1)), zero, zero };
    struct sums b = a, c = a, d = a;
    for (uint32_t t = 0; t < taps; t += GROUP, digits += GROUP_DIGITS) {
        __m256i row0 = load_row(rows[t] + x), row1 = load_row(rows[t + 1] + x);
        __m256i row2 = load_row(rows[t + 2] + x), row3 = load_row(rows[t + 3] + x);
        const __m256i k[] = { _mm256_set1_epi32(load_word(digits)),
                              _mm256_set1_epi32(load_word(digits + GROUP)),
                              _mm256_set1_epi32(load_word(digits + 2 * GROUP)) };
        __m256i front01 = _mm256_unpacklo_epi8(row0, row1);
        __m256i front23 = _mm256_unpacklo_epi8(row2, row3);
        __m256i back01 = _mm256_unpackhi_epi8(row0, row1);
        __m256i back23 = _mm256_unpackhi_epi8(row2, row3);
        add(&a, _mm256_unpacklo_epi16(front01, front23), k);
        add(&b, _mm256_unpackhi_epi16(front01, front23), k);
        add(&c, _mm256_unpacklo_epi16(back01, back23), k);
        add(&d, _mm256_unpackhi_epi16(back01, back23), k);
    }
    /* packing undoes the order in which unpacking left the bytes */
    __m256i front = _mm256_packs_epi32(descale(&a), descale(&b));
    __m256i back = _mm256_packs_epi32(descale(&c), descale(&d));
    _mm256_storeu_si256((__m256i *)(out + x), _mm256_packus_epi16(front, back));
}

VNNI static void
vnni_vertical(uint8_t *out, const uint8_t *const *rows, size_t bytes,
              const struct pack_resample_table *table, uint32_t y)
{
    enum { BLOCK = 32 };
    const int8_t *digits =
        table->digits + (size_t)y * table->taps * PACK_RESAMPLE_DIGITS;
    uint32_t taps = table->count[y];
    if (bytes < BLOCK) {
        pack_resample_scalar.vertical(out, rows, bytes, table, y);
        return;
    }
    size_t x = 0;
    for (; x + BLOCK <= bytes; x += BLOCK)
        vertical_block(out, rows, x, digits, taps);
    if (x < bytes) /* once more over bytes that are already there */
        vertical_block(out, rows, bytes - BLOCK, digits, taps);
}

/* Splitting is moving: what AVX2 has is as good. */
static void
vnni_split(uint8_t *const planes[3], const uint8_t *pixels, size_t n)
{
    pack_resample_avx2.split(planes, pixels, n);
}

const struct pack_resample_ops pack_resample_vnni = {
    "vnni",
    vnni_horizontal,
    vnni_vertical,
    vnni_split,
};
