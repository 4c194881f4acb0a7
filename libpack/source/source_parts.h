/* How the parts of `source` fill a struct pack_source, and numbers of classes. */
#ifndef LIBPACK_SOURCE_PARTS_H
#define LIBPACK_SOURCE_PARTS_H

#include "libpack/base/arena.h"
#include "libpack/source/records.h"

/* PACK_ERR_ARGUMENT for what no source can be opened with. */
enum pack_status pack_source_check_params(const struct pack_source_params *params,
                                          struct pack_error *err);

/* `array` with room for more than `n` entries of `size` bytes, of which it has *capacity;
 * NULL, with nothing changed, when there is no memory. */
void *pack_grown(void *array, size_t n, size_t *capacity, size_t size);

/* params: NULL for one that was stored. */
enum pack_status pack_source_new(const struct pack_source_params *params,
                                 struct pack_source **source, struct pack_error *err);

/* Adds a folder; its number is n_roots - 1 then. */
enum pack_status pack_source_add_root(struct pack_source *source, const char *path,
                                      size_t prefix_bytes, struct pack_error *err);

/* Adds a record of the last root; `name` stays where it is. */
enum pack_status pack_source_add(struct pack_source *source, const char *name,
                                 int64_t label, struct pack_error *err);

/* What a list has beside images, `count` times; nothing where it is 0. */
enum pack_status pack_source_note_listed(struct pack_source *source,
                                         enum pack_source_note_kind kind,
                                         const char *first, uint64_t count,
                                         struct pack_error *err);

/* Counts `name` as a case of `kind`; the first in pack_name_compare()'s order is kept. */
enum pack_status pack_source_note(struct pack_source *source,
                                  enum pack_source_note_kind kind, const char *name,
                                  struct pack_error *err);

/* The same in a note of the caller's, whose `first` is freed with it; and all of one note
 * into another. */
enum pack_status pack_source_add_note(struct pack_source_note *note, const char *name,
                                      struct pack_error *err);
void pack_source_move_note(struct pack_source_note *from, struct pack_source_note *to);

/* The classes become a copy of `names`, in this order. */
enum pack_status pack_source_set_classes(struct pack_source *source,
                                         const char *const *names, size_t n,
                                         struct pack_error *err);

/* The classes become the different ones among `names`, which are sorted in place. */
enum pack_status pack_source_sort_classes(struct pack_source *source, const char **names,
                                          size_t n, struct pack_error *err);

/* Labels all records with the names of the folders that they are in, as far as their paths
 * tell; PACK_ERR_ARGUMENT where one does not, or none of the classes given is called so. */
enum pack_status pack_source_label_by_folder(struct pack_source *source,
                                             const struct pack_source_params *params,
                                             struct pack_error *err);

/* Opens an entry of a folder for reading, once who has a lease on it lets go; -1 and errno,
 * EAGAIN where the watch stops that. */
int pack_source_open_entry(int folder, const char *name, const struct pack_watch *watch);

/* What was given as a source. */
enum pack_given {
    PACK_GIVEN_FOLDER = 0,
    PACK_GIVEN_NOTHING, /* nothing is there: errno says why */
    PACK_GIVEN_IMAGE,
    PACK_GIVEN_OTHER, /* a file of another kind */
    PACK_GIVEN_BROKEN /* a link to nowhere that is not called as an image is */
};
enum pack_given pack_source_given(const char *path,
                                  const struct pack_source_params *params);

/* Counts what is no image and no folder. */
enum pack_status pack_source_note_given(struct pack_source *source, enum pack_given given,
                                        const char *path, struct pack_error *err);

/* Adds an image file as a record, under the name given. */
enum pack_status pack_source_add_file(struct pack_source *source, const char *file,
                                      struct pack_error *err);

/* As slashes, the backslashes of Windows. */
void pack_source_turn_slashes(char *path);

/* How many rows of the list name an image that an earlier one does, "./a.jpg" being "a.jpg";
 * *first is the first of these, NULL where there is none. */
enum pack_status pack_source_count_repeated(const struct pack_source *source,
                                            uint64_t *n_repeated, const char **first,
                                            struct pack_error *err);

/* Finds the number of a class by its name. */
struct pack_class_map {
    const struct pack_source *source;
    size_t *by_name; /* numbers, sorted by the class's name */
};

/* PACK_ERR_ARGUMENT when a name occurs twice. */
enum pack_status pack_class_map_init(struct pack_class_map *map,
                                     const struct pack_source *source,
                                     struct pack_error *err);
int64_t pack_class_map_find(const struct pack_class_map *map,
                            const char *name); /* or -1 */
void pack_class_map_done(struct pack_class_map *map);

#endif
