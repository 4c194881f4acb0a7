/*
 * Uses everything in the model that asks for memory, once, and prints what came out; ends
 * with the first error's sentence and status 2. tests/model_faults.sh lets memory run out
 * at each place in turn.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "libpack/model/mixing.h"
#include "libpack/model/policy.h"
#include "libpack/model/replay.h"
#include <libpack/pattern.h>

static struct pack_error err;
static int status; /* of the first failure */

static bool
failed(enum pack_status now)
{
    if (now && !status) {
        fprintf(stderr, "model_dump: %s\n", err.text);
        status = 2;
    }
    return status != 0;
}

static const struct pack_shape extent = { 2, { 500, 30 } }, chunk = { 2, { 7, 20 } };

/* All ways to read through a simulator, then growing. */
static void
dump_cachesim(void)
{
    static const uint64_t points[] = { 3, 4, 499, 29, 3, 5 };
    static const struct pack_box boxes[] = { { 2, { 1, 0 }, { 2, 30 } },
                                             { 2, { 9, 5 }, { 1, 4 } } };
    static const struct pack_shape grown = { 2, { 600, 41 } };
    struct pack_cachesim_params params = { .filtered = true };
    struct pack_cachesim *sim = NULL;
    struct pack_cache_counts counts;
    struct pack_grid grid;
    pack_cache_params_defaults(&params.cache, PACK_HDF5_1_10);
    if (failed(pack_grid_init(&grid, &extent, &chunk, 2, &err)) ||
        failed(pack_cachesim_new(&grid, &params, &sim, &err)))
        return;
    if (!failed(pack_cachesim_read_points(sim, points, 3, &err)) &&
        !failed(pack_cachesim_read_boxes(sim, boxes, 2, &err)) &&
        !failed(pack_cachesim_set_extent(sim, &grown, NULL, &err)) &&
        !failed(pack_cachesim_read_boxes(sim, boxes, 2, &err))) {
        pack_cachesim_counts(sim, &counts);
        printf("cachesim %" PRIu64 " %" PRIu64 "\n", counts.requests, counts.loads);
    }
    pack_cachesim_free(sim);
}

/* One epoch of a pattern: visits for the policies, batches for the mixing. */
static void
dump_pattern(struct pack_pattern pattern)
{
    static const uint32_t labels[500];
    struct pack_pattern_iter *it = NULL;
    struct pack_visits visits = { 0 };
    struct pack_mixing mixing = { 0 };
    struct pack_grid grid;
    uint64_t lru, belady, samples[20];
    size_t n;
    pattern.extent = extent;
    pattern.batch = 20;
    pattern.read = PACK_READ_BATCH;
    if (failed(pack_grid_init(&grid, &extent, &chunk, 2, &err)) ||
        failed(pack_pattern_new(&pattern, &it, &err)))
        return;
    if (!failed(pack_visits_replay(&visits, &grid, it, UINT64_MAX, &err)) &&
        !failed(pack_policy_lru(visits.numbers, visits.n, 9, &lru, &err)) &&
        !failed(pack_policy_belady(visits.numbers, visits.n, 9, &belady, &err)) &&
        !failed(pack_pattern_seek(it, 1, 0, &err)) &&
        !failed(pack_mixing_init(&mixing, 500, 20, labels, 1, &err))) {
        while ((n = pack_pattern_samples(it, samples, 20)) > 0)
            pack_mixing_add(&mixing, samples, n);
        printf("%s %" PRIu64 " %" PRIu64 " %.3f\n", pack_pattern_name(pattern.kind), lru,
               belady, pack_mixing_randomness(&mixing));
    }
    pack_mixing_done(&mixing);
    pack_visits_free(&visits);
    pack_pattern_free(it);
}

static void
dump_trace(void)
{
    static const char text[] = "1\t2\t3\t4\n5\t6\t7\t8\n";
    struct pack_trace trace = { 0 };
    if (!failed(pack_trace_parse(text, sizeof text - 1, &trace, &err)))
        printf("trace %zu\n", trace.n_boxes);
    pack_trace_free(&trace);
}

int
main(void)
{
    static double weights[500];
    for (int i = 0; i < 500; i++)
        weights[i] = i;
    setvbuf(stdout, NULL, _IOFBF, 4096); /* nothing shows before everything went well */
    dump_cachesim();
    for (int kind = 0; kind < PACK_PATTERN_TRACE && !status; kind++)
        dump_pattern((struct pack_pattern){ .kind = (enum pack_pattern_kind)kind,
                                            .weights = weights });
    if (!status)
        dump_pattern((struct pack_pattern){
            .kind = PACK_PATTERN_BLOCK, .slide = true, .pool_chunks = 3 });
    if (!status)
        dump_trace();
    if (status)
        _Exit(status); /* what is buffered is not for output */
    return 0;
}
