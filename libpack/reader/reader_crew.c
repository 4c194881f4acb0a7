/*
 * One lock. A free thread plans the next batch if there is room for one and nobody else
 * does, outside the lock; else it takes the next run of visits of the oldest batch that has
 * one; else it waits. Visits of chunks that are kept wait for their slot:
 *
 *     a hit    until the slot was loaded as often as the plan says
 *     a load   until all steps of the slot before it are through
 *
 * Before it plans or reads, a free thread makes what is to be made of samples that are read.
 * All of these are earlier in the plan, and runs are taken in its order: the earliest visit
 * that is not done never waits, so there is always one that goes on.
 */
#include "libpack/reader/reader_parts.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "libpack/base/clock.h"

enum { MAKE_BYTES = 1 << 18 }; /* of samples that are made at a time */

/* What has been done with a slot. */
struct slot {
    uint64_t n_loads, n_steps;
    bool failed; /* the latest load did */
};

struct worker {
    struct pack_crew *crew;
    struct pack_hand *hand;
    pthread_t thread;
};

struct pack_crew {
    struct pack_reader *reader;
    pthread_mutex_t lock;
    pthread_cond_t work, slot_moved, job_done;
    struct slot *slots;
    unsigned n_waiting; /* for slots */
    struct worker *workers;
    unsigned n_workers; /* started */

    /* Counts of batches: those before n_given_back are the ring's again. */
    uint64_t n_planned, n_dealt, n_given_back, n_taken;
    bool waits, planning, ended, closing;
    unsigned
        n_to_make; /* batches with samples that are read and of which nothing is made */
    struct pack_reader_work total; /* of all batches */
};

uint64_t
pack_crew_bytes(unsigned n_threads, uint64_t n_slots)
{
    return sizeof(struct pack_crew) + n_threads * sizeof(struct worker) +
           n_slots * sizeof(struct slot);
}

static struct pack_job *
job_at(const struct pack_crew *crew, uint64_t batch)
{
    return pack_ring_at(crew->reader->ring, batch);
}

/* ------------------------------------------------------------------ visits */

static void
wait_for_slot(struct pack_crew *crew)
{
    crew->n_waiting++;
    pthread_cond_wait(&crew->slot_moved, &crew->lock);
    crew->n_waiting--;
}

static void
tell_slot(struct pack_crew *crew)
{
    if (crew->n_waiting > 0)
        pthread_cond_broadcast(&crew->slot_moved);
}

static unsigned char *
chunk_of(const struct pack_reader *r, const struct pack_visit *visit)
{
    return pack_slots_at(&r->slots, visit->step.slot);
}

/* Decodes into the slot when it is free, tells those that wait for it, and uses it. */
static enum pack_status
load_slot(struct pack_crew *crew, struct worker *worker, struct pack_job *job,
          const struct pack_visit *visit, struct pack_error *err)
{
    struct pack_reader *r = crew->reader;
    unsigned char *chunk = chunk_of(r, visit);
    struct slot *slot = &crew->slots[visit->step.slot];
    pthread_mutex_lock(&crew->lock);
    while (slot->n_steps < visit->step.n_before && !crew->closing)
        wait_for_slot(crew);
    bool closing = crew->closing;
    pthread_mutex_unlock(&crew->lock);
    if (closing)
        return PACK_OK;
    enum pack_status status = pack_reader_decode(r, worker->hand, job, visit, chunk, err);
    pthread_mutex_lock(&crew->lock);
    slot->n_loads++;
    slot->failed = status != PACK_OK;
    tell_slot(crew);
    pthread_mutex_unlock(&crew->lock);
    return status == PACK_OK ? pack_reader_place(r, worker->hand, job, visit, chunk, err)
                             : status;
}

/* Waits for the bytes of a hit. */
enum awaited { LOADED = 0, FAILED, CLOSING };

static enum awaited
await_slot(struct pack_crew *crew, const struct pack_visit *visit)
{
    struct slot *slot = &crew->slots[visit->step.slot];
    pthread_mutex_lock(&crew->lock);
    while (slot->n_loads < visit->step.n_loads && !crew->closing)
        wait_for_slot(crew);
    enum awaited awaited = crew->closing ? CLOSING : slot->failed ? FAILED : LOADED;
    pthread_mutex_unlock(&crew->lock);
    return awaited;
}

static enum pack_status
do_visit(struct pack_crew *crew, struct worker *worker, struct pack_job *job,
         const struct pack_visit *visit, struct pack_error *err)
{
    struct pack_reader *r = crew->reader;
    if (!visit->is_coded || visit->step.action == PACK_PLAN_PASS)
        return pack_reader_pass(r, worker->hand, job, visit, err);
    if (visit->step.action == PACK_PLAN_LOAD)
        return load_slot(crew, worker, job, visit, err);
    switch (await_slot(crew, visit)) {
    case LOADED:
        return pack_reader_place(r, worker->hand, job, visit, chunk_of(r, visit), err);
    case FAILED: return pack_reader_pass(r, worker->hand, job, visit, err); /* likewise */
    case CLOSING: break;
    }
    return PACK_OK;
}

static void
add_work(struct pack_reader_work *total, const struct pack_reader_work *part)
{
    total->visits += part->visits;
    total->loads += part->loads;
    total->hits += part->hits;
    total->file_reads += part->file_reads;
    total->file_read_bytes += part->file_read_bytes;
    total->total_ns += part->total_ns;
    total->read_ns += part->read_ns;
    total->decode_ns += part->decode_ns;
    total->transform_ns += part->transform_ns;
}

/* What a visit took, and the thread has not told yet. */
static struct pack_reader_work
take_work(struct pack_hand *hand, const struct pack_visit *visit, uint64_t begin_ns)
{
    struct pack_chunkload *load = &hand->load;
    bool is_hit = visit->is_coded && visit->step.action == PACK_PLAN_HIT;
    struct pack_reader_work work = { .visits = 1,
                                     .loads = visit->is_coded && !is_hit,
                                     .hits = is_hit,
                                     .file_reads = load->file_reads,
                                     .file_read_bytes = load->file_read_bytes,
                                     .total_ns = pack_clock_ns() - begin_ns,
                                     .read_ns = load->read_ns,
                                     .decode_ns = load->decode_ns,
                                     .transform_ns = hand->made_ns };
    hand->made_ns = 0;
    load->file_reads = load->file_read_bytes = load->read_ns = load->decode_ns = 0;
    return work;
}

static void
note_ready(struct pack_crew *crew, struct pack_job *job)
{
    job->is_ready = true;
    job->ready_ns = pack_clock_ns();
    pthread_cond_signal(&crew->job_done);
}

/* All samples of a batch are there, as the file has them. */
static void
note_read(struct pack_crew *crew, struct pack_job *job)
{
    if (!crew->reader->transform || crew->reader->makes_at_once) {
        note_ready(crew, job);
        return;
    }
    crew->n_to_make++;
    pthread_cond_broadcast(&crew->work);
}

/* Under the lock: the visit is through, well or not. */
static void
note_visit(struct pack_crew *crew, struct pack_job *job, size_t number,
           const struct pack_error *error)
{
    const struct pack_visit *visit = &job->drawn.visits[number];
    const struct pack_plan_step *step = &visit->step;
    if (visit->is_coded && step->action != PACK_PLAN_PASS) {
        crew->slots[step->slot].n_steps++;
        tell_slot(crew);
    }
    if (error->status != PACK_OK && number < job->bad_visit) {
        job->bad_visit = number;
        job->error = *error;
    }
    if (++job->n_done == job->drawn.n_visits)
        note_read(crew, job);
}

/* ----------------------------------------------------------------- threads */

/* Under the lock, which it leaves meanwhile. */
static void
plan(struct pack_crew *crew)
{
    struct pack_job *job = job_at(crew, crew->n_planned);
    crew->planning = true;
    pthread_mutex_unlock(&crew->lock);
    bool more = pack_reader_plan_job(crew->reader, job);
    pthread_mutex_lock(&crew->lock);
    crew->planning = false;
    tell_slot(crew);
    if (more) {
        job->n_dealt = job->n_done = job->n_made_dealt = job->n_made = 0;
        job->is_ready = false;
        job->work = (struct pack_reader_work){ 0 };
        job->bad_visit = job->drawn.n_visits;
        job->bad_sample = job->drawn.n_samples;
        job->made_error.status = PACK_OK;
        crew->n_planned++;
    } else {
        crew->ended = true;
        pthread_cond_signal(&crew->job_done);
    }
    pthread_cond_broadcast(&crew->work);
}

/* Likewise: a run of visits of the oldest batch that has one. */
static void
read_run(struct pack_crew *crew, struct worker *worker)
{
    struct pack_job *job = job_at(crew, crew->n_dealt);
    size_t first = job->n_dealt, end = job->drawn.visits[first].run_end;
    job->n_dealt = end;
    crew->n_dealt += end == job->drawn.n_visits;
    for (size_t i = first; i < end && !crew->closing; i++) {
        struct pack_error error = { .status = PACK_OK };
        pthread_mutex_unlock(&crew->lock);
        uint64_t begin_ns = pack_clock_ns();
        error.status = do_visit(crew, worker, job, &job->drawn.visits[i], &error);
        struct pack_reader_work work =
            take_work(worker->hand, &job->drawn.visits[i], begin_ns);
        pthread_mutex_lock(&crew->lock);
        add_work(&job->work, &work);
        add_work(&crew->total, &work);
        note_visit(crew, job, i, &error);
    }
}

/* Likewise: a run of samples of the oldest batch that was read. */
static void
make_run(struct pack_crew *crew, struct worker *worker)
{
    struct pack_reader *r = crew->reader;
    uint64_t batch = crew->n_taken;
    struct pack_job *job = job_at(crew, batch);
    while (job->n_done < job->drawn.n_visits || job->n_made_dealt == job->drawn.n_samples)
        job = job_at(crew, ++batch);
    size_t first = job->n_made_dealt, n = MAKE_BYTES / r->transform->out_bytes + 1, bad;
    size_t left = job->drawn.n_samples - first;
    n = n < left ? n : left;
    job->n_made_dealt += n;
    crew->n_to_make -= n == left;
    struct pack_error error = { .status = PACK_OK };
    struct pack_reader_work work = { 0 };
    pthread_mutex_unlock(&crew->lock);
    error.status = pack_reader_make(r, worker->hand, job, first, first + n, &bad, &error);
    work.total_ns = work.transform_ns = worker->hand->made_ns;
    worker->hand->made_ns = 0;
    pthread_mutex_lock(&crew->lock);
    add_work(&job->work, &work);
    add_work(&crew->total, &work);
    if (error.status != PACK_OK && bad < job->bad_sample) {
        job->bad_sample = bad;
        job->made_error = error;
    }
    job->n_made += n;
    if (job->n_made == job->drawn.n_samples)
        note_ready(crew, job);
}

static void *
worker_main(void *argument)
{
    struct worker *worker = argument;
    struct pack_crew *crew = worker->crew;
    pthread_mutex_lock(&crew->lock);
    while (!crew->closing) {
        bool has_room = crew->n_planned - crew->n_given_back < crew->reader->n_ring;
        if (crew->n_to_make > 0)
            make_run(crew, worker);
        else if (has_room && !crew->waits && !crew->planning && !crew->ended)
            plan(crew);
        else if (crew->n_dealt < crew->n_planned)
            read_run(crew, worker);
        else
            pthread_cond_wait(&crew->work, &crew->lock);
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

static enum pack_status
start_workers(struct pack_crew *crew, unsigned n_threads, struct pack_error *err)
{
    sigset_t all, before;
    enum pack_status status = PACK_OK;
    sigfillset(&all);
    sigdelset(&all, SIGBUS); /* base/mapped.h */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (unsigned i = 0; i < n_threads && status == PACK_OK; i++) {
        struct worker *worker = &crew->workers[i];
        *worker = (struct worker){ .crew = crew, .hand = &crew->reader->hands[i] };
        int failed = pthread_create(&worker->thread, NULL, worker_main, worker);
        if (failed)
            status = pack_fail_errno(err, failed, "cannot start thread %u", i + 1);
        else
            crew->n_workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

/* Waits with a limit go by a clock that nobody sets. */
static void
init_timed(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

enum pack_status
pack_crew_start(struct pack_reader *reader, unsigned n_threads, struct pack_crew **out,
                struct pack_error *err)
{
    struct pack_crew *crew = calloc(1, sizeof *crew);
    if (!crew)
        return pack_fail_memory(err, "threads");
    crew->reader = reader;
    crew->waits = reader->params.waits;
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->work, NULL);
    init_timed(&crew->slot_moved);
    init_timed(&crew->job_done);
    crew->slots = calloc(reader->info.n_slots + 1, sizeof *crew->slots);
    crew->workers = calloc(n_threads, sizeof *crew->workers);
    enum pack_status status = crew->slots && crew->workers
                                  ? start_workers(crew, n_threads, err)
                                  : pack_fail_memory(err, "threads");
    if (status != PACK_OK) {
        pack_crew_end(crew);
        return status;
    }
    *out = crew;
    return PACK_OK;
}

void
pack_crew_begin(struct pack_crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    crew->waits = false;
    pthread_cond_broadcast(&crew->work);
    pthread_mutex_unlock(&crew->lock);
}

void
pack_crew_end(struct pack_crew *crew)
{
    if (!crew)
        return;
    pthread_mutex_lock(&crew->lock);
    crew->closing = true;
    pthread_cond_broadcast(&crew->work);
    pthread_cond_broadcast(&crew->slot_moved);
    pthread_mutex_unlock(&crew->lock);
    for (unsigned i = 0; i < crew->n_workers; i++)
        pthread_join(crew->workers[i].thread, NULL);
    free(crew->workers);
    free(crew->slots);
    pthread_cond_destroy(&crew->job_done);
    pthread_cond_destroy(&crew->slot_moved);
    pthread_cond_destroy(&crew->work);
    pthread_mutex_destroy(&crew->lock);
    free(crew);
}

/* ------------------------------------------------------------------ batches */

/* Whether the next batch is there, or there is none. */
static bool
has_next(struct pack_crew *crew)
{
    return crew->n_planned > crew->n_taken ? job_at(crew, crew->n_taken)->is_ready
                                           : crew->ended;
}

/* Under the lock: until something may have changed, or a while is over and the watch has
 * been asked. */
static enum pack_status
wait_for(struct pack_crew *crew, pthread_cond_t *change, const struct pack_watch *watch,
         struct pack_error *err)
{
    enum { LOOK_NS = 50 * 1000 * 1000, SECOND_NS = 1000 * 1000 * 1000 };
    struct timespec until;
    if (!watch->stop) {
        pthread_cond_wait(change, &crew->lock);
        return PACK_OK;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOOK_NS;
    until.tv_sec += until.tv_nsec / SECOND_NS;
    until.tv_nsec %= SECOND_NS;
    if (pthread_cond_timedwait(change, &crew->lock, &until) == 0)
        return PACK_OK;
    pthread_mutex_unlock(&crew->lock);
    enum pack_status status = pack_watch_check(watch, err);
    pthread_mutex_lock(&crew->lock);
    return status;
}

enum pack_status
pack_crew_next(struct pack_crew *crew, const struct pack_watch *watch,
               struct pack_job **job, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    *job = NULL;
    pthread_mutex_lock(&crew->lock);
    if (crew->n_given_back < crew->n_taken) {
        crew->n_given_back = crew->n_taken;
        pthread_cond_signal(&crew->work);
    }
    while (status == PACK_OK && !has_next(crew))
        status = wait_for(crew, &crew->job_done, watch, err);
    if (status == PACK_OK && crew->n_planned > crew->n_taken)
        *job = job_at(crew, crew->n_taken++);
    pthread_mutex_unlock(&crew->lock);
    return status;
}

/* Under the lock: whether a step of a slot from `first` on is not through. */
static bool
is_used(const struct pack_crew *crew, uint64_t first)
{
    for (uint64_t i = first; i < crew->reader->info.n_slots; i++)
        if (crew->slots[i].n_steps < pack_plan_steps(crew->reader->plan, i))
            return true;
    return false;
}

enum pack_status
pack_crew_use_slots(struct pack_crew *crew, uint64_t n, const struct pack_watch *watch,
                    struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    pthread_mutex_lock(&crew->lock);
    crew->n_waiting++;
    while (status == PACK_OK && crew->planning)
        status = wait_for(crew, &crew->slot_moved, watch, err);
    if (status == PACK_OK) {
        crew->planning = true; /* nobody does meanwhile */
        pack_plan_shrink(crew->reader->plan, n);
        while (status == PACK_OK && is_used(crew, n))
            status = wait_for(crew, &crew->slot_moved, watch, err);
        crew->planning = false;
        pthread_cond_broadcast(&crew->work);
    }
    crew->n_waiting--;
    pthread_mutex_unlock(&crew->lock);
    return status;
}

void
pack_crew_count(struct pack_crew *crew, struct pack_reader_info *info)
{
    pthread_mutex_lock(&crew->lock);
    info->visits = crew->total.visits;
    info->loads = crew->total.loads;
    info->hits = crew->total.hits;
    info->file_reads = crew->total.file_reads;
    info->file_read_bytes = crew->total.file_read_bytes;
    pthread_mutex_unlock(&crew->lock);
}
