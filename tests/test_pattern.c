/* Patterns against their definition: laws for all kinds, lists written by hand for
 * PyTorch's sampler and loader. */
#include <inttypes.h>
#include <math.h>

#include <libpack/pattern.h>
#include "libpack/base/rng.h"
#include "libpack/model/replay.h"
#include "tests/tap.h"

static struct pack_pattern_iter *
open_pattern(const struct pack_pattern *p)
{
    struct pack_pattern_iter *it = NULL;
    struct pack_error err;
    if (pack_pattern_new(p, &it, &err)) {
        note("%s", err.text);
        exit(2);
    }
    return it;
}

/* A pattern over n images. */
static struct pack_pattern
images(enum pack_pattern_kind kind, uint64_t n)
{
    return (struct pack_pattern){ .kind = kind, .seed = 3, .extent = { 2, { n, 7 } } };
}

/* All samples of the iterator's epoch, from where it is. */
static size_t
drain(struct pack_pattern_iter *it, uint64_t *samples, size_t step)
{
    size_t n = 0, got;
    while ((got = pack_pattern_samples(it, samples + n, step)) > 0)
        n += got;
    return n;
}

enum { N_MAX = 20000 };
static uint64_t a[N_MAX], b[N_MAX];

static size_t
epoch_of(const struct pack_pattern *p, uint64_t *samples)
{
    struct pack_pattern_iter *it = open_pattern(p);
    size_t n = drain(it, samples, 1000);
    pack_pattern_free(it);
    return n;
}

/* ------------------------------------------------------------------ orders */

static bool
each_once(const uint64_t *samples, size_t n, uint64_t n_samples)
{
    bool seen[N_MAX] = { false };
    if (n != n_samples)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (samples[i] >= n_samples || seen[samples[i]])
            return false;
        seen[samples[i]] = true;
    }
    return true;
}

/* A random pattern of a kind over n samples. */
static struct pack_pattern
random_pattern(struct pack_rng *rng, int kind, uint64_t n)
{
    struct pack_pattern p = images((enum pack_pattern_kind)kind, n);
    p.seed = pack_rng_next(rng);
    p.chunk_samples = 1 + pack_rng_below(rng, 20);
    p.pool_chunks = 1 + pack_rng_below(rng, 10);
    p.slide = pack_rng_below(rng, 2);
    p.local = !p.slide && pack_rng_below(rng, 2);
    p.buffer_samples = 1 + pack_rng_below(rng, 60);
    return p;
}

static void
test_orders(void)
{
    struct pack_rng rng;
    pack_rng_seed(&rng, 1);
    for (int kind = PACK_PATTERN_SEQUENTIAL; kind <= PACK_PATTERN_BUFFER; kind++) {
        bool once = true, same = true;
        for (int i = 0; i < 300; i++) {
            struct pack_pattern p =
                random_pattern(&rng, kind, 1 + pack_rng_below(&rng, 400));
            p.batch = 1 + pack_rng_below(&rng, 30);
            p.dealt = 1 + pack_rng_below(&rng, 6);
            size_t n = epoch_of(&p, a);
            once &= each_once(a, n, p.extent.extent[0]);
            epoch_of(&p, b);
            same &= memcmp(a, b, n * sizeof a[0]) == 0;
        }
        ok(once, "%s: every sample once an epoch", pack_pattern_name(kind));
        ok(same, "%s: the same seed gives the same order", pack_pattern_name(kind));
    }
    for (int kind = PACK_PATTERN_SHUFFLE; kind <= PACK_PATTERN_REPLACEMENT; kind++) {
        struct pack_pattern p = random_pattern(&rng, kind, 1000);
        p.pool_chunks = 5;
        epoch_of(&p, a);
        p.epoch = 1;
        epoch_of(&p, b);
        ok(memcmp(a, b, 1000 * sizeof a[0]) != 0, "%s: another epoch, another order",
           pack_pattern_name(kind));
    }
}

static void
test_pools(void)
{
    struct pack_pattern p = images(PACK_PATTERN_BLOCK, 1003);
    p.chunk_samples = 10;
    p.pool_chunks = 4;
    epoch_of(&p, a);
    int n_wrong = 0, first = 0;
    while (first < 1003) { /* a filling of the pool is 40 positions, or 33 */
        bool in_pool[101] = { false };
        int n_chunks = 0, size = 0;
        for (; first + size < 1003 && size < 40; size++) {
            uint64_t chunk = a[first + size] / 10;
            if (!in_pool[chunk] && n_chunks == 4)
                break;
            n_chunks += !in_pool[chunk];
            in_pool[chunk] = true;
        }
        n_wrong += size != 40 && !(size == 33 && in_pool[100]) && first + size != 1003;
        first += size;
    }
    is_number(n_wrong, 0,
              "block: a refilled pool gives out whole chunks, four at a time");

    p.slide = true;
    epoch_of(&p, a);
    int left[101], n_open = 0, most = 0;
    for (int i = 0; i < 101; i++)
        left[i] = i == 100 ? 3 : 10;
    for (int i = 0; i < 1003; i++) {
        uint64_t chunk = a[i] / 10;
        int whole = chunk == 100 ? 3 : 10;
        n_open += left[chunk] == whole;
        most = n_open > most ? n_open : most;
        n_open -= --left[chunk] == 0;
    }
    is_number(most, 4, "block: a sliding pool has at most four chunks begun");

    p = images(PACK_PATTERN_BUFFER, 1000);
    p.buffer_samples = 50;
    epoch_of(&p, a);
    bool ahead = false, early = true;
    for (int i = 0; i < 1000; i++) {
        early &= a[i] < (uint64_t)i + 50;
        ahead |= a[i] == (uint64_t)i + 49;
    }
    ok(early && ahead, "buffer: a sample comes up to 49 places early, and no more");
}

/* Standard deviations from the mean of a chi-square statistic against probabilities. */
static double
deviation(const uint64_t *samples, size_t n, const double *probability, size_t n_values)
{
    double counts[64] = { 0 }, sum = 0;
    int freedom = -1;
    for (size_t i = 0; i < n; i++)
        counts[samples[i]]++;
    for (size_t i = 0; i < n_values; i++) {
        double expected = probability[i] * (double)n;
        if (expected == 0 && counts[i] > 0)
            return INFINITY;
        if (expected == 0)
            continue;
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
        freedom++;
    }
    return (sum - freedom) / sqrt(2.0 * freedom);
}

static void
test_draws(void)
{
    double even[64], weights[64], total = 0;
    struct pack_pattern p = images(PACK_PATTERN_REPLACEMENT, 64);
    p.draws = N_MAX;
    for (int i = 0; i < 64; i++) {
        even[i] = 1.0 / 64;
        weights[i] = i % 5 == 0 ? 0 : i * i;
        total += weights[i];
    }
    is_number((long long)epoch_of(&p, a), N_MAX,
              "replacement: as many draws as asked for");
    ok(fabs(deviation(a, N_MAX, even, 64)) < 4,
       "replacement: samples come equally often");
    p.kind = PACK_PATTERN_WEIGHTED;
    p.weights = weights;
    epoch_of(&p, a);
    for (int i = 0; i < 64; i++)
        even[i] = weights[i] / total;
    ok(fabs(deviation(a, N_MAX, even, 64)) < 4,
       "weighted: samples come as often as their weights say, those without never");
    weights[7] = -1;
    struct pack_pattern_iter *it;
    struct pack_error err = { 0 };
    pack_pattern_new(&p, &it, &err);
    is_text(err.text, "weight 7 is -1, not a number of 0 or more",
            "a negative weight is refused");
    for (int i = 0; i < 64; i++)
        weights[i] = 0;
    ok(pack_pattern_new(&p, &it, NULL) == PACK_ERR_ARGUMENT,
       "no weight at all is refused");
}

/* ------------------------------------------------- ranks, workers, seeking */

/* One reader's samples, written "0 4 8". */
static void
is_samples(struct pack_pattern p, const char *want, const char *what)
{
    char text[200] = "";
    size_t n = epoch_of(&p, a);
    for (size_t i = 0; i < n; i++)
        sprintf(text + strlen(text), "%s%" PRIu64, i ? " " : "", a[i]);
    is_text(text, want, what);
}

static void
test_distributed(void)
{
    static const char *const padded[] = { "0 4 8", "1 5 9", "2 6 0", "3 7 1" };
    static const char *const cut[] = { "0 4", "1 5", "2 6", "3 7" };
    for (uint64_t rank = 0; rank < 4; rank++) {
        struct pack_pattern p = images(PACK_PATTERN_SEQUENTIAL, 10);
        p.world = 4;
        p.rank = rank;
        is_samples(p, padded[rank], "DistributedSampler(10, num_replicas=4)");
        p.drop_uneven = true;
        is_samples(p, cut[rank],
                   "DistributedSampler(10, num_replicas=4, drop_last=True)");
    }
    struct pack_pattern p = images(PACK_PATTERN_SEQUENTIAL, 3);
    p.world = 8;
    p.rank = 7;
    is_samples(p, "1", "with fewer samples than ranks the padding repeats itself");
    p.drop_uneven = true;
    is_samples(p, "", "or nothing is left");
    p = images(PACK_PATTERN_BUFFER, 10);
    p.buffer_samples = 1;
    p.world = 4;
    p.rank = 3;
    is_samples(p, "3 7 1", "an order drawn one by one is padded with its beginning too");
    struct pack_pattern_iter *it = open_pattern(&p);
    pack_pattern_seek(it, 0, 2, NULL);
    ok(pack_pattern_samples(it, a, 9) == 1 && a[0] == 1,
       "also for a reader that goes to the padding at once");
    pack_pattern_free(it);
    p = images(PACK_PATTERN_BUFFER, 3);
    p.buffer_samples = 1;
    p.world = 8;
    p.rank = 7;
    is_samples(p, "1", "and for a rank that has nothing else");
    p = images(PACK_PATTERN_BLOCK, 10);
    p.chunk_samples = p.pool_chunks = 1;
    p.slide = true;
    p.world = 4;
    epoch_of(&p, b);
    p.rank = 2;
    p.batch = 2;
    p.workers = 2;
    p.worker = 1;
    char first[24];
    snprintf(first, sizeof first, "%" PRIu64, b[0]);
    is_samples(p, first, "or a worker, in a sliding pool");
}

static void
test_loader(void)
{
    struct pack_pattern p = images(PACK_PATTERN_SEQUENTIAL, 10);
    p.batch = 3;
    p.workers = 2;
    is_samples(p, "0 1 2 6 7 8", "DataLoader: worker 0 of 2 gets batches 0 and 2");
    p.worker = 1;
    is_samples(p, "3 4 5 9", "worker 1 gets batch 1 and the short batch");
    p.drop_last = true;
    is_samples(p, "3 4 5", "unless the last batch is dropped");
    p.workers = 6;
    p.worker = 5;
    is_samples(p, "", "a worker may get nothing");
    p = images(PACK_PATTERN_SEQUENTIAL, 20);
    p.world = 2;
    p.rank = 1;
    p.batch = 2;
    p.workers = 3;
    p.worker = 1;
    is_samples(p, "5 7 17 19", "worker 1 of 3 of rank 1 of 2");
}

/* All readers of an epoch together read the padded epoch;
 * each can be entered anywhere. */
static void
test_readers(void)
{
    struct pack_rng rng;
    bool whole = true, seeks = true, steps = true;
    pack_rng_seed(&rng, 2);
    for (int i = 0; i < 400; i++) {
        uint64_t n = 1 + pack_rng_below(&rng, 300), counts[300] = { 0 }, total = 0;
        struct pack_pattern p =
            random_pattern(&rng, (int)pack_rng_below(&rng, PACK_PATTERN_WEIGHTED), n);
        p.world = 1 + pack_rng_below(&rng, 5);
        p.workers = 1 + pack_rng_below(&rng, 4);
        p.dealt = 1 + pack_rng_below(&rng, 4);
        p.batch = 1 + pack_rng_below(&rng, 20);
        for (p.rank = 0; p.rank < p.world; p.rank++)
            for (p.worker = 0; p.worker < p.workers; p.worker++) {
                struct pack_pattern_iter *it = open_pattern(&p);
                size_t length = drain(it, a, 1 + pack_rng_below(&rng, 50));
                uint64_t from = pack_rng_below(&rng, length + 1);
                steps &= length == pack_pattern_length(it);
                for (size_t k = 0; k < length; k++)
                    counts[a[k]]++;
                total += length;
                seeks &= pack_pattern_seek(it, 0, from, NULL) == PACK_OK &&
                         drain(it, b, 7) == length - from &&
                         memcmp(a + from, b, (length - from) * sizeof a[0]) == 0;
                pack_pattern_free(it);
            }
        whole &= total == (n + p.world - 1) / p.world * p.world;
        for (uint64_t k = 0; p.kind != PACK_PATTERN_REPLACEMENT && k < n; k++)
            whole &= counts[k] >= 1;
    }
    ok(whole, "ranks and workers together read the padded epoch");
    ok(seeks, "from any position on the order is the same");
    ok(steps, "the length is what comes");
    struct pack_pattern p = images(PACK_PATTERN_SHUFFLE, 10);
    struct pack_pattern_iter *it = open_pattern(&p);
    struct pack_error err;
    pack_pattern_seek(it, 0, 11, &err);
    is_text(err.text, "position 11 is behind the end of an epoch of 10 samples",
            "a position behind the end is refused");
    pack_pattern_free(it);
}

/* ------------------------------------------------------------ worker-local */

/* Which worker each chunk was read by, as bits; how many chunks two share. */
struct owners {
    uint32_t of[N_MAX];
};

/* Adds a rank's epoch to the owners; false where a worker holds more than a pool begun. */
static bool
add_owners(struct pack_pattern p, struct owners *owners, int first_bit)
{
    uint64_t n_samples = p.extent.extent[0];
    bool fits = true;
    for (p.worker = 0; p.worker < p.workers; p.worker++) {
        uint64_t left[N_MAX] = { 0 }, n_open = 0, pool = p.pool_chunks;
        size_t n = epoch_of(&p, a);
        for (size_t i = 0; i < n; i++)
            left[a[i] / p.chunk_samples]++;
        for (size_t i = 0; i < n; i++) {
            uint64_t chunk = a[i] / p.chunk_samples;
            uint32_t bit = (uint32_t)1 << (first_bit + (int)p.worker);
            n_open += !(owners->of[chunk] & bit);
            owners->of[chunk] |= bit;
            fits &= n_open <= pool && a[i] < n_samples;
            n_open -= --left[chunk] == 0;
        }
    }
    return fits;
}

static uint64_t
count_loads(const struct owners *owners, uint64_t n_chunks)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < n_chunks; i++)
        n += (uint64_t)__builtin_popcount(owners->of[i]);
    return n;
}

static void
test_local_shares(void)
{
    static struct owners owners;
    struct pack_rng rng;
    bool fits = true, counted = true, few = true;
    pack_rng_seed(&rng, 5);
    for (int i = 0; i < 400; i++) {
        uint64_t n = 1 + pack_rng_below(&rng, 700), shared = 0;
        struct pack_pattern p = images(PACK_PATTERN_BLOCK, n);
        p.seed = pack_rng_next(&rng);
        p.chunk_samples = 1 + pack_rng_below(&rng, 20);
        p.chunk_samples = p.chunk_samples < n ? p.chunk_samples : n;
        p.pool_chunks = 1 + pack_rng_below(&rng, 6);
        p.batch = 1 + pack_rng_below(&rng, 25);
        p.workers = 1 + pack_rng_below(&rng, 5);
        p.world = i % 2 ? 1 : 1 + pack_rng_below(&rng, 4);
        p.world = n % p.world ? 1 : p.world; /* padding is loaded beside */
        p.local = true;
        memset(&owners, 0, sizeof owners);
        for (p.rank = 0; p.rank < p.world; p.rank++) {
            struct pack_pattern_iter *it = open_pattern(&p);
            shared += pack_pattern_shared_chunks(it);
            pack_pattern_free(it);
            fits &= add_owners(p, &owners, (int)(p.rank * p.workers));
        }
        uint64_t n_chunks = (n - 1) / p.chunk_samples + 1;
        counted &= count_loads(&owners, n_chunks) == n_chunks + shared;
        few &= shared < p.world * p.workers;
    }
    ok(fits, "block, local: a worker has at most a pool of chunks begun");
    ok(counted, "a chunk is read by one worker, but for those that are counted as shared");
    ok(few, "of which there are fewer than workers");
}

/* Chunks that all workers load through caches of `held` chunks. */
static uint64_t
simulated_loads(struct pack_pattern p, uint64_t held)
{
    struct pack_shape chunk = { 2, { p.chunk_samples, 7 } };
    struct pack_cachesim_params params = { .cache = { 8191, held * p.chunk_samples * 7,
                                                      0.75, PACK_HDF5_1_10 } };
    struct pack_grid grid;
    uint64_t loads = 0, n;
    for (p.worker = 0; p.worker < p.workers; p.worker++) {
        struct pack_pattern_iter *it = open_pattern(&p);
        struct pack_cachesim *sim = NULL;
        struct pack_cache_counts counts = { 0 };
        if (pack_grid_init(&grid, &p.extent, &chunk, 1, NULL) ||
            pack_cachesim_new(&grid, &params, &sim, NULL) ||
            pack_replay(it, sim, UINT64_MAX, &n, NULL))
            exit(2);
        pack_cachesim_counts(sim, &counts);
        loads += counts.loads;
        pack_cachesim_free(sim);
        pack_pattern_free(it);
    }
    return loads;
}

static void
test_local_loads(void)
{
    struct pack_pattern p = images(PACK_PATTERN_BLOCK, 4000);
    p.chunk_samples = 10;
    p.pool_chunks = 8;
    p.batch = 25;
    p.workers = 4;
    p.local = true;
    is_number((long long)simulated_loads(p, 8), 400,
              "simulated with room for a pool, each chunk is loaded once by all workers");
    p.read = PACK_READ_BATCH;
    is_number((long long)simulated_loads(p, 11), 400,
              "read by batches too, with room for those of a batch between two pools");
    p.read = PACK_READ_SAMPLE;
    uint64_t loads = simulated_loads(p, 4);
    note("with room for half a pool: %d loads", (int)loads);
    ok(loads > 1200, "without room for it, most samples load their chunk");
    p.local = false;
    loads = simulated_loads(p, 8);
    note("from one pool for all: %d loads", (int)loads);
    ok(loads > 1200, "from one pool for all, most workers load every chunk");
}

/* Batches that fill whole chunks, whatever is left over at the end. */
static void
test_local_exact(void)
{
    static struct owners owners;
    int n_wrong = 0;
    for (uint64_t n = 900; n < 1100; n++)
        for (uint64_t workers = 1; workers <= 8; workers++) {
            struct pack_pattern p = images(PACK_PATTERN_BLOCK, n);
            p.chunk_samples = 16;
            p.pool_chunks = 4;
            p.batch = 32;
            p.workers = workers;
            p.local = true;
            p.epoch = n;
            memset(&owners, 0, sizeof owners);
            add_owners(p, &owners, 0);
            n_wrong += count_loads(&owners, (n + 15) / 16) != (n + 15) / 16;
        }
    is_number(n_wrong, 0,
              "with batches of whole chunks every chunk has one worker, short ones too");
}

static void
test_local_law(void)
{
    /* 40 samples, chunks of 4, 2 workers: where does sample 17 come, and the short chunk? */
    enum { EPOCHS = 4000 };
    struct pack_pattern p = images(PACK_PATTERN_BLOCK, 40);
    double even[64];
    uint64_t where[EPOCHS], n_first = 0;
    p.chunk_samples = 4;
    p.pool_chunks = 2;
    p.batch = 5;
    p.dealt = 2;
    p.local = true;
    struct pack_pattern_iter *it = open_pattern(&p);
    for (uint64_t e = 0; e < EPOCHS; e++) {
        pack_pattern_seek(it, e, 0, NULL);
        drain(it, a, 40);
        for (uint64_t i = 0; i < 40; i++)
            where[e] = a[i] == 17 ? i : where[e];
    }
    pack_pattern_free(it);
    for (int i = 0; i < 40; i++)
        even[i] = 1.0 / 40;
    ok(fabs(deviation(where, EPOCHS, even, 40)) < 4,
       "over the epochs a sample comes at all places of the order equally often");
    p = images(PACK_PATTERN_BLOCK, 41);
    p.chunk_samples = 4;
    p.pool_chunks = 2;
    p.batch = 4;
    p.dealt = 2;
    p.local = true;
    it = open_pattern(&p);
    for (uint64_t e = 0; e < 1000; e++) {
        pack_pattern_seek(it, e, 0, NULL);
        drain(it, a, 41);
        for (int i = 0; i < 16; i++)
            n_first += a[i] == 40;
    }
    pack_pattern_free(it);
    ok(n_first > 250 && n_first < 420, "the short chunk is not always the last");
    note("the short chunk is in the first two batches of its worker in %d of 1000 epochs",
         (int)n_first);
}

/* The batches of all workers in one stream, entered anywhere. */
static void
test_local_entered(void)
{
    struct pack_rng rng;
    bool same = true;
    pack_rng_seed(&rng, 6);
    for (int i = 0; i < 200; i++) {
        struct pack_pattern p = random_pattern(&rng, PACK_PATTERN_BLOCK,
                                               1 + pack_rng_below(&rng, 400));
        p.slide = false;
        p.local = true;
        p.batch = 1 + pack_rng_below(&rng, 20);
        p.dealt = 1 + pack_rng_below(&rng, 5);
        size_t n = epoch_of(&p, a), from = pack_rng_below(&rng, n + 1);
        struct pack_pattern_iter *it = open_pattern(&p);
        same &= pack_pattern_seek(it, 0, from, NULL) == PACK_OK &&
                drain(it, b, 1 + pack_rng_below(&rng, 70)) == n - from &&
                memcmp(a + from, b, (n - from) * sizeof a[0]) == 0;
        pack_pattern_free(it);
    }
    ok(same, "entered within a batch, the dealing goes on as it was");
}

/* A loader that starts at batch k deals it to its worker 0. */
static void
test_local_resume(void)
{
    static struct owners owners;
    enum { WORKERS = 3, BATCH = 8, N = 600 };
    struct pack_pattern p = images(PACK_PATTERN_BLOCK, N);
    p.chunk_samples = 4;
    p.pool_chunks = 5;
    p.batch = BATCH;
    p.dealt = WORKERS;
    p.local = true;
    size_t n = epoch_of(&p, b);
    bool turned = true;
    for (size_t k = 0; k < 10; k++)
        for (size_t worker = 0; worker < WORKERS; worker++) {
            struct pack_pattern old = p;
            size_t at = 0;
            old.workers = WORKERS;
            old.worker = (worker + k) % WORKERS;
            struct pack_pattern_iter *it = open_pattern(&old);
            pack_pattern_seek(it, 0, (k + worker) / WORKERS * BATCH, NULL);
            for (size_t i = k + worker; i < n / BATCH; i += WORKERS, at += BATCH)
                turned &= pack_pattern_samples(it, a, BATCH) == BATCH &&
                          memcmp(a, b + i * BATCH, BATCH * sizeof a[0]) == 0;
            turned &= pack_pattern_samples(it, a, BATCH) == 0;
            pack_pattern_free(it);
        }
    ok(turned, "resumed at batch k, worker j reads what worker (j + k) mod W would have");

    p.workers = 2; /* dealt to three, read by two */
    memset(&owners, 0, sizeof owners);
    add_owners(p, &owners, 0);
    uint64_t loads = count_loads(&owners, N / 4);
    note("%d chunks dealt to 3 workers, read by 2: %d loads", N / 4, (int)loads);
    ok(loads > N / 4 * 3 / 2, "another number of workers loads most chunks twice");
}

static void
test_local(void)
{
    test_local_shares();
    test_local_loads();
    test_local_exact();
    test_local_law();
    test_local_entered();
    test_local_resume();
    struct pack_pattern p = images(PACK_PATTERN_BLOCK, 9);
    struct pack_pattern_iter *it;
    struct pack_error err = { 0 };
    p.local = p.slide = true;
    pack_pattern_new(&p, &it, &err);
    is_text(err.text,
            "a worker-local block shuffle refills its pools: they cannot slide",
            "a local pool that slides is refused");
}

/* ---------------------------------------------------------------- requests */

static void
test_batches(void)
{
    struct pack_pattern p = { .extent = { 2, { 100, 8 } }, .batch = 4 };
    struct pack_request r;
    p.read = PACK_READ_BATCH;
    struct pack_pattern_iter *it = open_pattern(&p);
    pack_pattern_next(it, &r);
    ok(r.n_boxes == 1 && r.boxes[0].count[0] == 4 && r.boxes[0].count[1] == 8,
       "a batch of neighbours is one box");
    pack_pattern_seek(it, 0, 6, NULL);
    pack_pattern_next(it, &r);
    ok(r.position == 6 && r.batch == 1 && r.n_samples == 2 && r.boxes[0].start[0] == 6,
       "entered in the middle, the rest of the batch comes");
    pack_pattern_free(it);

    p.kind = PACK_PATTERN_REPLACEMENT;
    p.batch = 60;
    it = open_pattern(&p);
    bool right = true;
    for (uint64_t epoch = 0; epoch < 50; epoch++) {
        bool drawn[100] = { false }, read[100] = { false };
        pack_pattern_seek(it, epoch, 0, NULL);
        pack_pattern_next(it, &r);
        for (size_t i = 0; i < r.n_samples; i++)
            drawn[r.samples[i]] = true;
        for (size_t i = 0; i < r.n_boxes; i++)
            for (uint64_t k = 0; k < r.boxes[i].count[0]; k++) {
                right &= !read[r.boxes[i].start[0] + k];
                read[r.boxes[i].start[0] + k] = true;
            }
        right &= memcmp(drawn, read, sizeof drawn) == 0;
        for (size_t i = 1; i < r.n_boxes; i++)
            right &=
                r.boxes[i].start[0] > r.boxes[i - 1].start[0] + r.boxes[i - 1].count[0];
    }
    ok(right, "a batch reads each sample drawn once, in boxes apart from each other");
    pack_pattern_free(it);

    p.read = PACK_READ_SPAN;
    p.batch = 3;
    it = open_pattern(&p);
    right = true;
    while (pack_pattern_next(it, &r)) {
        uint64_t least = UINT64_MAX, most = 0;
        for (size_t i = 0; i < r.n_samples; i++) {
            least = r.samples[i] < least ? r.samples[i] : least;
            most = r.samples[i] > most ? r.samples[i] : most;
        }
        right &= r.n_boxes == 1 && r.boxes[0].start[0] == least &&
                 r.boxes[0].count[0] == most - least + 1;
    }
    ok(right, "a span is the smallest block around a batch");
    pack_pattern_free(it);
}

static void
test_boxes(void)
{
    struct pack_pattern p = { .extent = { 1, { 100 } }, .box = { 1, { 10 } }, .step = 5 };
    struct pack_request r;
    struct pack_pattern_iter *it = open_pattern(&p);
    uint64_t n = 0, last = 0;
    for (; pack_pattern_next(it, &r); n++)
        last = r.boxes[0].start[0];
    ok(n == 19 && last == 90, "windows of 10 every 5 of 100");
    ok(!pack_pattern_is_whole(it), "which are not whole samples");
    pack_pattern_free(it);

    /* patches of a volume: all three starts random */
    p = (struct pack_pattern){ .kind = PACK_PATTERN_REPLACEMENT,
                               .extent = { 3, { 20, 30, 40 } },
                               .box = { 3, { 5, 30, 8 } },
                               .draws = N_MAX };
    uint64_t start[32] = { 0 };
    bool inside = true;
    it = open_pattern(&p);
    for (n = 0; pack_pattern_next(it, &r); n++) {
        a[n] = r.boxes[0].start[2];
        inside &= r.boxes[0].start[0] <= 15 && r.boxes[0].start[1] == 0 && a[n] <= 32;
        start[r.boxes[0].start[0]]++;
    }
    double even[33];
    for (int i = 0; i < 33; i++)
        even[i] = 1.0 / 33;
    ok(inside && n == N_MAX && start[0] > 0 && start[15] > 0, "patches lie inside");
    ok(fabs(deviation(a, n, even, 33)) < 4, "random starts are uniform");
    pack_pattern_seek(it, 0, 777, NULL);
    pack_pattern_next(it, &r);
    ok(r.boxes[0].start[2] == a[777], "and the same after seeking");
    pack_pattern_free(it);

    struct pack_box trace[] = { { 1, { 5 }, { 2 } }, { 1, { 0 }, { 9 } } };
    p = (struct pack_pattern){ .kind = PACK_PATTERN_TRACE, .trace = trace, .n_trace = 2 };
    it = open_pattern(&p);
    ok(pack_pattern_next(it, &r) && r.boxes[0].start[0] == 5 &&
           pack_pattern_next(it, &r) && r.boxes[0].count[0] == 9 &&
           !pack_pattern_next(it, &r),
       "a trace is replayed");
    pack_pattern_free(it);
}

static void
test_refusals(void)
{
    static const struct {
        struct pack_pattern pattern;
        const char *sentence;
    } cases[] = {
        { { .extent = { 0 } }, "dataset has 0 dimensions, not 1 to 32" },
        { { .extent = { 1, { 0 } } }, "box of 1 does not fit axis 0 of 0" },
        { { .extent = { 2, { 9, 9 } }, .box = { 1, { 1 } } },
          "box has 1 dimension, dataset has 2" },
        { { .extent = { 2, { 9, 9 } }, .box = { 2, { 1, 10 } } },
          "box of 10 does not fit axis 1 of 9" },
        { { .extent = { 1, { 9 } }, .n_samples = 10 },
          "10 samples wanted, dataset has 9" },
        { { .extent = { 1, { 9 } }, .world = 2, .rank = 2 },
          "rank 2 of 2 does not exist: ranks count from 0" },
        { { .extent = { 1, { 9 } }, .workers = 2, .worker = 2 },
          "worker 2 of 2 does not exist: workers count from 0" },
        { { .kind = PACK_PATTERN_TRACE }, "pattern has no samples" },
        { { .extent = { 1, { UINT64_MAX } } }, "pattern has more than 2^62 samples" },
        { { .kind = PACK_PATTERN_WEIGHTED, .extent = { 1, { 9 } } },
          "pattern weighted has no weights" },
        { { .extent = { 2, { 9, 9 } }, .box = { 2, { 4, 4 } }, .read = PACK_READ_BATCH },
          "windows that overlap cannot be cropped at random and read as a batch: "
          "read by sample" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pack_pattern_iter *it;
        struct pack_error err = { 0 };
        pack_pattern_new(&cases[i].pattern, &it, &err);
        is_text(err.text, cases[i].sentence, "refused");
    }
}

/* ------------------------------------------------------------------- words */

static void
test_parse(void)
{
    static const struct {
        const char *text, *sentence;
    } wrong[] = {
        { "", "'' is not a pattern: sequential, shuffle, block, buffer, replacement, "
              "weighted or trace" },
        { "shuffled", "'shuffled' is not a pattern: sequential, shuffle, block, buffer, "
                      "replacement, weighted or trace" },
        { "shuffle:seed=1", "pattern shuffle takes nothing after ':'" },
        { "block:samples=3",
          "pattern block takes chunks= or pool= or local, not 'samples'" },
        { "block:chunks=", "pattern block, chunks: '' is not a whole number" },
        { "block:chunks=0", "pattern block, chunks: 0 is too few" },
        { "block:chunks=3,", "pattern block takes chunks= or pool= or local, not ''" },
        { "block:local=1", "pattern block takes chunks= or pool= or local, not 'local'" },
        { "block:chunks", "pattern block takes chunks= or pool= or local, not 'chunks'" },
        { "block:local,pool=slide",
          "pattern block, local: pools are refilled, they cannot slide" },
        { "block:pool=ring", "pattern block, pool: 'ring' is neither refill nor slide" },
        { "buffer:samples=99999999999999999999999999999999999999",
          "pattern buffer, samples: '9999999999999999999999999999999' is more than "
          "4611686018427387904" },
        { "weighted", "pattern weighted needs by=FILE, a weight for each sample" },
        { "weighted:by=", "pattern weighted needs the name of a file" },
        { "trace", "pattern trace needs the name of a file" },
        { "trace:", "pattern trace needs the name of a file" },
    };
    struct pack_pattern p = { .seed = 9 };
    struct pack_error err;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        err.text[0] = '\0';
        pack_pattern_parse(wrong[i].text, &p, &err);
        is_text(err.text, wrong[i].sentence, wrong[i].text);
    }
    ok(p.kind == PACK_PATTERN_SEQUENTIAL && p.seed == 9,
       "a refused text changes nothing");
    ok(pack_pattern_parse("block:pool=slide,chunks=64", &p, NULL) == PACK_OK &&
           p.kind == PACK_PATTERN_BLOCK && p.slide && p.pool_chunks == 64 && p.seed == 9,
       "block:pool=slide,chunks=64");
    ok(pack_pattern_parse("block:chunks=32,local", &p, NULL) == PACK_OK && p.local &&
           !p.slide && p.pool_chunks == 32,
       "block:chunks=32,local");
    ok(pack_pattern_parse("block:local,pool=refill", &p, NULL) == PACK_OK && p.local,
       "block:local,pool=refill");
    ok(pack_pattern_parse("block", &p, NULL) == PACK_OK && !p.slide && !p.local &&
           p.pool_chunks == 0,
       "block alone has its defaults");
    ok(pack_pattern_parse("buffer:samples=500", &p, NULL) == PACK_OK &&
           p.buffer_samples == 500,
       "buffer:samples=500");
    ok(pack_pattern_parse("weighted:draws=5,by=a,b=c.txt", &p, NULL) == PACK_OK &&
           p.draws == 5 && strcmp(p.file, "a,b=c.txt") == 0,
       "a file's name may hold anything");
    ok(pack_pattern_parse("trace:run:1.tsv", &p, NULL) == PACK_OK &&
           strcmp(p.file, "run:1.tsv") == 0,
       "trace:run:1.tsv");
    ok(pack_pattern_parse_rank("3/8", &p, NULL) == PACK_OK && p.rank == 3 && p.world == 8,
       "--rank 3/8");
    pack_pattern_parse_rank("8/8", &p, &err);
    is_text(err.text, "rank 8 of 8 does not exist: ranks count from 0", "--rank 8/8");
    pack_pattern_parse_rank("1", &p, &err);
    is_text(err.text, "'1' is not a rank like 0/8", "--rank 1");
    enum pack_read_mode mode;
    ok(pack_read_mode_parse("span", &mode, NULL) == PACK_OK && mode == PACK_READ_SPAN,
       "--read span");
    ok(pack_read_mode_parse("all", &mode, NULL) == PACK_ERR_ARGUMENT, "--read all");
}

int
main(void)
{
    test_orders();
    test_pools();
    test_draws();
    test_distributed();
    test_loader();
    test_readers();
    test_local();
    test_batches();
    test_boxes();
    test_refusals();
    test_parse();
    return done();
}
