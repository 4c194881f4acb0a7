/* Records from a list. Labels are compared as texts first, whatever type their column has
 * got, since folders of a data set may well be called 0, 1, 2. */
#include "libpack/source/source_parts.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libpack/base/check.h"
#include "libpack/base/name.h"
#include "libpack/base/numbers.h"
#include "libpack/source/list.h"
#include "libpack/source/list_survey.h"

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
    double label = source->list->label->floats[row];
    bool is_large = isfinite(label) && label == floor(label);
    snprintf(why, sizeof why,
             "is %s; a column of another name than '%s' keeps such numbers as they are",
             is_large ? "beyond the whole numbers that are exact, 2^53" : "no whole number",
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

/* Adds to what the list was taken as. */
static enum pack_status __attribute__((format(printf, 3, 4)))
say(struct pack_source *source, struct pack_error *err, const char *format, ...)
{
    struct pack_list *list = source->list;
    char *more = NULL, *taken = NULL;
    va_list arguments;
    va_start(arguments, format);
    int n = vasprintf(&more, format, arguments);
    va_end(arguments);
    bool done = n >= 0 && asprintf(&taken, "%s; %s", list->taken, more) >= 0;
    if (n >= 0)
        free(more);
    if (!done)
        return pack_fail_memory(err, "a list");
    free(list->taken);
    list->taken = taken;
    return PACK_OK;
}

/* Of a column of texts: whether they are whole numbers, where there are any, which were too
 * large, at least in part, for the type that the column would have had. */
static bool
are_large(const struct pack_column *column, uint64_t n_rows)
{
    bool found = false;
    for (uint64_t i = 0; i < n_rows; i++) {
        const char *text = column->strings[i], *digits = text + (*text == '-');
        if (*text && (digits[strspn(digits, "0123456789")] || !*digits ||
                      (*digits == '0' && text[1])))
            return false;
        found = found || *text;
    }
    return found;
}

/* Of a column of texts: the first that is no whole number, where others are; else NULL. */
static const char *
first_word(const struct pack_column *column, uint64_t n_rows)
{
    const char *word = NULL;
    bool has_numbers = false;
    for (uint64_t i = 0; i < n_rows && !(word && has_numbers); i++) {
        const char *text = column->strings[i], *digits = text + (*text == '-');
        bool is_number = *digits && !digits[strspn(digits, "0123456789")];
        has_numbers |= is_number;
        word = !word && *text && !is_number ? text : word;
    }
    return has_numbers ? word : NULL;
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
    if (status != PACK_OK)
        return status;
    char shown[PACK_NAME_TEXT_MAX];
    const char *word = first_word(column, source->list->n_rows);
    if (word)
        return say(source, err, "label '%s' is no number: all are names of classes",
                   pack_name_text(word, shown));
    return are_large(column, source->list->n_rows)
               ? say(source, err, "labels too large for numbers: all are names of classes")
               : PACK_OK;
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

/* What is there under a path, which starts from the only root. */
static enum pack_list_look
look_as_given(const struct pack_source *source, const char *path)
{
    const char *folder = *path == '/' ? "" : source->roots[0].path;
    struct stat st;
    char whole[PATH_MAX]; /* as long as stat() takes them */
    int n = snprintf(whole, sizeof whole, "%s%s%s", folder, *folder ? "/" : "", path);
    if (n < 0 || (size_t)n >= sizeof whole || stat(whole, &st) != 0)
        return PACK_LOOK_NOTHING;
    return S_ISDIR(st.st_mode) ? PACK_LOOK_FOLDER : PACK_LOOK_FILE;
}

void
pack_source_turn_slashes(char *path)
{
    for (; *path; path++)
        if (*path == '\\')
            *path = '/';
}

/* The same of a path of the list, which may be one of Windows. */
static enum pack_list_look
look(void *context, const char *path)
{
    enum pack_list_look found = look_as_given(context, path);
    char turned[PATH_MAX];
    if (found != PACK_LOOK_NOTHING || !strchr(path, '\\') || strlen(path) >= sizeof turned)
        return found;
    strcpy(turned, path);
    pack_source_turn_slashes(turned);
    return look_as_given(context, turned);
}

enum { LOOKS_MAX = 16 };

/* Whether one of the first files is there. */
static bool
is_any_there(const struct pack_source *source)
{
    const struct pack_list *list = source->list;
    for (uint64_t i = 0; i < list->n_rows && i < LOOKS_MAX; i++)
        if (look_as_given(source, list->path.strings[i]) != PACK_LOOK_NOTHING)
            return true;
    return false;
}

/* Where of the first paths with backslashes none is there, but one is with slashes, all get
 * these. */
static enum pack_status
turn_paths(struct pack_source *source, struct pack_error *err)
{
    const struct pack_list *list = source->list;
    bool is_there = list->is_rejects, turns = false;
    for (uint64_t i = 0, n = 0; i < list->n_rows && n < LOOKS_MAX && !is_there; i++) {
        const char *path = list->path.strings[i];
        if (!strchr(path, '\\'))
            continue;
        is_there = look_as_given(source, path) != PACK_LOOK_NOTHING;
        turns |= look(source, path) != PACK_LOOK_NOTHING;
        n++;
    }
    if (is_there || !turns)
        return PACK_OK;
    for (uint64_t i = 0; i < list->n_rows; i++)
        pack_source_turn_slashes(list->path.strings[i]);
    return say(source, err, "backslashes in paths are slashes");
}

/* How many of the first files are there with this behind their names; none where a name has
 * an image's ending. */
static uint64_t
count_there(const struct pack_source *source, const char *ending)
{
    const struct pack_list *list = source->list;
    char path[PATH_MAX];
    uint64_t n = 0;
    for (uint64_t i = 0; i < list->n_rows && i < LOOKS_MAX; i++) {
        int size = snprintf(path, sizeof path, "%s%s", list->path.strings[i], ending);
        if (pack_survey_image_name(list->path.strings[i]))
            return 0;
        n += size < PATH_MAX && look_as_given(source, path) == PACK_LOOK_FILE;
    }
    return n;
}

/* Ids, as Kaggle's tables have them: where of the first none is there, but some are with an
 * ending, all get the one that most have. */
static enum pack_status
add_ending(struct pack_source *source, struct pack_error *err)
{
    const struct pack_list *list = source->list;
    const char *ending = NULL, *tried;
    uint64_t most = 0;
    if (list->is_rejects || is_any_there(source))
        return PACK_OK;
    for (size_t i = 0; (tried = pack_survey_ending(i)); i++) {
        uint64_t n = count_there(source, tried);
        ending = n > most ? tried : ending;
        most = n > most ? n : most;
    }
    for (uint64_t i = 0; ending && i < list->n_rows; i++) {
        const char *path = list->path.strings[i];
        size_t n = strlen(path);
        if (pack_survey_image_name(path))
            continue;
        char *whole = pack_arena_bytes(source->arena, n + strlen(ending) + 1);
        if (!whole)
            return pack_fail_memory(err, "names of images");
        memcpy(whole, path, n);
        strcpy(whole + n, ending);
        list->path.strings[i] = whole;
    }
    return ending ? say(source, err, "paths get %s behind them", ending) : PACK_OK;
}

/* "C:\\a.jpg", "\\\\server\\a.jpg" */
static bool
is_of_windows(const char *path)
{
    return strncmp(path, "\\\\", 2) == 0 || (isalpha((unsigned char)path[0]) &&
                                             path[1] == ':' && strchr("\\/", path[2]));
}

/* Says where paths start when none of the first files is there. */
static enum pack_status
say_where(struct pack_source *source, struct pack_error *err)
{
    const struct pack_list *list = source->list;
    const char *path = list->path.strings[0];
    char text[PACK_NAME_TEXT_MAX];
    uint64_t n = list->n_rows < LOOKS_MAX ? list->n_rows : LOOKS_MAX;
    struct pack_counted files = pack_counted(n, "file", "files");
    if (is_any_there(source))
        return PACK_OK;
    if (*path == '/' || is_of_windows(path))
        return say(source, err,
                   "of its first %s none is there, and '%s' is a path from the root of a "
                   "machine: paths of a list that has moved are to start from its folder, or "
                   "from the source",
                   files.text, pack_name_text(path, text));
    return say(source, err, "of its first %s none is in '%s', where the paths start",
               files.text, pack_name_text(source->roots[0].path, text));
}

/* Says how many rows name an image that an earlier one has. */
static enum pack_status
say_repeated(struct pack_source *source, struct pack_error *err)
{
    char text[PACK_NAME_TEXT_MAX];
    const char *first = NULL;
    uint64_t n = 0;
    enum pack_status status = pack_source_count_repeated(source, &n, &first, err);
    return status == PACK_OK && first
               ? say(source, err, "%s an image again, first '%s'",
                     pack_counted(n, "row names", "rows name").text,
                     pack_name_text(first, text))
               : status;
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
        status = turn_paths(source, err);
    if (status == PACK_OK)
        status = add_ending(source, err);
    if (status == PACK_OK)
        status = say_where(source, err);
    if (status == PACK_OK)
        status = say_repeated(source, err);
    for (uint64_t i = 0; status == PACK_OK && i < source->list->n_rows; i++)
        status = pack_source_add(source, source->list->path.strings[i], -1, err);
    const struct pack_list *list = source->list;
    if (status == PACK_OK)
        status = pack_source_note_listed(source, PACK_NOTE_LISTED_FOLDER, list->folder,
                                         list->n_folders, err);
    if (status == PACK_OK)
        status = pack_source_note_listed(source, PACK_NOTE_COMMENT, list->comment,
                                         list->n_comments, err);
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
        status = pack_source_new(params, &source, err);
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
