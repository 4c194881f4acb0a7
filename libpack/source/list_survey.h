/* What the first rows of a list look like when its lines are cut in one way. */
#ifndef LIBPACK_LIST_SURVEY_H
#define LIBPACK_LIST_SURVEY_H

#include "libpack/source/list_rows.h"
#include "libpack/source/records.h"

enum {
    PACK_SURVEY_ROWS_MAX = 500,
    PACK_SURVEY_LOOKS_MAX = 16, /* rows whose files are looked for */
};

/* Rows in which the cells of a column ... */
struct pack_survey_column {
    size_t n_like;    /* end as a file's name may: ".jpg", ".heic" */
    size_t n_image;   /* end as an image's name does */
    size_t n_number;  /* are numbers */
    size_t n_empty;   /* are empty */
    size_t n_counting; /* are the whole number behind that of the row above */
    size_t n_digit;    /* have a digit */
    bool first_like;   /* the first row's is like a file's name, */
    bool first_word;   /* has something, and no digit */
    long long last;
};

struct pack_survey {
    size_t n_rows;   /* that are there whole, PACK_SURVEY_ROWS_MAX of them at most */
    size_t n_cells;  /* of the first */
    bool is_even;    /* all have as many */
    bool is_broken;  /* the row behind them cannot be cut in this way */
    struct pack_survey_column *columns;
};

/* Ends quietly at a row that cannot be cut. The caller frees survey->columns.
 * PACK_ERR_MEMORY. */
enum pack_status pack_survey_take(const struct pack_list_head *head,
                                  const struct pack_rows_syntax *syntax,
                                  struct pack_survey *survey, struct pack_error *err);

/* A column of rows that are cut in one way. */
struct pack_survey_place {
    struct pack_rows_syntax syntax;
    size_t at;   /* the column, from 0 */
    size_t skip; /* rows in front that do not count */
    bool adds_endings; /* what is there with an image's ending behind counts, too */
};

/* How many of the first cells there name something that is there; 0 without
 * params->look. PACK_ERR_MEMORY. */
enum pack_status pack_survey_look(const struct pack_list_head *head,
                                  const struct pack_survey_place *place,
                                  const struct pack_list_params *params, size_t *n_there,
                                  struct pack_error *err);

/* Whether all lines that do not look like a file's name are folders, or have nothing to
 * cut them at, and one at least is an image's name: one path per line. PACK_ERR_MEMORY. */
enum pack_status pack_survey_is_paths(const struct pack_list_head *head, char terminator,
                                      const struct pack_list_params *params,
                                      bool *are_paths, struct pack_error *err);

/* What paths may be without, as ".jpg": i from 0, NULL behind the last. */
const char *pack_survey_ending(size_t i);

/* ".jpg" and the like at the end, in any case; any ending that has a letter, of up to five
 * letters and digits. */
bool pack_survey_image_name(const char *text);
bool pack_survey_file_name(const char *text);

/* PACK_ERR_FORMAT for "https://" and the like, where nothing is there that is called so. */
enum pack_status pack_survey_check_path(const char *path,
                                        const struct pack_list_params *params,
                                        struct pack_error *err);

#endif
