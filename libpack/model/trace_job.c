/*
 * Boxes are half a kilobyte each, so that all is done with their numbers, and they are
 * moved once, in the end:
 *
 *     all reads ─▶ those of workers ─▶ epochs ─▶ lanes ─▶ dealt in batches
 *
 * A lane is a worker's place: in each epoch another process may sit there.
 */
#include "libpack/model/trace_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/rng.h"
#include "libpack/base/sort.h"

enum { FEW = 10 }; /* one in so many is few */

struct process {
    uint64_t id;
    size_t n, first, last; /* reads, by number among all */
    uint64_t last_ns;      /* of its read before */
    size_t last_in;        /* 1 + the epoch of that; 0: there was none */
    bool counts;           /* the time before that read */
    double ns, n_timed; /* of its boxes that count */
    uint64_t first_epoch, last_epoch;
    size_t lane;
};

struct job {
    struct pack_trace *trace;
    struct process *processes; /* ascending */
    size_t n_processes, n_lanes;
    size_t *order; /* numbers of boxes */
    size_t n;
    size_t *begin; /* of each epoch in order; n_epochs + 1 of them */
    size_t n_epochs;
    struct pack_trace_job *result;
};

/* --------------------------------------------------------------- processes */

/* Of whatever begins with an id. */
static int
by_id(const void *a, const void *b)
{
    const uint64_t *p = a, *q = b;
    return *p < *q ? -1 : *p > *q;
}

static int
by_first(const void *a, const void *b)
{
    const struct process *p = *(struct process *const *)a,
                         *q = *(struct process *const *)b;
    return p->first < q->first ? -1 : p->first > q->first;
}

static struct process *
process_of(const struct job *j, size_t box)
{
    return bsearch(&j->trace->processes[box], j->processes, j->n_processes,
                   sizeof *j->processes, by_id);
}

static enum pack_status
find_processes(struct job *j, struct pack_error *err)
{
    size_t n = j->trace->n_boxes, k = 0;
    j->processes = calloc(n, sizeof *j->processes);
    if (!j->processes)
        return pack_fail_memory(err, "trace");
    for (size_t i = 0; i < n; i++) /* neighbours are often one: few are left to sort */
        if (k == 0 || j->processes[k - 1].id != j->trace->processes[i])
            j->processes[k++].id = j->trace->processes[i];
    qsort(j->processes, k, sizeof *j->processes, by_id);
    for (size_t i = 0; i < k; i++)
        if (i == 0 || j->processes[i].id != j->processes[j->n_processes - 1].id)
            j->processes[j->n_processes++] = j->processes[i];
    return PACK_OK;
}

/* Leaves the reads of those out that only looked in. */
static void
keep_workers(struct job *j)
{
    size_t most = 0, kept = 0;
    for (size_t i = 0; i < j->n; i++)
        process_of(j, i)->n++;
    for (size_t k = 0; k < j->n_processes; k++)
        if (j->processes[k].n > most)
            most = j->processes[k].n;
    for (size_t i = 0; i < j->n; i++)
        if (process_of(j, i)->n >= most / FEW)
            j->order[kept++] = i;
    j->result->n_beside = j->n - kept;
    j->n = kept;
    kept = 0;
    for (size_t k = 0; k < j->n_processes; k++)
        if (j->processes[k].n >= most / FEW)
            j->processes[kept++] = j->processes[k];
    j->n_processes = kept;
}

/* ------------------------------------------------------------------ epochs */

static uint64_t
hash_of(const struct pack_box *box)
{
    uint64_t hash = 0;
    for (int i = 0; i < box->rank; i++)
        hash = pack_rng_mix(pack_rng_mix(hash, box->start[i]), box->count[i]);
    return hash | 1; /* 0 is a free place */
}

struct seen {
    uint64_t hash;
    size_t epoch; /* the last one that read it */
};

/* Whether this epoch has read the box before. */
static bool
is_repeated(struct seen *table, size_t mask, uint64_t hash, size_t epoch)
{
    size_t at = (size_t)(hash >> 1) & mask;
    while (table[at].hash && table[at].hash != hash)
        at = (at + 1) & mask;
    bool repeated = table[at].hash && table[at].epoch == epoch;
    table[at] = (struct seen){ hash, epoch };
    return repeated;
}

/* Whether parts are epochs: as long as the first, but for the last. */
static bool
are_even(const struct job *j)
{
    size_t shortest = j->begin[1], longest = j->begin[1];
    for (size_t e = 1; e + 1 < j->n_epochs; e++) {
        size_t length = j->begin[e + 1] - j->begin[e];
        shortest = length < shortest ? length : shortest;
        longest = length > longest ? length : longest;
    }
    size_t last = j->begin[j->n_epochs] - j->begin[j->n_epochs - 1];
    return shortest >= longest - longest / FEW && last <= longest + longest / FEW;
}

static enum pack_status
find_epochs(struct job *j, struct pack_error *err)
{
    size_t places = 4;
    while (places < 2 * j->n)
        places *= 2;
    struct seen *table = calloc(places, sizeof *table);
    j->begin = calloc(j->n + 1, sizeof *j->begin);
    if (!table || !j->begin) {
        free(table);
        return pack_fail_memory(err, "trace");
    }
    j->n_epochs = 1;
    for (size_t i = 0; i < j->n; i++) {
        uint64_t hash = hash_of(&j->trace->boxes[j->order[i]]);
        if (is_repeated(table, places - 1, hash, j->n_epochs)) {
            j->begin[j->n_epochs++] = i;
            is_repeated(table, places - 1, hash, j->n_epochs);
        }
    }
    free(table);
    j->begin[j->n_epochs] = j->n;
    if (!are_even(j)) {
        j->n_epochs = 1;
        j->begin[1] = j->n;
    }
    return PACK_OK;
}

/* What the trace says of what a process did; NULL: nothing. */
static const struct pack_trace_process *
spent_of(const struct job *j, const struct process *p)
{
    const struct pack_trace *trace = j->trace;
    return trace->n_spent > 0 ? bsearch(&p->id, trace->spent, trace->n_spent,
                                        sizeof *trace->spent, by_id)
                              : NULL;
}

/*
 * The time for a box in which a worker reads or waits for other workers' reads, since batches are
 * taken in turn: of those that began in the same epoch, the one that did least else waited for
 * none. False: no memory.
 */
static bool
find_busy(struct job *j, double *read_ns)
{
    double *least = calloc(j->n_epochs, sizeof *least), *n = calloc(j->n_epochs, sizeof *n);
    double ns = 0, n_boxes = 0;
    bool good = least && n, all = j->trace->n_spent > 0;
    for (size_t k = 0; good && k < j->n_processes; k++) {
        const struct process *p = &j->processes[k];
        const struct pack_trace_process *spent = spent_of(j, p);
        double took = spent ? spent->read_ns : 0;
        if (p->n_timed == 0)
            continue;
        double others = fmax(0, p->ns / p->n_timed - took);
        double *e = &least[p->first_epoch];
        *e = n[p->first_epoch] == 0 ? others : fmin(*e, others);
        n[p->first_epoch] += p->n_timed;
        all = all && took > 0;
    }
    for (size_t e = 0; good && e < j->n_epochs; e++) {
        ns += n[e] * least[e];
        n_boxes += n[e];
    }
    *read_ns = all && n_boxes > 0 ? j->result->box_ns - ns / n_boxes : j->trace->read_ns;
    free(least);
    free(n);
    return good;
}

/* How the workers ran, all together, and how many processes started those of the first epoch. */
static enum pack_status
find_ran(struct job *j, struct pack_error *err)
{
    struct pack_trace_process sum = { .ran_ns = 0 };
    struct pack_trace_job *r = j->result;
    size_t n = 0;
    uint64_t *ids = calloc(j->n_processes, sizeof *ids);
    if (!ids)
        return pack_fail_memory(err, "trace");
    for (size_t k = 0; k < j->n_processes; k++) {
        const struct pack_trace_process *spent = spent_of(j, &j->processes[k]);
        if (!spent || spent->ran_ns <= 0)
            continue;
        sum.ran_ns += spent->ran_ns;
        sum.busy_ns += spent->busy_ns;
        sum.delay_ns += spent->delay_ns;
        sum.parent_busy_ns += spent->parent_busy_ns;
        if (j->processes[k].first_epoch == 0)
            ids[n++] = spent->parent;
    }
    pack_sort_u64(ids, n);
    for (size_t i = 0; i < n; i++)
        r->parents += i == 0 || ids[i] != ids[i - 1];
    free(ids);
    if (sum.ran_ns > 0) {
        r->busy = fmin(1, sum.busy_ns / sum.ran_ns);
        r->delayed = fmin(1 - r->busy, sum.delay_ns / sum.ran_ns);
        r->parent_busy = fmin(1, sum.parent_busy_ns / sum.ran_ns);
    }
    return PACK_OK;
}

/* From one read of a worker's process to its next in the same epoch: between epochs it waits for
 * the others. */
static enum pack_status
time_boxes(struct job *j, struct pack_error *err)
{
    const struct pack_trace *trace = j->trace;
    double ns = 0, n = 0, read_ns;
    size_t epoch = 0;
    for (size_t i = 0; i < j->n; i++) {
        struct process *p = process_of(j, j->order[i]);
        uint64_t at = trace->times_ns[j->order[i]];
        while (i >= j->begin[epoch + 1])
            epoch++;
        if (p->last_in == 0 || at != p->last_ns) {
            p->counts = p->last_in == epoch + 1;
            p->ns += p->counts ? (double)(at - p->last_ns) : 0;
        }
        p->n_timed += p->counts;
        p->last_ns = at;
        p->last_in = epoch + 1;
    }
    for (size_t k = 0; k < j->n_processes; k++) {
        ns += j->processes[k].ns;
        n += j->processes[k].n_timed;
    }
    j->result->box_ns = n > 0 ? ns / n : 0;
    if (!find_busy(j, &read_ns))
        return pack_fail_memory(err, "trace");
    j->result->read_ns = n > 0 ? fmin(read_ns, j->result->box_ns) : 0;
    return PACK_OK;
}

/* ------------------------------------------------------------------- lanes */

static void
time_processes(struct job *j)
{
    size_t epoch = 0;
    for (size_t i = 0; i < j->n; i++) {
        struct process *p = process_of(j, j->order[i]);
        while (i >= j->begin[epoch + 1])
            epoch++;
        if (p->n > 0) { /* seen for the first time */
            p->first = i;
            p->first_epoch = epoch;
            p->n = 0;
        }
        p->last = i;
        p->last_epoch = epoch;
    }
}

static bool
is_after(const struct job *j, const struct process *p, const struct process *before)
{
    return j->n_epochs > 1 ? p->first_epoch > before->last_epoch
                           : p->first > before->last;
}

static enum pack_status
find_lanes(struct job *j, struct pack_error *err)
{
    struct process **by_time = calloc(j->n_processes, sizeof *by_time);
    struct process **last = calloc(j->n_processes, sizeof *last); /* of each lane */
    bool end = j->n_epochs > 1;
    if (!by_time || !last) {
        free(by_time);
        free(last);
        return pack_fail_memory(err, "trace");
    }
    time_processes(j);
    for (size_t k = 0; k < j->n_processes; k++)
        by_time[k] = &j->processes[k];
    qsort(by_time, j->n_processes, sizeof *by_time, by_first);
    for (size_t k = 0; k < j->n_processes; k++) {
        struct process *p = by_time[k];
        while (p->lane < j->n_lanes && !is_after(j, p, last[p->lane]))
            p->lane++;
        if (p->lane == j->n_lanes)
            j->n_lanes++;
        last[p->lane] = p;
        end = end && p->first_epoch == p->last_epoch;
    }
    j->result->workers_end = end;
    free(by_time);
    free(last);
    return PACK_OK;
}

/* ----------------------------------------------------------------- dealing */

/* What is still to be dealt of one lane, in the order of time. */
struct queue {
    size_t *reads;
    size_t n, at;
};

static size_t
fullest(const struct queue *queues, size_t n)
{
    size_t best = 0;
    for (size_t k = 1; k < n; k++)
        if (queues[k].n - queues[k].at > queues[best].n - queues[best].at)
            best = k;
    return best;
}

static int
by_number(const void *a, const void *b)
{
    size_t p = *(const size_t *)a, q = *(const size_t *)b;
    return p < q ? -1 : p > q;
}

/* Batches in turn, each of one lane; then what makes no batch. */
static size_t
deal_batches(struct queue *queues, size_t n_lanes, size_t batch, size_t *out)
{
    size_t n = 0, whole;
    for (size_t turn = 0;; turn = turn + 1 < n_lanes ? turn + 1 : 0) {
        struct queue *q = &queues[turn];
        if (q->n - q->at < batch)
            q = &queues[fullest(queues, n_lanes)];
        if (q->n - q->at < batch)
            break;
        memcpy(out + n, q->reads + q->at, batch * sizeof *out);
        q->at += batch;
        n += batch;
    }
    whole = n;
    for (size_t k = 0; k < n_lanes; k++) {
        size_t rest = queues[k].n - queues[k].at;
        memcpy(out + n, queues[k].reads + queues[k].at, rest * sizeof *out);
        n += rest;
    }
    qsort(out + whole, n - whole, sizeof *out, by_number);
    return n;
}

/* One epoch; `room` holds as many numbers as it has reads. */
static void
deal_epoch(const struct job *j, size_t epoch, size_t batch, struct queue *queues,
           size_t *room)
{
    size_t *reads = j->order + j->begin[epoch];
    size_t n = j->begin[epoch + 1] - j->begin[epoch], at = 0;
    for (size_t k = 0; k < j->n_lanes; k++)
        queues[k] = (struct queue){ 0 };
    for (size_t i = 0; i < n; i++)
        queues[process_of(j, reads[i])->lane].n++;
    for (size_t k = 0; k < j->n_lanes; k++) {
        queues[k].reads = room + at;
        at += queues[k].n;
    }
    for (size_t i = 0; i < n; i++) {
        struct queue *q = &queues[process_of(j, reads[i])->lane];
        q->reads[q->at++] = reads[i];
    }
    for (size_t k = 0; k < j->n_lanes; k++)
        queues[k].at = 0;
    deal_batches(queues, j->n_lanes, batch, reads);
}

static enum pack_status
deal(struct job *j, uint64_t batch, struct pack_error *err)
{
    struct queue *queues = calloc(j->n_lanes, sizeof *queues);
    size_t *room = calloc(j->n, sizeof *room);
    bool good = queues && room;
    for (size_t e = 0; good && e < j->n_epochs; e++)
        deal_epoch(j, e, batch ? (size_t)batch : 1, queues, room);
    free(queues);
    free(room);
    return good ? PACK_OK : pack_fail_memory(err, "trace");
}

/* ------------------------------------------------------------- the outcome */

/* Epochs of the length of the shortest, one behind the other. */
static void
even_out(struct job *j)
{
    size_t shortest = j->begin[1], kept = 0;
    for (size_t e = 1; e + 1 < j->n_epochs; e++)
        if (j->begin[e + 1] - j->begin[e] < shortest)
            shortest = j->begin[e + 1] - j->begin[e];
    size_t last = j->begin[j->n_epochs] - j->begin[j->n_epochs - 1];
    if (last < shortest)
        j->n_epochs--;
    for (size_t e = 0; e < j->n_epochs; e++) {
        memmove(j->order + kept, j->order + j->begin[e], shortest * sizeof *j->order);
        kept += shortest;
    }
    j->result->n_uneven = j->n - kept;
    j->n = kept;
}

/* Moves the boxes to their places, following each ring of those that wait for one
 * another; where each goes is where[box], none for one that is left out. */
static void
move_boxes(struct pack_box *boxes, size_t n, size_t *where)
{
    for (size_t i = 0; i < n; i++)
        while (where[i] != SIZE_MAX && where[i] != i) {
            size_t to = where[i];
            struct pack_box box = boxes[to];
            boxes[to] = boxes[i];
            boxes[i] = box;
            where[i] = where[to];
            where[to] = to;
        }
}

static enum pack_status
apply_order(struct job *j, struct pack_error *err)
{
    size_t n = j->trace->n_boxes, *where = malloc(n * sizeof *where);
    if (!where)
        return pack_fail_memory(err, "trace");
    for (size_t i = 0; i < n; i++)
        where[i] = SIZE_MAX;
    for (size_t i = 0; i < j->n; i++)
        where[j->order[i]] = i;
    move_boxes(j->trace->boxes, n, where);
    free(where);
    free(j->trace->processes);
    free(j->trace->times_ns);
    j->trace->processes = j->trace->times_ns = NULL;
    j->trace->n_boxes = j->n;
    return PACK_OK;
}

static enum pack_status
find_job(struct job *j, int64_t workers, uint64_t batch, struct pack_error *err)
{
    enum pack_status status = find_processes(j, err);
    if (status != PACK_OK)
        return status;
    keep_workers(j);
    status = find_epochs(j, err);
    if (status == PACK_OK)
        status = find_lanes(j, err);
    if (status != PACK_OK)
        return status;
    status = time_boxes(j, err);
    if (status == PACK_OK)
        status = find_ran(j, err);
    if (status != PACK_OK)
        return status;
    j->result->workers = j->n_lanes;
    j->result->is_replayed =
        workers == PACK_TRACE_AS_RECORDED || (uint64_t)workers == j->n_lanes;
    if (j->result->is_replayed && j->n_lanes > 1)
        status = deal(j, batch, err);
    if (status != PACK_OK)
        return status;
    even_out(j);
    j->result->epochs = j->n_epochs;
    return PACK_OK;
}

enum pack_status
pack_trace_job(struct pack_trace *trace, int64_t workers, uint64_t batch,
               struct pack_trace_job *job, struct pack_error *err)
{
    *job = (struct pack_trace_job){ .epochs = 1 };
    if (!trace->processes)
        return PACK_OK;
    struct job j = { .trace = trace, .n = trace->n_boxes, .result = job };
    j.order = calloc(j.n, sizeof *j.order);
    enum pack_status status =
        j.order ? find_job(&j, workers, batch, err) : pack_fail_memory(err, "trace");
    if (status == PACK_OK)
        status = apply_order(&j, err);
    free(j.order);
    free(j.begin);
    free(j.processes);
    return status;
}
