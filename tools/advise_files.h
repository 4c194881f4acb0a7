/* The files that h5advise reads, and whether they stay what they are. */
#ifndef TOOLS_ADVISE_FILES_H
#define TOOLS_ADVISE_FILES_H

#include "libpack/advise/advise_request.h"
#include "libpack/hdf5/readset.h"

/* Zeroed, it has none. */
struct advise_files {
    struct pack_readset set;
    struct pack_readset_part part;
    const char *others[2];
};

/* Takes those of an opened job as they are now: of the dataset, the order's, and `profile`;
 * NULL: none. */
enum pack_status advise_files_note(const struct pack_advise_job *job, const char *profile,
                                   struct advise_files *files, struct pack_error *err);

/* Whether `output` (NULL: none) can be written and is none of the files: what is read is
 * not written, however much force is used. */
enum pack_status advise_files_check(const struct advise_files *files, const char *output,
                                    bool force, struct pack_error *err);

/* As pack_readset_is_changed, and *text is "" when none has; ends with them. */
bool advise_files_done(struct advise_files *files, char *text, size_t size);

#endif
