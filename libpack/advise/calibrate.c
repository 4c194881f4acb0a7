/* The order of the measurements, and what they have in common. */
#include "libpack/advise/calibrate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libpack/advise/calibrate_parts.h"
#include "libpack/base/fd.h"
#include "libpack/base/pool.h"
#include "libpack/base/sort.h"

enum { QUICK_BYTES = 64 << 20 };

double
pack_lab_fastest(double *times, size_t n)
{
    double sum = 0;
    size_t third = (n + 2) / 3;
    pack_sort_doubles(times, n);
    for (size_t i = 0; i < third; i++)
        sum += times[i];
    return sum / (double)third;
}

double
pack_lab_positive(double value)
{
    return value > 0.01 ? value : 0.01;
}

/* A file in the folder, or in memory, which no way out leaves behind. */
static enum pack_status
claim(struct pack_lab *lab, struct pack_error *err)
{
    const struct pack_calibrate_params *params = lab->params;
    lab->where = params->is_quick ? "memory" : params->dir;
    lab->fd = params->is_quick ? memfd_create("h5pack calibration", MFD_CLOEXEC)
                               : pack_fd_open_nameless(params->dir);
    if (lab->fd < 0)
        return pack_fail_errno(err, errno, "cannot write in '%s'", lab->where);
    snprintf(lab->path, sizeof lab->path, "/proc/self/fd/%d", lab->fd);
    return PACK_OK;
}

enum pack_status
pack_calibrate(const struct pack_calibrate_params *params,
               struct pack_calibration *result, struct pack_error *err)
{
    typedef enum pack_status (*step_fn)(struct pack_lab *, struct pack_error *);
    static const step_fn thorough[] = { pack_lab_storage, pack_lab_memory, pack_lab_codecs,
                                        pack_lab_hdf5 },
                         quick[] = { pack_lab_page_cache, pack_lab_memory, pack_lab_codecs,
                                     pack_lab_calls };
    enum { N_STEPS = sizeof thorough / sizeof *thorough };
    const step_fn *steps = params->is_quick ? quick : thorough;
    struct pack_lab lab = { .params = params, .result = result, .fd = -1 };
    enum pack_status status;
    memset(result, 0, sizeof *result);
    lab.profile = &result->profile;
    lab.size_bytes = params->is_quick     ? QUICK_BYTES
                     : params->size_bytes ? params->size_bytes
                                          : UINT64_C(1) << 30;
    lab.n_rounds = params->is_quick ? PACK_LAB_QUICK_ROUNDS : PACK_LAB_ROUNDS;
    lab.n_chunks = params->is_quick ? 8000 : 40000;
    if (lab.size_bytes < 2 * PACK_LAB_BUFFER)
        return pack_fail(err, PACK_ERR_ARGUMENT, "a calibration needs at least 32 MiB");
    pack_rng_seed(&lab.rng, params->seed);
    status = pack_profile_named("nvme", lab.profile, err);
    if (status != PACK_OK)
        return status;
    snprintf(lab.profile->name, sizeof lab.profile->name, "%.60s",
             params->is_quick ? "this machine" : params->dir);
    lab.profile->is_measured = true;
    lab.profile->n_cpus = pack_pool_default_threads();
    lab.buffer = aligned_alloc(PACK_LAB_PAGE, PACK_LAB_BUFFER);
    if (!lab.buffer)
        return pack_fail_memory(err, "measuring");
    status = claim(&lab, err);
    for (int i = 0; status == PACK_OK && i < N_STEPS; i++) {
        status = steps[i](&lab, err);
        pack_watch_tell(&params->watch, &(struct pack_progress){ .stage = "measuring",
                                                                 .unit = "steps",
                                                                 .done = (uint64_t)i + 1,
                                                                 .total = N_STEPS });
        if (status == PACK_OK)
            status = pack_watch_check(&params->watch, err);
    }
    if (lab.fd >= 0)
        close(lab.fd);
    free(lab.buffer);
    return status;
}
