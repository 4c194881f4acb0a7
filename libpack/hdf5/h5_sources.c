/*
 * A mapping is a pair of selections with equally many elements. h5py, and nearly everyone
 * else, makes both of them blocks, which may differ in axes of one index:
 *
 *     virtual (4, 100, 8)            source (100, 8)
 *       from 2,0,0  1x100x8   ──▶      to 0,0  100x8        axis[] = 1, 2
 */
#include "libpack/hdf5/h5_sources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/base/size.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_parts.h"

/* ------------------------------------------------------------------- mappings */

/* The block that a selection is; false when it is something else. */
static bool
block_of(hid_t space, struct pack_box *box)
{
    hsize_t low[PACK_RANK_MAX], high[PACK_RANK_MAX];
    int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 1 || rank > PACK_RANK_MAX || H5Sget_select_bounds(space, low, high) < 0)
        return false;
    hssize_t selected = H5Sget_select_npoints(space);
    uint64_t n = 1;
    box->rank = rank;
    for (int i = 0; i < rank; i++) {
        box->start[i] = low[i];
        box->count[i] = high[i] - low[i] + 1;
        if (!pack_size_mul(n, box->count[i], &n))
            return false;
    }
    return selected > 0 && (uint64_t)selected == n;
}

/* The block of a source. All of it, while HDF5 does not know how large that is. */
static bool
source_block_of(hid_t space, const struct pack_h5_source *source, struct pack_box *box)
{
    const struct pack_shape *extent = &source->facts.extent;
    if (H5Sget_select_type(space) != H5S_SEL_ALL)
        return block_of(space, box);
    *box = (struct pack_box){ .rank = extent->rank };
    memcpy(box->count, extent->extent, sizeof box->count);
    return extent->rank > 0;
}

/* Pairs the axes that have more than one index; false when they differ. */
static bool
pair_axes(struct pack_h5_mapping *mapping)
{
    int k = 0;
    for (int i = 0; i < mapping->to.rank; i++) {
        mapping->axis[i] = -1;
        if (mapping->to.count[i] == 1)
            continue;
        while (k < mapping->from.rank && mapping->from.count[k] == 1)
            k++;
        if (k == mapping->from.rank || mapping->from.count[k] != mapping->to.count[i])
            return false;
        mapping->axis[i] = k++;
    }
    while (k < mapping->from.rank && mapping->from.count[k] == 1)
        k++;
    return k == mapping->from.rank;
}

bool
pack_h5_mapping_cut(const struct pack_h5_mapping *mapping, const struct pack_box *box,
                    struct pack_box *in_source)
{
    uint64_t start[PACK_RANK_MAX], count[PACK_RANK_MAX];
    for (int i = 0; i < box->rank; i++) {
        uint64_t first = mapping->from.start[i], end = first + mapping->from.count[i];
        uint64_t box_end = box->start[i] + box->count[i];
        start[i] = box->start[i] > first ? box->start[i] : first;
        end = box_end < end ? box_end : end;
        if (end <= start[i])
            return false;
        count[i] = end - start[i];
    }
    in_source->rank = mapping->to.rank;
    for (int i = 0; i < mapping->to.rank; i++) {
        int axis = mapping->axis[i];
        in_source->start[i] =
            mapping->to.start[i] + (axis < 0 ? 0 : start[axis] - mapping->from.start[axis]);
        in_source->count[i] = axis < 0 ? 1 : count[axis];
    }
    return true;
}

/* -------------------------------------------------------------------- sources */

static char *
name_beside(const char *main_name, const char *stored)
{
    const char *slash = strrchr(main_name, '/');
    size_t folder = slash ? (size_t)(slash - main_name) + 1 : 0;
    char *beside = malloc(folder + strlen(stored) + 1);
    if (beside) {
        memcpy(beside, main_name, folder);
        strcpy(beside + folder, stored);
    }
    return beside;
}

/* Beside the file that `main_name` is a link to; else as it is stored. */
static char *
find_behind_link(const char *main_name, const char *stored)
{
    char *actual = realpath(main_name, NULL);
    if (!actual)
        return errno == ENOMEM ? NULL : strdup(stored);
    char *beside = name_beside(actual, stored);
    free(actual);
    if (!beside || access(beside, R_OK) == 0)
        return beside;
    free(beside);
    return strdup(stored);
}

/* The file that HDF5 will find under the name that is stored: beside the main file, in the
 * folder where we are, or where the main file is when its name is a link. */
static char *
find_file(const char *main_name, const char *stored)
{
    if (strcmp(stored, ".") == 0)
        return strdup(main_name);
    if (stored[0] == '/') {
        if (access(stored, R_OK) == 0)
            return strdup(stored);
        stored = strrchr(stored, '/') + 1; /* it may have moved with the main file */
    }
    char *beside = name_beside(main_name, stored);
    if (!beside || access(beside, R_OK) == 0)
        return beside;
    free(beside);
    return access(stored, R_OK) == 0 ? strdup(stored) : find_behind_link(main_name, stored);
}

/* Facts and chunks of a source that is there. */
static enum pack_status
read_source(struct pack_h5_source *source, bool is_new_file,
            struct pack_h5_guard *guard, struct pack_error *err)
{
    int64_t file = -1;
    pack_h5_guard_note(guard, "reading '/%s' of its source '%s'",
                       source->dataset, source->file);
    source->is_missing = access(source->file, R_OK) != 0;
    if (source->is_missing)
        return PACK_OK;
    if (is_new_file)
        pack_h5_guard_allow(guard, source->file);
    enum pack_status status = pack_h5_open(source->file, NULL, &file, err);
    if (status != PACK_OK)
        return status;
    status = pack_facts_read(file, source->dataset, &source->facts, err);
    pack_h5_close(file);
    if (status == PACK_ERR_NOT_FOUND) {
        source->is_missing = true;
        return PACK_OK;
    }
    if (status != PACK_OK)
        return pack_error_prefix(err, status, "'%s'", source->file);
    status = pack_h5_chunks_read(source->file, source->dataset, &source->facts,
                                 &source->chunks, err);
    return status == PACK_OK ? status
                             : pack_error_prefix(err, status, "'%s:/%s'", source->file,
                                                 source->dataset);
}

/* The number of a source, which is read when it is new. */
static enum pack_status
add_source(struct pack_h5_sources *s, char *file, const char *dataset,
           struct pack_h5_guard *guard, size_t *number, struct pack_error *err)
{
    bool is_new_file = true;
    dataset += strspn(dataset, "/");
    for (*number = 0; *number < s->n_sources; ++*number) {
        if (strcmp(s->sources[*number].file, file) != 0)
            continue;
        is_new_file = false;
        if (strcmp(s->sources[*number].dataset, dataset) == 0) {
            free(file);
            return PACK_OK;
        }
    }
    struct pack_h5_source *more =
        realloc(s->sources, (s->n_sources + 1) * sizeof *s->sources);
    if (more)
        s->sources = more;
    char *copy = more ? strdup(dataset) : NULL;
    if (!copy) {
        free(file);
        return pack_fail_memory(err, "sources");
    }
    struct pack_h5_source *source = &s->sources[s->n_sources++];
    *source = (struct pack_h5_source){ .file = file, .dataset = copy };
    return read_source(source, is_new_file, guard, err);
}

/* A name stored in a mapping; the caller frees it. */
static char *
stored_name(ssize_t (*get)(hid_t, size_t, char *, size_t), hid_t dcpl, size_t i)
{
    ssize_t length = get(dcpl, i, NULL, 0);
    char *name = length < 0 ? NULL : malloc((size_t)length + 1);
    if (name && get(dcpl, i, name, (size_t)length + 1) < 0) {
        free(name);
        name = NULL;
    }
    return name;
}

/* Without memory it may be. */
static bool
is_in(const char *folder, size_t n, const char *name)
{
    char *path = NULL;
    bool found = asprintf(&path, "%.*s/%s", (int)n, folder, name) < 0 || access(path, R_OK) == 0;
    free(path);
    return found;
}

/* Whether a file of that stored name is in one of the folders, with colons between them, in which
 * HDF5 looks for it first, or in the one that all of the prefix is, as with '${ORIGIN}/...'. That
 * is the file's folder only there: of several HDF5 takes it for a name, which we no longer see. */
static bool
is_below(const char *prefix, const char *stored)
{
    const char *name = stored[0] == '/' ? strrchr(stored, '/') + 1 : stored;
    bool found = *prefix && is_in(prefix, strlen(prefix), name);
    if (strcmp(stored, ".") == 0 || (stored[0] == '/' && access(stored, R_OK) == 0))
        return false; /* the file itself, or one that is not looked for */
    while (*prefix && !found) {
        size_t n = strcspn(prefix, ":");
        found = n > 0 && is_in(prefix, n, name);
        prefix += n + (prefix[n] == ':');
    }
    return found;
}

static enum pack_status
add_mapping(struct pack_h5_sources *s, hid_t dcpl, size_t i, const char *main_name,
            const char *prefix, struct pack_h5_guard *guard, struct pack_error *err)
{
    struct pack_h5_mapping *mapping = &s->mappings[i];
    char *file = stored_name(H5Pget_virtual_filename, dcpl, i);
    char *dataset = stored_name(H5Pget_virtual_dsetname, dcpl, i);
    char *found = file && dataset ? find_file(main_name, file) : NULL;
    hid_t from = H5Pget_virtual_vspace(dcpl, i), to = H5Pget_virtual_srcspace(dcpl, i);
    enum pack_status status = PACK_OK;
    if (!found || from < 0 || to < 0) {
        free(found);
        status = pack_h5_fail(err, PACK_ERR_FORMAT, "cannot read mapping %zu of '%s'", i,
                              main_name);
    } else if (strchr(file, '%') || strchr(dataset, '%')) {
        s->unclear = "its sources are named by a pattern";
        free(found);
    } else {
        status = add_source(s, found, dataset, guard, &mapping->source, err);
        struct pack_h5_source *source = &s->sources[mapping->source];
        if (status == PACK_OK && is_below(prefix, file))
            source->is_elsewhere = true;
        bool is_block = block_of(from, &mapping->from);
        if (status == PACK_OK && source->is_missing && !is_block)
            s->unplaced = "its mappings are not of blocks";
        if (status == PACK_OK && !source->is_missing &&
            (!is_block || !source_block_of(to, source, &mapping->to) ||
             !pair_axes(mapping)))
            s->unclear = "its mappings are not of blocks";
    }
    if (from >= 0)
        H5Sclose(from);
    if (to >= 0)
        H5Sclose(to);
    free(file);
    free(dataset);
    return status;
}

/* ----------------------------------------------------- sources that are virtual */

enum { LEVELS_MAX = 32 };

/* A virtual dataset and those that it is a source of. A file is known by its number:
 * a circle may find it under ever longer names. */
struct level {
    dev_t device;
    ino_t inode;
    const char *dataset;
    int depth;
    const struct level *above;
};

static enum pack_status look_below(const struct level *above, const char *path,
                                   const char *dataset, struct pack_error *err);

static bool
is_above(const struct level *here)
{
    for (const struct level *l = here->above; l; l = l->above)
        if (l->device == here->device && l->inode == here->inode &&
            strcmp(l->dataset, here->dataset) == 0)
            return true;
    return false;
}

static enum pack_status
look_at_mappings(const struct level *here, const char *path, hid_t dcpl, size_t n,
                 struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (size_t i = 0; status == PACK_OK && i < n; i++) {
        char *file = stored_name(H5Pget_virtual_filename, dcpl, i);
        char *dataset = stored_name(H5Pget_virtual_dsetname, dcpl, i);
        char *found = file && dataset ? find_file(path, file) : NULL;
        if (found)
            status = look_below(here, found, dataset, err);
        free(found);
        free(dataset);
        free(file);
    }
    return status;
}

/* HDF5 follows a virtual dataset that is made of itself until its stack is used up. What
 * cannot be opened is missing, which is for others to say. */
static enum pack_status
look_below(const struct level *above, const char *path, const char *dataset,
           struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    struct stat file_status;
    dataset += strspn(dataset, "/");
    if (stat(path, &file_status) != 0)
        return PACK_OK;
    struct level here = { file_status.st_dev, file_status.st_ino, dataset,
                          above ? above->depth + 1 : 0, above };
    if (is_above(&here))
        return pack_fail(err, PACK_ERR_FORMAT,
                         "'%s:/%s' is virtual, and a source of itself", path, dataset);
    if (here.depth == LEVELS_MAX)
        return pack_fail(err, PACK_ERR_LIMIT,
                         "'%s:/%s' lies below %d virtual datasets, one the source of the "
                         "other",
                         path, dataset, LEVELS_MAX);
    int64_t file = -1;
    if (pack_h5_open(path, NULL, &file, NULL) != PACK_OK)
        return PACK_OK;
    hid_t set = H5Dopen2(file, dataset, H5P_DEFAULT);
    hid_t dcpl = set < 0 ? -1 : H5Dget_create_plist(set);
    size_t n = 0;
    if (dcpl >= 0 && H5Pget_layout(dcpl) == H5D_VIRTUAL &&
        H5Pget_virtual_count(dcpl, &n) >= 0)
        status = look_at_mappings(&here, path, dcpl, n, err);
    if (dcpl >= 0)
        H5Pclose(dcpl);
    if (set >= 0)
        H5Dclose(set);
    pack_h5_close(file);
    return status;
}

static enum pack_status
check_levels(const struct pack_h5_sources *s, const char *name, const char *dataset,
             struct pack_error *err)
{
    for (size_t i = 0; i < s->n_sources; i++)
        if (s->sources[i].facts.layout == PACK_LAYOUT_VIRTUAL)
            return look_below(NULL, name, dataset, err);
    return PACK_OK;
}

static void
find_unclear(struct pack_h5_sources *s, const struct pack_shape *extent)
{
    for (size_t i = 0; i < s->n_mappings; i++)
        for (int k = 1; k < extent->rank; k++)
            if (s->mappings[i].from.rank == extent->rank &&
                s->mappings[i].from.count[k] != extent->extent[k])
                s->is_side_by_side = true;
    for (size_t i = 0; i < s->n_sources && !s->unclear; i++)
        if (!s->sources[i].is_missing && s->sources[i].chunks.grid.rank == 0)
            s->unclear = "a source is not chunked";
        else if (s->sources[i].chunks.is_too_many)
            s->unclear = "a source has too many chunks to list";
    for (size_t i = 0; i < s->n_mappings && !s->unclear; i++) {
        const struct pack_h5_mapping *mapping = &s->mappings[i];
        const struct pack_h5_source *source = &s->sources[mapping->source];
        if (source->is_missing)
            continue;
        if (mapping->to.rank != source->chunks.grid.rank ||
            pack_grid_check_box(&source->chunks.grid, &mapping->to, NULL) != PACK_OK)
            s->unclear = "a source is smaller than what is mapped to it";
    }
}

/* Where HDF5 looks for sources first, "" for nowhere; the caller frees it. NULL: no memory. */
static char *
prefix_of(hid_t set)
{
    hid_t dapl = H5Dget_access_plist(set);
    ssize_t n = dapl < 0 ? 0 : H5Pget_virtual_prefix(dapl, NULL, 0);
    char *prefix = calloc((size_t)(n > 0 ? n : 0) + 1, 1);
    if (prefix && n > 0)
        H5Pget_virtual_prefix(dapl, prefix, (size_t)n + 1);
    if (dapl >= 0)
        H5Pclose(dapl);
    return prefix;
}

enum pack_status
pack_h5_sources_read(int64_t file, const char *name, const struct pack_facts *facts,
                     struct pack_h5_guard *guard, struct pack_h5_sources *sources,
                     struct pack_error *err)
{
    struct pack_h5_sources s = { 0 };
    enum pack_status status = PACK_OK;
    pack_h5_quiet();
    hid_t set = H5Dopen2(file, facts->path, H5P_DEFAULT);
    hid_t dcpl = set < 0 ? -1 : H5Dget_create_plist(set);
    char *prefix = NULL;
    size_t n = 0;
    if (dcpl < 0 || H5Pget_virtual_count(dcpl, &n) < 0)
        status = pack_h5_fail(err, PACK_ERR_FORMAT, "cannot read the mappings of '%s:/%s'",
                              name, facts->path);
    if (status == PACK_OK && (!(s.mappings = calloc(n ? n : 1, sizeof *s.mappings)) ||
                              !(prefix = prefix_of(set))))
        status = pack_fail_memory(err, "mappings");
    for (; status == PACK_OK && s.n_mappings < n; s.n_mappings++)
        status = add_mapping(&s, dcpl, s.n_mappings, name, prefix, guard, err);
    if (prefix && prefix[0])
        s.unplaced = "HDF5_VDS_PREFIX says where its sources are";
    free(prefix);
    if (dcpl >= 0)
        H5Pclose(dcpl);
    if (set >= 0)
        H5Dclose(set);
    if (status == PACK_OK)
        status = check_levels(&s, name, facts->path, err);
    if (status != PACK_OK) {
        pack_h5_sources_done(&s);
        return status;
    }
    if (!s.unplaced)
        s.unplaced = s.unclear;
    find_unclear(&s, &facts->extent);
    *sources = s;
    return PACK_OK;
}

void
pack_h5_sources_done(struct pack_h5_sources *sources)
{
    for (size_t i = 0; i < sources->n_sources; i++) {
        free(sources->sources[i].file);
        free(sources->sources[i].dataset);
        pack_h5_chunks_done(&sources->sources[i].chunks);
    }
    free(sources->sources);
    free(sources->mappings);
    *sources = (struct pack_h5_sources){ 0 };
}

size_t
pack_h5_sources_missing(const struct pack_h5_sources *s, const struct pack_h5_source **first)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_sources; i++)
        if (s->sources[i].is_missing && !s->sources[i].is_elsewhere && n++ == 0)
            *first = &s->sources[i];
    return n;
}

const struct pack_h5_source *
pack_h5_sources_largest(const struct pack_h5_sources *s)
{
    const struct pack_h5_source *largest = NULL;
    for (size_t i = 0; i < s->n_sources; i++) {
        const struct pack_h5_source *source = &s->sources[i];
        if (!source->is_missing &&
            (!largest || source->facts.n_elements > largest->facts.n_elements))
            largest = source;
    }
    return largest;
}

void
pack_h5_sources_chunk(const struct pack_h5_sources *s, const struct pack_h5_source *source,
                      const struct pack_shape *extent, struct pack_shape *chunk)
{
    const struct pack_h5_mapping *mapping = s->mappings;
    while (&s->sources[mapping->source] != source)
        mapping++; /* each source has one */
    *chunk = (struct pack_shape){ .rank = extent->rank };
    for (int i = 0; i < extent->rank; i++)
        chunk->extent[i] = 1;
    for (int k = 0; k < mapping->to.rank; k++) {
        int axis = mapping->axis[k];
        uint64_t length = source->facts.chunk.extent[k];
        if (axis >= 0)
            chunk->extent[axis] =
                length < extent->extent[axis] ? length : extent->extent[axis];
    }
}
