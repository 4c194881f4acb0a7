/* Settings as code and commands to paste: one table of templates. */
#ifndef LIBPACK_SNIPPET_H
#define LIBPACK_SNIPPET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/advise.h>
#include <libpack/convert.h>
#include "libpack/base/buf.h"
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is to be read, and how. */
struct pack_snippet_subject {
    const char *file;    /* "train.h5" */
    const char *dataset; /* "images", without a leading slash */
    const char *source;  /* folder of images for h5pack, NULL: "FOLDER" */
    const char *with;    /* another dataset that is read in step, or NULL */
    const struct pack_convert_options *packed; /* by h5pack, or to be; NULL: not known */
    const struct pack_advise_params *params;
    const struct pack_advise_config *config;
    bool needs_python; /* h5rechunk cannot write the dataset anew */
};

/* Name and title of the i-th template, NULL behind the last: "h5py", "c", "pytorch",
 * "h5pack", "h5rechunk". */
const char *pack_snippet_name(size_t i, const char **title);

/*
 * Appends the i-th template, filled in. Commands that the configuration has no use for or
 * cannot express come out as one line of comment that says so. Names are quoted for their
 * language. PACK_ERR_MEMORY.
 */
enum pack_status pack_snippet_print(size_t i, const struct pack_snippet_subject *subject,
                                    struct pack_buf *buf, struct pack_error *err);

/* Values of templates: the command lines, snippet_shell.c. */
enum pack_status pack_snippet_h5pack(const struct pack_snippet_subject *subject,
                                     struct pack_buf *buf, struct pack_error *err);
enum pack_status pack_snippet_h5rechunk(const struct pack_snippet_subject *subject,
                                        struct pack_buf *buf, struct pack_error *err);

/* Whether h5rechunk can give a dataset these chunks and filters; and the command that
 * does. */
bool pack_snippet_can_rechunk(const struct pack_advise_config *config,
                              uint64_t elem_size);
enum pack_status pack_snippet_rechunk(const char *file, const char *dataset,
                                      const struct pack_advise_config *config,
                                      struct pack_buf *buf, struct pack_error *err);

/* The command that measures libpack's reader on the file as it is; `pattern` as it was
 * asked for. */
enum pack_status pack_snippet_reader(const struct pack_snippet_subject *subject,
                                     const char *pattern, struct pack_buf *buf,
                                     struct pack_error *err);

/* Where a rewritten file goes: not where it comes from. */
const char *pack_snippet_new_file(const char *file);

/* Python classes for the orders that a DataLoader does not have: snippet_pytorch.c. */
extern const char pack_snippet_block_shuffle[], pack_snippet_local_blocks[];

#ifdef __cplusplus
}
#endif
#endif
