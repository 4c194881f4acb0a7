/* What the samples of a dataset are, one after another. */
#ifndef LIBPACK_CONTENTS_SCAN_H
#define LIBPACK_CONTENTS_SCAN_H

#include <libpack/dataset.h>
#include "libpack/findings/findings_contents.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pack_scan;

/* For n samples of a dataset of integers or floats, in this machine's byte order; `is_all`:
 * all of them, of which it is seen which are alike. PACK_ERR_MEMORY. */
enum pack_status pack_scan_open(const struct pack_facts *facts, uint64_t n, bool is_all,
                                struct pack_scan **scan, struct pack_error *err);
size_t pack_scan_bytes(const struct pack_scan *scan); /* of a sample */
/* Sample `number`; numbers grow. */
enum pack_status pack_scan_sample(struct pack_scan *scan, uint64_t number, const void *data,
                                  struct pack_error *err);
/* Compresses a part of a batch of samples, until enough was tried. */
enum pack_status pack_scan_try(struct pack_scan *scan, const void *data, size_t n_samples,
                               struct pack_error *err);
void pack_scan_end(struct pack_scan *scan, struct pack_contents *contents);
void pack_scan_close(struct pack_scan *scan);

#ifdef __cplusplus
}
#endif
#endif
