/* Whether options agree with those that an existing file was packed with. */
#ifndef TOOLS_PACK_STORED_H
#define TOOLS_PACK_STORED_H

#include "tools/pack_args.h"

/* PACK_ERR_ARGUMENT when one that is given is not as `stored`, the options of the
 * existing file args->output, has it. */
enum pack_status pack_stored_check(const struct pack_args *args,
                                   const struct pack_convert_options *stored,
                                   struct pack_error *err);

#endif
