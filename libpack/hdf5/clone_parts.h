/* What the parts of the clone share. */
#ifndef LIBPACK_CLONE_PARTS_H
#define LIBPACK_CLONE_PARTS_H

#include <stdbool.h>

#include "libpack/hdf5/clone.h"
#include "libpack/hdf5/h5_count.h"
#include "libpack/hdf5/h5_parts.h"
#include "libpack/hdf5/h5_placing.h"
#include "libpack/hdf5/h5_sources.h"

/* What tells objects of a file apart: an address, or what HDF5 has for it. */
struct clone_key {
    uint64_t word[2];
};

enum clone_kind { CLONE_GROUP = 0, CLONE_DATASET, CLONE_TYPE };

struct clone_object {
    struct clone_key key;
    enum clone_kind kind;
    char *from; /* path in the source */
    char *to;   /* path in the copy, once it is linked there */
    hid_t type; /* a committed type in the copy; else -1 */
    size_t set; /* in params->sets; n_sets: none of them */
    bool is_aligned; /* its rows come in another order, or from and to several files */
};

struct clone_place {
    struct clone_key key;
    size_t index;
};

struct pack_clone {
    struct pack_clone_params params;
    struct pack_clone_counts counts;
    char *path; /* of the copy */
    struct pack_h5_count count;
    hid_t source, target;
    struct clone_object *objects; /* in the order of their paths, so that nothing of the
                                     copy depends on where they lie in the source */
    size_t n_objects, n_room;
    struct clone_place *places; /* of all objects, by key */
    size_t *queue; /* groups, in the order in which they came to be linked */
    size_t n_queue;
    hid_t *sets; /* datasets of params->sets in the copy */
    struct pack_h5_placing *placing; /* a chunk that is being written; else NULL */
    bool goes_on;                    /* no chunks are replayed any more */
    bool needs_v18;
    bool has_index; /* source_index, of those whose rows come in another order */
};

/* What elements of a type hold beside plain bytes. */
struct clone_needs {
    bool references, pointers, new_references;
};
struct clone_needs pack_clone_needs(hid_t type);

bool pack_clone_key(hid_t object, struct clone_key *key);
int pack_clone_n_attributes(hid_t object); /* -1: HDF5 cannot tell */
struct clone_object *pack_clone_find(const struct pack_clone *clone,
                                     const struct clone_key *key);

/* A dataset of the source, by whatever link it is named; NULL: it is in another file. */
struct clone_object *pack_clone_dataset(const struct pack_clone *clone, const char *path);

/* Whether what has this name is not of records, though it may be as long: h5pack has the names
 * of classes there. */
bool pack_clone_is_of_classes(const char *name);

/* Lists the objects of the source; refuses what cannot be carried over. */
enum pack_status pack_clone_survey(struct pack_clone *clone, struct pack_error *err);

/* "cannot carry over 'x.h5:/path': <what>", PACK_ERR_UNSUPPORTED. */
enum pack_status pack_clone_refuse(const struct pack_clone *clone, const char *path,
                                   const char *what, struct pack_error *err);

/* With params->rows: marks what is in their order; carries one of those; and adds
 * source_index where there is none. */
enum pack_status pack_clone_find_aligned(struct pack_clone *clone, struct pack_error *err);
enum pack_status pack_clone_carry_rows(struct pack_clone *clone,
                                       const struct clone_object *object, hid_t from,
                                       hid_t to, struct pack_error *err);
enum pack_status pack_clone_add_index(struct pack_clone *clone, struct pack_error *err);

/* With params->pieces: marks what is cut or joined; sets how one is created; and says where
 * rows of one come from and go to, run after run. */
struct clone_rows {
    const char *file, *dataset; /* where they come from */
    uint64_t from, to, n;
};
typedef enum pack_status (*clone_rows_fn)(void *context, const struct clone_rows *rows,
                                          struct pack_error *err);
enum pack_status pack_clone_find_pieces(struct pack_clone *clone, struct pack_error *err);
herr_t pack_clone_set_piece(const struct pack_clone *clone, const struct clone_object *object,
                            hid_t space, hid_t dcpl);
enum pack_status pack_clone_each_piece(struct pack_clone *clone,
                                       const struct clone_object *object, clone_rows_fn carry,
                                       void *context, struct pack_error *err);

/* Creates objects and links. */
enum pack_status pack_clone_objects(struct pack_clone *clone, struct pack_error *err);
enum pack_status pack_clone_attributes(struct pack_clone *clone, struct pack_error *err);
enum pack_status pack_clone_data(struct pack_clone *clone, struct pack_error *err);

/* The type of something in the source as the copy is to have it: a committed one, or a
 * copy; to be closed. */
hid_t pack_clone_type(const struct pack_clone *clone, hid_t type);

/* Lets references among n elements of `type` at `data` lead to objects of the copy. */
enum pack_status pack_clone_translate(struct pack_clone *clone, hid_t type, void *data,
                                      size_t n, struct pack_error *err);

/* The same elements of a dataset in the copy, `target`, as a region of the source has; to be
 * closed; below 0: HDF5 said no, or there is no memory. Nothing is selected where none of them
 * is in the copy. */
hid_t pack_clone_region(const struct pack_clone *clone, const struct clone_object *object,
                        hid_t region, hid_t target);

/* The driver's hook: it knows chunks that are there already. */
enum pack_h5_action pack_clone_on_write(void *context,
                                        const struct pack_h5_access *access,
                                        const void *data);

/* Opens an object of the copy. */
hid_t pack_clone_open_target(const struct pack_clone *clone,
                             const struct clone_object *object);

/* "cannot carry over 'x.h5:/path': <why>", and nothing is written any more. What the
 * system said to a failed write goes before what HDF5 made of it. */
enum pack_status pack_clone_fail(struct pack_clone *clone, const char *path,
                                 struct pack_error *err);
/* Fails so when HDF5 said no (result < 0), or a write failed, of which it knows nothing. */
enum pack_status pack_clone_check(struct pack_clone *clone, const char *path,
                                  int64_t result, struct pack_error *err);

#endif
