/*
 * A reader's memory is shared out when it is opened:
 *
 *     what must be     map, batches in the making, what each thread decodes with
 *     the future       visits that the plan sees ahead: two batches at least, a sixteenth
 *                      of the rest at most
 *     slots            decoded chunks that are kept: all that is left
 *
 * Where batches are kept as memory allows, buffers are added when there is one to be kept;
 * slots are given up for them, the last first, and those of the first dataset before others'.
 *
 * Of datasets in step, each is given the least that does. Small ones are then kept as a
 * whole; of what is left, the others are given a part by the size of their decoded chunks.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "libpack/base/numbers.h"
#include "libpack/base/size.h"
#include "libpack/model/pattern_order.h"
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

uint64_t
pack_reader_limit_bytes(const struct pack_reader *r)
{
    return r->params.memory_bytes ? r->params.memory_bytes : MEMORY_DEFAULT;
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
        if (pack_chunkload_room_bytes(r->rows.files[i].map) >
            pack_chunkload_room_bytes(largest->map))
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
    add(&sum, 1, pack_pattern_bytes(draw->iter) + pack_pattern_bytes(r->future.iter));
    add(&sum, r->n_further, sizeof *r->further);
    if (r->is_whole) { /* rows that are lent are a batch's of the first */
        add(&sum, 1, r->map->facts.logical_bytes);
        return sum;
    }
    if (r->makes_at_once)
        add(&sum, n_threads, r->sample_bytes);
    if (r->transform) {
        uint64_t n_hands = n_threads ? n_threads : 1;
        add(&sum, 1, sizeof *r->transform);
        add(&sum, n_hands, pack_transform_hand_bytes(r->transform));
    }
    add(&sum, r->n_jobs, pack_job_bytes(r));
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

/* The least that does for all datasets. */
static enum pack_status
sum_least(const struct pack_reader *r, uint64_t *sum, struct pack_error *err)
{
    uint64_t bytes;
    enum pack_status status = pack_reader_least(r, sum, err);
    for (size_t i = 0; i < r->n_further && status == PACK_OK; i++) {
        status = pack_reader_least(r->further[i], &bytes, err);
        if (status == PACK_OK && !pack_size_add(*sum, bytes, sum))
            *sum = UINT64_MAX;
    }
    return status;
}

static void
use_threads(struct pack_reader *r, unsigned n_threads)
{
    r->info.n_threads = n_threads;
    for (size_t i = 0; i < r->n_further; i++)
        if (r->further[i]->info.n_threads > 0)
            r->further[i]->info.n_threads = n_threads;
}

/* What is left of the limit when each has the least that does: with fewer threads, where
 * nobody said how many and all of them do not fit. */
static enum pack_status
find_left(struct pack_reader *r, uint64_t limit, uint64_t *left, struct pack_error *err)
{
    char asked[PACK_BYTES_TEXT_MAX], least[PACK_BYTES_TEXT_MAX];
    uint64_t sum;
    enum pack_status status = sum_least(r, &sum, err);
    while (status == PACK_OK && sum > limit && r->params.n_threads == 0 &&
           r->info.n_threads > 1) {
        use_threads(r, r->info.n_threads - 1);
        status = sum_least(r, &sum, err);
    }
    if (status != PACK_OK)
        return status;
    if (sum > limit)
        return pack_fail_param(
            err, PACK_ERR_MEMORY, "memory_bytes",
            "%s do not hold what reading '%.200s' takes; %s do (%" PRIu64 " bytes)",
            pack_bytes_format(limit, asked), r->file, pack_bytes_format(sum, least), sum);
    *left = limit - sum;
    return PACK_OK;
}

enum pack_status
pack_reader_share(struct pack_reader *r, struct pack_error *err)
{
    uint64_t left;
    enum pack_status status = find_left(r, pack_reader_limit_bytes(r), &left, err);
    if (status == PACK_OK)
        status = pack_reader_least(r, &r->info.memory_bytes, err);
    if (status == PACK_OK && is_coded(r))
        share(r, left);
    return status;
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
        status = pack_chunkload_init(&r->hands[i].load, largest->map,
                                     &find_widest(r)->fetch, err);
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
    return pack_slots_new(&r->slots, r->info.n_slots, r->rows.chunk_bytes, err);
}

/* Everything of one dataset, of which `left` may be more than the least. */
static enum pack_status
allocate(struct pack_reader *r, uint64_t left, struct pack_error *err)
{
    enum pack_status status = pack_reader_least(r, &r->info.memory_bytes, err);
    if (status != PACK_OK || r->is_whole)
        return status;
    r->past_cache =
        !r->swaps && !r->transform &&
        r->n_jobs * r->present.batch * (uint64_t)r->sample_bytes >= BATCHES_OF_CACHE;
    if (is_coded(r))
        share(r, left);
    status = pack_ring_new(r, err);
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
    uint64_t left;
    enum pack_status status = find_left(r, pack_reader_limit_bytes(r), &left, err);
    if (status == PACK_OK)
        status = pack_further_keep(r, &left, err);
    return status == PACK_OK ? allocate_all(r, left, err) : status;
}

/* What a batch more takes in the ring of the first or of a reader in step. */
static uint64_t
lacking_bytes(const struct pack_reader *r)
{
    return !r->ring || pack_ring_has_room(r->ring) ? 0 : pack_ring_more_bytes(r->ring);
}

static enum pack_status
add_batch(struct pack_reader *first, struct pack_reader *r, struct pack_error *err)
{
    uint64_t bytes = lacking_bytes(r);
    enum pack_status status = bytes > 0 ? pack_ring_more(r->ring, err) : PACK_OK;
    if (bytes == 0 || status != PACK_OK)
        return status;
    first->info.memory_bytes += bytes;
    if (r != first)
        r->info.memory_bytes += bytes;
    r->info.n_buffers = pack_ring_jobs(r->ring);
    return PACK_OK;
}

/* Takes so many bytes, and what is over, from the chunks that one reader keeps, or all that
 * it has. */
static enum pack_status
take_slots(struct pack_reader *first, struct pack_reader *r, uint64_t *bytes,
           struct pack_error *err)
{
    uint64_t freed = *bytes, n = pack_slots_without(&r->slots, &freed);
    if (freed == 0)
        return PACK_OK;
    enum pack_status status = pack_crew_use_slots(r->crew, n, &first->params.watch, err);
    if (status != PACK_OK)
        return status;
    r->info.n_slots = n;
    freed = pack_slots_free(&r->slots, n);
    first->info.memory_bytes -= freed;
    if (r != first)
        r->info.memory_bytes -= freed;
    *bytes -= freed < *bytes ? freed : *bytes;
    return PACK_OK;
}

/* Bytes of all chunks that are kept. */
static uint64_t
all_slots_bytes(const struct pack_reader *r)
{
    uint64_t bytes = UINT64_MAX, sum;
    pack_slots_without(&r->slots, &bytes);
    sum = bytes;
    for (size_t i = 0; i < r->n_further; i++) {
        bytes = UINT64_MAX;
        pack_slots_without(&r->further[i]->slots, &bytes);
        sum += bytes;
    }
    return sum;
}

/* Chunks that are kept make room for so many bytes; false: all of them have not so many. */
static bool
can_take(struct pack_reader *r, uint64_t bytes, enum pack_status *status,
         struct pack_error *err)
{
    uint64_t left = pack_reader_limit_bytes(r) - r->info.memory_bytes;
    if (bytes <= left)
        return true;
    bytes -= left;
    if (bytes > all_slots_bytes(r))
        return false;
    *status = take_slots(r, r, &bytes, err);
    for (size_t i = 0; i < r->n_further && *status == PACK_OK && bytes > 0; i++)
        *status = take_slots(r, r->further[i], &bytes, err);
    return true;
}

enum pack_status
pack_reader_make_room(struct pack_reader *r, struct pack_error *err)
{
    char limit[PACK_BYTES_TEXT_MAX];
    uint64_t n_kept = pack_ring_jobs(r->ring) - r->n_ring, bytes = lacking_bytes(r);
    if (bytes > 0 && n_kept >= r->params.n_kept)
        return pack_fail_param(err, PACK_ERR_LIMIT, "n_kept",
                               "%s kept already; one is to be given back first",
                               pack_counted(n_kept, "batch is", "batches are").text);
    for (size_t i = 0; i < r->n_further; i++)
        if (!pack_size_add(bytes, lacking_bytes(r->further[i]), &bytes))
            bytes = UINT64_MAX;
    enum pack_status status = PACK_OK;
    if (!can_take(r, bytes, &status, err))
        return pack_fail_param(
            err, PACK_ERR_LIMIT, "memory_bytes",
            "%s hold no more than %s already kept; one is to be given back "
            "first",
            pack_bytes_format(pack_reader_limit_bytes(r), limit),
            pack_counted(n_kept, "batch", "batches").text);
    if (status == PACK_OK)
        status = add_batch(r, r, err);
    for (size_t i = 0; i < r->n_further && status == PACK_OK; i++)
        status = add_batch(r, r->further[i], err);
    return status;
}

void
pack_reader_release(struct pack_reader *r)
{
    free(r->whole);
    pack_slots_done(&r->slots);
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
}
