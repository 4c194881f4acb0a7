/*
 * Datasets whose rows lie in several files: which they are, and how they are created in a
 * shard, in the virtual file over all shards, and in the plain file that they are joined to.
 */
#include <string.h>
#include <sys/stat.h>

#include "libpack/hdf5/clone_parts.h"
#include "libpack/hdf5/h5.h"

/* ------------------------------------------------------------------ which they are */

struct finding {
    struct pack_clone *clone;
    struct pack_error *err;
    enum pack_status status;
};

static int
shape_of(hid_t set, hsize_t *extent, hsize_t *most)
{
    hid_t space = H5Dget_space(set);
    int rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, extent, most);
    if (space >= 0)
        H5Sclose(space);
    return rank;
}

static bool
is_virtual(hid_t set)
{
    hid_t dcpl = H5Dget_create_plist(set);
    bool is = dcpl >= 0 && H5Pget_layout(dcpl) == H5D_VIRTUAL;
    if (dcpl >= 0)
        H5Pclose(dcpl);
    return is;
}

static struct clone_needs
needs_of(hid_t set)
{
    hid_t type = H5Dget_type(set);
    struct clone_needs needs = pack_clone_needs(type);
    if (type >= 0)
        H5Tclose(type);
    return needs;
}

/* Whether it is the same dataset with other rows, of which there are `n`. */
static bool
is_like(hid_t first, hid_t other, uint64_t n)
{
    hsize_t a[H5S_MAX_RANK], b[H5S_MAX_RANK];
    int rank = shape_of(first, a, NULL);
    bool same = rank > 0 && shape_of(other, b, NULL) == rank && b[0] == n && !is_virtual(other);
    for (int i = 1; i < rank && same; i++)
        same = a[i] == b[i];
    hid_t x = H5Dget_type(first), y = H5Dget_type(other);
    same = same && x >= 0 && y >= 0 && H5Tequal(x, y) > 0;
    if (x >= 0)
        H5Tclose(x);
    if (y >= 0)
        H5Tclose(y);
    return same;
}

static uint64_t
rows_before(const struct pack_clone_pieces *pieces, size_t i)
{
    return i > 0 ? pieces->end[i - 1] : 0;
}

/* The other files have the same dataset. */
static enum pack_status
check_others(const struct pack_clone *clone, const char *path, hid_t set,
             struct pack_error *err)
{
    const struct pack_clone_pieces *pieces = clone->params.pieces;
    enum pack_status status = PACK_OK;
    for (size_t i = 1; i < pieces->n && status == PACK_OK; i++) {
        int64_t file = -1;
        status = pack_h5_open(pieces->files[i], NULL, &file, err);
        if (status != PACK_OK)
            return status;
        hid_t other = H5Dopen2(file, path, H5P_DEFAULT);
        if (other < 0 || !is_like(set, other, pieces->end[i] - pieces->end[i - 1]))
            status = pack_fail(err, PACK_ERR_UNSUPPORTED,
                               "'%.200s:/%.200s' is not the same as in '%.200s' with other rows, "
                               "or is not there",
                               pieces->files[i], path, clone->params.file);
        if (other >= 0)
            H5Dclose(other);
        H5Eclear2(H5E_DEFAULT);
        pack_h5_close(file);
    }
    return status;
}

/* One of as many rows: it is cut, or joined, unless references in it keep it as it is. */
static enum pack_status
take_rows(struct pack_clone *clone, struct clone_object *object, hid_t set,
          struct pack_error *err)
{
    const struct pack_clone_pieces *pieces = clone->params.pieces;
    struct clone_needs needs = needs_of(set);
    if (is_virtual(set))
        return pack_clone_refuse(clone, object->from,
                                 "it is virtual: to be joined by itself first", err);
    if (pieces->cut != PACK_CLONE_JOINED && strchr(object->from, '%'))
        return pack_clone_refuse(clone, object->from,
                                 "HDF5 takes the % in its name for a pattern", err);
    if (pieces->cut == PACK_CLONE_JOINED && needs.references)
        return pack_clone_refuse(clone, object->from,
                                 "its references lead to objects of several files", err);
    if (pieces->cut == PACK_CLONE_VIRTUAL && needs.references)
        return PACK_OK;
    object->is_aligned = true;
    clone->counts.n_pieces++;
    return pieces->cut == PACK_CLONE_JOINED ? check_others(clone, object->from, set, err)
                                            : PACK_OK;
}

static herr_t
find_rows(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    struct finding *finding = context;
    struct pack_clone *clone = finding->clone;
    struct clone_key key;
    hsize_t extent[H5S_MAX_RANK];
    if (info->type != H5L_TYPE_HARD || pack_clone_is_of_classes(name))
        return 0;
    hid_t child = H5Oopen(group, name, H5P_DEFAULT);
    struct clone_object *object =
        child >= 0 && pack_clone_key(child, &key) ? pack_clone_find(clone, &key) : NULL;
    if (object && object->kind == CLONE_DATASET && !object->is_aligned &&
        shape_of(child, extent, NULL) > 0 && extent[0] == clone->params.pieces->n_rows)
        finding->status = take_rows(clone, object, child, finding->err);
    if (child >= 0)
        H5Oclose(child);
    return finding->status != PACK_OK;
}

static enum pack_status
read_sources(const struct pack_clone *clone, const char *path, struct pack_h5_sources *sources,
             struct pack_error *err)
{
    struct pack_facts facts;
    enum pack_status status = pack_facts_read_header(clone->source, path, &facts, err);
    return status == PACK_OK ? pack_h5_sources_read(clone->source, clone->params.file, &facts,
                                                    NULL, sources, err)
                             : status;
}

static bool
is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* HDF5 gives fill values for sources that are missing; and one is not to be replaced by what
 * is made of it. */
static enum pack_status
check_source(const struct pack_clone *clone, const char *path,
             const struct pack_h5_source *source, struct pack_error *err)
{
    const char *output = clone->params.pieces->output;
    if (source->is_missing)
        return pack_fail(err, PACK_ERR_NOT_FOUND,
                         "cannot join '%.200s:/%.200s': its source '%.200s' is missing",
                         clone->params.file, path, source->file);
    if (output && is_same_file(source->file, output))
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "output",
                               "'%.200s' is a source of '%.200s:/%.200s', which is not rewritten "
                               "in place",
                               output, clone->params.file, path);
    const struct pack_clone_pieces *pieces = clone->params.pieces;
    return pieces->note ? pieces->note(pieces->note_context, source->file, err) : PACK_OK;
}

static enum pack_status check_below(const struct pack_clone *clone, const char *path,
                                    const struct pack_h5_source *source,
                                    struct pack_error *err);

static enum pack_status
check_sources(const struct pack_clone *clone, const char *path,
              const struct pack_h5_sources *sources, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    if (sources->unplaced && sources->unplaced != sources->unclear)
        return pack_clone_refuse(clone, path, sources->unplaced, err);
    for (size_t i = 0; i < sources->n_sources && status == PACK_OK; i++) {
        status = check_source(clone, path, &sources->sources[i], err);
        if (status == PACK_OK && sources->sources[i].facts.layout == PACK_LAYOUT_VIRTUAL)
            status = check_below(clone, path, &sources->sources[i], err);
    }
    if (status == PACK_OK && sources->n_mappings > 0 && sources->n_sources == 0)
        status = pack_clone_refuse(clone, path,
                                   "its sources are named by a pattern, and none can be missed",
                                   err);
    return status;
}

/* The sources of a source: pack_h5_sources_read() has seen that this comes to an end. */
static enum pack_status
check_below(const struct pack_clone *clone, const char *path,
            const struct pack_h5_source *source, struct pack_error *err)
{
    struct pack_h5_sources sources = { 0 };
    int64_t file = -1;
    enum pack_status status = pack_h5_open(source->file, NULL, &file, err);
    if (status == PACK_OK)
        status = pack_h5_sources_read(file, source->file, &source->facts, NULL, &sources, err);
    pack_h5_close(file);
    if (status == PACK_OK)
        status = check_sources(clone, path, &sources, err);
    pack_h5_sources_done(&sources);
    return status;
}

/* A virtual dataset, all of whose sources are to be there. */
static enum pack_status
take_virtual(struct pack_clone *clone, struct clone_object *object, hid_t set,
             struct pack_error *err)
{
    struct pack_h5_sources sources = { 0 };
    if (needs_of(set).references)
        return pack_clone_refuse(clone, object->from,
                                 "its references lead to objects of several files", err);
    enum pack_status status = read_sources(clone, object->from, &sources, err);
    if (status != PACK_OK)
        return status;
    status = check_sources(clone, object->from, &sources, err);
    pack_h5_sources_done(&sources);
    object->is_aligned = true;
    clone->counts.n_pieces++;
    return status;
}

static enum pack_status
find_virtual(struct pack_clone *clone, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < clone->n_objects && status == PACK_OK; i++) {
        struct clone_object *object = &clone->objects[i];
        if (object->kind != CLONE_DATASET)
            continue;
        hid_t set = H5Dopen2(clone->source, object->from, H5P_DEFAULT);
        if (set < 0)
            return pack_clone_refuse(clone, object->from, "it cannot be opened", err);
        if (is_virtual(set))
            status = take_virtual(clone, object, set, err);
        H5Dclose(set);
    }
    return status == PACK_OK && clone->counts.n_pieces == 0
               ? pack_fail(err, PACK_ERR_ARGUMENT, "'%.200s' has no virtual dataset to join",
                           clone->params.file)
               : status;
}

/* The one that is meant is among them: a link may lead out of the group, or out of the file. */
static enum pack_status
check_meant(const struct pack_clone *clone, struct pack_error *err)
{
    const struct pack_clone_pieces *pieces = clone->params.pieces;
    const struct clone_object *object = pack_clone_dataset(clone, pieces->dataset);
    if (pieces->cut == PACK_CLONE_VIRTUAL || (object && object->is_aligned))
        return PACK_OK;
    return pack_clone_refuse(clone, pieces->dataset,
                             object ? "a link leads there, to another group"
                                    : "it is in another file",
                             err);
}

enum pack_status
pack_clone_find_pieces(struct pack_clone *clone, struct pack_error *err)
{
    struct finding finding = { clone, err, PACK_OK };
    hsize_t at = 0;
    if (!clone->params.pieces->group)
        return find_virtual(clone, err);
    hid_t group = H5Gopen2(clone->source, clone->params.pieces->group, H5P_DEFAULT);
    herr_t result = group < 0 ? -1
                              : H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, &at, find_rows,
                                           &finding);
    if (group >= 0)
        H5Gclose(group);
    if (finding.status != PACK_OK)
        return finding.status;
    return result < 0 ? pack_clone_refuse(clone, clone->params.pieces->group,
                                          "its links cannot be listed", err)
                      : check_meant(clone, err);
}

/* --------------------------------------------------------------- how they are created */

static herr_t
set_rows(hid_t space, uint64_t n, hsize_t chunk_rows)
{
    hsize_t extent[H5S_MAX_RANK], most[H5S_MAX_RANK];
    int rank = H5Sget_simple_extent_dims(space, extent, most);
    if (rank <= 0)
        return -1;
    extent[0] = n;
    if (most[0] != H5S_UNLIMITED) /* no less than a chunk */
        most[0] = n < chunk_rows ? chunk_rows : n;
    return H5Sset_extent_simple(space, rank, extent, most);
}

static hsize_t
chunk_rows_of(hid_t dcpl)
{
    hsize_t chunk[H5S_MAX_RANK];
    return H5Pget_layout(dcpl) == H5D_CHUNKED && H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk) > 0
               ? chunk[0]
               : 0;
}

static herr_t
add_shard(const struct pack_clone_pieces *pieces, size_t i, const char *path, hid_t space,
          hid_t dcpl)
{
    hsize_t extent[H5S_MAX_RANK], start[H5S_MAX_RANK] = { rows_before(pieces, i) };
    int rank = H5Sget_simple_extent_dims(space, extent, NULL);
    extent[0] = pieces->end[i] - start[0];
    hid_t source = H5Screate_simple(rank, extent, NULL), whole = H5Scopy(space);
    herr_t result = -1;
    if (source >= 0 && whole >= 0 &&
        H5Sselect_hyperslab(whole, H5S_SELECT_SET, start, NULL, extent, NULL) >= 0)
        result = H5Pset_virtual(dcpl, whole, pieces->files[i], path, source);
    if (whole >= 0)
        H5Sclose(whole);
    if (source >= 0)
        H5Sclose(source);
    return result;
}

static herr_t
set_virtual(const struct pack_clone_pieces *pieces, const char *path, hid_t space, hid_t dcpl)
{
    herr_t result = H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_INCR);
    if (result >= 0 && H5Pget_nfilters(dcpl) > 0)
        result = H5Premove_filter(dcpl, H5Z_FILTER_ALL);
    if (result >= 0)
        result = H5Pset_layout(dcpl, H5D_VIRTUAL);
    for (size_t i = 0; i < pieces->n && result >= 0; i++)
        result = add_shard(pieces, i, path, space, dcpl);
    return result;
}

/* Chunks and filters of the first source of a virtual dataset, where they fit. */
static herr_t
set_chunks(const struct pack_facts *facts, hid_t space, hid_t dcpl)
{
    hsize_t extent[H5S_MAX_RANK], most[H5S_MAX_RANK], chunk[H5S_MAX_RANK];
    int rank = H5Sget_simple_extent_dims(space, extent, most);
    bool can_grow = false;
    for (int i = 0; i < rank; i++)
        can_grow |= most[i] > extent[i];
    bool has_chunks = facts->layout == PACK_LAYOUT_CHUNKED && facts->chunk.rank == rank;
    if (!has_chunks && !can_grow)
        return H5Pset_layout(dcpl, H5D_CONTIGUOUS);
    for (int i = 0; i < rank; i++) {
        chunk[i] = has_chunks ? facts->chunk.extent[i] : i > 0 && extent[i] > 0 ? extent[i] : 1;
        if (chunk[i] > most[i])
            chunk[i] = most[i];
    }
    herr_t result = H5Pset_chunk(dcpl, rank, chunk);
    for (int i = 0; i < facts->pipeline.n && has_chunks && result >= 0; i++) {
        const struct pack_filter *filter = &facts->pipeline.filter[i];
        result = H5Pset_filter(dcpl, (H5Z_filter_t)filter->id, filter->flags, filter->n_cd,
                               filter->cd);
    }
    return result;
}

static herr_t
set_plain(const struct pack_clone *clone, const struct clone_object *object, hid_t space,
          hid_t dcpl)
{
    struct pack_h5_sources sources = { 0 };
    struct pack_facts none = { .layout = PACK_LAYOUT_CONTIGUOUS };
    if (read_sources(clone, object->from, &sources, NULL) != PACK_OK)
        return -1;
    herr_t result = set_chunks(sources.n_sources > 0 ? &sources.sources[0].facts : &none, space,
                               dcpl);
    pack_h5_sources_done(&sources);
    return result;
}

herr_t
pack_clone_set_piece(const struct pack_clone *clone, const struct clone_object *object,
                     hid_t space, hid_t dcpl)
{
    const struct pack_clone_pieces *pieces = clone->params.pieces;
    if (!pieces || !object->is_aligned)
        return 0;
    switch (pieces->cut) {
    case PACK_CLONE_SHARD:
        return set_rows(space, pieces->end[pieces->at] - rows_before(pieces, pieces->at),
                        chunk_rows_of(dcpl));
    case PACK_CLONE_VIRTUAL: return set_virtual(pieces, object->from, space, dcpl);
    case PACK_CLONE_JOINED: break;
    }
    return pieces->group ? set_rows(space, pieces->end[pieces->n - 1], chunk_rows_of(dcpl))
                         : set_plain(clone, object, space, dcpl);
}

/* -------------------------------------------------------------- what comes from where */

/* Whole rows, one mapping after the other, which can be taken as they are stored. */
static bool
is_in_rows(const struct pack_h5_mapping *mapping, const struct pack_facts *facts,
           const struct pack_facts *source)
{
    int rank = facts->extent.rank;
    bool is = source->extent.rank == rank;
    for (int i = 0; i < rank && is; i++)
        is = mapping->axis[i] == i && mapping->from.count[i] == mapping->to.count[i] &&
             (i == 0 || (mapping->to.count[i] == facts->extent.extent[i] &&
                         source->extent.extent[i] == facts->extent.extent[i]));
    return is;
}

/* From the sources themselves where they are such rows, else through HDF5's own eyes. */
static enum pack_status
carry_virtual(struct pack_clone *clone, const struct clone_object *object, clone_rows_fn carry,
              void *context, struct pack_error *err)
{
    struct pack_h5_sources sources = { 0 };
    struct pack_facts facts;
    struct clone_rows whole = { clone->params.file, object->from, 0, 0, 0 };
    enum pack_status status = pack_facts_read_header(clone->source, object->from, &facts, err);
    if (status == PACK_OK)
        status = read_sources(clone, object->from, &sources, err);
    bool in_rows = status == PACK_OK && !sources.unclear;
    for (size_t i = 0; i < sources.n_mappings && in_rows; i++)
        in_rows = is_in_rows(&sources.mappings[i], &facts,
                             &sources.sources[sources.mappings[i].source].facts);
    whole.n = facts.extent.extent[0];
    if (status == PACK_OK && !in_rows)
        status = carry(context, &whole, err);
    for (size_t i = 0; i < sources.n_mappings && in_rows && status == PACK_OK; i++) {
        const struct pack_h5_mapping *mapping = &sources.mappings[i];
        const struct pack_h5_source *source = &sources.sources[mapping->source];
        const struct clone_rows rows = { source->file, source->dataset, mapping->to.start[0],
                                         mapping->from.start[0], mapping->from.count[0] };
        status = carry(context, &rows, err);
    }
    pack_h5_sources_done(&sources);
    return status;
}

enum pack_status
pack_clone_each_piece(struct pack_clone *clone, const struct clone_object *object,
                      clone_rows_fn carry, void *context, struct pack_error *err)
{
    const struct pack_clone_pieces *pieces = clone->params.pieces;
    enum pack_status status = PACK_OK;
    if (pieces->cut == PACK_CLONE_VIRTUAL)
        return PACK_OK;
    if (!pieces->group)
        return carry_virtual(clone, object, carry, context, err);
    size_t first = pieces->cut == PACK_CLONE_SHARD ? pieces->at : 0;
    size_t end = pieces->cut == PACK_CLONE_SHARD ? first + 1 : pieces->n;
    for (size_t i = first; i < end && status == PACK_OK; i++) {
        bool is_shard = pieces->cut == PACK_CLONE_SHARD;
        uint64_t before = rows_before(pieces, i);
        const struct clone_rows rows = { is_shard ? clone->params.file : pieces->files[i],
                                         object->from, is_shard ? before : 0,
                                         is_shard ? 0 : before, pieces->end[i] - before };
        status = carry(context, &rows, err);
    }
    return status;
}
