/* The plainest use of HDF5 there is, so that what is timed is what users' programs do. */
#include "libpack/hdf5/h5_probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_parts.h"

static const char dataset_name[] = "probe";

static void
to_hsize(const uint64_t *in, int n, hsize_t *out)
{
    for (int i = 0; i < n; i++)
        out[i] = in[i];
}

/* ------------------------------------------------------------------ making */

static hid_t
creation_list(const struct pack_probe_layout *layout)
{
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t chunk[PACK_RANK_MAX];
    bool good = list >= 0;
    if (layout->chunk.rank) {
        to_hsize(layout->chunk.extent, layout->chunk.rank, chunk);
        good = good && H5Pset_chunk(list, layout->chunk.rank, chunk) >= 0;
        for (int i = 0; good && i < layout->pipeline.n; i++) {
            const struct pack_filter *f = &layout->pipeline.filter[i];
            unsigned cd[PACK_FILTER_CD_MAX];
            for (uint32_t k = 0; k < f->n_cd; k++)
                cd[k] = f->cd[k];
            good = H5Pset_filter(list, (H5Z_filter_t)f->id, f->flags, f->n_cd, cd) >= 0;
        }
    }
    if (good)
        return list;
    if (list >= 0)
        H5Pclose(list);
    return -1;
}

/* Fills rows of chunks, or of a sample each where there are none. */
static enum pack_status
fill_dataset(hid_t dataset, hid_t space, const struct pack_probe_layout *layout,
             pack_probe_fill_fn fill, void *context, struct pack_error *err)
{
    const struct pack_shape *extent = &layout->extent;
    uint64_t sample = 1, step = layout->chunk.rank ? layout->chunk.extent[0] : 1;
    hsize_t start[PACK_RANK_MAX] = { 0 }, count[PACK_RANK_MAX];
    to_hsize(extent->extent, extent->rank, count);
    for (int i = 1; i < extent->rank; i++)
        sample *= extent->extent[i];
    void *rows = malloc(step * sample);
    enum pack_status status = rows ? PACK_OK : pack_fail_memory(err, "rows to write");
    for (uint64_t i = 0; status == PACK_OK && i < extent->extent[0]; i += step) {
        uint64_t left = extent->extent[0] - i;
        start[0] = i;
        count[0] = left < step ? left : step;
        fill(context, i, count[0], rows);
        hid_t memory = H5Screate_simple(extent->rank, count, NULL);
        if (memory < 0 ||
            H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) < 0 ||
            H5Dwrite(dataset, H5T_NATIVE_UINT8, memory, space, H5P_DEFAULT, rows) < 0)
            status = pack_fail(err, PACK_ERR_IO, "cannot write %llu samples",
                               (unsigned long long)count[0]);
        if (memory >= 0)
            H5Sclose(memory);
    }
    free(rows);
    return status;
}

enum pack_status
pack_probe_create(const char *path, const struct pack_probe_layout *layout,
                  pack_probe_fill_fn fill, void *context, struct pack_error *err)
{
    hid_t file, list = -1, space = -1, dataset = -1;
    hsize_t extent[PACK_RANK_MAX];
    enum pack_status status = PACK_ERR_IO;
    if (layout->pipeline.n && (status = pack_h5_register_zstd(err)) != PACK_OK)
        return status;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    to_hsize(layout->extent.extent, layout->extent.rank, extent);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access >= 0 && pack_h5_is_nameless(path))
        status = pack_h5_count_set(access, NULL, err);
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    if (file < 0)
        return pack_fail(err, PACK_ERR_IO, "cannot create '%s'", path);
    list = creation_list(layout);
    space = H5Screate_simple(layout->extent.rank, extent, NULL);
    if (list >= 0 && space >= 0)
        dataset = H5Dcreate2(file, dataset_name, H5T_STD_U8LE, space, H5P_DEFAULT, list,
                             H5P_DEFAULT);
    if (dataset >= 0)
        status = fill_dataset(dataset, space, layout, fill, context, err);
    else
        status = pack_fail(err, PACK_ERR_IO, "HDF5 refuses this layout");
    if (dataset >= 0 && H5Dclose(dataset) < 0 && status == PACK_OK)
        status = pack_fail(err, PACK_ERR_IO, "cannot finish the dataset");
    if (space >= 0)
        H5Sclose(space);
    if (list >= 0)
        H5Pclose(list);
    if (H5Fclose(file) < 0 && status == PACK_OK)
        status = pack_fail(err, PACK_ERR_IO, "cannot close the file");
    return status == PACK_OK ? status : pack_error_prefix(err, status, "'%s'", path);
}

/* ----------------------------------------------------------------- reading */

struct pack_probe {
    int64_t file;
    hid_t access, dataset, space;
};

static enum pack_status
open_dataset(struct pack_probe *p, struct pack_error *err)
{
    p->dataset = H5Dopen2((hid_t)p->file, dataset_name, p->access);
    p->space = p->dataset >= 0 ? H5Dget_space(p->dataset) : -1;
    return p->space >= 0 ? PACK_OK
                         : pack_fail(err, PACK_ERR_FORMAT, "cannot open its dataset");
}

static void
close_dataset(struct pack_probe *p)
{
    if (p->space >= 0)
        H5Sclose(p->space);
    if (p->dataset >= 0)
        H5Dclose(p->dataset);
    p->space = p->dataset = -1;
}

enum pack_status
pack_probe_open(const char *path, const struct pack_cache_params *cache,
                struct pack_h5_count *count, struct pack_probe **probe,
                struct pack_error *err)
{
    struct pack_probe *p = malloc(sizeof *p);
    if (!p)
        return pack_fail_memory(err, "a probe");
    *p = (struct pack_probe){ .file = -1, .access = -1, .dataset = -1, .space = -1 };
    enum pack_status status = pack_h5_register_zstd(err);
    if (status == PACK_OK)
        status = pack_h5_open(path, count, &p->file, err);
    if (status == PACK_OK) {
        p->access = H5Pcreate(H5P_DATASET_ACCESS);
        if (p->access < 0 || H5Pset_chunk_cache(p->access, cache->n_slots,
                                                cache->size_bytes, cache->w0) < 0)
            status =
                pack_fail(err, PACK_ERR_ARGUMENT, "HDF5 refuses these cache settings");
    }
    if (status == PACK_OK)
        status = open_dataset(p, err);
    if (status == PACK_OK)
        *probe = p;
    else
        pack_probe_close(p);
    return status;
}

void
pack_probe_close(struct pack_probe *p)
{
    if (!p)
        return;
    close_dataset(p);
    if (p->access >= 0)
        H5Pclose(p->access);
    pack_h5_close(p->file);
    H5garbage_collect(); /* the next one finds no memory ready */
    free(p);
}

enum pack_status
pack_probe_reopen(struct pack_probe *p, struct pack_error *err)
{
    close_dataset(p);
    return open_dataset(p, err);
}

enum pack_status
pack_probe_read(struct pack_probe *p, const struct pack_box *boxes, size_t n_boxes,
                void *out, struct pack_error *err)
{
    hsize_t start[PACK_RANK_MAX], count[PACK_RANK_MAX], total = 0;
    bool good = true;
    for (size_t i = 0; good && i < n_boxes; i++) {
        to_hsize(boxes[i].start, boxes[i].rank, start);
        to_hsize(boxes[i].count, boxes[i].rank, count);
        good = H5Sselect_hyperslab(p->space, i ? H5S_SELECT_OR : H5S_SELECT_SET, start,
                                   NULL, count, NULL) >= 0;
        total += count[0];
    }
    count[0] = total;
    hid_t memory = good && n_boxes ? H5Screate_simple(boxes[0].rank, count, NULL) : -1;
    good = memory >= 0 &&
           H5Dread(p->dataset, H5T_NATIVE_UINT8, memory, p->space, H5P_DEFAULT, out) >= 0;
    if (memory >= 0)
        H5Sclose(memory);
    return good ? PACK_OK : pack_fail(err, PACK_ERR_IO, "HDF5 cannot read a sample");
}

char *
pack_probe_hdf5_version(char *text)
{
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    snprintf(text, PACK_HDF5_VERSION_TEXT_MAX, "%u.%u.%u", major, minor, release);
    return text;
}
