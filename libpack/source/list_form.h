/* Recognises the form of a list by its first bytes: where its lines are cut, which column
 * is what. */
#ifndef LIBPACK_LIST_FORM_H
#define LIBPACK_LIST_FORM_H

#include "libpack/source/list_rows.h"
#include "libpack/source/records.h"

#define PACK_LIST_NO_COLUMN SIZE_MAX

enum { PACK_LIST_TAKEN_MAX = 1024 };

struct pack_list_form {
    bool is_coco; /* one JSON object, for list_coco.c; of the rest `taken` alone is set */
    struct pack_rows_syntax rows;
    bool has_count;    /* CelebA's: the number of rows, then a header without the path */
    size_t mark_bytes; /* of a "# " in front of a header, which is none of its names */
    bool has_header;   /* the first row (behind the number) names the columns */
    bool is_escaped;   /* paths are in their stored form, see base/name.h */
    bool checks_paths; /* blanks cut the lines: what is no file's name was cut wrongly */
    size_t path_at, label_at; /* columns from 0; PACK_LIST_NO_COLUMN: no label */
    char taken[PACK_LIST_TAKEN_MAX]; /* "takes column 1 as path, column 2 as label; ..." */
};

/*
 * A pure function of the head, the parameters, and of what params->look() says of paths in
 * it, where words alone decide nothing.
 *
 * PACK_ERR_FORMAT for what is no list (an HDF5 file, an image, an archive), NOT_FOUND for
 * an empty one, PACK_ERR_ARGUMENT with the parameter that settles it where a list can be
 * read in several ways, or has no such column; PACK_ERR_MEMORY.
 */
enum pack_status pack_list_recognise(const struct pack_list_head *head, const char *name,
                                     const struct pack_list_params *params,
                                     struct pack_list_form *form, struct pack_error *err);

/* The names that a header may have for paths and labels, in any case. */
bool pack_list_names_path(const char *word);
bool pack_list_names_label(const char *word);

/* Whether a column of this name is left out: it has none, or the one that pandas makes
 * up. */
bool pack_list_leaves_out(const char *name);

#endif
