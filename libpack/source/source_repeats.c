/* Rows of a list that name an image again, for each box on it, perhaps; or none. */
#include "libpack/source/source_parts.h"

#include <stdlib.h>
#include <string.h>

/* The next part of a path, of *n bytes, behind slashes and "." parts; NULL at its end. */
static const char *
next_part(const char *path, size_t *n)
{
    do {
        path += strspn(path, "/");
        *n = strcspn(path, "/");
        if (*n != 1 || *path != '.')
            return *n ? path : NULL;
        path++;
    } while (true);
}

/* FNV-1a over the parts, "./a//b.jpg" being "a/b.jpg". */
static uint64_t
hash_path(const char *path)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) + (*path == '/');
    for (size_t n; (path = next_part(path, &n)); path += n) {
        for (size_t i = 0; i < n; i++)
            hash = (hash ^ (unsigned char)path[i]) * UINT64_C(0x100000001b3);
        hash = (hash ^ '/') * UINT64_C(0x100000001b3);
    }
    return hash ^ hash >> 32;
}

static bool
are_same(const char *a, const char *b)
{
    size_t n_a, n_b;
    if ((*a == '/') != (*b == '/'))
        return false;
    do {
        a = next_part(a, &n_a);
        b = next_part(b, &n_b);
        if (!a || !b)
            return a == b;
        if (n_a != n_b || memcmp(a, b, n_a) != 0)
            return false;
        a += n_a;
        b += n_b;
    } while (true);
}

enum pack_status
pack_source_count_repeated(const struct pack_source *source, uint64_t *n_repeated,
                           const char **first, struct pack_error *err)
{
    const struct pack_list *list = source->list;
    char *const *paths = list->path.strings;
    uint64_t n_slots = 64;
    while (n_slots < 2 * list->n_rows)
        n_slots *= 2;
    uint64_t *rows = calloc(n_slots, sizeof *rows); /* and one; by path, open addressing */
    if (!rows)
        return pack_fail_memory(err, "names of images");
    *n_repeated = 0;
    *first = NULL;
    for (uint64_t i = 0; i < list->n_rows; i++) {
        uint64_t at = hash_path(paths[i]) & (n_slots - 1);
        while (rows[at] && !are_same(paths[rows[at] - 1], paths[i]))
            at = (at + 1) & (n_slots - 1);
        *n_repeated += rows[at] != 0;
        *first = rows[at] && !*first ? paths[i] : *first;
        rows[at] = i + 1;
    }
    free(rows);
    return PACK_OK;
}

enum pack_status
pack_source_note_listed(struct pack_source *source, enum pack_source_note_kind kind,
                        const char *first, uint64_t count, struct pack_error *err)
{
    if (count == 0)
        return PACK_OK;
    enum pack_status status = pack_source_note(source, kind, first, err);
    source->notes[kind].count = count;
    return status;
}
