/* HDF5's chunk cache written down as the library has it, step by step: what the fast
 * simulator is compared with. */
#ifndef TESTS_REF_CACHESIM_H
#define TESTS_REF_CACHESIM_H

#include <libpack/cachesim.h>

struct ref_cachesim;

/* As pack_cachesim_new; ends the program without memory. */
struct ref_cachesim *ref_new(const struct pack_grid *grid,
                             const struct pack_cachesim_params *params);
void ref_free(struct ref_cachesim *ref);

/* One H5Dread: n_elements[i] of chunk number i, every chunk of the grid. Does not count
 * the pieces of direct reads. */
void ref_read(struct ref_cachesim *ref, const uint64_t *n_elements);
void ref_visit(struct ref_cachesim *ref, uint64_t number, uint64_t n_elements);

void ref_set_extent(struct ref_cachesim *ref, const struct pack_grid *grown,
                    const uint64_t *stored_bytes);
void ref_reopen(struct ref_cachesim *ref);
const struct pack_cache_counts *ref_counts(const struct ref_cachesim *ref);

#endif
