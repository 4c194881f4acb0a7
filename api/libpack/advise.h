/* Searches for the chunk shape, codec, cache settings and order with which a training job
 * reads a dataset fastest, and ranks what it finds. */
#ifndef LIBPACK_ADVISE_H
#define LIBPACK_ADVISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/cachesim.h>
#include <libpack/profile.h>
#include <libpack/pattern.h>
#include <libpack/shape.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PACK_ADVISE_CODEC_MAX = 64,
    PACK_ADVISE_TEXT_MAX = 640,
    PACK_ADVISE_REMEDY_MAX = 160
};

struct pack_h5_dataset;

/* What a rate is based on. */
enum pack_advise_basis {
    PACK_ADVISE_PREDICTED = 0, /* the model alone */
    PACK_ADVISE_MEASURED,      /* the model, scaled by measured over modelled reads */
    PACK_ADVISE_PROVEN         /* likewise, measured for longer and on more data */
};
/* "predicted", "measured", "proven"; "unknown" for what is none. */
const char *pack_advise_basis_name(enum pack_advise_basis basis);

/* What a user who reads as `now` says has to change to get a configuration. */
enum pack_advise_change {
    PACK_ADVISE_KEEP = 0, /* nothing */
    PACK_ADVISE_SETTINGS, /* of the cache, or how the dataset is opened */
    PACK_ADVISE_ORDER,    /* and the order of reading */
    PACK_ADVISE_REWRITE   /* and the file: other chunks, another codec */
};
/* "none", "settings", "order", "rewrite"; "unknown". */
const char *pack_advise_change_name(enum pack_advise_change change);

/*
 * How a dataset is stored and read. The caller fills in `now`: for a file, chunk and codec
 * (pack_pipeline_format) from pack_facts, stored_rate as the bytes that the stored chunks
 * have in the file over those they have in memory, more than 0, and decode_ns as measured,
 * or as the profile has it for the stages of the codec together.
 */
struct pack_advise_config {
    struct pack_shape chunk;           /* rank 0: contiguous */
    char codec[PACK_ADVISE_CODEC_MAX]; /* a pack_pipeline: "none", "shuffle+gzip:4" */
    double stored_rate;                /* stored bytes per byte; 1 without codec */
    double decode_ns;                  /* per decoded byte; 0 without codec */
    bool edge_unfiltered;              /* H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS */
    /* The dataset stays virtual. Each source of data.virtual_data has chunks of its own
     * and a cache with these settings; chunk and codec are those of the largest source,
     * stored_rate and decode_ns those of all sources together. */
    bool is_virtual;
    struct pack_cache_params cache;
    struct pack_pattern pattern; /* see pack_advise_reading */
    bool reopen;                 /* the dataset is opened by name for each read */
};

/*
 * What a configuration does. Counts are those of one worker; all workers of a pattern are
 * statistically alike, so that worker 0 stands for each. Per-sample figures and hit_rate
 * are those of the steady epochs; of the first when there is only one, or when the steady
 * state would need more memory than there is.
 */
struct pack_advise_outcome {
    struct pack_advise_config config;
    bool is_exact; /* every read of worker 0's epochs was simulated, see pack_advise_evaluate;
                      else the first n_simulated, half of which stand for later epochs */
    uint64_t n_simulated;                     /* samples, over all simulated epochs */
    double worker_samples;                    /* samples of one worker in one epoch */
    double epoch_samples;                     /* of all workers of a rank */
    struct pack_cache_counts first, steady;   /* epoch 1; the mean of the later ones */
    double first_samples, steady_samples;     /* that these counts are of */
    struct pack_cost first_cost, steady_cost; /* for these samples */

    double first_rate, later_rate; /* samples/s of all workers: epoch 1, later epochs */
    double rate;                   /* over all reading.epochs together */
    enum pack_advise_basis basis;  /* of these three */
    double modelled_rate;          /* what the model alone says of `rate` */
    /* Of a measured row: the 95 % confidence interval of its gain over `now`; 0: not
     * measured. */
    double gain_low, gain_high;
    double hit_rate;               /* hits / requests */
    double loads_per_sample;       /* chunks read, or pieces read past the cache */
    double elems_per_read; /* mean of elements that HDF5 looks at one by one, those of
                              reads of several boxes of chunks; 0: none */
    double runs_per_read;  /* likewise of contiguous data: runs along the last axis */
    double bytes_per_sample;       /* read from the file */
    double amplification;          /* bytes read / bytes wanted */
    double memory_bytes;           /* chunks and slots, all workers together */
    double file_bytes;             /* of the dataset, as stored */
    double randomness;             /* of the order: 0 neighbours, 1 uniform shuffle */
    uint64_t shared_chunks; /* loaded by two workers: see pack_pattern_shared_chunks */
    double class_mixing;    /* classes in a batch, of what uniform draws give; or -1 */
    double page_cache_rate; /* of the bytes read in later epochs */
    /* Hit rates of epoch 1 in a cache of so many bytes under two other policies;
     * negative: not computed. HDF5's own is first.hits / first.requests. A cache that
     * outgrows its bytes (w0 = 1) is compared with others as large as it became. */
    double lru_hit_rate, belady_hit_rate;
    bool fits;     /* memory_bytes are within the memory allowed, or within ram_bytes */
    bool is_front; /* nothing else is better in one respect and as good in the others */
    bool is_user;  /* one of storing.chunks */
    bool is_now;   /* params.now itself */
    enum pack_advise_change change; /* a rewrite where there is no `now` */
};

/*
 * Measures what a codec does to chunks of this shape: stored bytes per byte, more than 0,
 * and ns per decoded byte. Called on the caller's thread, one codec at a time; a status
 * that is not PACK_OK ends the search with it.
 */
typedef enum pack_status (*pack_advise_measure_fn)(
    void *context, const struct pack_shape *chunk, const char *codec,
    double *stored_rate, double *decode_ns, struct pack_error *err);

/* A second dataset that is read in step with the first, one index of axis 0 a sample. */
struct pack_advise_companion {
    struct pack_shape extent, chunk; /* chunk of rank 0: contiguous */
    struct pack_shape chunk_max;     /* as below */
    uint64_t elem_size;
    double stored_rate, decode_ns;
    bool filtered;
    const uint64_t *stored_bytes; /* as below */
    bool skip_missing, is_unwritten;
};

/* What is read. */
struct pack_advise_data {
    struct pack_shape extent;
    struct pack_shape chunk_max; /* chunks may be so large: what the extent can grow to,
                                    UINT64_MAX: any; rank 0: the extent */
    uint64_t elem_size;
    /* Of the layout and codec that `now` has: bytes of each chunk in the file, and
     * whether missing ones are not read, as in pack_cachesim_params; NULL: all are
     * alike. */
    const uint64_t *stored_bytes;
    bool skip_missing;
    bool is_unwritten; /* `now` holds nothing, so that it is not written anew either */
    /* Chunks are searched for in a version 1 B-tree, as in files that HDF5 1.8 reads, and
     * so are those of a file written anew by h5rechunk. */
    bool has_old_index;
    /* For h5advise, which opens the virtual dataset that configurations with is_virtual
     * read; all others leave it NULL. */
    const struct pack_h5_dataset *virtual_data;
    uint32_t missing_filter; /* the data needs it and it is not here; 0: none */
    const struct pack_advise_companion *companion;
    const uint32_t *labels; /* of all samples, 0 .. n_classes - 1, or NULL */
    uint64_t n_labels;
    uint32_t n_classes;
};

/* How it is read. */
struct pack_advise_reading {
    /* The order asked for: kind, box, batch, workers, ... as --pattern and its companions
     * give them; a trace with its boxes, a weighted one with its weights. Its extent and
     * worker are not looked at: data.extent and worker 0 take their places; chunk_samples
     * of 0 is what each configuration's chunks hold. When it is fixed only this order,
     * else block shuffles beside it. */
    struct pack_pattern pattern;
    bool pattern_is_fixed;
    uint64_t epochs; /* of one training; 0: PACK_ADVISE_EPOCHS */
    /* Workers end with each epoch, and their caches with them, as those of PyTorch's
     * DataLoader do unless persistent_workers=True; what starting them takes is not
     * counted. */
    bool workers_end;
    bool reopen;
};

/* HDF5's chunk cache. */
struct pack_advise_cache {
    enum pack_hdf5_version version;
    bool is_fixed; /* only `settings` are considered */
    struct pack_cache_params settings;
};

/* How the data could be stored. */
struct pack_advise_storing {
    bool keep_file; /* `now` only under other settings and orders: nothing is rewritten */
    const struct pack_shape *chunks; /* shapes to consider unless keep_file; rank 0: none */
    size_t n_chunks;                 /* up to PACK_ADVISE_CHUNKS_MAX */
    pack_advise_measure_fn measure;  /* NULL: codecs are not considered */
    void *measure_context;
};

/* The machine that reads. */
struct pack_advise_machine {
    const struct pack_profile *profile;
    uint64_t memory_bytes; /* for the caches of all workers together; 0: 1 GiB */
    uint64_t ram_bytes;    /* that the system can use for its page cache; 0: none */
    bool is_warm;          /* the file is in the page cache from the beginning */
};

/* What is wanted of a proposal. */
struct pack_advise_goal {
    double target;   /* samples/s to reach; 0: none */
    double min_gain; /* over now's rate, and over what settings make of the file as it is,
                      * from which on a rewrite is proposed; 0: 1.15 */
    /* The choice alone, of which nothing is said: no map, no warnings, no other policies or
     * versions; the search simulates no more than 131072 samples at a time. */
    bool is_brief;
};

/* Zeroed by the caller; zero is the default where nothing else is said. */
struct pack_advise_params {
    struct pack_advise_data data;
    struct pack_advise_reading reading;
    struct pack_advise_cache cache;
    struct pack_advise_storing storing;
    struct pack_advise_machine machine;
    struct pack_advise_goal goal;
    const struct pack_advise_config *now; /* how the dataset is stored and read today */
    unsigned n_threads;      /* 0: 1; the result does not depend on it */
    struct pack_watch watch; /* "simulating", in settings */
};

/* One thing to know about a configuration, with the number that shows it. */
struct pack_advise_warning {
    const char *id;       /* "bypass-cliff"; a literal, as severity */
    int code;             /* of the same, stable */
    const char *severity; /* "note", "cost", "hazard" */
    double value;         /* a factor or bytes, as the text says */
    double price_bytes;   /* read (per epoch), stored or held in vain */
    double price_s;       /* seconds per epoch lost; 0: none, or not known */
    char text[PACK_ADVISE_TEXT_MAX + 2 + PACK_ADVISE_REMEDY_MAX];
    /* With which the text ends; "": nothing is to be done. */
    char remedy[PACK_ADVISE_REMEDY_MAX];
};

enum {
    PACK_ADVISE_ROWS_MAX = 16,
    PACK_ADVISE_CHUNKS_MAX = 12,
    PACK_ADVISE_EPOCHS = 30,
    PACK_ADVISE_WARNINGS_MAX = 32,
    PACK_ADVISE_MAP_MAX = 10,
    PACK_ADVISE_WHY = 3
};

/* Hit rate, and samples/s of all workers, over chunk size and cache size, sampled; rows are
 * cache sizes. */
struct pack_advise_map {
    int n_chunks, n_caches;
    uint64_t samples_per_chunk[PACK_ADVISE_MAP_MAX];
    uint64_t chunk_bytes[PACK_ADVISE_MAP_MAX];
    uint64_t cache_bytes[PACK_ADVISE_MAP_MAX];
    double hit_rate[PACK_ADVISE_MAP_MAX][PACK_ADVISE_MAP_MAX]; /* [cache][chunk] */
    double rate[PACK_ADVISE_MAP_MAX][PACK_ADVISE_MAP_MAX];     /* of later epochs */
};

/* Some 84 KB, which are better static or on the heap than on a stack. Owns nothing. */
struct pack_advise_result {
    bool has_now;
    struct pack_advise_outcome now;   /* under the version asked for */
    char cause[PACK_ADVISE_TEXT_MAX]; /* of what `now` loses, one sentence */
    /* the same layout under the defaults of 1.x and of 2.x, where `now` uses defaults */
    bool has_versions;
    struct pack_advise_outcome version_1, version_2;

    size_t n_rows; /* row 0 is the choice, which may be `now`; the others best first */
    struct pack_advise_outcome rows[PACK_ADVISE_ROWS_MAX];
    char why[PACK_ADVISE_WHY][PACK_ADVISE_TEXT_MAX];

    uint64_t n_candidates; /* generated */
    uint64_t n_bounded;    /* dropped by closed-form bounds */
    uint64_t n_sampled;    /* simulated in part */
    uint64_t n_exact;      /* simulated in full */
    uint64_t n_visits;     /* chunk visits simulated */

    /* Of `now` where there is one, else of the choice; and of the choice in any case. */
    size_t n_warnings, n_choice_warnings;
    struct pack_advise_warning warnings[PACK_ADVISE_WARNINGS_MAX];
    struct pack_advise_warning choice_warnings[PACK_ADVISE_WARNINGS_MAX];

    struct pack_advise_map map;

    /* of a target: reached by row 0 as it is; else what would reach it, 0: nothing */
    bool target_is_reached;
    uint64_t target_workers; /* that many of row 0, with memory for them */
    double target_rate;      /* which these reach */
    double target_echo;      /* uses of each sample that make up for the rest */
};

/*
 * Evaluates one configuration by simulating the reads of worker 0. With max_samples 0
 * these are all of up to three epochs, or of up to 65 while a cache still fills, unless they
 * visit more than 2^25 chunks. Then, or
 * where max_samples is less than an epoch, they are the first ones: as many samples as
 * max_samples and 2^25 visits allow, whose second half stands for later epochs.
 * Contiguous layouts are computed with HDF5's sieve buffer.
 *
 * PACK_ERR_ARGUMENT for shapes, patterns, profiles and settings that cannot be,
 * PACK_ERR_LIMIT for products beyond 64 bits and chunks of 4 GiB before 2.0,
 * PACK_ERR_MEMORY, PACK_ERR_INTERRUPTED when params.watch says so. What params lead to is
 * borrowed during the call, here and below; an outcome owns nothing. Safe from any thread,
 * with the same params too.
 */
enum pack_status pack_advise_evaluate(const struct pack_advise_params *params,
                                      const struct pack_advise_config *config,
                                      uint64_t max_samples,
                                      struct pack_advise_outcome *outcome,
                                      struct pack_error *err);

/*
 * The search. In three stages: bounds that no simulation can beat drop most candidates;
 * the first reads of the others are simulated; those that then look best, all `chunks`,
 * `now` and the choice are simulated in full. Deterministic for given params.
 *
 * The choice is never slower than `now`, which is a row like the others: a rewrite must
 * gain goal.min_gain, new settings or another order 1.05. Among rates that equal the
 * best of those left within 5 %, more randomness is preferred, then no rewrite, the
 * version's default cache, no cache, less memory. Where rates were measured, only
 * measured rows are chosen, and only those whose gain_low excludes a loss.
 *
 * Errors as pack_advise_evaluate, PACK_ERR_ARGUMENT when memory_bytes does not hold one
 * chunk per worker, and those of `measure`. Runs on n_threads threads, which end with the
 * call. The result owns nothing; it is worthless after a failure.
 */
enum pack_status pack_advise(const struct pack_advise_params *params,
                             struct pack_advise_result *result, struct pack_error *err);

/*
 * Replaces an outcome's rates by `factor` times what they are (measured by modelled) and
 * says that they are measured. The result that holds it is then to be settled again. A
 * factor that is not positive and finite changes nothing.
 */
void pack_advise_scale(struct pack_advise_outcome *outcome,
                       const struct pack_advise_params *params, double factor);

/*
 * Chooses row 0 anew, sorts the other rows and writes everything that is said of the
 * choice and of `now` again, after rates in `now` or in rows were changed. The row of
 * `now` follows result->now, and is added where it is missing. Errors as
 * pack_advise_evaluate, and PACK_ERR_ARGUMENT for what is no result: 1 to
 * PACK_ADVISE_ROWS_MAX rows, each of a configuration that can be.
 */
enum pack_status pack_advise_settle(const struct pack_advise_params *params,
                                    struct pack_advise_result *result,
                                    struct pack_error *err);

/* One configuration in place of a search: row 0 of the result, with its cause of loss,
 * warnings and target. Errors and threads as pack_advise. */
enum pack_status pack_advise_what_if(const struct pack_advise_params *params,
                                     const struct pack_advise_config *config,
                                     struct pack_advise_result *result,
                                     struct pack_error *err);

/*
 * The smallest sufficient number of slots: ascending through primes, the first under
 * which the simulated reads load at most 1 % more chunks than without any collision.
 * `config`, of a chunked layout, holds all but n_slots, which the call sets. Errors as
 * pack_advise_evaluate.
 */
enum pack_status pack_advise_slots(const struct pack_advise_params *params,
                                   struct pack_advise_config *config,
                                   struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
