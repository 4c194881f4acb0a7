/* What libpack's own reader would make of a file as it is, next to HDF5's way. */
#ifndef LIBPACK_ADVISE_ENGINE_H
#define LIBPACK_ADVISE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/advise.h>
#include "libpack/reader/forecast.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rates are samples/s, as an outcome has them. */
struct pack_advise_engine {
    bool is_known;
    char why_not[200]; /* a sentence without end */
    struct pack_forecast forecast;
    double hit_rate;         /* hits / visits of filtered chunks, of later epochs as all here */
    double loads_per_sample; /* chunks decoded, and reads of those without filters */
    double bytes_per_sample; /* read from the file */
    struct pack_cost first_cost, later_cost; /* of forecast.first and .later */
    double first_rate, later_rate, rate, modelled_rate;
    enum pack_advise_basis basis;
    double gain_low, gain_high; /* over today's way, where it was measured */
};

/* What is read: `path` of `file`, and how much of it is looked at. */
struct pack_advise_engine_subject {
    const char *file, *path;
    uint64_t samples_max; /* the first so many; 0: all */
};

/*
 * For the reading of params, of a dataset that is stored as params->now says; `now` is what
 * was found of that. As many threads as workers, 0 being as many as
 * processors, and the memory of their caches: loads and hits are exactly those that the
 * reader plans. What it cannot read is no failure, but not known. PACK_ERR_MEMORY,
 * PACK_ERR_INTERRUPTED.
 */
enum pack_status pack_advise_engine(const struct pack_advise_params *params,
                                    const struct pack_advise_engine_subject *subject,
                                    const struct pack_advise_outcome *now,
                                    struct pack_advise_engine *engine,
                                    struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
