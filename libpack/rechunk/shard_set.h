/* Which files are shards of one set, by what is written into each when a file is split. */
#ifndef LIBPACK_SHARD_SET_H
#define LIBPACK_SHARD_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PACK_SHARDS_MAX = 512, PACK_SHARD_LABEL_MAX = 80 };

/* "part 1 of 4 of set 0123456789abcdef" */
struct pack_shard_label {
    uint64_t set;
    size_t part, n; /* part: from 1; 0: it is a shard of no set */
};
void pack_shard_label_format(const struct pack_shard_label *label,
                             char text[PACK_SHARD_LABEL_MAX]);
bool pack_shard_label_parse(const char *text, struct pack_shard_label *label);

/* That of a file, looked at in a child process first. PACK_OK for an HDF5 file without. */
enum pack_status pack_shard_label_read(const char *path, struct pack_shard_label *label,
                                       struct pack_error *err);

/* Files that are to be joined are of no set, or all of one and each another part of it;
 * *n_absent: parts that are not among them. PACK_ERR_UNSUPPORTED. */
enum pack_status pack_shard_set_check(const char *const *files, size_t n, size_t *n_absent,
                                      struct pack_error *err);

/* The shards of "x.h5" are "x-00000-of-00008.h5" and so on: number i of n, with the folder of
 * `output` and without, both to be freed. PACK_ERR_ARGUMENT for a name that HDF5 would not take
 * as it is, PACK_ERR_MEMORY. */
enum pack_status pack_shard_name(const char *output, size_t i, size_t n, char **path,
                                 char **name, struct pack_error *err);

/* A file that has the name of a shard of `output` in a set of another number. */
struct pack_shard_earlier {
    char *path;
    bool is_removed; /* or would be, in a dry run */
    const char *why; /* it is left */
};

/* Finds them, those first that come first by name. One is to be removed when the file says
 * that it is the part of a set that its name says; and with `force`, and when `input` is of
 * another set. Else it says why not. */
enum pack_status pack_shard_earlier_find(const char *output, size_t n, const char *input,
                                         bool force, struct pack_shard_earlier **earlier,
                                         size_t *n_earlier, struct pack_error *err);
/* Removes what is to be removed. */
void pack_shard_earlier_remove(struct pack_shard_earlier *earlier, size_t n);
/* And what runs that were killed left of sets of another number than n, if nobody is at it. */
void pack_shard_leftovers_remove(const char *output, size_t n);

#ifdef __cplusplus
}
#endif
#endif
