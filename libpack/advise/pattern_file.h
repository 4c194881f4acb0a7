/* The file that a pattern names: recorded reads, or weights of samples. */
#ifndef LIBPACK_PATTERN_FILE_H
#define LIBPACK_PATTERN_FILE_H

#include <libpack/pattern.h>
#include <libpack/shape.h>
#include <libpack/status.h>
#include "libpack/model/trace_job.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is read, and by how many: which reads of a trace are meant. NULL: whichever is most
 * read. */
struct pack_pattern_reader {
    const char *file, *dataset;
    bool is_found;   /* by pack_pattern_file_dataset(), which the remark says */
    int64_t workers; /* PACK_TRACE_AS_RECORDED: as many as a trace was recorded of */
};

struct pack_pattern_file {
    struct pack_trace trace;
    struct pack_trace_job job;
    double *weights;
    char remark[400]; /* what was made of a trace that names its processes; else "" */
};

/*
 * Reads pattern->file, where there is one, as the pattern's kind wants it, and lets the
 * pattern point into *file, which pack_pattern_file_done() frees. `extent` is that of the
 * dataset, inside which all reads of a trace must lie; the pattern's box and step say how
 * many samples, and so weights, that makes; to a trace neither means anything, and both are
 * refused. A trace of several processes is dealt to workers as pack_trace_job() says, by
 * pattern->batch. Sentences name the file. Errors as
 * pack_textfile_read, pack_trace_parse_of, pack_trace_job, pack_trace_check,
 * pack_weights_parse.
 */
enum pack_status pack_pattern_file_read(struct pack_pattern *pattern,
                                        const struct pack_shape *extent,
                                        const struct pack_pattern_reader *reader,
                                        struct pack_pattern_file *file,
                                        struct pack_error *err);
void pack_pattern_file_done(struct pack_pattern_file *file);

/*
 * The dataset of `file` that a trace reads most, for free(); NULL where `pattern`, the text
 * of a pattern, is no trace, or its trace does not say. Errors as pack_textfile_read,
 * pack_trace_parse.
 */
enum pack_status pack_pattern_file_dataset(const char *pattern, const char *file,
                                           char **dataset, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
