/* The ways to cut the lines of a list without a header, and what each makes of them. */
#ifndef LIBPACK_LIST_FORM_WAYS_H
#define LIBPACK_LIST_FORM_WAYS_H

#include "libpack/source/list_form_parts.h"

enum {
    WAY_TSV,
    WAY_CSV,
    WAY_SEMICOLON,
    WAY_LAST,
    WAY_FIRST,
    WAY_BLANKS,
    WAY_WHOLE,
    N_WAYS
};

struct way {
    struct pack_rows_syntax syntax;
    struct pack_survey survey;
    size_t path_at;  /* the only column of file names; PACK_LIST_NO_COLUMN */
    size_t n_paths, paths[2]; /* how many there are, and the first two */
    bool has_header; /* the first row is unlike the others */
};

struct bare {
    struct pack_form_guess *g;
    struct way ways[N_WAYS];
};

/* Whether a column has file names under a first row that is none. */
bool pack_way_is_headed(const struct way *way, size_t at);

/* Where the names of files do not tell, w->path_at being their column: the first row is
 * names of columns when its file is not there, those of the others are, and it has a word
 * where the others have digits, and no number where they are numbers. */
enum pack_status pack_way_look_for_header(const struct bare *b, struct way *w);

/* Finds the column of file names: all are, and some are images'. */
void pack_way_find_path(struct way *way);

/* Looks at the head of the list in every way; the columns of the surveys are the caller's
 * to free, after a failure too. */
enum pack_status pack_ways_survey(struct bare *b);

/* Whether a way gives the same number of cells everywhere, two at least, and one column of
 * file names. */
bool pack_ways_fit(const struct bare *b, int way);

/* How many of the first paths that a way gives are there. */
enum pack_status pack_ways_look(const struct bare *b, int way, size_t *n_there);

#endif
