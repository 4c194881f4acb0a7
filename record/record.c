/* The functions of HDF5 that read, in front of HDF5's own: each hands on the call, and
 * notes what was asked for when that went well; an error and its stack are the program's
 * to see. */
#include "record/record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { ID_DATASET = 5, LAYOUT_CHUNKED = 2 }; /* H5I_DATASET, H5D_CHUNKED */

/* A dataset's own cache; of what has no chunks that of its file, which others of it have. */
static bool
find_cache(const struct record_hdf5 *h, hid_t dataset, struct record_cache *c)
{
    int unused;
    hid_t made = h->dataset_plist(dataset);
    bool is_chunked = made >= 0 && h->plist_layout(made) == LAYOUT_CHUNKED;
    hid_t file = is_chunked ? -1 : h->file_of(dataset);
    hid_t access = is_chunked  ? h->dataset_access(dataset)
                   : file >= 0 ? h->file_access(file)
                               : -1;
    bool good = access >= 0 &&
                (is_chunked
                     ? h->plist_chunk_cache(access, &c->n_slots, &c->size_bytes, &c->w0)
                     : h->plist_cache(access, &unused, &c->n_slots, &c->size_bytes, &c->w0)) >= 0;
    if (access >= 0)
        h->plist_close(access);
    if (file >= 0)
        h->file_close(file);
    if (made >= 0)
        h->plist_close(made);
    return good && h->libversion(&c->version[0], &c->version[1], &c->version[2]) >= 0;
}

static const char *
last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Where a file is that was opened by a relative path, of the folder of that time: the system knows
 * of open files. False: nobody does. */
static bool
find_real(const struct record_hdf5 *h, hid_t dataset, const char *name,
          char real[RECORD_NAME_MAX])
{
    char link[64];
    void *handle = NULL;
    ssize_t n = -1;
    hid_t file = h->file_of(dataset);
    if (file >= 0 && h->file_handle(file, 0, &handle) >= 0 && handle) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", *(const int *)handle);
        n = readlink(link, real, RECORD_NAME_MAX - 1);
    }
    if (file >= 0)
        h->file_close(file);
    real[n > 0 ? n : 0] = '\0';
    return strcmp(last_part(real), last_part(name)) == 0; /* no other driver's handle */
}

static void
note(const struct record_hdf5 *h, hid_t dataset, const struct record_boxes *boxes,
     uint64_t took_ns)
{
    char file[RECORD_NAME_MAX], name[RECORD_NAME_MAX], found[RECORD_NAME_MAX];
    const char *real = NULL;
    long n = h->id_name(dataset, name, sizeof name);
    if (n <= 0 || n >= (long)sizeof name)
        return; /* without a name, or with one that nobody types */
    n = h->file_name(dataset, file, sizeof file);
    struct record_cache cache;
    if (n <= 0 || n >= (long)sizeof file)
        return;
    if (*file != '/' && !record_knows(file) && find_real(h, dataset, file, found))
        real = found;
    if (record_put(file, real, name, boxes, took_ns) && find_cache(h, dataset, &cache))
        record_put_cache(file, name, &cache);
}

static bool
is_dataset(const struct record_hdf5 *h, hid_t id)
{
    return h->is_valid(id) > 0 && h->id_type(id) == ID_DATASET;
}

static void
note_space(const struct record_hdf5 *h, hid_t dataset, hid_t space, uint64_t took_ns)
{
    struct record_boxes boxes = { .numbers = NULL };
    int kept = errno;
    if (h->is_known && record_is_on() && is_dataset(h, dataset) &&
        record_boxes_of(h, dataset, space, &boxes))
        note(h, dataset, &boxes, took_ns);
    record_boxes_done(&boxes);
    errno = kept;
}

static void
note_chunk(const struct record_hdf5 *h, hid_t dataset, const hsize_t *offset,
           uint64_t took_ns)
{
    struct record_boxes boxes = { .numbers = NULL };
    int kept = errno;
    if (h->is_known && record_is_on() && is_dataset(h, dataset) &&
        record_boxes_of_chunk(h, dataset, offset, &boxes))
        note(h, dataset, &boxes, took_ns);
    record_boxes_done(&boxes);
    errno = kept;
}

EXPORT herr_t H5Dread(hid_t dataset, hid_t type, hid_t memory, hid_t space, hid_t plist,
                      void *data);
EXPORT herr_t H5Dread_multi(size_t n, hid_t *datasets, hid_t *types, hid_t *memories,
                            hid_t *spaces, hid_t plist, void **data);
EXPORT herr_t H5Dread_chunk(hid_t dataset, hid_t plist, const hsize_t *offset,
                            uint32_t *filters, void *data);
EXPORT herr_t H5Dread_chunk1(hid_t dataset, hid_t plist, const hsize_t *offset,
                             uint32_t *filters, void *data);
EXPORT herr_t H5Dread_chunk2(hid_t dataset, hid_t plist, const hsize_t *offset,
                             uint32_t *filters, void *data, size_t *size);

herr_t
H5Dread(hid_t dataset, hid_t type, hid_t memory, hid_t space, hid_t plist, void *data)
{
    const struct record_hdf5 *h = record_hdf5(__builtin_return_address(0));
    if (!h || !h->read)
        return -1;
    uint64_t begin_ns = record_now_ns();
    herr_t result = h->read(dataset, type, memory, space, plist, data);
    if (result >= 0)
        note_space(h, dataset, space, record_now_ns() - begin_ns);
    return result;
}

herr_t
H5Dread_multi(size_t n, hid_t *datasets, hid_t *types, hid_t *memories, hid_t *spaces,
              hid_t plist, void **data)
{
    const struct record_hdf5 *h = record_hdf5(__builtin_return_address(0));
    if (!h || !h->read_multi)
        return -1;
    uint64_t begin_ns = record_now_ns();
    herr_t result = h->read_multi(n, datasets, types, memories, spaces, plist, data);
    uint64_t took_ns = n > 0 ? (record_now_ns() - begin_ns) / n : 0;
    for (size_t i = 0; result >= 0 && i < n; i++)
        note_space(h, datasets[i], spaces[i], took_ns);
    return result;
}

herr_t
H5Dread_chunk(hid_t dataset, hid_t plist, const hsize_t *offset, uint32_t *filters,
              void *data)
{
    const struct record_hdf5 *h = record_hdf5(__builtin_return_address(0));
    if (!h || !h->read_chunk)
        return -1;
    uint64_t begin_ns = record_now_ns();
    herr_t result = h->read_chunk(dataset, plist, offset, filters, data);
    if (result >= 0 && !record_is_of_libpack(__builtin_return_address(0)))
        note_chunk(h, dataset, offset, record_now_ns() - begin_ns);
    return result;
}

herr_t
H5Dread_chunk1(hid_t dataset, hid_t plist, const hsize_t *offset, uint32_t *filters,
               void *data)
{
    const struct record_hdf5 *h = record_hdf5(__builtin_return_address(0));
    if (!h || !h->read_chunk1)
        return -1;
    uint64_t begin_ns = record_now_ns();
    herr_t result = h->read_chunk1(dataset, plist, offset, filters, data);
    if (result >= 0 && !record_is_of_libpack(__builtin_return_address(0)))
        note_chunk(h, dataset, offset, record_now_ns() - begin_ns);
    return result;
}

herr_t
H5Dread_chunk2(hid_t dataset, hid_t plist, const hsize_t *offset, uint32_t *filters,
               void *data, size_t *size)
{
    const struct record_hdf5 *h = record_hdf5(__builtin_return_address(0));
    if (!h || !h->read_chunk2)
        return -1;
    uint64_t begin_ns = record_now_ns();
    herr_t result = h->read_chunk2(dataset, plist, offset, filters, data, size);
    if (result >= 0 && !record_is_of_libpack(__builtin_return_address(0)))
        note_chunk(h, dataset, offset, record_now_ns() - begin_ns);
    return result;
}
