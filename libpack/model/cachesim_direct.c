/*
 * Reads that go past the cache: a chunk without filters that does not fit is read in the
 * pieces that are contiguous both in the chunk and in memory.
 *
 * Version 2.1 puts a sieve buffer in front (H5D__contig_readvv_sieve_cb): a small piece
 * that is not in the buffer fills it from the piece's start to the chunk's end, 64 KiB at
 * most, and later pieces may be found there. Each H5Dread starts with an empty one, and
 * as it never reaches beyond a chunk, so does each visit.
 */
#include "libpack/model/cachesim_parts.h"

bool
pack_cachesim_is_stored(const struct pack_cachesim *sim, uint64_t number)
{
    return !sim->params.stored_bytes || sim->params.stored_bytes[number] != 0;
}

static bool
is_filtered(const struct pack_cachesim *sim, uint64_t number)
{
    uint64_t coords[PACK_RANK_MAX];
    if (!sim->params.filtered || !sim->params.edge_unfiltered)
        return sim->params.filtered;
    pack_grid_coords(&sim->grid, number, coords);
    return !pack_grid_is_edge(&sim->grid, coords);
}

static void
count_reads(struct pack_cachesim *sim, uint64_t n, uint64_t bytes)
{
    sim->counts.file_reads += n;
    sim->counts.file_read_bytes += bytes;
}

void
pack_cachesim_count_loads(struct pack_cachesim *sim, uint64_t n)
{
    sim->counts.loads += n;
    sim->counts.decodes += sim->params.filtered ? n : 0;
    count_reads(sim, n, n * sim->load_bytes);
}

void
pack_cachesim_count_load(struct pack_cachesim *sim, uint64_t number)
{
    if (!pack_cachesim_is_stored(sim, number)) {
        sim->counts.fills++;
        return;
    }
    uint64_t bytes = sim->load_bytes;
    bool filtered = is_filtered(sim, number);
    if (sim->params.stored_bytes)
        bytes = sim->params.stored_bytes[number];
    else if (!filtered)
        bytes = sim->grid.chunk_bytes;
    sim->counts.loads++;
    sim->counts.decodes += filtered;
    count_reads(sim, 1, bytes);
}

bool
pack_cachesim_visit_uncached(struct pack_cachesim *sim, uint64_t number,
                             uint64_t n_elements)
{
    bool stored = pack_cachesim_is_stored(sim, number), direct = false;
    if (!stored && sim->params.skip_missing)
        return false;
    sim->counts.requests++;
    sim->counts.wanted_bytes += n_elements * sim->grid.elem_size;
    if (is_filtered(sim, number)) {
        pack_cachesim_count_load(sim, number);
    } else {
        sim->counts.bypass_visits++;
        direct = stored;
    }
    return direct;
}

/* n pieces of `size` bytes, `spacing` apart, in ascending order, through the sieve
 * buffer. */
static void
sieve_pieces(struct pack_cachesim *sim, struct pack_pieces *pieces, uint64_t at,
             uint64_t size, uint64_t spacing, uint64_t n)
{
    while (n > 0) {
        uint64_t step = 1;
        if (at >= pieces->sieve_from && at + size <= pieces->sieve_end) {
            step = (pieces->sieve_end - size - at) / spacing + 1;
        } else {
            uint64_t read = sim->grid.chunk_bytes - at;
            if (read > sim->params.sieve_bytes)
                read = sim->params.sieve_bytes;
            pieces->sieve_from = at;
            pieces->sieve_end = at + read;
            count_reads(sim, 1, read);
        }
        step = step < n ? step : n;
        at += step * spacing;
        n -= step;
    }
}

static void
read_pieces(struct pack_cachesim *sim, struct pack_pieces *pieces, uint64_t at,
            uint64_t size, uint64_t spacing, uint64_t n)
{
    if (sim->params.cache.version != PACK_HDF5_2_1 || size > sim->params.sieve_bytes)
        count_reads(sim, n, n * size);
    else
        sieve_pieces(sim, pieces, at, size, spacing, n);
}

void
pack_cachesim_end_pieces(struct pack_cachesim *sim, struct pack_pieces *pieces)
{
    if (pieces->size > 0)
        read_pieces(sim, pieces, pieces->at, pieces->size, 1, 1);
    pieces->size = 0;
}

void
pack_cachesim_add_piece(struct pack_cachesim *sim, struct pack_pieces *pieces,
                        uint64_t at, uint64_t size, uint64_t memory)
{
    if (pieces->size > 0 && at == pieces->at + pieces->size &&
        memory == pieces->memory + pieces->size) {
        pieces->size += size;
        return;
    }
    pack_cachesim_end_pieces(sim, pieces);
    pieces->at = at;
    pieces->size = size;
    pieces->memory = memory;
}

/* How a block falls into pieces: axes below n_spaced step from piece to piece. */
struct cut {
    int n_spaced;
    uint64_t at, size, n; /* bytes, bytes, pieces */
    uint64_t spacing[PACK_RANK_MAX],
        memory[PACK_RANK_MAX]; /* bytes from one to the next */
};

static uint64_t
stride_of(const struct pack_block *block, int axis)
{
    return block->stride ? block->stride[axis] : 1;
}

/* The last axis such that all after it lie whole in the chunk and in memory. */
static int
last_partial_axis(const struct pack_grid *grid, const struct pack_block *block)
{
    int axis = grid->rank - 1;
    while (axis > 0 && block->count[axis] == grid->chunk[axis] &&
           block->whole[axis] == grid->chunk[axis])
        axis--;
    return axis;
}

static struct cut
cut_block(const struct pack_grid *grid, const struct pack_block *block)
{
    struct cut cut = { .n = 1 };
    int partial = last_partial_axis(grid, block);
    bool run = stride_of(block, partial) == 1 || block->count[partial] == 1;
    uint64_t place = grid->elem_size, memory = grid->elem_size;
    cut.n_spaced = run ? partial : partial + 1;
    for (int i = grid->rank - 1; i >= 0; i--) {
        if (i == partial)
            cut.size = run ? place * block->count[i] : place;
        cut.at += block->start[i] * place;
        cut.spacing[i] = stride_of(block, i) * place;
        cut.memory[i] = memory;
        if (i < cut.n_spaced)
            cut.n *= block->count[i];
        place *= grid->chunk[i];
        memory *= block->whole[i];
    }
    return cut;
}

/* The pieces along the last spaced axis. */
static void
add_run(struct pack_cachesim *sim, struct pack_pieces *pieces, const struct cut *cut,
        uint64_t at, uint64_t memory, uint64_t n)
{
    int axis = cut->n_spaced - 1;
    if (!pieces->joins) {
        read_pieces(sim, pieces, at, cut->size, cut->spacing[axis], n);
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        pack_cachesim_add_piece(sim, pieces, at + i * cut->spacing[axis], cut->size,
                                memory + i * cut->memory[axis]);
}

void
pack_cachesim_add_block(struct pack_cachesim *sim, struct pack_pieces *pieces,
                        const struct pack_block *block)
{
    struct cut cut = cut_block(&sim->grid, block);
    uint64_t digits[PACK_RANK_MAX] = { 0 }, at = cut.at, memory = block->memory;
    int inner = cut.n_spaced - 1, axis;
    if (cut.n == 1) {
        pack_cachesim_add_piece(sim, pieces, at, cut.size, memory);
        return;
    }
    if (!pieces->joins && sim->params.cache.version != PACK_HDF5_2_1) {
        count_reads(sim, cut.n, cut.n * cut.size);
        return;
    }
    do {
        add_run(sim, pieces, &cut, at, memory, block->count[inner]);
        for (axis = inner - 1; axis >= 0; axis--) {
            at += cut.spacing[axis];
            memory += cut.memory[axis];
            if (++digits[axis] < block->count[axis])
                break;
            at -= digits[axis] * cut.spacing[axis];
            memory -= digits[axis] * cut.memory[axis];
            digits[axis] = 0;
        }
    } while (axis >= 0);
}
