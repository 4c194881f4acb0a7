/* Opens a dataset for every program: finds the one that is meant, its facts, and its chunks
 * or sources; all of it is tried in a child process first. */
#ifndef LIBPACK_H5_DATASET_H
#define LIBPACK_H5_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include <libpack/dataset.h>
#include <libpack/status.h>
#include "libpack/hdf5/h5_chunks.h"
#include "libpack/hdf5/h5_sources.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is known without reading data. No file stays open: h5_boxes.h reads the data, in
 * whichever process. */
struct pack_h5_dataset {
    char *file;
    char *data_file; /* the same, or the file behind an external link */
    char *path; /* inside it, without a leading slash */
    bool is_seen;
    struct stat seen; /* `file` before anything of it was read, where that could be told */
    struct pack_facts facts;
    struct pack_h5_chunks chunks;   /* of a chunked dataset; else none */
    struct pack_h5_sources sources; /* of a virtual dataset; else none */
};

/*
 * Splits "FILE[:/PATH]" into two new strings; *path is without its leading slashes, NULL
 * where there is none. A file that exists under the whole text is taken as it is, and
 * names of files and datasets may hold ":/" themselves: the longest FILE that exists is
 * meant. PACK_ERR_MEMORY.
 */
enum pack_status pack_h5_operand_split(const char *operand, char **file, char **path,
                                       struct pack_error *err);

/*
 * Opens the dataset at `path` of a file, or, path being NULL, the one that is meant: that
 * called `images`, else `data`, else the only one that has elements and dimensions; of a
 * file without any, what the links of its root group lead to.
 * PACK_ERR_ARGUMENT names those there are when none of these is.
 *
 * PACK_ERR_UNSUPPORTED for what has no samples: a single value, a null space, an extent
 * of 0. Else errors as pack_h5_open, pack_facts_read, pack_chunkindex_read,
 * pack_h5_sources_read and pack_h5_guard_try. Sentences name the file.
 */
enum pack_status pack_h5_dataset_open(const char *file, const char *path,
                                      struct pack_h5_dataset **dataset,
                                      struct pack_error *err);
/* The same, at once in this process, of one whose facts were read, and whose chunks were
 * listed, in a child. */
enum pack_status pack_h5_dataset_open_known(const char *file, const char *path,
                                            const struct pack_facts *facts,
                                            struct pack_h5_dataset **dataset,
                                            struct pack_error *err);
/* The path alone of the one that is meant, of a file that pack_h5_guard_file() has tried. */
enum pack_status pack_h5_dataset_find(const char *file, char **path,
                                      struct pack_error *err);
void pack_h5_dataset_close(struct pack_h5_dataset *dataset); /* accepts NULL */

/* The file whose storage and pages stand for all: a virtual dataset's own holds no data,
 * nor does one with an external link. */
const char *pack_h5_dataset_storage(const struct pack_h5_dataset *dataset);

/* Its chunk; of a virtual dataset that of its largest source, as it lies there. False: it
 * has none, or that is not known. */
bool pack_h5_dataset_chunk(const struct pack_h5_dataset *dataset, struct pack_shape *chunk);

/* What is missing or not counted in it, as a sentence without a full stop; false: nothing
 * is. */
bool pack_h5_dataset_remark(const struct pack_h5_dataset *dataset, char *text,
                            size_t size);

#ifdef __cplusplus
}
#endif
#endif
