/* What the parts of the writer share. */
#ifndef LIBPACK_WRITER_PARTS_H
#define LIBPACK_WRITER_PARTS_H

#include <stdbool.h>

#include "libpack/hdf5/h5_count.h"
#include "libpack/hdf5/h5_parts.h"
#include "libpack/hdf5/h5_placing.h"
#include "libpack/hdf5/writer.h"

struct pack_writer_dataset {
    struct pack_writer *writer;
    struct pack_writer_dataset *next;
    hid_t id;
    struct pack_shape extent, chunk;
    uint64_t n_per_row; /* chunks that share their position along axis 0 */
    uint64_t chunk_bytes;
};

struct pack_writer {
    char *path;
    struct pack_h5_count count;
    hid_t file;
    struct pack_writer_dataset *datasets;
    struct pack_h5_placing *chunk; /* NULL outside H5Dwrite_chunk */
    bool goes_on;              /* no chunks are replayed any more */
    enum pack_status failed;   /* the first failure, in `error` */
    struct pack_error error;
};

hid_t pack_writer_file_type(enum pack_number type);
uint64_t pack_writer_number_bytes(enum pack_number type);
bool pack_writer_is_ascii(const char *text);

/* What failed before, or PACK_OK. */
enum pack_status pack_writer_still_failed(const struct pack_writer *writer,
                                          struct pack_error *err);

/* Keeps the first failure and everything after it from the file. What the system said to
 * a failed write goes before what HDF5 made of it. */
enum pack_status pack_writer_fail(struct pack_writer *writer, struct pack_error *err);

/* Fails when HDF5 said no (result < 0) or a write failed, of which HDF5 knows nothing. */
enum pack_status pack_writer_check(struct pack_writer *writer, herr_t result,
                                   struct pack_error *err);

/* What a dataset is created with; an id below 0 is a failure of HDF5. */
struct pack_writer_object {
    hid_t type, space, dcpl;
};

/* Creates a dataset, and the groups it is in; closes the object's space and list. */
enum pack_status pack_writer_create_object(struct pack_writer *writer, const char *path,
                                           const struct pack_writer_object *object,
                                           hid_t *id, struct pack_error *err);

/* A creation list without times, and a space, whose first axis may grow. */
hid_t pack_writer_dataset_list(void);
hid_t pack_writer_space(const struct pack_shape *shape, bool grows);

#endif
