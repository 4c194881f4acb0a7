/* Small HDF5 files of every layout, made on the spot; includes hdf5.h. */
#ifndef TESTS_MADE_H5_H
#define TESTS_MADE_H5_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <libpack/dataset.h>
#include "libpack/base/rng.h"
#include "libpack/hdf5/filter.h"
#include "libpack/hdf5/h5_parts.h"

enum { MADE_RANK_MAX = 5 };

/* One dataset, "x", whose bytes follow from their place. */
struct made {
    const char *name;
    const char *type; /* "u8", "i16", "f32", "f64"; ">" in front: big-endian */
    int rank;
    hsize_t dims[MADE_RANK_MAX];
    hsize_t chunk[MADE_RANK_MAX]; /* all 0: not chunked */
    const char *pipeline;         /* NULL: none */
    bool compact, v110, grows, early;
    bool sparse; /* only the first half along axis 0 is written */
    bool masked; /* the first chunks have some of their filters, or none */
    bool plain_edges;
    int fill; /* value of what is not written; 0: none is defined */
    unsigned user_block;
};

__attribute__((unused)) static hid_t
made_type(const char *text)
{
    bool big = text[0] == '>';
    text += big;
    hid_t type = H5Tcopy(strcmp(text, "u8") == 0    ? H5T_STD_U8LE
                         : strcmp(text, "i16") == 0 ? H5T_STD_I16LE
                         : strcmp(text, "i64") == 0 ? H5T_STD_I64LE
                         : strcmp(text, "f32") == 0 ? H5T_IEEE_F32LE
                                                    : H5T_IEEE_F64LE);
    if (big)
        H5Tset_order(type, H5T_ORDER_BE);
    return type;
}

__attribute__((unused)) static size_t
made_elements(const struct made *made)
{
    size_t n = 1;
    for (int i = 0; i < made->rank; i++)
        n *= made->dims[i];
    return n;
}

/* Compresses a bit; no element is like its neighbour. */
__attribute__((unused)) static void
made_bytes(uint8_t *data, size_t size)
{
    struct pack_rng rng;
    pack_rng_seed(&rng, 7);
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)(i / 5 + (pack_rng_next(&rng) & 7));
}

/* Chunk 0 without any filter, chunk 1 without its first: as filters that are optional and
 * fail leave them. */
static bool
made_mask(const struct made *made, hid_t set, const uint8_t *data, size_t elem_size)
{
    struct pack_pipeline pipeline;
    struct pack_filter_ctx *ctx;
    size_t size = elem_size;
    for (int i = 0; i < made->rank; i++)
        size *= made->chunk[i];
    uint8_t *chunk = calloc(1, size);
    pack_filter_ctx_new(&ctx, NULL);
    pack_pipeline_parse(made->pipeline, (uint32_t)elem_size, &pipeline, NULL);
    bool good = true;
    for (int number = 0; number < 2 && good; number++) {
        hsize_t offset[MADE_RANK_MAX] = { 0 };
        offset[made->rank - 1] = (hsize_t)number * made->chunk[made->rank - 1];
        for (size_t e = 0; e < size / elem_size; e++) { /* element by element */
            size_t left = e, at = 0, step = 1;
            bool inside = true;
            for (int i = made->rank - 1; i >= 0; i--) {
                size_t index = offset[i] + left % made->chunk[i];
                left /= made->chunk[i];
                inside = inside && index < made->dims[i];
                at += index * step;
                step *= made->dims[i];
            }
            if (inside)
                memcpy(chunk + e * elem_size, data + at * elem_size, elem_size);
        }
        struct pack_pipeline rest = pipeline;
        struct pack_stored stored = { chunk, size, 0 };
        uint32_t mask = (UINT32_C(1) << pipeline.n) - 1;
        if (number == 1) {
            mask = 1;
            rest.n--;
            memmove(rest.filter, rest.filter + 1, sizeof rest.filter[0] * (size_t)rest.n);
            good =
                pack_pipeline_encode(&rest, ctx, chunk, size, &stored, NULL) == PACK_OK;
        }
        good = good && H5Dwrite_chunk(set, H5P_DEFAULT, mask, offset, stored.size,
                                      stored.data) >= 0;
    }
    pack_filter_ctx_free(ctx);
    free(chunk);
    return good;
}

static hid_t
made_creation(const struct made *made, hid_t type)
{
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    struct pack_pipeline pipeline = { 0 };
    if (made->compact)
        H5Pset_layout(dcpl, H5D_COMPACT);
    if (made->chunk[0] > 0)
        H5Pset_chunk(dcpl, made->rank, made->chunk);
    if (made->plain_edges)
        H5Pset_chunk_opts(dcpl, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
    if (made->fill)
        H5Pset_fill_value(dcpl, H5T_NATIVE_INT, &made->fill);
    if (made->early)
        H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_EARLY);
    if (made->pipeline)
        pack_pipeline_parse(made->pipeline, (uint32_t)H5Tget_size(type), &pipeline, NULL);
    for (int i = 0; i < pipeline.n; i++)
        H5Pset_filter(dcpl, (H5Z_filter_t)pipeline.filter[i].id, pipeline.filter[i].flags,
                      pipeline.filter[i].n_cd, pipeline.filter[i].cd);
    return dcpl;
}

/* Writes the file; false when HDF5 refuses. */
__attribute__((unused)) static bool
made_write(const struct made *made, const char *path)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), fcpl = H5Pcreate(H5P_FILE_CREATE);
    hid_t type = made_type(made->type), dcpl = made_creation(made, type);
    hsize_t most[MADE_RANK_MAX], start[MADE_RANK_MAX] = { 0 }, count[MADE_RANK_MAX];
    size_t elem_size = H5Tget_size(type), size = made_elements(made) * elem_size;
    uint8_t *data = malloc(size + 1);
    made_bytes(data, size);
    memcpy(most, made->dims, sizeof most);
    memcpy(count, made->dims, sizeof count);
    if (made->grows)
        most[0] = H5S_UNLIMITED;
    if (made->sparse)
        count[0] = made->dims[0] / 2;
    if (made->v110)
        H5Pset_libver_bounds(fapl, H5F_LIBVER_V110, H5F_LIBVER_V110);
    H5Pset_userblock(fcpl, made->user_block);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, fcpl, fapl);
    hid_t space = H5Screate_simple(made->rank, made->dims, most);
    hid_t set = H5Dcreate2(file, "x", type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    bool good = set >= 0;
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    if (count[0] > 0)
        good = good && H5Dwrite(set, type, space, space, H5P_DEFAULT, data) >= 0;
    if (made->masked)
        good = good && made_mask(made, set, data, elem_size);
    if (set >= 0)
        H5Dclose(set);
    H5Sclose(space);
    good = H5Fclose(file) >= 0 && good;
    H5Pclose(dcpl);
    H5Tclose(type);
    H5Pclose(fcpl);
    H5Pclose(fapl);
    free(data);
    return good;
}

/* One more dataset for a file, of its name. */
__attribute__((unused)) static void
made_add(hid_t file, const struct made *made)
{
    hid_t type = made_type(made->type), dcpl = made_creation(made, type);
    hid_t space = H5Screate_simple(made->rank, made->dims, NULL);
    hid_t set = H5Dcreate2(file, made->name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    size_t size = made_elements(made) * H5Tget_size(type);
    hsize_t start[MADE_RANK_MAX] = { 0 }, count[MADE_RANK_MAX];
    uint8_t *data = malloc(size);
    made_bytes(data, size);
    memcpy(count, made->dims, sizeof count);
    if (made->sparse)
        count[0] /= 2;
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    H5Dwrite(set, type, space, space, H5P_DEFAULT, data);
    free(data);
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(dcpl);
    H5Tclose(type);
}

/* All of it as HDF5 reads it, in the file's byte order or the machine's; to be freed. */
__attribute__((unused)) static uint8_t *
made_read(const char *path, const char *dataset, bool native, size_t *size)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t set = H5Dopen2(file, dataset, H5P_DEFAULT);
    hid_t type = H5Dget_type(set), space = H5Dget_space(set);
    hid_t memory = native ? H5Tget_native_type(type, H5T_DIR_ASCEND) : H5Tcopy(type);
    *size = (size_t)H5Sget_simple_extent_npoints(space) * H5Tget_size(memory);
    uint8_t *data = calloc(1, *size + 1);
    bool good = H5Dread(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    H5Tclose(memory);
    H5Tclose(type);
    H5Sclose(space);
    H5Dclose(set);
    H5Fclose(file);
    if (good)
        return data;
    free(data);
    return NULL;
}

#endif
