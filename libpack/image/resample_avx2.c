/*
 * The resampling passes for AVX2.
 *
 * A coefficient has 23 bits, a product of two 16-bit numbers is what the machine does
 * fast: vpmaddwd multiplies sixteen pairs and adds neighbours. So k is split once, in its
 * table, into high * 2^12 + low, both of 16 bits, and each pass keeps two sums:
 *
 *     sum of p * k  ==  (sum of p * high) * 2^12 + sum of p * low        (mod 2^32)
 *
 * which is exact, so nothing differs from the scalar definition. The tables end in zeros
 * up to whole groups of four taps; what is read behind a row is multiplied by them.
 */
#include "libpack/image/resample_parts.h"

#include <immintrin.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2")))

/* ((high << 12) + low + one half) >> 22, not yet clipped */
AVX2 static inline __m256i
descale(__m256i high, __m256i low)
{
    const __m256i half = _mm256_set1_epi32(1 << (PACK_RESAMPLE_BITS - 1));
    __m256i sum = _mm256_add_epi32(_mm256_slli_epi32(high, PACK_RESAMPLE_SPLIT), low);
    return _mm256_srai_epi32(_mm256_add_epi32(sum, half), PACK_RESAMPLE_BITS);
}

AVX2 static inline __m256i
broadcast_pair(const int16_t *pair)
{
    int32_t word;
    memcpy(&word, pair, sizeof word);
    return _mm256_set1_epi32(word);
}

AVX2 static inline __m256i
load_two(const uint8_t *low, const uint8_t *high)
{
    return _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)low)),
        _mm_loadu_si128((const __m128i *)high), 1);
}

AVX2 static inline void
accumulate(__m256i *sum, __m256i pixels, __m256i k)
{
    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(pixels, k));
}

/* Of four rows: a is of rows 0 and 1, in the halves of one register, b of 2 and 3. */
struct rgb_sums {
    __m256i high_a, low_a, high_b, low_b;
};

/*
 * Four taps of an RGB pixel of four rows. A 16-byte load holds them; two shuffles make
 * pairs, R0 R1 G0 G1 B0 B1 and R2 R3 G2 G3 B2 B3.
 */
AVX2 static inline void
add_rgb_group(struct rgb_sums *sums, const uint8_t *const *rows, size_t at,
              const int16_t *k)
{
    const __m256i taps01 = _mm256_setr_epi8(
        0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1, /* the same again */
        0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1);
    const __m256i taps23 = _mm256_setr_epi8(
        6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1, /* the same again */
        6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
    __m256i a = load_two(rows[0] + at, rows[1] + at);
    __m256i b = load_two(rows[2] + at, rows[3] + at);
    __m256i a01 = _mm256_shuffle_epi8(a, taps01), a23 = _mm256_shuffle_epi8(a, taps23);
    __m256i b01 = _mm256_shuffle_epi8(b, taps01), b23 = _mm256_shuffle_epi8(b, taps23);
    __m256i high01 = broadcast_pair(k), high23 = broadcast_pair(k + 2);
    __m256i low01 = broadcast_pair(k + 4), low23 = broadcast_pair(k + 6);
    accumulate(&sums->high_a, a01, high01);
    accumulate(&sums->high_b, b01, high01);
    accumulate(&sums->low_a, a01, low01);
    accumulate(&sums->low_b, b01, low01);
    accumulate(&sums->high_a, a23, high23);
    accumulate(&sums->high_b, b23, high23);
    accumulate(&sums->low_a, a23, low23);
    accumulate(&sums->low_b, b23, low23);
}

/* One RGB pixel of four rows. The first group, mostly the only one, adds to nothing. */
AVX2 static inline __m256i
rgb_pixel(const uint8_t *const *rows, size_t at, const int16_t *k, uint32_t taps)
{
    const __m256i zero = _mm256_setzero_si256();
    struct rgb_sums sums = { zero, zero, zero, zero };
    add_rgb_group(&sums, rows, at, k);
    for (uint32_t t = PACK_RESAMPLE_GROUP; t < taps; t += PACK_RESAMPLE_GROUP)
        add_rgb_group(&sums, rows, at + 3 * (size_t)t, k + 2 * t);
    /* rows 0 and 2 in the low half, 1 and 3 in the high half; 4 bytes each */
    __m256i words = _mm256_packs_epi32(descale(sums.high_a, sums.low_a),
                                       descale(sums.high_b, sums.low_b));
    return _mm256_packus_epi16(words, words);
}

/* A pixel of three bytes; the next one overwrites the fourth. */
AVX2 static inline void
store_word(uint8_t *p, int32_t word)
{
    memcpy(p, &word, sizeof word);
}

AVX2 static void
horizontal_rgb(uint8_t *const *out, const uint8_t *const *rows,
               const struct pack_resample_table *table)
{
    /* copies, as for all the compiler knows a byte that is written may be one of these */
    const struct pack_resample_table t = *table;
    const uint8_t *const in[] = { rows[0], rows[1], rows[2], rows[3] };
    uint8_t *const to[] = { out[0], out[1], out[2], out[3] };
    const int16_t *k = t.halves;
    size_t at = 0;
    for (uint32_t i = 0; i < t.n; i++, k += 2 * t.taps, at += 3) {
        __m256i pixel = rgb_pixel(in, (size_t)t.first[i] * 3, k, t.count[i]);
        store_word(to[0] + at, _mm256_extract_epi32(pixel, 0));
        store_word(to[1] + at, _mm256_extract_epi32(pixel, 4));
        store_word(to[2] + at, _mm256_extract_epi32(pixel, 1));
        store_word(to[3] + at, _mm256_extract_epi32(pixel, 5));
    }
}

AVX2 static inline int32_t
load_word(const uint8_t *p)
{
    int32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* One gray pixel of four rows: four taps of each row are a quarter of the register. */
AVX2 static void
horizontal_gray(uint8_t *const *out, const uint8_t *const *rows,
                const struct pack_resample_table *table)
{
    const int16_t *k = table->halves;
    for (uint32_t i = 0; i < table->n; i++, k += 2 * table->taps) {
        size_t at = table->first[i];
        __m256i high = _mm256_setzero_si256(), low = high;
        for (uint32_t t = 0; t < table->count[i]; t += PACK_RESAMPLE_GROUP) {
            __m256i pixels = _mm256_cvtepu8_epi16(
                _mm_setr_epi32(load_word(rows[0] + at + t), load_word(rows[1] + at + t),
                               load_word(rows[2] + at + t), load_word(rows[3] + at + t)));
            __m128i both = _mm_loadu_si128((const __m128i *)(k + 2 * t));
            accumulate(&high, pixels, _mm256_broadcastq_epi64(both));
            accumulate(&low, pixels, _mm256_broadcastq_epi64(_mm_srli_si128(both, 8)));
        }
        high = _mm256_hadd_epi32(high, high);
        low = _mm256_hadd_epi32(low, low);
        __m256i words = descale(high, low);
        words = _mm256_packus_epi16(_mm256_packs_epi32(words, words), words);
        out[0][i] = (uint8_t)_mm256_extract_epi8(words, 0);
        out[1][i] = (uint8_t)_mm256_extract_epi8(words, 1);
        out[2][i] = (uint8_t)_mm256_extract_epi8(words, 16);
        out[3][i] = (uint8_t)_mm256_extract_epi8(words, 17);
    }
}

static void
avx2_horizontal(uint8_t *const *out, const uint8_t *const *rows, int channels,
                const struct pack_resample_table *table)
{
    if (channels == 3)
        horizontal_rgb(out, rows, table);
    else
        horizontal_gray(out, rows, table);
}

/* The two sums of eight neighbouring bytes. */
struct sums {
    __m256i high, low;
};

AVX2 static inline void
accumulate_both(struct sums *sums, __m256i pairs, __m256i k_high, __m256i k_low)
{
    accumulate(&sums->high, pairs, k_high);
    accumulate(&sums->low, pairs, k_low);
}

AVX2 static inline __m256i
pack_sums(const struct sums *a, const struct sums *b)
{
    return _mm256_packs_epi32(descale(a->high, a->low), descale(b->high, b->low));
}

/* 32 neighbouring bytes of one output row, two source rows at a time. */
AVX2 static inline void
vertical_block(uint8_t *out, const uint8_t *const *rows, size_t x, const int16_t *k,
               uint32_t taps)
{
    const __m256i zero = _mm256_setzero_si256();
    struct sums a = { zero, zero }, b = a, c = a, d = a;
    for (uint32_t t = 0; t < taps; t += 2) {
        __m256i row = _mm256_loadu_si256((const __m256i *)(rows[t] + x));
        __m256i next = _mm256_loadu_si256((const __m256i *)(rows[t + 1] + x));
        const int16_t *pair = k + t / PACK_RESAMPLE_GROUP * (2 * PACK_RESAMPLE_GROUP) +
                              t % PACK_RESAMPLE_GROUP;
        __m256i high = broadcast_pair(pair);
        __m256i low = broadcast_pair(pair + PACK_RESAMPLE_GROUP);
        __m256i front = _mm256_unpacklo_epi8(row, next);
        __m256i back = _mm256_unpackhi_epi8(row, next);
        accumulate_both(&a, _mm256_unpacklo_epi8(front, zero), high, low);
        accumulate_both(&b, _mm256_unpackhi_epi8(front, zero), high, low);
        accumulate_both(&c, _mm256_unpacklo_epi8(back, zero), high, low);
        accumulate_both(&d, _mm256_unpackhi_epi8(back, zero), high, low);
    }
    /* packing undoes the order in which unpacking left the bytes */
    _mm256_storeu_si256((__m256i *)(out + x),
                        _mm256_packus_epi16(pack_sums(&a, &b), pack_sums(&c, &d)));
}

AVX2 static void
avx2_vertical(uint8_t *out, const uint8_t *const *rows, size_t bytes,
              const struct pack_resample_table *table, uint32_t y)
{
    enum { BLOCK = 32 };
    const int16_t *k = table->halves + (size_t)y * table->taps * 2;
    uint32_t taps = table->count[y];
    if (bytes < BLOCK) {
        pack_resample_scalar.vertical(out, rows, bytes, table, y);
        return;
    }
    size_t x = 0;
    for (; x + BLOCK <= bytes; x += BLOCK)
        vertical_block(out, rows, x, k, taps);
    if (x < bytes) /* once more over bytes that are already there */
        vertical_block(out, rows, bytes - BLOCK, k, taps);
}

/* Bytes c, c + 3, c + 6... of 48, from three registers of 16. */
AVX2 static inline __m128i
every_third(__m128i a, __m128i b, __m128i c, const __m128i masks[3])
{
    return _mm_or_si128(
        _mm_or_si128(_mm_shuffle_epi8(a, masks[0]), _mm_shuffle_epi8(b, masks[1])),
        _mm_shuffle_epi8(c, masks[2]));
}

AVX2 static void
avx2_split(uint8_t *const planes[3], const uint8_t *pixels, size_t n)
{
    const __m128i masks[3][3] = {
        { _mm_setr_epi8(0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1),
          _mm_setr_epi8(-1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14, -1, -1, -1, -1, -1),
          _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 4, 7, 10, 13) },
        { _mm_setr_epi8(1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1),
          _mm_setr_epi8(-1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1),
          _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14) },
        { _mm_setr_epi8(2, 5, 8, 11, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1),
          _mm_setr_epi8(-1, -1, -1, -1, -1, 1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1),
          _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15) },
    };
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m128i *p = (const __m128i *)(pixels + 3 * i);
        __m128i a = _mm_loadu_si128(p), b = _mm_loadu_si128(p + 1),
                c = _mm_loadu_si128(p + 2);
        for (int plane = 0; plane < 3; plane++)
            _mm_storeu_si128((__m128i *)(planes[plane] + i),
                             every_third(a, b, c, masks[plane]));
    }
    uint8_t *const rest[3] = { planes[0] + i, planes[1] + i, planes[2] + i };
    pack_resample_scalar.split(rest, pixels + 3 * i, n - i);
}

const struct pack_resample_ops pack_resample_avx2 = {
    "avx2",
    avx2_horizontal,
    avx2_vertical,
    avx2_split,
};
