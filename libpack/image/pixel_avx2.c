/*
 * Sums over pixels for AVX2, two rows of 48 values at a time: values are added up in 16
 * bits, squares by vpmaddwd, which multiplies sixteen pairs and adds neighbours, so that
 * neighbours have to be of one column:
 *
 *     row 0   a0 a1 a2 ...
 *     row 1   b0 b1 b2 ...  ->  a0 b0 a1 b1 ...  ->  a0*a0 + b0*b0, a1*a1 + b1*b1, ...
 */
#include "config.h"

#include "libpack/image/pixel_parts.h"

#include <immintrin.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2")))

enum {
    COLUMNS = PACK_PIXEL_COLUMNS,
    PAIRS_MAX = 128 /* 2 * 255 * PAIRS_MAX stays below 2^16 */
};

/* Of sixteen columns. Unpacking takes them in fours: squares are of columns 0 to 3 and 8
 * to 11 in `even`, of the others in `odd`. */
struct sums {
    __m256i values, even, odd;
};

AVX2 static inline void
add_pair(struct sums *sums, const uint8_t *p)
{
    __m256i a = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)p));
    __m256i b = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(p + COLUMNS)));
    __m256i even = _mm256_unpacklo_epi16(a, b), odd = _mm256_unpackhi_epi16(a, b);
    sums->values = _mm256_add_epi16(sums->values, _mm256_add_epi16(a, b));
    sums->even = _mm256_add_epi32(sums->even, _mm256_madd_epi16(even, even));
    sums->odd = _mm256_add_epi32(sums->odd, _mm256_madd_epi16(odd, odd));
}

AVX2 static void
hand_over(const struct sums *sums, int first, int channels, uint64_t sum[3],
          uint64_t sumsq[3])
{
    uint16_t values[16];
    uint32_t squares[2][8]; /* even, odd */
    memcpy(values, &sums->values, sizeof values);
    memcpy(squares[0], &sums->even, sizeof squares[0]);
    memcpy(squares[1], &sums->odd, sizeof squares[1]);
    for (int i = 0; i < 16; i++) {
        int c = (first + i) % channels;
        sum[c] += values[i];
        sumsq[c] += squares[i / 4 % 2][i / 8 * 4 + i % 4];
    }
}

AVX2 size_t
pack_pixel_add_avx2(const uint8_t *p, size_t n, int channels, uint64_t sum[3],
                    uint64_t sumsq[3])
{
    const __m256i zero = _mm256_setzero_si256();
    size_t left = n / (2 * COLUMNS);
    while (left) {
        struct sums a = { zero, zero, zero }, b = a, c = a;
        size_t pairs = left < PAIRS_MAX ? left : PAIRS_MAX;
        left -= pairs;
        for (; pairs; pairs--, p += (size_t)2 * COLUMNS) {
            add_pair(&a, p);
            add_pair(&b, p + 16);
            add_pair(&c, p + 32);
        }
        hand_over(&a, 0, channels, sum, sumsq);
        hand_over(&b, 16, channels, sum, sumsq);
        hand_over(&c, 32, channels, sum, sumsq);
    }
    return n - n % (2 * COLUMNS);
}

/* Five pixels of sixteen bytes at a time: the byte in front of them is read, and one behind
 * them is written, which the next pixel puts right. */
AVX2 size_t
pack_pixel_flip_avx2(const uint8_t *row, size_t n, uint8_t *out)
{
    enum { PIXELS = 5 };
    const __m128i turned =
        _mm_setr_epi8(13, 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3, -1);
    size_t x = 0;
    for (; x + PIXELS < n; x += PIXELS) {
        const uint8_t *from = row + 3 * (n - PIXELS - x) - 1;
        __m128i pixels = _mm_loadu_si128((const __m128i *)from);
        _mm_storeu_si128((__m128i *)(out + 3 * x), _mm_shuffle_epi8(pixels, turned));
    }
    return x;
}
