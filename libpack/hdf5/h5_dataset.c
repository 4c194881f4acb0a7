/*
 * A stranger's file is opened twice: by a child, which may crash or hang, and then, when
 * that came to its end, here.
 */
#include "libpack/hdf5/h5_dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libpack/base/numbers.h"
#include "libpack/base/size.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_guard.h"

/* --------------------------------------------------------------------- operands */

/* Where FILE ends, from the end of the text on; NULL: the text is all of it. */
static enum pack_status
find_colon(const char *operand, const char **colon, struct pack_error *err)
{
    const char *first = strstr(operand, ":/"), *last = NULL;
    *colon = NULL;
    if (!first || access(operand, F_OK) == 0)
        return PACK_OK;
    char *name = strdup(operand);
    if (!name)
        return pack_fail_memory(err, "operands");
    for (const char *at = first; at; at = strstr(at + 1, ":/")) {
        name[at - operand] = '\0';
        if (access(name, F_OK) == 0)
            last = at;
        name[at - operand] = ':';
    }
    free(name);
    *colon = last ? last : first;
    return PACK_OK;
}

/* A path inside a file as it is written here; the root stays one. */
static char *
copy_path(const char *path)
{
    const char *plain = path + strspn(path, "/");
    return strdup(*plain ? plain : "/");
}

enum pack_status
pack_h5_operand_split(const char *operand, char **file, char **path,
                      struct pack_error *err)
{
    const char *colon;
    enum pack_status status = find_colon(operand, &colon, err);
    *file = *path = NULL;
    if (status != PACK_OK)
        return status;
    *file = colon ? strndup(operand, (size_t)(colon - operand)) : strdup(operand);
    if (colon)
        *path = copy_path(colon + 1);
    if (*file && (*path || !colon))
        return PACK_OK;
    free(*file);
    free(*path);
    *file = *path = NULL;
    return pack_fail_memory(err, "operands");
}

/* -------------------------------------------------------- which dataset is meant */

enum { NAMES_MAX = 400 };

/* What walking over the file's datasets found. */
struct search {
    int64_t h5;
    struct pack_h5_guard *guard;
    size_t n;
    char first[PACK_FACTS_PATH_MAX], names[NAMES_MAX];
    struct pack_error damaged; /* of the first whose facts cannot be read */
};

/* "/a, /b, ...": in whole names. */
static void
add_name(struct search *s, const char *path)
{
    size_t used = strlen(s->names), room = sizeof s->names - used;
    if (used >= 3 && strcmp(s->names + used - 3, "...") == 0)
        return;
    const char *comma = used ? ", " : "";
    if (strlen(path) + sizeof ", /, ..." <= room)
        snprintf(s->names + used, room, "%s/%s", comma, path);
    else
        snprintf(s->names + used, room, "%s...", comma);
}

static enum pack_status
consider(void *context, const char *path, struct pack_error *err)
{
    struct search *s = context;
    struct pack_facts facts;
    struct pack_error why = { 0 };
    (void)err;
    pack_h5_guard_note(s->guard, "reading '/%s'", path);
    if (strlen(path) >= sizeof s->first)
        return PACK_OK;
    enum pack_status status = pack_facts_read_header(s->h5, path, &facts, &why);
    if (status == PACK_ERR_ARGUMENT) /* a link to a group */
        return PACK_OK;
    if (status != PACK_OK && s->damaged.status == PACK_OK)
        s->damaged = why;
    if (status != PACK_OK || facts.space != PACK_SPACE_SIMPLE ||
        facts.extent.rank == 0 || facts.n_elements == 0)
        return PACK_OK;
    if (s->n++ == 0)
        strcpy(s->first, path);
    add_name(s, path);
    return PACK_OK;
}

static enum pack_status
find_dataset(const char *file, int64_t h5, struct pack_h5_guard *guard, char **path,
             struct pack_error *err)
{
    static const char *const usual[] = { "images", "data" };
    struct search s = { .h5 = h5, .guard = guard };
    const char *found = NULL;
    for (size_t i = 0; i < 2 && !found; i++)
        found = pack_h5_is_dataset(h5, usual[i]) ? usual[i] : NULL;
    if (!found) {
        enum pack_status status = pack_h5_datasets(h5, consider, &s, err);
        if (status == PACK_OK && s.n == 0)
            status = pack_h5_links(h5, consider, &s, err);
        if (status == PACK_OK && s.n == 0 && s.damaged.status != PACK_OK) {
            status = s.damaged.status;
            if (err)
                *err = s.damaged;
        }
        if (status != PACK_OK && s.n == 0)
            return pack_error_prefix(err, status, "'%s'", file);
        if (s.n == 0)
            return pack_fail(err, PACK_ERR_NOT_FOUND,
                             "'%s' holds no dataset with samples", file);
        if (s.n > 1)
            return pack_fail_param(err, PACK_ERR_ARGUMENT, "dataset",
                                   "'%s' holds %zu datasets, none of them 'images' or 'data': "
                                   "%s",
                                   file, s.n, s.names);
        found = s.first;
    }
    *path = strdup(found);
    return *path ? PACK_OK : pack_fail_memory(err, "a dataset's path");
}

enum pack_status
pack_h5_dataset_find(const char *file, char **path, struct pack_error *err)
{
    int64_t h5 = -1;
    enum pack_status status = pack_h5_open(file, NULL, &h5, err);
    if (status != PACK_OK)
        return status;
    status = find_dataset(file, h5, NULL, path, err);
    pack_h5_close(h5);
    return status;
}

/* ---------------------------------------------------------------------- opening */

/* Why there are no samples in it. */
static enum pack_status
check_samples(const struct pack_h5_dataset *d, struct pack_error *err)
{
    const struct pack_facts *facts = &d->facts;
    uint64_t bytes;
    if (facts->space == PACK_SPACE_NULL)
        return pack_fail(err, PACK_ERR_UNSUPPORTED, "'%s:/%s' is empty (a null space)",
                         d->file, d->path);
    if (facts->space != PACK_SPACE_SIMPLE || facts->extent.rank == 0)
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "'%s:/%s' is a single value, not an array of samples", d->file,
                         d->path);
    if (facts->n_elements == 0)
        return pack_fail(err, PACK_ERR_UNSUPPORTED, "'%s:/%s' is empty", d->file,
                         d->path);
    if (facts->n_elements == UINT64_MAX ||
        !pack_size_mul(facts->n_elements, facts->type.bytes, &bytes))
        return pack_fail(err, PACK_ERR_LIMIT, "'%s:/%s' claims more than 2^64 bytes",
                         d->file, d->path);
    return PACK_OK;
}

/* HDF5 may have found it by a name that means nothing here. */
static enum pack_status
find_data_file(struct pack_h5_dataset *d, int64_t h5, struct pack_error *err)
{
    char *name = NULL;
    enum pack_status status = pack_h5_data_file(h5, d->path, &name, err);
    if (status == PACK_OK && access(name, F_OK) != 0) {
        free(name);
        name = strdup(d->file);
        status = name ? PACK_OK : pack_fail_memory(err, "a dataset's name");
    }
    free(d->data_file);
    d->data_file = name;
    return status;
}

/* Whether numbers of a child, which may send anything, go together as those of a file do. */
static bool
is_consistent(const struct pack_facts *f)
{
    uint64_t n_elements = 0, bytes = 0, n_chunks = 1;
    bool is = f->layout == PACK_LAYOUT_CHUNKED && f->chunk.rank == f->extent.rank &&
              f->n_chunks.rank == f->extent.rank && f->type.bytes > 0 &&
              pack_shape_count(&f->extent, &n_elements) && n_elements == f->n_elements &&
              pack_size_mul(n_elements, f->type.bytes, &bytes) && bytes == f->logical_bytes;
    bytes = f->type.bytes;
    for (int i = 0; i < f->extent.rank && is; i++) {
        uint64_t extent = f->extent.extent[i], chunk = f->chunk.extent[i];
        is = chunk > 0 && f->n_chunks.extent[i] == extent / chunk + (extent % chunk != 0) &&
             pack_size_mul(n_chunks, f->n_chunks.extent[i], &n_chunks) &&
             pack_size_mul(bytes, chunk, &bytes);
    }
    return is && n_chunks == f->n_chunks_total && bytes == f->chunk_bytes &&
           f->n_chunks_stored <= n_chunks;
}

struct opening {
    struct pack_h5_dataset *d;
    const struct pack_facts *known; /* or NULL */
};

static enum pack_status
read_facts(const struct opening *o, int64_t h5, struct pack_h5_guard *guard,
           struct pack_error *err)
{
    struct pack_h5_dataset *d = o->d;
    enum pack_status status = PACK_OK;
    if (!d->path) {
        pack_h5_guard_note(guard, "listing its datasets");
        status = find_dataset(d->file, h5, guard, &d->path, err);
        if (status != PACK_OK)
            return status;
    }
    pack_h5_guard_note(guard, "reading '/%s'", d->path);
    if (o->known)
        d->facts = *o->known;
    else
        status = pack_facts_read(h5, d->path, &d->facts, err);
    if (status != PACK_OK)
        return pack_error_prefix(err, status, "'%s'", d->file);
    status = check_samples(d, err);
    if (status == PACK_OK)
        status = find_data_file(d, h5, err);
    if (status == PACK_OK && d->facts.layout == PACK_LAYOUT_VIRTUAL)
        status = pack_h5_sources_read(h5, d->file, &d->facts, guard, &d->sources, err);
    return status;
}

static enum pack_status
open_all(void *context, struct pack_h5_guard *guard, struct pack_error *err)
{
    const struct opening *o = context;
    struct pack_h5_dataset *d = o->d;
    int64_t h5 = -1;
    enum pack_status status = pack_h5_open(d->file, NULL, &h5, err);
    if (status != PACK_OK)
        return status;
    status = read_facts(o, h5, guard, err);
    pack_h5_guard_note(guard, "closing it");
    pack_h5_close(h5);
    if (status != PACK_OK)
        return status;
    pack_h5_guard_note(guard, "listing the chunks of '/%s'", d->path);
    status = pack_h5_chunks_read(d->file, d->path, &d->facts, &d->chunks, err);
    return status == PACK_OK
               ? status
               : pack_error_prefix(err, status, "'%s:/%s'", d->file, d->path);
}

static enum pack_status
open_dataset(const char *file, const char *path, const struct pack_facts *known,
             struct pack_h5_dataset **dataset, struct pack_error *err)
{
    struct pack_h5_dataset *d = calloc(1, sizeof *d);
    if (!d)
        return pack_fail_memory(err, "a dataset");
    d->file = strdup(file);
    d->path = path ? copy_path(path) : NULL;
    enum pack_status status = d->file && (d->path || !path)
                                  ? pack_h5_register_zstd(err)
                                  : pack_fail_memory(err, "a dataset's name");
    d->is_seen = d->file && stat(d->file, &d->seen) == 0;
    struct opening opening = { d, known && is_consistent(known) ? known : NULL };
    if (status == PACK_OK && !opening.known)
        status = pack_h5_guard_try(file, NULL, open_all, &opening, err);
    if (status == PACK_OK)
        status = open_all(&opening, NULL, err);
    if (status == PACK_OK)
        *dataset = d;
    else
        pack_h5_dataset_close(d);
    return status;
}

enum pack_status
pack_h5_dataset_open(const char *file, const char *path, struct pack_h5_dataset **dataset,
                     struct pack_error *err)
{
    return open_dataset(file, path, NULL, dataset, err);
}

enum pack_status
pack_h5_dataset_open_known(const char *file, const char *path,
                           const struct pack_facts *facts,
                           struct pack_h5_dataset **dataset, struct pack_error *err)
{
    return open_dataset(file, path, facts, dataset, err);
}

void
pack_h5_dataset_close(struct pack_h5_dataset *d)
{
    if (!d)
        return;
    pack_h5_chunks_done(&d->chunks);
    pack_h5_sources_done(&d->sources);
    free(d->file);
    free(d->data_file);
    free(d->path);
    free(d);
}

bool
pack_h5_dataset_chunk(const struct pack_h5_dataset *d, struct pack_shape *chunk)
{
    const struct pack_h5_source *source = pack_h5_sources_largest(&d->sources);
    *chunk = d->facts.chunk;
    if (d->facts.layout == PACK_LAYOUT_VIRTUAL && source && !d->sources.unclear &&
        source->facts.chunk.rank)
        pack_h5_sources_chunk(&d->sources, source, &d->facts.extent, chunk);
    return chunk->rank > 0;
}

const char *
pack_h5_dataset_storage(const struct pack_h5_dataset *d)
{
    const struct pack_h5_source *source = pack_h5_sources_largest(&d->sources);
    return source ? source->file : d->data_file;
}

static bool
remark_missing(const struct pack_h5_dataset *d, char *text, size_t size)
{
    const struct pack_h5_sources *s = &d->sources;
    const struct pack_h5_source *first;
    size_t n_missing = pack_h5_sources_missing(s, &first);
    if (n_missing > 0)
        snprintf(text, size,
                 "'%s:/%s' is virtual, and %zu of its %zu sources %s missing, '%s' "
                 "first: fill values are read in their place",
                 d->file, d->path, n_missing, s->n_sources,
                 n_missing == 1 ? "is" : "are", first->file);
    return n_missing > 0;
}

bool
pack_h5_dataset_remark(const struct pack_h5_dataset *d, char *text, size_t size)
{
    if (remark_missing(d, text, size))
        return true;
    if (d->sources.unclear)
        snprintf(text, size,
                 "'%s:/%s' is virtual, and which chunks its reads visit cannot be "
                 "told: %s",
                 d->file, d->path, d->sources.unclear);
    else if (d->facts.n_external > 0)
        snprintf(text, size,
                 "'%s:/%s' keeps its data in %s (H5Pset_external): HDF5 reads those "
                 "past every driver, so that file reads are not counted",
                 d->file, d->path,
                 pack_counted(d->facts.n_external, "external file", "external files").text);
    else
        return false;
    return true;
}
