/* Between the files of the reader. */
#ifndef LIBPACK_READER_PARTS_H
#define LIBPACK_READER_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/reader.h>
#include "libpack/reader/chunkload.h"
#include "libpack/reader/chunkmap.h"
#include "libpack/reader/draw.h"
#include "libpack/reader/fetch.h"
#include "libpack/reader/plan.h"
#include "libpack/reader/rowmap.h"
#include "libpack/reader/transform.h"

struct pack_h5_boxes;
struct pack_crew;
struct pack_ring;

/* A batch in the making. Drawn and planned by one thread at a time, then read by all; what
 * follows `data` is the crew's, under its lock. */
struct pack_job {
    size_t number; /* of all jobs: info.n_buffers */
    /* Of the ring: where it stands there; what it is; the next of those that are idle. */
    size_t place;
    _Atomic unsigned char state;
    struct pack_job *next;
    /* Of each further dataset: what is lent; the job it has for it, or where it is kept as a
     * whole, the rows. */
    const void **further_data;
    struct pack_job **further_jobs;
    unsigned char **further_rows;

    struct pack_drawn drawn;
    unsigned char *raw;  /* samples as they are in the file; NULL where they are made at once */
    unsigned char *data; /* what is made of them, and lent; raw itself without a transform */

    size_t n_dealt, n_done;  /* visits */
    size_t n_made_dealt, n_made; /* samples, once all visits are done */
    bool is_ready;
    size_t bad_sample;            /* the first of which nothing could be made */
    struct pack_error made_error; /* of it */
    size_t bad_visit;        /* the first that failed; n_visits: none */
    struct pack_error error; /* of it */
    struct pack_reader_work work;
    uint64_t ready_ns; /* when the last visit was done */
};

/* What one thread reads and decodes with. */
struct pack_hand {
    struct pack_chunkload load;
    unsigned char *chunk; /* a decoded one that is not kept */
    struct pack_transform_hand *made; /* NULL: there is no transform */
    unsigned char *sample; /* one that was read, where they are made at once */
    uint64_t made_ns;      /* what that took, not yet told */
};

/* Places of decoded chunks, in blocks that can be given back. */
enum { PACK_SLOTS_BLOCKS = 64 };

struct pack_slots {
    unsigned char *block[PACK_SLOTS_BLOCKS];
    size_t n_blocks; /* that are there */
    uint64_t n_all, per_block, chunk_bytes; /* n_all: slots when they were new */
};

struct pack_reader {
    struct pack_reader_params params;
    char *file, *dataset; /* copies; params points there */
    struct pack_rowmap rows;
    const struct pack_chunkmap *map; /* of all rows: rows.whole */
    uint64_t sample_extent[PACK_RANK_MAX]; /* the shape of a sample */
    size_t sample_bytes; /* in the file; info.sample_bytes: as it is handed out */
    struct pack_transform *transform; /* NULL: none */
    bool makes_at_once; /* each sample lies in one piece of one chunk, and is made from there */
    struct pack_hand stock_hand; /* of the caller's thread, where HDF5 reads */
    bool swaps; /* elements are turned around */
    bool past_cache; /* batches are so large that no cache holds them until they are used */

    /* The order, twice: as it is planned, and ahead of that, as the plan's future. */
    struct pack_draw present, future;
    struct pack_drawn seen; /* the latest of the future */
    bool future_ended;
    struct pack_plan *plan; /* NULL: nothing is decoded */
    uint64_t plan_ahead_max, n_ahead; /* visits that the future is ahead of the present */

    struct pack_slots slots; /* decoded chunks that are kept */
    size_t n_jobs, n_ring; /* when it is opened; of these so many are in the ring */
    struct pack_ring *ring;
    struct pack_job *lent; /* until the next call; NULL: none, or it is kept */
    bool is_stopped;       /* by the watch */
    bool is_ended;         /* by pack_reader_stop() */
    struct pack_hand *hands; /* of each thread */
    struct pack_crew *crew;  /* NULL: HDF5 reads */

    struct pack_h5_boxes *stock;  /* HDF5's own reader, or NULL */
    struct pack_reader_info info; /* counts of work done are the crew's */

    /* Readers of the datasets that are read in step, and what is lent of each. */
    struct pack_reader **further;
    size_t n_further;

    /* Of such a reader: */
    const struct pack_reader *first; /* that it is in step with; NULL: this is it */
    bool is_whole;                   /* all of the dataset is in memory: */
    unsigned char *whole;            /* it */
};

/* ------------------------------------------------- reader.c */

/* PACK_ERR_ARGUMENT for what no reader can be opened with. */
enum pack_status pack_reader_check(const struct pack_reader_params *params,
                                   struct pack_error *err);
/* Opens file and order, all but what memory is needed for. */
enum pack_status pack_reader_prepare(struct pack_reader *reader, struct pack_error *err);
/* Starts the threads, if there are to be some. */
enum pack_status pack_reader_start(struct pack_reader *reader, struct pack_error *err);
/* Waits for the next batch; NULL behind the last. One that failed is told of, too. */
enum pack_status pack_reader_take(struct pack_reader *reader, struct pack_job **job,
                                  struct pack_error *err);

/* ------------------------------------------------- reader_ring.c: batches that are kept */

/*
 * Batch i of all is made in the job at i % n_ring. One that is kept leaves its place to a
 * job that is idle, until it is given back: so there are always n_ring.
 */
uint64_t pack_ring_bytes(const struct pack_reader *reader); /* without its jobs */
/* The ring, with n_jobs of the reader. */
enum pack_status pack_ring_new(struct pack_reader *reader, struct pack_error *err);
void pack_ring_free(struct pack_ring *ring); /* accepts NULL */
struct pack_job *pack_ring_at(const struct pack_ring *ring, uint64_t batch);
/* The job of a number, NULL when there are not so many. From any thread. */
struct pack_job *pack_ring_job(struct pack_ring *ring, size_t number);
size_t pack_ring_jobs(const struct pack_ring *ring);
/* Whether one is idle. */
bool pack_ring_has_room(struct pack_ring *ring);
/* One more, and what it takes. PACK_ERR_MEMORY. */
uint64_t pack_ring_more_bytes(const struct pack_ring *ring);
enum pack_status pack_ring_more(struct pack_ring *ring, struct pack_error *err);
/* One is idle. */
void pack_ring_keep(struct pack_ring *ring, struct pack_job *job);
/* In two steps, from any thread: it is no longer kept, which is false when it was not; it is
 * idle. */
bool pack_ring_let_go(struct pack_job *job);
void pack_ring_give_back(struct pack_ring *ring, struct pack_job *job);

/* ------------------------------------------------- reader_further.c: datasets in step */

/* Prepares the readers of params.further. */
enum pack_status pack_further_prepare(struct pack_reader *reader, struct pack_error *err);
/* Whether a further dataset is as long as the first. */
enum pack_status pack_further_check(const struct pack_reader *further,
                                    struct pack_error *err);
/* Reads those that are small, into what is left of the memory. */
enum pack_status pack_further_keep(struct pack_reader *reader, uint64_t *left,
                                   struct pack_error *err);
enum pack_status pack_further_start(struct pack_reader *reader, struct pack_error *err);
/* Takes the batch that belongs to a job, which may be NULL, of each: the first error. */
enum pack_status pack_further_take(struct pack_reader *reader, const struct pack_job *job,
                                   struct pack_error *err);
/* With a job that is kept or given back, theirs are. */
void pack_further_keep_job(const struct pack_reader *reader, const struct pack_job *job);
void pack_further_give_back(const struct pack_reader *reader, const struct pack_job *job);
void pack_further_stop(const struct pack_reader *reader);
void pack_further_close(struct pack_reader *reader);

/* ------------------------------------------------- reader_jobs.c: what threads do */

/* Draws and plans the next batch; false behind the last. One thread at a time. */
bool pack_reader_plan_job(struct pack_reader *reader, struct pack_job *job);

/* Where a piece lies in its chunk, and in the batch. */
void pack_reader_strided(const struct pack_reader *reader, const struct pack_job *job,
                         const struct pack_piece *piece, struct pack_strided *strided);

/* Decodes the chunk of a visit that is_coded, to `out`, of a chunk's bytes; `job` is
 * looked at for chunks that are better read together with it. */
enum pack_status pack_reader_decode(struct pack_reader *reader, struct pack_hand *hand,
                                    const struct pack_job *job,
                                    const struct pack_visit *visit, void *out,
                                    struct pack_error *err);
/* Copies the pieces of a visit to their places, from the decoded chunk, or what is made of
 * them. */
enum pack_status pack_reader_place(struct pack_reader *reader, struct pack_hand *hand,
                                   struct pack_job *job, const struct pack_visit *visit,
                                   const unsigned char *chunk, struct pack_error *err);
/* All of a visit without a slot: a chunk that is not kept, or not coded. */
enum pack_status pack_reader_pass(struct pack_reader *reader, struct pack_hand *hand,
                                  struct pack_job *job, const struct pack_visit *visit,
                                  struct pack_error *err);
/* Makes samples `first` to `end` - 1 of a job that was read; *bad is the one that failed. */
enum pack_status pack_reader_make(const struct pack_reader *reader,
                                  struct pack_hand *hand, struct pack_job *job,
                                  size_t first, size_t end, size_t *bad,
                                  struct pack_error *err);
/* Turns all elements of n samples around, where the reader does that. */
void pack_reader_swap(const struct pack_reader *reader, void *data, size_t n_samples);

/* ------------------------------------------------- reader_crew.c: the threads */

/*
 * Starts `n_threads` threads on the reader's jobs, with all signals blocked. The reader
 * is ready but for them. PACK_ERR_MEMORY, PACK_ERR_IO when the system refuses a thread.
 */
enum pack_status pack_crew_start(struct pack_reader *reader, unsigned n_threads,
                                 struct pack_crew **crew, struct pack_error *err);
/* Lets them read that wait for it; they may be at work already. */
void pack_crew_begin(struct pack_crew *crew);
/* Ends them, whatever they are at. Accepts NULL. */
void pack_crew_end(struct pack_crew *crew);

/* Memory of a crew, slots of which are `n_slots`. */
uint64_t pack_crew_bytes(unsigned n_threads, uint64_t n_slots);

/* Waits for the next batch; *job is NULL behind the last. It stays the caller's until the
 * next call, unless it is kept. PACK_ERR_INTERRUPTED when the watch stops it. */
enum pack_status pack_crew_next(struct pack_crew *crew, const struct pack_watch *watch,
                                struct pack_job **job, struct pack_error *err);

/* Of slots, only the first `n` are used from now on; waits until the others are not any more.
 * PACK_ERR_INTERRUPTED when the watch stops it: then they may be, until it is called again. */
enum pack_status pack_crew_use_slots(struct pack_crew *crew, uint64_t n,
                                     const struct pack_watch *watch, struct pack_error *err);

/* What was done so far, into the counts of *info. */
void pack_crew_count(struct pack_crew *crew, struct pack_reader_info *info);

/* ------------------------------------------------- reader_stock.c: HDF5 itself */

enum pack_status pack_reader_stock_open(struct pack_reader *reader,
                                        struct pack_error *err);
/* Reads the samples of a job that was drawn. */
enum pack_status pack_reader_stock_read(struct pack_reader *reader, struct pack_job *job,
                                        struct pack_error *err);

/* ------------------------------------------------- reader_slots.c: chunks that are kept */

/* PACK_ERR_MEMORY: the blocks that there are by then are to be done with all the same. */
enum pack_status pack_slots_new(struct pack_slots *slots, uint64_t n, uint64_t chunk_bytes,
                                struct pack_error *err);
void pack_slots_done(struct pack_slots *slots);
unsigned char *pack_slots_at(const struct pack_slots *slots, uint64_t slot);
/* How many slots are left when the last blocks go that together have *bytes, which becomes
 * what they have. */
uint64_t pack_slots_without(const struct pack_slots *slots, uint64_t *bytes);
/* Frees the blocks of which the first `n` slots need nothing; returns their bytes. */
uint64_t pack_slots_free(struct pack_slots *slots, uint64_t n);

/* ------------------------------------------------- reader_memory.c */

/* params.memory_bytes, or what it is by default. */
uint64_t pack_reader_limit_bytes(const struct pack_reader *reader);
/* The least memory that does, further datasets aside. PACK_ERR_LIMIT. */
enum pack_status pack_reader_least(const struct pack_reader *reader, uint64_t *bytes,
                                   struct pack_error *err);
/* What one thread reads chunks into. */
uint64_t pack_reader_room_bytes(const struct pack_reader *reader);
/* Shares params.memory_bytes out for a reader without further datasets, as allocating does. */
enum pack_status pack_reader_share(struct pack_reader *reader, struct pack_error *err);
/* The plan, where there is something to plan. */
enum pack_status pack_reader_allocate_plan(struct pack_reader *reader, struct pack_error *err);
/* Shares params.memory_bytes out and allocates everything, the crews aside. */
enum pack_status pack_reader_allocate(struct pack_reader *reader, struct pack_error *err);
void pack_reader_release(struct pack_reader *reader);
/* Makes room for a batch more that is kept, here and in the readers in step, where there is
 * none. PACK_ERR_LIMIT, naming n_kept or memory_bytes; PACK_ERR_MEMORY. */
enum pack_status pack_reader_make_room(struct pack_reader *reader, struct pack_error *err);

/* ------------------------------------------------- reader_batch.c: what a batch takes */

/* Memory of one, UINT64_MAX when that is too much for a number. */
uint64_t pack_job_bytes(const struct pack_reader *reader);
enum pack_status pack_job_new(const struct pack_reader *reader, struct pack_job **job,
                              struct pack_error *err);
void pack_job_free(const struct pack_reader *reader, struct pack_job *job); /* accepts NULL */

#endif
