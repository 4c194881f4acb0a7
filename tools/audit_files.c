#include "config.h"

#include "tools/audit_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "tools/cli.h"

enum { DEPTH_MAX = 64 };

static enum pack_status
add(struct audit_names *list, const char *name, struct pack_error *err)
{
    if (list->n == list->n_capacity) {
        size_t more = list->n_capacity ? 2 * list->n_capacity : 16;
        const char **grown = realloc(list->names, more * sizeof *grown);
        if (!grown)
            return pack_fail_memory(err, "a list of files");
        list->names = grown;
        list->n_capacity = more;
    }
    char *copy = strdup(name);
    if (!copy)
        return pack_fail_memory(err, "a name");
    list->names[list->n++] = copy;
    return PACK_OK;
}

static enum pack_status
add_unlisted(struct audit_files *files, const char *sentence, struct pack_error *err)
{
    cli_complain("%s", sentence);
    return add(&files->unlisted, sentence, err);
}

static bool
is_hdf5_name(const char *name)
{
    static const char *const endings[] = { ".h5", ".hdf5", ".he5", ".nc", ".mat", ".nwb" };
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(dot, endings[i]) == 0)
            return true;
    return false;
}

static enum pack_status walk(struct audit_files *files, const char *folder, int depth,
                             struct pack_error *err);

/* A folder that may not be read does not keep those beside it from being looked at. */
static enum pack_status
walk_below(struct audit_files *files, const char *folder, int depth, struct pack_error *err)
{
    struct pack_error why;
    enum pack_status status = walk(files, folder, depth, &why);
    if (status == PACK_ERR_IO || status == PACK_ERR_NOT_FOUND) /* or it is gone since */
        return add_unlisted(files, why.text, err);
    return status == PACK_OK ? status : pack_fail(err, status, "%s", why.text);
}

/* Links to folders are not followed: they might lead back. */
static enum pack_status
take(struct audit_files *files, const char *folder, const char *name, int depth,
     struct pack_error *err)
{
    struct stat link, st;
    char *path = NULL;
    enum pack_status status = PACK_OK;
    if (name[0] == '.')
        return PACK_OK;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return pack_fail_memory(err, "a name");
    if (lstat(path, &link) == 0 && S_ISDIR(link.st_mode))
        status = walk_below(files, path, depth + 1, err);
    else if (is_hdf5_name(name) && stat(path, &st) == 0 && S_ISREG(st.st_mode))
        status = add(&files->list, path, err);
    free(path);
    return status;
}

static enum pack_status
walk(struct audit_files *files, const char *folder, int depth, struct pack_error *err)
{
    struct dirent **entries;
    if (depth > DEPTH_MAX)
        return pack_fail(err, PACK_ERR_LIMIT, "'%.200s' lies deeper than %d folders", folder,
                         DEPTH_MAX);
    int n = scandir(folder, &entries, NULL, alphasort);
    if (n < 0)
        return pack_fail_errno(err, errno, "cannot list '%.200s'", folder);
    enum pack_status status = PACK_OK;
    for (int i = 0; i < n; i++) {
        if (status == PACK_OK)
            status = take(files, folder, entries[i]->d_name, depth, err);
        free(entries[i]);
    }
    free(entries);
    return status;
}

enum pack_status
audit_files_list(char *const *operands, size_t n, bool recursive, struct audit_files *files,
                 struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < n && status == PACK_OK; i++) {
        struct stat st;
        size_t before = files->list.n;
        if (!recursive || stat(operands[i], &st) != 0 || !S_ISDIR(st.st_mode)) {
            status = add(&files->list, operands[i], err);
            continue;
        }
        size_t unlisted = files->unlisted.n;
        status = walk_below(files, operands[i], 0, err);
        if (status == PACK_OK && files->list.n == before && files->unlisted.n == unlisted) {
            struct pack_error why;
            pack_fail(&why, PACK_ERR_NOT_FOUND, "there are no HDF5 files in '%.200s'",
                      operands[i]);
            status = add_unlisted(files, why.text, err);
        }
    }
    files->names = files->list.names;
    files->n = files->list.n;
    return status;
}

static void
free_names(struct audit_names *list)
{
    for (size_t i = 0; i < list->n; i++)
        free((char *)list->names[i]);
    free(list->names);
}

void
audit_files_done(struct audit_files *files)
{
    free_names(&files->list);
    free_names(&files->unlisted);
}
