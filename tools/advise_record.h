/* h5advise --record: runs a program and writes down what it reads. */
#ifndef TOOLS_ADVISE_RECORD_H
#define TOOLS_ADVISE_RECORD_H

#include <stdbool.h>

#include <libpack/status.h>

/*
 * Runs `command`, NULL at its end, with the recorder preloaded, hands on signals, and
 * writes what all its processes read to `trace`; says on stderr how much that was.
 * *exit_status is the command's, 128 + the signal that ended it. Before anything is run:
 * PACK_ERR_NOT_FOUND, PACK_ERR_UNSUPPORTED and the errors of pack_outfile_check(). After
 * it: those of pack_trace_merge() and pack_outfile_write().
 */
enum pack_status advise_record(const char *trace, bool force, char **command,
                               int *exit_status, struct pack_error *err);

#endif
