/*
 * pattern_dump PATTERN SAMPLES SAMPLE_BYTES CHUNK BATCH WORKERS R/W DROP_LAST SEED EPOCHS
 *              NBYTES NSLOTS VERSION PERSISTENT
 *
 * Prints what a rank of a DataLoader is given, for others to compare with: a line "batch
 * EPOCH SAMPLE..." for each batch, "loads EPOCH WORKER N" for the chunks that the
 * worker's simulated cache loads (anew each epoch unless PERSISTENT), "shared N" in the end.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "libpack/model/replay.h"

static _Noreturn void
fail(const char *text)
{
    fprintf(stderr, "pattern_dump: %s\n", text);
    exit(2);
}

static struct pack_pattern_iter *
open_pattern(const struct pack_pattern *pattern)
{
    struct pack_pattern_iter *iter = NULL;
    struct pack_error err;
    if (pack_pattern_new(pattern, &iter, &err))
        fail(err.text);
    return iter;
}

static void
dump_batches(struct pack_pattern pattern, uint64_t n_epochs)
{
    pattern.dealt = pattern.workers;
    pattern.workers = 1;
    struct pack_pattern_iter *iter = open_pattern(&pattern);
    uint64_t *samples = calloc(pattern.batch, sizeof samples[0]);
    size_t n;
    if (!samples)
        fail("no memory");
    for (uint64_t e = 0; e < n_epochs; e++) {
        if (pack_pattern_seek(iter, e, 0, NULL))
            fail("cannot seek");
        while ((n = pack_pattern_samples(iter, samples, pattern.batch)) > 0) {
            printf("batch %" PRIu64, e);
            for (size_t i = 0; i < n; i++)
                printf(" %" PRIu64, samples[i]);
            printf("\n");
        }
    }
    printf("shared %" PRIu64 "\n", pack_pattern_shared_chunks(iter));
    free(samples);
    pack_pattern_free(iter);
}

static void
dump_loads(struct pack_pattern pattern, uint64_t n_epochs,
           const struct pack_cachesim_params *params, bool persistent)
{
    struct pack_shape chunk = { 2, { pattern.chunk_samples, pattern.extent.extent[1] } };
    struct pack_grid grid;
    struct pack_error err;
    if (pack_grid_init(&grid, &pattern.extent, &chunk, 1, &err))
        fail(err.text);
    for (pattern.worker = 0; pattern.worker < pattern.workers; pattern.worker++) {
        struct pack_pattern_iter *iter = open_pattern(&pattern);
        struct pack_cachesim *sim = NULL;
        for (uint64_t e = 0, n; e < n_epochs; e++) {
            struct pack_cache_counts counts;
            if (!persistent || e == 0) {
                pack_cachesim_free(sim);
                if (pack_cachesim_new(&grid, params, &sim, &err))
                    fail(err.text);
            }
            if (pack_pattern_seek(iter, e, 0, &err) ||
                pack_replay(iter, sim, UINT64_MAX, &n, &err))
                fail(err.text);
            pack_cachesim_take(sim, &counts);
            printf("loads %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", e, pattern.worker,
                   counts.loads);
        }
        pack_cachesim_free(sim);
        pack_pattern_free(iter);
    }
}

int
main(int argc, char **argv)
{
    struct pack_pattern pattern = { 0 };
    struct pack_cachesim_params params = { .cache = { .w0 = 0.75 } };
    struct pack_error err;
    if (argc != 15)
        fail("14 arguments wanted");
    if (pack_pattern_parse(argv[1], &pattern, &err) ||
        pack_pattern_parse_rank(argv[7], &pattern, &err) ||
        pack_hdf5_version_parse(argv[13], &params.cache.version, &err))
        fail(err.text);
    pattern.extent = (struct pack_shape){
        2, { strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10) }
    };
    pattern.chunk_samples = strtoull(argv[4], NULL, 10);
    pattern.batch = strtoull(argv[5], NULL, 10);
    pattern.workers = strtoull(argv[6], NULL, 10);
    pattern.drop_last = atoi(argv[8]) != 0;
    pattern.seed = strtoull(argv[9], NULL, 10);
    uint64_t n_epochs = strtoull(argv[10], NULL, 10);
    params.cache.size_bytes = strtoull(argv[11], NULL, 10);
    params.cache.n_slots = strtoull(argv[12], NULL, 10);
    dump_batches(pattern, n_epochs);
    dump_loads(pattern, n_epochs, &params, atoi(argv[14]) != 0);
    return 0;
}
