/*
 * What h5readbench adds to reading: runs of its loop with the null consumer, in line, and
 * a plain loop of H5Dread over the same samples into the same amount of memory, turn
 * about. Usage: bench_readbench FILE.h5 ROUNDS
 */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "libpack/bench/bench.h"
#include "libpack/base/clock.h"

enum { BATCH = 32, SEED = 7 };

static int
ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Processor time of this process, seconds: the same whatever else the machine does. */
static double
cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Seconds of a plain loop, the order being made beforehand. */
static double
plain(const struct pack_readset *set, const uint64_t *order, uint64_t n)
{
    int rank = set->extent.rank;
    hsize_t start[PACK_RANK_MAX] = { 0 }, count[PACK_RANK_MAX];
    for (int i = 0; i < rank; i++)
        count[i] = i ? set->extent.extent[i] : 1;
    unsigned char *batch = malloc(BATCH * set->sample_bytes);
    hid_t file = H5Fopen(set->parts[0].data->file, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, set->dataset, H5P_DEFAULT);
    hid_t space = H5Dget_space(dataset), memory = H5Screate_simple(rank, count, NULL);
    hid_t type = H5Dget_type(dataset);
    uint64_t begin = pack_clock_ns();
    for (uint64_t i = 0; i < n; i++) {
        start[0] = order[i];
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
        if (H5Dread(dataset, type, memory, space, H5P_DEFAULT,
                    batch + i % BATCH * set->sample_bytes) < 0)
            exit(1);
    }
    double seconds = (double)(pack_clock_ns() - begin) / 1e9;
    H5Tclose(type);
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(dataset);
    H5Fclose(file);
    free(batch);
    return seconds;
}

static double
ours(const struct pack_readset *set, uint64_t n)
{
    struct pack_bench_result result;
    struct pack_error err;
    struct pack_bench_params p = {
        .set = set,
        .pattern = { .kind = PACK_PATTERN_SHUFFLE, .batch = BATCH, .seed = SEED },
        .stop.batches = n / BATCH,
        .no_check = true
    };
    if (pack_bench_run(&p, &result, &err) != PACK_OK) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    double seconds = (double)result.elapsed_ns / 1e9;
    pack_bench_done(&result);
    return seconds;
}

int
main(int argc, char **argv)
{
    struct pack_error err;
    struct pack_readset *set;
    struct pack_pattern_iter *iter;
    size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 15;
    const char *file = argc > 1 ? argv[1] : "";
    if (pack_readset_open(&file, 1, NULL, &set, &err) != PACK_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    struct pack_pattern pattern = {
        .kind = PACK_PATTERN_SHUFFLE, .extent = set->extent, .batch = BATCH, .seed = SEED
    };
    uint64_t n = set->extent.extent[0] / BATCH * BATCH,
             *order = malloc(n * sizeof *order);
    double *ratio = malloc(rounds * sizeof *ratio), *time = malloc(rounds * sizeof *time),
           *cpu_ratio = malloc(rounds * sizeof *cpu_ratio);
    if (pack_pattern_new(&pattern, &iter, &err) != PACK_OK ||
        pack_pattern_samples(iter, order, n) != n)
        return 1;
    plain(set, order, n); /* warms the page cache */
    for (size_t i = 0; i < rounds; i++) {
        double wall[2], cpu[2]; /* of plain and ours, turn about */
        for (size_t k = 0; k < 2; k++) {
            size_t which = (i + k) % 2;
            double begin = cpu_seconds(), middle;
            if (which)
                ours(set, BATCH);
            else
                plain(set, order, BATCH);
            middle = cpu_seconds();
            wall[which] = which ? ours(set, n) : plain(set, order, n);
            /* opening and one batch taken off: the loop */
            cpu[which] = cpu_seconds() - middle - (middle - begin);
        }
        ratio[i] = wall[1] / wall[0];
        cpu_ratio[i] = cpu[1] / cpu[0];
        time[i] = wall[0] / (double)n * 1e6;
    }
    qsort(ratio, rounds, sizeof *ratio, ascending);
    qsort(cpu_ratio, rounds, sizeof *cpu_ratio, ascending);
    qsort(time, rounds, sizeof *time, ascending);
    printf("readbench  %llu samples of %llu bytes: H5Dread alone %.2f us a sample\n",
           (unsigned long long)n, (unsigned long long)set->sample_bytes,
           time[rounds / 2]);
    printf(
        "           h5readbench %+.2f %% (quartiles %+.2f to %+.2f), in processor time "
        "%+.2f %%, opening apart; %zu rounds\n",
        100 * (ratio[rounds / 2] - 1), 100 * (ratio[rounds / 4] - 1),
        100 * (ratio[rounds * 3 / 4] - 1), 100 * (cpu_ratio[rounds / 2] - 1), rounds);
    free(order);
    free(ratio);
    free(cpu_ratio);
    free(time);
    pack_pattern_free(iter);
    pack_readset_close(set);
    return 0;
}
