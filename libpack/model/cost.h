/* Turns counts of reads, loads and bytes into time on a described machine. */
#ifndef LIBPACK_COST_H
#define LIBPACK_COST_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/cachesim.h>
#include <libpack/dataset.h>
#include <libpack/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What one reading process does in one epoch. */
struct pack_cost_work {
    uint64_t n_reads; /* calls of H5Dread */
    struct pack_cache_counts counts;
    double n_runs;          /* contiguous runs copied, over all requests */
    double n_boxes;         /* boxes selected, over all reads */
    /* Elements of reads that select several boxes of chunks; with one dimension none, for
     * there shapes do not differ. */
    double n_elems;
    int rank;               /* dimensions that these have; 0: two */
    uint64_t n_opens;       /* times the dataset is opened by name */
    uint64_t n_slots;       /* of its cache */
    uint64_t chunk_bytes;   /* decoded; 0: contiguous */
    double stored_bytes;    /* of a chunk in the file, the average */
    double visit_bytes;     /* of a chunk, from the first to the last that a visit past the
                               cache takes; 0: all of the chunk */
    double held_bytes;      /* that the cache holds once it is full */
    double touched_bytes;   /* memory used for the first time in this epoch */
    double batch_bytes;     /* of the batches that samples are delivered into in turn */
    double range_bytes;     /* of the file, among which loads return to the same chunks */
    double n_again;         /* loads that return to a chunk loaded before */
    double n_searched;      /* chunks of a version 1 B-tree among which loads jump; 0: none */
    double decode_ns;       /* per byte of a decoded chunk; 0: no filters */
    double page_cache_rate; /* 0 to 1: file bytes that are in the page cache */
    bool is_sequential;     /* file reads follow one another: the system reads ahead */
};

/* About what HDF5 keeps about a cached chunk, scattered over the heap. */
enum { PACK_COST_ENTRY_BYTES = 350 };

/* The part of so many bytes that a core's own cache does not hold: 0 where all is near, 1
 * where hardly anything is. */
double pack_cost_far_part(double bytes);

/*
 * `readers`: processes that do such work at the same time, for the storage they share.
 * The terms are those of struct pack_profile and add up; that they do, and how far that
 * is true, is what `make bench-regret` measures.
 *
 *   call     reads * call + further chunks * chunk + further boxes * box
 *            + elements of reads of several boxes * (elem + dimensions beyond two * axis)
 *            + hits * far, where the cache is larger than the processor's
 *            + opens * (open + slots * slot)
 *   copy     bytes * copy(bytes held; the chunk, when it was just loaded)
 *            + further runs * run
 *            + where the batches are larger than the processor's cache, bytes that pass
 *            HDF5's * place, bytes copied out of it * what copy() takes more from afar
 *   page     loads * (miss + search + page(stored chunk))
 *            + direct visits * (miss + search + page(bytes of one)) + further pieces * piece
 *            + loaded bytes * place, where the cache is larger than the processor's
 *            - what copy() says that loads gain which return to a range of chunks, of
 *            page() at most the part by which that range is copied faster than memory;
 *            search: up to 6 * far, where a B-tree is larger than the processor's caches
 *   storage  requests not in the page cache * the largest of latency + bytes / stream,
 *            readers * bytes / max and readers / max_reads; no latency where reads are
 *            sequential. A load is one request. So is a piece read past the cache, or
 *            the pieces within 128 KiB, where the system reads ahead: twice as far as
 *            they lie, and no further than that
 *   decode   decoded bytes * ns of the pipeline
 *   walk     entries looked at * walk, or walk_far in lists beyond the processor's caches
 *   touch    first-time bytes * touch
 */
void pack_cost_estimate(const struct pack_profile *profile,
                        const struct pack_cost_work *work, uint64_t readers,
                        struct pack_cost *cost);

/* What the threads of libpack's reader do together for some samples. */
struct pack_cost_reader_work {
    double n_batches, n_visits; /* visits: of a chunk, in a batch */
    double n_reads, read_bytes; /* of chunks without filters, straight to their places */
    double n_loads, load_bytes; /* chunks that are decoded; bytes of them in the file */
    double n_hits, copy_bytes;  /* decoded ones that are there; copied out of both */
    double n_short_runs, n_runs; /* in runs of up to 8 bytes, and of more */
    double chunk_bytes, held_bytes; /* of one decoded; of all that are kept */
    double batch_bytes, decode_ns, page_cache_rate; /* as above */
    bool is_sequential;
};

/*
 * The same of that: there is no library between, no lock and no fresh memory.
 *
 *   call     visits * visit + batches * hand-over, parts and multiples of what a call of
 *            HDF5 takes on this machine
 *   copy     bytes * copy(bytes kept; the chunk, when it was just decoded)
 *            + where the batches are larger than the processor's cache, as above
 *            + runs, parts of a call
 *   page     reads * page(bytes of one) + loads * page(bytes of one)
 *   storage, decode   as above
 *
 * pack_cost_rate() makes a rate of it, `workers` being the threads.
 */
void pack_cost_reader(const struct pack_profile *profile,
                      const struct pack_cost_reader_work *work, uint64_t n_threads,
                      struct pack_cost *cost);

/* How often a second that can be done at most, by however many threads: batches are planned
 * one after another, visit by visit. Infinite without visits. */
double pack_cost_reader_most(const struct pack_profile *profile,
                             const struct pack_cost_reader_work *work);

/* Adds what something takes that is done so many times. */
void pack_cost_add(struct pack_cost *sum, const struct pack_cost *part, double times);

/*
 * Samples per second of `workers` processes, each of which needs *cost for `n_samples`:
 * bounded by each one's own time, and by the processors that they share. n_samples >= 1.
 */
double pack_cost_rate(const struct pack_profile *profile, const struct pack_cost *cost,
                      double n_samples, uint64_t workers);

/*
 * ns per decoded byte of a pipeline that stores so many bytes for one (0: not known): what
 * does not compress lies in the file as it is, in blocks that decoding only copies, and what
 * compresses well is decoded faster. Filters that no profile knows count as zstd.
 */
double pack_cost_decode_ns(const struct pack_profile *profile,
                           const struct pack_pipeline *pipeline, double stored_rate);

/*
 * The part of a file's bytes that an earlier epoch left in the page cache, when
 * `ram_bytes` of it are there for `file_bytes` of file.
 *
 * As if the system kept the most recently used pages. A fresh permutation in each epoch
 * finds f + (1 - f) ln(1 - f) of them, f = ram/file: what lay at x of the last epoch and
 * lies at y of this one is still there when 1 - x (1 - y) <= f. Independent draws find f,
 * a sequential order nothing until everything fits.
 */
enum pack_cost_order {
    PACK_COST_SEQUENTIAL = 0,
    PACK_COST_PERMUTED,
    PACK_COST_INDEPENDENT
};
double pack_cost_page_cache_rate(enum pack_cost_order order, double file_bytes,
                                 double ram_bytes);

#ifdef __cplusplus
}
#endif
#endif
