/* One record of a source to one finished sample, on the caller's thread: read, decoded,
 * resampled. The workers of a stream (samples.h) have one each. */
#ifndef LIBPACK_SAMPLE_CHAIN_H
#define LIBPACK_SAMPLE_CHAIN_H

#include "libpack/base/pool.h"
#include "libpack/convert/sample.h"

/* What is kept from image to image, so that a steady stream allocates nothing. */
struct pack_sample_chain {
    const struct pack_samples_params *params; /* borrowed */
    struct pack_budget *budget; /* asked before anything large is allocated; or NULL */
    uint64_t keep_bytes;        /* what one image made it allocate beyond is given back */
    uint8_t *bytes;             /* the file */
    size_t capacity;
    int errnum; /* of the system's, when the file could not be read; else 0 */
    struct pack_image image;
    struct pack_resample_scratch *scratch;
};

/* Where pixels go: grown with realloc() when too small, which it never is when it holds
 * a sample of the size that the parameters demand (out_h x out_w). */
struct pack_sample_place {
    uint8_t *pixels;
    size_t capacity;
};

/* pack_sample_chain_done() releases in any case. */
enum pack_status pack_sample_chain_init(struct pack_sample_chain *chain,
                                        const struct pack_samples_params *params,
                                        struct pack_budget *budget, uint64_t keep_bytes,
                                        struct pack_error *err);
void pack_sample_chain_done(struct pack_sample_chain *chain);

/* What an error of the system says of a file: 0, it was not the system's, or the file's
 * own fault; what may be the whole disk's; or the machine's. */
enum pack_sample_outcome pack_sample_outcome_of(int errnum);

/* Fills *sample whatever becomes of record `index`; pixels point into *place. */
void pack_sample_chain_run(struct pack_sample_chain *chain, uint64_t index,
                           struct pack_sample_place *place, struct pack_sample *sample);

#endif
