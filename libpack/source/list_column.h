/* A column of a list while its cells come in. */
#ifndef LIBPACK_LIST_COLUMN_H
#define LIBPACK_LIST_COLUMN_H

#include <stdbool.h>

#include "libpack/base/buf.h"
#include "libpack/source/records.h"

/* Zeroed storage is an empty column whose type will show; with `is_text` set it is a
 * column of strings whatever the cells look like. */
struct pack_column_builder {
    bool is_text, may_be_number;
    uint64_t n, capacity;
    int64_t *integers;    /* while all cells are integers */
    struct pack_buf text; /* afterwards: the cells, each with its NUL */
};

enum pack_status pack_column_add(struct pack_column_builder *builder, const char *cell,
                                 struct pack_error *err);

/* Decides on the type and moves the cells to `column`, whose name stays as it is. */
enum pack_status pack_column_finish(struct pack_column_builder *builder,
                                    struct pack_column *column, struct pack_error *err);
void pack_column_builder_done(struct pack_column_builder *builder);

/* For each of the things read, from 1: tells the watch now and then how many rows there are.
 * PACK_ERR_INTERRUPTED when it stops the reading. */
enum pack_status pack_list_watch(const struct pack_list_params *params, uint64_t n_read,
                                 uint64_t n_rows, struct pack_error *err);

#endif
