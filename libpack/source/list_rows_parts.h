/* What list_rows.c and list_rows_json.c have from each other. */
#ifndef LIBPACK_LIST_ROWS_PARTS_H
#define LIBPACK_LIST_ROWS_PARTS_H

#include "libpack/source/list_rows.h"

/* A line into the row, without its end. */
enum pack_status pack_rows_read_line(struct pack_rows *rows);

/* The same behind what the row has, with the end of that line between them, and a CR at its
 * own end. */
enum pack_status pack_rows_read_on(struct pack_rows *rows);

/* What the row has from `from` on, the end of a line first, is read again but for that; `line`
 * is the number of the line behind it. */
enum pack_status pack_rows_give_back(struct pack_rows *rows, size_t from, uint64_t line);
bool pack_rows_is_at_end(struct pack_rows *rows);

/* Closes the cell from cell_start up to `end`, which has room for a NUL behind it. */
enum pack_status pack_rows_close_cell(struct pack_rows *rows, size_t end, bool trims);
/* Closes the cell that reaches up to row.size and starts the next one. */
enum pack_status pack_rows_end_cell(struct pack_rows *rows, bool trims);
/* Whether blanks around the cell being read go. */
bool pack_rows_is_trimmed(const struct pack_rows *rows);

/* The next line, cut at blanks or not at all: without cells where it is empty or a comment. */
enum pack_status pack_rows_read_cut(struct pack_rows *rows);

/* The next line as cells apart by tabs, with those behind it that a cell in quotes reaches. */
enum pack_status pack_rows_read_tsv(struct pack_rows *rows);

/* The next element of an array as text into the row, or of an object as an array of key
 * and value; none at its end. */
enum pack_status pack_rows_read_element(struct pack_rows *rows);

/* Adds a cell as it is. */
enum pack_status pack_rows_add_cell(struct pack_rows *rows, const char *text, size_t size);

/*
 * The next row of PACK_ROWS_JSON, without cells at the end. The first row has the keys of
 * the first object as cells, less those of arrays and objects in it; further rows have a
 * cell for each of these keys, in the same order, "" where an object lacks it or says null.
 * true is "1" and false "0". A key that the first object lacks is refused, and so is an
 * array or object under one that it has.
 */
enum pack_status pack_rows_read_json(struct pack_rows *rows);

/* The same of PACK_ROWS_JSON_CELLS: the values of an array are the cells, a text is one. */
enum pack_status pack_rows_read_json_cells(struct pack_rows *rows);

#endif
