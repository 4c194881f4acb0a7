/* Runs reader processes against a consumer, measures, and says what limits them. */
#ifndef LIBPACK_BENCH_H
#define LIBPACK_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/cachesim.h>
#include "libpack/bench/consumer.h"
#include "libpack/bench/engine.h"
#include <libpack/image.h>
#include "libpack/base/histogram.h"
#include <libpack/pattern.h>
#include "libpack/bench/procs.h"
#include "libpack/hdf5/readset.h"
#include <libpack/source.h>
#include <libpack/status.h>
#include "libpack/base/system.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The reader processes, as of procs.h. */
struct pack_bench_workers {
    uint64_t n;        /* 0: in line */
    uint64_t prefetch; /* 0: 2 */
    bool fresh;        /* start them anew in each epoch, as DataLoader does unless told */
    uint64_t delay_ns; /* added to the making of each batch: a slower reader */
    uint64_t stall_ns;
};

/* Of libpack's reader, where that is the engine: workers.n are its threads then. */
struct pack_bench_reader {
    uint64_t memory_bytes; /* of all that it allocates; 0: its own default */
};

/* How batches reach the training process. */
struct pack_bench_hand_over {
    bool torch; /* as PyTorch's DataLoader does, see procs.h; each sample is read into
                   memory of its own and copied into the batch */
    /* computing added to each sample and batch in a worker: what an interpreter takes */
    uint64_t sample_ns, batch_ns;
};

/* When a run ends: with the first of these. */
struct pack_bench_stop {
    uint64_t epochs;   /* 0: 1 */
    uint64_t batches;  /* of all epochs; 0: all */
    uint64_t after_ns; /* 0: never */
};

/* What is done with the batches. */
struct pack_bench_consumer {
    const char *name;                   /* NULL: null */
    struct pack_consumer_params params; /* sample_bytes, batch_max, hooks: filled in */
    uint64_t echo;                      /* uses of each batch; 0: 1 */
    bool echo_split; /* each use permutes the batch and takes it in two halves */
};

/* Zeroed by the caller; zero is the default. Pointers are borrowed during the run. */
struct pack_bench_params {
    const char *engine;              /* NULL: hdf5, or images with a source */
    const struct pack_readset *set;  /* what is read */
    const struct pack_readset *with; /* read in step, by index of axis 0; may be NULL */
    struct pack_engine_images images; /* instead of set; no source: none */
    struct pack_engine_open open;
    struct pack_bench_reader reader;
    bool cold;    /* files leave the page cache before each epoch */
    bool preload; /* each worker first fills its chunk cache, from the dataset's beginning
                     on; stop.after_ns counts from when all have. Not fresh workers, whose
                     caches are empty in each epoch */

    struct pack_pattern pattern; /* extent, workers, worker are filled in */
    struct pack_bench_workers workers;
    struct pack_bench_hand_over hand_over;
    struct pack_bench_stop stop;
    struct pack_bench_consumer consumer;

    bool keep_events;
    bool no_check;           /* do not replay the reads in the simulator afterwards */
    struct pack_watch watch; /* "reading", in batches of all epochs; hits, busy */
};

/* One span of time, for traces and timelines. */
enum pack_event_kind {
    PACK_EVENT_READ = 0,  /* a worker makes a batch; lane: the worker */
    PACK_EVENT_IDLE,      /* it waits for a free buffer; likewise */
    PACK_EVENT_HAND_OVER, /* a batch is made, but not taken yet; likewise */
    PACK_EVENT_WAIT,      /* the trainer waits for a batch */
    PACK_EVENT_TAKE,      /* it hands one to the consumer, as often as it is used */
    PACK_EVENT_PIN,       /* into pinned memory */
    PACK_EVENT_COPY,      /* host to device */
    PACK_EVENT_NORMALISE,
    PACK_EVENT_STEP /* the consumer's whole step */
};
struct pack_bench_event {
    enum pack_event_kind kind;
    uint32_t lane;
    uint64_t begin_ns, end_ns; /* from the start of the run */
    uint64_t number;           /* of the batch in its epoch, or of the step */
    /* of a READ: file reads, and how its time divides; storage and decoding are parts of
     * the calls, the delay stands at the end, what is left is assembly */
    uint64_t loads, call_ns, storage_ns, decode_ns, delay_ns;
};
enum { PACK_BENCH_EVENTS_MAX = 1 << 18 }; /* those behind are dropped */
struct pack_bench_events {
    size_t n;
    struct pack_bench_event *event; /* NULL without keep_events */
    bool cut;                       /* there were more */
};

/* Whether the files' pages were dropped before an epoch, and seen to be gone. */
enum pack_bench_cold {
    PACK_COLD_NO = 0,
    PACK_COLD_PARTLY,  /* there is data in files that are not known by name */
    PACK_COLD_ASSUMED, /* dropped; the system does not tell what stayed */
    PACK_COLD_CHECKED  /* dropped, and what stayed was counted */
};

/* What went into making batches: of one, or of all workers added up. */
struct pack_bench_work {
    uint64_t total_ns; /* of which these are parts, the calls of `read` and `with` too: */
    uint64_t assemble_ns;  /* picking samples out, moving them into place */
    uint64_t delay_ns;     /* the delay asked for, as long as it took */
    uint64_t collate_ns;   /* copying samples into the batch, with torch */
    uint64_t interpret_ns; /* computing added for an interpreter's */
    uint64_t idle_ns;      /* on top: waiting for a free buffer */
    struct pack_read_cost read, with;
    bool knows_storage;
    uint64_t storage_bytes; /* that storage delivered */
};

/* What the page cache held when an epoch began. */
struct pack_bench_pages {
    uint64_t drop_ns; /* dropping them before it, no part of elapsed_ns */
    enum pack_bench_cold cold;
    uint64_t resident_bytes; /* of the files; if checked */
};

/* The simulator's counts for an epoch's reads. */
struct pack_bench_expected {
    bool is_known;
    struct pack_cache_counts set, with;
};

struct pack_bench_epoch {
    uint64_t elapsed_ns, n_batches, n_samples;
    uint64_t wait_ns;  /* the trainer waited for batches */
    uint64_t start_ns; /* of elapsed_ns: starting and ending fresh workers */
    struct pack_bench_work work;
    struct pack_bench_pages pages;
    struct pack_bench_expected expected;
};

/* Steps after the first: the first one waits for the pipeline to fill. */
struct pack_bench_steps {
    uint64_t n_steps;    /* all */
    uint64_t n_samples;  /* used by all of them, echoes included */
    uint64_t total_ns;   /* from the end of the first to the end of the last, dropping
                           pages between epochs left out */
    uint64_t compute_ns; /* that the consumer was told to compute, in all but the first */
    uint64_t busy_ns, starved_ns, copy_wait_ns;
    uint64_t pin_ns, copy_ns, copy_bytes, normalise_ns; /* of all */
    double busy_rate;                                   /* busy_ns / total_ns */
    /* MLPerf Storage's accelerator utilisation: the steps' nominal computing time divided
     * by total_ns; negative where the consumer has none */
    double au;
};

enum pack_limit {
    PACK_LIMIT_CONSUMER = 0,
    PACK_LIMIT_STORAGE,
    PACK_LIMIT_DECODE,
    PACK_LIMIT_ASSEMBLY,
    PACK_LIMIT_CALLS,
    PACK_LIMIT_BUS,
    PACK_LIMIT_PAGE_CACHE, /* file reads that memory answered */
    PACK_LIMIT_FILE_READS, /* file reads, and nobody tells who answered */
    PACK_LIMIT_REOPEN,
    PACK_LIMIT_DELAY,
    PACK_LIMIT_COLLATE,
    PACK_LIMIT_INTERPRETER,
    PACK_LIMIT_UNKNOWN /* no batch was finished */
};
/* "storage", "decode", "CPU assembly", "HDF5 call overhead", "PCIe", "consumer", "page
 * cache", "file reads", "opening the dataset", "the delay asked for", "copying into
 * batches", "the interpreter", "unknown". */
const char *pack_limit_name(enum pack_limit limit);

enum { PACK_BENCH_TEXT_MAX = 512 };

/* A difference between what was counted and what the simulator says: an error of ours. */
struct pack_bench_mismatch {
    uint64_t n; /* pairs of worker and epoch that differ; 0: all agree */
    uint64_t n_compared;
    char text[PACK_BENCH_TEXT_MAX]; /* the first one */
};

/* libpack's reader as it was. */
struct pack_bench_threads {
    uint64_t n;         /* 0: HDF5 reads, or it was another engine */
    char how[16];       /* "pread", "mmap", "direct"; "hdf5": HDF5 had to; empty: not this */
    char reason[160];   /* why not as asked for, or empty */
    uint64_t n_slots;   /* decoded chunks that it keeps */
    uint64_t memory_bytes;
};

/* The run as it was: defaults filled in, sizes known. */
struct pack_bench_setup {
    const char *engine, *consumer;
    uint64_t seed;
    uint64_t n_workers, prefetch, batch, echo; /* workers: threads of the reader, too */
    struct pack_bench_threads threads;
    uint64_t sample_bytes;  /* handed to the consumer */
    uint64_t epoch_samples; /* of one epoch of this rank */
    char hdf5_version[32];
    bool has_cache;                 /* the set is chunked: */
    struct pack_cache_params cache; /* in force */
};

/* Processor time. */
struct pack_bench_cpu {
    /* of each worker for the batches that were taken; in line, of this process during the
     * epochs */
    struct pack_procs_usage *workers;
    bool has_machine;
    struct pack_system_cpu machine; /* all processors, during the run */
};

/* Images that were left out, total.work.read.skipped of them: the first reasons. */
struct pack_bench_skipped {
    uint32_t n_reasons;
    char reason[PACK_ENGINE_REASONS_MAX][PACK_ENGINE_REASON_MAX];
};

struct pack_bench_verdict {
    enum pack_limit limit;
    char cause[PACK_BENCH_TEXT_MAX]; /* one sentence, or empty: nothing to say */
};

struct pack_bench_result {
    struct pack_bench_setup setup;

    uint64_t n_epochs; /* begun */
    struct pack_bench_epoch *epochs;
    struct pack_bench_epoch total;
    uint64_t elapsed_ns; /* of the epochs; dropping pages between them left out */
    uint64_t open_ns;    /* starting workers and consumer */
    /* of the first epoch: until two fifths of the time that a run was given were over */
    uint64_t warm_ns, warm_samples;
    bool interrupted;

    struct pack_bench_steps steps;
    struct pack_device_result device;
    struct pack_histogram latency; /* of file reads of raw data */
    struct pack_bench_cpu cpu;
    struct pack_bench_events events;

    struct pack_bench_mismatch mismatch;
    struct pack_bench_skipped skipped;
    struct pack_bench_verdict verdict;
};

/*
 * Starts the workers, then the consumer, and lets batches flow. Counts are of what was
 * delivered to the consumer: a run that is stopped in the middle still adds up.
 *
 * Images that cannot be decoded are left out; where none can, that is PACK_ERR_FORMAT.
 *
 * Returns PACK_OK, or PACK_ERR_INTERRUPTED with *result filled with what was measured so
 * far; anything else leaves *result empty and names file, dataset and chunk where it can.
 * *result is released by pack_bench_done in all cases.
 */
enum pack_status pack_bench_run(const struct pack_bench_params *params,
                                struct pack_bench_result *result, struct pack_error *err);
void pack_bench_done(struct pack_bench_result *result);

/* Makers of batches whose times are told apart: workers; else 1. */
uint64_t pack_bench_lanes(const struct pack_bench_result *result);

/* Where an epoch's file reads were answered, in the main: storage delivered a twentieth of
 * the bytes or more, or did not; or nobody tells. */
enum pack_origin { PACK_ORIGIN_UNKNOWN = 0, PACK_ORIGIN_MEMORY, PACK_ORIGIN_STORAGE };
enum pack_origin pack_bench_origin(const struct pack_bench_epoch *epoch);

/* Likewise of a run, by the time that its file reads took: PACK_LIMIT_STORAGE,
 * _PAGE_CACHE or _FILE_READS. */
enum pack_limit pack_bench_file_reads(const struct pack_bench_result *result);

/* Fresh samples per second, hits per request (negative without a cache), bytes read per
 * byte wanted (0 when nothing was wanted). */
double pack_bench_rate(const struct pack_bench_result *result);
double pack_bench_hit_rate(const struct pack_bench_epoch *epoch);
double pack_bench_amplification(const struct pack_bench_epoch *epoch);

/* The smallest number of uses of each batch that would keep the consumer busy for
 * `target` of the time (0 to 1), other things being equal; 0: not known. With workers
 * reading goes on beside the steps; in line it comes on top of them. */
uint64_t pack_bench_echo_for(const struct pack_bench_result *result, double target);
/* Steps per second with so many uses over those measured. */
double pack_bench_echo_gain(const struct pack_bench_result *result, uint64_t echo);

#ifdef __cplusplus
}
#endif
#endif
