/* What h5pack says: remarks on the source, rejected images, the end. */
#ifndef TOOLS_PACK_MESSAGES_H
#define TOOLS_PACK_MESSAGES_H

#include "libpack/base/outfile.h"
#include "libpack/convert/report_convert.h"
#include "tools/cli.h"
#include "tools/pack_args.h"

/* Of one run; zeroed. */
struct pack_talk {
    struct cli_progress progress;
    struct pack_outfile *rejects; /* list of them, or NULL */
    uint64_t n_rejects, n_said;
};

/* Remarks on what a list was taken for, and on what the listing passed over. */
void pack_messages_notes(const struct pack_args *args, const struct pack_source *source);

/* on_reject of pack_convert_params; the context is a pack_talk. Says the first ones. */
bool pack_messages_reject(void *talk, const struct pack_reject *reject);

/* Complains of a failure, or prints the report; returns the exit status. */
int pack_messages_end(const struct pack_args *args,
                      const struct pack_convert_report *report, enum pack_status status,
                      const struct pack_error *err);

#endif
