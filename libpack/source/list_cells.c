/* Cells of a list's columns, whose type follows from all cells of the column. */
#include "libpack/source/list_cells.h"

#include <math.h>
#include <string.h>

#include "libpack/base/numbers.h"

/* The number in a cell, NAN in an empty one; false where it is a text. */
static bool
number_in(const struct pack_column *column, uint64_t row, double *value)
{
    const char *text;
    char *end;
    switch (column->kind) {
    case PACK_COLUMN_INT64: *value = (double)column->integers[row]; return true;
    case PACK_COLUMN_FLOAT64: *value = column->floats[row]; return true;
    case PACK_COLUMN_STRING: break;
    }
    text = column->strings[row];
    *value = *text ? pack_double_read(text, &end) : NAN;
    return !*text || *end == '\0';
}

bool
pack_cell_same(const struct pack_column *a, uint64_t row_a, const struct pack_column *b,
               uint64_t row_b)
{
    double x, y;
    if (a->kind != b->kind) /* other cells may be why */
        return number_in(a, row_a, &x) && number_in(b, row_b, &y) &&
               (x == y || (isnan(x) && isnan(y)));
    switch (a->kind) {
    case PACK_COLUMN_INT64: return a->integers[row_a] == b->integers[row_b];
    case PACK_COLUMN_FLOAT64:
        return memcmp(&a->floats[row_a], &b->floats[row_b], sizeof *a->floats) == 0;
    case PACK_COLUMN_STRING: break;
    }
    return strcmp(a->strings[row_a], b->strings[row_b]) == 0;
}

bool
pack_cell_copy(struct pack_column *to, uint64_t to_row, const struct pack_column *from,
               uint64_t from_row, struct pack_arena *arena)
{
    switch (to->kind) {
    case PACK_COLUMN_INT64: to->integers[to_row] = from->integers[from_row]; return true;
    case PACK_COLUMN_FLOAT64: to->floats[to_row] = from->floats[from_row]; return true;
    case PACK_COLUMN_STRING: break;
    }
    to->strings[to_row] = pack_arena_text(arena, from->strings[from_row]);
    return to->strings[to_row] != NULL;
}
