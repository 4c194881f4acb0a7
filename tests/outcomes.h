/* What tests of the advisor share: outcomes made up around today's, just above and just
 * below each threshold. */
#ifndef TESTS_OUTCOMES_H
#define TESTS_OUTCOMES_H

#include "libpack/advise/advise_parts.h"
#include "tests/tap.h"

static struct pack_profile profile;
static struct pack_advise_config today;
static struct pack_advise_params params;

/* 1000 samples of 64x64 bytes, today in chunks of 4 with the default cache. */
__attribute__((unused)) static void
setup(void)
{
    struct pack_error err;
    (void)pack_profile_named("nvme", &profile, &err);
    params = (struct pack_advise_params){
        .data.extent = { 3, { 1000, 64, 64 } },
        .data.elem_size = 1,
        .machine.profile = &profile,
        .reading.pattern = { .kind = PACK_PATTERN_SHUFFLE, .batch = 16 },
        .machine.memory_bytes = 256 << 20,
        .machine.ram_bytes = 1 << 30,
        .now = &today,
    };
    today = (struct pack_advise_config){ .chunk = { 3, { 4, 64, 64 } },
                                         .codec = "none",
                                         .stored_rate = 1,
                                         .pattern = params.reading.pattern };
    pack_cache_params_defaults(&today.cache, PACK_HDF5_1_10);
}

/* An outcome of today's configuration at a rate. */
__attribute__((unused)) static struct pack_advise_outcome
at(double rate)
{
    return (struct pack_advise_outcome){ .config = today,
                                         .rate = rate,
                                         .first_rate = rate,
                                         .later_rate = rate,
                                         .modelled_rate = rate,
                                         .memory_bytes = 1 << 20,
                                         .file_bytes = 4096000,
                                         .randomness = 1,
                                         .worker_samples = 1000,
                                         .epoch_samples = 1000,
                                         .first_samples = 1000,
                                         .steady_samples = 1000,
                                         .first = { .requests = 1000, .loads = 1000 },
                                         .steady = { .requests = 1000, .loads = 1000 },
                                         .first_cost = { .total_ns = 1 },
                                         .steady_cost = { .total_ns = 1 },
                                         .fits = true };
}

__attribute__((unused)) static struct pack_advise_outcome
rewritten(double rate)
{
    struct pack_advise_outcome o = at(rate);
    o.config.chunk.extent[0] = 8;
    return o;
}

__attribute__((unused)) static struct pack_advise_outcome
reset(double rate, uint64_t bytes)
{
    struct pack_advise_outcome o = at(rate);
    o.config.cache.size_bytes = bytes;
    return o;
}

__attribute__((unused)) static struct pack_advise_outcome
reordered(double rate, double randomness)
{
    struct pack_advise_outcome o = at(rate);
    o.config.pattern.kind = PACK_PATTERN_BLOCK;
    o.config.pattern.pool_chunks = 16;
    o.randomness = randomness;
    return o;
}

#endif
