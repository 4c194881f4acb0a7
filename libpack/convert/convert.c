/*
 * Packing, from the caller's thread:
 *
 *     samples (lane 0, many threads) ──▶ block being filled ──▶ encode (lane 1, many)
 *                                                                  │ in order
 *     journal ◀── entry of the block ◀── writer ◀──────────────────┘
 *
 * Where a block is one sample, the thread that made it encodes it at once, and nothing is
 * copied on the way to the writer.
 *
 * Results of both lanes come back in order, so the file does not depend on how many
 * threads there are. What happened to each record, packed or not, is put down once in a
 * sample_record; accounting starts from it both when it is new and when it comes out of
 * the journal of an interrupted run. A block's journal entry holds the records since the
 * block before and where its chunks are. It is appended only after their bytes were
 * handed to the system, so whatever a journal says is there.
 */
#include "libpack/convert/convert_options.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/base/check.h"
#include "libpack/base/clock.h"
#include "libpack/base/system.h"
#include "libpack/convert/convert_run.h"
#include "libpack/base/pool.h"
#include "libpack/convert/samples.h"

static enum pack_status
start_threads(struct run *run)
{
    struct pack_samples_params sp = pack_convert_samples(run->params, &run->plan);
    sp.first = run->next_record;
    if (run->plan.direct) {
        sp.on_made = pack_convert_encode_sample;
        sp.context = run;
    }
    enum pack_status status = pack_samples_new(&sp, &run->samples, run->err);
    if (status != PACK_OK)
        return status;
    struct pack_pool_lane lanes[N_LANES] = {
        [LANE_SAMPLES] = pack_samples_lane(run->samples),
        /* one block is being filled */
        [LANE_ENCODE] = { pack_convert_encode, run, run->plan.n_blocks - 1 },
    };
    status = pack_pool_new(run->plan.n_threads, lanes,
                           run->plan.direct ? LANE_ENCODE : N_LANES, &run->pool, run->err);
    if (status == PACK_OK)
        pack_samples_start(run->samples, run->pool, LANE_SAMPLES);
    return status;
}

static enum pack_status
open_output(struct run *run)
{
    const struct pack_convert_params *params = run->params;
    struct pack_outfile_params op = { .force = params->force,
                                      .journal = true,
                                      .resume = params->resume };
    return pack_outfile_open(params->output, &op, &run->out, run->err);
}

/* What a journal belongs to: options and program. The seed is with the list in it. */
static enum pack_status
make_identity(struct run *run)
{
    struct pack_convert_options options = run->params->options;
    options.seed = 0;
    enum pack_status status =
        pack_convert_options_text(&options, &run->identity, run->err);
    return status == PACK_OK
               ? pack_buf_printf(&run->identity, run->err, "%s\n", run->params->version)
               : status;
}

struct pack_journal_params
pack_convert_journal(const struct run *run)
{
    return (struct pack_journal_params){
        .fd = pack_outfile_journal_fd(run->out),
        .name = pack_outfile_journal_path(run->out),
        .identity = run->identity.data,
        .identity_size = run->identity.size,
    };
}

/* As the run was begun, where one is resumed: that sizes differ now, or that there are
 * more images, changes nothing. */
static enum pack_status
make_plan(struct run *run)
{
    struct pack_convert_params params = *run->params;
    uint32_t out_h = run->begun.out_h, out_w = run->begun.out_w;
    enum pack_status status = PACK_OK;
    if (!run->resumed)
        status = pack_convert_find_size(run->params, &out_h, &out_w, run->err);
    else if (!params.options.chunk.rank)
        params.options.chunk_samples = run->begun.chunk_samples;
    return status == PACK_OK
               ? pack_convert_plan_make(&params, out_h, out_w, &run->plan, run->err)
               : status;
}

/* Looks for the range of 16-bit samples, which the journal keeps. */
static enum pack_status
begin_range(struct run *run, struct range_entry *entry)
{
    struct pack_convert_range range = { 0 };
    enum pack_status status =
        pack_convert_find_range(run->params, &run->plan, &range, run->err);
    *entry = (struct range_entry){ range.is_known, range.low, range.high };
    if (status == PACK_OK)
        status = pack_journal_append(run->journal, ENTRY_RANGE, entry, sizeof *entry,
                                     run->err);
    return status == PACK_OK ? pack_journal_sync(run->journal, run->err) : status;
}

/* The range of 16-bit samples: of the set, or as the run that is resumed found it. The list
 * is in the journal by then, since looking takes as long as decoding does. */
static enum pack_status
find_range(struct run *run)
{
    struct pack_image_params *image = &run->own.options.image;
    struct range_entry range = run->begun_range;
    enum pack_status status = PACK_OK;
    if (!run->own.options.finds_range_16)
        return PACK_OK;
    if (!run->has_begun_range)
        status = begin_range(run, &range);
    image->scales_16 = range.is_known;
    image->low_16 = range.low;
    image->high_16 = range.high;
    return status;
}

static enum pack_status
make_text(struct run *run)
{
    return pack_convert_options_text(&run->params->options, &run->options, run->err);
}

/* What counts is on the disk: a page that could not be written looks well as long as it is
 * in memory, and once that was told no later sync says it again. */
enum pack_status
pack_convert_open_stored(struct run *run, const char *path)
{
    run->part_fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (run->part_fd < 0)
        return pack_fail_errno(run->err, errno, "cannot open '%s'", path);
    if (fdatasync(run->part_fd) != 0)
        return pack_fail_errno(run->err, errno, "cannot sync '%s'", path);
    pack_system_forget_fd(run->part_fd);
    return PACK_OK;
}

static enum pack_status
resume_journal(struct run *run, const struct pack_journal_params *jp)
{
    enum pack_status status =
        pack_convert_open_stored(run, pack_outfile_part_path(run->out));
    if (status == PACK_OK)
        status =
            pack_journal_resume(jp, pack_convert_replay, run, &run->journal, run->err);
    if (status == PACK_OK)
        run->result->n_saved = run->next_record;
    return status;
}

static enum pack_status
open_files(struct run *run)
{
    const struct pack_convert_params *params = run->params;
    struct pack_journal_params jp = pack_convert_journal(run);
    struct pack_writer_params wp = { .libver = params->options.libver,
                                     .resume = run->resumed,
                                     .is_new = true };
    struct pack_writer_dataset_params dp = {
        .type = PACK_UINT8,
        .sample = run->plan.sample,
        .chunk = run->plan.chunk,
        .pipeline = params->options.pipeline,
    };
    enum pack_status status =
        run->resumed ? PACK_OK : pack_outfile_restart(run->out, run->err);
    if (status == PACK_OK)
        status = pack_writer_open(pack_outfile_part_path(run->out), &wp, &run->writer,
                                  run->err);
    if (status == PACK_OK)
        status = pack_writer_dataset_create(run->writer, "images", &dp, &run->images,
                                            run->err);
    if (status != PACK_OK)
        return status;
    return run->resumed ? resume_journal(run, &jp)
                        : pack_journal_create(&jp, &run->journal, run->err);
}

/* Ends the threads, and gives back what they worked in. */
static void
end_work(struct run *run)
{
    pack_samples_end(run->samples);
    pack_pool_free(run->pool);
    pack_samples_free(run->samples);
    pack_convert_blocks_free(run);
    run->pool = NULL;
    run->samples = NULL;
}

static void
release(struct run *run)
{
    end_work(run);
    if (run->part_fd >= 0)
        close(run->part_fd);
    pack_writer_abandon(run->writer);
    pack_journal_close(run->journal, NULL);
    run->result->resumable |= run->out && run->result->n_saved > 0 && !run->stuck;
    if (run->out && (run->result->resumable || pack_outfile_is_resumed(run->out) ||
                     run->published))
        pack_outfile_abandon(run->out);
    else
        pack_outfile_discard(run->out);
    pack_source_close(run->source);
    pack_buf_done(&run->waiting);
    pack_buf_done(&run->options);
    pack_buf_done(&run->identity);
    pack_buf_done(&run->entry);
    pack_buf_done(&run->rows);
    pack_buf_done(&run->sizes);
    pack_buf_done(&run->checksums);
    pack_buf_done(&run->valid);
}

static void
finish_result(struct run *run)
{
    struct pack_convert_result *result = run->result;
    /* black stand-ins are no images: what is trained on is normalised */
    uint64_t n_pixels = (result->n_packed - result->n_blank) *
                        ((uint64_t)run->plan.out_h * run->plan.out_w);
    result->n_channels = run->plan.n_channels;
    for (int c = 0; c < run->plan.n_channels && n_pixels > 0; c++) {
        result->mean[c] = pack_moments_mean(&run->moments, c, n_pixels);
        result->std[c] = pack_moments_std(&run->moments, c, n_pixels);
    }
    result->seed = run->params->options.seed;
    result->scales_16 = run->params->options.image.scales_16;
    result->low_16 = run->params->options.image.low_16;
    result->high_16 = run->params->options.image.high_16;
    result->chunk = run->plan.chunk;
    result->extent = run->plan.chunk;
    result->extent.extent[0] = result->n_packed;
    memcpy(&result->extent.extent[1], run->plan.sample.extent,
           sizeof(uint64_t) * (size_t)run->plan.sample.rank);
    uint64_t n_blocks = run->plan.block_samples
                            ? (result->n_packed + run->plan.block_samples - 1) /
                                  run->plan.block_samples
                            : 0;
    result->n_chunks = n_blocks * run->plan.chunks_per_block;
    result->pixel_bytes = result->n_packed * run->plan.sample_bytes;
    result->buffer_bytes = run->plan.buffer_bytes;
    if (run->samples)
        result->peak_bytes = pack_samples_peak_bytes(run->samples);
}

static enum pack_status
complete(struct run *run)
{
    const struct pack_convert_params *params = run->params;
    struct pack_convert_contents contents = {
        .source = params->source,
        .options = &params->options,
        .options_text = (const char *)run->options.data,
        .version = params->version,
        .plan = &run->plan,
        .result = run->result,
        .rows = (const uint64_t *)run->rows.data,
        .sizes = (const int32_t *)run->sizes.data,
        .valid = params->options.on_error == PACK_ON_ERROR_BLANK ? run->valid.data : NULL,
    };
    if (run->result->n_packed == 0) {
        run->stuck = true;
        return pack_convert_fail_empty(params->source, &run->rejects, run->err);
    }
    finish_result(run);
    enum pack_status status =
        pack_writer_dataset_extent(run->images, run->result->n_packed, run->err);
    if (status == PACK_OK)
        status = pack_convert_write_contents(run->writer, &contents, run->err);
    if (status != PACK_OK)
        return status;
    struct pack_writer *writer = run->writer;
    run->writer = NULL;
    return pack_writer_close(writer, run->err);
}

/* Reads the file back, where that is wanted, and looks how large it is. */
enum pack_status
pack_convert_check_stored(struct run *run, const char *path)
{
    struct stat st;
    if (run->params->verify) {
        uint64_t before = pack_clock_ns();
        end_work(run); /* what is read back has its room */
        enum pack_status status = pack_convert_verify_chunks(
            run->params, path, &run->plan, (const uint64_t *)run->checksums.data,
            run->result->n_packed, run->err);
        run->result->verify_ns = pack_clock_ns() - before;
        if (status != PACK_OK)
            return status;
    }
    if (stat(path, &st) == 0)
        run->result->file_bytes = (uint64_t)st.st_size;
    return PACK_OK;
}

static enum pack_status
check_stored(struct run *run)
{
    return pack_convert_check_stored(run, pack_outfile_part_path(run->out));
}

enum pack_status
pack_convert_tell_complete(struct run *run)
{
    const struct pack_convert_params *params = run->params;
    return params->on_complete ? params->on_complete(params->complete_context, run->err)
                               : PACK_OK;
}

/* From here on the file may have its name while the journal is still there. */
static enum pack_status
end_journal(struct run *run)
{
    struct done_entry done = { run->result->file_bytes };
    enum pack_status status =
        pack_journal_append(run->journal, ENTRY_DONE, &done, sizeof done, run->err);
    if (status == PACK_OK)
        status = pack_journal_sync(run->journal, run->err);
    pack_journal_close(run->journal, NULL);
    run->journal = NULL;
    return status;
}

static enum pack_status
commit(struct run *run)
{
    uint64_t before = pack_clock_ns();
    struct pack_outfile *out = run->out;
    run->out = NULL;
    enum pack_status status = end_journal(run);
    if (status == PACK_OK)
        status = pack_outfile_commit(out, run->err);
    else
        pack_outfile_abandon(out);
    run->result->resumable = status != PACK_OK;
    run->result->sync_ns = pack_clock_ns() - before;
    return status;
}

static enum pack_status
take_steps(struct run *run)
{
    typedef enum pack_status step(struct run *);
    static step *const first[] = { open_output,
                                   make_identity,
                                   pack_convert_published_find,
                                   pack_convert_list_take,
                                   make_plan,
                                   make_text,
                                   pack_convert_blocks_new,
                                   NULL };
    static step *const packing[] = { open_files,
                                     pack_convert_list_put,
                                     find_range,
                                     start_threads,
                                     pack_convert_all,
                                     complete,
                                     check_stored,
                                     pack_convert_tell_complete,
                                     commit,
                                     NULL };
    enum pack_status status = PACK_OK;
    for (step *const *s = first; *s && status == PACK_OK; s++)
        status = (*s)(run);
    if (status == PACK_OK && run->published)
        return pack_convert_published_take(run);
    for (step *const *s = packing; *s && status == PACK_OK; s++)
        status = (*s)(run);
    return status;
}

enum pack_status
pack_convert(const struct pack_convert_params *params, struct pack_convert_result *result,
             struct pack_error *err)
{
    struct pack_error own;
    struct run run = { .params = &run.own,
                       .result = result,
                       .err = err ? err : &own,
                       .start_ns = pack_clock_ns(),
                       .part_fd = -1 };
    enum pack_status status = pack_convert_check_source(params, result, true, err);
    if (status == PACK_OK)
        status = pack_convert_check_output(params, err);
    if (status == PACK_OK)
        status = pack_check_given(err, "version", params->version, NULL);
    if (status == PACK_OK)
        status = pack_convert_check_options(&params->options, err);
    if (status == PACK_OK && params->source)
        status = pack_convert_check_order(params->source, &params->options, err);
    if (status == PACK_OK)
        status = pack_convert_check_columns(params->source, &params->options, err);
    if (status != PACK_OK)
        return status;
    run.own = *params;
    memset(result, 0, sizeof *result);
    result->n_listed = pack_source_count(params->source);
    pack_convert_count_unread(params->source, result);
    status = take_steps(&run);
    finish_result(&run);
    release(&run);
    result->elapsed_ns = pack_clock_ns() - run.start_ns;
    return status;
}
