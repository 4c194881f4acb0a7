#include "libpack/hdf5/h5_boxes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/clock.h"
#include "libpack/base/numbers.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_parts.h"

enum { WALK_CHUNKS_MAX = 1 << 22 };

struct pack_h5_boxes {
    struct pack_h5_boxes_params params;
    int64_t file;
    hid_t access, dataset, type, file_space, memory_space;
    hsize_t memory_count[PACK_RANK_MAX]; /* the shape of memory_space */
    struct pack_shape extent;
    struct pack_h5_boxes_reopened reopened; /* of the last read */
};

static enum pack_status
open_dataset(struct pack_h5_boxes *r, struct pack_error *err)
{
    const struct pack_h5_boxes_params *p = &r->params;
    r->dataset = H5Dopen2(r->file, p->dataset, r->access);
    if (r->dataset < 0)
        return pack_h5_fail(err, PACK_ERR_FORMAT, "cannot open dataset '%s:/%s'",
                            p->file, p->dataset);
    return PACK_OK;
}

static bool
read_extent(struct pack_h5_boxes *r)
{
    hsize_t extent[PACK_RANK_MAX];
    int rank = r->file_space < 0 ? -1 : H5Sget_simple_extent_ndims(r->file_space);
    if (rank < 1 || rank > PACK_RANK_MAX ||
        H5Sget_simple_extent_dims(r->file_space, extent, NULL) < 0)
        return false;
    r->extent.rank = rank;
    for (int i = 0; i < rank; i++)
        r->extent.extent[i] = extent[i];
    return true;
}

/* That it cannot is of no consequence: the reads do it. */
static void
walk_index(const struct pack_h5_boxes *r)
{
    H5AC_cache_config_t config = { .version = H5AC__CURR_CACHE_CONFIG_VERSION };
    hid_t creation = H5Dget_create_plist(r->dataset);
    hsize_t chunk[PACK_RANK_MAX], n;
    double n_chunks = 1;
    int rank = creation >= 0 && H5Pget_layout(creation) == H5D_CHUNKED
                   ? H5Pget_chunk(creation, PACK_RANK_MAX, chunk)
                   : 0;
    for (int i = 0; i < rank; i++)
        n_chunks *= ceil((double)r->extent.extent[i] / (double)chunk[i]);
    if (rank > 0 && n_chunks <= WALK_CHUNKS_MAX) {
        if (H5Fget_mdc_config(r->file, &config) >= 0 &&
            config.initial_size < config.max_size) {
            config.set_initial_size = true;
            config.initial_size = config.max_size;
            (void)H5Fset_mdc_config(r->file, &config);
        }
        (void)H5Dget_num_chunks(r->dataset, r->file_space, &n);
    }
    if (creation >= 0)
        H5Pclose(creation);
}

static enum pack_status
open_all(struct pack_h5_boxes *r, struct pack_error *err)
{
    const struct pack_h5_boxes_params *p = &r->params;
    enum pack_status status = pack_h5_open(p->file, p->count, &r->file, err);
    if (status != PACK_OK)
        return status;
    if (!pack_h5_is_dataset(r->file, p->dataset))
        return pack_fail(err, PACK_ERR_NOT_FOUND, "'%s' has no dataset '%s'", p->file,
                         p->dataset);
    r->access = H5Pcreate(H5P_DATASET_ACCESS);
    if (r->access < 0 ||
        (p->set_cache &&
         H5Pset_chunk_cache(r->access, (size_t)p->cache.n_slots,
                            (size_t)p->cache.size_bytes, p->cache.w0) < 0))
        return pack_h5_fail(err, PACK_ERR_ARGUMENT, "cannot set the chunk cache of '%s:/%s'",
                            p->file, p->dataset);
    status = open_dataset(r, err);
    if (status != PACK_OK)
        return status;
    r->type = H5Dget_type(r->dataset);
    r->file_space = H5Dget_space(r->dataset);
    if (r->type < 0 || !read_extent(r))
        return pack_h5_fail(err, PACK_ERR_FORMAT, "cannot read '%s:/%s'", p->file,
                            p->dataset);
    if (p->walk_index)
        walk_index(r);
    return PACK_OK;
}

enum pack_status
pack_h5_boxes_open(const struct pack_h5_boxes_params *params, struct pack_h5_boxes **out,
                   struct pack_error *err)
{
    struct pack_h5_boxes *r = malloc(sizeof *r);
    if (!r)
        return pack_fail_memory(err, "reader");
    *r = (struct pack_h5_boxes){ .params = *params,
                                 .file = -1,
                                 .access = -1,
                                 .dataset = -1,
                                 .type = -1,
                                 .file_space = -1,
                                 .memory_space = -1 };
    r->params.dataset += strspn(r->params.dataset, "/");
    enum pack_status status = open_all(r, err);
    if (status != PACK_OK) {
        pack_h5_boxes_close(r);
        return status;
    }
    *out = r;
    return PACK_OK;
}

void
pack_h5_boxes_close(struct pack_h5_boxes *r)
{
    if (!r)
        return;
    if (r->memory_space >= 0)
        H5Sclose(r->memory_space);
    if (r->file_space >= 0)
        H5Sclose(r->file_space);
    if (r->type >= 0)
        H5Tclose(r->type);
    if (r->dataset >= 0)
        H5Dclose(r->dataset);
    if (r->access >= 0)
        H5Pclose(r->access);
    pack_h5_close(r->file);
    free(r);
}

const struct pack_shape *
pack_h5_boxes_extent(const struct pack_h5_boxes *r)
{
    return &r->extent;
}

size_t
pack_h5_boxes_element_bytes(const struct pack_h5_boxes *r)
{
    return H5Tget_size(r->type);
}

hid_t
pack_h5_boxes_type(const struct pack_h5_boxes *r)
{
    return r->type;
}

void
pack_h5_boxes_reclaim(struct pack_h5_boxes *r, void *out)
{
    if (r->memory_space >= 0)
        H5Dvlen_reclaim(r->type, r->memory_space, H5P_DEFAULT, out);
}

/* A dense block of memory that has the boxes' shape, so that HDF5 sees how pieces lie
 * together; kept from read to read while it fits. */
static bool
set_memory(struct pack_h5_boxes *r, const struct pack_box *boxes, size_t n_boxes)
{
    hsize_t count[PACK_RANK_MAX], total = 0;
    for (int i = 0; i < r->extent.rank; i++)
        count[i] = boxes[0].count[i];
    for (size_t b = 0; b < n_boxes; b++)
        total += boxes[b].count[0];
    count[0] = total; /* boxes of one read differ along axis 0 only */
    if (r->memory_space >= 0) {
        if (memcmp(r->memory_count, count, (size_t)r->extent.rank * sizeof *count) == 0)
            return true;
        H5Sclose(r->memory_space);
    }
    memcpy(r->memory_count, count, (size_t)r->extent.rank * sizeof *count);
    r->memory_space = H5Screate_simple(r->extent.rank, count, NULL);
    return r->memory_space >= 0;
}

static enum pack_status
check_box(const struct pack_h5_boxes *r, const struct pack_box *box,
          struct pack_error *err)
{
    const struct pack_h5_boxes_params *p = &r->params;
    if (box->rank != r->extent.rank)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "box has %s, '%s:/%s' has %d", pack_dimensions(box->rank).text,
                         p->file, p->dataset, r->extent.rank);
    for (int i = 0; i < box->rank; i++)
        if (box->start[i] > r->extent.extent[i] ||
            box->count[i] > r->extent.extent[i] - box->start[i])
            return pack_fail(err, PACK_ERR_ARGUMENT,
                             "box ends at %" PRIu64 "+%" PRIu64
                             " on axis %d of '%s:/%s', which has %" PRIu64,
                             box->start[i], box->count[i], i, p->file, p->dataset,
                             r->extent.extent[i]);
    return PACK_OK;
}

static bool
select_boxes(struct pack_h5_boxes *r, const struct pack_box *boxes, size_t n_boxes)
{
    for (size_t b = 0; b < n_boxes; b++) {
        hsize_t start[PACK_RANK_MAX], count[PACK_RANK_MAX];
        for (int i = 0; i < r->extent.rank; i++) {
            start[i] = boxes[b].start[i];
            count[i] = boxes[b].count[i];
        }
        if (H5Sselect_hyperslab(r->file_space, b ? H5S_SELECT_OR : H5S_SELECT_SET, start,
                                NULL, count, NULL) < 0)
            return false;
    }
    return true;
}

/* "chunk (12,0,0)" of the first element of a box; "(1200,0,0)" where there are none. */
static void
name_place(const struct pack_h5_boxes *r, const struct pack_box *box, char *text,
           size_t size)
{
    hsize_t chunk[PACK_RANK_MAX];
    hid_t creation = H5Dget_create_plist(r->dataset);
    bool chunked = creation >= 0 && H5Pget_layout(creation) == H5D_CHUNKED &&
                   H5Pget_chunk(creation, r->extent.rank, chunk) == r->extent.rank;
    if (creation >= 0)
        H5Pclose(creation);
    int used = snprintf(text, size, chunked ? "chunk (" : "(");
    for (int i = 0; i < r->extent.rank && used < (int)size; i++)
        used += snprintf(text + used, size - (size_t)used, "%s%llu", i ? "," : "",
                         (unsigned long long)(box->start[i] / (chunked ? chunk[i] : 1)));
    if (used < (int)size)
        snprintf(text + used, size - (size_t)used, ")");
}

static enum pack_status
read_failed(const struct pack_h5_boxes *r, const struct pack_box *boxes,
            struct pack_error *err)
{
    const struct pack_h5_boxes_params *p = &r->params;
    char place[PACK_SHAPE_TEXT_MAX];
    if (p->count && p->count->read_errno) {
        name_place(r, boxes, place, sizeof place);
        return pack_fail_errno(err, p->count->read_errno, "cannot read '%s:/%s', %s",
                               p->file, p->dataset, place);
    }
    /* HDF5's stack holds the reason until the next call that succeeds */
    static const char damaged[] = "damaged: ";
    struct pack_error reason = { 0 };
    enum pack_status status = pack_h5_fail_read(&reason, r->dataset, "damaged");
    bool is_missing = status == PACK_ERR_UNSUPPORTED; /* of a filter, that is */
    name_place(r, boxes, place, sizeof place);
    return pack_fail(err, status, "cannot read '%s:/%s', %s: %s", p->file, p->dataset,
                     place, reason.text + (is_missing ? strlen(damaged) : 0));
}

static uint64_t
metadata_ns(const struct pack_h5_boxes *r)
{
    return r->params.count ? r->params.count->metadata.file_read_ns : 0;
}

/* Opens the dataset by name, and takes the time. */
static enum pack_status
reopen(struct pack_h5_boxes *r, struct pack_error *err)
{
    uint64_t start = pack_clock_ns(), before_ns = metadata_ns(r);
    enum pack_status status = r->dataset < 0 ? open_dataset(r, err) : PACK_OK;
    r->reopened = (struct pack_h5_boxes_reopened){
        .elapsed_ns = pack_clock_ns() - start,
        .file_read_ns = metadata_ns(r) - before_ns,
    };
    return status;
}

struct pack_h5_boxes_reopened
pack_h5_boxes_reopened(const struct pack_h5_boxes *r)
{
    return r->reopened;
}

enum pack_status
pack_h5_boxes_read(struct pack_h5_boxes *r, const struct pack_box *boxes, size_t n_boxes,
                   void *out, uint64_t *call_ns, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (size_t b = 0; b < n_boxes && status == PACK_OK; b++)
        status = check_box(r, &boxes[b], err);
    if (status == PACK_OK && r->params.reopen)
        status = reopen(r, err);
    if (status != PACK_OK)
        return status;
    if (!set_memory(r, boxes, n_boxes) || !select_boxes(r, boxes, n_boxes))
        return pack_h5_fail(err, PACK_ERR_ARGUMENT, "cannot select from '%s:/%s'",
                            r->params.file, r->params.dataset);
    uint64_t start = pack_clock_ns();
    herr_t got =
        H5Dread(r->dataset, r->type, r->memory_space, r->file_space, H5P_DEFAULT, out);
    if (call_ns)
        *call_ns = pack_clock_ns() - start;
    if (got < 0)
        return read_failed(r, boxes, err);
    if (r->params.reopen) {
        start = pack_clock_ns();
        H5Dclose(r->dataset);
        r->dataset = -1;
        r->reopened.elapsed_ns += pack_clock_ns() - start;
    }
    return PACK_OK;
}

char *
pack_h5_version_text(char *text)
{
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    snprintf(text, 32, "%u.%u.%u", major, minor, release);
    return text;
}

enum pack_status
pack_h5_boxes_cache(struct pack_h5_boxes *r, struct pack_cache_params *cache,
                    struct pack_error *err)
{
    char version[32];
    size_t n_slots, size_bytes;
    enum pack_status status = r->dataset < 0 ? open_dataset(r, err) : PACK_OK;
    if (status != PACK_OK)
        return status;
    hid_t access = H5Dget_access_plist(r->dataset);
    herr_t got =
        access < 0 ? -1 : H5Pget_chunk_cache(access, &n_slots, &size_bytes, &cache->w0);
    if (access >= 0)
        H5Pclose(access);
    if (got < 0)
        return pack_h5_fail(err, PACK_ERR_FORMAT,
                            "cannot read the cache settings of '%s:/%s'", r->params.file,
                            r->params.dataset);
    cache->n_slots = n_slots;
    cache->size_bytes = size_bytes;
    return pack_hdf5_version_parse(pack_h5_version_text(version), &cache->version, err);
}
