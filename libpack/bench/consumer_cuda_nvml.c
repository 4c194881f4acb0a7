/* NVIDIA's management library, loaded at run time: what nvidia-smi would show
 * meanwhile. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/clock.h"
#include "libpack/bench/consumer_cuda_driver.h"
#include "libpack/base/pool.h"

/* As in nvml.h. */
struct nvml_utilisation {
    unsigned gpu, memory; /* per cent */
};
enum { NVML_PCIE_RX = 1 };

struct nvml_sample {
    bool ok;
    struct nvml_utilisation utilisation;
    unsigned rx_kib_per_s;
};

struct pack_nvml {
    void *library;
    void *device;
    int (*init)(void);
    int (*shutdown)(void);
    int (*handle_by_uuid)(const char *uuid, void **device);
    int (*utilisation)(void *device, struct nvml_utilisation *utilisation);
    int (*pcie)(void *device, int counter, unsigned *kib_per_s);
    int (*driver_version)(char *text, unsigned size);
    char driver[64];
    bool started;
    struct pack_pool *pool; /* one thread, at most one sample in flight */
    struct nvml_sample sample;
    uint64_t next_ns;
    unsigned n_samples;
    double utilisation_sum, rx_sum;
};

static const uint64_t interval_ns = 250000000;

static void
take_sample(void *item, unsigned worker, void *context)
{
    struct pack_nvml *nvml = context;
    struct nvml_sample *sample = item;
    (void)worker;
    sample->ok = nvml->utilisation(nvml->device, &sample->utilisation) == 0;
    if (!sample->ok || nvml->pcie(nvml->device, NVML_PCIE_RX, &sample->rx_kib_per_s) != 0)
        sample->rx_kib_per_s = 0;
}

static bool
load(struct pack_nvml *nvml)
{
    const struct {
        void **function;
        const char *symbol;
    } table[] = {
        { (void **)&nvml->init, "nvmlInit_v2" },
        { (void **)&nvml->shutdown, "nvmlShutdown" },
        { (void **)&nvml->handle_by_uuid, "nvmlDeviceGetHandleByUUID" },
        { (void **)&nvml->utilisation, "nvmlDeviceGetUtilizationRates" },
        { (void **)&nvml->pcie, "nvmlDeviceGetPcieThroughput" },
        { (void **)&nvml->driver_version, "nvmlSystemGetDriverVersion" },
    };
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!nvml->library)
        return false;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!(*table[i].function = dlsym(nvml->library, table[i].symbol)))
            return false;
    return true;
}

struct pack_nvml *
pack_nvml_open(const char *uuid)
{
    struct pack_nvml *nvml = calloc(1, sizeof *nvml);
    if (!nvml)
        return NULL;
    struct pack_pool_lane lane = { .work = take_sample,
                                   .context = nvml,
                                   .in_flight_max = 1 };
    nvml->started = load(nvml) && nvml->init() == 0;
    if (nvml->started && nvml->handle_by_uuid(uuid, &nvml->device) == 0 &&
        pack_pool_new(1, &lane, 1, &nvml->pool, NULL) == PACK_OK) {
        if (nvml->driver_version(nvml->driver, sizeof nvml->driver) != 0)
            nvml->driver[0] = '\0';
        return nvml;
    }
    pack_nvml_close(nvml);
    return NULL;
}

static void
collect(struct pack_nvml *nvml, const struct nvml_sample *sample)
{
    if (!sample || !sample->ok)
        return;
    nvml->n_samples++;
    nvml->utilisation_sum += sample->utilisation.gpu / 100.0;
    nvml->rx_sum += sample->rx_kib_per_s * 1024.0;
}

void
pack_nvml_tick(struct pack_nvml *nvml)
{
    if (!nvml || pack_clock_ns() < nvml->next_ns)
        return;
    collect(nvml, pack_pool_try_next(nvml->pool, 0));
    if (pack_pool_has_room(nvml->pool, 0))
        pack_pool_submit(nvml->pool, 0, &nvml->sample);
    nvml->next_ns = pack_clock_ns() + interval_ns;
}

void
pack_nvml_result(struct pack_nvml *nvml, struct pack_device_result *result)
{
    if (!nvml)
        return;
    collect(nvml, pack_pool_next(nvml->pool, 0));
    if (nvml->driver[0]) {
        size_t n = strlen(result->driver);
        snprintf(result->driver + n, sizeof result->driver - n, ", driver %s",
                 nvml->driver);
    }
    result->n_samples = nvml->n_samples;
    if (nvml->n_samples == 0)
        return;
    result->utilisation = nvml->utilisation_sum / nvml->n_samples;
    result->pcie_bytes_per_s = nvml->rx_sum / nvml->n_samples;
}

void
pack_nvml_close(struct pack_nvml *nvml)
{
    if (!nvml)
        return;
    pack_pool_free(nvml->pool);
    if (nvml->started)
        nvml->shutdown();
    if (nvml->library)
        dlclose(nvml->library);
    free(nvml);
}
