/* What the first bytes of an HDF5 file say of it: also of one that HDF5 refuses to open. */
#ifndef LIBPACK_SUPERBLOCK_H
#define LIBPACK_SUPERBLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pack_superblock {
    unsigned version;     /* 0 to 3 */
    uint64_t start_bytes; /* where it lies: the length of the user block */
    uint64_t end_bytes;   /* of the file, user block included, as it was closed; 0: not said */
    bool is_marked_open;  /* a writer has it open, or did not come to close it */
    bool has_driver;      /* written by a driver of several files, or another of its own */
};

enum { PACK_SUPERBLOCK_BYTES = 96 }; /* that are looked at, of each place */

/* From `bytes`, which lie at `start` of a file. False when this is no superblock of a version
 * that is known. Follows "III. Disk Format: Level 0 - File Metadata" of the HDF5 file format
 * specification, 3.0. */
bool pack_superblock_parse(const unsigned char bytes[PACK_SUPERBLOCK_BYTES], uint64_t start,
                           struct pack_superblock *superblock);

/* Looks at 0, 512, 1024 and on, as HDF5 does, of an open file of `size` bytes. */
bool pack_superblock_find(int fd, uint64_t size, struct pack_superblock *superblock);

#ifdef __cplusplus
}
#endif
#endif
