/* Replaces the model's predictions by measurements: of today's settings on the file itself,
 * of the advisor's first rows on part of the data, written again in their layouts. */
#ifndef LIBPACK_MEASURE_H
#define LIBPACK_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/advise.h>
#include <libpack/profile.h>
#include <libpack/status.h>
#include "libpack/advise/advise_engine.h"
#include "libpack/advise/measured.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pack_readset;

struct pack_measure_params {
    const char *file, *dataset, *with; /* with: read in step, or NULL */
    const char *data_file; /* pack_h5_dataset_storage()'s; NULL: `file` */
    /* The same opened already, of which `file` is the first part, and what is read in step
     * with it; NULL: opened here. */
    const struct pack_readset *set, *with_set;
    bool prove; /* larger copies, longer slices, and all rounds whatever they take */
    const char *scratch_dir; /* where the copies lie; NULL: in memory */
    uint64_t scratch_bytes;  /* of each copy; 0: 128 MiB, 256 MiB to prove */
    uint64_t budget_ns;      /* for reading the rows, unless to prove; 0: 5 s */
    struct pack_watch watch;
};

/* What ends an advice; all else only leaves it to the model. */
bool pack_measure_is_fatal(enum pack_status status);

/*
 * Before a search: what part of the file lies in the page cache (params->is_warm follows),
 * what its storage takes (into *profile, unless it cannot be told), and what params->now
 * really gives, in about a second, or two where batches take long.
 *
 * The file is only read. Errors as pack_bench_run; that something cannot be measured (a
 * trace, more workers than PACK_PROCS_MAX) is none, and says so in *measured.
 */
enum pack_status pack_measure_now(const struct pack_measure_params *how,
                                  struct pack_advise_params *params,
                                  struct pack_profile *profile,
                                  struct pack_measured *measured, struct pack_error *err);

/*
 * After it: reads rows in turns, each in a copy that has its layout, scales their rates by
 * measured over modelled, and settles the result. The rows are `now`, the first one, the
 * best of each kind that may be chosen (kinds: pack_advise_kind_of), and then others that
 * may be, best first, up to ten rows and five layouts.
 *
 * Copies are written through stock HDF5, scratch_bytes of the data at most; in memory, all
 * together take no more than an eighth of what is free. They have no names and are gone
 * however the call ends. A row that keeps a virtual dataset is read in place.
 */
enum pack_status pack_measure_rows(const struct pack_measure_params *how,
                                   const struct pack_advise_params *params,
                                   struct pack_advise_result *result,
                                   struct pack_measured *measured, struct pack_error *err);

/*
 * And what libpack's reader makes of the file as it is: in turns with today's settings,
 * one to seven seconds. `engine` is as pack_advise_engine() left it; where it is not known, or the
 * file is not in the page cache, it stays as predicted. Errors likewise.
 */
enum pack_status pack_measure_engine(const struct pack_measure_params *how,
                                     const struct pack_advise_params *params,
                                     const struct pack_advise_outcome *now,
                                     struct pack_advise_engine *engine,
                                     struct pack_measured *measured, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
