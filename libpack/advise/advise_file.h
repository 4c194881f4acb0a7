/* What the advisor needs to know of an existing dataset, and measures on its data. */
#ifndef LIBPACK_ADVISE_FILE_H
#define LIBPACK_ADVISE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/advise.h>
#include <libpack/profile.h>
#include <libpack/status.h>
#include "libpack/hdf5/h5_dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pack_advise_file;

/*
 * Opens "FILE" or "FILE:/DATASET" as h5_dataset.h does. PACK_ERR_UNSUPPORTED also for what
 * cannot be advised on: not numeric, compact, virtual without any source. `known`:
 * facts for pack_h5_dataset_open_known(), or NULL.
 */
enum pack_status pack_advise_file_open(const char *name, const struct pack_facts *known,
                                       struct pack_advise_file **file,
                                       struct pack_error *err);
/* The same of a dataset that is open already; it is borrowed until the file is closed. */
enum pack_status pack_advise_file_of(const struct pack_h5_dataset *data,
                                     struct pack_advise_file **file,
                                     struct pack_error *err);
/* Another dataset of the same file. */
enum pack_status pack_advise_file_open_with(const struct pack_advise_file *file,
                                            const char *dataset,
                                            struct pack_advise_file **with,
                                            struct pack_error *err);
void pack_advise_file_close(struct pack_advise_file *file);

const struct pack_h5_dataset *pack_advise_file_data(const struct pack_advise_file *file);

/* How large a chunk of it may be, for pack_advise_params. */
void pack_advise_file_chunk_max(const struct pack_advise_file *file,
                                struct pack_shape *most);

/* The first filter of its pipeline that this HDF5 lacks, 0 when it has all. */
uint32_t pack_advise_file_missing_filter(const struct pack_advise_file *file);

/* See pack_advise_data: the file's superblock tells what its new datasets get. */
bool pack_advise_file_has_old_index(const struct pack_advise_file *file);

/* Bytes of each chunk in the file and whether missing ones are skipped, for
 * pack_advise_params; borrowed while the file is open. NULL when all are alike, or when
 * there are too many to list (2^26). */
const uint64_t *pack_advise_file_stored(const struct pack_advise_file *file,
                                        bool *skip_missing);

/* Its layout and codec; cache, pattern and reopen are the caller's to fill in. */
void pack_advise_file_config(const struct pack_advise_file *file,
                             const struct pack_profile *profile,
                             struct pack_advise_config *config);

/*
 * A pack_advise_measure_fn whose context is the file: reads up to 1 MiB of the data at
 * places spread evenly, cut as the chunk is, and encodes it. Data that cannot be decoded
 * here is assumed to be stored at the rate that it has now. Decoding time is that of the
 * profile given to pack_advise_file_use(), so that results repeat. Remembers what it
 * measured by codec and size of chunk, to the nearest power of two.
 */
enum pack_status pack_advise_file_measure(void *file, const struct pack_shape *chunk,
                                          const char *codec, double *stored_rate,
                                          double *decode_ns, struct pack_error *err);
void pack_advise_file_use(struct pack_advise_file *file, const struct pack_watch *watch,
                          const struct pack_profile *profile);

/* The whole of a one-dimensional dataset of integers; the caller frees *values. */
enum pack_status pack_advise_file_integers(const struct pack_advise_file *file,
                                           int64_t **values, uint64_t *n,
                                           struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
