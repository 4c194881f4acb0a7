/* What of a dataset's samples is channels, height and width, and how to normalise them;
 * the workloads of MLPerf Storage. */
#include <stdlib.h>
#include <string.h>

#include "libpack/bench/bench_pixels.h"
#include "libpack/hdf5/facts_layout.h"

static const struct pack_bench_preset presets[] = {
    { "resnet50-h100", 400, UINT64_C(224000000), 0.9 },
    { "resnet50-a100", 400, UINT64_C(435000000), 0.9 },
    { "unet3d-h100", 7, UINT64_C(323000000), 0.9 },
    { "cosmoflow-h100", 1, UINT64_C(3500000), 0.7 },
};

const struct pack_bench_preset *
pack_bench_preset_find(const char *name)
{
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    return NULL;
}

/* What the file says, else what the extents look like. */
static bool
channels_are_last(const struct pack_facts *facts, const uint64_t *sample)
{
    switch (pack_facts_layout(facts)) {
    case PACK_FACTS_NHWC: return true;
    case PACK_FACTS_NCHW: return false;
    default: return sample[2] <= 4 && sample[0] > 4;
    }
}

bool
pack_bench_pixels(const struct pack_facts *facts, const struct pack_shape *box,
                  int layout, struct pack_normalise *normalise)
{
    const struct pack_type *type = &facts->type;
    uint64_t sample[3] = { 1, 1, 1 };
    int rank = facts->extent.rank;
    if (type->class_id != PACK_TYPE_INTEGER || type->bytes != 1 || type->is_signed ||
        rank < 3 || rank > 4 || (box->rank && box->extent[0] != 1))
        return false;
    for (int i = 1; i < rank; i++)
        sample[i + 3 - rank] = box->rank ? box->extent[i] : facts->extent.extent[i];
    bool last = rank == 4 && (layout >= 0 ? layout == PACK_PIXEL_NHWC
                                          : channels_are_last(facts, sample));
    uint64_t c = last ? sample[2] : sample[0], h = last ? sample[0] : sample[1],
             w = last ? sample[1] : sample[2];
    if (c > PACK_NORMALISE_CHANNELS_MAX || h > UINT16_MAX || w > UINT16_MAX)
        return false;
    normalise->channels = (uint32_t)c;
    normalise->height = (uint32_t)h;
    normalise->width = (uint32_t)w;
    normalise->layout = last ? PACK_PIXEL_NHWC : PACK_PIXEL_NCHW;
    return true;
}

/* "0.485,0.456,0.406": as many as there are channels, or one for all. */
static enum pack_status
parse_list(const char *text, uint32_t n, double *values, struct pack_error *err)
{
    char *end;
    const char *at = text;
    uint32_t got = 0;
    for (;; at = end + 1) {
        double value = strtod(at, &end);
        if (end == at || got == n || (*end != '\0' && *end != ','))
            break;
        values[got++] = value * 255;
        if (*end == '\0') {
            for (uint32_t i = got; got == 1 && i < n; i++)
                values[i] = values[0];
            if (got == 1 || got == n)
                return PACK_OK;
            break;
        }
    }
    return pack_fail(err, PACK_ERR_ARGUMENT,
                     "'%.80s' is not a list of %u numbers between commas", text, n);
}

enum pack_status
pack_bench_scale(const struct pack_facts *facts, const char *mean_text,
                 const char *std_text, struct pack_normalise *normalise,
                 struct pack_error *err)
{
    double mean[PACK_NORMALISE_CHANNELS_MAX], std[PACK_NORMALISE_CHANNELS_MAX];
    int n = (int)normalise->channels;
    bool stored = facts && facts->n_mean == n && facts->n_std == n;
    enum pack_status status = PACK_OK;
    for (int c = 0; c < n; c++) {
        mean[c] = stored ? facts->mean[c] : 0;
        std[c] = stored && facts->std[c] > 0 ? facts->std[c] : 255;
    }
    if (mean_text && (status = parse_list(mean_text, normalise->channels, mean, err)))
        return pack_error_param(err, status, "mean");
    if (std_text && (status = parse_list(std_text, normalise->channels, std, err)))
        return pack_error_param(err, status, "std");
    return pack_normalise_set(normalise, mean, std, err);
}
