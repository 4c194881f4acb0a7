/* Reads samples in the order of a pattern, in threads, without HDF5's lock. */
#ifndef LIBPACK_READER_H
#define LIBPACK_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/dataset.h>
#include <libpack/image.h>
#include <libpack/pattern.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How bytes get from the file into memory. */
enum pack_reader_strategy {
    PACK_READER_AUTO = 0, /* mmap of files without filters, from 64 MiB to half of the memory
                           * in all, on local file systems; else pread */
    PACK_READER_PREAD,    /* positioned reads */
    /* A mapping, whose pages are asked for before they are touched (Linux 5.14, else
     * pread). SIGBUS is caught while such a reader is open, so that a file that is cut short
     * meanwhile is an error of its batches; who catches it later, as Python's faulthandler
     * does, gets it instead. What is no read of ours goes to who caught it before. */
    PACK_READER_MMAP,
    /* Positioned reads past the page cache (O_DIRECT), where the file system does them, else
     * pread: for a file that is not read again while the cache would still hold it. */
    PACK_READER_DIRECT
};

/* What is cut out of each image. */
enum pack_reader_crop {
    PACK_READER_CROP_NONE = 0,
    PACK_READER_CROP_CENTRE, /* as torchvision's CenterCrop */
    PACK_READER_CROP_RANDOM, /* anywhere, as RandomCrop */
    PACK_READER_CROP_RESIZED /* a part of random size and shape, resized, as
                              * RandomResizedCrop */
};

enum pack_reader_values {
    PACK_READER_BYTES = 0, /* as they are */
    PACK_READER_FP32,      /* (x - mean) / std */
    PACK_READER_FP16,
    PACK_READER_BF16
};

enum pack_reader_channels {
    PACK_READER_CHANNELS_KEEP = 0, /* where the file has them */
    PACK_READER_CHANNELS_LAST,     /* N x H x W x C */
    PACK_READER_CHANNELS_FIRST     /* N x C x H x W */
};

enum { PACK_READER_CHANNELS_MAX = 16 };

/*
 * What the reader's threads make of images of bytes, N x H x W x C or N x C x H x W (told
 * apart by DIMENSION_LABELS, INTERLACE_MODE, else by an axis of 1, 3 or 4) or gray N x H x W.
 * In this order: cut, resized, flipped, normalised. All zero: nothing is made of them.
 *
 * What is random follows from pattern.seed, the epoch and the sample's number alone: the
 * same whatever the order, the batch, the rank and the number of threads.
 */
struct pack_reader_transform {
    enum pack_reader_crop crop;
    /* Of what comes out: at most the image's with CENTRE and RANDOM. Without a crop: what the
     * whole image is resized to, or 0 and 0, its own size. */
    uint32_t height, width;
    /* Of RESIZED, as torchvision 0.2 to 0.20: the part's area over the image's, uniform from
     * scale[0] to scale[1] (zeros: 0.08 to 1); its width over its height, log-uniform from
     * ratio[0] to ratio[1] (zeros: 3/4 to 4/3); both rounded half to even, ten tries to fit,
     * then the largest part of such a shape around the centre. It is cut out and then resized
     * as Pillow's Image.resize() does it, bit for bit. */
    double scale[2], ratio[2];
    enum pack_resample_filter filter;
    double flip; /* the probability of left becoming right, 0 to 1 */
    enum pack_reader_channels channels;
    enum pack_reader_values values;
    /* Per channel, in units of 0 to 255; std all zero: the dataset's attributes of these names,
     * else 0 and 255. y = fma(x, 1 / std, -mean / std) in fp32, both factors computed in
     * double and rounded once; fp16 and bf16 are rounded from that to nearest even. */
    double mean[PACK_READER_CHANNELS_MAX], std[PACK_READER_CHANNELS_MAX];
};

/* Memory of the caller's for batches: pinned for a GPU, or shared, or of another library. */
struct pack_reader_buffers {
    void *context; /* handed to both */
    /* `bytes` of one batch; NULL: there is no more. Called while the reader is opened and a
     * batch is kept, and the other when it is closed, by the same thread as these functions. */
    void *(*allocate)(void *context, size_t bytes);
    void (*release)(void *context, void *buffer);
};

/* As many as memory holds. */
enum { PACK_READER_KEEP_ALL = 1 << 30 };

/* Zero means the default everywhere. */
struct pack_reader_params {
    const char *file;    /* to be opened by HDF5 */
    const char *dataset; /* its path in there */

    /*
     * Instead of `file`: several that are read as one, their samples one behind the other in
     * this order. Samples of all are of one shape and type, chunks and filters may differ;
     * of further datasets likewise. None may be one that HDF5 has to read. Each is kept
     * open, so there can be half as many as the system lets a process open. With several,
     * attributes that a transform asks for are the first's.
     */
    const char *const *files;
    size_t n_files; /* 0: there is `file` */

    /*
     * The order: kind, seed, epoch, box, step, batch, rank, world and what else its kind
     * needs. extent is the dataset's, whatever is set; chunk_samples 0: the dataset's
     * chunks. worker and workers stay 0, and so does `read`. All boxes of a trace have
     * one shape. subset, weights and trace are borrowed while the reader lives.
     */
    struct pack_pattern pattern;
    uint64_t position; /* first sample of pattern.epoch, a multiple of the batch */
    uint64_t n_epochs; /* 0: one */

    unsigned n_threads;    /* 0: one for each processor, fewer if they do not fit */
    uint64_t memory_bytes; /* for everything that the reader allocates; 0: 1 GiB. What an order
                            * keeps (pattern.h) it does twice */
    unsigned n_ahead;      /* batches made beside the one that is lent; 0: 2 */
    /*
     * Batches that pack_reader_keep() may keep; 0: none. Up to 65536 are allocated when the
     * reader is opened, and always there. Of more, such as PACK_READER_KEEP_ALL, two are; one
     * is added whenever one more is kept, as long as memory_bytes hold it, and stays: decoded
     * chunks make room for it.
     */
    unsigned n_kept;
    struct pack_reader_buffers buffers; /* of batches of `dataset`; zero: the reader's own */
    enum pack_reader_strategy strategy;
    bool file_order; /* leave elements in the file's byte order */
    bool waits;      /* nothing is read ahead before the first pack_reader_next() */
    const struct pack_reader_transform *transform; /* of `dataset` alone; NULL: none */

    /*
     * Paths of further datasets of the file that are read in step, such as labels: of each
     * sample, all that they hold at its indexes of axis 0. They are as long along it as
     * the first. memory_bytes is for all of them: small ones are read when the reader is
     * opened, and kept; others are read as the first is, by as many threads of their own.
     */
    const char *const *further;
    size_t n_further; /* at most 256 */

    /* Its `stop` is asked every few hundredths of a second while pack_reader_next() waits, in
     * the caller's thread; it calls no functions of the reader. */
    struct pack_watch watch;
};

/* What it took to make something. Times are of all threads together. */
struct pack_reader_work {
    uint64_t visits;                      /* a chunk in a batch */
    uint64_t loads;                       /* chunks read and decoded */
    uint64_t hits;                        /* decoded chunks that were there */
    uint64_t file_reads, file_read_bytes; /* data asked of the system */
    uint64_t total_ns; /* reading and decoding, waiting for others' chunks, copying */
    uint64_t read_ns, decode_ns, transform_ns; /* parts of it */
};

/*
 * A batch: n_samples boxes one behind the other, each dense, slowest dimension first, of
 * elem_size bytes an element. Integers, floats and bitfields are in this machine's byte
 * order unless file_order is set (those of which not all bits count are only read with
 * it); all else is as it is in the file, padding of texts too. Where nothing is stored is
 * the fill value. With a transform they are what it makes of the samples.
 */
struct pack_reader_batch {
    const void *data;
    size_t n_samples;        /* 0: there are no more batches, all else is zero */
    const uint64_t *samples; /* their numbers, as drawn; of a trace, places in it */
    uint64_t epoch, number;  /* of the batch in its epoch, from 0 */
    uint64_t position;       /* of its first sample among this rank's in the epoch */
    uint64_t ready_ns; /* when it was complete, by CLOCK_MONOTONIC */
    struct pack_reader_work work; /* for `data`; all zero where HDF5 reads */
    const void *const *further; /* of each further dataset, its part of all samples */
    size_t buffer; /* which of info.n_buffers it lies in; no other batch that is lent or kept
                    * lies there */
};

enum { PACK_READER_NAME_MAX = 256 };

/* What a reader is, and what it has done so far. */
struct pack_reader_info {
    const char *engine; /* "pread", "mmap", "direct"; "hdf5": HDF5 itself, in the caller's
                         * thread; "memory": a further dataset that is kept as a whole */
    char reason[160];   /* why not as asked for; empty when it is */
    struct pack_shape sample; /* shape of a sample, as it is handed out */
    size_t elem_size;         /* bytes of an element */
    size_t sample_bytes;
    uint64_t n_batches;    /* of an epoch */
    unsigned n_threads;    /* that read */
    uint64_t memory_bytes; /* allocated, at most what was asked for; with all further ones */
    uint64_t n_slots;      /* decoded chunks that are kept */
    size_t n_buffers;      /* of batches: in the making, lent and kept; more when more are */
    size_t buffer_bytes;   /* of one; of the last batch of an epoch less may be used */

    uint64_t visits; /* a chunk in a batch */
    uint64_t loads;  /* chunks read and decoded: visits of filtered chunks less hits */
    uint64_t hits;   /* decoded chunks that were there */
    uint64_t file_reads, file_read_bytes; /* data asked of the system */

    uint64_t chunk_samples; /* of a chunk, to an order by chunks; 0: there are none */

    /* Files and datasets that virtual datasets are made of and that are not there: their
     * samples are fill values. And the name of the first, "" where there is none. */
    uint64_t n_missing_sources;
    char missing_source[PACK_READER_NAME_MAX];
};

/*
 * Whether a reader could make that of samples of the dataset, with the errors that
 * pack_reader_open() would have: without opening anything. sample is the shape of one, axis 0
 * included: that of pattern.box, or 1 and the dataset's other extents. PACK_ERR_ARGUMENT,
 * naming the parameter or the member, PACK_ERR_UNSUPPORTED, PACK_ERR_MEMORY.
 */
enum pack_status pack_reader_transform_check(const struct pack_reader_transform *transform,
                                             const struct pack_facts *facts,
                                             const struct pack_shape *sample,
                                             struct pack_error *err);

/*
 * One thread calls the functions of a reader, but for pack_reader_give_back(). Its own
 * threads take no signals and call nothing of the caller's. After a fork(), the child must
 * not use readers of its parent, not even close them: it has none of their threads.
 */
struct pack_reader;

/*
 * Opens a dataset of integers, floats, texts and other elements of fixed size through
 * HDF5, in this process and thread; HDF5 has closed the file when this returns, and no
 * lock is held. From then on a file that is written to or replaced is noticed: see
 * pack_reader_next().
 *
 * A virtual dataset is read from its sources, each with chunks and filters of its own, when
 * its blocks are of whole indexes of axis 0, do not overlap, and their sources are plain
 * datasets of the same type, as h5rechunk --split writes them. Sources are found as HDF5
 * finds them. What is mapped to a file or dataset that is not there, or to nothing, is
 * the virtual dataset's fill value, as in HDF5; a source that is there and no HDF5 file is
 * an error.
 *
 * Other filters than those of dataset.h are decoded by the functions of HDF5's plugins, which
 * are looked for where HDF5 does (HDF5_PLUGIN_PATH), in the reader's threads: all at once,
 * but for plugins that call HDF5 or are known to keep a state. Blosc is decoded by c-blosc's
 * own function, all at once, where the plugin has it in it or there is libblosc.so.1; bzip2 by
 * libbz2.so.1.0, where that is, which the plugin's faults are not in. A chunk
 * of blosc, blosc2, lz4 or bitshuffle whose header says to decode to more than a chunk is an
 * error; else what memory a plugin takes for bytes that lie is its own affair.
 *
 * What is not understood without HDF5 is read by HDF5, in pack_reader_next() itself:
 * other virtual datasets, external files, filters without a plugin. info->engine and reason
 * say so.
 *
 * Chunks that are decoded are kept while memory_bytes allows; as the order is known ahead,
 * those go first whose next visit is furthest away (Belady's optimum, as far as the
 * reader looks ahead). All memory is allocated here, but for batches that are kept later.
 *
 * PACK_ERR_ARGUMENT, naming the parameter or the member of the transform, the file whose
 * samples are not as the first's, or the further dataset that is of another length;
 * PACK_ERR_MEMORY, naming memory_bytes and the least that would do; PACK_ERR_UNSUPPORTED
 * for other elements, for a dataset without samples, a trace of several shapes, and a
 * transform of what is no image of bytes; PACK_ERR_NOT_FOUND, _FORMAT and _IO as
 * pack_dataset_facts(); PACK_ERR_CHANGED.
 */
enum pack_status pack_reader_open(const struct pack_reader_params *params,
                                  struct pack_reader **reader, struct pack_error *err);

/*
 * The next batch, waited for; it is lent until the next call with this reader. Batches
 * come in the order of the pattern, with the same bytes whatever the number of threads.
 *
 * A failure is the batch's: PACK_ERR_FORMAT when a chunk is damaged or lies outside the
 * file, PACK_ERR_IO, PACK_ERR_CHANGED when the file is not what it was at opening. Of
 * several chunks it is the first's, by their numbers, and of several datasets the first
 * dataset's. The next call gives the batch behind it. PACK_ERR_INTERRUPTED when the watch
 * stops it; it will give no more batches then.
 */
enum pack_status pack_reader_next(struct pack_reader *reader,
                                  struct pack_reader_batch *batch,
                                  struct pack_error *err);

/*
 * Keeps the batch that is lent: all that it points to stays as it is until it is given
 * back, or the reader is closed. The reader goes on in another buffer meanwhile, which may
 * be a new one: see n_kept. PACK_ERR_LIMIT, naming n_kept when so many are kept already, or
 * memory_bytes, and PACK_ERR_MEMORY when the caller or the system has no buffer: it is lent
 * then as it was. PACK_ERR_ARGUMENT when it is not the batch that was lent last, or kept
 * already.
 */
enum pack_status pack_reader_keep(struct pack_reader *reader,
                                  const struct pack_reader_batch *batch,
                                  struct pack_error *err);
/* Gives back a batch that was kept, by its `buffer`; in any order, from any thread.
 * PACK_ERR_ARGUMENT when none is kept there. */
enum pack_status pack_reader_give_back(struct pack_reader *reader, size_t buffer,
                                       struct pack_error *err);

/* As it is now. */
enum pack_status pack_reader_info(struct pack_reader *reader,
                                  struct pack_reader_info *info, struct pack_error *err);

/* The same of a further dataset, counted from 0, in memory_bytes too. PACK_ERR_ARGUMENT
 * when there are not so many. */
enum pack_status pack_reader_further_info(struct pack_reader *reader, size_t index,
                                          struct pack_reader_info *info,
                                          struct pack_error *err);

/*
 * Ends the threads and closes files, at any time: where HDF5 reads (info.engine), nothing of
 * HDF5 is left for pack_reader_close(). Batches that are kept stay as they are, and are given
 * back as ever; the one that is lent, and pack_reader_next(), are over: PACK_ERR_ARGUMENT.
 * Accepts NULL.
 */
void pack_reader_stop(struct pack_reader *reader);

/* Ends the threads, at any time, and frees everything. Accepts NULL. */
void pack_reader_close(struct pack_reader *reader);

#ifdef __cplusplus
}
#endif
#endif
