/* A file that appears under its name only when it is complete: written as NAME.part
 * beside it, synced, renamed. */
#ifndef LIBPACK_OUTFILE_H
#define LIBPACK_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pack_outfile_params {
    bool force; /* replace an existing NAME, and what an interrupted run left behind */
    /* Someone else (HDF5) writes NAME.part; NAME.part.journal beside it records what is
     * done, and both survive an interruption. */
    bool journal;
    bool resume; /* with journal: go on with what an interrupted run left, if anything,
                    or take NAME with a journal, but no NAME.part, for what it finished */
    /* Without journal: what files of this kind begin with. One that does is replaced as
     * with `force`, whether it is NAME or NAME.part; a NAME.part that a power cut left with
     * zeros, or with less of it, too. */
    const char *begins;
};

struct pack_outfile;

/*
 * Claims the output `path`. The lock is an flock on NAME.part.journal (with journal) or
 * NAME.part, so two runs cannot write one output. With journal, NAME.part itself is left
 * alone; without, it is created empty and pack_outfile_stream() writes to it. A NAME.part
 * that is there already is taken over when it is empty.
 *
 * PACK_ERR_EXISTS: `path` exists and force was not given; another run holds the lock;
 * NAME.part, or with journal NAME.part.journal, is someone's file, or a link; or, with
 * journal, an interrupted run left NAME.part and neither resume nor force was given.
 * PACK_ERR_ARGUMENT: path is a folder or not a plain name. PACK_ERR_NOT_FOUND, _IO,
 * _MEMORY. All sentences name the file.
 */
enum pack_status pack_outfile_open(const char *path,
                                   const struct pack_outfile_params *params,
                                   struct pack_outfile **out, struct pack_error *err);

const char *pack_outfile_path(const struct pack_outfile *out);      /* NAME */
const char *pack_outfile_part_path(const struct pack_outfile *out); /* NAME.part */

/* With journal: whether NAME.part and a journal of an interrupted run are there, and
 * resume was asked for. */
bool pack_outfile_is_resumed(const struct pack_outfile *out);

/* With journal: whether NAME and a journal are there and no NAME.part, as a run leaves them
 * that is killed between renaming and removing its journal, and resume was asked for. The
 * journal is to say whether NAME is what it made. */
bool pack_outfile_is_published(const struct pack_outfile *out);

/* With journal: begins again, without the NAME.part of an interrupted run, whose journal
 * tells nothing of it. */
enum pack_status pack_outfile_restart(struct pack_outfile *out, struct pack_error *err);

/* With journal: descriptor and name of the journal, for pack_journal_create or
 * _resume; -1 otherwise. Belongs to the outfile. */
int pack_outfile_journal_fd(const struct pack_outfile *out);
const char *pack_outfile_journal_path(const struct pack_outfile *out);

/* Without journal: the stream to write to; belongs to the outfile. Errors in writing are
 * found by pack_outfile_commit. NULL with journal. */
FILE *pack_outfile_stream(struct pack_outfile *out);

/*
 * Flushes, syncs NAME.part, renames it to NAME (never over an existing file unless
 * forced), syncs the folder, removes the journal. Frees `out` in any case; after a
 * failure, NAME is as it was (gone, when it was replaced and then the folder could not be
 * synced) and what was written is treated as by pack_outfile_abandon.
 */
enum pack_status pack_outfile_commit(struct pack_outfile *out, struct pack_error *err);

/* Of one that is published, and that the journal says is whole: syncs NAME's folder and
 * removes the journal. Frees `out` in any case. */
enum pack_status pack_outfile_settle(struct pack_outfile *out, struct pack_error *err);

/* Gives up: with journal, NAME.part and the journal stay for a later run to resume;
 * without, NAME.part is removed. Frees `out`; accepts NULL. */
void pack_outfile_abandon(struct pack_outfile *out);

/* As pack_outfile_abandon, but removes NAME.part and journal in any case. */
void pack_outfile_discard(struct pack_outfile *out);

/* Whether an output can be claimed now, so that nothing is computed in vain; NULL can.
 * Errors as pack_outfile_open; nothing is left behind. */
enum pack_status pack_outfile_check(const char *path, bool force, struct pack_error *err);

/* For outputs held in memory: opens, writes `size` bytes, commits. */
enum pack_status pack_outfile_write(const char *path, bool force, const void *data,
                                    size_t size, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
