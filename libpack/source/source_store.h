/* A listing as bytes, and made again from them: what a journal keeps of it. */
#ifndef LIBPACK_SOURCE_STORE_H
#define LIBPACK_SOURCE_STORE_H

#include "libpack/base/buf.h"
#include "libpack/source/records.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Where in source->records the rows of the listing are, which a shuffle has moved: row i
 * is records[place[i]]. *place is NULL, and free, when they never were; else it is for
 * free(). PACK_ERR_MEMORY.
 */
enum pack_status pack_source_places(const struct pack_source *source, uint64_t **place,
                                    struct pack_error *err);

/* Appends all but the rows: folders, classes, columns. */
enum pack_status pack_source_store_head(const struct pack_source *source,
                                        struct pack_buf *bytes, struct pack_error *err);

/* Appends rows from `first` on, until `bytes` holds bytes_max or the listing ends; *next
 * is the first row that is left. Shuffling and limits do not show. */
enum pack_status pack_source_store_rows(const struct pack_source *source,
                                        const uint64_t *place, uint64_t first,
                                        size_t bytes_max, struct pack_buf *bytes,
                                        uint64_t *next, struct pack_error *err);

/* A listing without rows, for pack_source_close(), and `n` rows more for it. The bytes
 * may be anything: PACK_ERR_FORMAT when they are not what was stored; then no row is
 * added. */
enum pack_status pack_source_load_head(const void *bytes, size_t size,
                                       struct pack_source **source,
                                       struct pack_error *err);
enum pack_status pack_source_load_rows(struct pack_source *source, const void *bytes,
                                       size_t size, uint64_t n, struct pack_error *err);

/* Room for `n` rows more in the columns. */
enum pack_status pack_source_grow_columns(struct pack_source *source, uint64_t n,
                                          struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
