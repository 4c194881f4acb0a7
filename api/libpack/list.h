/* Reads lists of image files: tables with a header line, CelebA's tables, plain paths. */
#ifndef LIBPACK_LIST_H
#define LIBPACK_LIST_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pack_list_format {
    PACK_LIST_TABLE = 0, /* CSV, TSV or CelebA's, told apart by the first line */
    PACK_LIST_LINES,     /* one path per line, no header */
    PACK_LIST_NULL       /* paths that each end with a NUL byte, as find -print0 writes */
};

enum {
    PACK_LIST_ROW_MAX = 1 << 20, /* bytes in one row */
    PACK_LIST_COLUMNS_MAX = 4096
};

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
};

/*
 * Reads a whole list from `file`, which stays the caller's; `name` is what messages call
 * it, as in "faces.csv:12: 3 cells where the header has 4".
 *
 * Tables. A first line that is a number alone makes it CelebA's form: that number of
 * rows, a line of column names, then rows of a path and a value per column (where the
 * first column name is `image_id` it stands for the path), all separated by blanks.
 * Otherwise the first line is a header with a column `path`; a tab in it makes the list
 * TSV, else a comma or a quote makes it CSV, else it has one column and the name decides
 * (CSV when it ends in ".csv"). CSV follows RFC 4180: a cell may be in double quotes, a
 * quote inside being doubled, and then hold commas and newlines; quotes inside an
 * unquoted cell stand for themselves. TSV knows no quotes. Lines end in LF or CRLF, the
 * last one may do without; empty lines and a UTF-8 byte order mark are skipped. Every row
 * has as many cells as the header.
 *
 * Types. A column is int64 when all its cells are integers of that range; else float64
 * when all are numbers, "nan" or "inf", an empty cell giving NaN; else, and when all are
 * empty, strings. What would not come back as it was written stays a string: numbers with
 * superfluous leading zeros or beyond float64, and integers from 2^53 on where the column
 * is not all int64. `label` is typed in the same way.
 *
 * Refused, with line and column: cells too many or too few, a NUL byte or UTF-16, an
 * unfinished quote or text behind a closing one, an empty path, rows above
 * PACK_LIST_ROW_MAX, more than PACK_LIST_COLUMNS_MAX columns, a column without name, with
 * the name of another or of a dataset that h5pack itself writes, or with '/' or invalid
 * UTF-8 in its name, a CelebA list with another number of rows than it says.
 *
 * Memory: the paths and 9 bytes each; per further cell 8 bytes when a number, else its
 * text and 9 bytes (text that turns out to be numbers is given back at the end). Arrays
 * grow by half. Plus one row.
 *
 * Returns PACK_OK; PACK_ERR_FORMAT; PACK_ERR_LIMIT; PACK_ERR_NOT_FOUND for a list without
 * rows; PACK_ERR_IO; PACK_ERR_MEMORY.
 */
enum pack_status pack_list_read(FILE *file, const char *name,
                                enum pack_list_format format, struct pack_list **list,
                                struct pack_error *err);
void pack_list_free(struct pack_list *list);

#ifdef __cplusplus
}
#endif
#endif
