/* What is known of a dataset without reading its data: facts, filters, where its chunks
 * lie. */
#ifndef LIBPACK_DATASET_H
#define LIBPACK_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/shape.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ filters */

/* Filters that can be encoded and decoded here, by their number in HDF5 files. */
enum {
    PACK_FILTER_DEFLATE = 1,    /* cd: level 0 to 9 */
    PACK_FILTER_SHUFFLE = 2,    /* cd: bytes of an element */
    PACK_FILTER_FLETCHER32 = 3, /* no cd */
    PACK_FILTER_LZF = 32000,    /* h5py's; decoded only, by readers */
    PACK_FILTER_ZSTD = 32015    /* cd: none, or level up to 22 as an int */
};

enum {
    PACK_PIPELINE_MAX = 32, /* as H5Z_MAX_NFILTERS */
    PACK_FILTER_CD_MAX = 20,
    PACK_FILTER_OPTIONAL = 1 /* flag, as H5Z_FLAG_OPTIONAL */
};

struct pack_filter {
    uint32_t id;
    uint32_t flags;
    uint32_t n_cd; /* values the file has; the first PACK_FILTER_CD_MAX are in cd */
    uint32_t cd[PACK_FILTER_CD_MAX];
};

/* The filters of a dataset, in the order in which writing applies them. */
struct pack_pipeline {
    int n;
    struct pack_filter filter[PACK_PIPELINE_MAX];
};

/*
 * "none", or stages joined by '+': "gzip[:0..9]" (default 4), "zstd[:-50..22]" (default
 * 3), "shuffle", "fletcher32", e.g. "shuffle+gzip:4+fletcher32". "deflate" is accepted
 * for gzip. Flags are those that H5Pset_deflate and its siblings set: all but fletcher32
 * are optional. `element_bytes`, 1 or more, is what shuffle works on. PACK_ERR_ARGUMENT
 * with a sentence that quotes the stage.
 */
enum pack_status pack_pipeline_parse(const char *text, uint32_t element_bytes,
                                     struct pack_pipeline *pipeline,
                                     struct pack_error *err);

/* Appends one filter, with a copy of its n_cd parameters. PACK_ERR_ARGUMENT when the
 * pipeline is full or n_cd is more than PACK_FILTER_CD_MAX. */
enum pack_status pack_pipeline_add(struct pack_pipeline *pipeline, uint32_t id,
                                   uint32_t flags, uint32_t n_cd, const uint32_t *cd,
                                   struct pack_error *err);

enum { PACK_PIPELINE_TEXT_MAX = 512 };
/* As parsed, other filters by name ("lzf") or as "filter-305"; cut, with "...", when it
 * does not fit; "unknown" for what is no pipeline. text has PACK_PIPELINE_TEXT_MAX bytes.
 * Returns text. */
char *pack_pipeline_format(const struct pack_pipeline *pipeline, char *text);

/* Short name of a registered filter ("zstd", "blosc2"), a literal, or NULL. */
const char *pack_filter_name(uint32_t id);

enum { PACK_FILTER_NEED_MAX = 128 };
/* "needs filter 32015 (zstd): import hdf5plugin" into text[PACK_FILTER_NEED_MAX]; which
 * filter, and the usual package that brings it. Returns text. */
char *pack_filter_need(uint32_t id, char *text);

/* Whether every filter of the pipeline is known here; if not, *id (unless NULL) is the
 * first unknown. */
bool pack_pipeline_is_known(const struct pack_pipeline *pipeline, uint32_t *id);

/* ------------------------------------------------------------------ facts */

/*
 * Oldest HDF5 release that is to read what is written; newer ones read it all. V110, the
 * default, gives chunk indexes with direct look-up (an extensible array instead of a
 * B-tree); EARLIEST what every HDF5 reads; LATEST whatever the library at hand considers
 * its own.
 */
enum pack_libver {
    PACK_LIBVER_V110 = 0,
    PACK_LIBVER_EARLIEST,
    PACK_LIBVER_V18,
    PACK_LIBVER_LATEST
};

/* "earliest", "v18", "v110", "latest"; PACK_ERR_ARGUMENT otherwise. */
enum pack_status pack_libver_parse(const char *text, enum pack_libver *libver,
                                   struct pack_error *err);
/* The same words; "unknown" for what is none. */
const char *pack_libver_name(enum pack_libver libver);

enum pack_type_class {
    PACK_TYPE_INTEGER = 0,
    PACK_TYPE_FLOAT,
    PACK_TYPE_TIME,
    PACK_TYPE_STRING,
    PACK_TYPE_BITFIELD,
    PACK_TYPE_OPAQUE,
    PACK_TYPE_COMPOUND,
    PACK_TYPE_REFERENCE,
    PACK_TYPE_ENUM,
    PACK_TYPE_VLEN,
    PACK_TYPE_ARRAY,
    PACK_TYPE_OTHER
};

enum pack_type_order { PACK_ORDER_LITTLE = 0, PACK_ORDER_BIG, PACK_ORDER_NONE };

struct pack_type {
    enum pack_type_class class_id;
    uint32_t bytes;             /* of one element, in the file */
    bool is_signed;             /* integers, and those that enums stand for */
    bool is_ieee;               /* floats of 2, 4 and 8 bytes as IEEE 754 has them */
    bool is_long_double;        /* floats of more than 8 bytes that are this machine's long double */
    bool is_variable;           /* strings and sequences of variable length */
    enum pack_type_order order; /* integers, floats, bitfields, enums; else NONE */
    bool is_padded;             /* integers, bitfields, enums of which not all bits count: 12
                                   in 2 bytes, say; HDF5 fills in the others as it reads */
    bool is_bool;               /* enums of 1 byte whose members are FALSE, 0, and TRUE, 1, and no
                                   others, as h5py writes truth values */
};

enum pack_space { PACK_SPACE_SIMPLE = 0, PACK_SPACE_SCALAR, PACK_SPACE_NULL };

enum pack_layout {
    PACK_LAYOUT_COMPACT = 0,
    PACK_LAYOUT_CONTIGUOUS,
    PACK_LAYOUT_CHUNKED,
    PACK_LAYOUT_VIRTUAL
};

enum pack_index {
    PACK_INDEX_NONE = 0,         /* not chunked */
    PACK_INDEX_BTREE1,           /* version 1 B-tree, look-up grows with the file */
    PACK_INDEX_SINGLE,           /* one chunk */
    PACK_INDEX_IMPLICIT,         /* addresses by arithmetic */
    PACK_INDEX_FIXED_ARRAY,      /* no unlimited dimension */
    PACK_INDEX_EXTENSIBLE_ARRAY, /* one unlimited dimension */
    PACK_INDEX_BTREE2            /* several unlimited dimensions */
};

enum pack_fill_value { PACK_FILL_UNDEFINED = 0, PACK_FILL_DEFAULT, PACK_FILL_USER };
enum pack_fill_time { PACK_FILL_ALLOC = 0, PACK_FILL_NEVER, PACK_FILL_IFSET };
enum pack_alloc_time { PACK_ALLOC_EARLY = 0, PACK_ALLOC_LATE, PACK_ALLOC_INCREMENTAL };

enum {
    PACK_FACTS_PATH_MAX = 1024,
    PACK_FACTS_TEXT_MAX = 64,
    PACK_FACTS_LABELS_MAX = 8,
    PACK_FACTS_CHANNELS_MAX = 16
};

/* A text attribute, cut to fit; empty when absent. */
typedef char pack_facts_text[PACK_FACTS_TEXT_MAX];

struct pack_facts {
    char path[PACK_FACTS_PATH_MAX]; /* of the dataset inside the file, cut to fit */
    struct pack_type type;
    enum pack_space space;
    struct pack_shape extent;
    struct pack_shape max_extent; /* UINT64_MAX: unlimited */
    uint64_t n_elements;          /* UINT64_MAX when more than 64 bits count */
    uint64_t logical_bytes;       /* n_elements times type.bytes, likewise */

    enum pack_layout layout;
    struct pack_shape chunk;     /* rank 0 unless chunked */
    uint64_t chunk_bytes;        /* uncompressed */
    struct pack_shape n_chunks;  /* of the grid, per dimension */
    uint64_t n_chunks_total;     /* their product */
    uint64_t n_chunks_stored;    /* those that have storage in the file */
    uint64_t stored_bytes;       /* of data in the file */
    bool edge_chunks_unfiltered; /* H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS */
    uint64_t contiguous_address; /* of contiguous data in the file; UINT64_MAX: none */
    uint64_t n_external;         /* external files that hold contiguous data */
    uint64_t n_virtual;          /* sources of a virtual dataset */
    enum pack_index index;
    struct pack_pipeline pipeline;
    bool filters_available; /* the linked HDF5 could decode it */

    enum pack_fill_value fill;
    enum pack_fill_time fill_time;
    enum pack_alloc_time alloc_time;
    bool fill_is_zero; /* whatever is not stored reads as zeros */

    /* attributes of the dataset */
    pack_facts_text class_name;     /* CLASS, "IMAGE" for images */
    pack_facts_text image_subclass; /* IMAGE_SUBCLASS */
    pack_facts_text interlace_mode; /* INTERLACE_MODE */
    int n_labels;                   /* DIMENSION_LABELS: "N", "H", "W", "C" */
    char label[PACK_FACTS_LABELS_MAX][16];
    int n_mean, n_std; /* "mean" and "std", per channel */
    double mean[PACK_FACTS_CHANNELS_MAX], std[PACK_FACTS_CHANNELS_MAX];

    /* the file */
    uint64_t file_bytes;
    uint64_t user_block_bytes;
    unsigned superblock_version;   /* 0, 1: before 1.8; 2: 1.8; 3: 1.10 and later */
    bool has_page_strategy;        /* written with paged file space */
    pack_facts_text h5pack_schema; /* root attributes; empty when not ours */
    pack_facts_text h5pack_version;
};

/*
 * Fills *facts for the dataset at `path` of the file named `file`, from its metadata; no
 * data is read. "images" and "/images" are the same path. Which dataset a file is about is
 * the caller's to know: the programs take `images`, else `data`, else the only one with
 * samples, but no function here does. PACK_ERR_NOT_FOUND when one of them is not there,
 * PACK_ERR_ARGUMENT when `path` is no dataset, PACK_ERR_FORMAT for what is no HDF5 file
 * or is damaged. Opens and closes the file by itself, in this process: a damaged file on
 * which HDF5 crashes ends the caller. *facts owns nothing. HDF5 is used from one thread
 * at a time, the caller's: no other may be in HDF5 meanwhile unless it was built
 * thread-safe.
 */
enum pack_status pack_dataset_facts(const char *file, const char *path,
                                    struct pack_facts *facts, struct pack_error *err);

/* Lower-case words, for reports and JSON; "other" or "unknown" for what is none. */
const char *pack_type_class_name(enum pack_type_class class_id);
const char *pack_layout_name(enum pack_layout layout);
/* The same of a dataset; "external" where other files hold its contiguous data. */
const char *pack_facts_layout_name(const struct pack_facts *facts);
const char *pack_index_name(enum pack_index index);

/* HDF5 does not even visit chunks without storage: fill time "never", or "if set" and no
 * fill value defined. */
bool pack_facts_skip_missing(const struct pack_facts *facts);

/* Nothing of it was ever written: no chunk is stored, or contiguous data has no place in the
 * file. All of it reads as the fill value, and nothing is read from the file. */
bool pack_facts_is_unwritten(const struct pack_facts *facts);

enum { PACK_TYPE_TEXT_MAX = 32 };
/* "uint8", "int64", ">float64" (big-endian), "variable-length string", "compound of 24
 * bytes" into text[PACK_TYPE_TEXT_MAX]. Returns text. */
char *pack_type_format(const struct pack_type *type, char *text);

/* ------------------------------------------------------------------ chunks */

#define PACK_CHUNK_MISSING UINT64_MAX /* address of a chunk without storage */

struct pack_chunk {
    uint64_t number;        /* row-major over the grid of chunks */
    uint64_t address_bytes; /* from the start of the file, or PACK_CHUNK_MISSING */
    uint64_t stored_bytes;
    uint32_t filter_mask; /* bit i: filter i of the pipeline was not applied */
};

struct pack_chunkindex {
    struct pack_chunk *chunks; /* all of the grid, chunks[i].number == i */
    uint64_t n_chunks;
    uint64_t n_missing;
    uint64_t stored_bytes; /* sum over all chunks */
};

/*
 * Lists the chunks of the dataset at `path` in the file named `file`. Opens the file by
 * itself, in this process as pack_dataset_facts(), with its own driver. At most `n_max`
 * chunks (32 bytes each), PACK_ERR_LIMIT beyond; 0 stands for 2^26. PACK_ERR_ARGUMENT
 * when the dataset is not chunked, PACK_ERR_NOT_FOUND, PACK_ERR_FORMAT and threads as
 * pack_dataset_facts(), PACK_ERR_MEMORY. Stored sizes and addresses are as HDF5 gives
 * them: they may lie outside a damaged file.
 *
 * Uses H5Dchunk_iter where the library has it. Before that, in HDF5 1.10, asking for one
 * chunk's address costs a walk over all of them; instead every chunk is read with
 * H5Dread_chunk and the driver notes and swallows the reads. pack_chunkindex_done() frees
 * the chunks and zeroes *index.
 */
enum pack_status pack_chunkindex_read(const char *file, const char *path, uint64_t n_max,
                                      struct pack_chunkindex *index,
                                      struct pack_error *err);
void pack_chunkindex_done(struct pack_chunkindex *index);

#ifdef __cplusplus
}
#endif
#endif
