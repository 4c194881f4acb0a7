/* The lists that h5pack reads and writes: images, names of classes, rejects. */
#ifndef TOOLS_PACK_LISTS_H
#define TOOLS_PACK_LISTS_H

#include <stdbool.h>

#include <libpack/convert.h>
#include <libpack/source.h>
#include <libpack/status.h>

#include "libpack/base/outfile.h"
#include "tools/pack_args.h"

/* PACK_ERR_ARGUMENT where --force would replace the list or an image that the command line
 * names or, once the source is there, one that is in it. */
enum pack_status pack_lists_check_written(const struct pack_args *args,
                                          const struct pack_source *source,
                                          struct pack_error *err);

/* The images that the command line names, with the classes of --classes, shuffled and
 * limited as the options say. */
enum pack_status pack_lists_open_source(const struct pack_args *args,
                                        const struct pack_convert_options *options,
                                        const struct pack_watch *watch,
                                        struct pack_source **source,
                                        struct pack_error *err);

/* A TSV of path and reason, names in their stored form. A list of an earlier run is
 * replaced without asking; other files are not, without `force`. The caller commits. */
enum pack_status pack_lists_open_rejects(const char *path, bool force,
                                         struct pack_outfile **rejects,
                                         struct pack_error *err);
/* false when it cannot be written. */
bool pack_lists_add_reject(struct pack_outfile *rejects, const char *path,
                           const char *reason);

#endif
