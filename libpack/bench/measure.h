/* Puts measurements in the place of the model's predictions: today's settings on the file
 * itself, the advisor's choices on part of its data written again in their layout. */
#ifndef LIBPACK_MEASURE_H
#define LIBPACK_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/advise.h>
#include <libpack/profile.h>
#include <libpack/status.h>
#include "libpack/advise/measured.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pack_readset;

struct pack_measure_params {
    const char *file, *dataset, *with; /* with: read in step, or NULL */
    /* The same opened already, of which `file` is the first part, and what is read in step
     * with it; NULL: opened here. */
    const struct pack_readset *set, *with_set;
    /*
     * Proof instead of a quick look: the copies lie in scratch_dir (NULL: in memory),
     * have scratch_bytes each (0: 128 MiB; 256 MiB for a proof), and at least seven
     * rounds are read.
     */
    bool prove;
    const char *scratch_dir;
    uint64_t scratch_bytes;
    uint64_t budget_ns;    /* for reading the rows of a quick look; 0: 5 s */
    struct pack_watch watch;
};

/*
 * Before a search: what part of the file lies in the page cache (params->is_warm follows),
 * what its storage takes (into *profile, unless it cannot be told), and what params->now
 * really gives, in about a second.
 *
 * The file is only read. Errors as pack_bench_run; that something cannot be measured (a
 * trace, more workers than PACK_PROCS_MAX) is none, and says so in *measured.
 */
enum pack_status pack_measure_now(const struct pack_measure_params *how,
                                  struct pack_advise_params *params,
                                  struct pack_profile *profile,
                                  struct pack_measured *measured, struct pack_error *err);

/*
 * After it: reads `now`, the first row, and the best row of each kind that may be chosen
 * (kinds: pack_advise_kind_of), each in a copy of its own layout, in turns, and scales
 * their rates by measured over modelled; then settles the result. A proof takes larger
 * copies, longer and more rounds.
 *
 * Copies are written through stock HDF5, scratch_bytes of the data at most, and no more
 * than an eighth of the memory that is free for all of them together. They have no names
 * and are gone however the call ends.
 */
enum pack_status pack_measure_rows(const struct pack_measure_params *how,
                                   const struct pack_advise_params *params,
                                   struct pack_advise_result *result,
                                   struct pack_measured *measured, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
