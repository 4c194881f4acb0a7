/* What the parts of convert share: the plan of a file, and the scan of headers. */
#ifndef LIBPACK_CONVERT_PARTS_H
#define LIBPACK_CONVERT_PARTS_H

#include <libpack/convert.h>
#include "libpack/hdf5/writer.h"
#include "libpack/base/buf.h"
#include "libpack/base/json.h"
#include "libpack/base/name.h"
#include "libpack/convert/samples.h"

/*
 * Shapes and memory of a file, once the size of a sample is known. A block is what is
 * assembled at a time: chunk.extent[0] samples, which are chunks_per_block chunks (one,
 * unless the user's chunk shape divides samples).
 */
struct pack_convert_plan {
    uint32_t out_h, out_w;
    int n_channels;
    uint64_t sample_bytes;
    struct pack_shape sample; /* axes behind the first: HxWxC, CxHxW; HxW for gray nhwc */
    struct pack_shape chunk;
    uint64_t chunk_bytes, chunks_per_block;
    uint64_t block_samples, block_bytes;
    bool whole; /* the one chunk of a block is the block itself */
    bool direct; /* a sample is a block, encoded where it was made; there is one block */
    uint64_t coded_bytes; /* bound of what encoding makes of a block beside its pixels */
    uint64_t coding_bytes; /* that a thread holds beside that while it encodes one */
    uint64_t slot_bytes, filling_bytes; /* that a sample, and a block, in flight take */
    unsigned n_threads;
    size_t n_slots, n_blocks; /* samples and blocks in flight */
    uint64_t decode_bytes;    /* bound for reading and decoding */
    uint64_t buffer_bytes;    /* slots and blocks */
};

/* PACK_ERR_ARGUMENT for impossible chunk shapes, PACK_ERR_LIMIT for samples or chunks of
 * 4 GiB, PACK_ERR_MEMORY when memory_bytes does not hold two blocks and two samples. */
enum pack_status pack_convert_plan_make(const struct pack_convert_params *params,
                                        uint32_t out_h, uint32_t out_w,
                                        struct pack_convert_plan *plan,
                                        struct pack_error *err);

/* What a memory bound leaves for reading and decoding beside the samples and blocks of a
 * plan, 0 where it does not even hold these; all of it where slot_bytes is 0 (nothing is
 * known of a file yet). */
uint64_t pack_convert_left_bytes(const struct pack_convert_plan *plan, uint64_t memory);

/* How samples are made for this plan, from the first record on. */
struct pack_samples_params
pack_convert_samples(const struct pack_convert_params *params,
                     const struct pack_convert_plan *plan);

/* PACK_ERR_ARGUMENT for what nothing can be done with: no source (where none is resumed
 * that `packs`), result or output, enums and sizes that cannot be. */
enum pack_status pack_convert_check_source(const struct pack_convert_params *params,
                                           const struct pack_convert_result *result,
                                           bool packs, struct pack_error *err);
enum pack_status pack_convert_check_output(const struct pack_convert_params *params,
                                           struct pack_error *err);
enum pack_status pack_convert_check_options(const struct pack_convert_options *options,
                                            struct pack_error *err);
/* PACK_ERR_ARGUMENT for a source that is not shuffled or limited as the options say. */
enum pack_status pack_convert_check_order(const struct pack_source *source,
                                          const struct pack_convert_options *options,
                                          struct pack_error *err);

/* PACK_ERR_ARGUMENT for a column with the name of a dataset that the options ask for. */
enum pack_status pack_convert_check_columns(const struct pack_source *source,
                                            const struct pack_convert_options *options,
                                            struct pack_error *err);

enum { PACK_CONVERT_ROW_MAX = 100 };

/* Images that could not be taken: one after the other, or all of a run's. */
struct pack_convert_row {
    uint64_t first, last, n;
    char reason[PACK_SAMPLE_REASON_MAX]; /* of the first */
    bool alike; /* all are the system's refusals, for the same reason */
    bool gone;  /* in row: none is there */
};

/* `refused`: the system did not let it be read. */
void pack_convert_row_add(struct pack_convert_row *row, uint64_t index,
                          const char *reason, bool refused);

/* Counts those that cannot be read, but for what gone_are_rejects says. PACK_ERR_IO when the
 * row is full: so many in a row are not at fault, but the server is or the disk; see
 * convert_missing.c. */
enum pack_status pack_convert_row_count(const struct pack_convert_params *params,
                                        struct pack_convert_row *row,
                                        const struct pack_sample *sample,
                                        struct pack_error *err);

/* At the end of all: PACK_ERR_IO when the row reaches it and none of those before can be
 * read any more. */
enum pack_status pack_convert_row_end(const struct pack_convert_params *params,
                                      const struct pack_convert_row *row,
                                      struct pack_error *err);

enum { PACK_CONVERT_SIZES_MAX = 8 };

/* A header scan: every record probed, in order. */
struct pack_convert_scan {
    uint64_t n_ready, n_rejected, source_bytes, source_pixels;
    uint64_t wide_pixels; /* of source_pixels, those of 16 bits */
    uint64_t n_icc, n_alpha, n_oriented, n_animated;
    uint64_t n_unread[PACK_IMAGE_KINDS]; /* of n_rejected */
    struct {
        uint32_t h, w;
        uint64_t n;
    } sizes[PACK_CONVERT_SIZES_MAX]; /* output sizes in order of appearance */
    int n_sizes;                     /* kept */
    uint64_t n_other_sizes;          /* images of sizes that found no place */
    struct pack_sample largest;      /* takes most memory, READY or over_memory */
    struct pack_convert_row row, rejects; /* row: n is 0 when all were probed */
    struct pack_buf reasons; /* of rejects: index, text with its NUL */
};

/* Nobody is told of rejects yet. The scan is valid on failure too, with what was found until
 * then; its owner ends it with pack_convert_scan_done(). */
enum pack_status pack_convert_scan_headers(const struct pack_convert_params *params,
                                           struct pack_convert_scan *scan,
                                           struct pack_error *err);

enum { PACK_CONVERT_SOME = 64 };

/* A few images, spread over a source. */
struct pack_convert_some {
    struct pack_source source;
    struct pack_record records[PACK_CONVERT_SOME];
};

void pack_convert_some_of(const struct pack_source *source, struct pack_convert_some *some);

/* Hands the rejects on, but not those of a row that may yet be no rejects. */
enum pack_status pack_convert_scan_tell(const struct pack_convert_params *params,
                                        const struct pack_convert_scan *scan,
                                        struct pack_error *err);
void pack_convert_scan_done(struct pack_convert_scan *scan);

/* The size all samples have: from the geometry, else by a scan of headers. */
enum pack_status pack_convert_find_size(const struct pack_convert_params *params,
                                        uint32_t *out_h, uint32_t *out_w,
                                        struct pack_error *err);

/* The smallest and the largest 16-bit sample of some images. */
struct pack_convert_range {
    bool is_known; /* false: there was no such sample */
    uint16_t low, high;
};

void pack_convert_range_add(struct pack_convert_range *range,
                            const struct pack_image_info *info);
/* That of all images that the plan makes samples of; see convert_range.c. */
enum pack_status pack_convert_find_range(const struct pack_convert_params *params,
                                         const struct pack_convert_plan *plan,
                                         struct pack_convert_range *range,
                                         struct pack_error *err);

/* PACK_ERR_ARGUMENT with the sizes a scan met when they are more than one;
 * PACK_ERR_FORMAT when none; PACK_ERR_MEMORY when an image does not fit in it. */
enum pack_status pack_convert_check_scan(const struct pack_convert_params *params,
                                         const struct pack_convert_scan *scan,
                                         struct pack_error *err);

/* Puts into a result what the listing knows of formats that are not read. */
void pack_convert_count_unread(const struct pack_source *source,
                               struct pack_convert_result *result);

/* PACK_ERR_FORMAT: all files were rejected. */
enum pack_status pack_convert_fail_empty(const struct pack_source *source,
                                         const struct pack_convert_row *rejects,
                                         struct pack_error *err);

/* "'path of record': " in front of err. */
enum pack_status pack_convert_name_record(const struct pack_source *source,
                                          uint64_t index, enum pack_status status,
                                          struct pack_error *err);

/* Why a sample failed, and its path in front. Of one that is over memory, the least bound
 * that would hold it beside a file of this plan; NULL: beside a file of images like it. */
enum pack_status pack_convert_fail_sample(const struct pack_convert_params *params,
                                          const struct pack_convert_plan *plan,
                                          const struct pack_sample *sample,
                                          struct pack_error *err);

/* PACK_ERR_MEMORY, likewise, when memory_bytes does not hold a sample of which headers were
 * read beside a file of images like it. */
enum pack_status pack_convert_check_fits(const struct pack_convert_params *params,
                                         const struct pack_sample *sample,
                                         struct pack_error *err);

/* As the parameters say, else the default. */
uint64_t pack_convert_memory(const struct pack_convert_params *params);
unsigned pack_convert_threads(const struct pack_convert_params *params);
/* Tells the watch; PACK_ERR_INTERRUPTED when it stops the run. */
enum pack_status pack_convert_watch(const struct pack_convert_params *params,
                                    const char *stage, uint64_t done, uint64_t total,
                                    uint64_t bytes, struct pack_error *err);
/* Hands a reject on; PACK_ERR_IO when the caller could not take it. Of one that ends the
 * run, which on_error says, PACK_ERR_FORMAT with the reason. */
enum pack_status pack_convert_reject(const struct pack_convert_params *params,
                                     uint64_t index, const char *reason, bool ends_run,
                                     struct pack_error *err);

/* Everything of a file but the chunks of `images`. */
struct pack_convert_contents {
    const struct pack_source *source;
    const struct pack_convert_options *options;
    const char *options_text, *version;
    const struct pack_convert_plan *plan;
    const struct pack_convert_result *result; /* n_packed, mean, std, the range */
    const uint64_t *rows;                     /* record of each packed sample */
    const int32_t *sizes;                     /* height and width of each one's source */
    const uint8_t *valid;                     /* NULL: no such dataset */
};

enum pack_status pack_convert_write_contents(struct pack_writer *writer,
                                             const struct pack_convert_contents *contents,
                                             struct pack_error *err);

/* What an existing file has of each of its n_rows images besides pixels, label and name, so
 * far as the source and its options say what that is to be. PACK_ERR_FORMAT,
 * PACK_ERR_NOT_FOUND; PACK_ERR_MISMATCH for a column of the list that the file lacks, or has
 * of another type. `source` is to outlive *stored. */
struct pack_convert_stored;
enum pack_status pack_convert_stored_read(const struct pack_source *source,
                                          const struct pack_convert_options *options,
                                          int64_t file, uint64_t n_rows,
                                          struct pack_convert_stored **stored,
                                          struct pack_error *err);
void pack_convert_stored_free(struct pack_convert_stored *stored);
/* PACK_ERR_MISMATCH tells what of a row is not as the sample is, and how. */
enum pack_status pack_convert_stored_check(const struct pack_convert_stored *stored,
                                           uint64_t row, const struct pack_sample *sample,
                                           struct pack_error *err);

/* Compares the images of the file at `path` with a checksum per chunk, all of them read
 * back through stock HDF5. PACK_ERR_MISMATCH names the first chunk that differs. */
enum pack_status pack_convert_verify_chunks(const struct pack_convert_params *params,
                                            const char *path,
                                            const struct pack_convert_plan *plan,
                                            const uint64_t *checksums, uint64_t n_packed,
                                            struct pack_error *err);

#endif
