/* Which files h5audit looks at: those that are named, and those in folders. */
#ifndef TOOLS_AUDIT_FILES_H
#define TOOLS_AUDIT_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include <libpack/status.h>

struct audit_names {
    const char **names; /* owned */
    size_t n, n_capacity;
};

struct audit_files {
    const char **names; /* those of `list` */
    size_t n;
    struct audit_names list;
    /* Sentences of folders that could not be listed, or have no files, which were told. */
    struct audit_names unlisted;
};

/* Operands as they are; with `recursive`, folders stand for the files in and below them, in
 * alphabetic order. A folder that cannot be listed, or that was asked for and has none, is told
 * of and counted, and the others go on. PACK_ERR_LIMIT, PACK_ERR_MEMORY.
 * audit_files_done() frees. */
enum pack_status audit_files_list(char *const *operands, size_t n, bool recursive,
                                  struct audit_files *files, struct pack_error *err);
void audit_files_done(struct audit_files *files);

#endif
