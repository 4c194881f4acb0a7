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
#include "libpack/hdf5/writer.h"

#include <stdlib.h>
#include <string.h>

#include "libpack/base/check.h"
#include "libpack/hdf5/writer_parts.h"

/* -------------------------------------------------------------------- names */

static const char *const libver_names[] = { "v110", "earliest", "v18", "latest" };

const char *
pack_libver_name(enum pack_libver libver)
{
    size_t i = (size_t)libver;
    return i < sizeof libver_names / sizeof libver_names[0] ? libver_names[i] : "unknown";
}

enum pack_status
pack_libver_parse(const char *text, enum pack_libver *libver, struct pack_error *err)
{
    if (!text || !libver)
        return pack_check_given(err, "text", text, "libver", libver, NULL);
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

hid_t
pack_writer_file_type(enum pack_number type)
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

uint64_t
pack_writer_number_bytes(enum pack_number type)
{
    static const uint64_t bytes[] = { 1, 4, 8, 4, 8 };
    return bytes[type];
}

/* ----------------------------------------------------------------- failures */

enum pack_status
pack_writer_still_failed(const struct pack_writer *writer, struct pack_error *err)
{
    return writer->failed ? pack_fail(err, writer->failed, "%s", writer->error.text)
                          : PACK_OK;
}

enum pack_status
pack_writer_fail(struct pack_writer *writer, struct pack_error *err)
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
    return pack_writer_still_failed(writer, err);
}

/* Whether HDF5 said no, or a write failed, of which HDF5 knows nothing. */
static bool
is_bad(const struct pack_writer *writer, herr_t result)
{
    return result < 0 || writer->count.write_errno != 0;
}

enum pack_status
pack_writer_check(struct pack_writer *writer, herr_t result, struct pack_error *err)
{
    return is_bad(writer, result) ? pack_writer_fail(writer, err) : PACK_OK;
}

/* --------------------------------------------------------------------- file */

static enum pack_h5_action
on_write(void *context, const struct pack_h5_access *access, const void *data)
{
    struct pack_writer *writer = context;
    return pack_h5_placing_meet(writer->chunk, &writer->count, access, data);
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

static enum pack_status
create_file(struct pack_writer *writer, const struct pack_writer_params *params,
            struct pack_error *err)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), fcpl = H5Pcreate(H5P_FILE_CREATE);
    bool is_set =
        fapl >= 0 && fcpl >= 0 &&
        H5Pset_libver_bounds(fapl, low_bound(params->libver), H5F_LIBVER_LATEST) >= 0 &&
        H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG) >= 0 &&
        H5Pset_obj_track_times(fcpl, false) >= 0;
    enum pack_status status =
        is_set ? pack_h5_count_set(fapl, &writer->count, err) : PACK_OK;
    if (is_set && status == PACK_OK)
        writer->file = H5Fcreate(writer->path, H5F_ACC_TRUNC, fcpl, fapl);
    if (status == PACK_OK && writer->file < 0)
        status = writer->count.open_errno
                     ? pack_fail_errno(err, writer->count.open_errno,
                                       "cannot create '%s'", writer->path)
                     : pack_writer_check(writer, -1, err);
    H5Pclose(fapl);
    H5Pclose(fcpl);
    return status;
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
    writer->count.write_back = true;
    writer->count.is_new = params->is_new && !params->resume;
    writer->file = H5I_INVALID_HID;
    enum pack_status status = create_file(writer, params, err);
    if (status)
        pack_writer_abandon(writer);
    else
        *out = writer;
    return status;
}

enum pack_status
pack_writer_close(struct pack_writer *writer, struct pack_error *err)
{
    enum pack_status status = pack_writer_still_failed(writer, err);
    for (struct pack_writer_dataset *set = writer->datasets; set && !status;
         set = set->next) {
        hid_t id = set->id;
        set->id = H5I_INVALID_HID;
        status = pack_writer_check(writer, H5Dclose(id), err);
    }
    if (status) {
        writer->count.discard = true;
    } else {
        hid_t file = writer->file;
        writer->file = H5I_INVALID_HID;
        status = pack_writer_check(writer, H5Fclose(file), err);
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

bool
pack_writer_is_ascii(const char *text)
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
    if (lcpl >= 0 && !pack_writer_is_ascii(path))
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
        status = pack_writer_check(writer, result, err);
        *slash = '/';
    }
    free(prefix);
    return status;
}

static enum pack_status
create_dataset(struct pack_writer *writer, const char *path,
               const struct pack_writer_object *object, hid_t *id, struct pack_error *err)
{
    if (object->type < 0 || object->space < 0 || object->dcpl < 0)
        return pack_writer_fail(writer, err);
    enum pack_status status = check_path(path, err);
    if (!status)
        status = create_groups(writer, path, err);
    if (status)
        return status;
    hid_t lcpl = link_list(path);
    *id = H5Dcreate2(writer->file, path, object->type, object->space, lcpl, object->dcpl,
                     H5P_DEFAULT);
    H5Pclose(lcpl);
    if (!is_bad(writer, *id < 0 ? -1 : 0))
        return PACK_OK;
    if (*id >= 0)
        H5Dclose(*id);
    return pack_writer_fail(writer, err);
}

enum pack_status
pack_writer_create_object(struct pack_writer *writer, const char *path,
                          const struct pack_writer_object *object, hid_t *id,
                          struct pack_error *err)
{
    enum pack_status status = create_dataset(writer, path, object, id, err);
    H5Sclose(object->space);
    H5Pclose(object->dcpl);
    return status;
}

hid_t
pack_writer_dataset_list(void)
{
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(dcpl, false);
    return dcpl;
}

hid_t
pack_writer_space(const struct pack_shape *shape, bool grows)
{
    hsize_t extent[PACK_RANK_MAX], most[PACK_RANK_MAX];
    for (int i = 0; i < shape->rank; i++)
        extent[i] = most[i] = shape->extent[i];
    if (grows)
        most[0] = H5S_UNLIMITED;
    return shape->rank == 0 ? H5Screate(H5S_SCALAR)
                            : H5Screate_simple(shape->rank, extent, most);
}
