/* Applies what the auditor found to one file: another file, without these findings. */
#ifndef LIBPACK_AUDIT_APPLY_H
#define LIBPACK_AUDIT_APPLY_H

#include "libpack/audit/audit.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pack_audit_apply_params {
    const char *output; /* a new file */
    bool force;         /* it may exist, and is replaced */
    unsigned n_threads; /* 0: one per processor */
    /* Codes of rules whose fixes are applied, and no others; n_named 0: of all that keep
     * values, types, order and what a read costs. */
    const int *named;
    size_t n_named;
};

struct pack_audit_applied {
    char **specs; /* as h5rechunk --dataset takes them: "images=1x3x218x178,none" */
    size_t n_specs;
    bool is_written;   /* false: nothing was found for which that is worth it */
    bool is_resumable; /* a failed run left its work to go on with: */
    uint64_t n_saved;  /* so many chunks */
    uint64_t input_bytes, output_bytes;
    struct pack_audit_result after; /* the same question of the output */
};

/*
 * Rewrites the one file of `found` into the output, each dataset with the layout and filters
 * that mend its findings, all else carried over as pack_rechunk() does it. Then the output is audited as the file was. A run that was killed is gone on
 * with, unless `force` says to begin again.
 *
 * PACK_ERR_ARGUMENT when it is not one file, errors of pack_rechunk() and pack_audit().
 * *applied is for pack_audit_applied_done() in any case.
 */
enum pack_status pack_audit_apply(const struct pack_audit_params *params,
                                  const struct pack_audit_result *found,
                                  const struct pack_audit_apply_params *how,
                                  struct pack_audit_applied *applied,
                                  struct pack_error *err);
/* Whether the output can be claimed, before anything is looked at; `operand` is the one file
 * that is asked about. Errors of pack_rechunk_check_output(). */
enum pack_status pack_audit_apply_check(const char *operand,
                                        const struct pack_audit_apply_params *how,
                                        struct pack_error *err);
void pack_audit_applied_done(struct pack_audit_applied *applied);

/* Whether a finding of `found` is none of the output any more. */
bool pack_audit_is_mended(const struct pack_audit_applied *applied,
                          const struct pack_audit_finding *finding);

#ifdef __cplusplus
}
#endif
#endif
