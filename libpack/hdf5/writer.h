/* Creates an HDF5 file: datasets filled with whole, ready chunks, small datasets,
 * attributes; the same calls give the same bytes. */
#ifndef LIBPACK_WRITER_H
#define LIBPACK_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libpack/hdf5/filter.h"
#include <libpack/shape.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element types of datasets and attributes, little-endian in the file. */
enum pack_number { PACK_UINT8 = 0, PACK_INT32, PACK_INT64, PACK_FLOAT32, PACK_FLOAT64 };

struct pack_writer_params {
    enum pack_libver libver;
    bool resume; /* the file holds the work of an interrupted run: see below */
    bool is_new; /* else there is no file: one that is there is left alone */
};

/*
 * One file being written, from one thread. Every call that can fail names the file. After
 * a failure the writer is dead: nothing more reaches the file, later calls fail alike,
 * and what is left to do is pack_writer_abandon.
 *
 * How a run goes on after an interruption: HDF5 is deterministic, so the same calls cause
 * the same writes. With `resume`, the file is not truncated, and the caller makes the
 * same calls as before; for chunks that are in the file already it calls
 * pack_writer_chunk_replayed, which lets HDF5 do its bookkeeping and skips the write of
 * the bytes. Everything else is simply written again. The finished file equals that of an
 * uninterrupted run byte for byte.
 */
struct pack_writer;
struct pack_writer_dataset;

/* Creates the file at `path` (usually pack_outfile_part_path), replacing what is there
 * unless params->resume or is_new, with which links are not followed either. */
enum pack_status pack_writer_open(const char *path,
                                  const struct pack_writer_params *params,
                                  struct pack_writer **writer, struct pack_error *err);

/* Closes the file; all is handed to the system, not synced: see pack_outfile_commit.
 * Frees `writer` in any case. */
enum pack_status pack_writer_close(struct pack_writer *writer, struct pack_error *err);

/* Stops here: HDF5's own structures are not completed, so the file can only be resumed.
 * Frees `writer`; accepts NULL. */
void pack_writer_abandon(struct pack_writer *writer);

struct pack_writer_dataset_params {
    enum pack_number type;
    struct pack_shape sample; /* extents of all axes but the first */
    struct pack_shape chunk;  /* of all axes, the first included */
    struct pack_pipeline pipeline;
};

/*
 * Creates a chunked dataset without a sample in it. `path` like "images" or
 * "train/images"; groups are made as needed. Axis 0 has no maximum, so that samples can
 * be appended later. Chunks that are never written are not filled. The dataset belongs to
 * the writer and is closed with it.
 */
enum pack_status
pack_writer_dataset_create(struct pack_writer *writer, const char *path,
                           const struct pack_writer_dataset_params *params,
                           struct pack_writer_dataset **dataset, struct pack_error *err);

/* Uncompressed bytes of one chunk, edge chunks being stored whole; and chunks that
 * `n_samples` samples need. */
uint64_t pack_writer_chunk_bytes(const struct pack_writer_dataset *dataset);
uint64_t pack_writer_chunk_count(const struct pack_writer_dataset *dataset,
                                 uint64_t n_samples);

/*
 * Writes chunk `number` (row-major over the grid of chunks, axis 0 slowest),
 * as pack_pipeline_encode gave it. Each number once, in any order, though only one order
 * gives the same bytes; the dataset grows to hold at least the chunk's first sample.
 * *address is where the bytes are in the file.
 */
enum pack_status pack_writer_chunk(struct pack_writer_dataset *dataset, uint64_t number,
                                   const struct pack_stored *stored, uint64_t *address,
                                   struct pack_error *err);

/* The same for a chunk whose bytes an interrupted run left at `address`.
 * PACK_ERR_CHANGED when HDF5 now puts it elsewhere. */
enum pack_status pack_writer_chunk_replayed(struct pack_writer_dataset *dataset,
                                            uint64_t number, size_t stored_bytes,
                                            uint32_t filter_mask, uint64_t address,
                                            struct pack_error *err);

/* Sets the number of samples, at least those that chunk starts have implied. */
enum pack_status pack_writer_dataset_extent(struct pack_writer_dataset *dataset,
                                            uint64_t n_samples, struct pack_error *err);

/* A whole dataset in one call, stored contiguously. `data` in the machine's byte
 * order. */
enum pack_status pack_writer_array(struct pack_writer *writer, const char *path,
                                   enum pack_number type, const struct pack_shape *shape,
                                   const void *data, struct pack_error *err);

/*
 * A one-dimensional dataset of UTF-8 texts. Fixed length, padded with NUL, unless one
 * long text would make that more than four times the text and 64 KiB: then of variable
 * length.
 */
enum pack_status pack_writer_texts(struct pack_writer *writer, const char *path,
                                   const char *const *texts, uint64_t n,
                                   struct pack_error *err);

/* Attributes of the object at `path` ("/" is the file's root), which must exist.
 * Text: scalar, fixed length with its NUL, ASCII where it is and UTF-8 where not. */
enum pack_status pack_writer_attr_text(struct pack_writer *writer, const char *path,
                                       const char *name, const char *text,
                                       struct pack_error *err);
/* Numbers: one-dimensional, or a scalar when n is 1 and `scalar` is set. */
struct pack_writer_numbers {
    enum pack_number type;
    uint64_t n;
    const void *data;
    bool scalar;
};
enum pack_status pack_writer_attr_numbers(struct pack_writer *writer, const char *path,
                                          const char *name,
                                          const struct pack_writer_numbers *numbers,
                                          struct pack_error *err);
/* Texts: one-dimensional, variable length, as H5DS keeps DIMENSION_LABELS. */
enum pack_status pack_writer_attr_texts(struct pack_writer *writer, const char *path,
                                        const char *name, const char *const *texts,
                                        uint64_t n, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
