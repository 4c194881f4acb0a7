/*
 * HDF5 files from whole, ready parts.
 *
 * The same calls must give the same bytes, now or next year: no times are stored, format
 * bounds are fixed, groups are made one by one (those that HDF5 makes on the way to a
 * dataset would carry times), nothing is flushed before the end. The dataset grows chunk
 * by chunk and never shrinks, since shrinking rewrites the chunks at its edge.
 *
 * All writing goes through the counting driver. It tells where a chunk's bytes went, and
 * for a chunk that is in the file already it swallows the write:
 *
 *     pack_writer_chunk ───────────▶ H5Dwrite_chunk ──▶ on_write: note address, pass
 *     pack_writer_chunk_replayed ──▶ H5Dwrite_chunk ──▶ on_write: same address? swallow
 */
#include "libpack/writer.h"

#include <stdlib.h>
#include <string.h>

#include "libpack/h5.h"
#include "libpack/h5_count.h"
#include "libpack/h5_private.h"

enum {
    TEXT_BLOCK_BYTES = 1 << 20, /* of fixed-length texts written at once */
    ATTRIBUTE_MAX = 60000       /* an attribute lives in a header message of 64 KiB */
};

struct pack_writer_dataset {
    struct pack_writer *writer;
    struct pack_writer_dataset *next;
    hid_t id;
    struct pack_shape extent, chunk;
    uint64_t n_per_row; /* chunks that share their position along axis 0 */
    uint64_t chunk_bytes;
};

/* The chunk that is being written, for the driver to recognise. */
struct chunk_write {
    const void *data;
    size_t size;
    bool replayed;
    uint64_t expected; /* address of a replayed one */
    bool seen;
    uint64_t address;
};

struct pack_writer {
    char *path;
    struct pack_h5_count count;
    hid_t file;
    struct pack_writer_dataset *datasets;
    struct chunk_write *chunk; /* NULL outside H5Dwrite_chunk */
    enum pack_status failed;   /* the first failure, in `error` */
    struct pack_error error;
};

/* -------------------------------------------------------------------- names */

static const char *const libver_names[] = { "earliest", "v18", "v110", "latest" };

const char *
pack_libver_name(enum pack_libver libver)
{
    size_t i = (size_t)libver;
    return i < sizeof libver_names / sizeof libver_names[0] ? libver_names[i] : "unknown";
}

enum pack_status
pack_libver_parse(const char *text, enum pack_libver *libver, struct pack_error *err)
{
    for (size_t i = 0; i < sizeof libver_names / sizeof libver_names[0]; i++)
        if (strcmp(text, libver_names[i]) == 0) {
            *libver = (enum pack_libver)i;
            return PACK_OK;
        }
    return pack_fail(err, PACK_ERR_ARGUMENT,
                     "'%.80s' is not earliest, v18, v110 or latest", text);
}

static H5F_libver_t
low_bound(enum pack_libver libver)
{
    switch (libver) {
    case PACK_LIBVER_EARLIEST: return H5F_LIBVER_EARLIEST;
    case PACK_LIBVER_V18: return H5F_LIBVER_V18;
    case PACK_LIBVER_V110: return H5F_LIBVER_V110;
    case PACK_LIBVER_LATEST: break;
    }
    return H5F_LIBVER_LATEST;
}

static hid_t
file_type(enum pack_number type)
{
    switch (type) {
    case PACK_UINT8: return H5T_STD_U8LE;
    case PACK_INT32: return H5T_STD_I32LE;
    case PACK_INT64: return H5T_STD_I64LE;
    case PACK_FLOAT32: return H5T_IEEE_F32LE;
    case PACK_FLOAT64: return H5T_IEEE_F64LE;
    }
    return H5I_INVALID_HID;
}

static hid_t
memory_type(enum pack_number type)
{
    switch (type) {
    case PACK_UINT8: return H5T_NATIVE_UINT8;
    case PACK_INT32: return H5T_NATIVE_INT32;
    case PACK_INT64: return H5T_NATIVE_INT64;
    case PACK_FLOAT32: return H5T_NATIVE_FLOAT;
    case PACK_FLOAT64: return H5T_NATIVE_DOUBLE;
    }
    return H5I_INVALID_HID;
}

static uint64_t
number_bytes(enum pack_number type)
{
    static const uint64_t bytes[] = { 1, 4, 8, 4, 8 };
    return bytes[type];
}

/* ----------------------------------------------------------------- failures */

static enum pack_status
still_failed(const struct pack_writer *writer, struct pack_error *err)
{
    return writer->failed ? pack_fail(err, writer->failed, "%s", writer->error.text)
                          : PACK_OK;
}

/* Keeps the first failure and everything after it from the file. What the system said to
 * a failed write goes before what HDF5 made of it. */
static enum pack_status
fail(struct pack_writer *writer, struct pack_error *err)
{
    writer->count.discard = true;
    if (writer->count.write_errno) {
        H5Eclear2(H5E_DEFAULT);
        writer->failed = pack_fail_errno(&writer->error, writer->count.write_errno,
                                         "cannot write '%s'", writer->path);
    } else {
        writer->failed =
            pack_h5_fail(&writer->error, PACK_ERR_IO, "cannot write '%s'", writer->path);
    }
    return still_failed(writer, err);
}

/* Whether HDF5 said no, or a write failed, of which HDF5 knows nothing. */
static bool
is_bad(const struct pack_writer *writer, herr_t result)
{
    return result < 0 || writer->count.write_errno != 0;
}

static enum pack_status
check(struct pack_writer *writer, herr_t result, struct pack_error *err)
{
    return is_bad(writer, result) ? fail(writer, err) : PACK_OK;
}

/* --------------------------------------------------------------------- file */

static enum pack_h5_action
on_write(void *context, const struct pack_h5_access *access, const void *data)
{
    struct pack_writer *writer = context;
    struct chunk_write *chunk = writer->chunk;
    if (!chunk || !access->raw || data != chunk->data || access->size != chunk->size)
        return PACK_H5_PASS;
    chunk->seen = true;
    chunk->address = access->address;
    if (!chunk->replayed)
        return PACK_H5_PASS;
    if (chunk->address != chunk->expected)
        writer->count.discard = true; /* this is another file: leave it alone */
    return PACK_H5_SWALLOW;
}

/*
 * Closes everything. When HDF5 cannot close the file it keeps it, and our driver with it,
 * until the process ends: then what the driver refers to has to stay.
 */
static void
writer_free(struct pack_writer *writer)
{
    struct pack_writer_dataset *next;
    for (struct pack_writer_dataset *set = writer->datasets; set; set = next) {
        next = set->next;
        if (set->id >= 0)
            H5Dclose(set->id);
        free(set);
    }
    if (writer->file >= 0)
        H5Fclose(writer->file);
    H5Eclear2(H5E_DEFAULT);
    free(writer->path);
    if (writer->count.n_open == 0)
        free(writer);
}

static hid_t
create_file(struct pack_writer *writer, const struct pack_writer_params *params,
            struct pack_error *err)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), fcpl = H5Pcreate(H5P_FILE_CREATE), file = -1;
    if (fapl >= 0 && fcpl >= 0 &&
        H5Pset_libver_bounds(fapl, low_bound(params->libver), H5F_LIBVER_LATEST) >= 0 &&
        H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG) >= 0 &&
        H5Pset_obj_track_times(fcpl, false) >= 0 &&
        pack_h5_count_set(fapl, &writer->count, err) == PACK_OK)
        file = H5Fcreate(writer->path, H5F_ACC_TRUNC, fcpl, fapl);
    H5Pclose(fapl);
    H5Pclose(fcpl);
    return file;
}

enum pack_status
pack_writer_open(const char *path, const struct pack_writer_params *params,
                 struct pack_writer **out, struct pack_error *err)
{
    pack_h5_quiet();
    struct pack_writer *writer = calloc(1, sizeof *writer);
    char *copy = strdup(path);
    if (!writer || !copy) {
        free(writer);
        free(copy);
        return pack_fail_memory(err, "writer");
    }
    writer->path = copy;
    writer->count.context = writer;
    writer->count.on_write = on_write;
    writer->count.keep_existing = params->resume;
    writer->file = create_file(writer, params, err);
    enum pack_status status = PACK_OK;
    if (writer->file < 0 && writer->count.open_errno)
        status =
            pack_fail_errno(err, writer->count.open_errno, "cannot create '%s'", path);
    else
        status = check(writer, writer->file < 0 ? -1 : 0, err);
    if (status)
        pack_writer_abandon(writer);
    else
        *out = writer;
    return status;
}

enum pack_status
pack_writer_close(struct pack_writer *writer, struct pack_error *err)
{
    enum pack_status status = still_failed(writer, err);
    for (struct pack_writer_dataset *set = writer->datasets; set && !status;
         set = set->next) {
        hid_t id = set->id;
        set->id = H5I_INVALID_HID;
        status = check(writer, H5Dclose(id), err);
    }
    if (status) {
        writer->count.discard = true;
    } else {
        hid_t file = writer->file;
        writer->file = H5I_INVALID_HID;
        status = check(writer, H5Fclose(file), err);
    }
    writer_free(writer);
    return status;
}

void
pack_writer_abandon(struct pack_writer *writer)
{
    if (!writer)
        return;
    writer->count.discard = true;
    writer_free(writer);
}

/* ------------------------------------------------------------------- groups */

static bool
is_ascii(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text >= 0x80)
            return false;
    return true;
}

static enum pack_status
check_path(const char *path, struct pack_error *err)
{
    const char *at = path;
    for (;;) {
        size_t size = strcspn(at, "/");
        if (size == 0 || (size == 1 && at[0] == '.'))
            return pack_fail(err, PACK_ERR_ARGUMENT,
                             "'%.200s' is not a dataset path like images or train/images",
                             path);
        at += size;
        if (*at == '\0')
            return PACK_OK;
        at++;
    }
}

/* A link creation list that says UTF-8 where a name needs it. */
static hid_t
link_list(const char *path)
{
    hid_t lcpl = H5Pcreate(H5P_LINK_CREATE);
    if (lcpl >= 0 && !is_ascii(path))
        H5Pset_char_encoding(lcpl, H5T_CSET_UTF8);
    return lcpl;
}

static herr_t
create_group(hid_t file, const char *path)
{
    hid_t gcpl = H5Pcreate(H5P_GROUP_CREATE), lcpl = link_list(path), group = -1;
    if (gcpl >= 0 && lcpl >= 0 && H5Pset_obj_track_times(gcpl, false) >= 0)
        group = H5Gcreate2(file, path, lcpl, gcpl, H5P_DEFAULT);
    H5Pclose(gcpl);
    H5Pclose(lcpl);
    return group < 0 ? -1 : H5Gclose(group);
}

/* Makes the groups that `path` leads through, without its last step. */
static enum pack_status
create_groups(struct pack_writer *writer, const char *path, struct pack_error *err)
{
    char *prefix = strdup(path);
    if (!prefix)
        return pack_fail_memory(err, "path");
    enum pack_status status = PACK_OK;
    for (char *slash = strchr(prefix, '/'); slash && !status;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        htri_t exists = H5Lexists(writer->file, prefix, H5P_DEFAULT);
        herr_t result = exists == 0 ? create_group(writer->file, prefix) : exists;
        status = check(writer, result, err);
        *slash = '/';
    }
    free(prefix);
    return status;
}

/* Creates a dataset with its groups; the space and lists stay the caller's. */
static enum pack_status
create_dataset(struct pack_writer *writer, const char *path, hid_t type, hid_t space,
               hid_t dcpl, hid_t *id, struct pack_error *err)
{
    enum pack_status status = check_path(path, err);
    if (!status)
        status = create_groups(writer, path, err);
    if (status)
        return status;
    hid_t lcpl = link_list(path);
    *id = H5Dcreate2(writer->file, path, type, space, lcpl, dcpl, H5P_DEFAULT);
    H5Pclose(lcpl);
    if (!is_bad(writer, *id < 0 ? -1 : 0))
        return PACK_OK;
    if (*id >= 0)
        H5Dclose(*id);
    return fail(writer, err);
}

static hid_t
dataset_list(void)
{
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(dcpl, false);
    return dcpl;
}

static hid_t
simple_space(const struct pack_shape *shape, bool grows)
{
    hsize_t extent[PACK_RANK_MAX], most[PACK_RANK_MAX];
    for (int i = 0; i < shape->rank; i++)
        extent[i] = most[i] = shape->extent[i];
    if (grows)
        most[0] = H5S_UNLIMITED;
    return shape->rank == 0 ? H5Screate(H5S_SCALAR)
                            : H5Screate_simple(shape->rank, extent, most);
}

/* ------------------------------------------------------------------- chunks */

static hid_t
chunked_list(const struct pack_writer_dataset_params *params)
{
    hsize_t chunk[PACK_RANK_MAX];
    for (int i = 0; i < params->chunk.rank; i++)
        chunk[i] = params->chunk.extent[i];
    hid_t dcpl = dataset_list();
    herr_t result = H5Pset_chunk(dcpl, params->chunk.rank, chunk);
    if (result >= 0)
        result = H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER);
    if (result >= 0)
        result = H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_INCR);
    for (int i = 0; i < params->pipeline.n && result >= 0; i++) {
        const struct pack_filter *filter = &params->pipeline.filter[i];
        result = H5Pset_filter(dcpl, (H5Z_filter_t)filter->id, filter->flags,
                               filter->n_cd, filter->cd);
    }
    if (result >= 0)
        return dcpl;
    H5Pclose(dcpl);
    return H5I_INVALID_HID;
}

/* The numbers that chunk arithmetic needs; refuses shapes that make none. */
static enum pack_status
set_geometry(struct pack_writer_dataset *set,
             const struct pack_writer_dataset_params *params, struct pack_error *err)
{
    set->chunk = params->chunk;
    set->extent.rank = params->sample.rank + 1;
    set->n_per_row = 1;
    set->chunk_bytes = number_bytes(params->type);
    if (params->chunk.rank != set->extent.rank || set->extent.rank > PACK_RANK_MAX)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "chunk has %d dimensions, dataset has %d", params->chunk.rank,
                         set->extent.rank);
    for (int i = 0; i < set->extent.rank; i++) {
        uint64_t chunk = params->chunk.extent[i];
        uint64_t extent = i > 0 ? params->sample.extent[i - 1] : chunk;
        if (chunk == 0 || extent == 0)
            return pack_fail(err, PACK_ERR_ARGUMENT, "dimension %d is empty", i);
        set->extent.extent[i] = i > 0 ? extent : 0;
        if (!pack_size_mul(set->n_per_row, (extent - 1) / chunk + 1, &set->n_per_row) ||
            !pack_size_mul(set->chunk_bytes, chunk, &set->chunk_bytes))
            return pack_fail(err, PACK_ERR_ARGUMENT,
                             "the dataset is more than 64 bits can count");
    }
    return PACK_OK;
}

static bool
has_filter(const struct pack_pipeline *pipeline, uint32_t id)
{
    for (int i = 0; i < pipeline->n; i++)
        if (pipeline->filter[i].id == id)
            return true;
    return false;
}

enum pack_status
pack_writer_dataset_create(struct pack_writer *writer, const char *path,
                           const struct pack_writer_dataset_params *params,
                           struct pack_writer_dataset **out, struct pack_error *err)
{
    enum pack_status status = still_failed(writer, err);
    if (!status && has_filter(&params->pipeline, PACK_FILTER_ZSTD))
        status = pack_h5_register_zstd(err); /* its name goes into the file */
    if (status)
        return status;
    hid_t space = H5I_INVALID_HID, dcpl = H5I_INVALID_HID;
    struct pack_writer_dataset *set = calloc(1, sizeof *set);
    if (!set)
        return pack_fail_memory(err, "dataset");
    status = set_geometry(set, params, err);
    if (status)
        goto out;
    space = simple_space(&set->extent, true);
    dcpl = chunked_list(params);
    if (space < 0 || dcpl < 0)
        status = fail(writer, err);
    else
        status = create_dataset(writer, path, file_type(params->type), space, dcpl,
                                &set->id, err);
out:
    H5Sclose(space);
    H5Pclose(dcpl);
    if (status) {
        free(set);
        return status;
    }
    set->writer = writer;
    set->next = writer->datasets;
    writer->datasets = set;
    *out = set;
    return PACK_OK;
}

uint64_t
pack_writer_chunk_bytes(const struct pack_writer_dataset *set)
{
    return set->chunk_bytes;
}

uint64_t
pack_writer_chunk_count(const struct pack_writer_dataset *set, uint64_t n_samples)
{
    uint64_t rows = set->chunk.extent[0];
    return (n_samples / rows + (n_samples % rows != 0)) * set->n_per_row;
}

enum pack_status
pack_writer_dataset_extent(struct pack_writer_dataset *set, uint64_t n_samples,
                           struct pack_error *err)
{
    enum pack_status status = still_failed(set->writer, err);
    if (status || n_samples == set->extent.extent[0])
        return status;
    if (n_samples < set->extent.extent[0])
        return pack_fail(
            err, PACK_ERR_ARGUMENT, "the dataset cannot shrink from %llu to %llu samples",
            (unsigned long long)set->extent.extent[0], (unsigned long long)n_samples);
    hsize_t extent[PACK_RANK_MAX];
    set->extent.extent[0] = n_samples;
    for (int i = 0; i < set->extent.rank; i++)
        extent[i] = set->extent.extent[i];
    return check(set->writer, H5Dset_extent(set->id, extent), err);
}

/* Where chunk `number` begins. */
static void
chunk_offset(const struct pack_writer_dataset *set, uint64_t number, hsize_t *offset)
{
    uint64_t left = number;
    for (int i = set->extent.rank - 1; i > 0; i--) {
        uint64_t n = (set->extent.extent[i] - 1) / set->chunk.extent[i] + 1;
        offset[i] = left % n * set->chunk.extent[i];
        left /= n;
    }
    offset[0] = left * set->chunk.extent[0];
}

static enum pack_status
write_chunk(struct pack_writer_dataset *set, uint64_t number, uint32_t filter_mask,
            struct chunk_write *chunk, struct pack_error *err)
{
    struct pack_writer *writer = set->writer;
    hsize_t offset[PACK_RANK_MAX];
    enum pack_status status = still_failed(writer, err);
    uint64_t last_row = 0;
    if (!status &&
        !pack_size_mul(number / set->n_per_row + 1, set->chunk.extent[0], &last_row))
        return pack_fail(err, PACK_ERR_ARGUMENT, "chunk %llu is out of reach",
                         (unsigned long long)number);
    if (status)
        return status;
    chunk_offset(set, number, offset);
    if (offset[0] >= set->extent.extent[0])
        status = pack_writer_dataset_extent(set, offset[0] + 1, err);
    if (status)
        return status;
    writer->chunk = chunk;
    herr_t result = H5Dwrite_chunk(set->id, H5P_DEFAULT, filter_mask, offset, chunk->size,
                                   chunk->data);
    writer->chunk = NULL;
    return check(writer, result, err);
}

/* The driver did not meet the chunk, or not where it should be. */
static enum pack_status
fail_changed(struct pack_writer *writer, uint64_t number, struct pack_error *err)
{
    writer->count.discard = true;
    writer->failed = pack_fail(
        &writer->error, PACK_ERR_CHANGED,
        "cannot resume '%s': chunk %llu would not go where the journal says it is",
        writer->path, (unsigned long long)number);
    return still_failed(writer, err);
}

enum pack_status
pack_writer_chunk(struct pack_writer_dataset *set, uint64_t number, const void *data,
                  size_t stored_bytes, uint32_t filter_mask, uint64_t *address,
                  struct pack_error *err)
{
    struct chunk_write chunk = { .data = data, .size = stored_bytes };
    enum pack_status status = write_chunk(set, number, filter_mask, &chunk, err);
    if (status)
        return status;
    if (!chunk.seen)
        return fail_changed(set->writer, number, err);
    *address = chunk.address;
    return PACK_OK;
}

enum pack_status
pack_writer_chunk_replayed(struct pack_writer_dataset *set, uint64_t number,
                           size_t stored_bytes, uint32_t filter_mask, uint64_t address,
                           struct pack_error *err)
{
    /* stands for the bytes, which nobody looks at */
    static const unsigned char placeholder = 0;
    struct chunk_write chunk = {
        .data = &placeholder, .size = stored_bytes, .replayed = true, .expected = address
    };
    enum pack_status status = write_chunk(set, number, filter_mask, &chunk, err);
    if (!status && (!chunk.seen || chunk.address != address))
        status = fail_changed(set->writer, number, err);
    return status;
}

/* ------------------------------------------------------------------- arrays */

enum pack_status
pack_writer_array(struct pack_writer *writer, const char *path, enum pack_number type,
                  const struct pack_shape *shape, const void *data,
                  struct pack_error *err)
{
    enum pack_status status = still_failed(writer, err);
    if (status)
        return status;
    uint64_t n;
    if (!pack_shape_count(shape, &n))
        return pack_fail(err, PACK_ERR_ARGUMENT, "the dataset is too large");
    hid_t space = simple_space(shape, false), dcpl = dataset_list(), set = -1;
    status = space < 0 || dcpl < 0
                 ? fail(writer, err)
                 : create_dataset(writer, path, file_type(type), space, dcpl, &set, err);
    H5Sclose(space);
    H5Pclose(dcpl);
    if (status)
        return status;
    herr_t result =
        n == 0 ? 0
               : H5Dwrite(set, memory_type(type), H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    herr_t closed = H5Dclose(set);
    return check(writer, result < 0 ? result : closed, err);
}

/* Length of the longest text and of all together. */
static void
measure(const char *const *texts, uint64_t n, uint64_t *longest, uint64_t *total)
{
    *longest = *total = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t length = strlen(texts[i]);
        *total += length;
        if (length > *longest)
            *longest = length;
    }
}

/* A UTF-8 string type: of `size` bytes padded with NUL, or of variable length. */
static hid_t
text_type(size_t size)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type < 0)
        return type;
    H5Tset_size(type, size);
    H5Tset_cset(type, H5T_CSET_UTF8);
    H5Tset_strpad(type, size == H5T_VARIABLE ? H5T_STR_NULLTERM : H5T_STR_NULLPAD);
    return type;
}

/* Copies texts into rows of `size` bytes, a block at a time, and writes the blocks. */
static herr_t
write_rows(hid_t set, hid_t type, const char *const *texts, uint64_t n, size_t size,
           char *block, uint64_t per_block)
{
    herr_t result = 0;
    for (uint64_t first = 0; first < n && result >= 0; first += per_block) {
        hsize_t start = first, count = n - first < per_block ? n - first : per_block;
        for (hsize_t i = 0; i < count; i++)
            strncpy(block + i * size, texts[first + i], size);
        hid_t there = H5Dget_space(set), here = H5Screate_simple(1, &count, NULL);
        result = H5Sselect_hyperslab(there, H5S_SELECT_SET, &start, NULL, &count, NULL);
        if (result >= 0)
            result = H5Dwrite(set, type, here, there, H5P_DEFAULT, block);
        H5Sclose(there);
        H5Sclose(here);
    }
    return result;
}

static enum pack_status
write_texts(struct pack_writer *writer, const char *path, const char *const *texts,
            uint64_t n, size_t size, struct pack_error *err)
{
    bool variable = size == H5T_VARIABLE;
    uint64_t per_block =
        variable || size > TEXT_BLOCK_BYTES ? 1 : TEXT_BLOCK_BYTES / size;
    struct pack_shape shape = { .rank = 1, .extent = { n } };
    char *block = malloc(variable ? 1 : per_block * size);
    if (!block)
        return pack_fail_memory(err, "texts");
    hid_t space = simple_space(&shape, false), dcpl = dataset_list();
    hid_t type = text_type(size), set = -1;
    enum pack_status status =
        space < 0 || dcpl < 0 || type < 0
            ? fail(writer, err)
            : create_dataset(writer, path, type, space, dcpl, &set, err);
    if (!status) {
        herr_t result = n == 0 ? 0
                        : variable
                            ? H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts)
                            : write_rows(set, type, texts, n, size, block, per_block);
        herr_t closed = H5Dclose(set);
        status = check(writer, result < 0 ? result : closed, err);
    }
    H5Sclose(space);
    H5Pclose(dcpl);
    H5Tclose(type);
    free(block);
    return status;
}

enum pack_status
pack_writer_texts(struct pack_writer *writer, const char *path, const char *const *texts,
                  uint64_t n, struct pack_error *err)
{
    enum pack_status status = still_failed(writer, err);
    if (status)
        return status;
    uint64_t longest, total, fixed;
    measure(texts, n, &longest, &total);
    if (longest == 0)
        longest = 1; /* HDF5 has no texts of no bytes */
    bool variable = !pack_size_mul(longest, n, &fixed) || fixed > 4 * total + 65536;
    return write_texts(writer, path, texts, n, variable ? H5T_VARIABLE : (size_t)longest,
                       err);
}

/* --------------------------------------------------------------- attributes */

/* Creates and writes one attribute; `space` and `type` stay the caller's. */
static enum pack_status
write_attribute(struct pack_writer *writer, const char *path, const char *name,
                hid_t type, hid_t memory, hid_t space, const void *data,
                struct pack_error *err)
{
    hid_t acpl = H5Pcreate(H5P_ATTRIBUTE_CREATE), attribute = -1;
    if (acpl >= 0 && !is_ascii(name))
        H5Pset_char_encoding(acpl, H5T_CSET_UTF8);
    hid_t object = H5Oopen(writer->file, path, H5P_DEFAULT);
    if (object >= 0 && acpl >= 0 && type >= 0 && space >= 0)
        attribute = H5Acreate2(object, name, type, space, acpl, H5P_DEFAULT);
    herr_t result = attribute < 0 ? -1 : H5Awrite(attribute, memory, data);
    enum pack_status status = check(writer, result, err);
    if (attribute >= 0)
        H5Aclose(attribute);
    if (object >= 0)
        H5Oclose(object);
    H5Pclose(acpl);
    return status;
}

static enum pack_status
check_attribute_size(const char *name, uint64_t bytes, struct pack_error *err)
{
    if (bytes > ATTRIBUTE_MAX)
        return pack_fail(err, PACK_ERR_LIMIT,
                         "attribute '%.80s' of %llu bytes is larger than %d", name,
                         (unsigned long long)bytes, ATTRIBUTE_MAX);
    return PACK_OK;
}

enum pack_status
pack_writer_attr_text(struct pack_writer *writer, const char *path, const char *name,
                      const char *text, struct pack_error *err)
{
    size_t size = strlen(text) + 1;
    enum pack_status status = still_failed(writer, err);
    if (!status)
        status = check_attribute_size(name, size, err);
    if (status)
        return status;
    hid_t space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
    if (type >= 0) {
        H5Tset_size(type, size);
        H5Tset_cset(type, is_ascii(text) ? H5T_CSET_ASCII : H5T_CSET_UTF8);
    }
    status = write_attribute(writer, path, name, type, type, space, text, err);
    H5Tclose(type);
    H5Sclose(space);
    return status;
}

enum pack_status
pack_writer_attr_numbers(struct pack_writer *writer, const char *path, const char *name,
                         enum pack_number type, uint64_t n, const void *data, bool scalar,
                         struct pack_error *err)
{
    struct pack_shape shape = { .rank = !scalar || n != 1, .extent = { n } };
    uint64_t bytes;
    enum pack_status status = still_failed(writer, err);
    if (!status)
        status = check_attribute_size(
            name, pack_size_mul(n, number_bytes(type), &bytes) ? bytes : UINT64_MAX, err);
    if (status)
        return status;
    hid_t space = simple_space(&shape, false);
    status = write_attribute(writer, path, name, file_type(type), memory_type(type),
                             space, data, err);
    H5Sclose(space);
    return status;
}

enum pack_status
pack_writer_attr_texts(struct pack_writer *writer, const char *path, const char *name,
                       const char *const *texts, uint64_t n, struct pack_error *err)
{
    struct pack_shape shape = { .rank = 1, .extent = { n } };
    enum pack_status status = still_failed(writer, err);
    if (!status) /* each is a reference of 16 bytes */
        status = check_attribute_size(name, n < ATTRIBUTE_MAX ? n * 16 : UINT64_MAX, err);
    if (status)
        return status;
    hid_t space = simple_space(&shape, false), type = text_type(H5T_VARIABLE);
    status = write_attribute(writer, path, name, type, type, space, texts, err);
    H5Tclose(type);
    H5Sclose(space);
    return status;
}
