/* The options of a conversion as the JSON text that its file holds. */
#ifndef LIBPACK_CONVERT_OPTIONS_H
#define LIBPACK_CONVERT_OPTIONS_H

#include "libpack/base/buf.h"
#include "libpack/base/json.h"
#include <libpack/convert.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As the options say, else the default. */
uint64_t pack_convert_max_file(const struct pack_convert_options *options);

/* The options as members of the object that `json` is in: of the stored text, and of the
 * report. */
void pack_convert_options_put(const struct pack_convert_options *options,
                              struct pack_json *json);

/* The options as the JSON text that is stored, and back. */
enum pack_status pack_convert_options_text(const struct pack_convert_options *options,
                                           struct pack_buf *text, struct pack_error *err);
enum pack_status pack_convert_options_parse(const char *text,
                                            struct pack_convert_options *options,
                                            struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
