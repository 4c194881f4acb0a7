/* What is wrong with how a dataset is stored and read: from facts and counts to sentences,
 * each with its numbers, its price and what to do. */
#ifndef LIBPACK_FINDINGS_H
#define LIBPACK_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/cachesim.h>
#include <libpack/shape.h>
#include "libpack/findings/severity.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PACK_FINDING_TEXT_MAX = 480,
    PACK_FINDING_REMEDY_MAX = 160,
    PACK_FINDINGS_MAX = 12 /* rules there may be */
};

struct pack_thresholds; /* thresholds.h */

/*
 * What is known of one configuration. Zero and rank 0 mean not known: a rule that needs
 * what is not known finds nothing, so that callers fill in what they have measured or
 * simulated.
 */
struct pack_finding_facts {
    const struct pack_thresholds *thresholds; /* NULL: each rule's own */
    struct pack_grid grid;                    /* rank 0: contiguous */
    bool is_filtered, is_compressed; /* compressed: chunks take other bytes than they hold */
    struct pack_cache_params cache;
    bool reads_whole_samples; /* one at a time, each one index of axis 0 */
    bool is_shared_block;     /* a block shuffle whose chunks are dealt to all workers */
    uint64_t workers;
    double epoch_samples; /* of all workers */

    struct pack_cache_counts counts; /* of one worker */
    double n_samples;                /* that the counts stand for */
    double peak_bytes;               /* most that one worker's cache ever held */
    double memory_bytes;             /* of all caches together */
    double allowed_bytes;            /* for them */

    /* samples/s of the same reads under other circumstances */
    double rate_default_1, rate_default_2; /* defaults of HDF5 1.x, and of 2.x */
    double rate_kept, rate_reopened;       /* dataset kept open; opened at each read */
    double rate_joined, rate_apart; /* scattered samples in one read; each in its own */
    double joined_elems;            /* elements of one such read; where there are no chunks,
                                     * runs along the last axis */
    uint64_t enough_slots; /* the smallest number without collisions; as today and with it: */
    double rate_today, rate_enough; /* samples/s of later epochs */
    double read_today, read_enough; /* bytes from the file for a sample */

    int missing_filter; /* 0: none */
    const char *need;   /* "needs the filter szip (4), which ..." */
};

struct pack_finding {
    int code; /* stable: 100 on for layouts, 200 on for caches, 300 on for reading */
    const char *id; /* "bypass-cliff" */
    enum pack_finding_severity severity;
    double value;       /* the number that makes it one: a factor or bytes */
    double price_bytes; /* read, stored or held in vain: per epoch where they are read */
    double price_s;     /* seconds per epoch lost; 0: none, or not known */
    char evidence[PACK_FINDING_TEXT_MAX];
    char remedy[PACK_FINDING_REMEDY_MAX]; /* "": nothing is to be done */
};

/* Applies every rule, in the order of the table; returns how many of up to `max` found
 * something. A pure function. */
size_t pack_findings_find(const struct pack_finding_facts *facts,
                          struct pack_finding *findings, size_t max);

#ifdef __cplusplus
}
#endif
#endif
