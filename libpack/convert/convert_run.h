/* A run of pack_convert(): what its parts share, and which part does what. */
#ifndef LIBPACK_CONVERT_RUN_H
#define LIBPACK_CONVERT_RUN_H

#include "libpack/convert/convert_parts.h"
#include "libpack/convert/moments.h"
#include "libpack/base/journal.h"
#include "libpack/base/outfile.h"

enum { LANE_SAMPLES, LANE_ENCODE, N_LANES };
/* Of the journal: the list of images (convert_list.c), then what became of them. */
enum { ENTRY_BLOCK = 1, ENTRY_LIST, ENTRY_ROWS, ENTRY_RANGE, ENTRY_DONE };
enum {
    RECORD_WARNED = 1,
    RECORD_ICC = 2,
    RECORD_ALPHA = 4,
    RECORD_ORIENTED = 8,
    RECORD_ANIMATED = 16,
    RECORD_DIM = 32,
    RECORD_CUT = 64,
    RECORD_PALE = 128, /* with RECORD_DIM */
    RECORD_UNREAD_SHIFT = 24 /* above it, of a reject: pack_image_kind() */
};

/* What became of one record of the source. In the journal as it is in memory: a run is
 * resumed on the machine, and with the program, that it was started with. */
struct sample_record {
    uint64_t index;
    uint64_t file_bytes;
    int64_t file_mtime_ns;
    uint64_t sum[3], sumsq[3];
    uint32_t width, height; /* of the source image, upright */
    uint32_t flags;
    uint16_t outcome;      /* enum pack_sample_outcome */
    uint16_t reason_bytes; /* of the text behind the record, padded to 8 */
};

/* What a run began with; the listing's own head follows (source_store.c). */
struct list_head {
    uint64_t n_rows; /* images listed, before a limit */
    uint64_t digest; /* of the listing, shuffled and limited */
    uint64_t seed;
    uint64_t chunk_samples; /* of an automatic chunk, too */
    uint32_t out_h, out_w;
};

/* The range of 16-bit samples that was found when the run began. */
struct range_entry {
    uint32_t is_known;
    uint16_t low, high;
};

/* The last entry: the file is whole and gets its name. */
struct done_entry {
    uint64_t file_bytes;
};

struct rows_head {
    uint64_t first, n; /* rows that follow */
};

struct chunk_record {
    uint64_t address, stored_bytes;
    uint64_t pixel_checksum, stored_checksum;
    uint32_t filter_mask, unused;
};

enum { CHUNK_NOTE_BYTES = sizeof(struct chunk_record) + sizeof(uint8_t *) };

struct block_head {
    uint64_t number;
    uint32_t n_records, n_chunks;
};

/* A block, encoded. */
struct coded {
    struct chunk_record *chunks; /* chunks_per_block */
    const uint8_t **stored;      /* their bytes: in the block's pixels or in `room` */
    uint8_t *room;               /* coded_bytes; NULL for none */
    enum pack_status status;     /* of encoding */
    struct pack_error err;
};

/* Samples on their way into the file. */
struct block {
    uint64_t number, n_samples;
    uint8_t *pixels; /* block_samples samples; NULL where they stay in their slots */
    uint32_t n_records;
    struct pack_buf records; /* sample_records and reasons */
    struct coded *coded;
};

/* What a thread needs to encode. */
struct encoder {
    struct pack_filter_ctx *ctx;
    uint8_t *chunk; /* one chunk, cut out of a block */
};

struct run {
    struct pack_convert_params own; /* *params: with the list and seed of the journal */
    const struct pack_convert_params *params;
    struct pack_convert_result *result;
    struct pack_convert_plan plan;
    struct pack_error *err;
    uint64_t start_ns;

    struct pack_outfile *out;
    struct pack_writer *writer;
    struct pack_writer_dataset *images;
    struct pack_journal *journal;
    struct pack_buf options;  /* the text that is stored */
    struct pack_buf identity; /* what a journal belongs to */
    struct pack_buf entry; /* a journal entry being put together */

    bool published;                     /* there is nothing to do but remove the journal */
    bool resumed;                       /* the journal holds a list to go on with: */
    struct list_head begun;             /* what it began with */
    bool has_begun_range;               /* the journal says which range was found: */
    struct range_entry begun_range;
    struct pack_source *source;         /* it; NULL when it is the caller's */
    uint64_t n_rows_kept;               /* rows of it that are in the journal */
    uint64_t n_entries, n_entries_good; /* of the journal: read for the second time,
                                           and taken when it was read first */

    struct pack_samples *samples;
    struct pack_pool *pool;
    struct encoder *encoders;
    struct block *blocks; /* n_blocks */
    struct coded *coded;  /* of each block or, with plan.direct, of each slot and black */
    uint8_t *black;       /* with plan.direct: a block that stands in */
    uint64_t next_block;  /* number of the block that is being filled */
    uint64_t next_record; /* first one that no journal entry covers */
    bool stuck;           /* going on from here would end here again */
    int part_fd;          /* the partial file, for reading back while resuming */

    struct pack_convert_row row; /* images that cannot be read, up to now, */
    struct pack_buf waiting;     /* and the sample_records of these */
    struct pack_convert_row rejects;

    struct pack_buf rows;      /* uint64_t: record of each packed sample */
    struct pack_buf sizes;     /* int32_t[2]: height and width of its source */
    struct pack_buf checksums; /* uint64_t per chunk, of its pixels: for `verify` */
    struct pack_buf valid;     /* uint8_t, with PACK_ON_ERROR_BLANK */
    struct pack_moments moments;
};

/* Bytes of a reason in a journal entry: records stay aligned. */
static inline size_t
padded(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

/* convert.c: the journal's file and what it belongs to. */
struct pack_journal_params pack_convert_journal(const struct run *run);
/* Opens what an interrupted run wrote, to be read back from the disk: run->part_fd. */
enum pack_status pack_convert_open_stored(struct run *run, const char *path);
/* What is done with a file that is complete: it is read back with `verify`, and its size is
 * put down; and the caller hears of it. */
enum pack_status pack_convert_check_stored(struct run *run, const char *path);
enum pack_status pack_convert_tell_complete(struct run *run);

/* convert_account.c: what is known of a sample, and of all of them.
 *
 * The record of a sample, without the reason why it is rejected. */
struct sample_record pack_convert_make_record(const struct run *run,
                                              const struct pack_sample *sample);
/* Adds a record to everything that is known of the file so far. */
enum pack_status pack_convert_account(struct run *run, const struct sample_record *record,
                                      const char *reason);

/* convert_block.c: samples into blocks, blocks into chunks, chunks into the file.
 *
 * Blocks and encoders, as the plan says; freed also when half made. */
enum pack_status pack_convert_blocks_new(struct run *run);
void pack_convert_blocks_free(struct run *run);
/* Work of LANE_ENCODE: item is a block, context the run. */
void pack_convert_encode(void *item, unsigned worker, void *context);
/* With plan.direct: encodes a sample where it was made; context is the run. */
void pack_convert_encode_sample(void *context, unsigned worker,
                                const struct pack_sample *sample);
/* Adds a record to the block being filled; `sample` where the record is READY. */
enum pack_status pack_convert_add(struct run *run, struct block **block,
                                  const struct sample_record *record, const char *reason,
                                  const struct pack_sample *sample);
/* Appends a record and its reason as they are in a journal entry. */
enum pack_status pack_convert_put_record(struct pack_buf *records,
                                         const struct sample_record *record,
                                         const char *reason, struct pack_error *err);
/* Takes samples to the end of the source. */
enum pack_status pack_convert_all(struct run *run);

/* convert_published.c: whether a run left the whole file and its journal, being killed
 * between renaming the one and removing the other: run->published is true then. Otherwise,
 * with `force`, the run begins anew; else PACK_ERR_EXISTS. */
enum pack_status pack_convert_published_find(struct run *run);
/* Looks at that file as it is done with one that is resumed, and removes the journal. */
enum pack_status pack_convert_published_take(struct run *run);

/* convert_list.c: takes what an interrupted run began with out of its journal, with what
 * was added since; nothing when there was none, or its list is not whole. */
enum pack_status pack_convert_list_take(struct run *run);
/* Appends to the journal what it lacks of the list, and syncs it. */
enum pack_status pack_convert_list_put(struct run *run);

/* convert_missing.c: whether a sample that was read cannot be read any more, behind some
 * that could not; then it is to be taken as *lost. */
bool pack_convert_is_lost(const struct run *run, const struct pack_sample *sample,
                          struct pack_sample *lost);
/* A sample that cannot be read now waits for one that can, with those
 * behind it that cannot either; *waits is false for others. */
enum pack_status pack_convert_wait(struct run *run, const struct sample_record *record,
                                   const struct pack_sample *sample, bool *waits);
/* What waits is rejected: a later one was read, or, at the end, one before still can be. */
enum pack_status pack_convert_wait_over(struct run *run, struct block **block);
enum pack_status pack_convert_wait_end(struct run *run, struct block **block);

/* convert_resume.c: the reason behind a record at *at, which moves behind both; NULL when
 * the entry ends before. */
const char *pack_convert_read_record(const uint8_t **at, const uint8_t *end,
                                     struct sample_record *record);
/* One entry of an interrupted run's journal, context being the run; see
 * pack_journal_record_fn. PACK_ERR_MISMATCH, which ends the journal here, when it does
 * not continue the run or its bytes are gone: those images are packed again. */
enum pack_status pack_convert_replay(void *context, uint32_t type, const void *payload,
                                     size_t size, struct pack_error *err);

#endif
