/* From what a user says of a consumer to its parameters: presets, and how images are
 * normalised. */
#ifndef LIBPACK_BENCH_PIXELS_H
#define LIBPACK_BENCH_PIXELS_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/dataset.h>
#include <libpack/shape.h>
#include <libpack/status.h>
#include "libpack/image/normalise.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Workloads of MLPerf Storage: samples of a step, its computing time, and the accelerator
 * utilisation that a storage system must allow. NULL for an unknown name. */
struct pack_bench_preset {
    const char *name; /* "resnet50-h100" */
    uint64_t batch, step_ns;
    double au_min;
};
const struct pack_bench_preset *pack_bench_preset_find(const char *name);

/*
 * Whether samples are uint8 images that can be normalised, and their geometry. box: of
 * the pattern, rank 0 for whole samples. layout: an enum pack_pixel_layout, or -1: as the
 * axis labels say, else as it looks.
 */
bool pack_bench_pixels(const struct pack_facts *facts, const struct pack_shape *box,
                       int layout, struct pack_normalise *normalise);

/*
 * Mean and standard deviation of a normalisation that has its geometry: from the texts
 * ("0.485,0.456,0.406", of values 0 to 1), else the dataset's attributes, else 0 and 1.
 * PACK_ERR_ARGUMENT.
 */
enum pack_status pack_bench_scale(const struct pack_facts *facts, const char *mean,
                                  const char *std, struct pack_normalise *normalise,
                                  struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
