/* Cuts the bytes of a list into rows of cells; one row is kept at a time. */
#ifndef LIBPACK_LIST_ROWS_H
#define LIBPACK_LIST_ROWS_H

#include <stdbool.h>
#include <stdio.h>

#include "libpack/base/buf.h"
#include "libpack/base/name.h"

enum {
    PACK_LIST_ROW_MAX = 1 << 20, /* bytes in one row */
    PACK_LIST_COLUMNS_MAX = 4096
};

/* Where lines are cut. */
enum pack_rows_cut {
    PACK_ROWS_WHOLE = 0, /* nowhere */
    PACK_ROWS_CSV,       /* at the separator, outside of quotes: RFC 4180 */
    PACK_ROWS_TSV,       /* at single tabs, outside of quotes as CSV has: list_rows_tsv.c */
    PACK_ROWS_BLANKS,    /* at runs of blanks and tabs */
    PACK_ROWS_FIRST,     /* at the first such run only */
    PACK_ROWS_LAST,      /* at the last one only */
    PACK_ROWS_JSON,      /* not at all: a JSON object each; the first row is its keys */
    PACK_ROWS_JSON_CELLS /* nor here: a JSON array of cells each, or a text */
};

struct pack_rows_syntax {
    enum pack_rows_cut cut;
    char separator;   /* of CSV; 0: a comma */
    char terminator;  /* of a line */
    bool trims;       /* blanks around cells go, but for those in quotes ... */
    size_t untrimmed; /* ... and in this column, counted from 1 */
    bool keeps_quotes; /* of TSV: they stand for themselves */
    bool has_comments; /* where lines are cut at blanks or not at all, those that begin with
                        * "#" and a blank, and do not end as an image's name does */

    /* Of JSON whose rows are no lines, but the elements of an array; with the key as their
     * first cell, the members of an object; or values one behind the other. */
    char opens;         /* '[', '{' or ' '; 0: lines */
    size_t opens_at;    /* where, in bytes from the start of the text */
    bool is_member;     /* the array is in an object, of which the rest does not count */
    bool passes_nested; /* arrays and objects in PACK_ROWS_JSON_CELLS are empty cells */
};

/* The first bytes of a list. The bytes are used again for what follows them. */
struct pack_list_head {
    unsigned char *bytes;
    size_t size, capacity;
    size_t start;  /* of the text, behind a byte order mark */
    bool is_whole; /* the list ends with them */
};

struct pack_rows {
    FILE *file; /* NULL: the head is all */
    struct pack_rows_syntax syntax;
    uint64_t line;                               /* of the next byte, from 1 */
    uint64_t row_line;                           /* where the row starts */
    struct pack_buf row;                         /* cells, each with its NUL */
    size_t n_cells, cell[PACK_LIST_COLUMNS_MAX]; /* where in `row` they start */
    size_t cell_start;                           /* of the cell being read */
    size_t at, end, capacity;
    unsigned char *input;
    bool is_cut;           /* the list goes on behind what is to be read */
    bool ends_line;        /* the bytes read last did, not the list */
    struct pack_buf ahead; /* bytes that were read and are to be read again, */
    size_t ahead_at;       /* from here on */
    struct pack_buf object, keys; /* of JSON: the line, the keys of the first one */
    size_t n_keys;
    bool has_object; /* read already, for its keys */
    uint64_t n_comments;
    char *comment; /* the first of them */
    uint64_t object_line;
    uint64_t n_elements; /* of syntax.opens, up to this one */
    bool is_inside, has_ended;
    char name[PACK_NAME_TEXT_MAX];
    struct pack_error *err;
};

/* `file` (behind the head) and `err` stay the caller's, as do the head's bytes; `name` is
 * what messages call the list. */
void pack_rows_init(struct pack_rows *rows, const struct pack_rows_syntax *syntax,
                    const struct pack_list_head *head, FILE *file, const char *name,
                    struct pack_error *err);
void pack_rows_done(struct pack_rows *rows);

/* The next row that is not empty; n_cells is 0 at the end of the file. */
enum pack_status pack_rows_next(struct pack_rows *rows);

/* The same where one that cannot be cut is an answer too: *found is false then, as at the
 * end. PACK_ERR_MEMORY alone is an error. */
enum pack_status pack_rows_try(struct pack_rows *rows, bool *found,
                               struct pack_error *err);

/* Cell i of the row, valid until the next one. */
const char *pack_rows_cell(const struct pack_rows *rows, size_t i);

/* "NAME:LINE: " in front of the sentence in rows->err, "NAME:LINE: element 3: " where
 * rows are no lines. */
enum pack_status pack_rows_at_line(struct pack_rows *rows, uint64_t line,
                                   enum pack_status status);

#endif
