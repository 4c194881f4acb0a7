/* Giving a finished file its name. */
#ifndef LIBPACK_PUBLISH_H
#define LIBPACK_PUBLISH_H

#include <stdbool.h>

#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Renames `from`, which is synced, to `to`, both in `folder`, and syncs that; a file that is
 * there is replaced only with `replace`. PACK_ERR_EXISTS, PACK_ERR_IO and others of the
 * system: the file has its first name then; what it replaced is gone when the folder could
 * not be synced.
 */
enum pack_status pack_publish(const char *from, const char *to, const char *folder,
                              bool replace, struct pack_error *err);

/* Syncs the folder of `path` where it can be. */
enum pack_status pack_publish_sync(const char *path, const char *folder,
                                   struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
