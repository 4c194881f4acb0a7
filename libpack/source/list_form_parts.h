/* What the parts of `list_form` share while a list is being recognised. */
#ifndef LIBPACK_LIST_FORM_PARTS_H
#define LIBPACK_LIST_FORM_PARTS_H

#include "libpack/source/list_form.h"
#include "libpack/source/list_survey.h"

struct pack_form_guess {
    const struct pack_list_head *head;
    const struct pack_list_params *params;
    const char *raw_name;          /* of the list, as rows take it */
    char name[PACK_NAME_TEXT_MAX]; /* and as messages show it */
    bool ends_in_csv; /* the name does */
    char terminator;
    struct pack_rows *rows; /* room for a row */
    size_t n_columns;       /* of a form that is described */
    size_t n_further;       /* columns to be stored besides path and label */
    struct pack_list_form *form;
    struct pack_error *err;
};

/* Each takes the list for what it is named after, and says so in form->taken; *taken is
 * whether it was that. */
enum pack_status pack_form_take_header(struct pack_form_guess *guess, bool *taken);
enum pack_status pack_form_take_bare(struct pack_form_guess *guess);
enum pack_status pack_form_take_whole(struct pack_form_guess *guess, char terminator);
enum pack_status pack_form_take_json(struct pack_form_guess *guess, bool *taken);
enum pack_status pack_form_take_count(struct pack_form_guess *guess);

/* JSON whose rows are cut like that, PACK_ROWS_JSON_CELLS. */
enum pack_status pack_form_take_cells(struct pack_form_guess *guess,
                                      const struct pack_rows_syntax *syntax);

/* A header in the way that `syntax` cuts it; in bare lists too, where the first line is
 * unlike the rest: columns are found by their names, else the path is in `path_at`. */
enum pack_status pack_form_name_columns(struct pack_form_guess *guess,
                                        const struct pack_rows_syntax *syntax,
                                        size_t path_at);

/* A column given as a number from 1, *at from 0; PACK_LIST_NO_COLUMN for "0". */
bool pack_form_column_number(const char *column, size_t *at);

/* Where paths with blanks around them are there as they stand, they keep these. */
enum pack_status pack_form_trim(struct pack_form_guess *guess, bool by_default);

/* Fills form->taken; `header`: the row of names, NULL without. */
void pack_form_describe(struct pack_form_guess *guess, const struct pack_rows *header);

#endif
