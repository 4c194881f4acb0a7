/* Small datasets written in one call, and attributes. */
#include <stdlib.h>
#include <string.h>

#include "libpack/hdf5/writer_parts.h"
#include "libpack/base/size.h"

enum {
    TEXT_BLOCK_BYTES = 1 << 20, /* of fixed-length texts written at once */
    ATTRIBUTE_MAX = 60000       /* an attribute lives in a header message of 64 KiB */
};

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

/* ------------------------------------------------------------------- arrays */

enum pack_status
pack_writer_array(struct pack_writer *writer, const char *path, enum pack_number type,
                  const struct pack_shape *shape, const void *data,
                  struct pack_error *err)
{
    enum pack_status status = pack_writer_still_failed(writer, err);
    if (status)
        return status;
    uint64_t n;
    if (!pack_shape_count(shape, &n))
        return pack_fail(err, PACK_ERR_ARGUMENT, "the dataset is too large");
    struct pack_writer_object object = { pack_writer_file_type(type),
                                         pack_writer_space(shape, false),
                                         pack_writer_dataset_list() };
    hid_t set = -1;
    status = pack_writer_create_object(writer, path, &object, &set, err);
    if (status)
        return status;
    herr_t result =
        n == 0 ? 0
               : H5Dwrite(set, memory_type(type), H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    herr_t closed = H5Dclose(set);
    return pack_writer_check(writer, result < 0 ? result : closed, err);
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

static uint64_t
texts_per_block(size_t size)
{
    return size > TEXT_BLOCK_BYTES ? 1 : TEXT_BLOCK_BYTES / size;
}

/* Copies texts into rows of `size` bytes, a block at a time, and writes the blocks. */
static herr_t
write_rows(hid_t set, hid_t type, const char *const *texts, uint64_t n, size_t size,
           char *block)
{
    herr_t result = 0;
    uint64_t per_block = texts_per_block(size);
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
    struct pack_shape shape = { .rank = 1, .extent = { n } };
    char *block = malloc(variable ? 1 : texts_per_block(size) * size);
    if (!block)
        return pack_fail_memory(err, "texts");
    hid_t type = text_type(size), set = -1;
    struct pack_writer_object object = { type, pack_writer_space(&shape, false),
                                         pack_writer_dataset_list() };
    enum pack_status status = pack_writer_create_object(writer, path, &object, &set, err);
    if (!status) {
        herr_t result = n == 0 ? 0
                        : variable
                            ? H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts)
                            : write_rows(set, type, texts, n, size, block);
        herr_t closed = H5Dclose(set);
        status = pack_writer_check(writer, result < 0 ? result : closed, err);
    }
    H5Tclose(type);
    free(block);
    return status;
}

enum pack_status
pack_writer_texts(struct pack_writer *writer, const char *path, const char *const *texts,
                  uint64_t n, struct pack_error *err)
{
    enum pack_status status = pack_writer_still_failed(writer, err);
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

/* What is written: in the file, in memory; ids below 0 are failures of HDF5. */
struct attribute {
    const char *name;
    hid_t type, memory_type, space;
    const void *data;
};

/* Creates and writes one attribute; its space and type stay the caller's. */
static enum pack_status
write_attribute(struct pack_writer *writer, const char *path, const struct attribute *a,
                struct pack_error *err)
{
    hid_t acpl = H5Pcreate(H5P_ATTRIBUTE_CREATE), attribute = -1;
    if (acpl >= 0 && !pack_writer_is_ascii(a->name))
        H5Pset_char_encoding(acpl, H5T_CSET_UTF8);
    hid_t object = H5Oopen(writer->file, path, H5P_DEFAULT);
    if (object >= 0 && acpl >= 0 && a->type >= 0 && a->space >= 0)
        attribute = H5Acreate2(object, a->name, a->type, a->space, acpl, H5P_DEFAULT);
    herr_t result = attribute < 0 ? -1 : H5Awrite(attribute, a->memory_type, a->data);
    enum pack_status status = pack_writer_check(writer, result, err);
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
    enum pack_status status = pack_writer_still_failed(writer, err);
    if (!status)
        status = check_attribute_size(name, size, err);
    if (status)
        return status;
    hid_t space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
    if (type >= 0) {
        H5Tset_size(type, size);
        H5Tset_cset(type, pack_writer_is_ascii(text) ? H5T_CSET_ASCII : H5T_CSET_UTF8);
    }
    struct attribute attribute = { name, type, type, space, text };
    status = write_attribute(writer, path, &attribute, err);
    H5Tclose(type);
    H5Sclose(space);
    return status;
}

enum pack_status
pack_writer_attr_numbers(struct pack_writer *writer, const char *path, const char *name,
                         const struct pack_writer_numbers *numbers,
                         struct pack_error *err)
{
    struct pack_shape shape = { .rank = !numbers->scalar || numbers->n != 1,
                                .extent = { numbers->n } };
    uint64_t bytes;
    enum pack_status status = pack_writer_still_failed(writer, err);
    if (status)
        return status;
    if (!pack_size_mul(numbers->n, pack_writer_number_bytes(numbers->type), &bytes))
        bytes = UINT64_MAX;
    status = check_attribute_size(name, bytes, err);
    if (status)
        return status;
    struct attribute attribute = { name, pack_writer_file_type(numbers->type),
                                   memory_type(numbers->type),
                                   pack_writer_space(&shape, false), numbers->data };
    status = write_attribute(writer, path, &attribute, err);
    H5Sclose(attribute.space);
    return status;
}

enum pack_status
pack_writer_attr_texts(struct pack_writer *writer, const char *path, const char *name,
                       const char *const *texts, uint64_t n, struct pack_error *err)
{
    struct pack_shape shape = { .rank = 1, .extent = { n } };
    enum pack_status status = pack_writer_still_failed(writer, err);
    if (!status) /* each is a reference of 16 bytes */
        status = check_attribute_size(name, n < ATTRIBUTE_MAX ? n * 16 : UINT64_MAX, err);
    if (status)
        return status;
    hid_t space = pack_writer_space(&shape, false), type = text_type(H5T_VARIABLE);
    struct attribute attribute = { name, type, type, space, texts };
    status = write_attribute(writer, path, &attribute, err);
    H5Tclose(type);
    H5Sclose(space);
    return status;
}
