/* Cuts the bytes of a list into rows of cells; one row is kept at a time. */
#ifndef LIBPACK_LIST_ROWS_H
#define LIBPACK_LIST_ROWS_H

#include <stdio.h>

#include "libpack/base/buf.h"
#include "libpack/base/name.h"
#include <libpack/source.h>

enum {
    PACK_LIST_ROW_MAX = 1 << 20, /* bytes in one row */
    PACK_LIST_COLUMNS_MAX = 4096
};

/* Where lines are cut: at commas (RFC 4180), single tabs, runs of blanks, nowhere. */
enum pack_rows_syntax { PACK_ROWS_CSV, PACK_ROWS_TSV, PACK_ROWS_BLANKS, PACK_ROWS_WHOLE };

struct pack_rows {
    FILE *file;
    enum pack_rows_syntax syntax;
    int terminator;                              /* of a line: LF or NUL */
    uint64_t line;                               /* of the next byte, from 1 */
    uint64_t row_line;                           /* where the row starts */
    struct pack_buf row;                         /* cells, each with its NUL */
    size_t n_cells, cell[PACK_LIST_COLUMNS_MAX]; /* where in `row` they start */
    size_t cell_start;                           /* of the cell being read */
    size_t at, end;
    unsigned char input[1 << 16];
    char name[PACK_NAME_TEXT_MAX];
    struct pack_error *err;
};

/* Looks at the first line to choose the syntax; file and err stay the caller's, `name` is
 * what messages call it. */
void pack_rows_init(struct pack_rows *rows, FILE *file, const char *name,
                    enum pack_list_format format, struct pack_error *err);
void pack_rows_done(struct pack_rows *rows);

/* The next row that is not empty; n_cells is 0 at the end of the file. */
enum pack_status pack_rows_next(struct pack_rows *rows);

/* Cell i of the row, valid until the next one. */
const char *pack_rows_cell(const struct pack_rows *rows, size_t i);

/* "NAME:LINE: " in front of the sentence in rows->err. */
enum pack_status pack_rows_at_line(struct pack_rows *rows, uint64_t line,
                                   enum pack_status status);

#endif
