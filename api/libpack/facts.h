/* What is known of a dataset without reading its data. */
#ifndef LIBPACK_FACTS_H
#define LIBPACK_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/filter.h>
#include <libpack/size.h>

#ifdef __cplusplus
extern "C" {
#endif

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
    bool is_signed;             /* integers */
    bool is_variable;           /* strings and sequences of variable length */
    enum pack_type_order order; /* integers, floats, bitfields; else NONE */
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

/* Lower-case words, for reports and JSON; never NULL. */
const char *pack_type_class_name(enum pack_type_class class_id);
const char *pack_layout_name(enum pack_layout layout);
const char *pack_index_name(enum pack_index index);

/* HDF5 does not even visit chunks without storage: fill time "never", or "if set" and no
 * fill value defined. */
bool pack_facts_skip_missing(const struct pack_facts *facts);

enum { PACK_TYPE_TEXT_MAX = 32 };
/* "uint8", "int64", ">float64" (big-endian), "variable-length string",
 * "compound of 24 bytes" into text.
 * Returns text. */
char *pack_type_format(const struct pack_type *type, char *text);

#ifdef __cplusplus
}
#endif
#endif
