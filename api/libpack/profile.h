/* The time that a machine needs for each step of reading a dataset: assumed for a kind of
 * storage, or measured. */
#ifndef LIBPACK_PROFILE_H
#define LIBPACK_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PACK_PROFILE_POINTS_MAX = 12, PACK_PROFILE_NAME_MAX = 64 };

/* A quantity, in the unit that the member names, that depends on a number of bytes:
 * straight lines between points on logarithmic axes, ascending `bytes`; below the first
 * point its value, beyond the last its slope. */
struct pack_profile_curve {
    int n;
    double bytes[PACK_PROFILE_POINTS_MAX];
    double value[PACK_PROFILE_POINTS_MAX];
};

/*
 * One machine. Times are those of one processor core running HDF5 and nothing else, in
 * nanoseconds for one of what the comment names. far_ns comes on top of call_ns or
 * chunk_ns, place_ns on top of `page`; walk_far_ns takes the place of walk_ns. `copy` is
 * the way from a chunk to the caller, apart from all these.
 *
 * Every profile has two parts. The named ones ("nvme", "sata-ssd", "hdd", "nfs") differ
 * in the storage only, whose figures are assumptions: round numbers for a device of its
 * kind. The processor's part was measured once by `h5advise --calibrate` on one core of a
 * Xeon at about 2.7 GHz in a virtual machine, HDF5 1.10.8, and rounded. That measures both
 * for a machine at hand and writes a file for pack_profile_parse().
 *
 * A plain struct, so that a caller can ask what another disk or a faster codec would
 * change: fill it from a name or a file, then set members. Functions that take one refuse
 * terms, and points of curves, that are not positive.
 */
struct pack_profile {
    char name[PACK_PROFILE_NAME_MAX];
    bool is_measured; /* false: named assumptions */
    uint64_t n_cpus;  /* that reading processes can use */

    /* ---- the processor in HDF5 */
    double call_ns;  /* one H5Dread of one box in one cached chunk, selections included */
    double chunk_ns; /* each further chunk that the same H5Dread visits */
    double far_ns; /* finding a chunk whose bookkeeping has left the processor's caches */
    double run_ns; /* each further contiguous run that is copied */
    double miss_ns;     /* bookkeeping of one load or direct visit */
    double piece_ns;    /* each further piece of a chunk read past the cache */
    double place_ns;    /* each byte loaded to memory beyond the processor caches */
    double walk_ns;     /* each entry that the library's eviction walk looks at */
    double walk_far_ns; /* the same in lists too long for the processor's caches */
    double box_ns;      /* each further box of a selection made of several */
    /* Each element of such a selection of chunks with two dimensions, and what each further
     * one adds: HDF5 looks at them one by one, because its shape in memory is another. */
    double elem_ns, elem_axis_ns;
    double open_ns;     /* opening and closing the dataset by name */
    double slot_ns;     /* the same, for each slot of its cache */
    double touch_ns;    /* each byte of memory that is used for the first time */
    /* ns to copy one byte, by bytes the copies range over */
    struct pack_profile_curve copy;
    struct pack_profile_curve page; /* ns to read so many bytes out of the page cache */

    /* ---- codecs, ns for each byte before encoding or after decoding */
    double gzip_decode_ns, gzip_encode_ns;
    double zstd_decode_ns, zstd_encode_ns;
    double shuffle_decode_ns, fletcher32_decode_ns;

    /* ---- storage, beyond the page cache */
    double latency_ns;         /* of one small read, nothing else going on */
    double stream_bytes_per_s; /* one reader, large reads */
    double max_bytes_per_s;    /* any number of readers */
    double max_reads_per_s;    /* any number of readers, small reads */
};

/* Fills *profile from a name ("nvme"); PACK_ERR_NOT_FOUND names those there are. */
enum pack_status pack_profile_named(const char *name, struct pack_profile *profile,
                                    struct pack_error *err);
/* The i-th name from 0, NULL behind the last, and in *description (unless NULL) what it
 * stands for in words. Both are literals. */
const char *pack_profile_name(size_t i, const char **description);

/*
 * Reads the `size` bytes of a profile's JSON text, as `h5advise --calibrate` writes it.
 * What is missing, not positive or not finite is PACK_ERR_FORMAT, as are texts that are no
 * JSON (line and column); PACK_ERR_MEMORY.
 */
enum pack_status pack_profile_parse(const char *text, size_t size,
                                    struct pack_profile *profile, struct pack_error *err);

/* Nanoseconds of one process for the whole of the work, by cause. */
struct pack_cost {
    double call_ns;    /* H5Dread, selections, chunks visited, opening */
    double copy_ns;    /* from chunks to the caller */
    double page_ns;    /* file reads out of the page cache, and their bookkeeping */
    double storage_ns; /* what file reads take beyond that, coming from storage */
    double decode_ns;
    double walk_ns;  /* the library looking for a chunk to evict */
    double touch_ns; /* the system handing out memory */
    double cpu_ns;   /* all but storage */
    double total_ns;
};

#ifdef __cplusplus
}
#endif
#endif
