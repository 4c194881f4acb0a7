/* The file that a pattern names: recorded reads, or weights of samples. */
#ifndef LIBPACK_PATTERN_FILE_H
#define LIBPACK_PATTERN_FILE_H

#include <libpack/pattern.h>
#include <libpack/shape.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pack_pattern_file {
    struct pack_trace trace;
    double *weights;
};

/*
 * Reads pattern->file, where there is one, as the pattern's kind wants it, and lets the
 * pattern point into *file, which pack_pattern_file_done() frees. `extent` is that of the
 * dataset, inside which all reads of a trace must lie; the pattern's box and step say how
 * many samples, and so weights, that makes; to a trace neither means anything, and both are
 * refused. Sentences name the file. Errors as
 * pack_textfile_read, pack_trace_parse, pack_trace_check, pack_weights_parse.
 */
enum pack_status pack_pattern_file_read(struct pack_pattern *pattern,
                                        const struct pack_shape *extent,
                                        struct pack_pattern_file *file,
                                        struct pack_error *err);
void pack_pattern_file_done(struct pack_pattern_file *file);

#ifdef __cplusplus
}
#endif
#endif
