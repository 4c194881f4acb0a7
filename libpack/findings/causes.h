/* The main loss of time in how a dataset is stored and read, as a sentence. */
#ifndef LIBPACK_CAUSES_H
#define LIBPACK_CAUSES_H

#include <stdbool.h>

#include "libpack/findings/findings.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PACK_CAUSE_TEXT_MAX = 480 };

/* What some epochs took, predicted or measured. Zero means none, or not known. */
struct pack_cause_facts {
    struct pack_grid grid; /* rank 0: contiguous */
    bool is_filtered;
    struct pack_cache_params cache;
    bool reads_whole_samples; /* else parts of them, or longer boxes */
    bool reopens;             /* by name at each read */
    uint64_t workers;

    struct pack_cache_counts counts; /* of so many samples: */
    double n_samples;
    double read_bytes;       /* that one read wants */
    double loads_per_sample; /* chunks, or pieces read past the cache */
    double amplification;    /* bytes read / bytes wanted */
    double hit_rate;         /* hits / requests */
    double stored_factor;    /* of the file: its bytes / those of its data, encoded alike */
    double peak_bytes;       /* most that one worker's cache held */
    double decode_rate;      /* of the time of reading: decoding */
    double decodes_per_chunk; /* of all workers, in an epoch; 0: not known */
};

/*
 * Writes the first cause that applies, the most expensive first, and returns its name
 * ("collisions"); NULL, with a sentence that says so, where nothing is lost to the layout.
 * A pure function.
 */
const char *pack_causes_find(const struct pack_cause_facts *facts,
                             char text[PACK_CAUSE_TEXT_MAX]);

#ifdef __cplusplus
}
#endif
#endif
