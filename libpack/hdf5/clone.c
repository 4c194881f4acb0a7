/*
 * Why not H5Ocopy: it keeps hard links within one call only, so that the root would have to
 * be copied as a whole, the data that is stored otherwise with it, and it leaves references
 * inside of compounds (dimension scales have them) as they are. h5repack goes object by
 * object, too.
 */
#include "libpack/hdf5/clone.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libpack/base/fd.h"
#include "libpack/hdf5/clone_parts.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_guard.h"

enum { ROOM_BYTES = 16 << 20 };

enum pack_status
pack_clone_fail(struct pack_clone *clone, const char *path, struct pack_error *err)
{
    clone->count.discard = true;
    if (clone->count.write_errno) {
        H5Eclear2(H5E_DEFAULT);
        return pack_fail_errno(err, clone->count.write_errno, "cannot write '%s'",
                               clone->path);
    }
    while (path[0] == '/')
        path++;
    return pack_h5_fail(err, PACK_ERR_FORMAT, "cannot carry over '%.200s:/%.200s'",
                        clone->params.file, strcmp(path, ".") == 0 ? "" : path);
}

enum pack_status
pack_clone_check(struct pack_clone *clone, const char *path, int64_t result,
                 struct pack_error *err)
{
    return result < 0 || clone->count.write_errno ? pack_clone_fail(clone, path, err)
                                                  : PACK_OK;
}

bool
pack_clone_same_pipeline(const struct pack_pipeline *a, const struct pack_pipeline *b)
{
    bool same = a->n == b->n;
    for (int i = 0; i < a->n && same; i++) {
        const struct pack_filter *x = &a->filter[i], *y = &b->filter[i];
        same = x->id == y->id && x->flags == y->flags && x->n_cd == y->n_cd &&
               x->n_cd <= PACK_FILTER_CD_MAX &&
               memcmp(x->cd, y->cd, x->n_cd * sizeof x->cd[0]) == 0;
    }
    return same;
}

enum pack_status
pack_clone_open(const struct pack_clone_params *params, struct pack_clone **out,
                struct pack_error *err)
{
    struct pack_clone *clone = calloc(1, sizeof *clone);
    hid_t *sets = calloc(params->n_sets + 1, sizeof *sets);
    int64_t source = -1;
    if (!clone || !sets) {
        free(clone);
        free(sets);
        return pack_fail_memory(err, "a copy of a file");
    }
    clone->params = *params;
    if (clone->params.room_bytes == 0)
        clone->params.room_bytes = ROOM_BYTES;
    clone->sets = sets;
    for (size_t i = 0; i < params->n_sets; i++)
        sets[i] = -1;
    clone->source = clone->target = -1;
    enum pack_status status = pack_h5_register_zstd(err);
    if (status == PACK_OK)
        status = pack_h5_open(params->file, NULL, &source, err);
    clone->source = source;
    if (status == PACK_OK)
        status = pack_clone_survey(clone, err);
    if (status == PACK_OK)
        *out = clone;
    else
        pack_clone_close(clone);
    return status;
}

static enum pack_status
try_open(void *context, struct pack_h5_guard *guard, struct pack_error *err)
{
    struct pack_clone_params params = { .file = context };
    struct pack_clone *clone = NULL;
    enum pack_status status = pack_h5_guard_look(context, guard, err);
    if (status != PACK_OK)
        return status;
    pack_h5_guard_note(guard, "looking at its objects");
    status = pack_clone_open(&params, &clone, err);
    pack_clone_close(clone);
    return status;
}

enum pack_status
pack_clone_try(const char *file, struct pack_error *err)
{
    return pack_h5_guard_try(file, NULL, try_open, (void *)file, err);
}

/* ----------------------------------------------------------------- creating */

/* The oldest release that could read the source can read the copy, and that can hold what
 * is in it. */
static H5F_libver_t
low_bound(const struct pack_clone *clone)
{
    H5F_info2_t info;
    if (H5Fget_info2(clone->source, &info) < 0)
        return H5F_LIBVER_V110;
    if (info.super.version < 2)
        return clone->needs_v18 ? H5F_LIBVER_V18 : H5F_LIBVER_EARLIEST;
    return info.super.version == 2 ? H5F_LIBVER_V18 : H5F_LIBVER_V110;
}

/* What the file's list does not say of the root group. */
static herr_t
set_root(const struct pack_clone *clone, hid_t fcpl)
{
    unsigned links = 0, attributes = 0, most, least;
    hid_t root = H5Gopen2(clone->source, "/", H5P_DEFAULT);
    hid_t gcpl = root < 0 ? -1 : H5Gget_create_plist(root);
    herr_t result = gcpl < 0 ? -1 : H5Pget_link_creation_order(gcpl, &links);
    if (result >= 0)
        result = H5Pget_attr_creation_order(gcpl, &attributes);
    if (result >= 0)
        result = H5Pset_link_creation_order(fcpl, links);
    if (result >= 0)
        result = H5Pset_attr_creation_order(fcpl, attributes);
    if (result >= 0 && H5Pget_link_phase_change(gcpl, &most, &least) >= 0)
        result = H5Pset_link_phase_change(fcpl, most, least);
    if (result >= 0 && H5Pget_attr_phase_change(gcpl, &most, &least) >= 0)
        result = H5Pset_attr_phase_change(fcpl, most, least);
    if (gcpl >= 0)
        H5Pclose(gcpl);
    if (root >= 0)
        H5Gclose(root);
    return result;
}

static enum pack_status
create_file(struct pack_clone *clone, bool resumes, struct pack_error *err)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    hid_t fcpl = H5Fget_create_plist(clone->source);
    enum pack_status status = PACK_OK;
    bool is_set = fapl >= 0 && fcpl >= 0 &&
                  H5Pset_libver_bounds(fapl, low_bound(clone), H5F_LIBVER_LATEST) >= 0 &&
                  H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG) >= 0 &&
                  H5Pset_sieve_buf_size(fapl, 0) >= 0 && /* the driver is to meet the data */
                  H5Pset_obj_track_times(fcpl, false) >= 0 && set_root(clone, fcpl) >= 0;
    clone->count.context = clone;
    clone->count.on_write = pack_clone_on_write;
    clone->count.is_new = true;
    clone->count.keep_existing = resumes;
    clone->count.write_back = true;
    if (is_set)
        status = pack_h5_count_set(fapl, &clone->count, err);
    if (is_set && status == PACK_OK)
        clone->target = H5Fcreate(clone->path, H5F_ACC_TRUNC, fcpl, fapl);
    if (status == PACK_OK && clone->target < 0)
        status = clone->count.open_errno
                     ? pack_fail_errno(err, clone->count.open_errno, "cannot create '%s'",
                                       clone->path)
                     : pack_clone_fail(clone, "", err);
    if (fcpl >= 0)
        H5Pclose(fcpl);
    if (fapl >= 0)
        H5Pclose(fapl);
    return status;
}

enum pack_status
pack_clone_create(struct pack_clone *clone, const char *path, bool resumes,
                  struct pack_error *err)
{
    pack_h5_quiet();
    clone->path = strdup(path);
    if (!clone->path)
        return pack_fail_memory(err, "a path");
    enum pack_status status = create_file(clone, resumes, err);
    if (status == PACK_OK)
        status = pack_clone_objects(clone, err);
    if (status == PACK_OK)
        status = pack_clone_attributes(clone, err);
    if (status == PACK_OK)
        status = pack_clone_data(clone, err);
    return status == PACK_OK && clone->params.rows && !clone->has_index
               ? pack_clone_add_index(clone, err)
               : status;
}

/* ------------------------------------------------------------------ closing */

static enum pack_status
carry_user_block(const struct pack_clone *clone, uint64_t bytes, struct pack_error *err)
{
    static const size_t PIECE = 1 << 16;
    enum pack_status status = PACK_OK;
    unsigned char *data = malloc(PIECE);
    int from = open(clone->params.file, O_RDONLY | O_CLOEXEC);
    int to = open(clone->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (!data)
        status = pack_fail_memory(err, "the user block");
    else if (from < 0 || to < 0)
        status = pack_fail_errno(err, errno, "cannot open '%s'",
                                 from < 0 ? clone->params.file : clone->path);
    for (uint64_t at = 0; at < bytes && status == PACK_OK; at += PIECE) {
        size_t n = bytes - at < PIECE ? (size_t)(bytes - at) : PIECE;
        ssize_t got = pread(from, data, n, (off_t)at);
        if (got != (ssize_t)n)
            status = pack_fail(err, PACK_ERR_IO, "cannot read the user block of '%s'",
                               clone->params.file);
        else if (!pack_fd_write_at(to, data, n, at))
            status = pack_fail_errno(err, errno, "cannot write '%s'", clone->path);
    }
    if (to >= 0)
        close(to);
    if (from >= 0)
        close(from);
    free(data);
    return status;
}

static hsize_t
user_block(hid_t file)
{
    hsize_t bytes = 0;
    hid_t fcpl = H5Fget_create_plist(file);
    if (fcpl >= 0) {
        H5Pget_userblock(fcpl, &bytes);
        H5Pclose(fcpl);
    }
    return bytes;
}

/* Ids that are open in the copy, so that it can be closed. */
static void
close_ids(struct pack_clone *clone)
{
    for (size_t i = 0; i < clone->params.n_sets; i++) {
        if (clone->sets[i] >= 0)
            H5Dclose(clone->sets[i]);
        clone->sets[i] = -1;
    }
    for (size_t i = 0; i < clone->n_objects; i++) {
        if (clone->objects[i].type >= 0)
            H5Tclose(clone->objects[i].type);
        clone->objects[i].type = -1;
    }
}

enum pack_status
pack_clone_finish(struct pack_clone *clone, struct pack_error *err)
{
    hid_t target = clone->target;
    hsize_t bytes = user_block(clone->source);
    close_ids(clone);
    enum pack_status status = pack_clone_check(clone, "", 0, err);
    if (status != PACK_OK)
        return status;
    clone->target = -1;
    status = pack_clone_check(clone, "", H5Fclose(target), err);
    return status == PACK_OK && bytes > 0 ? carry_user_block(clone, bytes, err) : status;
}

struct pack_clone_counts
pack_clone_counts(const struct pack_clone *clone)
{
    return clone->counts;
}

/* When HDF5 cannot close the file it keeps it, and our driver with it, until the process
 * ends: then what the driver refers to has to stay. */
void
pack_clone_close(struct pack_clone *clone)
{
    if (!clone)
        return;
    clone->count.discard = true;
    close_ids(clone);
    if (clone->target >= 0)
        H5Fclose(clone->target);
    pack_h5_close(clone->source);
    H5Eclear2(H5E_DEFAULT);
    for (size_t i = 0; i < clone->n_objects; i++) {
        free(clone->objects[i].from);
        free(clone->objects[i].to);
    }
    free(clone->places);
    free(clone->objects);
    free(clone->queue);
    free(clone->sets);
    free(clone->path);
    if (clone->count.n_open == 0)
        free(clone);
}
