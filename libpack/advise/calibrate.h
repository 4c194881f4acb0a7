/* Measures a machine profile: storage, page cache, processor, codecs and HDF5 itself. */
#ifndef LIBPACK_CALIBRATE_H
#define LIBPACK_CALIBRATE_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/profile.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pack_calibrate_params {
    /* The processor's part alone, in memory and in less than three seconds: storage and
     * rare terms (walks, opening by name) stay those of profile "nvme". `dir` and
     * `size_bytes` are not looked at. */
    bool is_quick;
    const char *dir; /* a folder on the storage in question, for a scratch file */
    /* Of the scratch file at its largest; 0: 1 GiB, which fits no processor's caches. */
    uint64_t size_bytes;
    uint64_t seed;
    struct pack_watch watch; /* "measuring", between steps */
};

struct pack_calibration {
    struct pack_profile profile; /* named after the folder */
    /* Reads meant to be cold: bytes that mincore() still found in memory although
     * posix_fadvise(POSIX_FADV_DONTNEED) had asked for their removal. When they are more
     * than a few the storage terms describe the page cache (a tmpfs, say). */
    uint64_t cold_bytes, still_cached_bytes;
    bool is_cold;
};

/*
 * Takes about half a minute and size_bytes of space, in a file without a name: nothing is
 * left of it, however this process ends.
 * Needs no privileges. Cold reads are timed by the clock, so that what else reads from
 * the same storage meanwhile is in them; all else by the processor time it takes.
 *
 * Each figure is the fastest third of several rounds, averaged. Processor terms come from
 * reads that differ in one respect (another chunk, another run, a longer list to walk);
 * terms too small to be told from noise become 0.01 ns. PACK_ERR_IO names the folder.
 */
enum pack_status pack_calibrate(const struct pack_calibrate_params *params,
                                struct pack_calibration *result, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
