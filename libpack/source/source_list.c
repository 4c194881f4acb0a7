/* Records from a list. Labels are compared as texts first, whatever type their column has
 * got, since folders of a data set may well be called 0, 1, 2. */
#include "libpack/source/source_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libpack/base/check.h"
#include "libpack/base/name.h"
#include "libpack/base/numbers.h"
#include "libpack/source/list.h"

enum { LABEL_TEXT_MAX = 32 };

/* A label as the list has it, "" when there is none; `text` is room for numbers. */
static const char *
label_text(const struct pack_column *column, uint64_t row, char text[LABEL_TEXT_MAX])
{
    if (column->kind == PACK_COLUMN_STRING)
        return column->strings[row];
    text[0] = '\0';
    if (column->kind == PACK_COLUMN_INT64)
        snprintf(text, LABEL_TEXT_MAX, "%" PRId64, column->integers[row]);
    else if (!isnan(column->floats[row]))
        snprintf(text, LABEL_TEXT_MAX, "%.17g", column->floats[row]);
    return text;
}

static enum pack_status
refuse_label(const struct pack_source *source, uint64_t row, const char *why,
             struct pack_error *err)
{
    char label[LABEL_TEXT_MAX], label_shown[PACK_NAME_TEXT_MAX], path[PACK_NAME_TEXT_MAX];
    pack_name_text(label_text(source->list->label, row, label), label_shown);
    return pack_fail(err, PACK_ERR_ARGUMENT, "label '%s' of '%s' %s", label_shown,
                     pack_name_text(source->records[row].name, path), why);
}

static enum pack_status
refuse_fraction(const struct pack_source *source, uint64_t row, struct pack_error *err)
{
    char why[PACK_NAME_TEXT_MAX + 128], name[PACK_NAME_TEXT_MAX];
    snprintf(why, sizeof why,
             "is no whole number; a column of another name than '%s' keeps such numbers as "
             "they are",
             pack_name_text(source->list->label->name, name));
    return refuse_label(source, row, why, err);
}

/* Labels by the names of classes; *unknown is the first row whose label is no class, or
 * n_rows. */
static void
label_by_name(struct pack_source *source, const struct pack_class_map *map,
              uint64_t *unknown)
{
    const struct pack_column *column = source->list->label;
    char text[LABEL_TEXT_MAX];
    uint64_t i = 0;
    for (; i < source->list->n_rows; i++) {
        const char *label = label_text(column, i, text);
        source->records[i].label = *label ? pack_class_map_find(map, label) : -1;
        if (*label && source->records[i].label < 0)
            break;
    }
    *unknown = i;
}

/* Labels that are numbers; those of classes, when there are any. */
static enum pack_status
label_by_number(struct pack_source *source, struct pack_error *err)
{
    const struct pack_column *column = source->list->label;
    for (uint64_t i = 0; i < source->list->n_rows; i++) {
        int64_t *label = &source->records[i].label;
        if (column->kind == PACK_COLUMN_INT64) {
            *label = column->integers[i];
        } else if (isnan(column->floats[i])) {
            *label = -1;
        } else if (column->floats[i] == floor(column->floats[i]) &&
                   fabs(column->floats[i]) < 0x1p53) {
            *label = (int64_t)column->floats[i];
        } else {
            return refuse_fraction(source, i, err);
        }
        if (source->n_classes && (*label < -1 || *label >= (int64_t)source->n_classes))
            return refuse_label(source, i, "is no number of a class", err);
    }
    return PACK_OK;
}

static enum pack_status
label_by_given_classes(struct pack_source *source,
                       const struct pack_source_params *params, struct pack_error *err)
{
    struct pack_class_map map = { 0 };
    uint64_t unknown = 0;
    if (!source->list->label)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "label_column",
                               "the list has no labels for the classes given");
    enum pack_status status =
        pack_source_set_classes(source, params->classes, params->n_classes, err);
    if (status == PACK_OK)
        status = pack_class_map_init(&map, source, err);
    if (status != PACK_OK)
        return status;
    label_by_name(source, &map, &unknown);
    pack_class_map_done(&map);
    if (unknown == source->list->n_rows)
        return PACK_OK;
    if (source->list->label->kind == PACK_COLUMN_STRING)
        return refuse_label(source, unknown, "is none of the classes given", err);
    return label_by_number(source, err);
}

/* The different texts of a column; runs of equal ones count once, so that sorted lists
 * cost no sorting. */
static enum pack_status
label_by_texts(struct pack_source *source, struct pack_error *err)
{
    const struct pack_column *column = source->list->label;
    struct pack_class_map map = { 0 };
    uint64_t unknown;
    size_t n = 0;
    const char **names = malloc(source->list->n_rows * sizeof *names);
    if (!names)
        return pack_fail_memory(err, "names of classes");
    for (uint64_t i = 0; i < source->list->n_rows; i++)
        if (*column->strings[i] && (n == 0 || strcmp(names[n - 1], column->strings[i])))
            names[n++] = column->strings[i];
    enum pack_status status = pack_source_sort_classes(source, names, n, err);
    free(names);
    if (status == PACK_OK)
        status = pack_class_map_init(&map, source, err);
    if (status == PACK_OK)
        label_by_name(source, &map, &unknown);
    pack_class_map_done(&map);
    source->has_labels = n > 0;
    return status;
}

/* The classes that the list brings along, in their order. */
static enum pack_status
label_by_list_classes(struct pack_source *source, struct pack_error *err)
{
    struct pack_class_map map = { 0 };
    uint64_t unknown;
    enum pack_status status = pack_source_set_classes(
        source, (const char *const *)source->list->classes, source->list->n_classes, err);
    if (status == PACK_OK)
        status = pack_class_map_init(&map, source, err);
    if (status == PACK_OK)
        label_by_name(source, &map, &unknown);
    pack_class_map_done(&map);
    return status;
}

static enum pack_status
label(struct pack_source *source, const struct pack_source_params *params,
      struct pack_error *err)
{
    if (params->label_from_folder)
        return pack_source_label_by_folder(source, params, err);
    source->has_labels = source->list->label != NULL;
    if (params->n_classes)
        return label_by_given_classes(source, params, err);
    if (!source->list->label)
        return PACK_OK;
    if (source->list->classes)
        return label_by_list_classes(source, err);
    if (source->list->label->kind == PACK_COLUMN_STRING)
        return label_by_texts(source, err);
    return label_by_number(source, err);
}

/* The folder that paths start from. */
static enum pack_status
add_root(struct pack_source *source, const char *name, const char *given,
         struct pack_error *err)
{
    const char *slash = strrchr(name, '/');
    if (given || !slash)
        return pack_source_add_root(source, given ? given : ".", 0, err);
    char *folder = strndup(name, slash == name ? 1 : (size_t)(slash - name));
    if (!folder)
        return pack_fail_memory(err, "a source folder");
    enum pack_status status = pack_source_add_root(source, folder, 0, err);
    free(folder);
    return status;
}

/* Paths start from the current folder. */
static enum pack_status
start_here(struct pack_source *source, struct pack_error *err)
{
    char *here = strdup(".");
    if (!here)
        return pack_fail_memory(err, "a source folder");
    free(source->roots[0].path);
    source->roots[0].path = here;
    return PACK_OK;
}

/* What is there under a path of the list, which starts from the only root. */
static enum pack_list_look
look(void *context, const char *path)
{
    const struct pack_source *source = context;
    const char *folder = *path == '/' ? "" : source->roots[0].path;
    struct stat st;
    char *whole = NULL;
    if (asprintf(&whole, "%s%s%s", folder, *folder ? "/" : "", path) < 0)
        return PACK_LOOK_NOTHING;
    bool is_there = stat(whole, &st) == 0;
    free(whole);
    return !is_there              ? PACK_LOOK_NOTHING
           : S_ISDIR(st.st_mode) ? PACK_LOOK_FOLDER
                                 : PACK_LOOK_FILE;
}

enum { LOOKS_MAX = 16 };

/* Whether one of the first files is there. */
static bool
is_any_there(struct pack_source *source)
{
    const struct pack_list *list = source->list;
    for (uint64_t i = 0; i < list->n_rows && i < LOOKS_MAX; i++)
        if (look(source, list->path.strings[i]) != PACK_LOOK_NOTHING)
            return true;
    return false;
}

/* Says where paths start when none of the first files is there. */
static enum pack_status
say_where(struct pack_source *source, struct pack_error *err)
{
    struct pack_list *list = source->list;
    char text[PACK_NAME_TEXT_MAX], *taken = NULL;
    uint64_t n = list->n_rows < LOOKS_MAX ? list->n_rows : LOOKS_MAX;
    if (is_any_there(source))
        return PACK_OK;
    if (asprintf(&taken, "%s; of its first %s none is in '%s', where the paths start",
                 list->taken, pack_counted(n, "file", "files").text,
                 pack_name_text(source->roots[0].path, text)) < 0)
        return pack_fail_memory(err, "a list");
    free(list->taken);
    list->taken = taken;
    return PACK_OK;
}

/* Reads the list, and makes its rows records. */
static enum pack_status
read_list(FILE *file, const char *name, const struct pack_source_params *params,
          struct pack_source *source, struct pack_error *err)
{
    struct pack_list_params p = { .format = params->list_format,
                                  .path_column = params->path_column,
                                  .label_column = params->label_column,
                                  .no_header = params->no_header,
                                  .no_label = params->label_from_folder,
                                  .watch = &params->watch,
                                  .look = look,
                                  .look_context = source };
    enum pack_status status = pack_list_read(file, name, &p, &source->list, err);
    if (status == PACK_ERR_IO && pack_watch_stops(&params->watch))
        status = pack_watch_check(&params->watch, err); /* a signal ends a waiting read */
    if (status == PACK_OK && source->list->is_rejects &&
        (!params->list_root || !is_any_there(source)))
        status = start_here(source, err);
    if (status == PACK_OK)
        status = say_where(source, err);
    for (uint64_t i = 0; status == PACK_OK && i < source->list->n_rows; i++)
        status = pack_source_add(source, source->list->path.strings[i], -1, err);
    if (status == PACK_OK && source->list->n_folders) {
        status = pack_source_note(source, PACK_NOTE_LISTED_FOLDER, source->list->folder,
                                  err);
        source->notes[PACK_NOTE_LISTED_FOLDER].count = source->list->n_folders;
    }
    return status;
}

enum pack_status
pack_source_open_list(FILE *file, const char *name,
                      const struct pack_source_params *params, struct pack_source **out,
                      struct pack_error *err)
{
    struct pack_source *source = NULL;
    if (!file || !name || !params || !out)
        return pack_check_given(err, "file", file, "name", name, "params", params,
                                "source", out, NULL);
    enum pack_status status = pack_source_check_params(params, err);
    if (status == PACK_OK)
        status = pack_source_new(&source, err);
    if (status == PACK_OK)
        status = add_root(source, name, params->list_root, err);
    if (status == PACK_OK)
        status = read_list(file, name, params, source, err);
    if (status == PACK_OK && (status = label(source, params, err)) != PACK_OK) {
        char text[PACK_NAME_TEXT_MAX];
        pack_error_prefix(err, status, "%s", pack_name_text(name, text));
    }
    if (status == PACK_OK)
        *out = source;
    else
        pack_source_close(source);
    return status;
}
