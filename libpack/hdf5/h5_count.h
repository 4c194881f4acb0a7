/* A file driver for HDF5 that does what the stock driver does, and counts, times, lists,
 * swallows or discards accesses on the way. */
#ifndef LIBPACK_H5_COUNT_H
#define LIBPACK_H5_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One access by HDF5, as the file sees it. */
struct pack_h5_access {
    bool raw; /* contents of datasets and heaps of variable length; else metadata */
    uint64_t address; /* from the start of the file, a user block included */
    size_t size;      /* bytes */
};

enum pack_h5_action { PACK_H5_PASS = 0, PACK_H5_SWALLOW };

/* Reads and writes that reached the file; swallowed and discarded ones do not count. */
struct pack_h5_counters {
    uint64_t file_reads, file_read_bytes, file_read_ns;
    uint64_t file_writes, file_write_bytes, file_write_ns;
};

/*
 * What one file's driver does and what it saw. The caller zeroes it, sets what it wants,
 * and keeps it alive until the file is closed; everything may be changed while the file
 * is open. Counters start at zero and may be reset at any time by storing zeros.
 */
struct pack_h5_count {
    void *context; /* handed to the hooks */
    /* Before a read. When swallowed, nothing is read and HDF5's buffer stays as it is. */
    enum pack_h5_action (*on_read)(void *context, const struct pack_h5_access *access);
    /* After a read that was passed and succeeded: when it began (CLOCK_MONOTONIC) and how
     * long it took. */
    void (*on_read_done)(void *context, const struct pack_h5_access *access,
                         uint64_t start_ns, uint64_t elapsed_ns);
    /* Before a write of access->size bytes at `data`. When swallowed, nothing is written
     * and HDF5 is told that all went well. */
    enum pack_h5_action (*on_write)(void *context, const struct pack_h5_access *access,
                                    const void *data);

    /*
     * When HDF5 opens a further file by itself (a source of a virtual dataset, the target
     * of an external link), `name` being the path that it found. Returns the struct whose
     * hooks and counters the file gets; NULL, or without this hook: this one.
     */
    struct pack_h5_count *(*on_further)(void *context, const char *name);

    /*
     * Creating a file truncates nothing: HDF5 is told that the file is as long as what
     * was written (or swallowed) since it was opened, while the bytes of an earlier run
     * stay where they are until they are overwritten. Only closing cuts the file, and
     * cut_next: the next write cuts off first what HDF5 does not know of, so that places
     * which it leaves free hold zeros, as in a new file.
     */
    bool keep_existing, cut_next;
    /* Creating a file fails when there is one, or a link. With either of the two, the last
     * step of its path is no link that is followed. */
    bool is_new;
    /*
     * From now on all writes, truncations and syncs succeed without doing anything, so
     * that HDF5 closes in good order and the file stays as it is.
     */
    bool discard;
    /* Data is brought to the disk while it is written: see writeback.h. */
    bool write_back;

    struct pack_h5_counters raw, metadata;
    /*
     * errno of the first write, truncation or close that failed; 0: none. HDF5 is not
     * told, because it does not survive that everywhere: a failure sets `discard`, and the
     * writer has to look here, at the latest when the file is closed.
     */
    int write_errno;
    int read_errno;  /* of the first read that failed; HDF5 is told */
    int open_errno;  /* of the last open or lock, 0 when it succeeded */
    /* The last file that was opened to be read, by its descriptor, ends before it says. HDF5 is
     * told that it does not; what is behind its end reads as zeros, and n_beyond counts such
     * reads of contents. */
    bool is_cut;
    uint64_t n_beyond;
    unsigned n_open; /* files open now: this struct must outlive them */
    /* What HDF5 reads without asking any driver, data in files of H5Pset_external, is not
     * counted: facts.h has n_external. */
};

/*
 * Makes a file access property list (an hid_t) open files with this driver. HDF5 does the
 * same accesses as with its default driver, H5FD_SEC2. So does it in files that it opens
 * on behalf of such a file, which count here too. The driver is registered for this
 * list only, and goes with the last file opened through it; two opens of one file through
 * two lists do not share a chunk cache. With `count` NULL nothing is counted.
 * PACK_ERR_MEMORY when HDF5 cannot register it.
 */
enum pack_status pack_h5_count_set(int64_t fapl_id, struct pack_h5_count *count,
                                   struct pack_error *err);

/* Whether a path names an open file by its descriptor, "/proc/self/fd/7": such a file may
 * have no other name, and HDF5 opens it only through this driver. */
bool pack_h5_is_nameless(const char *path);

#ifdef __cplusplus
}
#endif
#endif
