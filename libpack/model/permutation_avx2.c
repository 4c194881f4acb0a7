/* The 32-bit network of permutation.c, eight positions at a time. */
#include "config.h"

#include <immintrin.h>

#include "libpack/model/permutation_parts.h"

__attribute__((target("avx2"))) static inline __m256i
hash(const struct pack_permutation *p, int round, __m256i x)
{
    x = _mm256_xor_si256(x, _mm256_set1_epi32((int)p->add[round]));
    x = _mm256_mullo_epi32(x, _mm256_set1_epi32((int)p->multiply[round]));
    x = _mm256_xor_si256(x, _mm256_srli_epi32(x, 15));
    x = _mm256_mullo_epi32(x, _mm256_set1_epi32((int)PERMUTATION_MULTIPLIER));
    return _mm256_srli_epi32(x, 16);
}

__attribute__((target("avx2"))) void
pack_permutation_pass_avx2(const struct pack_permutation *permutation, uint32_t first,
                           size_t count, uint32_t *out)
{
    const struct pack_permutation *p = permutation;
    const __m256i rows = _mm256_set1_epi32((int)p->rows);
    const __m256i mask = _mm256_set1_epi32((1 << p->row_bits) - 1);
    const __m128i row_bits = _mm_cvtsi32_si128(p->row_bits);
    const __m256i steps = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for (size_t i = 0; i < count; i += 8) {
        __m256i x = _mm256_add_epi32(_mm256_set1_epi32((int)(first + i)), steps);
        __m256i row = _mm256_srl_epi32(x, row_bits), column = _mm256_and_si256(x, mask);
        for (int round = 0; round < p->n_rounds; round += 2) {
            __m256i shift = _mm256_mullo_epi32(hash(p, round, column), rows);
            row = _mm256_add_epi32(row, _mm256_srli_epi32(shift, 16));
            /* of row and row - rows the one that has not wrapped around is the smaller */
            row = _mm256_min_epu32(row, _mm256_sub_epi32(row, rows));
            column =
                _mm256_xor_si256(column, _mm256_and_si256(hash(p, round + 1, row), mask));
        }
        x = _mm256_or_si256(_mm256_sll_epi32(row, row_bits), column);
        _mm256_storeu_si256((__m256i *)(void *)(out + i), x);
    }
}
