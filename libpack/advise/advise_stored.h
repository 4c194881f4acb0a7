/* How a dataset is stored, as the auditor's rules see it: for those who advise on it. */
#ifndef LIBPACK_ADVISE_STORED_H
#define LIBPACK_ADVISE_STORED_H

#include <libpack/advise.h>
#include "libpack/advise/advise_file.h"
#include "libpack/findings/findings_stored.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The reader of an outcome, as rules are asked about it. */
void pack_advise_stored_reading(const struct pack_advise_params *params,
                                const struct pack_advise_outcome *outcome,
                                struct pack_stored_reading *reading);

/*
 * Adds to the warnings of today, and, where that is the choice, to those of the choice, what
 * rules find in how the file stores the data: the sentences of h5audit, for the same reader at
 * the same price. Nothing without a file. What pack_advise_settle() finds again takes their
 * place, so this comes last. PACK_ERR_MEMORY.
 */
enum pack_status pack_advise_warn_stored(const struct pack_advise_params *params,
                                         const struct pack_advise_file *file,
                                         struct pack_advise_result *result,
                                         struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
