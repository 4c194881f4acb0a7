/* Classes that are called as the folders of their images. */
#include "libpack/source/source_parts.h"

#include <stdlib.h>
#include <string.h>

#include "libpack/base/name.h"

/* The last component of the first `size` bytes of a path; *size becomes its own. */
static const char *
last_component(const char *path, size_t *size)
{
    size_t end = *size;
    while (end > 0 && path[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && path[start - 1] != '/')
        start--;
    *size = end - start;
    return path + start;
}

/* The name of the folder that image `i` is in, of *size bytes; 0 where its path does not
 * say. */
static const char *
folder_of(const struct pack_source *source, uint64_t i, size_t *size)
{
    const struct pack_source_root *root = &source->roots[source->records[i].root];
    const char *path = source->records[i].name + root->prefix_bytes;
    const char *slash = strrchr(path, '/');
    *size = slash ? (size_t)(slash - path) : 0;
    const char *folder = last_component(path, size);
    while (*size == 1 && *folder == '.' && folder > path) { /* "a/./b.jpg" */
        *size = (size_t)(folder - path);
        folder = last_component(path, size);
    }
    if (*size == 0 || (*size == 1 && *folder == '.')) {
        bool is_absolute = *path == '/';
        *size = is_absolute ? 0 : strlen(root->path);
        folder = last_component(root->path, size);
    }
    if ((*size == 1 && *folder == '.') || (*size == 2 && !memcmp(folder, "..", 2)))
        *size = 0;
    return folder;
}

/* names[i] becomes the folder of image `i`; neighbours in one folder share the text. */
static enum pack_status
name_folders(struct pack_source *source, const char **names, struct pack_error *err)
{
    for (uint64_t i = 0; i < source->n_records; i++) {
        char text[PACK_NAME_TEXT_MAX];
        size_t size;
        const char *folder = folder_of(source, i, &size);
        if (size == 0)
            return pack_fail_param(err, PACK_ERR_ARGUMENT, "list",
                                   "the path of '%s' names no folder to take a label from",
                                   pack_name_text(source->records[i].name, text));
        if (i > 0 && !strncmp(names[i - 1], folder, size) && !names[i - 1][size]) {
            names[i] = names[i - 1];
            continue;
        }
        char *copy = pack_arena_bytes(source->arena, size + 1);
        if (!copy)
            return pack_fail_memory(err, "names of classes");
        memcpy(copy, folder, size);
        copy[size] = '\0';
        names[i] = copy;
    }
    return PACK_OK;
}

/* The classes given, else the different names. */
static enum pack_status
set_classes(struct pack_source *source, const struct pack_source_params *params,
            const char *const *names, struct pack_error *err)
{
    if (params->n_classes)
        return pack_source_set_classes(source, params->classes, params->n_classes, err);
    size_t n = 0;
    const char **different = malloc((source->n_records + 1) * sizeof *different);
    if (!different)
        return pack_fail_memory(err, "names of classes");
    for (uint64_t i = 0; i < source->n_records; i++)
        if (n == 0 || different[n - 1] != names[i])
            different[n++] = names[i];
    enum pack_status status = pack_source_sort_classes(source, different, n, err);
    free(different);
    return status;
}

enum pack_status
pack_source_label_by_folder(struct pack_source *source,
                            const struct pack_source_params *params,
                            struct pack_error *err)
{
    struct pack_class_map map = { 0 };
    char folder[PACK_NAME_TEXT_MAX], path[PACK_NAME_TEXT_MAX];
    const char **names = malloc((source->n_records + 1) * sizeof *names);
    if (!names)
        return pack_fail_memory(err, "names of classes");
    enum pack_status status = name_folders(source, names, err);
    if (status == PACK_OK)
        status = set_classes(source, params, names, err);
    if (status == PACK_OK)
        status = pack_class_map_init(&map, source, err);
    for (uint64_t i = 0; status == PACK_OK && i < source->n_records; i++) {
        int64_t *label = &source->records[i].label;
        *label = i > 0 && names[i] == names[i - 1] ? source->records[i - 1].label
                                                   : pack_class_map_find(&map, names[i]);
        if (*label < 0)
            status = pack_fail(err, PACK_ERR_ARGUMENT,
                               "folder '%s' of '%s' is none of the %zu classes given",
                               pack_name_text(names[i], folder),
                               pack_name_text(source->records[i].name, path),
                               source->n_classes);
    }
    pack_class_map_done(&map);
    source->has_labels = true;
    free(names);
    return status;
}
