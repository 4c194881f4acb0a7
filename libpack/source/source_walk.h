/* Reads folders of images: one at a time, or all below one. */
#ifndef LIBPACK_SOURCE_WALK_H
#define LIBPACK_SOURCE_WALK_H

#include <dirent.h>
#include <sys/types.h>

#include "libpack/base/buf.h"
#include "libpack/base/name.h"
#include "libpack/source/source_parts.h"

/* A folder being read, and those it is in. */
struct pack_level {
    const struct pack_level *up;
    int depth;
    dev_t dev;
    ino_t ino;
    DIR *dir;
    bool has_images; /* in itself */
    char **folders;  /* names of the folders in it */
    size_t n_folders, capacity;
};

/* The images of one folder. */
struct pack_segment {
    const char *folder; /* its stored name */
    uint64_t first, n;
};

struct pack_walk {
    struct pack_source *source;
    const struct pack_source_params *params;
    struct pack_error *err;
    struct pack_buf path; /* stored name of the folder being read, "cat/" or "" */
    int64_t label;        /* of the images found */
    bool by_content;      /* files without image extension may be images */
    bool in_thumbs;       /* images are small copies of others, not to be taken */
    uint64_t n_probes;    /* files looked into for a note only */
    struct pack_source_note *unread; /* by kind: images of formats that are not read */
    struct pack_segment *segments;
    size_t n_segments, capacity;
};

/* The stored name of an entry of the folder being read, in the arena; NULL when there is
 * no memory. */
char *pack_walk_name(struct pack_walk *walk, const char *entry);

/* The path of an entry of the folder being read ("": the folder), for a message. */
const char *pack_walk_shown(const struct pack_walk *walk, const char *entry,
                            char text[PACK_NAME_TEXT_MAX]);

/* A folder that programs make for small copies of the images beside it. */
bool pack_walk_is_thumbs(const char *name);

/* Opens `name`, relative to `up` when not NULL; *level is to be closed on failure too. */
enum pack_status pack_level_open(const struct pack_walk *walk, const char *name,
                                 const struct pack_level *up, struct pack_level *level);
void pack_level_close(struct pack_level *level);

/* Takes the images of an open folder as a segment, and collects its subfolders,
 * sorted. */
enum pack_status pack_level_read(struct pack_walk *walk, struct pack_level *level);

/* Takes all images of folder `name` in `up`, or of all folders in `level`, and below. */
enum pack_status pack_walk_folder(struct pack_walk *walk, const char *name,
                                  const struct pack_level *up);
enum pack_status pack_walk_below(struct pack_walk *walk, const struct pack_level *level);

/* Puts the records of all segments into the order of their folders' paths, and forgets
 * the segments. */
enum pack_status pack_walk_sort(struct pack_walk *walk);

#endif
