/* What the parts of the calibration share. */
#ifndef LIBPACK_CALIBRATE_PARTS_H
#define LIBPACK_CALIBRATE_PARTS_H

#include <stddef.h>

#include "libpack/advise/calibrate.h"
#include "libpack/base/rng.h"

enum { PACK_LAB_ROUNDS = 15, PACK_LAB_QUICK_ROUNDS = 5, PACK_LAB_PATH_MAX = 64 };

/* Where measurements happen. */
struct pack_lab {
    const struct pack_calibrate_params *params;
    const char *where;            /* for messages: the folder, or "memory" */
    char path[PACK_LAB_PATH_MAX]; /* that opens the scratch file, which has no name */
    int fd;                       /* of it, or -1 */
    uint64_t size_bytes;
    struct pack_rng rng;
    size_t n_rounds;   /* of each measurement, up to PACK_LAB_ROUNDS */
    uint64_t n_chunks; /* of the dataset whose reads are timed */
    unsigned char *buffer; /* PACK_LAB_BUFFER bytes, from the start of a page */
    struct pack_profile *profile;
    struct pack_calibration *result;
};

/*
 * Where a copy starts a few bytes further in its page than its source does in its own,
 * processors of AMD's Zen 3 and 4 copy 10 to 20 times slower ("rep movsb"; glibc's bug
 * 30994). That meets one copy in 64 of those made to any place, and would meet all of ours, were
 * they made to what malloc gives: 16 bytes into a page.
 */
enum { PACK_LAB_BUFFER = 16 << 20, PACK_LAB_PAGE = 4096 };

/* The mean of the fastest third of n times; sorts them. */
double pack_lab_fastest(double *times, size_t n);

/* `value`, or next to nothing where noise made it smaller. */
double pack_lab_positive(double value);

/* The parts, in the order in which they need each other's results. */
enum pack_status pack_lab_storage(struct pack_lab *lab, struct pack_error *err);
/* The page cache alone, without a disk. */
enum pack_status pack_lab_page_cache(struct pack_lab *lab, struct pack_error *err);
enum pack_status pack_lab_memory(struct pack_lab *lab, struct pack_error *err);
enum pack_status pack_lab_codecs(struct pack_lab *lab, struct pack_error *err);
enum pack_status pack_lab_hdf5(struct pack_lab *lab, struct pack_error *err);
/* Of the terms of pack_lab_hdf5, those that most reads consist of. */
enum pack_status pack_lab_calls(struct pack_lab *lab, struct pack_error *err);

#endif
