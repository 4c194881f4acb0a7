/* What the files of the snippets share. */
#ifndef LIBPACK_SNIPPET_PARTS_H
#define LIBPACK_SNIPPET_PARTS_H

#include <stdbool.h>

#include "libpack/advise/snippet.h"

/* Values of the PyTorch template, of snippet_loader.c: modules to import, how many samples
 * there are, how one is read, what stands before the loader, the loader's order. */
enum pack_status pack_snippet_py_import(const struct pack_snippet_subject *s,
                                        struct pack_buf *buf, struct pack_error *err);
enum pack_status pack_snippet_py_length(const struct pack_snippet_subject *s,
                                        struct pack_buf *buf, struct pack_error *err);
enum pack_status pack_snippet_py_read(const struct pack_snippet_subject *s,
                                      struct pack_buf *buf, struct pack_error *err);
enum pack_status pack_snippet_py_sampler(const struct pack_snippet_subject *s,
                                         struct pack_buf *buf, struct pack_error *err);
enum pack_status pack_snippet_py_order(const struct pack_snippet_subject *s,
                                       struct pack_buf *buf, struct pack_error *err);

/* The command that rewrites the file as it is: h5rechunk, or Python where h5rechunk cannot
 * do it. */
enum pack_status pack_snippet_rewrite(const struct pack_snippet_subject *s,
                                      struct pack_buf *buf, struct pack_error *err);

#endif
