#include "tools/pack_lists.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/base/name.h"
#include "libpack/source/list.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_guard.h"
#include "libpack/hdf5/h5_read.h"
#include <libpack/image.h>

enum { CLASSES_MAX = 1 << 20 };

/* Opens a text that may be a named pipe, which waits for who writes to it. */
static enum pack_status
open_text(const char *path, const struct pack_watch *watch, FILE **file,
          struct pack_error *err)
{
    do
        *file = fopen(path, "rb");
    while (!*file && errno == EINTR && !pack_watch_stops(watch));
    if (!*file && errno == EINTR)
        return pack_watch_check(watch, err);
    return *file ? PACK_OK : pack_fail_errno(err, errno, "cannot open '%s'", path);
}

/* ----------------------------------------------------------------- classes */

static enum pack_status
read_class_lines(FILE *file, const char *path, const struct pack_watch *watch,
                 char ***names, uint64_t *n, struct pack_error *err)
{
    struct pack_list *list;
    struct pack_list_params lines = { .format = PACK_LIST_LINES };
    enum pack_status status = pack_list_read(file, path, &lines, &list, err);
    if (status == PACK_ERR_IO && pack_watch_stops(watch))
        return pack_watch_check(watch, err); /* a signal ends a waiting read */
    if (status != PACK_OK)
        return status;
    *names = calloc(list->n_rows, sizeof **names);
    for (*n = 0; *names && *n < list->n_rows && status == PACK_OK; ++*n)
        if (!((*names)[*n] = strdup(list->path.strings[*n])))
            status = pack_fail_memory(err, "class names");
    if (!*names)
        status = pack_fail_memory(err, "class names");
    pack_list_free(list);
    return status;
}

struct class_dataset {
    const char *path;
    char **names;
    uint64_t n;
};

static enum pack_status
read_class_names(void *context, struct pack_h5_guard *guard, struct pack_error *err)
{
    struct class_dataset *c = context;
    int64_t file;
    enum pack_status status = pack_h5_open(c->path, NULL, &file, err);
    if (status != PACK_OK)
        return status;
    pack_h5_guard_note(guard, "reading '/class_names'");
    status = pack_h5_read_texts(file, "class_names", CLASSES_MAX, &c->names, &c->n, err);
    pack_h5_close(file);
    return status == PACK_OK ? status : pack_error_prefix(err, status, "'%s'", c->path);
}

static enum pack_status
read_class_dataset(const char *path, char ***names, uint64_t *n, struct pack_error *err)
{
    struct class_dataset c = { .path = path };
    enum pack_status status = pack_h5_guard_try(path, NULL, read_class_names, &c, err);
    if (status == PACK_OK)
        status = read_class_names(&c, NULL, err);
    if (status != PACK_OK)
        return status;
    *names = c.names;
    *n = c.n;
    for (uint64_t i = 0; status == PACK_OK && i < *n; i++)
        status = pack_name_unescape((*names)[i], (*names)[i], err);
    return status == PACK_OK ? status : pack_error_prefix(err, status, "'%s'", path);
}

/* Not a pipe, which can be read only once and belongs to no folder. */
static bool
is_regular(FILE *file)
{
    struct stat st;
    return fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode);
}

/* A text file, or an HDF5 file by its first eight bytes. */
static enum pack_status
read_classes(const char *path, const struct pack_watch *watch, char ***names,
             uint64_t *n, struct pack_error *err)
{
    static const char signature[] = "\x89HDF\r\n\x1a\n";
    char head[sizeof signature - 1] = { 0 };
    FILE *file;
    enum pack_status status = open_text(path, watch, &file, err);
    if (status != PACK_OK)
        return status;
    size_t got = is_regular(file) ? fread(head, 1, sizeof head, file) : 0;
    if (got)
        rewind(file);
    status = got == sizeof head && memcmp(head, signature, sizeof head) == 0
                 ? read_class_dataset(path, names, n, err)
                 : read_class_lines(file, path, watch, names, n, err);
    fclose(file);
    return status;
}

/* ------------------------------------------------------------------ images */

static bool
is_folder(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

/* That what is given beside a list can be what its paths start from. */
static enum pack_status
check_start(const char *folder, struct pack_error *err)
{
    char text[PACK_NAME_TEXT_MAX];
    struct stat st;
    pack_name_text(folder, text);
    if (stat(folder, &st) != 0)
        return pack_fail_errno(err, errno, "cannot open '%s', where the list's paths start",
                               text);
    return S_ISDIR(st.st_mode)
               ? PACK_OK
               : pack_fail(err, PACK_ERR_ARGUMENT,
                           "--list takes a folder that its paths start from, which '%s' is "
                           "not: an image file is given without a list, or named in it",
                           text);
}

static enum pack_status
open_list(const struct pack_args *args, struct pack_source_params *params,
          struct pack_source **source, struct pack_error *err)
{
    bool piped = strcmp(args->list, "-") == 0;
    enum pack_status status =
        args->n_folders ? check_start(args->folders[0], err) : PACK_OK;
    FILE *file = stdin;
    if (status == PACK_OK && !piped)
        status = open_text(args->list, &params->watch, &file, err);
    if (status != PACK_OK)
        return status;
    if (is_folder(fileno(file))) {
        if (!piped)
            fclose(file);
        return pack_fail_param(err, PACK_ERR_FORMAT, "list",
                               "'%.600s' is a folder, not a list", args->list);
    }
    params->list_format = args->nul ? PACK_LIST_NULL : PACK_LIST_ANY;
    params->list_root = args->n_folders    ? args->folders[0]
                        : is_regular(file) ? NULL
                                           : ".";
    status = pack_source_open_list(
        file, piped ? "standard input" : args->list, params, source, err);
    if (!piped)
        fclose(file);
    return status;
}

/* --force is no word for the loss of what is to be packed. */
static enum pack_status
check_written(const struct pack_args *args, const char *path, const char *option,
              struct pack_error *err)
{
    struct stat written, read;
    if (!path || !args->force || stat(path, &written) != 0 || !S_ISREG(written.st_mode))
        return PACK_OK;
    for (size_t i = 0; i <= args->n_folders; i++) {
        const char *name = i < args->n_folders ? args->folders[i] : args->list;
        bool may_be = name == args->list && path == args->rejects; /* it has been read then */
        if (!name || may_be || stat(name, &read) != 0 || read.st_dev != written.st_dev ||
            read.st_ino != written.st_ino)
            continue;
        return pack_fail(err, PACK_ERR_ARGUMENT, "%s: '%.200s' would be replaced, which is %s",
                         option, path,
                         name == args->list ? "the list of images" : "one of the images");
    }
    return PACK_OK;
}

/* By its first bytes; false where there is no such file. */
static bool
is_image_file(const char *path)
{
    unsigned char head[64];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe has no end to wait for */
    FILE *file = fd >= 0 ? fdopen(fd, "rb") : NULL;
    size_t n = file && is_regular(file) ? fread(head, 1, sizeof head, file) : 0;
    if (file)
        fclose(file);
    else if (fd >= 0)
        close(fd);
    return n > 0 && pack_image_is_known(head, n);
}

/* The same of the images that a folder or a list names. They are looked at only where an
 * image would be replaced: there may be millions. */
static enum pack_status
check_images(const struct pack_args *args, const struct pack_source *source,
             const char *path, const char *option, struct pack_error *err)
{
    struct stat written, read;
    char image[PATH_MAX];
    if (!path || !args->force || !is_image_file(path) || stat(path, &written) != 0)
        return PACK_OK;
    for (uint64_t i = 0; i < pack_source_count(source); i++)
        if (pack_source_path(source, i, image, sizeof image) < sizeof image &&
            stat(image, &read) == 0 && read.st_dev == written.st_dev &&
            read.st_ino == written.st_ino)
            return pack_fail(err, PACK_ERR_ARGUMENT,
                             "%s: '%.200s' would be replaced, which is one of the images",
                             option, path);
    return PACK_OK;
}

enum pack_status
pack_lists_check_written(const struct pack_args *args, const struct pack_source *source,
                         struct pack_error *err)
{
    const char *const paths[] = { args->output, args->rejects },
                      *const options[] = { "--output", "--rejects" };
    enum pack_status status = PACK_OK;
    for (int i = 0; status == PACK_OK && i < 2; i++)
        status = source ? check_images(args, source, paths[i], options[i], err)
                        : check_written(args, paths[i], options[i], err);
    return status;
}

enum pack_status
pack_lists_open_source(const struct pack_args *args, const struct pack_convert_options *c,
                       const struct pack_watch *watch, struct pack_source **source,
                       struct pack_error *err)
{
    char **classes = NULL;
    uint64_t n_classes = 0;
    struct pack_source_params params = {
        .no_labels = args->no_labels,
        .any_name = args->any_name,
        .splits_are_classes = args->splits_are_classes,
        .masks_are_classes = args->masks_are_classes,
        .label_from_folder = args->label_from_folder,
        .path_column = args->path_column,
        .label_column = args->label_column,
        .no_header = args->no_header,
        .is_image = pack_image_is_known,
        .watch = *watch,
    };
    enum pack_status status = PACK_OK;
    if (args->classes)
        status = read_classes(args->classes, watch, &classes, &n_classes, err);
    params.classes = (const char *const *)classes;
    params.n_classes = n_classes;
    if (status == PACK_OK)
        status = args->list ? open_list(args, &params, source, err)
                            : pack_source_open((const char *const *)args->folders,
                                               args->n_folders, &params, source, err);
    pack_h5_texts_free(classes, n_classes);
    if (status == PACK_OK && c->shuffle)
        status = pack_source_shuffle(*source, c->seed, err);
    if (status == PACK_OK && c->limit)
        pack_source_limit(*source, c->limit);
    return status;
}

/* ----------------------------------------------------------------- rejects */

static const char REJECTS_HEADER[] = "path\treason\n";

enum pack_status
pack_lists_open_rejects(const char *path, bool force, struct pack_outfile **rejects,
                        struct pack_error *err)
{
    /* a list of an earlier run is replaced without asking; other files are not */
    struct pack_outfile_params params = { .force = force, .begins = REJECTS_HEADER };
    enum pack_status status = pack_outfile_open(path, &params, rejects, err);
    if (status == PACK_OK)
        fputs(REJECTS_HEADER, pack_outfile_stream(*rejects));
    return status;
}

bool
pack_lists_add_reject(struct pack_outfile *rejects, const char *path, const char *reason)
{
    FILE *file = pack_outfile_stream(rejects);
    char *stored = malloc(pack_name_escape(path, NULL) + 1);
    if (!stored)
        return false;
    pack_name_escape(path, stored);
    for (const char *c = stored; *c; c++)
        if ((unsigned char)*c < ' ')
            fprintf(file, "\\x%02x", *c);
        else
            putc(*c, file);
    free(stored);
    return fprintf(file, "\t%s\n", reason) > 0 && !ferror(file);
}
