/* The memory that making samples takes, from what headers say. */
#ifndef LIBPACK_SAMPLE_MEMORY_H
#define LIBPACK_SAMPLE_MEMORY_H

#include "libpack/convert/sample.h"

/* Of memory for reading and decoding, what each thread may keep from image to image, and
 * the budget, which is the rest: no image can take more. */
uint64_t pack_sample_keep_bytes(uint64_t memory_bytes, unsigned n_threads);
uint64_t pack_sample_budget_bytes(uint64_t memory_bytes, unsigned n_threads);

/* What reading, decoding and resampling a file of so many bytes holds at its peak. */
uint64_t pack_sample_need_bytes(const struct pack_samples_params *params,
                                const struct pack_image_info *info, uint64_t file_bytes);

#endif
