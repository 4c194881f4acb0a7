/* The order in which a training job asks for boxes of a dataset. */
#ifndef LIBPACK_PATTERN_H
#define LIBPACK_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/shape.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A pattern is defined in four steps, each a pure function of its parameters.
 *
 * 1. Samples. Sample s is the box that starts at s * step along axis 0 and has the shape
 *    `box`; along every other axis where the box is shorter than the dataset, its start is
 *    drawn uniformly for each position of the epoch's order (a random crop). By default a
 *    sample is one whole index of axis 0. So images are the default; random crops of
 *    images set box; windows of a time series set box[0] and step; random patches of a
 *    volume are `replacement` with a box.
 *
 *    With a subset, only its members take part, and what follows is of members: the i-th
 *    is sample subset[i], the number that requests have. As in PyTorch's Subset they may be
 *    in any order, and one may be there twice.
 *
 * 2. Order. The epoch's order is a sequence of samples, drawn anew for each epoch from
 *    (seed, epoch):
 *
 *    sequential   0, 1, 2, ...
 *    shuffle      a random permutation, one of a family too large to tell from all of them
 *    block        chunks of chunk_samples samples are permuted and pass through a pool of
 *                 pool_chunks of them. refill (the default): the pool is filled, all its
 *                 samples are permuted and given out, then it is filled with the next
 *                 chunks: CorgiPile's order (Xu et al., SIGMOD 2022). slide: each draw
 *                 takes the next sample, in permuted order, of a chunk chosen uniformly
 *                 among those in the pool, and a chunk that is used up makes room for the
 *                 next: the order of FFCV's quasi-random traversal, where chunks are pages
 *                 and pool_chunks is twice the batch size. local: see below. Of a subset,
 *                 the members of a chunk, wherever they stand in it, are its samples
 *    buffer       the sequential order passes through a buffer of buffer_samples: each
 *                 draw takes a uniformly chosen one, whose place the next sample fills; in
 *                 the end the buffer empties. As tf.data's shuffle() and WebDataset's
 *    replacement  `draws` independent uniform samples
 *    weighted     `draws` independent samples with probability proportional to weights
 *    trace        the caller's boxes, in their order; of several epochs that the caller
 *                 has boxes of, epoch e takes the part e mod trace_epochs
 *
 * 3. Ranks. As PyTorch's DistributedSampler: rank r of w takes positions r, r + w,
 *    r + 2w, ... of the epoch's order, which is first padded with its own beginning to a
 *    multiple of w, or cut to one with drop_uneven.
 *
 * 4. Workers. As PyTorch's DataLoader: a rank's samples are cut into batches (the last may
 *    be short, or is left out with drop_last), and worker k of n takes batches k, k + n,
 *    ... Within a batch, `read` says what one H5Dread asks for.
 *
 * Block, local. The chunks are shared out to `dealt` workers of each rank, each of which
 * has a pool of pool_chunks of its own. Batch i of a rank is drawn from the pool of
 * worker i mod `dealt` alone, so that no batch mixes the chunks of two workers. `dealt`
 * belongs to the order, `workers` says who reads it: one process that reads, in their
 * order, the batches dealt to four has workers 1 and dealt 4.
 *
 * What it is for: in any other order that mixes, each worker loads nearly each chunk.
 * Here, where `dealt` workers read, each with a cache that holds a pool, every chunk is
 * loaded once over all workers and ranks, and batches are as random as those of a plain
 * block shuffle with the same pool. Only chunks that lie across two workers' shares are
 * loaded twice: pack_pattern_shared_chunks(), fewer than there are workers in all ranks.
 * drop_last drops the short batch. Padding repeats samples of other ranks, at most one in
 * a rank's last batch.
 *
 * It holds for a DataLoader with in_order=True (its default) and that many workers, whose
 * batch sampler gives these batches from the first on. One that resumes at batch k begins
 * with worker 0 again: worker j then reads what worker (j + k) mod `dealt` did, which is
 * as good; but chunks begun are loaded once more.
 *
 * Nothing keeps a list of the samples: memory is O(1), except O(pool_chunks) for a
 * sliding pool, O(buffer_samples) for a buffer, O(n_samples) for weights, and the batch;
 * for blocks of a subset O(its chunks), and O(n_subset) where it does not go through the
 * chunks one after another.
 */
enum pack_pattern_kind {
    PACK_PATTERN_SEQUENTIAL = 0,
    PACK_PATTERN_SHUFFLE,
    PACK_PATTERN_BLOCK,
    PACK_PATTERN_BUFFER,
    PACK_PATTERN_REPLACEMENT,
    PACK_PATTERN_WEIGHTED,
    PACK_PATTERN_TRACE
};

enum pack_read_mode {
    PACK_READ_SAMPLE = 0, /* one H5Dread per sample */
    PACK_READ_BATCH, /* one per batch, selecting its samples (h5py: a list of indexes) */
    PACK_READ_SPAN   /* one per batch, of the smallest block that holds its samples */
};

/* Zero means the default everywhere. Pointers are borrowed while an iterator lives. */
struct pack_pattern {
    enum pack_pattern_kind kind;
    uint64_t seed;
    uint64_t epoch; /* the first one */

    struct pack_shape extent; /* of the dataset; not used by traces */
    struct pack_shape box;    /* rank 0: one index of axis 0, all of the others */
    uint64_t step;            /* along axis 0 from a sample to the next; 0: 1 */
    uint64_t n_samples;       /* 0: as many as fit the extent */
    const uint64_t *subset;   /* the samples that take part, each below n_samples; NULL: all */
    uint64_t n_subset;

    uint64_t chunk_samples;  /* block: samples per chunk of the file; 0: 1 */
    uint64_t pool_chunks;    /* block: 0: 32 */
    bool slide;              /* block */
    bool local;              /* block, refilled: worker by worker */
    uint64_t dealt;          /* local: workers that batches are dealt to; 0: workers */
    uint64_t buffer_samples; /* buffer; 0: 10000 */
    uint64_t draws; /* replacement, weighted: samples per epoch; 0: n_samples, or n_subset */
    const double *weights; /* weighted: one for each sample, or each member of the subset */
    const struct pack_box *trace;
    uint64_t n_trace;
    uint64_t trace_epochs; /* of n_trace / trace_epochs boxes each, in turn; 0: 1 */

    uint64_t world, rank; /* world 0: 1 */
    bool drop_uneven;
    uint64_t batch; /* samples; 0: 1 */
    bool drop_last;
    uint64_t workers, worker; /* workers 0: 1, the training process itself */
    enum pack_read_mode read;

    const char *file; /* set by pack_pattern_parse: where weights or a trace are */
};

/*
 * Reads the text of --pattern into *pattern, setting kind and that kind's own members and
 * leaving all others alone:
 *
 *    sequential
 *    shuffle
 *    block:chunks=32[,local][,pool=refill|slide]
 *    buffer:samples=10000
 *    replacement[:draws=N]
 *    weighted:by=FILE or weighted:draws=N,by=FILE
 *    trace:FILE
 *
 * A FILE is everything up to the end of the text, which must outlive pattern->file.
 * PACK_ERR_ARGUMENT with a sentence that quotes the text and names what would do.
 */
enum pack_status pack_pattern_parse(const char *text, struct pack_pattern *pattern,
                                    struct pack_error *err);
/* The text of --rank: "R/W", ranks counted from 0 as PyTorch does. PACK_ERR_ARGUMENT. */
enum pack_status pack_pattern_parse_rank(const char *text, struct pack_pattern *pattern,
                                         struct pack_error *err);
/* "sample", "batch" or "span". PACK_ERR_ARGUMENT. */
enum pack_status pack_read_mode_parse(const char *text, enum pack_read_mode *mode,
                                      struct pack_error *err);

/* "shuffle", "sample"; "unknown" for what is none. */
const char *pack_pattern_name(enum pack_pattern_kind kind);
const char *pack_read_mode_name(enum pack_read_mode mode);

/* Goes through the samples of one rank and worker, epoch after epoch. */
struct pack_pattern_iter;

/*
 * An iterator at the beginning of pattern->epoch, for pack_pattern_free(). *pattern is
 * copied; subset, weights and trace are borrowed while the iterator lives.
 *
 * PACK_ERR_ARGUMENT for what is no pattern: no samples, a member of a subset that is none,
 * a box outside the extent or of another rank, rank >= world, worker >= workers, weights that are negative, not finite
 * or all zero, a local pool that slides, a batch read in one piece whose random crops
 * overlap, a box of a trace that no dataset could have; PACK_ERR_LIMIT for more than 2^62
 * samples or 2^32 ranks, workers or samples in a batch; PACK_ERR_MEMORY.
 */
enum pack_status pack_pattern_new(const struct pack_pattern *pattern,
                                  struct pack_pattern_iter **iter,
                                  struct pack_error *err);
void pack_pattern_free(struct pack_pattern_iter *iter);

/* What one H5Dread asks for, valid until the next call with the same iterator. */
struct pack_request {
    uint64_t position; /* of its first sample among this iterator's, in this epoch */
    uint64_t batch;    /* number of its batch among its rank's, in this epoch */
    size_t n_samples;  /* 1, or those of a batch */
    const uint64_t *samples; /* in the order drawn, repeats included */
    size_t n_boxes;
    const struct pack_box *boxes; /* ascending along axis 0 and apart from each other */
};

/* The next read; false at the end of the epoch: pack_pattern_seek() begins another. */
bool pack_pattern_next(struct pack_pattern_iter *iter, struct pack_request *request);

/*
 * Up to `max` samples as next would give them, without boxes and whatever the read mode;
 * returns how many, 0 at the end of the epoch. Much faster where the box does not matter.
 */
size_t pack_pattern_samples(struct pack_pattern_iter *iter, uint64_t *samples,
                            size_t max);

/* Samples that this iterator gives in an epoch. */
uint64_t pack_pattern_length(const struct pack_pattern_iter *iter);
/* How many of them it has given. */
uint64_t pack_pattern_position(const struct pack_pattern_iter *iter);
/* The epoch in which it is. */
uint64_t pack_pattern_epoch(const struct pack_pattern_iter *iter);
/* Samples that the whole dataset, or the subset, has: those of one epoch over all ranks,
 * unpadded, except where `draws` says otherwise. */
uint64_t pack_pattern_n_samples(const struct pack_pattern_iter *iter);

/*
 * Block, local: the chunks that this rank's workers load beside their own, because they
 * lie across the end of a share. Over all ranks, loads are chunks plus these. Else 0.
 */
uint64_t pack_pattern_shared_chunks(const struct pack_pattern_iter *iter);

/*
 * Goes to a position of an epoch: 0 starts it, pack_pattern_length() is its end. O(1),
 * but for `buffer` and a sliding pool, where the order has to be drawn from its
 * beginning, and O(chunks) for blocks of a subset in another epoch. PACK_ERR_ARGUMENT for a position behind the end.
 */
enum pack_status pack_pattern_seek(struct pack_pattern_iter *iter, uint64_t epoch,
                                   uint64_t position, struct pack_error *err);

/* Whether every sample is one whole index of axis 0, so that its number says where it is. */
bool pack_pattern_is_whole(const struct pack_pattern_iter *iter);

/* ------------------------------------------------------------------ traces */

/*
 * One line per box that is read: the starts of all axes, then the counts of all axes,
 * separated by tabs:
 *
 *     # start0  start1  count0  count1
 *     17        0       1       4096
 *
 * The first read fixes the rank. Empty lines and lines that begin with '#' say nothing;
 * lines may end in CR LF, and the last one without anything. Numbers are decimal.
 *
 * A trace whose first line is "# h5pack-trace 2" says more: behind its counts each line
 * has the numbers of its file and its dataset, its process (as the system numbers it) and
 * a time in nanoseconds, on a clock that all processes share. Names stand in lines of
 * their own, before they are used, numbered from 0, tab, newline, carriage return and
 * backslash in them as \t, \n, \r and two backslashes:
 *
 *     # h5pack-trace 2
 *     # file     0  /data/train.h5
 *     # dataset  0  /images
 *     17  0   1  4096   0  0  4711  8123790423
 *
 * The first read of each dataset fixes its rank. Boxes of one process with the same time
 * are of one read that selected several. "# around", a tab and N says that N reads asked
 * for more pieces than are recorded, and that the block around them stands for each.
 * "# spent" and, behind tabs, the numbers of a file and a dataset, N, T and P say that N reads
 * of it by process P took T nanoseconds; several such lines add up, and P may be left out.
 * "# ran", P, T, N, D, Q and M say that of T nanoseconds the first thread of process P was on a
 * processor for N and waited for one for D, and that of process Q, which started P, was on one
 * for M; such lines add up, too. "# cache", the numbers of a file, a
 * dataset and a process, and slots, bytes, w0 and version say through which chunk cache of
 * which HDF5 that process read it:
 *
 *     # cache    0  0  4711  521  1048576  0.75  1.10.8
 *
 * Of a trace of several datasets, pack_trace_parse takes the one with most reads; its
 * boxes come in the order of time.
 *
 * PACK_ERR_FORMAT with "line 3, column 5: ..." (columns count characters from 1), also
 * when there is no read at all, when a count is 0 or an end passes 64 bits; PACK_ERR_LIMIT
 * for more than 2^20 datasets or 65536 processes; PACK_ERR_MEMORY. pack_trace_free() frees
 * what the struct holds. Whether boxes lie inside a dataset is for pack_grid_check_box to
 * say.
 */
struct pack_trace_process {
    uint64_t id;
    double read_ns; /* that reading one box took, on the average */
    /* Of ran_ns, 0 where nothing tells, it was on a processor, and waited for one, and the
     * process that started it was on one. */
    double ran_ns, busy_ns, delay_ns, parent_busy_ns;
    uint64_t parent;
};

struct pack_trace {
    struct pack_box *boxes;
    size_t n_boxes;
    /* Of the second form, else NULL: of each box, and of all of them. */
    uint64_t *processes, *times_ns;
    char *file, *dataset;
    double read_ns; /* that reading one box took, on the average; 0: it does not say */
    struct pack_trace_process *spent; /* of each process that says so, ascending */
    size_t n_spent;
    /* The chunk cache of the process that read most of it; hdf5_version "": it does not say. */
    uint64_t rdcc_nslots, rdcc_nbytes;
    double rdcc_w0;
    char hdf5_version[16];
};

enum pack_status pack_trace_parse(const char *text, size_t size, struct pack_trace *trace,
                                  struct pack_error *err);
/*
 * The same of the dataset at the path `dataset`, with or without a slash in front, and of
 * several files that have one the file `file`, by its whole name, else by the last part of it.
 * NULL for what may be any: of those that are left, the one most read. PACK_ERR_ARGUMENT where
 * the trace has no reads of it; one without names is of whatever it is read for.
 */
enum pack_status pack_trace_parse_of(const char *text, size_t size, const char *file,
                                     const char *dataset, struct pack_trace *trace,
                                     struct pack_error *err);
void pack_trace_free(struct pack_trace *trace);

#ifdef __cplusplus
}
#endif
#endif
