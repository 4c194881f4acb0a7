/* An image folder becomes an HDF5 file: source, samples, chunks, writer, journal. */
#ifndef LIBPACK_CONVERT_H
#define LIBPACK_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/dataset.h>
#include <libpack/image.h>
#include <libpack/shape.h>
#include <libpack/source.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Who will read the file, for the automatic chunk shape. */
enum pack_chunk_goal {
    PACK_CHUNK_FOR_SHUFFLE = 0,  /* single random images */
    PACK_CHUNK_FOR_BLOCK_SHUFFLE /* chunks in random order, shuffled in memory */
};

enum pack_on_error {
    PACK_ON_ERROR_SKIP = 0, /* leave rejected images out; the dataset has no holes */
    PACK_ON_ERROR_FAIL,     /* stop at the first */
    PACK_ON_ERROR_BLANK /* keep their place, black, and say so in the dataset `valid` */
};

/* Four times the largest image under PACK_IMAGE_MAX_PIXELS, uncompressed in 16 bits. */
#define PACK_CONVERT_MAX_FILE (UINT64_C(4) << 30)

/*
 * What decides the content of the file, stored in it as the attribute h5pack_options.
 * shuffle, seed and limit are stored only: the caller has called pack_source_shuffle() and
 * pack_source_limit() with them, and is refused where the source says otherwise.
 */
struct pack_convert_options {
    struct pack_image_params image;
    /* image.low_16 and high_16 are to be the smallest and the largest 16-bit sample of all
     * images that are packed, before they are cut or resized, which are decoded once more
     * for it; 16-bit ones that is, others are not scaled. What `image` says of the range
     * is ignored then. */
    bool finds_range_16;
    struct pack_geometry geometry;
    enum pack_pixel_layout layout;
    enum pack_chunk_goal goal;
    uint64_t chunk_samples;  /* samples per chunk; 0: automatic */
    struct pack_shape chunk; /* whole chunk shape instead; rank 0: not given */
    struct pack_pipeline pipeline;
    enum pack_libver libver; /* 0: PACK_LIBVER_V110 */
    enum pack_on_error on_error;
    uint64_t max_file_bytes; /* larger files are rejected; 0: PACK_CONVERT_MAX_FILE */
    bool shuffle;
    uint64_t seed;
    uint64_t limit; /* images; 0: all */
};

/* An image that was not packed. Texts are valid during the call of on_reject. */
struct pack_reject {
    bool ends_run;      /* by PACK_ON_ERROR_FAIL; the run's error says the same */
    uint64_t index;     /* of the record in the source */
    const char *name;   /* of the record */
    const char *path;   /* as pack_source_path() gives it */
    const char *reason; /* one sentence, without the name */
};

struct pack_convert_params {
    /* Required: listed, shuffled and limited as the options say, by the caller, who
     * closes it. Resuming, the list is the interrupted run's, this one tells what was
     * added; NULL: nothing is. */
    struct pack_source *source;
    struct pack_convert_options options;
    const char *output;  /* path of the file; required */
    const char *version; /* of the program, stored in the file; required to pack */
    bool force, resume;
    bool gone_are_rejects; /* images that are not there, however many in a row */
    bool any_seed; /* resuming: options.seed is as good as that of the interrupted run */
    bool verify;           /* read everything back through stock HDF5 before the rename */
    unsigned n_threads;    /* 0: one per processor */
    /* Bound of all pixel and file buffers; 0: 1 GiB. An image that does not fit ends the
     * run with PACK_ERR_MEMORY and the bound that would hold it, before it is read. */
    uint64_t memory_bytes;

    /* "scanning", "measuring" (finds_range_16), "resuming", "packing", "verifying"; in
     * images, and bytes of pixels */
    struct pack_watch watch;
    /* Called on the caller's thread; false stops the run with PACK_ERR_IO. May be NULL. */
    bool (*on_reject)(void *context, const struct pack_reject *reject);
    void *reject_context;
    /* Called on the caller's thread when nothing can be rejected any more and the file is
     * whole, before it gets its name: what belongs to it is to be on the disk by then. What
     * is not PACK_OK, with a sentence in err, stops the run, which can be resumed. May be
     * NULL. */
    enum pack_status (*on_complete)(void *context, struct pack_error *err);
    void *complete_context;
};

enum { PACK_CONVERT_UNREAD_MAX = 32 };

/* Images of a format that is not read. */
struct pack_convert_unread {
    const char *format; /* "GIF"; NULL: an entry that is not used */
    uint64_t n_rejected;
    uint64_t n_ignored; /* when listed, since neither name nor content was that of an
                           image that is read; they lie where images were taken */
};

struct pack_convert_result {
    uint64_t n_listed, n_packed, n_rejected, n_blank;
    /* Of those packed, images that decoded with a warning, have an ICC profile (left
     * alone), transparency, an orientation that was applied, or more than one picture. */
    uint64_t n_warned, n_icc, n_alpha, n_oriented, n_animated;
    uint64_t n_dim;  /* of 16-bit samples that end below 4096: nearly black, not scaled; */
    uint64_t n_pale; /* of these, such as are nearly white, as their 0 is (TIFF) */
    /* 16-bit samples low_16 to high_16 became 0 to 255; of a forecast with finds_range_16,
     * those of the images tried have this range. False where no image has any. */
    bool scales_16;
    uint16_t low_16, high_16;
    uint64_t n_cut; /* of 16-bit samples outside of this, which were cut; with finds_range_16
                       such as came when the range was known, or known to be none */
    struct pack_convert_unread unread[PACK_CONVERT_UNREAD_MAX];
    uint64_t n_replayed; /* packed by an earlier, interrupted run */
    bool resumable;      /* after a failure: `resume` would go on with what was done, */
    uint64_t n_saved;    /* which is this many of n_listed, rejected ones included */
    uint64_t seed;       /* of the random order; resuming, that of the interrupted run */
    /* resuming: images that came since the run began; `first` belongs to the source */
    struct pack_source_additions additions;
    struct pack_shape extent; /* of images */
    struct pack_shape chunk;
    uint64_t n_chunks;
    uint64_t pixel_bytes;  /* of images, uncompressed */
    uint64_t stored_bytes; /* of images, in the file */
    uint64_t source_bytes; /* of the image files read in this run */
    uint64_t file_bytes;   /* of the finished file */
    int n_channels;
    /* Of the packed pixels, 0 to 255, black stand-ins left out; std of the population. */
    double mean[3], std[3];
    uint64_t elapsed_ns;    /* all of it */
    uint64_t sync_ns;       /* of it, syncing the file to disk */
    uint64_t verify_ns;     /* of it, reading back for `verify` */
    /* memory_bytes bounds the two together. */
    uint64_t peak_bytes;   /* most memory that reading and decoding held at once */
    uint64_t buffer_bytes; /* memory of finished samples and chunks */
    uint64_t forecast_ns;  /* of a forecast: what packing would take, */
    uint64_t n_tried;      /* estimated by decoding this many images */
};

/*
 * Packs params->source into params->output.
 *
 * The file (h5pack(1) describes it): `images` uint8, `labels`,
 * `class_names`, `filenames`, `original_size`, `source_index`, the list's columns;
 * per-channel mean and std. Its bytes depend on the source and on `options` only, not on
 * threads, memory, interruptions or time.
 *
 * Safety: written as NAME.part with NAME.part.journal beside it, synced and renamed when
 * complete. When it fails or is stopped and something is done, both stay, and the same
 * call with `resume` goes on from there without decoding again, with the list of images
 * that the run began with, which the journal keeps. What is gone since stays packed, or is
 * a reject; what was added is packed where it can follow the others (result->additions).
 * PACK_ERR_CHANGED when options or sources are others, or a packed image was changed. A
 * run that was killed when the file had its name already is resumed likewise: nothing is
 * packed, on_reject and on_complete are called, and `result` is as that run's.
 *
 * An image that is not there (ENOENT), not permitted (EACCES) or not readable (EIO, after
 * a second try) is a reject once a later one was read: a hundred in a row are taken for
 * a server or disk that is gone, and end the run, as every other error of the machine
 * does at once. It can be resumed. With gone_are_rejects those that are not there (ENOENT)
 * are rejects at once, and do not count in a row.
 *
 * PACK_ERR_MISMATCH of `verify` leaves NAME.part and the journal, and nothing under NAME;
 * resuming packs again what is not as it was written.
 *
 * finds_range_16: the range is the same for any number of threads, is kept in the journal
 * and, as any range, in the file: attribute `scale16` of `images`, two integers. Images
 * that would be rejected do not count. Resuming takes the range that the run began with;
 * what was added since is cut to it (result->n_cut).
 *
 * Without a geometry that fixes the size, all headers are read first; images of more than
 * one size are PACK_ERR_ARGUMENT with the sizes there are. No image at all is
 * PACK_ERR_FORMAT.
 *
 * PACK_ERR_ARGUMENT before anything is read or written for options that cannot be, a
 * source without images or in another order than they say, no output or version;
 * PACK_ERR_EXISTS without `force`, PACK_ERR_LIMIT for chunks of 4 GiB, PACK_ERR_MEMORY
 * when memory_bytes does not hold two samples and two chunks, or an image, PACK_ERR_IO,
 * PACK_ERR_INTERRUPTED.
 *
 * The source is borrowed and not changed. Images are decoded on n_threads threads; HDF5 is
 * called from the caller's only, and from no other meanwhile. `result` is written on
 * success, and its counts also on failure as far as they went.
 */
enum pack_status pack_convert(const struct pack_convert_params *params,
                              struct pack_convert_result *result, struct pack_error *err);

/*
 * Reads all headers and decodes a few images: fills the counts, extent, chunk,
 * pixel_bytes, file_bytes as an estimate (compression is not foreseen) and forecast_ns;
 * finds_range_16 is not done, but its time counts.
 * on_reject gets what headers give away. `output` and `version` are not used. Errors as
 * pack_convert() without those of writing; threads as there.
 */
enum pack_status pack_convert_forecast(const struct pack_convert_params *params,
                                       struct pack_convert_result *result,
                                       struct pack_error *err);

/*
 * Decodes the source again, with the options that the existing file `output` was packed
 * with, and compares pixels, labels, names, classes, and all datasets that have a value for
 * each image, with it, read through stock HDF5.
 * PACK_ERR_MISMATCH tells the first difference; `n_rejected` counts images that could not
 * be decoded. `options` and `version` of params are ignored, but
 * pack_convert_options_read() is to be called first so that the source can be listed,
 * shuffled and limited alike: else it is PACK_ERR_ARGUMENT. Other errors as
 * pack_convert_options_read(), threads as pack_convert().
 */
enum pack_status pack_convert_compare(const struct pack_convert_params *params,
                                      struct pack_convert_result *result,
                                      struct pack_error *err);

/* The options of an existing file, which own nothing; with finds_range_16 `image` has the
 * range that was found, and scales_16 is false where none was. PACK_ERR_FORMAT when h5pack did
 * not write it, PACK_ERR_NOT_FOUND, PACK_ERR_IO, PACK_ERR_MEMORY. Calls HDF5. */
enum pack_status pack_convert_options_read(const char *path,
                                           struct pack_convert_options *options,
                                           struct pack_error *err);

/*
 * Samples per chunk for a goal. FOR_SHUFFLE: one, or as many as stay under 64 KiB where
 * samples are small, for a chunk is read whole (measured with a 1 MiB cache and warm
 * pages: one image of 147 KB per chunk 29 us a read, six per chunk 104 us).
 * FOR_BLOCK_SHUFFLE: as many as stay within 1 MiB, the default chunk cache of HDF5 1.x,
 * at least one.
 */
uint64_t pack_convert_chunk_samples(enum pack_chunk_goal goal, uint64_t sample_bytes);

#ifdef __cplusplus
}
#endif
#endif
