/*
 * Two passes over the new listing. The first looks each image up by name in a hash table
 * of the old one and compares what both have; behind the last image that is in both, all
 * are new. The second takes these, one by one, as far as they can follow the others.
 */
#include "libpack/source/source_extend.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/checksum.h"
#include "libpack/base/name.h"
#include "libpack/source/list_cells.h"
#include "libpack/source/list_survey.h"
#include "libpack/source/source_parts.h"
#include "libpack/source/source_store.h"

/* One listing, row by row. */
struct rows {
    const struct pack_source *source;
    uint64_t *place; /* see pack_source_places() */
};

struct extend {
    struct pack_source *source;
    struct rows old, now;
    uint64_t *table;   /* a row of `old` and one, 0: empty; by name, open addressing */
    uint64_t mask;     /* its size less one */
    int64_t *classes;  /* numbers that classes of `now` have in source; -1: none */
    int64_t *roots;    /* the same for folders */
    bool same_columns; /* by name and type */
    bool turns;         /* backslashes in names of `now` are slashes in those of before, ... */
    const char *ending; /* ... which have this behind them; NULL: nothing */
    struct pack_buf spelt, parts;
    struct pack_source_additions *additions;
    struct pack_error *err;
};

static const struct pack_record *
record_at(const struct rows *rows, uint64_t row)
{
    return &rows->source->records[rows->place ? rows->place[row] : row];
}

/* ------------------------------------------------------------------- tables */

/* In the table: a name that lists have more than once, so that nobody can say which of
 * its rows is which. */
static const uint64_t REPEATED = UINT64_C(1) << 63;

static uint64_t
slot_of(const struct extend *e, const char *name)
{
    uint64_t slot = pack_checksum(name, strlen(name), 0) & e->mask;
    while (e->table[slot] &&
           strcmp(record_at(&e->old, (e->table[slot] & ~REPEATED) - 1)->name, name) != 0)
        slot = (slot + 1) & e->mask;
    return slot;
}

static enum pack_status
make_table(struct extend *e)
{
    uint64_t n = e->old.source->n_listed, size = 64;
    while (size < 2 * n)
        size *= 2;
    e->table = calloc(size, sizeof *e->table);
    if (!e->table)
        return pack_fail_memory(e->err, "names of images");
    e->mask = size - 1;
    for (uint64_t row = 0; row < n; row++) {
        uint64_t *entry = &e->table[slot_of(e, record_at(&e->old, row)->name)];
        *entry = *entry ? *entry | REPEATED : row + 1;
    }
    return PACK_OK;
}

/* PACK_ERR_CHANGED when the classes that are given now are not those of before. */
static enum pack_status
check_class(const struct extend *e, size_t i)
{
    const struct pack_source *now = e->now.source;
    char text[PACK_NAME_TEXT_MAX];
    if (!now->gives_classes || e->classes[i] == (int64_t)i)
        return PACK_OK;
    return pack_fail(e->err, PACK_ERR_CHANGED,
                     e->classes[i] < 0 ? "class '%s' is new"
                                       : "class '%s' has another number",
                     pack_name_text(now->class_names[i], text));
}

static enum pack_status
map_classes(struct extend *e)
{
    const struct pack_source *now = e->now.source;
    struct pack_class_map map = { 0 };
    char text[PACK_NAME_TEXT_MAX];
    e->classes = calloc(now->n_classes + 1, sizeof *e->classes);
    if (!e->classes)
        return pack_fail_memory(e->err, "names of classes");
    enum pack_status status = pack_class_map_init(&map, e->source, e->err);
    for (size_t i = 0; status == PACK_OK && i < now->n_classes; i++) {
        e->classes[i] = pack_class_map_find(&map, now->class_names[i]);
        status = check_class(e, i);
    }
    if (status == PACK_OK && now->gives_classes && e->source->n_classes > now->n_classes)
        status = pack_fail(e->err, PACK_ERR_CHANGED, "class '%s' is not given",
                           pack_name_text(e->source->class_names[now->n_classes], text));
    pack_class_map_done(&map);
    return status;
}

/* The name of an image of each folder, NULL where it has none. */
static const char **
name_roots(const struct rows *rows)
{
    const char **names = calloc(rows->source->n_roots + 1, sizeof *names);
    for (uint64_t row = 0; names && row < rows->source->n_listed; row++)
        names[record_at(rows, row)->root] = record_at(rows, row)->name;
    return names;
}

/* Whether folder `k` of before, with an image of the name `old`, is folder `i` of now. It
 * may have moved: then what names have in front tells it from the others, unless it is the
 * only one. */
static bool
is_same_root(const struct extend *e, uint32_t k, const char *old, uint32_t i,
             const char *now)
{
    const struct pack_source_root *a = &e->source->roots[k],
                                  *b = &e->now.source->roots[i];
    if (a->prefix_bytes != b->prefix_bytes)
        return false;
    if (strcmp(a->path, b->path) == 0)
        return true;
    if (a->prefix_bytes == 0)
        return e->source->n_roots == 1 && e->now.source->n_roots == 1;
    return old && now && memcmp(old, now, a->prefix_bytes) == 0;
}

/* The number that folder `i` of now had before, mostly the same; -1: it was not there. */
static int64_t
find_root(const struct extend *e, const char *const *old, uint32_t i, const char *now)
{
    uint32_t n = e->source->n_roots;
    if (i < n && is_same_root(e, i, old[i], i, now))
        return i;
    for (uint32_t k = 0; k < n; k++)
        if (is_same_root(e, k, old[k], i, now))
            return k;
    return -1;
}

/* Folders of before are from then on where they are now. */
static enum pack_status
map_roots(struct extend *e)
{
    const struct pack_source *now = e->now.source;
    const char **old_names = name_roots(&e->old), **names = name_roots(&e->now);
    enum pack_status status = PACK_OK;
    e->roots = calloc(now->n_roots + 1, sizeof *e->roots);
    if (!e->roots || !old_names || !names)
        status = pack_fail_memory(e->err, "source folders");
    for (uint32_t i = 0; status == PACK_OK && i < now->n_roots; i++) {
        e->roots[i] = find_root(e, old_names, i, names[i]);
        if (e->roots[i] < 0)
            continue;
        char *path = strdup(now->roots[i].path);
        if (!path) {
            status = pack_fail_memory(e->err, "source folders");
            break;
        }
        free(e->source->roots[e->roots[i]].path);
        e->source->roots[e->roots[i]].path = path;
    }
    free(old_names);
    free(names);
    return status;
}

static int
n_columns(const struct pack_source *source)
{
    return source->list ? source->list->n_columns : 0;
}

/* PACK_ERR_CHANGED when the columns are others. */
static enum pack_status
compare_columns(struct extend *e)
{
    int n = n_columns(e->source);
    bool same = n == n_columns(e->now.source);
    e->same_columns = same;
    for (int i = 0; i < n && same; i++) {
        const struct pack_column *a = &e->source->list->columns[i],
                                 *b = &e->now.source->list->columns[i];
        same = strcmp(a->name, b->name) == 0;
        e->same_columns = e->same_columns && a->kind == b->kind;
    }
    return same ? PACK_OK : pack_fail(e->err, PACK_ERR_CHANGED, "the columns are others");
}

/* ----------------------------------------------------------------- spelling */

/* The name of an image of `now` as that of before; valid until the next call. */
static enum pack_status
spell(struct extend *e, const char *name, const char **spelt)
{
    *spelt = name;
    if (!e->turns && !e->ending)
        return PACK_OK;
    e->spelt.size = 0;
    enum pack_status status = pack_buf_append(&e->spelt, name, strlen(name), e->err);
    if (status == PACK_OK && e->ending && !pack_survey_image_name(name))
        status = pack_buf_append(&e->spelt, e->ending, strlen(e->ending), e->err);
    if (status == PACK_OK)
        status = pack_buf_append(&e->spelt, "", 1, e->err);
    if (status != PACK_OK)
        return status;
    if (e->turns)
        pack_source_turn_slashes((char *)e->spelt.data);
    *spelt = (const char *)e->spelt.data;
    return PACK_OK;
}

static enum pack_status
find_any(struct extend *e, bool *found)
{
    enum pack_status status = PACK_OK;
    *found = false;
    for (uint64_t row = 0; status == PACK_OK && !*found && row < e->now.source->n_listed;
         row++) {
        const char *spelt;
        status = spell(e, record_at(&e->now, row)->name, &spelt);
        *found = status == PACK_OK && e->table[slot_of(e, spelt)];
    }
    return status;
}

/* Names of a list are spelt as files are that are there (source_list.c), which may be gone
 * now: where no image is the same, those of before may tell. */
static enum pack_status
find_spelling(struct extend *e)
{
    bool found;
    enum pack_status status = find_any(e, &found);
    if (!e->source->list || !e->now.source->list)
        return status;
    for (int turns = 0; turns < 2 && status == PACK_OK && !found; turns++)
        for (size_t i = 0; status == PACK_OK && !found; i++) {
            e->turns = turns == 1;
            e->ending = i > 0 ? pack_survey_ending(i - 1) : NULL;
            if (i > 0 && !e->ending)
                break;
            status = find_any(e, &found);
        }
    return status;
}

/* ---------------------------------------------------------------- comparing */

/* The number that the label of an image of `now` has in source. */
static bool
map_label(const struct extend *e, int64_t label, int64_t *mapped)
{
    const struct pack_source *now = e->now.source;
    if (now->has_labels != e->source->has_labels ||
        !now->n_classes != !e->source->n_classes)
        return false;
    *mapped = now->n_classes && label >= 0 ? e->classes[label] : label;
    return *mapped == label || *mapped >= 0;
}

/* PACK_ERR_CHANGED when an image that is in both listings is not the same. */
static enum pack_status
compare_rows(struct extend *e, uint64_t old_row, uint64_t row)
{
    const struct pack_record *record = record_at(&e->now, row);
    char shown[PACK_NAME_TEXT_MAX];
    int64_t label;
    if (!map_label(e, record->label, &label) ||
        label != record_at(&e->old, old_row)->label)
        return pack_fail(e->err, PACK_ERR_CHANGED, "'%s' has another label",
                         pack_name_text(record->name, shown));
    for (int i = 0; i < n_columns(e->source); i++)
        if (!pack_cell_same(&e->source->list->columns[i], old_row,
                            &e->now.source->list->columns[i], row))
            return pack_fail(
                e->err, PACK_ERR_CHANGED, "'%s' has another value in column '%s'",
                pack_name_text(record->name, shown), e->source->list->columns[i].name);
    return PACK_OK;
}

static void
leave_out(struct extend *e, const struct pack_record *record,
          enum pack_source_left_out why)
{
    struct pack_source_additions *a = e->additions;
    if (a->n_left_out++ == 0) {
        a->why = why;
        a->first = record->name;
    }
}

/* Compares what is in both listings; *behind is the row behind the last of that. */
static enum pack_status
compare(struct extend *e, uint64_t *behind)
{
    const struct pack_record *first_new = NULL, *between = NULL;
    uint64_t n_same = 0, n = e->now.source->n_listed;
    *behind = 0;
    for (uint64_t row = 0; row < n; row++) {
        const struct pack_record *record = record_at(&e->now, row);
        const char *name;
        enum pack_status status = spell(e, record->name, &name);
        uint64_t found = status == PACK_OK ? e->table[slot_of(e, name)] : 0;
        if (status == PACK_OK && !found) {
            first_new = first_new ? first_new : record;
            continue;
        }
        if (status == PACK_OK && !(found & REPEATED))
            status = compare_rows(e, found - 1, row);
        if (status != PACK_OK)
            return status;
        n_same++;
        *behind = row + 1;
        between = first_new;
    }
    if (n_same == 0)
        return pack_fail(e->err, PACK_ERR_CHANGED, "none of the images is the same");
    if (between) {
        leave_out(e, between,
                  e->source->source_index ? PACK_LEFT_OUT_SHUFFLED
                                          : PACK_LEFT_OUT_NOT_LAST);
        e->additions->n_left_out = *behind - n_same;
    }
    return PACK_OK;
}

/* ------------------------------------------------------------------- adding */

/* Compares the first `n_a` and `n_b` bytes. */
static enum pack_status
compare_parts(struct extend *e, const char *a, size_t n_a, const char *b, size_t n_b,
              int *order)
{
    e->parts.size = 0;
    enum pack_status status = pack_buf_append(&e->parts, a, n_a, e->err);
    if (status == PACK_OK)
        status = pack_buf_append(&e->parts, "", 1, e->err);
    if (status == PACK_OK)
        status = pack_buf_append(&e->parts, b, n_b, e->err);
    if (status == PACK_OK)
        status = pack_buf_append(&e->parts, "", 1, e->err);
    if (status == PACK_OK)
        *order = pack_name_compare((const char *)e->parts.data,
                                   (const char *)e->parts.data + n_a + 1);
    return status;
}

/* Whether a name of folder number `root` is listed behind the last image: by folder, then
 * class where these are folders of their own, then the path of the folder below, then name
 * (source_classes.c, source_walk.c). */
static enum pack_status
is_behind(struct extend *e, const char *name, uint32_t root, bool *behind)
{
    const struct pack_record *last = &e->source->records[e->source->n_listed - 1];
    size_t skip = e->source->roots[root].prefix_bytes;
    *behind = root > last->root;
    if (root != last->root)
        return PACK_OK;
    const char *a = name + skip, *b = last->name + skip;
    const char *end_a = strrchr(a, '/'), *end_b = strrchr(b, '/');
    size_t n_a = end_a ? (size_t)(end_a - a) : 0, n_b = end_b ? (size_t)(end_b - b) : 0;
    int order = 0;
    enum pack_status status = PACK_OK;
    if (e->now.source->is_by_class)
        status = compare_parts(e, a, strcspn(a, "/"), b, strcspn(b, "/"), &order);
    if (status == PACK_OK && order == 0)
        status = compare_parts(e, a, n_a, b, n_b, &order);
    if (order == 0)
        order = pack_name_compare(a + n_a, b + n_b);
    *behind = order > 0;
    return status;
}

static bool
copy_cells(struct extend *e, uint64_t to, uint64_t from)
{
    struct pack_source *source = e->source;
    for (int i = 0; i < n_columns(source); i++)
        if (!pack_cell_copy(&source->list->columns[i], to, &e->now.source->list->columns[i],
                            from, source->arena))
            return false;
    if (source->list)
        source->list->n_rows = source->n_records;
    return true;
}

/* Why a row of `now` cannot follow the others, when it cannot; else its label. */
static enum pack_status
judge(struct extend *e, const struct pack_record *record, int64_t *label,
      enum pack_source_left_out *why)
{
    int64_t root = e->roots[record->root];
    enum pack_status status = PACK_OK;
    bool behind = true;
    *why = PACK_LEFT_OUT_NOT;
    if (e->source->source_index)
        *why = PACK_LEFT_OUT_SHUFFLED;
    else if (root < 0)
        *why = PACK_LEFT_OUT_FOLDER;
    else if (!e->same_columns)
        *why = PACK_LEFT_OUT_COLUMN;
    else if (!map_label(e, record->label, label))
        *why = PACK_LEFT_OUT_CLASS;
    else if (!e->source->list)
        status = is_behind(e, record->name, (uint32_t)root, &behind);
    if (!behind)
        *why = PACK_LEFT_OUT_NOT_LAST;
    return status;
}

/* Appends row `row` of `now`, or counts it as left out. */
static enum pack_status
add(struct extend *e, uint64_t row)
{
    struct pack_source *source = e->source;
    const struct pack_record *record = record_at(&e->now, row);
    enum pack_source_left_out why;
    int64_t label;
    enum pack_status status = judge(e, record, &label, &why);
    if (status != PACK_OK)
        return status;
    if (why != PACK_LEFT_OUT_NOT) {
        leave_out(e, record, why);
        return PACK_OK;
    }
    const char *spelt;
    status = spell(e, record->name, &spelt);
    if (status != PACK_OK)
        return status;
    const char *name = pack_arena_text(source->arena, spelt);
    if (!name)
        return pack_fail_memory(e->err, "names");
    status = pack_source_add(source, name, label, e->err);
    if (status != PACK_OK)
        return status;
    source->records[source->n_records - 1].root = (uint32_t)e->roots[record->root];
    e->additions->n_added++;
    return copy_cells(e, source->n_records - 1, row)
               ? PACK_OK
               : pack_fail_memory(e->err, "columns");
}

enum pack_status
pack_source_extend(struct pack_source *source, const struct pack_source *now,
                   struct pack_source_additions *additions, struct pack_error *err)
{
    struct extend e = { .source = source,
                        .old = { source, NULL },
                        .now = { now, NULL },
                        .additions = additions,
                        .err = err };
    uint64_t behind = 0;
    bool is_limited = source->n_records < source->n_listed; /* nothing is missing then */
    *additions = (struct pack_source_additions){ 0 };
    enum pack_status status = pack_source_places(source, &e.old.place, err);
    if (status == PACK_OK)
        status = pack_source_places(now, &e.now.place, err);
    if (status == PACK_OK)
        status = make_table(&e);
    if (status == PACK_OK)
        status = map_classes(&e);
    if (status == PACK_OK)
        status = compare_columns(&e);
    if (status == PACK_OK)
        status = find_spelling(&e);
    if (status == PACK_OK)
        status = compare(&e, &behind);
    if (status == PACK_OK)
        status = map_roots(&e);
    if (status == PACK_OK && !is_limited)
        status = pack_source_grow_columns(source, now->n_listed - behind, err);
    for (uint64_t row = behind; status == PACK_OK && row < now->n_listed && !is_limited;
         row++)
        status = add(&e, row);
    if (is_limited)
        additions->n_left_out = 0;
    free(e.old.place);
    free(e.now.place);
    free(e.table);
    free(e.classes);
    free(e.roots);
    pack_buf_done(&e.spelt);
    pack_buf_done(&e.parts);
    return status;
}
