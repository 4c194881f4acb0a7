/* What only HDF5 understands is read by HDF5, in the caller's thread, sample by sample. */
#include "libpack/reader/reader_parts.h"

#include <string.h>

#include "libpack/hdf5/h5_boxes.h"

enum pack_status
pack_reader_stock_open(struct pack_reader *r, struct pack_error *err)
{
    struct pack_h5_boxes_params params = { .file = r->file, .dataset = r->dataset };
    return pack_h5_boxes_open(&params, &r->stock, err);
}

enum pack_status
pack_reader_stock_read(struct pack_reader *r, struct pack_job *job,
                       struct pack_error *err)
{
    const struct pack_drawn *drawn = &job->drawn;
    int rank = r->map->grid.rank;
    struct pack_box box = { .rank = rank };
    size_t size = (size_t)rank * sizeof *box.start;
    enum pack_status status = PACK_OK;
    memcpy(box.count, r->present.count, size);
    for (size_t i = 0; i < drawn->n_samples && status == PACK_OK; i++) {
        memcpy(box.start, drawn->starts + i * (size_t)rank, size);
        status = pack_watch_check(&r->params.watch, err);
        if (status == PACK_OK)
            status = pack_h5_boxes_read(r->stock, &box, 1, job->raw + i * r->sample_bytes,
                                        NULL, err);
    }
    if (status == PACK_OK)
        pack_reader_swap(r, job->raw, drawn->n_samples);
    if (status == PACK_OK && r->transform)
        status = pack_reader_make(r, &r->stock_hand, job, 0, drawn->n_samples,
                                  &job->bad_sample, err);
    return status;
}
