/* Opening, listing, and HDF5's error stack as one sentence. */
#include "libpack/hdf5/h5.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/hdf5/h5_parts.h"

void
pack_h5_quiet(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

/* ------------------------------------------------------------------- errors */

enum { REASON_MAX = 256 };

/* What HDF5 says, and what a user understands. */
static const struct {
    const char *theirs, *ours;
} plain_words[] = {
    { "file signature not found", "not an HDF5 file" },
    { "unable to find file signature", "not an HDF5 file" },
    { "truncated file", "the file is cut short" },
    { "Resource temporarily unavailable", "another program has it open for writing" },
};

/*
 * One entry of the stack, called from the innermost outwards. Takes the first description
 * and lets one with the words of the system replace it: those that HDF5's drivers write
 * contain "error message = '...'".
 */
static const char system_mark[] = "error message = '";

static herr_t
collect_reason(unsigned depth, const H5E_error2_t *entry, void *context)
{
    char *reason = context;
    const char *text = entry->desc ? entry->desc : "";
    const char *system = strstr(text, system_mark);
    if (system) {
        system += sizeof system_mark - 1;
        snprintf(reason, REASON_MAX, "%.*s", (int)strcspn(system, "'"), system);
        return 1;
    }
    if (depth == 0 || reason[0] == '\0')
        snprintf(reason, REASON_MAX, "%s", text);
    return 0;
}

/* The reason on HDF5's stack, which is emptied, in `reason` or in plainer words. */
static const char *
take_reason(char *reason)
{
    reason[0] = '\0';
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect_reason, reason);
    H5Eclear2(H5E_DEFAULT);
    for (size_t i = 0; i < sizeof plain_words / sizeof plain_words[0]; i++)
        if (strstr(reason, plain_words[i].theirs))
            return plain_words[i].ours;
    return reason[0] ? reason : "HDF5 gives no reason";
}

/* Whether the system refused what a driver of HDF5's asked for; a file that another program
 * has locked it is in order not to have. */
static herr_t
look_for_system(unsigned depth, const H5E_error2_t *entry, void *context)
{
    (void)depth;
    bool *found = context;
    const char *text = entry->desc ? entry->desc : "";
    *found = *found || (strstr(text, system_mark) &&
                        !strstr(text, "Resource temporarily unavailable"));
    return 0;
}

static bool
is_of_system(void)
{
    bool found = false;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, look_for_system, &found);
    return found;
}

static enum pack_status
fail_because(struct pack_error *err, enum pack_status status, const char *why,
             const char *format, va_list args)
{
    if (!err)
        return status;
    vsnprintf(err->text, sizeof err->text, format, args);
    size_t used = strlen(err->text);
    snprintf(err->text + used, sizeof err->text - used, ": %s", why);
    err->status = status;
    err->param = NULL;
    return status;
}

enum pack_status
pack_h5_fail(struct pack_error *err, enum pack_status status, const char *format, ...)
{
    char reason[REASON_MAX];
    const char *why = take_reason(reason);
    va_list args;
    va_start(args, format);
    fail_because(err, status, why, format, args);
    va_end(args);
    return status;
}

/* The first filter of a dataset that this HDF5 does not have; false when it has all. */
static bool
find_missing_filter(hid_t dataset, uint32_t *id)
{
    struct pack_pipeline pipeline = { 0 };
    hid_t dcpl = H5Dget_create_plist(dataset);
    bool missing = dcpl >= 0 && pack_h5_read_pipeline(dcpl, &pipeline) &&
                   pack_h5_missing_filter(&pipeline, id);
    if (dcpl >= 0)
        H5Pclose(dcpl);
    return missing;
}

enum pack_status
pack_h5_fail_read(struct pack_error *err, hid_t dataset, const char *format, ...)
{
    char reason[REASON_MAX], need[PACK_FILTER_NEED_MAX];
    enum pack_status status = PACK_ERR_FORMAT;
    const char *why = take_reason(reason);
    uint32_t id;
    if (find_missing_filter(dataset, &id)) {
        why = pack_filter_need(id, need);
        status = PACK_ERR_UNSUPPORTED;
    }
    va_list args;
    va_start(args, format);
    fail_because(err, status, why, format, args);
    va_end(args);
    return status;
}

bool
pack_h5_read_pipeline(hid_t dcpl, struct pack_pipeline *pipeline)
{
    int n = H5Pget_nfilters(dcpl);
    if (n < 0 || n > PACK_PIPELINE_MAX)
        return false;
    pipeline->n = n;
    for (int i = 0; i < n; i++) {
        struct pack_filter *filter = &pipeline->filter[i];
        unsigned flags, cd[PACK_FILTER_CD_MAX] = { 0 };
        size_t n_cd = PACK_FILTER_CD_MAX;
        H5Z_filter_t id =
            H5Pget_filter2(dcpl, (unsigned)i, &flags, &n_cd, cd, 0, NULL, NULL);
        if (id < 0)
            return false;
        filter->id = (uint32_t)id;
        filter->flags = flags;
        filter->n_cd = (uint32_t)n_cd;
        memcpy(filter->cd, cd, sizeof filter->cd);
    }
    return true;
}

bool
pack_h5_lacks_filter(const struct pack_pipeline *pipeline, uint32_t left_out, uint32_t *id)
{
    pack_h5_quiet();
    for (int i = 0; i < pipeline->n; i++)
        if (!(left_out >> i & 1) &&
            H5Zfilter_avail((H5Z_filter_t)pipeline->filter[i].id) <= 0) {
            *id = pipeline->filter[i].id;
            return true;
        }
    return false;
}

bool
pack_h5_missing_filter(const struct pack_pipeline *pipeline, uint32_t *id)
{
    return pack_h5_lacks_filter(pipeline, 0, id);
}

/* ------------------------------------------------------------------ opening */

/* The system's own answer comes first: it is exact. */
static enum pack_status
check_readable(const char *path, struct pack_error *err)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return pack_fail_errno(err, errno, "cannot open '%s'", path);
    int failed = fstat(fd, &status) != 0 ? errno : 0;
    close(fd);
    if (failed)
        return pack_fail_errno(err, failed, "cannot open '%s'", path);
    if (!S_ISREG(status.st_mode))
        return pack_fail(err, PACK_ERR_ARGUMENT, "cannot open '%s': it is %s", path,
                         S_ISDIR(status.st_mode) ? "a folder" : "not a regular file");
    return PACK_OK;
}

enum pack_status
pack_h5_open(const char *path, struct pack_h5_count *count, int64_t *file,
             struct pack_error *err)
{
    pack_h5_quiet();
    enum pack_status status = check_readable(path, err);
    if (status)
        return status;
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    if (fapl < 0)
        return pack_h5_fail(err, PACK_ERR_MEMORY, "cannot open '%s'", path);
    if (count || pack_h5_is_nameless(path))
        status = pack_h5_count_set(fapl, count, err);
    if (!status) {
        hid_t id = H5Fopen(path, H5F_ACC_RDONLY, fapl);
        if (id < 0)
            status = pack_h5_fail(err, is_of_system() ? PACK_ERR_IO : PACK_ERR_FORMAT,
                                  "cannot open '%s'", path);
        else
            *file = id;
    }
    H5Pclose(fapl);
    return status;
}

void
pack_h5_close(int64_t file)
{
    if (file >= 0)
        H5Fclose(file);
}

/* ------------------------------------------------------------------ listing */

struct walk {
    pack_h5_dataset_fn fn;
    void *context;
    struct pack_error *err;
    enum pack_status status; /* what fn returned */
};

#if H5_VERSION_GE(1, 12, 0)
typedef H5O_info2_t object_info;
#else
typedef H5O_info_t object_info;
#endif

static herr_t
visit(hid_t root, const char *name, const object_info *info, void *context)
{
    (void)root;
    struct walk *walk = context;
    if (info->type != H5O_TYPE_DATASET)
        return 0;
    walk->status = walk->fn(walk->context, name, walk->err);
    return walk->status != PACK_OK;
}

enum pack_status
pack_h5_datasets(int64_t file, pack_h5_dataset_fn fn, void *context,
                 struct pack_error *err)
{
    struct walk walk = { .fn = fn, .context = context, .err = err };
    pack_h5_quiet();
#if H5_VERSION_GE(1, 12, 0)
    herr_t result =
        H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_INC, visit, &walk, H5O_INFO_BASIC);
#else
    herr_t result =
        H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, visit, &walk, H5O_INFO_BASIC);
#endif
    if (walk.status)
        return walk.status;
    if (result < 0)
        return pack_h5_fail(err, PACK_ERR_FORMAT, "cannot list the datasets");
    return PACK_OK;
}

static herr_t
visit_link(hid_t root, const char *name, const H5L_info_t *info, void *context)
{
    (void)root;
    struct walk *walk = context;
    if (info->type != H5L_TYPE_SOFT && info->type != H5L_TYPE_EXTERNAL)
        return 0;
    walk->status = walk->fn(walk->context, name, walk->err);
    return walk->status != PACK_OK;
}

enum pack_status
pack_h5_links(int64_t file, pack_h5_dataset_fn fn, void *context, struct pack_error *err)
{
    struct walk walk = { .fn = fn, .context = context, .err = err };
    hsize_t at = 0;
    pack_h5_quiet();
    herr_t result = H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, &at, visit_link, &walk);
    if (walk.status)
        return walk.status;
    return result < 0 ? pack_h5_fail(err, PACK_ERR_FORMAT, "cannot list the links")
                      : PACK_OK;
}

enum pack_status
pack_h5_register_zstd(struct pack_error *err)
{
    pack_h5_quiet();
    if (H5Zregister(&pack_h5_zstd_class) < 0)
        return pack_h5_fail(err, PACK_ERR_MEMORY, "cannot register the zstd filter");
    return PACK_OK;
}
