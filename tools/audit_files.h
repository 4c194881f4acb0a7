/* Which files h5audit looks at: those that are named, and those in folders. */
#ifndef TOOLS_AUDIT_FILES_H
#define TOOLS_AUDIT_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include <libpack/status.h>

struct audit_files {
    const char **names;
    size_t n;
    size_t n_capacity;
    size_t n_unlisted; /* folders below those that were asked for, which was told */
};

/* Operands as they are; with `recursive`, folders stand for the files in and below them, in
 * alphabetic order. PACK_ERR_NOT_FOUND where a folder has none, PACK_ERR_IO, PACK_ERR_MEMORY.
 * audit_files_done() frees. */
enum pack_status audit_files_list(char *const *operands, size_t n, bool recursive,
                                  struct audit_files *files, struct pack_error *err);
void audit_files_done(struct audit_files *files);

#endif
