/*
 * Changes that are not a matter of chunks, each a row of a table. They are predicted from
 * what the run took, per fresh sample:
 *
 *     workers       read ─┐ (of all workers together)
 *     this process        └─▶ take ──▶ consume          what waits for its data here
 *     the GPU                     └──▶ copy ─ ─ consume  and beside it there
 *
 * With workers these overlap, so the slowest counts; in line, reading and this process's
 * own work follow one another. Reading is scaled to the wall time that it really had.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/base/buf.h"
#include "libpack/base/name.h"
#include "libpack/bench/bench_advice_parts.h"
#include "libpack/base/pool.h"

/* Measured on the machines this was written on; only their order of magnitude matters:
 * a read from the page cache, a byte of it, a call of H5Dread, a batch from a worker. */
static const double read_ns = 1500, page_ns_per_byte = 0.15, call_ns = 2500,
                    hand_over_ns = 20000, copy_ns_per_byte = 0.1;

enum { LARGER_BATCH = 4 };

static double
larger(double a, double b)
{
    return a > b ? a : b;
}

static double
smaller(double a, double b)
{
    return a < b ? a : b;
}

static double
lanes(const struct pack_bench_result *r)
{
    uint64_t cpus = pack_pool_default_threads();
    uint64_t n = r->setup.n_workers < cpus ? r->setup.n_workers : cpus;
    return n ? (double)n : 1;
}

double
pack_bench_cycle_ns(const struct bench_times *p)
{
    double read = p->read * p->wall_per_read;
    double own = p->take + (p->beside ? 0 : p->consume);
    double device = p->beside ? larger(p->copy, p->consume) : 0;
    return larger(p->in_line ? own + read : larger(own, read), device);
}

struct bench_times
pack_bench_times(const struct pack_bench_result *r)
{
    const struct pack_bench_steps *s = &r->steps;
    const struct pack_bench_epoch *t = &r->total;
    double n = (double)t->n_samples, n_steps = (double)s->n_steps;
    struct bench_times p = {
        .read = (double)t->work.total_ns / n / lanes(r),
        .wall_per_read = 1,
        .lanes = lanes(r),
        .hdf5 = (double)t->work.read.call_ns / n / lanes(r),
        .copy = (double)s->copy_ns / n,
        .consume = n_steps > 1 ? (double)s->busy_ns / (n_steps - 1) * n_steps / n : 0,
        .in_line = r->setup.n_workers == 0,
        .beside = strcmp(r->setup.consumer, "cuda") == 0,
    };
    double wall = (double)r->elapsed_ns / n, wait = (double)t->wait_ns / n;
    double rest = wall - wait - (p.beside ? 0 : p.consume);
    /* what a device makes the process wait for is not its own work */
    p.take = p.beside ? (double)s->pin_ns / n : larger(rest, 0);
    double other = larger(p.take + (p.beside ? 0 : p.consume),
                          p.beside ? larger(p.copy, p.consume) : 0);
    if (p.in_line)
        wall -= p.take + (p.beside ? 0 : p.consume);
    if (p.read > 0 && wall > p.read && (p.in_line || wall > 1.1 * other))
        p.wall_per_read = wall / p.read;
    if (wall > 0 && p.read > wall) { /* more of them wait for storage than there are processors */
        p.lanes *= p.read / wall;
        p.hdf5 *= wall / p.read;
        p.read = wall;
    }
    return p;
}

/* ------------------------------------------------------------------- changes */

/* Bytes instead of floats: a quarter over the bus, and no normalising here. */
static bool
send_bytes(const struct pack_bench_params *params, const struct pack_bench_result *r,
           const struct bench_ranking *known, struct bench_times *p,
           struct pack_bench_change *c)
{
    (void)known;
    if (!p->beside || params->consumer.params.transfer != PACK_TRANSFER_FLOAT32)
        return false;
    c->kind = "transfer";
    p->take = smaller(p->take, copy_ns_per_byte * (double)r->setup.sample_bytes);
    p->copy /= 4;
    snprintf(c->what, sizeof c->what, "sending uint8, normalised on the GPU");
    snprintf(c->command, sizeof c->command, "{transfer} uint8");
    return true;
}

/* What is done once for a batch is done less often. */
static bool
enlarge_batch(const struct pack_bench_params *params, const struct pack_bench_result *r,
              const struct bench_ranking *known, struct bench_times *p,
              struct pack_bench_change *c)
{
    (void)known;
    const struct pack_bench_epoch *t = &r->total;
    uint64_t batch = r->setup.batch * LARGER_BATCH;
    c->kind = "batch";
    if (t->n_batches == 0 || batch > r->setup.epoch_samples ||
        !pack_bench_has_room(params, r, r->setup.n_workers, batch))
        return false;
    double saved = (1 - 1.0 / LARGER_BATCH), n = (double)t->n_samples;
    double calls = 0, hand_over = 0;
    if (params->pattern.read != PACK_READ_SAMPLE)
        calls = smaller(call_ns * (double)t->work.read.calls,
                        (double)t->work.read.overhead_ns) /
                n / p->lanes;
    if (!p->in_line) /* of the wall time, no more than nothing else explains */
        hand_over = smaller(hand_over_ns * (double)t->n_batches / n,
                            p->read * (p->wall_per_read - 1));
    if (!p->beside)
        p->take -= p->take * saved;
    double read = p->read * p->wall_per_read - (calls + hand_over) * saved;
    p->wall_per_read = larger(read, 0) / larger(p->read, 1e-9);
    snprintf(c->what, sizeof c->what, "batches of %" PRIu64, batch);
    int used = snprintf(c->command, sizeof c->command, "{batch} %" PRIu64, batch);
    if (params->consumer.params.step_ns) /* whose work grows with the batch */
        snprintf(c->command + used, sizeof c->command - (size_t)used,
                 " {step} %" PRIu64 "us",
                 params->consumer.params.step_ns * LARGER_BATCH / 1000);
    return true;
}

/* What the files of a run occupy. */
static uint64_t
stored_bytes(const struct pack_readset *set)
{
    uint64_t total = 0;
    for (size_t i = 0; i < set->n_parts; i++)
        total += set->parts[i].data->facts.stored_bytes;
    return total ? total : set->extent.extent[0] * set->sample_bytes;
}

/* Whether a file of the run does not hold all that is read of it. */
static bool
lies_elsewhere(const struct pack_readset *set)
{
    for (size_t i = 0; i < set->n_parts; i++)
        if (set->parts[i].data->facts.layout == PACK_LAYOUT_VIRTUAL ||
            set->parts[i].data->facts.n_external > 0)
            return true;
    return false;
}

/* Storage time of one byte read in an epoch that had all from the page cache; else what
 * such reads take elsewhere. */
static double
warm_ns_per_byte(const struct pack_bench_result *r)
{
    for (uint64_t i = 0; i < r->n_epochs; i++) {
        const struct pack_bench_epoch *e = &r->epochs[i];
        if (e->work.read.file_read_bytes && pack_bench_origin(e) == PACK_ORIGIN_MEMORY)
            return (double)e->work.read.storage_ns / (double)e->work.read.file_read_bytes;
    }
    const struct pack_read_cost *t = &r->total.work.read;
    return page_ns_per_byte + (t->file_read_bytes ? read_ns * (double)t->file_reads /
                                                        (double)t->file_read_bytes
                                                  : 0);
}

/* Readers without storage: as fast as the advisor found them, or else storage as fast as
 * memory. */
static void
read_warm(const struct pack_bench_result *r, double rate, struct bench_times *p)
{
    const struct pack_bench_epoch *t = &r->total;
    double n = (double)t->n_samples, now = (double)t->work.read.storage_ns;
    if (rate > 0) { /* of the data alone, by readers that are there */
        double other = (double)(t->work.delay_ns + t->work.collate_ns +
                                t->work.interpret_ns + t->work.with.call_ns);
        p->read = smaller(p->read * p->wall_per_read,
                          (other / p->lanes + (double)t->start_ns) / n + 1e9 / rate);
        p->wall_per_read = 1;
        return;
    }
    double warm = smaller(now, warm_ns_per_byte(r) * (double)t->work.read.file_read_bytes);
    p->read = larger(p->read - (now - warm) / n / p->lanes, 0);
}

/* The file in the page cache before the run. */
static bool
preload(const struct pack_bench_params *params, const struct pack_bench_result *r,
        const struct bench_ranking *known, struct bench_times *p,
        struct pack_bench_change *c)
{
    const struct pack_bench_epoch *t = &r->total;
    const char *file = params->set ? params->set->parts[0].data->data_file : "";
    char text[PACK_BYTES_TEXT_MAX];
    uint64_t memory, size = params->set ? stored_bytes(params->set) : 0;
    struct pack_buf word = { 0 };
    bool cold = t->work.knows_storage
                    ? t->work.storage_bytes * 4 > t->work.read.file_read_bytes
                    : params->cold;
    bool reads = r->verdict.limit == PACK_LIMIT_STORAGE ||
                 r->verdict.limit == PACK_LIMIT_FILE_READS;
    if (!params->set || !reads || !cold || lies_elsewhere(params->set) ||
        !pack_system_memory_bytes(&memory) ||
        size > memory / 10 * 8)
        return false;
    c->kind = "preload";
    read_warm(r, known->warm_rate, p);
    snprintf(c->what, sizeof c->what, "reading the file (%s) into memory once beforehand",
             pack_bytes_format(size, text));
    /* braces are for parameters, and a part of a name is none */
    bool fits = !strchr(file, '{') && pack_name_word(file, &word, NULL) == PACK_OK &&
                word.size <= 400;
    snprintf(c->command, sizeof c->command, "cat %.*s%s >/dev/null, then run again%s",
             fits ? (int)word.size : 4, fits ? (const char *)word.data : "FILE",
             params->set->n_parts > 1 ? " and the others" : "",
             params->cold ? " without {cold}" : "");
    pack_buf_done(&word);
    return true;
}

/* Each describes one change and what the times would be; false: it does not apply. */
typedef bool (*remedy_fn)(const struct pack_bench_params *params,
                          const struct pack_bench_result *result,
                          const struct bench_ranking *known, struct bench_times *times,
                          struct pack_bench_change *change);
static const remedy_fn remedies[] = { send_bytes, enlarge_batch, preload };

static bool
apply(remedy_fn remedy, const struct pack_bench_params *params,
      const struct pack_bench_result *result, const struct bench_ranking *known,
      struct pack_bench_change *c)
{
    const struct bench_times now = pack_bench_times(result);
    struct bench_times then = now;
    *c = (struct pack_bench_change){ .gain = 0 };
    if (!remedy(params, result, known, &then, c))
        return false;
    double cycle = pack_bench_cycle_ns(&then);
    c->gain = cycle > 0 ? pack_bench_cycle_ns(&now) / cycle : 0;
    c->first_gain = c->later_gain = c->gain; /* the run's epochs are not told apart */
    return true;
}

bool
pack_bench_enlarge(const struct pack_bench_params *params,
                   const struct pack_bench_result *result, uint64_t *batch,
                   struct pack_bench_change *change)
{
    const struct bench_ranking nothing = { .advice = NULL };
    *batch = result->setup.batch * LARGER_BATCH;
    return apply(enlarge_batch, params, result, &nothing, change);
}

/* ------------------------------------------------------------------- ranking */

/* Of one kind only the best stays. */
void
pack_bench_rank(struct bench_ranking *ranking, const struct pack_bench_change *change)
{
    struct pack_bench_advice *advice = ranking->advice;
    size_t at = advice->n;
    if (change->gain < PACK_ADVISE_EQUAL_GAIN)
        return;
    for (size_t i = 0; i < advice->n; i++)
        if (strcmp(advice->change[i].kind, change->kind) == 0)
            at = i;
    if (at < advice->n) {
        if (advice->change[at].gain >= change->gain)
            return;
    } else if (advice->n < PACK_BENCH_CHANGES_MAX) {
        advice->n++;
    } else if (advice->change[--at].gain >= change->gain) {
        return;
    }
    for (; at > 0 && advice->change[at - 1].gain < change->gain; at--)
        advice->change[at] = advice->change[at - 1];
    advice->change[at] = *change;
}

/* Pages that are not dropped stay: only the first epoch finds none. */
static void
gain_once(struct pack_bench_change *c, uint64_t n_epochs)
{
    c->later_gain = 1;
    c->gain = (c->first_gain + (double)(n_epochs - 1)) / (double)n_epochs;
}

/* Using data more often: steps, not fresh samples, so it stands behind the others. */
static void
add_echo(const struct pack_bench_result *result, struct pack_bench_advice *advice)
{
    uint64_t echo = pack_bench_echo_for(result, 0.9);
    if (advice->n == PACK_BENCH_CHANGES_MAX || result->steps.au < 0 ||
        echo <= result->setup.echo)
        return;
    struct pack_bench_change *c = &advice->change[advice->n++];
    *c = (struct pack_bench_change){ .kind = "echo" };
    snprintf(c->what, sizeof c->what,
             "using each batch %" PRIu64 " times: steps, not fresh samples", echo);
    snprintf(c->command, sizeof c->command, "{echo} %" PRIu64, echo);
    c->gain = c->first_gain = c->later_gain = pack_bench_echo_gain(result, echo);
}

void
pack_bench_remedies(const struct pack_bench_params *params,
                    const struct pack_bench_result *result, struct bench_ranking *ranking)
{
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++) {
        struct pack_bench_change change;
        if (ranking->batch_is_judged && remedies[i] == enlarge_batch)
            continue;
        if (!apply(remedies[i], params, result, ranking, &change))
            continue;
        if (remedies[i] == preload && !params->cold)
            gain_once(&change, pack_bench_training(params));
        pack_bench_rank(ranking, &change);
    }
    add_echo(result, ranking->advice);
}
