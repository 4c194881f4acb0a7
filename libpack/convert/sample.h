/* One image as it goes into a file, and the parameters by which samples are made: what a
 * stream of them (samples.h) and each of its threads (sample_chain.h) speak of. */
#ifndef LIBPACK_SAMPLE_H
#define LIBPACK_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/image.h>
#include "libpack/source/records.h"
#include <libpack/status.h>

enum pack_sample_outcome {
    PACK_SAMPLE_READY = 0, /* pixels are there (after a header scan: info is) */
    PACK_SAMPLE_REJECTED,  /* the file's own fault: damaged, unsupported */
    PACK_SAMPLE_MISSING,   /* not there, not permitted or not readable: the file's own
                              fault where others are read, else the machine's */
    PACK_SAMPLE_FAILED     /* the machine's: I/O error, no memory, a file that changed
                              meanwhile */
};

enum { PACK_SAMPLE_REASON_MAX = 256 };

struct pack_sample {
    uint64_t index; /* of the record */
    size_t slot;    /* below the n_slots of a stream: what it has in flight has another */
    enum pack_sample_outcome outcome;
    enum pack_status status;             /* why not READY */
    char reason[PACK_SAMPLE_REASON_MAX]; /* one sentence, without the file's name */
    bool over_memory; /* FAILED: memory_bytes does not hold need_bytes */
    int unread; /* the format, where that is why: see pack_image_kind() */

    const uint8_t *pixels; /* out_h * out_w * channels bytes; NULL where none are asked */
    uint32_t out_h, out_w;
    uint64_t sum[3], sumsq[3]; /* of the pixels, per channel */
    struct pack_image_info info;
    uint64_t need_bytes; /* that making it takes at its peak, as far as that is known */
    bool is_read; /* the file was there, and was read */
    uint64_t file_bytes;
    int64_t file_mtime_ns;
    uint64_t read_ns, read_bytes; /* opening and reading the file, or what was needed */
};

struct pack_samples_params {
    const struct pack_source *source;
    uint64_t first; /* record to start from */
    struct pack_image_params image;
    struct pack_geometry geometry;
    enum pack_pixel_layout layout;
    bool headers_only; /* no pixels: read what the headers say */
    bool ranges_only;  /* no pixels: decode those of 16 bits for what info has then */
    bool no_readahead;
    bool no_sums;          /* sum and sumsq stay 0 */
    uint32_t out_h, out_w; /* size that every sample must have; 0: any */
    unsigned n_threads;
    uint64_t memory_bytes; /* for reading and decoding; what needs more fails */
    uint64_t max_file_bytes; /* larger files are rejected; 0: none is */
    size_t n_slots;        /* samples in flight, at least 2; 0: 4 per thread and 4 */
    struct pack_watch watch; /* asked while files are waited for */
    /* Called for each sample on the thread that made it, while that processor's cache
     * holds it; `worker` as in pool.h. May be NULL. */
    void (*on_made)(void *context, unsigned worker, const struct pack_sample *sample);
    void *context;
};

#endif
