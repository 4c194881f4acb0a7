/* What threads may keep, what one image may take, and what one does take. */
#include "libpack/convert/sample_memory.h"

#include "libpack/base/size.h"
#include "libpack/image/resample.h"

/* What a worker holds on to from image to image; what one giant image made it allocate
 * beyond that is given back. */
static const uint64_t KEEP_MAX = 64 << 20;

uint64_t
pack_sample_keep_bytes(uint64_t memory_bytes, unsigned n_threads)
{
    uint64_t share = memory_bytes / 4 / n_threads;
    return share < KEEP_MAX ? share : KEEP_MAX;
}

uint64_t
pack_sample_budget_bytes(uint64_t memory_bytes, unsigned n_threads)
{
    return memory_bytes - n_threads * pack_sample_keep_bytes(memory_bytes, n_threads);
}

static uint64_t
add(uint64_t a, uint64_t b)
{
    return pack_size_add(a, b, &a) ? a : UINT64_MAX;
}

/* What reading, decoding and resampling this file holds at its peak. */
static uint64_t
upright_bytes(const struct pack_samples_params *params,
              const struct pack_image_info *info, uint64_t file_bytes)
{
    struct pack_image_params image = params->image;
    struct pack_geometry_plan plan;
    uint64_t need = file_bytes;
    if (pack_geometry_plan_image(&params->geometry, info, &plan, NULL) == PACK_OK) {
        image.reduce = plan.reduce;
        need = add(need, pack_resample_bytes(&plan));
    }
    return add(need, pack_image_decode_bytes(info, &image));
}

/* Turned or not, where that is not known yet. */
uint64_t
pack_sample_need_bytes(const struct pack_samples_params *params,
                       const struct pack_image_info *info, uint64_t file_bytes)
{
    struct pack_image_info turned = *info;
    turned.width = info->height;
    turned.height = info->width;
    uint64_t need = upright_bytes(params, info, file_bytes);
    uint64_t other = info->partial ? upright_bytes(params, &turned, file_bytes) : 0;
    return need > other ? need : other;
}
