/* Rules by their names on h5audit's command line: listed, explained, found. */
#ifndef TOOLS_AUDIT_RULES_H
#define TOOLS_AUDIT_RULES_H

#include <libpack/status.h>
#include "libpack/base/buf.h"
#include "tools/cli.h"

/* All of them, a line each. */
enum pack_status audit_rules_list(struct pack_buf *text, struct pack_error *err);
/* Title, reasoning and thresholds of one. PACK_ERR_ARGUMENT: there is none of that name. */
enum pack_status audit_rules_explain(const char *name, struct pack_buf *text,
                                     struct pack_error *err);
/* The codes of `names`, in memory that is the caller's to free in any case. `option` is what
 * they were given with. */
enum pack_status audit_rules_codes(const char *option, const struct cli_texts *names,
                                   int **codes, struct pack_error *err);

#endif
