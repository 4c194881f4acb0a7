/* Cells of a list's columns. */
#ifndef LIBPACK_LIST_CELLS_H
#define LIBPACK_LIST_CELLS_H

#include "libpack/base/arena.h"
#include "libpack/source/list.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether two cells say the same, also where other cells made their columns of different
 * types: 1, 1.0 and the text "1" do, and empty cells. */
bool pack_cell_same(const struct pack_column *a, uint64_t row_a,
                    const struct pack_column *b, uint64_t row_b);

/* Copies a cell into a column of the same type that has room; false without memory. */
bool pack_cell_copy(struct pack_column *to, uint64_t to_row,
                    const struct pack_column *from, uint64_t from_row,
                    struct pack_arena *arena);

#ifdef __cplusplus
}
#endif
#endif
