/* What a trace holds: how many reads of which datasets, by which processes. */
#ifndef LIBPACK_TRACE_SURVEY_H
#define LIBPACK_TRACE_SURVEY_H

#include <libpack/pattern.h>
#include "libpack/model/trace_line.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PACK_TRACE_PROCESSES_MAX = 1 << 16 };

/* The reads of one dataset of one file. */
struct pack_trace_part {
    uint64_t file, dataset; /* places in the names; 0 where there are none */
    int rank;
    uint64_t n_reads; /* boxes that a process asks for at the same time are one read */
    uint64_t n_boxes;
    uint64_t *processes; /* ascending */
    size_t n_processes, capacity;
    uint64_t last_process, last_ns;
};

/* Most read first. */
struct pack_trace_survey {
    struct pack_trace_head head;
    struct pack_trace_part *parts;
    size_t n_parts, capacity;
    size_t *slots; /* while it is made: 1 + a part, where its numbers lead; 0: none */
    size_t n_slots;
};

/* Errors as pack_trace_parse, and PACK_ERR_LIMIT; *survey, zeroed before, is to be given
 * back in any case. */
enum pack_status pack_trace_survey(const char *text, size_t size,
                                   struct pack_trace_survey *survey,
                                   struct pack_error *err);
void pack_trace_survey_done(struct pack_trace_survey *survey);

/*
 * The dataset at the path `dataset`, with or without a slash in front, and of several
 * files that have one the file `file`, by its whole name, else by the last part of it.
 * NULL for what may be any; of those that are left, the one most read. A trace without
 * names is of whatever it is read for. PACK_ERR_ARGUMENT names what was read instead.
 */
enum pack_status pack_trace_survey_find(const struct pack_trace_survey *survey,
                                        const char *file, const char *dataset,
                                        const struct pack_trace_part **part,
                                        struct pack_error *err);

/* How many processes read at all. */
enum pack_status pack_trace_survey_processes(const struct pack_trace_survey *survey,
                                             uint64_t *n, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
