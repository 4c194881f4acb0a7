/*
 * Which slot of the hash table a chunk has. HDF5 1.8 takes its linear number modulo n_slots;
 * later versions pack its coordinates into bits, each axis as many as its number of chunks
 * needs, the last axis lowest:
 *
 *     ((k0 << b1 ^ k1) << b2 ^ k2) ... modulo n_slots
 *
 * Where that takes more than 64 bits, the first coordinates fall out at the top.
 */
#include "libpack/model/cachesim_parts.h"
#include "libpack/base/size.h"

/* Bits that the library gives to a chunk coordinate: log2 of the power of two that is not
 * less than the number of chunks. */
static int
coordinate_bits(uint64_t n_chunks)
{
    int bits = 0;
    while (bits < 63 && UINT64_C(1) << bits < n_chunks)
        bits++;
    return bits;
}

/* Shift of each coordinate within the hash: what ((k0 << b1 ^ k1) << b2 ^ k2) ... comes
 * to. */
static void
make_shifts(int rank, const uint64_t *n_chunks, int *shift)
{
    shift[rank - 1] = 0;
    for (int i = rank - 2; i >= 0; i--)
        shift[i] = shift[i + 1] + coordinate_bits(n_chunks[i + 1]);
}

uint64_t
pack_cachesim_hash(const struct pack_grid *grid, enum pack_hdf5_version version,
                   const uint64_t *coords)
{
    int shift[PACK_RANK_MAX];
    if (version == PACK_HDF5_1_8)
        return pack_grid_number(grid, coords);
    make_shifts(grid->rank, grid->n_chunks, shift);
    return packed_hash(grid->rank, shift, coords);
}

void
pack_cachesim_set_shifts(struct pack_cachesim *sim, const uint64_t *n_chunks)
{
    make_shifts(sim->grid.rank, n_chunks, sim->shift);
}

uint64_t
pack_cachesim_reach(const struct pack_cachesim *sim)
{
    const struct pack_grid *grid = &sim->grid;
    uint64_t n_slots = sim->params.cache.n_slots, reach = grid->n_chunks_total;
    if (sim->params.cache.version != PACK_HDF5_1_8) {
        int bits = 0;
        for (int i = 1; i < grid->rank; i++)
            bits += coordinate_bits(grid->n_chunks[i]);
        if (bits >= 64 || !pack_size_mul(grid->n_chunks[0], UINT64_C(1) << bits, &reach))
            reach = UINT64_MAX;
    }
    reach = reach < n_slots ? reach : n_slots;
    return reach > 0 ? reach : 1;
}
