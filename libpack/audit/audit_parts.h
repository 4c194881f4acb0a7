/* Between the files of the auditor. */
#ifndef LIBPACK_AUDIT_PARTS_H
#define LIBPACK_AUDIT_PARTS_H

#include "libpack/audit/audit.h"

/* Findings of one dataset on their way into the result. */
struct pack_audit_found {
    struct pack_finding finding[PACK_FINDINGS_STORED_MAX + PACK_FINDINGS_MAX];
    char *command[PACK_FINDINGS_STORED_MAX + PACK_FINDINGS_MAX]; /* NULL: none */
    size_t n;
};

/* audit_read.c: what a reader of a dataset meets with: fills in *reading, all rules of the
 * dataset, and commands. The survey's own rules stand also where no reader is known.
 * PACK_ERR_MEMORY, PACK_ERR_INTERRUPTED. */
enum pack_status pack_audit_read(const struct pack_audit_params *params,
                                 const struct pack_audit_file *file,
                                 struct pack_audit_reading *reading,
                                 struct pack_audit_found *found, struct pack_error *err);

/* audit_fix.c: the command that mends a finding, or NULL; `config` is the layout that was
 * advised, or NULL. */
enum pack_status pack_audit_command(const struct pack_finding *finding, const char *file,
                                    const struct pack_facts *facts,
                                    const struct pack_advise_config *config, char **command,
                                    struct pack_error *err);

#endif
