/* Turns options that several programs have into the library's parameters. */
#ifndef TOOLS_JOB_OPTIONS_H
#define TOOLS_JOB_OPTIONS_H

#include <stdint.h>

#include "libpack/image/geometry.h"
#include "libpack/base/size.h"
#include <libpack/status.h>

/* What h5pack makes of an image, as --size, --crop, --shorter, --fit and --resample say
 * it; also where images are read that were not packed (--images). */
struct job_pixels {
    struct pack_shape size, crop; /* of CLI_SIDES; rank 0: not given */
    uint64_t shorter;
    int fit, resample; /* of CLI_CHOICE, in the order of their enumerations */
    bool draft;
};

/* Fills *geometry and checks it. */
enum pack_status job_geometry(const struct job_pixels *pixels,
                              struct pack_geometry *geometry, struct pack_error *err);

/* For a table of hints: what to say where images differ in size. */
#define JOB_GEOMETRY_HINT                                                                \
    CLI_HINT("geometry", PACK_OK,                                                        \
             "give them one, for example with --size 224x224, "                          \
             "or --shorter 256 --crop 224x224")

/* For those who gave no --seed; small enough to be typed again. */
uint64_t job_random_seed(void);

#endif
