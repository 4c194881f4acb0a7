/*
 *     head:  flags  roots (prefix_bytes, path)*  classes (name)*  columns (kind, name)*
 *     row:   root   name  label  cell*
 *
 * Numbers are LEB128 (seven bits a byte, the lowest first, a set top bit for "more
 * follows"); counts go before what they count. Labels and integers are differences from
 * the row before, zigzag (0, -1, 1, -2 ...), names and strings the number of bytes that
 * they share with the row before, then how many follow, then these; floats are their
 * eight bytes. Nothing comes before the first row of a piece, so that each piece can be
 * read by itself. Listings are sorted: an image costs about ten bytes.
 */
#include "libpack/source/source_store.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/source/source_parts.h"

enum { HAS_LABELS = 1, HAS_LIST = 2 };

enum pack_status
pack_source_places(const struct pack_source *source, uint64_t **place,
                   struct pack_error *err)
{
    *place = NULL;
    if (!source->source_index)
        return PACK_OK;
    uint64_t *at = malloc((source->n_listed ? source->n_listed : 1) * sizeof *at);
    if (!at)
        return pack_fail_memory(err, "the order of the images");
    for (uint64_t i = 0; i < source->n_listed; i++)
        at[source->source_index[i]] = i;
    *place = at;
    return PACK_OK;
}

/* ------------------------------------------------------------------ storing */

/* Bytes being stored. The first failure stays, and ends what would be stored after it. */
struct store {
    struct pack_buf *bytes;
    enum pack_status status;
    struct pack_error *err;
};

static void
put_bytes(struct store *s, const void *bytes, size_t size)
{
    if (s->status == PACK_OK)
        s->status = pack_buf_append(s->bytes, bytes, size, s->err);
}

static void
put_number(struct store *s, uint64_t number)
{
    uint8_t bytes[10];
    size_t n = 0;
    for (; number >= 0x80; number >>= 7)
        bytes[n++] = (uint8_t)(number | 0x80);
    bytes[n++] = (uint8_t)number;
    put_bytes(s, bytes, n);
}

static void
put_difference(struct store *s, int64_t value, int64_t before)
{
    uint64_t difference = (uint64_t)value - (uint64_t)before;
    put_number(s, difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0));
}

static void
put_text(struct store *s, const char *text, const char *before)
{
    size_t shared = 0;
    while (text[shared] && text[shared] == before[shared])
        shared++;
    size_t rest = strlen(text + shared);
    put_number(s, shared);
    put_number(s, rest);
    put_bytes(s, text + shared, rest);
}

enum pack_status
pack_source_store_head(const struct pack_source *source, struct pack_buf *bytes,
                       struct pack_error *err)
{
    struct store s = { bytes, PACK_OK, err };
    const struct pack_list *list = source->list;
    put_number(&s, (source->has_labels ? HAS_LABELS : 0) | (list ? HAS_LIST : 0));
    put_number(&s, source->n_roots);
    for (uint32_t i = 0; i < source->n_roots; i++) {
        put_number(&s, source->roots[i].prefix_bytes);
        put_text(&s, source->roots[i].path, "");
    }
    put_number(&s, source->n_classes);
    for (size_t i = 0; i < source->n_classes; i++)
        put_text(&s, source->class_names[i], "");
    put_number(&s, list ? (uint64_t)list->n_columns : 0);
    for (int i = 0; list && i < list->n_columns; i++) {
        put_number(&s, list->columns[i].kind);
        put_text(&s, list->columns[i].name, "");
    }
    return s.status;
}

static void
put_cell(struct store *s, const struct pack_column *column, uint64_t row, bool is_first)
{
    switch (column->kind) {
    case PACK_COLUMN_INT64:
        put_difference(s, column->integers[row],
                       is_first ? 0 : column->integers[row - 1]);
        break;
    case PACK_COLUMN_FLOAT64:
        put_bytes(s, &column->floats[row], sizeof column->floats[row]);
        break;
    case PACK_COLUMN_STRING:
        put_text(s, column->strings[row], is_first ? "" : column->strings[row - 1]);
        break;
    }
}

enum pack_status
pack_source_store_rows(const struct pack_source *source, const uint64_t *place,
                       uint64_t first, size_t bytes_max, struct pack_buf *bytes,
                       uint64_t *next, struct pack_error *err)
{
    struct store s = { bytes, PACK_OK, err };
    struct pack_record before = { .name = "" };
    uint64_t row = first;
    for (; row < source->n_listed && bytes->size < bytes_max && s.status == PACK_OK;
         row++) {
        struct pack_record record = source->records[place ? place[row] : row];
        put_number(&s, record.root);
        put_text(&s, record.name, before.name);
        put_difference(&s, record.label, before.label);
        for (int i = 0; source->list && i < source->list->n_columns; i++)
            put_cell(&s, &source->list->columns[i], row, row == first);
        before = record;
    }
    if (s.status == PACK_OK)
        *next = row;
    return s.status;
}

/* ------------------------------------------------------------------ loading */

/* Bytes being read. The first failure stays; what is read after it is zeros and "". */
struct load {
    const uint8_t *at, *end;
    struct pack_arena *arena; /* where texts go */
    enum pack_status status;
    struct pack_error *err;
};

static void
bad(struct load *l)
{
    if (l->status == PACK_OK)
        l->status = pack_fail(l->err, PACK_ERR_FORMAT, "not a stored list of images");
    l->at = l->end;
}

static uint64_t
get_number(struct load *l)
{
    uint64_t number = 0;
    for (unsigned shift = 0; l->at < l->end && shift < 64; shift += 7) {
        uint8_t byte = *l->at++;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return number;
    }
    bad(l);
    return 0;
}

/* A count of things that take a byte each at least. */
static uint64_t
get_count(struct load *l, uint64_t max)
{
    uint64_t count = get_number(l), left = (uint64_t)(l->end - l->at);
    if (count <= left && count <= max)
        return count;
    bad(l);
    return 0;
}

static int64_t
get_difference(struct load *l, int64_t before)
{
    uint64_t coded = get_number(l);
    return (int64_t)((uint64_t)before + (coded >> 1 ^ (coded & 1 ? UINT64_MAX : 0)));
}

static char *
get_text(struct load *l, const char *before)
{
    uint64_t shared = get_number(l), rest = get_count(l, UINT64_MAX);
    if (shared > strlen(before) || memchr(l->at, '\0', rest))
        bad(l);
    char *text =
        l->status == PACK_OK ? pack_arena_bytes(l->arena, shared + rest + 1) : NULL;
    if (!text) {
        if (l->status == PACK_OK)
            l->status = pack_fail_memory(l->err, "names");
        return (char *)"";
    }
    memcpy(text, before, shared);
    memcpy(text + shared, l->at, rest);
    text[shared + rest] = '\0';
    l->at += rest;
    return text;
}

static void
get_roots(struct load *l, struct pack_source *source)
{
    uint64_t n = get_count(l, UINT32_MAX);
    for (uint64_t i = 0; i < n && l->status == PACK_OK; i++) {
        uint64_t prefix_bytes = get_number(l);
        const char *path = get_text(l, "");
        if (l->status == PACK_OK)
            l->status = pack_source_add_root(source, path, prefix_bytes, l->err);
    }
}

static void
get_classes(struct load *l, struct pack_source *source)
{
    uint64_t n = get_count(l, SIZE_MAX);
    const char **names = n ? calloc(n, sizeof *names) : NULL;
    if (n && !names && l->status == PACK_OK)
        l->status = pack_fail_memory(l->err, "names of classes");
    for (uint64_t i = 0; i < n && names; i++)
        names[i] = get_text(l, "");
    source->class_names = names;
    source->n_classes = names ? n : 0;
}

static void
get_columns(struct load *l, struct pack_source *source)
{
    uint64_t n = get_count(l, INT32_MAX);
    struct pack_list *list = calloc(1, sizeof *list);
    if (list)
        list->columns = calloc(n ? n : 1, sizeof *list->columns);
    if (!list || !list->columns) {
        free(list);
        if (l->status == PACK_OK)
            l->status = pack_fail_memory(l->err, "columns");
        return;
    }
    source->list = list;
    for (; (uint64_t)list->n_columns < n && l->status == PACK_OK; list->n_columns++) {
        struct pack_column *column = &list->columns[list->n_columns];
        uint64_t kind = get_number(l);
        const char *name = get_text(l, "");
        if (kind > PACK_COLUMN_STRING)
            bad(l);
        column->kind = (enum pack_column_kind)kind;
        column->name = strdup(name);
        if (!column->name && l->status == PACK_OK)
            l->status = pack_fail_memory(l->err, "columns");
    }
}

enum pack_status
pack_source_load_head(const void *bytes, size_t size, struct pack_source **out,
                      struct pack_error *err)
{
    struct pack_source *source;
    enum pack_status status = pack_source_new(NULL, &source, err);
    if (status != PACK_OK)
        return status;
    const uint8_t *at = bytes;
    struct load l = { at, at + size, source->arena, PACK_OK, err };
    uint64_t flags = get_number(&l);
    source->has_labels = flags & HAS_LABELS;
    get_roots(&l, source);
    get_classes(&l, source);
    if (flags & HAS_LIST)
        get_columns(&l, source);
    else if (get_number(&l) != 0)
        bad(&l);
    if (l.at != l.end || source->n_roots == 0)
        bad(&l);
    if (l.status == PACK_OK)
        *out = source;
    else
        pack_source_close(source);
    return l.status;
}

/* ----------------------------------------------------------- loading: rows */

static bool
grow(void **array, uint64_t n, size_t size)
{
    void *grown = reallocarray(*array, n ? n : 1, size); /* of none it would free it */
    if (grown)
        *array = grown;
    return grown != NULL;
}

enum pack_status
pack_source_grow_columns(struct pack_source *source, uint64_t n, struct pack_error *err)
{
    uint64_t rows = source->n_listed + n;
    for (int i = 0; source->list && i < source->list->n_columns; i++) {
        struct pack_column *column = &source->list->columns[i];
        bool grown = column->kind == PACK_COLUMN_INT64
                         ? grow((void **)&column->integers, rows, sizeof(int64_t))
                     : column->kind == PACK_COLUMN_FLOAT64
                         ? grow((void **)&column->floats, rows, sizeof(double))
                         : grow((void **)&column->strings, rows, sizeof(char *));
        if (!grown)
            return pack_fail_memory(err, "columns");
    }
    return PACK_OK;
}

static void
get_cell(struct load *l, struct pack_column *column, uint64_t row, bool is_first)
{
    switch (column->kind) {
    case PACK_COLUMN_INT64:
        column->integers[row] =
            get_difference(l, is_first ? 0 : column->integers[row - 1]);
        break;
    case PACK_COLUMN_FLOAT64:
        column->floats[row] = 0;
        if ((size_t)(l->end - l->at) < sizeof *column->floats) {
            bad(l);
            break;
        }
        memcpy(&column->floats[row], l->at, sizeof *column->floats);
        l->at += sizeof *column->floats;
        break;
    case PACK_COLUMN_STRING:
        column->strings[row] = get_text(l, is_first ? "" : column->strings[row - 1]);
        break;
    }
}

static bool
is_fit(const struct pack_source *source, uint64_t root, const char *name, int64_t label)
{
    return root < source->n_roots && strlen(name) >= source->roots[root].prefix_bytes &&
           (source->n_classes == 0 ||
            (label >= -1 && label < (int64_t)source->n_classes));
}

enum pack_status
pack_source_load_rows(struct pack_source *source, const void *bytes, size_t size,
                      uint64_t n, struct pack_error *err)
{
    const uint8_t *at = bytes;
    struct load l = { at, at + size, source->arena, PACK_OK, err };
    struct pack_record before = { .name = "" };
    uint64_t n_before = source->n_listed;
    if (n > size)
        bad(&l);
    if (l.status == PACK_OK)
        l.status = pack_source_grow_columns(source, n, err);
    for (uint64_t i = 0; i < n && l.status == PACK_OK; i++) {
        uint64_t root = get_number(&l), row = source->n_listed;
        const char *name = get_text(&l, before.name);
        int64_t label = get_difference(&l, before.label);
        for (int k = 0; source->list && k < source->list->n_columns; k++)
            get_cell(&l, &source->list->columns[k], row, i == 0);
        if (!is_fit(source, root, name, label))
            bad(&l);
        if (l.status == PACK_OK)
            l.status = pack_source_add(source, name, label, err);
        if (l.status != PACK_OK)
            break;
        source->records[row].root = (uint32_t)root;
        before = source->records[row];
    }
    if (l.status == PACK_OK && l.at != l.end)
        bad(&l);
    if (l.status != PACK_OK)
        source->n_listed = source->n_records = n_before;
    if (source->list)
        source->list->n_rows = source->n_records;
    return l.status;
}
