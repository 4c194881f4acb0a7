/* What all sources have in common once listed; source_folder.c and source_list.c fill
 * it. */
#include "libpack/source/records.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/check.h"
#include "libpack/base/checksum.h"
#include "libpack/base/name.h"
#include "libpack/base/numbers.h"
#include "libpack/base/rng.h"
#include "libpack/source/source_parts.h"
#include "libpack/source/list.h"

/* ------------------------------------------------------------------ filling */

void *
pack_grown(void *array, size_t n, size_t *capacity, size_t size)
{
    if (n < *capacity)
        return array;
    size_t more = *capacity < 64 ? 64 : *capacity + *capacity / 2;
    void *grown = reallocarray(array, more, size);
    if (grown)
        *capacity = more;
    return grown;
}

enum pack_status
pack_source_new(const struct pack_source_params *params, struct pack_source **out,
                struct pack_error *err)
{
    struct pack_source *source = calloc(1, sizeof *source);
    if (source)
        source->arena = calloc(1, sizeof *source->arena);
    if (!source || !source->arena) {
        free(source);
        return pack_fail_memory(err, "a source");
    }
    source->gives_classes = params && params->n_classes > 0;
    *out = source;
    return PACK_OK;
}

void
pack_source_close(struct pack_source *source)
{
    if (!source)
        return;
    for (uint32_t i = 0; i < source->n_roots; i++)
        free(source->roots[i].path);
    for (int i = 0; i < PACK_NOTE_KINDS; i++)
        free(source->notes[i].first);
    for (int i = 0; i < PACK_IMAGE_KINDS; i++)
        free(source->unread[i].first);
    pack_arena_done(source->arena);
    pack_list_free(source->list);
    free(source->arena);
    free(source->roots);
    free(source->class_names);
    free(source->source_index);
    free(source->records);
    free(source);
}

enum pack_status
pack_source_add_root(struct pack_source *source, const char *path, size_t prefix_bytes,
                     struct pack_error *err)
{
    struct pack_source_root *roots =
        reallocarray(source->roots, source->n_roots + 1, sizeof *roots);
    if (!roots)
        return pack_fail_memory(err, "a source folder");
    source->roots = roots;
    char *copy = strdup(path);
    if (!copy)
        return pack_fail_memory(err, "a source folder");
    roots[source->n_roots++] =
        (struct pack_source_root){ .path = copy, .prefix_bytes = prefix_bytes };
    return PACK_OK;
}

enum pack_status
pack_source_add(struct pack_source *source, const char *name, int64_t label,
                struct pack_error *err)
{
    struct pack_record *records = pack_grown(source->records, source->n_records,
                                             &source->capacity, sizeof *records);
    if (!records)
        return pack_fail(err, PACK_ERR_MEMORY,
                         "out of memory: a list of more than %" PRIu64 " images",
                         source->n_records);
    source->records = records;
    records[source->n_records++] =
        (struct pack_record){ .name = name, .label = label, .root = source->n_roots - 1 };
    source->n_listed = source->n_records;
    return PACK_OK;
}

enum pack_status
pack_source_note(struct pack_source *source, enum pack_source_note_kind kind,
                 const char *name, struct pack_error *err)
{
    return pack_source_add_note(&source->notes[kind], name, err);
}

enum pack_status
pack_source_add_note(struct pack_source_note *note, const char *name,
                     struct pack_error *err)
{
    if (!note->first || pack_name_compare(name, note->first) < 0) {
        char *first = strdup(name);
        if (!first)
            return pack_fail_memory(err, "a name");
        free(note->first);
        note->first = first;
    }
    note->count++;
    return PACK_OK;
}

void
pack_source_move_note(struct pack_source_note *from, struct pack_source_note *to)
{
    bool earlier = from->first &&
                   (!to->first || pack_name_compare(from->first, to->first) < 0);
    free(earlier ? to->first : from->first);
    if (earlier)
        to->first = from->first;
    to->count += from->count;
    *from = (struct pack_source_note){ 0 };
}

/* ------------------------------------------------------------------ looking */

uint64_t
pack_source_count(const struct pack_source *source)
{
    return source ? source->n_records : 0;
}

const char *
pack_source_name(const struct pack_source *source, uint64_t i)
{
    return i < pack_source_count(source) ? source->records[i].name : NULL;
}

int64_t
pack_source_label(const struct pack_source *source, uint64_t i)
{
    return i < pack_source_count(source) ? source->records[i].label : -1;
}

bool
pack_source_has_labels(const struct pack_source *source)
{
    return source && source->has_labels;
}

const char *const *
pack_source_classes(const struct pack_source *source, size_t *n)
{
    if (n)
        *n = source ? source->n_classes : 0;
    return source && source->n_classes ? source->class_names : NULL;
}

const char *
pack_source_list_form(const struct pack_source *source)
{
    return source && source->list ? source->list->taken : NULL;
}

enum pack_status
pack_source_check_params(const struct pack_source_params *params, struct pack_error *err)
{
    enum pack_status status = pack_check_choice("list_format", (int)params->list_format,
                                                PACK_LIST_NULL + 1, err);
    if (status == PACK_OK && params->n_classes > 0)
        status = pack_check_given(err, "classes", params->classes, NULL);
    for (size_t i = 0; status == PACK_OK && i < params->n_classes; i++)
        status = pack_check_given(err, "classes", params->classes[i], NULL);
    return status;
}

/* ------------------------------------------------------------------ classes */

enum pack_status
pack_source_set_classes(struct pack_source *source, const char *const *names, size_t n,
                        struct pack_error *err)
{
    source->class_names = calloc(n ? n : 1, sizeof *source->class_names);
    if (!source->class_names)
        return pack_fail_memory(err, "names of classes");
    for (; source->n_classes < n; source->n_classes++) {
        char *copy = pack_arena_text(source->arena, names[source->n_classes]);
        if (!copy)
            return pack_fail_memory(err, "names of classes");
        source->class_names[source->n_classes] = copy;
    }
    return PACK_OK;
}

static int
compare_texts(const void *a, const void *b)
{
    return pack_name_compare(*(const char *const *)a, *(const char *const *)b);
}

enum pack_status
pack_source_sort_classes(struct pack_source *source, const char **names, size_t n,
                         struct pack_error *err)
{
    size_t n_distinct = 0;
    qsort(names, n, sizeof *names, compare_texts);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(names[i], names[i - 1]) != 0)
            names[n_distinct++] = names[i];
    return pack_source_set_classes(source, names, n_distinct, err);
}

static int
compare_numbers(const void *a, const void *b, void *names)
{
    const char *const *name = names;
    return strcmp(name[*(const size_t *)a], name[*(const size_t *)b]);
}

enum pack_status
pack_class_map_init(struct pack_class_map *map, const struct pack_source *source,
                    struct pack_error *err)
{
    size_t n = source->n_classes;
    size_t *by_name = malloc((n ? n : 1) * sizeof *by_name);
    if (!by_name)
        return pack_fail_memory(err, "names of classes");
    for (size_t i = 0; i < n; i++)
        by_name[i] = i;
    qsort_r(by_name, n, sizeof *by_name, compare_numbers, source->class_names);
    for (size_t i = 1; i < n; i++) {
        const char *name = source->class_names[by_name[i]];
        char text[PACK_NAME_TEXT_MAX];
        if (strcmp(name, source->class_names[by_name[i - 1]]) == 0) {
            free(by_name);
            return pack_fail(err, PACK_ERR_ARGUMENT,
                             "class '%s' is named twice among the classes",
                             pack_name_text(name, text));
        }
    }
    *map = (struct pack_class_map){ .source = source, .by_name = by_name };
    return PACK_OK;
}

int64_t
pack_class_map_find(const struct pack_class_map *map, const char *name)
{
    size_t low = 0, high = map->source->n_classes;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, map->source->class_names[map->by_name[middle]]);
        if (order == 0)
            return (int64_t)map->by_name[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

void
pack_class_map_done(struct pack_class_map *map)
{
    free(map->by_name);
    map->by_name = NULL;
}

/* -------------------------------------------------------------------- order */

enum pack_status
pack_source_shuffle(struct pack_source *source, uint64_t seed, struct pack_error *err)
{
    if (!source)
        return pack_check_given(err, "source", source, NULL);
    uint64_t n = source->n_records;
    uint64_t *index = malloc((n ? n : 1) * sizeof *index);
    if (!index)
        return pack_fail_memory(err, "the order of the images");
    for (uint64_t i = 0; i < n; i++)
        index[i] = pack_source_row(source, i);
    struct pack_rng rng;
    pack_rng_seed(&rng, seed);
    for (uint64_t i = n; i > 1; i--) {
        uint64_t j = pack_rng_below(&rng, i);
        uint64_t row = index[i - 1];
        struct pack_record record = source->records[i - 1];
        index[i - 1] = index[j];
        source->records[i - 1] = source->records[j];
        index[j] = row;
        source->records[j] = record;
    }
    free(source->source_index);
    source->source_index = index;
    source->n_listed = n;
    source->seed = seed;
    return PACK_OK;
}

void
pack_source_limit(struct pack_source *source, uint64_t n)
{
    if (source && n < source->n_records)
        source->n_records = n;
}

uint64_t
pack_source_row(const struct pack_source *source, uint64_t i)
{
    return source->source_index ? source->source_index[i] : i;
}

/* ------------------------------------------------------------------- digest */

static uint64_t
digest_text(const char *text, uint64_t seed)
{
    return pack_checksum(text, strlen(text) + 1, seed);
}

static uint64_t
digest_column(const struct pack_column *column, uint64_t n, uint64_t seed)
{
    uint64_t digest = digest_text(column->name, seed + column->kind);
    switch (column->kind) {
    case PACK_COLUMN_INT64: return pack_checksum(column->integers, n * 8, digest);
    case PACK_COLUMN_FLOAT64: return pack_checksum(column->floats, n * 8, digest);
    case PACK_COLUMN_STRING: break;
    }
    for (uint64_t i = 0; i < n; i++)
        digest = digest_text(column->strings[i], digest);
    return digest;
}

uint64_t
pack_source_digest(const struct pack_source *source)
{
    uint64_t digest = source->n_records;
    for (uint64_t i = 0; i < source->n_records; i++) {
        digest = digest_text(source->records[i].name, digest);
        digest = pack_checksum(&source->records[i].label, 8, digest);
    }
    if (source->source_index)
        digest = pack_checksum(source->source_index, source->n_records * 8, digest);
    for (size_t i = 0; i < source->n_classes; i++)
        digest = digest_text(source->class_names[i], digest);
    for (int i = 0; source->list && i < source->list->n_columns; i++)
        digest = digest_column(&source->list->columns[i], source->list->n_rows, digest);
    return digest;
}

/* -------------------------------------------------------------------- files */

size_t
pack_source_path(const struct pack_source *source, uint64_t i, char *text, size_t size)
{
    if (text && size > 0)
        text[0] = '\0';
    if (i >= pack_source_count(source))
        return 0;
    const struct pack_record *record = &source->records[i];
    const struct pack_source_root *root = &source->roots[record->root];
    const char *rest = record->name + root->prefix_bytes, *folder = root->path;
    if (*rest == '/' || strcmp(folder, ".") == 0)
        folder = "";
    size_t n = strlen(folder);
    bool slash = n > 0 && folder[n - 1] != '/';
    return (size_t)snprintf(text, text ? size : 0, "%s%s%s", folder, slash ? "/" : "", rest);
}

/* -------------------------------------------------------------------- notes */

static const struct {
    const char *one, *many;
    bool warns;
} notes[PACK_NOTE_KINDS] = {
    [PACK_NOTE_HIDDEN] = { "hidden file or folder ignored",
                           "hidden files and folders ignored", false },
    [PACK_NOTE_OTHER] = { "file ignored that is no image",
                          "files ignored that are no images", false },
    [PACK_NOTE_UNNAMED_IMAGE] = { "image ignored because its name does not end in .jpg, "
                                  ".png or the like",
                                  "images ignored because their names do not end in "
                                  ".jpg, .png or the like",
                                  true },
    [PACK_NOTE_ROOT_IMAGE] = { "image ignored that lies beside the class folders",
                               "images ignored that lie beside the class folders", true },
    [PACK_NOTE_FOLDER] = { "folder without images ignored",
                           "folders without images ignored", false },
    [PACK_NOTE_EMPTY_CLASS] = { "class folder without images",
                                "class folders without images", true },
    [PACK_NOTE_UNREADABLE] = { "file ignored that may not be read",
                               "files ignored that may not be read", true },
    [PACK_NOTE_BROKEN_LINK] = { "link to nowhere ignored", "links to nowhere ignored",
                                true },
    [PACK_NOTE_LISTED_FOLDER] = { "folder in the list ignored",
                                  "folders in the list ignored", false },
    [PACK_NOTE_COMMENT] = { "comment in the list ignored", "comments in the list ignored",
                            false },
    [PACK_NOTE_THUMBNAIL] = { "image ignored that lies in a folder of thumbnails",
                              "images ignored that lie in folders of thumbnails", false },
    [PACK_NOTE_MASK] = { "image taken as a picture that looks like the mask of another",
                         "images taken as pictures that look like masks of others", true },
    [PACK_NOTE_OTHER_SOURCE] = { "source ignored that is no image and no folder",
                                 "sources ignored that are no images and no folders",
                                 true },
    [PACK_NOTE_LOOP] = { "link not followed because it leads to a folder it is in",
                         "links not followed because they lead to a folder they are in",
                         true },
};

char *
pack_source_note_text(const struct pack_source *source, enum pack_source_note_kind kind,
                      char text[PACK_SOURCE_NOTE_TEXT_MAX])
{
    char name[PACK_NAME_TEXT_MAX];
    if (!source || !text || (unsigned)kind >= PACK_NOTE_KINDS)
        return NULL;
    const struct pack_source_note *note = &source->notes[kind];
    if (note->count == 0)
        return NULL;
    snprintf(text, PACK_SOURCE_NOTE_TEXT_MAX, "%s%s '%s'",
             pack_counted(note->count, notes[kind].one, notes[kind].many).text,
             note->count == 1 ? ":" : ", first", pack_name_text(note->first, name));
    return text;
}

bool
pack_source_note_warns(enum pack_source_note_kind kind)
{
    return (unsigned)kind < PACK_NOTE_KINDS && notes[kind].warns;
}
