/*
 * Chunk visits per second of CPU time, one thread, order generation included: the model
 * of HDF5's cache beside a plain LRU cache with a hash table on the same trace.
 *
 *     bench_cachesim [ROUNDS]
 *
 * Reads are single whole samples in uniformly shuffled order. Each round does both
 * contenders of every row in turn, so that a slow moment hits both; what is printed is
 * the median round and, behind it, the slowest and the quickest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libpack/model/policy.h"
#include "libpack/model/replay.h"

enum { ROUNDS_MAX = 101, N_CONTENDERS = 3 };

static const struct row {
    uint64_t n_samples, chunk_samples, n_entries, n_slots;
} rows[] = {
    { 1000000, 1, 9, 521 },
    { 1000000, 1, 10000, 100003 },
    { 1000000, 1, 100000, 1000003 },
    { 40000, 4, 1000, 10007 },
    { 1000000, 16, 1000, 10007 },
    { 1000000, 64, 1000, 10007 },
    { 1000000, 16, 10000, 100003 },
    { 2560000, 64, 10000, 100003 },
    { 4000000, 4, 100000, 1000003 },
    { 6400000, 16, 100000, 1000003 },
    { 25600000, 64, 100000, 1000003 },
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

static double rates[N_ROWS][N_CONTENDERS][ROUNDS_MAX];

static double
cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void
need(enum pack_status status, const struct pack_error *err)
{
    if (status) {
        fprintf(stderr, "bench_cachesim: %s\n", err->text);
        exit(2);
    }
}

/* At least this many visits are timed, in whole or part epochs. */
static const uint64_t n_timed = 4000000;

static double
time_model(const struct row *row, struct pack_pattern_iter *it)
{
    struct pack_shape extent = { 1, { row->n_samples } };
    struct pack_shape chunk = { 1, { row->chunk_samples } };
    struct pack_cachesim_params params = {
        .filtered = true,
        .cache = { .n_slots = row->n_slots,
                   .size_bytes = row->n_entries * row->chunk_samples,
                   .w0 = 0.75 },
    };
    struct pack_cachesim *sim;
    struct pack_grid grid;
    struct pack_error err;
    uint64_t n = 0, got;
    need(pack_grid_init(&grid, &extent, &chunk, 1, &err), &err);
    need(pack_cachesim_new(&grid, &params, &sim, &err), &err);
    for (uint64_t epoch = 0; n < n_timed / 4; epoch++, n += got) { /* fill the cache */
        pack_pattern_seek(it, epoch, 0, NULL);
        pack_replay(it, sim, n_timed / 4, &got, NULL);
    }
    double start = cpu_seconds();
    n = 0;
    for (uint64_t epoch = 10; n < n_timed; epoch++, n += got) {
        pack_pattern_seek(it, epoch, 0, NULL);
        pack_replay(it, sim, n_timed, &got, NULL);
    }
    double seconds = cpu_seconds() - start;
    pack_cachesim_free(sim);
    return (double)n / seconds;
}

static uint64_t numbers[4000000 + 25600000];

/* Order generation alone, or with LRU behind it. */
static double
time_trace(const struct row *row, struct pack_pattern_iter *it, bool lru)
{
    struct pack_error err;
    uint64_t n = 0, loads, got;
    double start = cpu_seconds();
    for (uint64_t epoch = 10; n < n_timed; epoch++) {
        pack_pattern_seek(it, epoch, 0, NULL);
        while (n < n_timed && (got = pack_pattern_samples(it, numbers + n, 4096)) > 0)
            n += got;
    }
    if (lru) {
        for (uint64_t i = 0; i < n; i++)
            numbers[i] /= row->chunk_samples;
        need(pack_policy_lru(numbers, n, row->n_entries, &loads, &err), &err);
    }
    return (double)n / (cpu_seconds() - start);
}

static int
by_value(const void *a, const void *b)
{
    double p = *(const double *)a, q = *(const double *)b;
    return p < q ? -1 : p > q;
}

static void
print_rates(double *of, int n)
{
    qsort(of, (size_t)n, sizeof of[0], by_value);
    printf("  %6.1f (%5.1f-%5.1f)", of[n / 2] / 1e6, of[0] / 1e6, of[n - 1] / 1e6);
}

int
main(int argc, char **argv)
{
    int n_rounds = argc > 1 ? atoi(argv[1]) : 9;
    if (n_rounds < 1 || n_rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: bench_cachesim [ROUNDS, 1 to %d]\n", ROUNDS_MAX);
        return 2;
    }
    memset(numbers, 0, sizeof numbers);
    for (int round = 0; round < n_rounds; round++)
        for (int i = 0; i < N_ROWS; i++) {
            struct pack_pattern p = { .kind = PACK_PATTERN_SHUFFLE,
                                      .seed = 1,
                                      .extent = { 1, { rows[i].n_samples } } };
            struct pack_pattern_iter *it;
            struct pack_error err;
            need(pack_pattern_new(&p, &it, &err), &err);
            rates[i][0][round] = time_trace(&rows[i], it, false);
            rates[i][1][round] = time_model(&rows[i], it);
            rates[i][2][round] = time_trace(&rows[i], it, true);
            pack_pattern_free(it);
        }
    printf("million visits per second, median of %d rounds (slowest-quickest)\n",
           n_rounds);
    printf("   samples per-chunk  entries    slots  %-20s  %-20s  %-20s\n", "order alone",
           "HDF5 model", "LRU");
    for (int i = 0; i < N_ROWS; i++) {
        printf("%10llu %9llu %8llu %8llu", (unsigned long long)rows[i].n_samples,
               (unsigned long long)rows[i].chunk_samples,
               (unsigned long long)rows[i].n_entries,
               (unsigned long long)rows[i].n_slots);
        for (int k = 0; k < N_CONTENDERS; k++)
            print_rates(rates[i][k], n_rounds);
        putchar('\n');
    }
    return 0;
}
