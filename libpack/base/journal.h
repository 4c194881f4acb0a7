/* An append-only file of checked records, from which an interrupted run goes on. */
#ifndef LIBPACK_JOURNAL_H
#define LIBPACK_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PACK_JOURNAL_RECORD_MAX = 1 << 30 }; /* bytes of one payload, and of identity */

struct pack_journal;

struct pack_journal_params {
    int fd;               /* an open file, borrowed until the journal is closed */
    const char *name;     /* of it, for messages; borrowed likewise */
    const void *identity; /* of the job it belongs to: options, digest of the sources */
    size_t identity_size;
};

/* Makes an empty journal of the file, whatever it held. */
enum pack_status pack_journal_create(const struct pack_journal_params *params,
                                     struct pack_journal **journal,
                                     struct pack_error *err);

/* One record of an earlier run; payload is valid during the call and aligned for any
 * type. PACK_ERR_MISMATCH: the journal is to end in front of this record, as if it were
 * torn. What else is not PACK_OK ends the reading and becomes its result. */
typedef enum pack_status (*pack_journal_record_fn)(void *context, uint32_t type,
                                                   const void *payload, size_t size,
                                                   struct pack_error *err);

/*
 * Whether an open file begins as journals do, of whatever version: torn ones, and such as a
 * power cut left without their bytes (empty, or zeros), do; a stranger's file does not. One
 * that cannot be read is not looked into: true. Leaves the file's position alone.
 */
bool pack_journal_may_be(int fd);

/*
 * Reads the journal of an interrupted run, calling record for each record in the order of
 * appending, and opens it for appending behind the last good one. A torn or damaged tail
 * is cut off; a file that does not even hold a whole header counts as empty.
 * PACK_ERR_CHANGED when the identity is not the same byte for byte; PACK_ERR_FORMAT when
 * the file is something else.
 */
enum pack_status pack_journal_resume(const struct pack_journal_params *params,
                                     pack_journal_record_fn record, void *context,
                                     struct pack_journal **journal,
                                     struct pack_error *err);

/* As pack_journal_resume, but only reads: the file stays as it is, whatever its tail. */
enum pack_status pack_journal_read(const struct pack_journal_params *params,
                                   pack_journal_record_fn record, void *context,
                                   struct pack_error *err);

/*
 * Appends a record to a buffer that is written when it holds 64 KiB and by
 * pack_journal_flush. What was written survives the end of the process by any means;
 * pack_journal_sync makes it survive the machine. After a failure every later call fails
 * alike.
 */
enum pack_status pack_journal_append(struct pack_journal *journal, uint32_t type,
                                     const void *payload, size_t size,
                                     struct pack_error *err);
enum pack_status pack_journal_flush(struct pack_journal *journal, struct pack_error *err);
enum pack_status pack_journal_sync(struct pack_journal *journal, struct pack_error *err);

/* Flushes and frees, fd stays open. Accepts NULL. */
enum pack_status pack_journal_close(struct pack_journal *journal, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
