/* Randomness is 0 for neighbours, 1 for a uniform shuffle, in between for what is
 * between; class mixing is what counting and known formulas say. */
#include <math.h>

#include "libpack/model/mixing.h"
#include <libpack/pattern.h>
#include "tests/tap.h"

enum { BATCH = 100 };

/* The mean logarithm of the gaps between `b` of n places, over all ways to choose them. */
static double
mean_log_gap(int n, int b)
{
    double sum = 0;
    long gaps = 0;
    for (unsigned set = 0; set < 1u << n; set++) {
        if (__builtin_popcount(set) != b)
            continue;
        for (int i = 0, last = -1; i < n; i++)
            if (set >> i & 1) {
                sum += last >= 0 ? log(i - last) : 0;
                gaps += last >= 0;
                last = i;
            }
    }
    return sum / (double)gaps;
}

/* Few samples, where the expectation can be counted out. */
static void
test_few(void)
{
    static const struct {
        int n, b;
    } cases[] = { { 5, 2 }, { 12, 4 }, { 9, 7 }, { 16, 3 } };
    int wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int n = cases[i].n, b = cases[i].b;
        uint64_t samples[8];
        struct pack_mixing m;
        (void)pack_mixing_init(&m, (uint64_t)n, (size_t)b, NULL, 0, NULL);
        for (int k = 0; k < b; k++)
            samples[k] = (uint64_t)(b - k); /* neighbours but for the last, drawn backwards */
        samples[0]++;
        pack_mixing_add(&m, samples, (size_t)b);
        double want = log(2) / (b - 1) / mean_log_gap(n, b);
        double got = pack_mixing_randomness(&m);
        wrong += fabs(got - (want < 1 ? want : 1)) > 1e-9;
        note("%d of %d: %.6f, %.6f counted", b, n, got, want);
        pack_mixing_done(&m);
    }
    is_number(wrong, 0, "one gap of 2 among few samples is as random as counting says");
    const uint64_t again[] = { 3, 5, 3 };
    struct pack_mixing m;
    (void)pack_mixing_init(&m, 40, 3, NULL, 0, NULL);
    pack_mixing_add(&m, again, 3);
    ok(m.n_gaps == 2 && fabs(m.sum_log - log(2)) < 1e-12, "a sample drawn twice has no gap");
    pack_mixing_done(&m);
}

/* Measures one epoch of a pattern. */
static struct pack_mixing
measure(struct pack_pattern p, uint64_t n_samples, const uint32_t *labels,
        uint32_t n_classes)
{
    struct pack_mixing mixing;
    struct pack_pattern_iter *it = NULL;
    struct pack_error err;
    uint64_t samples[BATCH];
    size_t n;
    p.extent = (struct pack_shape){ 1, { n_samples } };
    if (pack_mixing_init(&mixing, n_samples, BATCH, labels, n_classes, &err) ||
        pack_pattern_new(&p, &it, &err)) {
        note("%s", err.text);
        exit(2);
    }
    while ((n = pack_pattern_samples(it, samples, BATCH)) > 0)
        pack_mixing_add(&mixing, samples, n);
    pack_pattern_free(it);
    return mixing;
}

static double
randomness_of(struct pack_pattern p, uint64_t n_samples)
{
    struct pack_mixing mixing = measure(p, n_samples, NULL, 0);
    double randomness = pack_mixing_randomness(&mixing);
    pack_mixing_done(&mixing);
    return randomness;
}

static void
test_randomness(void)
{
    struct pack_pattern sequential = { 0 }, shuffle = { .kind = PACK_PATTERN_SHUFFLE };
    struct pack_pattern block = { .kind = PACK_PATTERN_BLOCK, .chunk_samples = 50 };
    static const uint64_t sizes[] = { 200, 10000, 300000, 1000000 };
    bool zero = true, one = true;
    for (int i = 0; i < 4; i++) {
        zero &= randomness_of(sequential, sizes[i]) == 0;
        one &= fabs(randomness_of(shuffle, sizes[i]) - 1) < 0.02;
    }
    ok(zero, "0 for the sequential order");
    ok(one, "1 for a uniform shuffle, of few samples and of many");
    double last = 0;
    bool rises = true;
    for (uint64_t chunks = 1; chunks <= 512; chunks *= 4) {
        block.pool_chunks = chunks;
        double randomness = randomness_of(block, 300000);
        note("a pool of %3d chunks of 50: %.3f", (int)chunks, randomness);
        rises &= randomness > last || (chunks == 1 && randomness < 0.01);
        last = randomness;
    }
    ok(rises && last < 1, "a larger pool is more random, and less than a shuffle");
}

static void
test_local(void)
{
    struct pack_pattern p = { .kind = PACK_PATTERN_BLOCK, .chunk_samples = 50,
                              .batch = BATCH, .dealt = 4 };
    bool equal = true, rises = true;
    double last = 0;
    for (uint64_t chunks = 4; chunks <= 256; chunks *= 4) {
        p.pool_chunks = chunks;
        p.local = false;
        double plain = randomness_of(p, 300000);
        p.local = true;
        double local = randomness_of(p, 300000);
        note("a pool of %3d chunks of 50: %.3f, worker by worker %.3f", (int)chunks,
             plain, local);
        equal &= fabs(plain - local) < 0.02;
        rises &= local > last;
        last = local;
    }
    ok(equal && rises, "a worker's own pool mixes as one for all workers does");
}

static void
test_classes(void)
{
    enum { N = 20000, CLASSES = 40 };
    static uint32_t labels[N];
    double mean, uniform;
    for (int i = 0; i < N; i++)
        labels[i] = (uint32_t)(i / (N / CLASSES));
    struct pack_mixing m = measure((struct pack_pattern){ 0 }, N, labels, CLASSES);
    pack_mixing_classes(&m, &mean, &uniform);
    ok(mean == 1, "files sorted by class, read in order: one class a batch");
    ok(fabs(uniform - CLASSES * (1 - pow(1 - 1.0 / CLASSES, BATCH))) < 0.1,
       "a uniform batch has nearly as many classes as draws with replacement would");
    pack_mixing_done(&m);
    m = measure((struct pack_pattern){ .kind = PACK_PATTERN_SHUFFLE }, N, labels,
                CLASSES);
    pack_mixing_classes(&m, &mean, &uniform);
    note("%.2f classes a batch, %.2f expected", mean, uniform);
    ok(fabs(mean - uniform) < 0.5, "a shuffle has as many as a uniform batch");
    pack_mixing_done(&m);
    struct pack_error err;
    labels[7] = CLASSES;
    pack_mixing_init(&m, N, BATCH, labels, CLASSES, &err);
    is_text(err.text, "sample 7 has label 40, classes end at 39",
            "a stray label is refused");
    pack_mixing_init(&m, N, 1, NULL, 0, &err);
    is_text(err.text, "a batch of one sample mixes nothing", "and a batch of one");
}

int
main(void)
{
    test_few();
    test_randomness();
    test_local();
    test_classes();
    return done();
}
