/* Sources that are files, as a shell makes of a folder of files: records in the order given. */
#include "libpack/source/source_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/base/name.h"
#include "libpack/source/list_survey.h"

enum pack_status
pack_source_are_files(const char *const *paths, size_t n, bool *are_files,
                      struct pack_error *err)
{
    size_t file = n, other = n;
    int errnum = 0; /* why `other` is not known to be a folder */
    char one[PACK_NAME_TEXT_MAX], two[PACK_NAME_TEXT_MAX];
    for (size_t i = 0; i < n; i++) {
        struct stat st;
        bool is_there = stat(paths[i], &st) == 0;
        bool is_file = is_there && !S_ISDIR(st.st_mode);
        if (is_file && file == n) {
            file = i;
        } else if (!is_file && other == n) {
            other = i;
            errnum = is_there ? 0 : errno;
        }
    }
    if (file < n && errnum)
        return pack_fail_errno(err, errnum, "cannot open '%s'",
                               pack_name_text(paths[other], one));
    if (file < n && other < n)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "'%s' is a file, '%s' is none: sources are all files or all "
                         "folders",
                         pack_name_text(paths[file], one), pack_name_text(paths[other], two));
    *are_files = file < n;
    return PACK_OK;
}

/* The first bytes of a file; 0 where it cannot be read. */
static size_t
read_head(const char *path, unsigned char head[PACK_SOURCE_HEAD_BYTES])
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n;
    do
        n = read(fd, head, PACK_SOURCE_HEAD_BYTES);
    while (n < 0 && errno == EINTR);
    close(fd);
    return n > 0 ? (size_t)n : 0;
}

/* As in a flat folder: the name or the content says that it is an image. */
static bool
is_image(const char *path, const struct pack_source_params *params)
{
    unsigned char head[PACK_SOURCE_HEAD_BYTES];
    if (pack_survey_image_name(path))
        return true;
    size_t n = params->is_image ? read_head(path, head) : 0;
    return n > 0 && params->is_image(head, n);
}

static enum pack_status
take_files(struct pack_source *source, const char *const *files, size_t n,
           const struct pack_source_params *params, struct pack_error *err)
{
    enum pack_status status = pack_source_add_root(source, ".", 0, err);
    for (size_t i = 0; status == PACK_OK && i < n; i++) {
        if (!is_image(files[i], params)) {
            status = pack_source_note(source, PACK_NOTE_OTHER, files[i], err);
            continue;
        }
        const char *name = pack_arena_text(source->arena, files[i]);
        status = name ? pack_source_add(source, name, -1, err)
                      : pack_fail_memory(err, "names of images");
    }
    return status;
}

enum pack_status
pack_source_open_files(const char *const *files, size_t n,
                       const struct pack_source_params *params, struct pack_source **out,
                       struct pack_error *err)
{
    char text[PACK_NAME_TEXT_MAX];
    struct pack_source *source = NULL;
    enum pack_status status = pack_source_new(&source, err);
    if (status == PACK_OK)
        status = take_files(source, files, n, params, err);
    if (status == PACK_OK && source->n_records == 0)
        status = pack_fail_param(err, PACK_ERR_NOT_FOUND, "list",
                                 "'%s' is no image and no folder of images",
                                 pack_name_text(files[0], text));
    if (status == PACK_OK && params->label_from_folder)
        status = pack_source_label_by_folder(source, params, err);
    else if (status == PACK_OK && params->n_classes && !params->no_labels)
        status = pack_fail_param(err, PACK_ERR_ARGUMENT, "label_from_folder",
                                 "sources that are files have no labels among the %zu "
                                 "classes",
                                 params->n_classes);
    if (status == PACK_OK)
        *out = source;
    else
        pack_source_close(source);
    return status;
}
