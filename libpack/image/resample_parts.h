/* What resample.c shares with its faster variants and with their test. */
#ifndef LIBPACK_RESAMPLE_PARTS_H
#define LIBPACK_RESAMPLE_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "libpack/image/resample.h"

enum {
    PACK_RESAMPLE_BITS = 32 - 8 - 2, /* fraction bits of a coefficient, as in Pillow */
    PACK_RESAMPLE_SPLIT = 12,        /* k == high * 2^SPLIT + low */
    PACK_RESAMPLE_DIGITS = 3,        /* k == d[0] + d[1] * 2^8 + d[2] * 2^16 */
    PACK_RESAMPLE_GROUP = 4,         /* taps are padded with zeros to whole groups */
    PACK_RESAMPLE_ROWS = 4,          /* rows that `horizontal` does at once */
    PACK_RESAMPLE_OVERREAD = 16,     /* bytes that may be read behind a row */
    PACK_RESAMPLE_OVERWRITE = 1,     /* bytes that may be written behind a row */
    PACK_RESAMPLE_TABLES = 16,       /* kept, least recently used first out */
    PACK_RESAMPLE_KEPT = 1024 * 1024 /* bytes of kept tables, unless one job needs more */
};

/* One axis of a job: `in` source pixels, of which the interval from `from` to `to` is
 * scaled to `out`; the window is outputs `first` to `first + n - 1`. */
struct pack_resample_axis {
    uint32_t in, out, first, n;
    float from, to; /* single precision, as Pillow's box */
    enum pack_resample_filter filter;
    bool flips; /* the window's last output comes first */
};

/* Coefficients of one axis, for the outputs of a window. */
struct pack_resample_table {
    uint32_t n;      /* outputs */
    uint32_t taps;   /* room per output: whole groups */
    uint32_t *first; /* [n] first source pixel */
    uint32_t *count; /* [n] source pixels used, at most `taps` */
    int32_t *k;      /* [n][taps] fixed point, zeros behind `count` */
    int16_t *halves; /* [n][taps / GROUP][high or low][GROUP] the same, split */
    int8_t *digits;  /* [n][taps / GROUP][DIGITS][GROUP] the same, split further */
};

struct pack_resample_ops {
    const char *name;
    /* Scales PACK_RESAMPLE_ROWS rows of 1 or 3 channels; writes n pixels each. */
    void (*horizontal)(uint8_t *const *out, const uint8_t *const *rows, int channels,
                       const struct pack_resample_table *table);
    /* Output `y` of a column of rows: rows[0] is its first source row; as many rows as
     * the output has taps, padding included, can be read. Writes exactly `bytes`. */
    void (*vertical)(uint8_t *out, const uint8_t *const *rows, size_t bytes,
                     const struct pack_resample_table *table, uint32_t y);
    /* n interleaved pixels to three planes. */
    void (*split)(uint8_t *const planes[3], const uint8_t *pixels, size_t n);
};

struct pack_resample_slot {
    struct pack_resample_axis axis;
    struct pack_resample_table table;
    size_t bytes;
    uint64_t used; /* the job that used it last; 0: empty */
};

/* The tables used last; zeroed at first. */
struct pack_resample_tables {
    struct pack_resample_slot slots[PACK_RESAMPLE_TABLES];
    uint64_t now; /* the job, from 1; its caller counts */
};

/* The table of an axis, kept or new, valid until the next job; NULL without memory. */
const struct pack_resample_table *
pack_resample_tables_get(struct pack_resample_tables *tables,
                         const struct pack_resample_axis *axis);
void pack_resample_tables_done(struct pack_resample_tables *tables);

/* Taps of an axis' widest output, in whole groups. */
uint32_t pack_resample_taps(const struct pack_resample_axis *axis);
/* The source pixels that its outputs look at, or a few more; for nearest as well. */
void pack_resample_span(const struct pack_resample_axis *axis, uint32_t *from,
                        uint32_t *n);
/* Bytes of its table; false when they are beyond all memory. */
bool pack_resample_table_bytes(const struct pack_resample_axis *axis, uint64_t *bytes);

extern const struct pack_resample_ops pack_resample_scalar;
extern const struct pack_resample_ops pack_resample_avx2;
extern const struct pack_resample_ops pack_resample_vnni;

/* The i-th variant that this machine can run, fastest first; NULL behind the last. */
const struct pack_resample_ops *pack_resample_variant(int i);
/* Makes a scratch use a variant. */
void pack_resample_scratch_use(struct pack_resample_scratch *scratch,
                               const struct pack_resample_ops *ops);

#endif
