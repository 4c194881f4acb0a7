/* Blocks between arrays: random ones against a copy element by element. */
#include <stdint.h>

#include "libpack/base/rng.h"
#include "libpack/reader/strided.h"
#include "tests/tap.h"

enum { ROUNDS = 3000, BYTES_MAX = 1 << 14 };

struct block {
    int rank;
    size_t elem;
    uint64_t count[5], from_extent[5], from_start[5], to_extent[5], to_start[5];
};

static void
draw(struct pack_rng *rng, struct block *b)
{
    b->rank = 1 + (int)pack_rng_below(rng, 5);
    b->elem = (size_t)1 << pack_rng_below(rng, 4);
    for (int i = 0; i < b->rank; i++) {
        b->count[i] = 1 + pack_rng_below(rng, 3);
        bool whole = pack_rng_below(rng, 2); /* so that axes lie together */
        b->from_start[i] = whole ? 0 : pack_rng_below(rng, 2);
        b->to_start[i] = whole ? 0 : pack_rng_below(rng, 2);
        b->from_extent[i] =
            b->from_start[i] + b->count[i] + (whole ? 0 : pack_rng_below(rng, 2));
        b->to_extent[i] =
            b->to_start[i] + b->count[i] + (whole ? 0 : pack_rng_below(rng, 2));
    }
}

/* Offsets in elements of element e of the block. */
static void
locate(const struct block *b, uint64_t e, uint64_t *from, uint64_t *to)
{
    uint64_t from_step = 1, to_step = 1;
    *from = *to = 0;
    for (int i = b->rank - 1; i >= 0; i--) {
        uint64_t at = e % b->count[i];
        e /= b->count[i];
        *from += (b->from_start[i] + at) * from_step;
        *to += (b->to_start[i] + at) * to_step;
        from_step *= b->from_extent[i];
        to_step *= b->to_extent[i];
    }
}

static uint64_t
n_elements(const struct block *b)
{
    uint64_t n = 1;
    for (int i = 0; i < b->rank; i++)
        n *= b->count[i];
    return n;
}

static void
test_random(void)
{
    static uint8_t from[BYTES_MAX], got[BYTES_MAX], want[BYTES_MAX];
    struct pack_rng rng;
    int copied = 0, filled = 0, swapped = 0, spans = 0;
    pack_rng_seed(&rng, 3);
    for (size_t i = 0; i < BYTES_MAX; i++)
        from[i] = (uint8_t)pack_rng_next(&rng);
    for (int round = 0; round < ROUNDS; round++) {
        struct block b;
        struct pack_strided s;
        uint64_t first, last, a, z, n;
        draw(&rng, &b);
        n = n_elements(&b);
        if (round % 3 > 0) /* an element of one byte again and again, or all but the last */
            memset(from, (int)from[0], b.elem);
        from[b.elem - 1] ^= round % 3 == 1;
        pack_strided_set(&s, b.rank, b.count, b.elem,
                         (struct pack_strided_place){ b.from_extent, b.from_start },
                         (struct pack_strided_place){ b.to_extent, b.to_start });
        memset(want, 0, sizeof want);
        memset(got, 0, sizeof got);
        for (uint64_t e = 0; e < n; e++) {
            locate(&b, e, &a, &z);
            memcpy(want + z * b.elem, from + a * b.elem, b.elem);
        }
        pack_strided_copy(&s, 0, from + s.from, got + s.to);
        copied += memcmp(got, want, sizeof got) == 0;
        locate(&b, 0, &first, &z);
        locate(&b, n - 1, &last, &z);
        spans += s.from == first * b.elem &&
                 pack_strided_span(&s, 0) == (last - first + 1) * b.elem &&
                 pack_strided_runs(&s, 0) * s.run_bytes == n * b.elem;
        for (uint64_t e = 0; e < n; e++) {
            locate(&b, e, &a, &z);
            for (size_t k = 0; k < b.elem; k++)
                want[z * b.elem + k] = from[(a + 1) * b.elem - 1 - k];
        }
        pack_strided_swap(&s, b.elem, got);
        swapped += memcmp(got, want, sizeof got) == 0;
        for (uint64_t e = 0; e < n; e++) {
            locate(&b, e, &a, &z);
            memcpy(want + z * b.elem, from, b.elem);
        }
        pack_strided_fill(&s, from, b.elem, got);
        filled += memcmp(got, want, sizeof got) == 0;
    }
    is_number(copied, ROUNDS, "blocks are copied as element by element");
    is_number(spans, ROUNDS, "first run, last run and bytes are those of the elements");
    is_number(swapped, ROUNDS, "elements are turned around, and nothing else");
    is_number(filled, ROUNDS, "blocks are filled, and nothing else");
}

static void
test_together(void)
{
    static const uint64_t extent[] = { 8, 224, 224, 3 }, zero[4] = { 0 };
    static const uint64_t whole[] = { 1, 224, 224, 3 }, crop[] = { 1, 192, 192, 3 };
    static const uint64_t at[] = { 5, 16, 16, 0 };
    struct pack_strided_place chunk = { extent, at }, from = { extent, zero };
    struct pack_strided s;
    pack_strided_set(&s, 4, whole, 1, from, (struct pack_strided_place){ whole, zero });
    ok(s.n_axes == 0 && s.run_bytes == 224 * 224 * 3, "a whole image is one run");
    pack_strided_set(&s, 4, crop, 1, chunk, (struct pack_strided_place){ crop, zero });
    ok(s.n_axes == 1 && s.count[0] == 192 && s.run_bytes == 192 * 3 &&
           s.from_step[0] == 224 * 3 && s.to_step[0] == 192 * 3,
       "a crop is a run a row");
    ok(s.from == ((5 * 224 + 16) * 224 + 16) * 3, "which begins at its corner");
}

int
main(void)
{
    test_random();
    test_together();
    return done();
}
