/* A question to the advisor as options ask it, and its answer: of h5advise, and of h5rechunk,
 * which carries it out. */
#ifndef TOOLS_ADVISE_ASK_H
#define TOOLS_ADVISE_ASK_H

#include "libpack/advise/advise_request.h"
#include "libpack/advise/measured.h"
#include "libpack/bench/measure.h"
#include "tools/advise_files.h"
#include "tools/cli.h"

struct advise_ask {
    struct pack_advise_request request; /* initialized with PACK_ADVISE_REQUEST_DEFAULTS */
    int read;
    struct cli_texts chunks;
    bool what_if, no_measure, prove;
    const char *scratch;
    uint64_t scratch_bytes;
};

/* Rows of a table of options that fill in `a`, in the order of --help. */
#define ADVISE_READING_OPTIONS(a)                                                          \
    CLI_TEXT(                                                                              \
        'p', "pattern", &(a).request.reading.pattern, "NAME[:...]",                        \
        "sequential, shuffle, block:chunks=N[,local], buffer:samples=N, replacement, "     \
        "weighted:by=FILE, trace:FILE (default: shuffle, and block shuffles are tried)"),  \
        CLI_NUMBER('b', "batch", &(a).request.reading.batch, "N", 1, 1e9,                  \
                   "samples per batch (default: 64)"),                                     \
        CLI_NUMBER('w', "workers", &(a).request.reading.workers, "N", 0, 65536,            \
                   "reading processes, each with its own cache (default: 4, or a trace's)"), \
        CLI_TEXT(0, "rank", &(a).request.reading.rank, "R/W",                              \
                 "this is rank R of W, as a DistributedSampler"),                          \
        CLI_NUMBER('e', "epochs", &(a).request.reading.epochs, "N", 1, 1e6,                \
                   "epochs of one training (default: 30)"),                                \
        CLI_FLAG(0, "no-persistent-workers", &(a).request.reading.workers_end,             \
                 "workers end with each epoch, as PyTorch's do unless told"),              \
        CLI_SIDES(0, "crop", &(a).request.reading.crop,                                    \
                  "a random crop of each image is read"),                                  \
        CLI_SHAPE(0, "box", &(a).request.reading.box, "AxBx...",                           \
                  "a random box is read: patches of volumes, windows of time series"),     \
        CLI_NUMBER(0, "step", &(a).request.reading.step, "N", 1, 1e15,                     \
                   "from one sample to the next along axis 0 (default: 1)"),               \
        CLI_CHOICE(0, "read", &(a).read, "sample|batch|span",                              \
                   "what one H5Dread asks for (default: sample)"),                         \
        CLI_FLAG(0, "reopen", &(a).request.reading.reopen,                                 \
                 "the dataset is opened by name at each read"),                            \
        CLI_NUMBER(0, "seed", &(a).request.reading.seed, "N", 0, 1.8e19,                   \
                   "of all that is random (default: 0)")

#define ADVISE_CACHE_OPTIONS(a)                                                            \
    CLI_TEXT(0, "hdf5-version", &(a).request.cache.hdf5_version, "V",                      \
             "version that reads: 1.8, 1.10, 2.0, 2.1 (default: a trace's, else the one "   \
             "linked)"),                                                                    \
        CLI_BYTES(0, "rdcc-nbytes", &(a).request.cache.bytes, "SIZE",                      \
                  "chunk cache of one process"),                                           \
        CLI_NUMBER(0, "rdcc-nslots", &(a).request.cache.slots, "N", 0, 4e9, "its slots"),  \
        CLI_REAL(0, "rdcc-w0", &(a).request.cache.w0, "W", 0, 1, "its preemption"),        \
        CLI_TEXTS('c', "chunk", &(a).chunks, "AxBx...",                                    \
                  "a chunk shape to consider in any case, or none: contiguous; may be repeated")

#define ADVISE_MACHINE_OPTIONS(a)                                                          \
    CLI_BYTES('m', "memory", &(a).request.machine.memory_bytes, "SIZE",                    \
              "for the caches of all workers together (default: 1G, or half of a smaller " \
              "machine)"),                                                                 \
        CLI_BYTES(0, "ram", &(a).request.machine.ram_bytes, "SIZE",                        \
                  "for the system's page cache (default: half of this machine's memory)"), \
        CLI_NUMBER(                                                                        \
            0, "cpus", &(a).request.machine.n_cpus, "N", 1, 65536,                         \
            "processors for the workers (default: this machine's, or the profile's)"),     \
        CLI_TEXT(0, "storage", &(a).request.machine.storage, "NAME",                       \
                 "nvme, sata-ssd, hdd, nfs, or a profile.json: times of that machine are " \
                 "assumed, nothing is measured (default: FILE's, else nvme)"),             \
        CLI_REAL(0, "target", &(a).request.goal.target, "RATE", 1e-9, 1e15,                \
                 "samples/s that are needed"),                                             \
        CLI_REAL(0, "min-gain", &(a).request.goal.min_gain, "FACTOR", 1, 1e9,              \
                 "over today's rate, for which a file is written anew (default: 1.15)")

#define ADVISE_MEASURING_OPTIONS(a)            \
    CLI_FLAG(0, "no-measure", &(a).no_measure, \
             "times are assumed: the same answer for the same input, at once")

/* All of one run; large, zeroed by the caller. */
struct advise_answer {
    struct pack_advise_job job;
    struct pack_advise_result result;
    struct pack_measured measured;
    struct pack_advise_engine engine;
    struct pack_profile processor;
    char processor_why[256]; /* why its times are assumed; "": they are not */
    struct advise_files files;
};

/* A file that exists, on the machine that is here. */
bool advise_ask_measures(const struct advise_ask *ask);

/* Opens what is asked about, FILE or what the request names otherwise, and says what is
 * remarkable in it. The answer is for advise_answer_close in any case. */
enum pack_status advise_answer_open(struct advise_ask *ask, const char *file,
                                    struct advise_answer *answer, struct pack_error *err);

/* Measures where that was not ruled out, and searches: answer->result is the advice. */
enum pack_status advise_answer_find(struct advise_ask *ask, struct advise_answer *answer,
                                    struct pack_error *err);

/* What libpack's reader makes of the file as it is, into answer->engine; without a file it is
 * not known. */
enum pack_status advise_answer_engine(struct advise_ask *ask, struct advise_answer *answer,
                                      struct pack_error *err);

/* Whether a file was changed since it was opened, with the sentence that says so in *text,
 * else "". */
bool advise_answer_close(struct advise_answer *answer, char *text, size_t size);

#endif
