/* Samples into blocks, blocks into encoded chunks, chunks into the file and its
 * journal. */
#include "libpack/convert/convert_run.h"

#include <stdlib.h>
#include <string.h>

#include "libpack/base/checksum.h"
#include "libpack/base/pool.h"
#include "libpack/convert/samples.h"

/* ---------------------------------------------------------------- encoding */

/*
 * Cuts chunk k out of a block, zeros outside the sample: a block of A x d0 x d1 x d2
 * elements, the missing axes being 1, holds ceil(d0/c0) x ceil(d1/c1) x ceil(d2/c2)
 * chunks of A x c0 x c1 x c2.
 */
static void
cut_chunk(const struct pack_convert_plan *plan, const uint8_t *block, uint64_t k,
          uint8_t *chunk)
{
    uint64_t d[3] = { 1, 1, 1 }, c[3] = { 1, 1, 1 }, at[3], n[3];
    for (int i = 0; i < plan->sample.rank; i++) {
        d[3 - plan->sample.rank + i] = plan->sample.extent[i];
        c[3 - plan->sample.rank + i] = plan->chunk.extent[i + 1];
    }
    for (int i = 2; i >= 0; i--) {
        uint64_t count = (d[i] + c[i] - 1) / c[i];
        at[i] = k % count * c[i];
        n[i] = d[i] - at[i] < c[i] ? d[i] - at[i] : c[i];
        k /= count;
    }
    memset(chunk, 0, plan->chunk_bytes);
    for (uint64_t a = 0; a < plan->block_samples; a++)
        for (uint64_t i = 0; i < n[0]; i++)
            for (uint64_t j = 0; j < n[1]; j++)
                memcpy(chunk + ((a * c[0] + i) * c[1] + j) * c[2],
                       block + ((a * d[0] + at[0] + i) * d[1] + at[1] + j) * d[2] + at[2],
                       n[2]);
}

/* Leaves the chunk's bytes in the block's pixels, where they are stored as they are, or at
 * `room`. */
static enum pack_status
encode_chunk(const struct run *run, struct encoder *encoder, const uint8_t *block,
             uint64_t k, uint8_t *room, struct coded *coded)
{
    const struct pack_convert_plan *plan = &run->plan;
    const struct pack_pipeline *pipeline = &run->params->options.pipeline;
    struct chunk_record *record = &coded->chunks[k];
    const uint8_t *pixels = block;
    struct pack_stored stored;
    if (!plan->whole) {
        uint8_t *chunk = pipeline->n ? encoder->chunk : room;
        cut_chunk(plan, block, k, chunk);
        pixels = chunk;
    }
    *record = (struct chunk_record){ .pixel_checksum =
                                         pack_checksum(pixels, plan->chunk_bytes, 0) };
    enum pack_status status = pack_pipeline_encode_to(
        pipeline, encoder->ctx, pixels, plan->chunk_bytes, room, &stored, &coded->err);
    if (status != PACK_OK)
        return status;
    record->filter_mask = stored.filter_mask;
    record->stored_bytes = stored.size;
    record->stored_checksum = stored.data == pixels
                                  ? record->pixel_checksum
                                  : pack_checksum(stored.data, stored.size, 0);
    if (stored.data == encoder->chunk) /* no filter took it */
        stored.data = memcpy(room, stored.data, stored.size);
    coded->stored[k] = stored.data;
    return PACK_OK;
}

enum { KEEP_BYTES = 1 << 20 }; /* at most, of what a thread encodes with, by each buffer */

/* Many threads may encode large chunks, but only a few of them at a time. */
static void
give_buffers(struct encoder *encoder, uint64_t chunk_bytes)
{
    pack_filter_ctx_trim(encoder->ctx, KEEP_BYTES);
    if (chunk_bytes > KEEP_BYTES) {
        free(encoder->chunk);
        encoder->chunk = NULL;
    }
}

static void
encode_block(const struct run *run, unsigned worker, const uint8_t *pixels,
             struct coded *coded)
{
    const struct pack_convert_plan *plan = &run->plan;
    struct encoder *encoder = &run->encoders[worker];
    uint8_t *room = coded->room;
    bool cuts = plan->coding_bytes > 0 && !plan->whole;
    coded->status = PACK_OK;
    if (cuts && !encoder->chunk && !(encoder->chunk = malloc(plan->chunk_bytes)))
        coded->status = pack_fail_memory(&coded->err, "chunks");
    for (uint64_t k = 0; k < plan->chunks_per_block && coded->status == PACK_OK; k++) {
        coded->status = encode_chunk(run, encoder, pixels, k, room, coded);
        if (coded->stored[k] == room)
            room += coded->chunks[k].stored_bytes;
    }
    give_buffers(encoder, plan->chunk_bytes);
}

void
pack_convert_encode(void *item, unsigned worker, void *context)
{
    const struct run *run = context;
    struct block *block = item;
    const struct pack_convert_plan *plan = &run->plan;
    uint64_t used = block->n_samples * plan->sample_bytes;
    memset(block->pixels + used, 0, plan->block_bytes - used);
    encode_block(run, worker, block->pixels, block->coded);
}

void
pack_convert_encode_sample(void *context, unsigned worker,
                           const struct pack_sample *sample)
{
    const struct run *run = context;
    if (sample->outcome == PACK_SAMPLE_READY)
        encode_block(run, worker, sample->pixels, &run->coded[sample->slot]);
}

/* ------------------------------------------------------------------ blocks */

/* With plan.direct one for each slot, and one for black behind them. */
static size_t
n_coded(const struct run *run)
{
    return run->plan.direct ? run->plan.n_slots + 1 : run->plan.n_blocks;
}

static bool
coded_init(const struct pack_convert_plan *plan, struct coded *coded)
{
    coded->chunks = calloc(plan->chunks_per_block, sizeof *coded->chunks);
    coded->stored = calloc(plan->chunks_per_block, sizeof *coded->stored);
    coded->room = plan->coded_bytes ? malloc(plan->coded_bytes) : NULL;
    return coded->chunks && coded->stored && (coded->room || !plan->coded_bytes);
}

static bool
new_buffers(struct run *run)
{
    const struct pack_convert_plan *plan = &run->plan;
    bool complete = true;
    run->encoders = calloc(plan->n_threads, sizeof *run->encoders);
    run->blocks = calloc(plan->n_blocks, sizeof *run->blocks);
    run->coded = calloc(n_coded(run), sizeof *run->coded);
    if (!run->encoders || !run->blocks || !run->coded)
        return false;
    for (size_t i = 0; i < n_coded(run); i++)
        complete &= coded_init(plan, &run->coded[i]);
    if (plan->direct)
        return (run->black = calloc(1, plan->block_bytes)) && complete;
    for (size_t i = 0; i < plan->n_blocks; i++) {
        run->blocks[i].coded = &run->coded[i];
        run->blocks[i].pixels = malloc(plan->block_bytes);
        complete &= run->blocks[i].pixels != NULL;
    }
    return complete;
}

enum pack_status
pack_convert_blocks_new(struct run *run)
{
    const struct pack_convert_plan *plan = &run->plan;
    if (!new_buffers(run))
        return pack_fail_memory(run->err, "chunks");
    for (unsigned i = 0; i < plan->n_threads; i++) {
        enum pack_status status = pack_filter_ctx_new(&run->encoders[i].ctx, run->err);
        if (status != PACK_OK)
            return status;
    }
    if (plan->direct && run->params->options.on_error == PACK_ON_ERROR_BLANK)
        encode_block(run, 0, run->black, &run->coded[plan->n_slots]);
    return PACK_OK;
}

void
pack_convert_blocks_free(struct run *run)
{
    for (unsigned i = 0; run->encoders && i < run->plan.n_threads; i++) {
        pack_filter_ctx_free(run->encoders[i].ctx);
        free(run->encoders[i].chunk);
    }
    for (size_t i = 0; run->coded && i < n_coded(run); i++) {
        free(run->coded[i].chunks);
        free(run->coded[i].stored);
        free(run->coded[i].room);
    }
    for (size_t i = 0; run->blocks && i < run->plan.n_blocks; i++) {
        free(run->blocks[i].pixels);
        pack_buf_done(&run->blocks[i].records);
    }
    free(run->black);
    free(run->encoders);
    free(run->coded);
    free(run->blocks);
    run->black = NULL;
    run->encoders = NULL;
    run->coded = NULL;
    run->blocks = NULL;
}

static struct block *
block_at(struct run *run, uint64_t number)
{
    return &run->blocks[number % run->plan.n_blocks];
}

/* Appends a journal entry: head, sample records, chunk records. */
static enum pack_status
put_down(struct run *run, const struct block *block, uint32_t n_chunks)
{
    struct block_head head = { block->number, block->n_records, n_chunks };
    run->entry.size = 0;
    enum pack_status status = pack_buf_append(&run->entry, &head, sizeof head, run->err);
    if (status == PACK_OK)
        status = pack_buf_append(&run->entry, block->records.data, block->records.size,
                                 run->err);
    if (status == PACK_OK)
        status = pack_buf_append(&run->entry, n_chunks ? block->coded->chunks : NULL,
                                 n_chunks * sizeof *block->coded->chunks, run->err);
    if (status == PACK_OK)
        status = pack_journal_append(run->journal, ENTRY_BLOCK, run->entry.data,
                                     run->entry.size, run->err);
    if (status == PACK_OK)
        status = pack_journal_flush(run->journal, run->err);
    if (status == PACK_OK)
        run->result->n_saved += block->n_records;
    return status;
}

static enum pack_status
write_block(struct run *run, struct block *block)
{
    const struct coded *coded = block->coded;
    enum pack_status status = coded->status;
    uint64_t first = block->number * run->plan.chunks_per_block;
    if (status != PACK_OK) {
        if (run->err)
            *run->err = coded->err;
        return status;
    }
    for (uint64_t k = 0; k < run->plan.chunks_per_block && status == PACK_OK; k++) {
        struct chunk_record *record = &coded->chunks[k];
        struct pack_stored stored = { coded->stored[k], record->stored_bytes,
                                      record->filter_mask };
        status = pack_writer_chunk(run->images, first + k, &stored, &record->address,
                                   run->err);
        run->result->stored_bytes += record->stored_bytes;
        if (status == PACK_OK && run->params->verify)
            status = pack_buf_append(&run->checksums, &record->pixel_checksum,
                                     sizeof record->pixel_checksum, run->err);
    }
    if (status == PACK_OK)
        status = put_down(run, block, (uint32_t)run->plan.chunks_per_block);
    return status;
}

/* Empties the block that is to be filled next. */
static struct block *
begin_block(struct run *run)
{
    struct block *block = block_at(run, run->next_block);
    block->number = run->next_block;
    block->n_samples = 0;
    block->n_records = 0;
    block->records.size = 0;
    return block;
}

/* Hands the filled block to the encoders and makes room for the next. */
static enum pack_status
end_block(struct run *run, struct block **block)
{
    struct block *finished;
    enum pack_status status = PACK_OK;
    pack_pool_submit(run->pool, LANE_ENCODE, *block);
    run->next_block++;
    while (status == PACK_OK &&
           (finished = pack_pool_has_room(run->pool, LANE_ENCODE)
                           ? pack_pool_try_next(run->pool, LANE_ENCODE)
                           : pack_pool_next(run->pool, LANE_ENCODE)))
        status = write_block(run, finished);
    if (status == PACK_OK)
        *block = begin_block(run);
    return status;
}

/* The block is this one sample, encoded where it was made; without one, black. */
static enum pack_status
write_sample(struct run *run, struct block **block, const struct pack_sample *sample)
{
    (*block)->coded = &run->coded[sample ? sample->slot : run->plan.n_slots];
    run->next_block++;
    enum pack_status status = write_block(run, *block);
    if (status == PACK_OK)
        *block = begin_block(run);
    return status;
}

enum pack_status
pack_convert_put_record(struct pack_buf *records, const struct sample_record *record,
                        const char *reason, struct pack_error *err)
{
    static const uint8_t zeros[8];
    size_t bytes = record->reason_bytes;
    enum pack_status status = pack_buf_append(records, record, sizeof *record, err);
    if (status == PACK_OK)
        status = pack_buf_append(records, reason, bytes, err);
    if (status == PACK_OK)
        status = pack_buf_append(records, zeros, padded(bytes) - bytes, err);
    return status;
}

enum pack_status
pack_convert_add(struct run *run, struct block **filled,
                 const struct sample_record *record, const char *reason,
                 const struct pack_sample *sample)
{
    struct block *block = *filled;
    enum pack_status status = pack_convert_account(run, record, reason);
    if (status == PACK_OK)
        status = pack_convert_put_record(&block->records, record, reason, run->err);
    if (status != PACK_OK)
        return status;
    block->n_records++;
    bool ready = record->outcome == PACK_SAMPLE_READY;
    if (!ready && run->params->options.on_error != PACK_ON_ERROR_BLANK)
        return PACK_OK;
    if (run->plan.direct)
        return write_sample(run, filled, ready ? sample : NULL);
    uint8_t *place = block->pixels + block->n_samples * run->plan.sample_bytes;
    if (ready)
        memcpy(place, sample->pixels, run->plan.sample_bytes);
    else
        memset(place, 0, run->plan.sample_bytes);
    block->n_samples++;
    return block->n_samples == run->plan.block_samples ? end_block(run, filled) : PACK_OK;
}

/* Into the block being filled, which is handed on when it is full. */
static enum pack_status
convert_sample(struct run *run, struct block **block, const struct pack_sample *sample)
{
    const struct pack_convert_params *params = run->params;
    struct pack_sample lost;
    bool waits;
    if (pack_convert_is_lost(run, sample, &lost))
        sample = &lost;
    struct sample_record record = pack_convert_make_record(run, sample);
    run->result->source_bytes += sample->file_bytes;
    if (sample->outcome == PACK_SAMPLE_FAILED)
        return pack_convert_fail_sample(params, &run->plan, sample, run->err);
    enum pack_status status = pack_convert_wait(run, &record, sample, &waits);
    if (status == PACK_OK && !waits)
        status = pack_convert_wait_over(run, block);
    if (status == PACK_OK && !waits)
        status = pack_convert_add(run, block, &record, sample->reason, sample);
    if (status != PACK_OK)
        return status;
    return pack_convert_watch(params, "packing", sample->index + 1,
                              params->source->n_records,
                              run->result->n_packed * run->plan.sample_bytes, run->err);
}

enum pack_status
pack_convert_all(struct run *run)
{
    const struct pack_sample *sample;
    struct block *block = begin_block(run), *finished;
    enum pack_status status = PACK_OK;
    while (status == PACK_OK && (sample = pack_samples_next(run->samples)))
        status = convert_sample(run, &block, sample);
    if (status == PACK_OK)
        status = pack_convert_wait_end(run, &block);
    if (status == PACK_OK && block->n_samples > 0)
        status = end_block(run, &block);
    while (status == PACK_OK && (finished = pack_pool_next(run->pool, LANE_ENCODE)))
        status = write_block(run, finished);
    if (status == PACK_OK && block->n_records > 0) /* rejects behind the last block */
        status = put_down(run, block, 0);
    return status;
}
