/* One run that writes, and what of it is in its journal. */
#ifndef LIBPACK_RECHUNK_RUN_H
#define LIBPACK_RECHUNK_RUN_H

#include "libpack/base/buf.h"
#include "libpack/base/journal.h"
#include "libpack/base/outfile.h"
#include "libpack/rechunk/rechunk.h"

/*
 *     ENTRY_SOURCE  source_entry                once, the first entry
 *     ENTRY_CHUNKS  chunks_head  chunk_entry*   when their bytes were handed to the system
 *     ENTRY_DONE    done_entry                  before the file gets its name
 *
 * in the order in which they were written. HDF5 puts them, and all else, to the same places
 * again when a run goes on, so that only the chunks' bytes have to be kept.
 */
enum { ENTRY_SOURCE = 1, ENTRY_CHUNKS, ENTRY_DONE };

/* The source as it was. */
struct source_entry {
    uint64_t size_bytes;
    int64_t mtime_ns;
};

struct chunks_head {
    uint64_t set; /* in result->sets */
};

struct chunk_entry {
    uint64_t number, address, checksum;
    uint32_t stored_bytes, filter_mask;
};

struct done_entry {
    uint64_t file_bytes;
};

struct pack_rechunk_run {
    const struct pack_rechunk_params *params;
    struct pack_rechunk_result *result;
    struct pack_clone *clone; /* borrowed */
    struct pack_outfile *out;
    struct pack_journal *journal;
    struct pack_buf identity; /* what the journal belongs to */
    struct pack_buf entry;    /* chunks that it lacks */
    uint64_t entry_bytes;     /* as stored, of these */
    unsigned char **done;     /* of each set: see pack_rechunk_move_params */
    int stored_fd;            /* what was written before, to be read back; -1: none */
    bool is_left;             /* by another run, and not taken over yet */
    bool is_published;        /* and has its name: there is only the journal to remove */
};

/* rechunk_write.c: claims the output, before any work; what went wrong or not, release comes
 * last. */
enum pack_status pack_rechunk_claim(struct pack_rechunk_run *run, struct pack_error *err);
/* Writes it, from run->clone. */
enum pack_status pack_rechunk_write(struct pack_rechunk_run *run, struct pack_error *err);
/* Leaves the work of a run that ended with `status` to be gone on with, where it can be. */
void pack_rechunk_release(struct pack_rechunk_run *run, enum pack_status status);

/* rechunk_journal.c: a new one; chunks; what is waiting; and the end, with the file's size. */
enum pack_status pack_rechunk_identify(struct pack_rechunk_run *run,
                                       struct pack_error *err);
struct pack_journal_params pack_rechunk_journal(const struct pack_rechunk_run *run);
struct source_entry pack_rechunk_source(const struct pack_rechunk_run *run);
enum pack_status pack_rechunk_journal_begin(struct pack_rechunk_run *run,
                                            struct pack_error *err);
enum pack_status pack_rechunk_journal_chunk(struct pack_rechunk_run *run, size_t set,
                                            const struct chunk_entry *chunk,
                                            struct pack_error *err);
enum pack_status pack_rechunk_journal_flush(struct pack_rechunk_run *run,
                                            struct pack_error *err);
enum pack_status pack_rechunk_journal_end(struct pack_rechunk_run *run,
                                          struct pack_error *err);

/* rechunk_resume.c: looks at what another run left, changing nothing: refuses it, or says
 * in *goes_on whether there is something to go on with (run->is_published likewise). */
enum pack_status pack_rechunk_resume_look(struct pack_rechunk_run *run, bool *goes_on,
                                          struct pack_error *err);
/* Takes over the chunks that are there, as far as they are whole; the copy was created. */
enum pack_status pack_rechunk_resume_take(struct pack_rechunk_run *run,
                                          struct pack_error *err);
/* Of a file that has its name: whether all of its chunks are there. */
enum pack_status pack_rechunk_resume_check(struct pack_rechunk_run *run,
                                           struct pack_error *err);

#endif
