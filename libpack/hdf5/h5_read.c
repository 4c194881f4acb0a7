#include "libpack/hdf5/h5_read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/hdf5/h5_parts.h"
#include "libpack/base/numbers.h"
#include "libpack/base/size.h"

struct pack_h5_reader {
    hid_t dataset, file_space, memory_type;
    struct pack_shape extent;
    size_t element_bytes;
};

static enum pack_status
open_dataset(int64_t file, const char *path, const struct pack_h5_cache *cache,
             hid_t *dataset, struct pack_error *err)
{
    hid_t dapl = H5P_DEFAULT;
    if (cache) {
        dapl = H5Pcreate(H5P_DATASET_ACCESS);
        if (dapl < 0 || H5Pset_chunk_cache(dapl, cache->n_slots, cache->size_bytes,
                                           cache->w0 < 0 ? H5D_CHUNK_CACHE_W0_DEFAULT
                                                         : cache->w0) < 0) {
            if (dapl >= 0)
                H5Pclose(dapl);
            return pack_h5_fail(err, PACK_ERR_ARGUMENT, "chunk cache of '%s'", path);
        }
    }
    *dataset = H5Dopen2((hid_t)file, path, dapl);
    enum pack_status status = PACK_OK;
    if (*dataset < 0) {
        status = pack_h5_fail(err, PACK_ERR_FORMAT, "cannot open dataset '%s'", path);
        if (!pack_h5_is_dataset(file, path))
            status = pack_fail(err, PACK_ERR_NOT_FOUND, "no dataset '%s'", path);
    }
    if (dapl != H5P_DEFAULT)
        H5Pclose(dapl);
    return status;
}

/* The file type in the machine's byte order. */
static hid_t
native_type(hid_t dataset)
{
    hid_t type = H5Dget_type(dataset), native = -1;
    if (type >= 0) {
        native = H5Tget_native_type(type, H5T_DIR_ASCEND);
        H5Tclose(type);
    }
    return native;
}

enum pack_status
pack_h5_reader_open(int64_t file, const char *path, const struct pack_h5_cache *cache,
                    struct pack_h5_reader **reader, struct pack_error *err)
{
    hsize_t dims[PACK_RANK_MAX];
    struct pack_h5_reader *made = malloc(sizeof *made);
    pack_h5_quiet();
    if (!made)
        return pack_fail_memory(err, "dataset");
    *made = (struct pack_h5_reader){ .dataset = -1, .file_space = -1, .memory_type = -1 };
    enum pack_status status = open_dataset(file, path, cache, &made->dataset, err);
    if (status != PACK_OK)
        goto out;
    made->file_space = H5Dget_space(made->dataset);
    made->memory_type = native_type(made->dataset);
    int rank = made->file_space >= 0
                   ? H5Sget_simple_extent_dims(made->file_space, dims, NULL)
                   : -1;
    if (rank < 0 || made->memory_type < 0) {
        status =
            pack_h5_fail(err, PACK_ERR_FORMAT, "cannot read the shape of '%s'", path);
        goto out;
    }
    made->extent.rank = rank;
    for (int i = 0; i < rank; i++)
        made->extent.extent[i] = dims[i];
    made->element_bytes = H5Tget_size(made->memory_type);
out:
    if (status == PACK_OK)
        *reader = made;
    else
        pack_h5_reader_close(made);
    return status;
}

void
pack_h5_reader_close(struct pack_h5_reader *reader)
{
    if (!reader)
        return;
    if (reader->memory_type >= 0)
        H5Tclose(reader->memory_type);
    if (reader->file_space >= 0)
        H5Sclose(reader->file_space);
    if (reader->dataset >= 0)
        H5Dclose(reader->dataset);
    free(reader);
}

const struct pack_shape *
pack_h5_reader_extent(const struct pack_h5_reader *reader)
{
    return &reader->extent;
}

size_t
pack_h5_reader_element_bytes(const struct pack_h5_reader *reader)
{
    return reader->element_bytes;
}

enum pack_status
pack_h5_reader_read(struct pack_h5_reader *reader, const struct pack_box *box, void *out,
                    struct pack_error *err)
{
    hsize_t start[PACK_RANK_MAX], count[PACK_RANK_MAX];
    pack_h5_quiet();
    if (box->rank != reader->extent.rank || box->rank == 0)
        return pack_fail(err, PACK_ERR_ARGUMENT, "box has %s, dataset has %d",
                         pack_dimensions(box->rank).text, reader->extent.rank);
    for (int i = 0; i < box->rank; i++) {
        uint64_t end, extent = reader->extent.extent[i];
        if (!pack_size_add(box->start[i], box->count[i], &end) || end > extent)
            return pack_fail(err, PACK_ERR_ARGUMENT,
                             "box ends at %" PRIu64 "+%" PRIu64 " on axis %d of %" PRIu64,
                             box->start[i], box->count[i], i, extent);
        start[i] = box->start[i];
        count[i] = box->count[i];
    }
    hid_t memory_space = H5Screate_simple(box->rank, count, NULL);
    enum pack_status status = PACK_OK;
    if (memory_space < 0 || H5Sselect_hyperslab(reader->file_space, H5S_SELECT_SET, start,
                                                NULL, count, NULL) < 0)
        status = pack_h5_fail(err, PACK_ERR_MEMORY, "cannot select a box");
    else if (H5Dread(reader->dataset, reader->memory_type, memory_space,
                     reader->file_space, H5P_DEFAULT, out) < 0)
        status = pack_h5_fail_read(err, reader->dataset, "cannot read sample %" PRIu64,
                                   box->start[0]);
    if (memory_space >= 0)
        H5Sclose(memory_space);
    return status;
}

/* ------------------------------------------------------------- whole lists */

/* Opens a one-dimensional dataset of at most n_max entries. */
static enum pack_status
open_list(int64_t file, const char *path, uint64_t n_max, struct pack_h5_reader **reader,
          uint64_t *n, struct pack_error *err)
{
    enum pack_status status = pack_h5_reader_open(file, path, NULL, reader, err);
    if (status != PACK_OK)
        return status;
    const struct pack_shape *extent = &(*reader)->extent;
    *n = extent->rank == 1 ? extent->extent[0] : 0;
    if (extent->rank != 1)
        status = pack_fail(err, PACK_ERR_FORMAT, "'%s' is not one-dimensional", path);
    else if (*n > n_max)
        status = pack_fail(err, PACK_ERR_LIMIT,
                           "'%s' has %" PRIu64 " entries, more than %" PRIu64, path, *n,
                           n_max);
    if (status != PACK_OK)
        pack_h5_reader_close(*reader);
    return status;
}

enum pack_status
pack_h5_read_integers(int64_t file, const char *path, uint64_t n_max, int64_t **values,
                      uint64_t *n, struct pack_error *err)
{
    struct pack_h5_reader *reader;
    uint64_t length;
    enum pack_status status = open_list(file, path, n_max, &reader, &length, err);
    if (status != PACK_OK)
        return status;
    int64_t *read = calloc(length ? length : 1, sizeof *read);
    if (!read)
        status = pack_fail_memory(err, path);
    else if (H5Tget_class(reader->memory_type) != H5T_INTEGER)
        status = pack_fail(err, PACK_ERR_FORMAT, "'%s' is not of integers", path);
    else if (H5Dread(reader->dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                     read) < 0)
        status = pack_h5_fail_read(err, reader->dataset, "cannot read '%s'", path);
    pack_h5_reader_close(reader);
    if (status != PACK_OK) {
        free(read);
        return status;
    }
    *values = read;
    *n = length;
    return PACK_OK;
}

void
pack_h5_texts_free(char **texts, uint64_t n)
{
    for (uint64_t i = 0; texts && i < n; i++)
        free(texts[i]);
    free(texts);
}

/* Reads texts of variable length; HDF5's own copies are given back. */
static enum pack_status
read_variable(struct pack_h5_reader *reader, const char *path, char **texts, uint64_t n,
              struct pack_error *err)
{
    char **theirs = calloc(n ? n : 1, sizeof *theirs);
    enum pack_status status = PACK_OK;
    if (!theirs)
        return pack_fail_memory(err, path);
    if (H5Dread(reader->dataset, reader->memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                theirs) < 0)
        status = pack_h5_fail_read(err, reader->dataset, "cannot read '%s'", path);
    for (uint64_t i = 0; i < n && status == PACK_OK; i++)
        if (!(texts[i] = strdup(theirs[i] ? theirs[i] : "")))
            status = pack_fail_memory(err, path);
    H5Dvlen_reclaim(reader->memory_type, reader->file_space, H5P_DEFAULT, theirs);
    free(theirs);
    return status;
}

static enum pack_status
read_fixed(struct pack_h5_reader *reader, const char *path, char **texts, uint64_t n,
           struct pack_error *err)
{
    uint64_t bytes, width = reader->element_bytes;
    if (!pack_size_mul(width, n, &bytes) || bytes > UINT64_C(1) << 34)
        return pack_fail(err, PACK_ERR_LIMIT, "'%s' is larger than 16 GiB", path);
    char *all = malloc(bytes ? bytes : 1);
    enum pack_status status = PACK_OK;
    if (!all)
        return pack_fail_memory(err, path);
    if (H5Dread(reader->dataset, reader->memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                all) < 0)
        status = pack_h5_fail_read(err, reader->dataset, "cannot read '%s'", path);
    for (uint64_t i = 0; i < n && status == PACK_OK; i++)
        if (!(texts[i] = strndup(all + i * width, width)))
            status = pack_fail_memory(err, path);
    free(all);
    return status;
}

enum pack_status
pack_h5_read_texts(int64_t file, const char *path, uint64_t n_max, char ***texts,
                   uint64_t *n, struct pack_error *err)
{
    struct pack_h5_reader *reader;
    uint64_t length;
    enum pack_status status = open_list(file, path, n_max, &reader, &length, err);
    if (status != PACK_OK)
        return status;
    char **read = calloc(length ? length : 1, sizeof *read);
    if (!read)
        status = pack_fail_memory(err, path);
    else if (H5Tget_class(reader->memory_type) != H5T_STRING)
        status = pack_fail(err, PACK_ERR_FORMAT, "'%s' is not of texts", path);
    else if (H5Tis_variable_str(reader->memory_type) > 0)
        status = read_variable(reader, path, read, length, err);
    else
        status = read_fixed(reader, path, read, length, err);
    pack_h5_reader_close(reader);
    if (status != PACK_OK) {
        pack_h5_texts_free(read, length);
        return status;
    }
    *texts = read;
    *n = length;
    return PACK_OK;
}

static enum pack_status
read_text_attr(hid_t attr, hid_t type, const char *name, char **text,
               struct pack_error *err)
{
    if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0)
        return pack_fail(err, PACK_ERR_FORMAT,
                         "attribute %s is not a text of fixed length", name);
    size_t size = H5Tget_size(type);
    if (size > 1 << 20)
        return pack_fail(err, PACK_ERR_LIMIT, "attribute %s is longer than 1 MiB", name);
    char *read = calloc(size + 1, 1);
    if (!read)
        return pack_fail_memory(err, "attribute");
    if (H5Aread(attr, type, read) < 0) {
        free(read);
        return pack_h5_fail(err, PACK_ERR_FORMAT, "cannot read attribute %s", name);
    }
    *text = read;
    return PACK_OK;
}

enum pack_status
pack_h5_read_attr_text(int64_t file, const char *path, const char *name, char **text,
                       struct pack_error *err)
{
    pack_h5_quiet();
    htri_t exists = H5Aexists_by_name((hid_t)file, path, name, H5P_DEFAULT);
    if (exists <= 0)
        return pack_fail(err, PACK_ERR_NOT_FOUND, "no attribute %s", name);
    hid_t attr = H5Aopen_by_name((hid_t)file, path, name, H5P_DEFAULT, H5P_DEFAULT);
    hid_t type = attr >= 0 ? H5Aget_type(attr) : -1,
          space = attr >= 0 ? H5Aget_space(attr) : -1;
    enum pack_status status;
    if (type < 0 || space < 0)
        status = pack_h5_fail(err, PACK_ERR_FORMAT, "cannot open attribute %s", name);
    else if (H5Sget_simple_extent_npoints(space) != 1)
        status = pack_fail(err, PACK_ERR_FORMAT, "attribute %s is not a scalar", name);
    else
        status = read_text_attr(attr, type, name, text, err);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    if (attr >= 0)
        H5Aclose(attr);
    return status;
}
