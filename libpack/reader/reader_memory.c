/*
 * All of a reader's memory is shared out when it is opened:
 *
 *     what must be     map, batches in the making, what each thread decodes with
 *     the future       visits that the plan sees ahead: two batches at least, a sixteenth
 *                      of the rest at most
 *     slots            decoded chunks that are kept: all that is left
 *
 * Of datasets in step, each is given the least that does. Small ones are then kept as a
 * whole; of what is left, the others are given a part by the size of their decoded chunks.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "libpack/base/size.h"
#include "libpack/reader/reader_parts.h"

static const uint64_t MEMORY_DEFAULT = UINT64_C(1) << 30;

/* Visits seen ahead are some of each chunk's, more help little; and no more than this, so
 * that the first batch does not wait long for them. */
enum { AHEAD_OF_CHUNK = 8, AHEAD_MAX = 1 << 20 };

/* Batches of more than this are no longer in a cache when their turn comes. */
static const uint64_t BATCHES_OF_CACHE = 16 << 20;

/* A sum of products that says when it no longer fits. */
struct sum {
    uint64_t bytes;
    bool overflows;
};

static void
add(struct sum *sum, uint64_t n, uint64_t bytes)
{
    uint64_t product;
    if (!pack_size_mul(n, bytes, &product) ||
        !pack_size_add(sum->bytes, product, &sum->bytes))
        sum->overflows = true;
}

static bool
is_coded(const struct pack_reader *r)
{
    return !r->stock && !r->is_whole && r->rows.n_coded > 0;
}

/* What it takes to decode a chunk of any file. */
static uint64_t
load_bytes(const struct pack_reader *r)
{
    uint64_t most = 0;
    for (size_t i = 0; i < r->rows.n_files; i++) {
        uint64_t bytes = pack_chunkload_bytes(r->rows.files[i].map);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* The file whose chunks need most room as they are stored: it does for all. */
static const struct pack_rowmap_file *
find_largest(const struct pack_reader *r)
{
    const struct pack_rowmap_file *largest = &r->rows.files[0];
    for (size_t i = 1; i < r->rows.n_files; i++)
        if (r->rows.files[i].map->stored_max_bytes > largest->map->stored_max_bytes)
            largest = &r->rows.files[i];
    return largest;
}

uint64_t
pack_reader_room_bytes(const struct pack_reader *r)
{
    return pack_chunkload_room_bytes(find_largest(r)->map);
}

/* The file whose reads need most room beside their own, and the largest alignment. */
static const struct pack_rowmap_file *
find_widest(const struct pack_reader *r)
{
    const struct pack_rowmap_file *widest = &r->rows.files[0];
    for (size_t i = 1; i < r->rows.n_files; i++)
        if (r->rows.files[i].fetch.align > widest->fetch.align)
            widest = &r->rows.files[i];
    return widest;
}

/* What there must be, without slots. */
static struct sum
least_bytes(const struct pack_reader *r)
{
    const struct pack_draw *draw = &r->present;
    uint64_t n_threads = r->info.n_threads;
    struct sum sum = { sizeof *r + pack_rowmap_bytes(&r->rows), false };
    add(&sum, r->n_further, sizeof *r->further);
    add(&sum, r->n_further * r->n_jobs,
        sizeof *r->further_data + sizeof(struct pack_job *));
    if (r->is_whole) {
        add(&sum, 1, r->map->facts.logical_bytes);
        add(&sum, draw->batch * r->first->n_jobs, r->sample_bytes);
        return sum;
    }
    if (r->makes_at_once)
        add(&sum, n_threads, r->sample_bytes);
    else
        add(&sum, draw->batch * r->n_jobs, r->sample_bytes);
    if (r->transform) {
        uint64_t n_hands = n_threads ? n_threads : 1;
        add(&sum, draw->batch * r->n_jobs, r->transform->out_bytes);
        add(&sum, 1, sizeof *r->transform);
        add(&sum, n_hands, pack_transform_hand_bytes(r->transform));
    }
    add(&sum, r->n_jobs, sizeof(struct pack_job) + pack_draw_bytes(draw));
    add(&sum, 1, pack_ring_bytes(r));
    if (r->stock)
        return sum;
    add(&sum, 1, pack_crew_bytes(r->info.n_threads, 0));
    add(&sum, n_threads, sizeof(struct pack_hand) + load_bytes(r));
    add(&sum, n_threads, pack_fetch_margin_bytes(&find_widest(r)->fetch));
    if (!is_coded(r))
        return sum;
    add(&sum, n_threads, r->rows.chunk_bytes);
    add(&sum, 1, pack_draw_bytes(draw)); /* of the future */
    add(&sum, r->rows.n_chunks, PACK_PLAN_CHUNK_BYTES);
    add(&sum, 2 * draw->pieces_max, PACK_PLAN_AHEAD_BYTES);
    return sum;
}

/* Shares out what is left. */
static void
share(struct pack_reader *r, uint64_t left)
{
    uint64_t slot_bytes = r->rows.chunk_bytes + PACK_PLAN_SLOT_BYTES +
                          (pack_crew_bytes(0, 1) - pack_crew_bytes(0, 0));
    uint64_t ahead = left / 16 / PACK_PLAN_AHEAD_BYTES, n_slots;
    if (ahead > AHEAD_MAX)
        ahead = AHEAD_MAX;
    if (ahead / AHEAD_OF_CHUNK > r->rows.n_chunks)
        ahead = r->rows.n_chunks * AHEAD_OF_CHUNK;
    r->plan_ahead_max = 2 * r->present.pieces_max + ahead;
    left -= ahead * PACK_PLAN_AHEAD_BYTES;
    n_slots = left / slot_bytes;
    if (n_slots > r->rows.n_coded)
        n_slots = r->rows.n_coded;
    if (n_slots > UINT32_MAX - 1)
        n_slots = UINT32_MAX - 1;
    r->info.n_slots = n_slots;
    r->info.memory_bytes += ahead * PACK_PLAN_AHEAD_BYTES + n_slots * slot_bytes;
}

enum pack_status
pack_reader_least(const struct pack_reader *r, uint64_t *bytes, struct pack_error *err)
{
    struct sum sum = least_bytes(r);
    if (sum.overflows || sum.bytes > SIZE_MAX / 2)
        return pack_fail(err, PACK_ERR_LIMIT,
                         "a batch of %" PRIu64 " samples of %zu bytes is too large",
                         r->present.batch, r->sample_bytes);
    *bytes = sum.bytes;
    return PACK_OK;
}

/* What is left of the limit when each has the least that does. */
static enum pack_status
find_left(const struct pack_reader *r, uint64_t limit, uint64_t *left,
          struct pack_error *err)
{
    char asked[PACK_BYTES_TEXT_MAX], least[PACK_BYTES_TEXT_MAX];
    uint64_t sum, bytes;
    enum pack_status status = pack_reader_least(r, &sum, err);
    for (size_t i = 0; i < r->n_further && status == PACK_OK; i++) {
        status = pack_reader_least(r->further[i], &bytes, err);
        if (status == PACK_OK && !pack_size_add(sum, bytes, &sum))
            sum = UINT64_MAX;
    }
    if (status != PACK_OK)
        return status;
    if (sum > limit)
        return pack_fail_param(err, PACK_ERR_MEMORY, "memory_bytes",
                               "%s do not hold what reading '%.200s' takes; %s do (%" PRIu64
                               " bytes)",
                               pack_bytes_format(limit, asked), r->file,
                               pack_bytes_format(sum, least), sum);
    *left = limit - sum;
    return PACK_OK;
}

enum pack_status
pack_reader_share(struct pack_reader *r, struct pack_error *err)
{
    uint64_t limit = r->params.memory_bytes ? r->params.memory_bytes : MEMORY_DEFAULT;
    uint64_t left;
    enum pack_status status = find_left(r, limit, &left, err);
    if (status == PACK_OK)
        status = pack_reader_least(r, &r->info.memory_bytes, err);
    if (status == PACK_OK && is_coded(r))
        share(r, left);
    return status;
}

static void *
allocate_buffer(const struct pack_reader *r)
{
    const struct pack_reader_buffers *theirs = &r->params.buffers;
    return theirs->allocate ? theirs->allocate(theirs->context, r->info.buffer_bytes)
                            : calloc(1, r->info.buffer_bytes);
}

/* Of what is not handed out there are as many samples. */
static enum pack_status
allocate_job(const struct pack_reader *r, struct pack_job *job, struct pack_error *err)
{
    enum pack_status status = pack_drawn_init(&job->drawn, &r->present, err);
    if (status != PACK_OK)
        return status;
    job->data = allocate_buffer(r);
    if (!job->data)
        return pack_fail_memory(err, r->params.buffers.allocate ? "batch, of the caller's"
                                                                : "batch");
    if (!r->transform)
        job->raw = job->data;
    else if (!r->makes_at_once)
        job->raw = calloc(r->present.batch, r->sample_bytes);
    return job->raw || r->makes_at_once ? PACK_OK : pack_fail_memory(err, "batch");
}

static enum pack_status
allocate_jobs(struct pack_reader *r, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    r->jobs = calloc(r->n_jobs, sizeof *r->jobs);
    if (!r->jobs)
        return pack_fail_memory(err, "batches");
    for (size_t i = 0; i < r->n_jobs && status == PACK_OK; i++)
        status = allocate_job(r, &r->jobs[i], err);
    return status == PACK_OK ? pack_ring_new(r, err) : status;
}

static void
release_job(const struct pack_reader *r, struct pack_job *job)
{
    const struct pack_reader_buffers *theirs = &r->params.buffers;
    if (job->raw != job->data)
        free(job->raw);
    if (!theirs->allocate)
        free(job->data);
    else if (job->data)
        theirs->release(theirs->context, job->data);
    pack_drawn_done(&job->drawn);
}

static enum pack_status
allocate_hands(struct pack_reader *r, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    const struct pack_rowmap_file *largest = find_largest(r);
    r->hands = calloc(r->info.n_threads, sizeof *r->hands);
    if (!r->hands)
        return pack_fail_memory(err, "threads");
    for (unsigned i = 0; i < r->info.n_threads && status == PACK_OK; i++) {
        status = pack_chunkload_init(&r->hands[i].load, largest->map, &find_widest(r)->fetch,
                                     err);
        if (status == PACK_OK && r->transform)
            status = pack_transform_hand_new(r->transform, &r->hands[i].made, err);
        if (status == PACK_OK && r->makes_at_once &&
            !(r->hands[i].sample = malloc(r->sample_bytes)))
            status = pack_fail_memory(err, "a sample");
        if (status != PACK_OK || !is_coded(r))
            continue;
        r->hands[i].chunk = malloc(r->rows.chunk_bytes);
        if (!r->hands[i].chunk)
            status = pack_fail_memory(err, "decoded chunk");
    }
    return status;
}

enum pack_status
pack_reader_allocate_plan(struct pack_reader *r, struct pack_error *err)
{
    if (!is_coded(r))
        return PACK_OK;
    enum pack_status status = pack_plan_new(r->rows.n_chunks, r->info.n_slots,
                                            r->plan_ahead_max, &r->plan, err);
    return status == PACK_OK ? pack_drawn_init(&r->seen, &r->future, err) : status;
}

static enum pack_status
allocate_slots(struct pack_reader *r, struct pack_error *err)
{
    if (!is_coded(r))
        return PACK_OK;
    r->slots = malloc(r->info.n_slots * r->rows.chunk_bytes + 1);
    return r->slots ? PACK_OK : pack_fail_memory(err, "decoded chunks");
}

/* Everything of one dataset, of which `left` may be more than the least. */
static enum pack_status
allocate(struct pack_reader *r, uint64_t left, struct pack_error *err)
{
    enum pack_status status = pack_reader_least(r, &r->info.memory_bytes, err);
    if (status != PACK_OK || r->is_whole)
        return status;
    r->past_cache = !r->swaps && !r->transform &&
                    r->n_jobs * r->present.batch * (uint64_t)r->sample_bytes >=
                                     BATCHES_OF_CACHE;
    if (is_coded(r))
        share(r, left);
    status = allocate_jobs(r, err);
    if (status == PACK_OK && !r->stock)
        status = allocate_hands(r, err);
    if (status == PACK_OK && r->stock && r->transform)
        status = pack_transform_hand_new(r->transform, &r->stock_hand.made, err);
    if (status == PACK_OK)
        status = pack_reader_allocate_plan(r, err);
    return status == PACK_OK ? allocate_slots(r, err) : status;
}

/* Bytes of all decoded chunks that could be kept. */
static double
keepable_bytes(const struct pack_reader *r)
{
    return is_coded(r) ? (double)r->rows.n_coded * (double)r->rows.chunk_bytes : 0;
}

/* The further ones, and then the first with what these leave. */
static enum pack_status
allocate_all(struct pack_reader *r, uint64_t left, struct pack_error *err)
{
    double all = keepable_bytes(r), most = (double)left;
    uint64_t least = 0, given, further_bytes = 0;
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < r->n_further; i++)
        all += keepable_bytes(r->further[i]);
    for (size_t i = 0; i < r->n_further && status == PACK_OK; i++) {
        struct pack_reader *f = r->further[i];
        given = all > 0 ? (uint64_t)(most * (keepable_bytes(f) / all)) : 0;
        status = pack_reader_least(f, &least, err);
        if (status == PACK_OK)
            status = allocate(f, given < left ? given : left, err);
        left -= f->info.memory_bytes - least;
        further_bytes += f->info.memory_bytes;
    }
    if (status == PACK_OK)
        status = allocate(r, left, err);
    r->info.memory_bytes += further_bytes;
    return status;
}

enum pack_status
pack_reader_allocate(struct pack_reader *r, struct pack_error *err)
{
    uint64_t limit = r->params.memory_bytes ? r->params.memory_bytes : MEMORY_DEFAULT;
    uint64_t left;
    enum pack_status status = find_left(r, limit, &left, err);
    if (status == PACK_OK)
        status = pack_further_keep(r, &left, err);
    return status == PACK_OK ? allocate_all(r, left, err) : status;
}

void
pack_reader_release(struct pack_reader *r)
{
    free(r->lent_rows);
    free(r->whole);
    free(r->slots);
    pack_drawn_done(&r->seen);
    pack_plan_free(r->plan);
    for (unsigned i = 0; r->hands && i < r->info.n_threads; i++) {
        free(r->hands[i].chunk);
        pack_transform_hand_free(r->hands[i].made);
        free(r->hands[i].sample);
        pack_chunkload_done(&r->hands[i].load);
    }
    free(r->hands);
    pack_transform_hand_free(r->stock_hand.made);
    free(r->transform);
    pack_ring_free(r->ring);
    for (size_t i = 0; r->jobs && i < r->n_jobs; i++)
        release_job(r, &r->jobs[i]);
    free(r->jobs);
}
