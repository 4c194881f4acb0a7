/* Named ranges of a thread's time, which NVIDIA's Nsight shows. Nothing where the build
 * found no NVTX headers, and next to nothing where no tool listens. */
#ifndef LIBPACK_NVTX_H
#define LIBPACK_NVTX_H

#include "config.h"

#ifdef HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#else
static inline int
nvtxRangePushA(const char *name)
{
    (void)name;
    return 0;
}
static inline int
nvtxRangePop(void)
{
    return 0;
}
#endif

/* Ranges of a thread nest; a name is a literal. */
static inline void
pack_nvtx_begin(const char *name)
{
    nvtxRangePushA(name);
}

static inline void
pack_nvtx_end(void)
{
    nvtxRangePop();
}

#endif
