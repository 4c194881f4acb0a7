/* What a listing is made of: records, classes, columns; how lists are read. */
#ifndef LIBPACK_RECORDS_H
#define LIBPACK_RECORDS_H

#include <libpack/source.h>

#include "libpack/image/kind.h"

#ifdef __cplusplus
extern "C" {
#endif

enum pack_column_kind {
    PACK_COLUMN_INT64 = 0,
    PACK_COLUMN_FLOAT64,
    PACK_COLUMN_STRING,
};

/* One column; of the three arrays, each of as many entries as the list has rows, the one
 * of its kind is set. */
struct pack_column {
    char *name; /* UTF-8, unique in its list, fit to name a dataset */
    enum pack_column_kind kind;
    int64_t *integers;
    double *floats;
    char **strings; /* any bytes but NUL, pointing into `text` */
    char *text;
};

struct pack_list {
    uint64_t n_rows;             /* at least 1 */
    struct pack_column path;     /* strings, none of them empty */
    struct pack_column *label;   /* NULL when the list has no such column */
    struct pack_column *columns; /* all others, in the order of the header */
    int n_columns;
    char **classes; /* that the labels name, by number; NULL: the labels tell */
    size_t n_classes;
    char *taken;        /* what it was recognised as, in words */
    bool is_rejects;    /* of an earlier run: paths start from the current folder */
    uint64_t n_folders; /* in a list of paths, left out ... */
    char *folder;       /* ... and the first of them */
    uint64_t n_comments; /* left out as well ... */
    char *comment;       /* ... the first of them */
};

/* What is there under a path of a list. */
enum pack_list_look { PACK_LOOK_NOTHING = 0, PACK_LOOK_FILE, PACK_LOOK_FOLDER };

/* How a list is to be read. Zeroed by the caller. Columns: see struct pack_source_params. */
struct pack_list_params {
    enum pack_list_format format;
    const char *path_column, *label_column;
    bool no_header;
    bool no_label; /* labels come from elsewhere */
    const struct pack_watch *watch; /* "listing", in images; NULL: nobody watches */
    /* Asked about some paths where that decides how lines are to be read; NULL: never. */
    enum pack_list_look (*look)(void *context, const char *path);
    void *look_context;
};

struct pack_record {
    const char *name; /* to store: as it is on disk, any bytes but NUL */
    int64_t label;    /* -1: none */
    uint32_t root;    /* index into `roots`, for pack_source_path() */
};

struct pack_source_root {
    char *path;          /* folder, as given */
    size_t prefix_bytes; /* what names have in front that is not part of the path */
};

struct pack_source_note {
    uint64_t count;
    char *first; /* the first by name; NULL when count is 0 */
};

/* Filled by source_folder.c and source_list.c; whoever else reads it changes nothing. */
struct pack_source {
    uint64_t n_records;
    size_t capacity;             /* of `records` */
    struct pack_record *records; /* in the order to store */
    uint64_t *source_index;      /* what number records[i] had; NULL: never shuffled */
    uint64_t seed;               /* with which it was */
    uint64_t n_listed;           /* records before pack_source_limit() */

    bool is_by_class; /* listed class folder by class folder, not by whole paths */
    bool has_labels;
    bool gives_classes; /* the caller named them, in an order of his own */
    const char **class_names; /* as they are on disk; [label] */
    size_t n_classes;         /* 0 where labels are plain integers */

    struct pack_list *list; /* columns, NULL for folders; see pack_source_row() */
    struct pack_source_root *roots;
    uint32_t n_roots;
    struct pack_source_note notes[PACK_NOTE_KINDS];
    /* By pack_image_kind(): images where others are taken, of formats not read. */
    struct pack_source_note unread[PACK_IMAGE_KINDS];
    struct pack_arena *arena; /* names */
};

/* As pack_source_open_file(), but a file on which another program has a lease is waited for
 * only until the watch stops that: PACK_ERR_INTERRUPTED. */
enum pack_status pack_source_open_watched(const struct pack_source *source, uint64_t i,
                                          const struct pack_watch *watch, int *fd,
                                          struct pack_error *err);

/* The row of source->list's columns that record `i` has. */
uint64_t pack_source_row(const struct pack_source *source, uint64_t i);

/*
 * A checksum over what is to be stored apart from pixels: names, labels, source_index,
 * classes and columns. Where the folders are does not matter.
 */
uint64_t pack_source_digest(const struct pack_source *source);

#ifdef __cplusplus
}
#endif
#endif
