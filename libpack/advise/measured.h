/* What was measured of a file before and after a search; see libpack/bench/measure.h, which
 * fills it in. */
#ifndef LIBPACK_MEASURED_H
#define LIBPACK_MEASURED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rates are samples/s. */
struct pack_measured {
    double resident_rate;  /* of the file's bytes in the page cache; negative: not known */
    bool storage_measured; /* past the page cache, on the file; else assumed */
    bool has_now;          /* today's settings were read on the file: */
    double now_first, now_later;           /* measured */
    uint64_t cold_samples; /* read first, of a file that was not in the page cache, which
                              now_first tells of; 0: it was */
    uint64_t cold_batch;   /* samples of a batch then */
    bool later_unseen; /* now_later is what the same reads gave again, out of the page cache */
    bool is_held; /* since then the file lies in the page cache, and can stay there */
    double modelled_first, modelled_later; /* by the model alone, for the same reads */
    bool proven;                           /* rows were proven, not only looked at */
    uint32_t n_rounds;                     /* of the comparison of rows */
    uint64_t n_samples;                    /* that each copy held */
    size_t n_rows;    /* whose rate was measured */
    double now_ratio; /* today's settings on the file over what their copy foretells, the
                         pages of both taken into account */
    double now_warm;  /* later epochs of today's settings if the page cache held the file; 0:
                         not measured */
    uint64_t elapsed_ns;
    bool processor_assumed; /* its own calibration failed */
    char why_not[320]; /* what could not be measured, the first of it, and why: a sentence
                          without end; "": nothing failed */
};

#endif
