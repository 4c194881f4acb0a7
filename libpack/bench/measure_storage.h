/* What the storage under a file takes, learnt by reading the file. */
#ifndef LIBPACK_MEASURE_STORAGE_H
#define LIBPACK_MEASURE_STORAGE_H

#include <stdint.h>

#include <libpack/profile.h>
#include <libpack/status.h>

/*
 * Reads at random places past the page cache (O_DIRECT) for at most half a second, alone
 * and from four threads, and sets latency and rates of *profile. Nothing is written, no
 * page is dropped. PACK_ERR_UNSUPPORTED, *profile unchanged, where the file system has no
 * direct reads (tmpfs) or the file is smaller than 16 MiB; PACK_ERR_IO, PACK_ERR_MEMORY.
 */
enum pack_status pack_measure_storage(const char *file, struct pack_profile *profile);

/* Reads out of the page cache: of so many bytes, into memory of `to_bytes` in turn, by so
 * many readers at once (at most 8). What they take from memory and take to memory counts. */
struct pack_page_reads {
    uint64_t bytes, to_bytes; /* to_bytes: 64 MiB of all together; 0: the same each time */
    uint64_t n_readers;
};

/*
 * How long such reads take from `file`, over those from `copy`: their memory may come in
 * larger pages. In turns, at random places, for some milliseconds; 1 where it cannot be
 * told.
 */
double pack_measure_pages(const char *file, const char *copy,
                          const struct pack_page_reads *reads);

#endif
