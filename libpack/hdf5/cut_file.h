/* Files that end before they say: HDF5 refuses them, but opens them under another name. */
#ifndef LIBPACK_CUT_FILE_H
#define LIBPACK_CUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PACK_CUT_NAME_MAX = 40 };

/*
 * An open file, and its name as a descriptor of this process and its children:
 * pack_h5_open() of that name tells HDF5 that the file is as long as it says (h5_count.h,
 * is_cut). What lies behind its end then reads as zeros, which metadata is not.
 */
struct pack_cut_file {
    int fd; /* -1: it is not cut */
    char name[PACK_CUT_NAME_MAX];
    uint64_t file_bytes, end_bytes; /* as long as it is; as it says */
};

/* Opens a file that is cut; false, with fd -1, for any other, also one that is not there. */
bool pack_cut_file_open(const char *path, struct pack_cut_file *cut);
void pack_cut_file_close(struct pack_cut_file *cut);

/* Puts the path in place of the other name, in a sentence of room for `size` bytes. */
void pack_cut_file_rename(const struct pack_cut_file *cut, const char *path, char *text,
                          size_t size);

#ifdef __cplusplus
}
#endif
#endif
