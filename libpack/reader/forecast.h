/* What a reader is going to do, counted by its own plan: nothing of the data is read. */
#ifndef LIBPACK_FORECAST_H
#define LIBPACK_FORECAST_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/reader.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Over some epochs, of all threads together. */
struct pack_forecast_counts {
    uint64_t n_samples, n_batches;
    uint64_t visits; /* a chunk in a batch */
    uint64_t loads, load_bytes; /* chunks read and decoded; bytes of them in the file */
    uint64_t hits;              /* decoded chunks that are there */
    uint64_t copy_bytes;        /* out of these two */
    uint64_t short_runs, runs;  /* that those lie in, one behind the other in the chunk and in
                                   the sample: of up to 8 bytes, and longer ones */
    uint64_t reads, read_bytes; /* of chunks without filters, straight to their place */
};

struct pack_forecast {
    const char *engine; /* as pack_reader_info has it; "hdf5": there are no counts */
    char reason[160];
    unsigned n_threads;
    uint64_t memory_bytes, n_slots;
    uint64_t chunk_bytes; /* of the largest filtered chunk, decoded; 0: none is */
    uint64_t sample_bytes;
    uint64_t epoch_samples;             /* of this rank */
    struct pack_forecast_counts first, later; /* of epoch 1; of what follows it */
    bool is_exact; /* else counting ended in the first epoch, and `later` is what came behind
                      about a half of it */
};

/*
 * `params` as pack_reader_open() takes them, without further datasets, transforms and
 * buffers, of which nothing is looked at: with the same ones, visits, loads and hits are
 * those of that reader. Counting ends with the batch that makes samples_max samples full, 0
 * being all, and in any case after a second's worth.
 * Errors as pack_reader_open(), and those of params->watch.
 */
enum pack_status pack_forecast(const struct pack_reader_params *params,
                               uint64_t samples_max, struct pack_forecast *forecast,
                               struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
