/* Takes the images of one source folder, which is flat or has a folder per class. */
#ifndef LIBPACK_SOURCE_CLASSES_H
#define LIBPACK_SOURCE_CLASSES_H

#include "libpack/source/source_walk.h"

/* A folder that stands for a class, in one source. */
struct pack_class_folder {
    const char *name, *folder; /* of the class, and as stored */
    uint64_t n_images, n_unread; /* those of formats that are not read */
};

/* A source that was given; an image file is flat. */
struct pack_source_folder {
    dev_t dev;
    ino_t ino;
    bool is_flat, is_image;
};

/* All source folders of a call. */
struct pack_tree {
    struct pack_walk walk;
    struct pack_source_folder *folders;
    struct pack_class_folder *classes;
    size_t n_classes, capacity;
};

/* Takes what is in an open folder, the last root of the source; labels are numbers of
 * class folders then. PACK_ERR_NOT_FOUND when there are no images in it. */
enum pack_status pack_tree_take(struct pack_tree *tree, struct pack_level *level,
                                bool *is_flat);

/* Whether all images below a source are taken, wherever they are. */
bool pack_tree_takes_all(const struct pack_tree *tree);

#endif
