/* h5advise --calibrate: measures a machine and writes its profile. */
#ifndef TOOLS_ADVISE_CALIBRATE_H
#define TOOLS_ADVISE_CALIBRATE_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/status.h>
#include "libpack/base/buf.h"
#include "tools/cli.h"

struct advise_calibrate_options {
    const char *dir, *output; /* output: NULL with json */
    uint64_t seed;
    bool json, force;
};

/* Measures the storage under a folder and the machine, writes the profile, and appends what
 * is to be printed to *text. watch is that of *progress. */
enum pack_status advise_calibrate(const struct advise_calibrate_options *options,
                                  const struct pack_watch *watch,
                                  struct cli_progress *progress, struct pack_buf *text,
                                  struct pack_error *err);

#endif
