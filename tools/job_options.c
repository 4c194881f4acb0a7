#include "tools/job_options.h"

#include <time.h>
#include <unistd.h>

#include "libpack/base/rng.h"

enum pack_status
job_geometry(const struct job_pixels *pixels, struct pack_geometry *geometry,
             struct pack_error *err)
{
    *geometry = (struct pack_geometry){
        .fit = (enum pack_fit)pixels->fit,
        .filter = (enum pack_resample_filter)pixels->resample,
        .shorter = (uint32_t)pixels->shorter,
        .size_h = (uint32_t)pixels->size.extent[0],
        .size_w = (uint32_t)pixels->size.extent[1],
        .crop_h = (uint32_t)pixels->crop.extent[0],
        .crop_w = (uint32_t)pixels->crop.extent[1],
        .draft = pixels->draft,
    };
    return pack_geometry_check(geometry, err);
}

uint64_t
job_random_seed(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return pack_rng_mix((uint64_t)now.tv_sec,
                        (uint64_t)now.tv_nsec ^ (uint64_t)getpid()) >>
           32;
}
