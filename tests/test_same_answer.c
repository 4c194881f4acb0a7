/*
 * One question, one answer: a run of h5readbench is the question that h5advise is asked
 * about the same file, order and workers, and its first change of the data is h5advise's
 * choice. Nothing here is timed: where rates decide, the run's are made up.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/advise/advise_request.h"
#include "libpack/bench/bench_advice_parts.h"
#include "libpack/hdf5/h5_probe.h"
#include "libpack/hdf5/readset.h"
#include "tests/tap.h"

enum { N = 240, SIDE = 64, SAMPLE = SIDE * SIDE, BATCH = 16 };

static void
fill(void *context, uint64_t first, uint64_t n, void *out)
{
    (void)context;
    for (uint64_t i = 0; i < n * SAMPLE; i++)
        ((unsigned char *)out)[i] = (unsigned char)((first + i / SAMPLE) * 31 + (i >> 9));
}

static const struct file {
    const char *name;
    uint64_t rows; /* 0: contiguous */
    const char *codec;
} files[] = {
    { "one", 1, "none" },
    { "sixteen", 16, "none" },
    { "packed", 48, "gzip:1" },
    { "plain", 0, "none" },
};

static const struct order {
    const char *pattern; /* NULL: not said */
    uint64_t workers;
} orders[] = {
    { NULL, 0 }, { NULL, 2 }, { "shuffle", 4 }, { "sequential", 2 }, { "block:chunks=4", 2 },
};

/* Both questions of one case. */
struct both {
    char path[512];
    struct pack_readset *set;
    struct pack_bench_params params;
    struct pack_bench_result run;
    struct pack_bench_ask ask;
    struct bench_question question;
    struct pack_advise_job job;
};

/* The run read in just the time that the model gives it, so that fitting changes nothing. */
static void
make_up_times(struct both *b)
{
    struct bench_question *q = &b->question;
    struct pack_bench_result *r = &b->run;
    r->epochs[0].work.read.call_ns =
        (uint64_t)((double)r->epochs[0].work.read.call_ns * q->first_factor);
    for (uint64_t i = 1; i < r->n_epochs; i++)
        r->epochs[i].work.read.call_ns =
            (uint64_t)((double)r->epochs[i].work.read.call_ns * q->later_factor);
    r->total.work.read.call_ns = 0;
    for (uint64_t i = 0; i < r->n_epochs; i++)
        r->total.work.read.call_ns += r->epochs[i].work.read.call_ns;
    r->total.work.total_ns = r->total.wait_ns = r->elapsed_ns = r->total.work.read.call_ns;
}

static bool
ask_both(const struct file *f, const struct order *o, struct both *b)
{
    struct pack_probe_layout layout = { .extent = { 3, { N, SIDE, SIDE } } };
    struct pack_error err = { 0 };
    const char *dir = getenv("TMPDIR"), *path = b->path;
    bool can = false;
    *b = (struct both){ .ask = { .no_trial = true, .order_is_fixed = o->pattern != NULL } };
    snprintf(b->path, sizeof b->path, "%s/h5pack-test-answer-%s-%d.h5", dir ? dir : "/tmp",
             f->name, (int)getpid());
    if (f->rows)
        layout.chunk = (struct pack_shape){ 3, { f->rows, SIDE, SIDE } };
    pack_pipeline_parse(f->codec, 1, &layout.pipeline, NULL);
    if (pack_probe_create(path, &layout, fill, NULL, &err) != PACK_OK ||
        pack_readset_open(&path, 1, "probe", &b->set, &err) != PACK_OK) {
        note("%s", err.text);
        return false;
    }
    b->params = (struct pack_bench_params){ .set = b->set, .workers.n = o->workers, .stop.epochs = 2 };
    pack_pattern_parse(o->pattern ? o->pattern : "shuffle", &b->params.pattern, NULL);
    b->params.pattern.batch = BATCH;
    b->params.pattern.seed = 5;
    const struct pack_advise_request request = { PACK_ADVISE_REQUEST_DEFAULTS,
                                                 .data.file = path,
                                                 .reading.pattern = o->pattern };
    struct pack_advise_request r = request;
    r.reading.batch = BATCH;
    r.reading.workers = o->workers;
    if (pack_bench_run(&b->params, &b->run, &err) != PACK_OK ||
        pack_bench_question_make(&b->params, &b->run, &b->ask, &b->question, &can, &err) !=
            PACK_OK ||
        pack_advise_job_open(&r, &b->job, &err) != PACK_OK)
        note("%s", err.text);
    b->job.params.machine.is_warm =
        b->question.params.machine.is_warm; /* which h5advise measures */
    return can && b->job.file;
}

static void
done_both(struct both *b)
{
    pack_advise_job_close(&b->job);
    pack_bench_question_done(&b->question);
    pack_bench_done(&b->run);
    pack_readset_close(b->set);
    unlink(b->path);
}

static bool
same_cache(const struct pack_cache_params *a, const struct pack_cache_params *b)
{
    return a->n_slots == b->n_slots && a->size_bytes == b->size_bytes && a->w0 == b->w0 &&
           a->version == b->version;
}

static bool
same_pattern(const struct pack_pattern *a, const struct pack_pattern *b)
{
    return a->kind == b->kind && a->pool_chunks == b->pool_chunks && a->local == b->local &&
           a->batch == b->batch && a->workers == b->workers && a->seed == b->seed &&
           a->read == b->read && (a->step ? a->step : 1) == (b->step ? b->step : 1) &&
           pack_shape_equal(&a->box, &b->box) && pack_shape_equal(&a->extent, &b->extent);
}

static bool
same_config(const struct pack_advise_config *a, const struct pack_advise_config *b)
{
    return pack_shape_equal(&a->chunk, &b->chunk) && strcmp(a->codec, b->codec) == 0 &&
           a->stored_rate == b->stored_rate && a->decode_ns == b->decode_ns &&
           a->edge_unfiltered == b->edge_unfiltered && same_cache(&a->cache, &b->cache) &&
           same_pattern(&a->pattern, &b->pattern) && a->reopen == b->reopen;
}

/* Counts the members that differ, and names them. */
static int
compare_questions(const struct pack_advise_params *a, const struct pack_advise_params *b)
{
    const struct {
        const char *name;
        bool same;
    } members[] = {
        { "extent", pack_shape_equal(&a->data.extent, &b->data.extent) },
        { "chunk_max", pack_shape_equal(&a->data.chunk_max, &b->data.chunk_max) },
        { "elem_size", a->data.elem_size == b->data.elem_size },
        { "pattern", same_pattern(&a->reading.pattern, &b->reading.pattern) },
        { "pattern_is_fixed",
          a->reading.pattern_is_fixed == b->reading.pattern_is_fixed },
        { "epochs", pack_advise_epochs(a) == pack_advise_epochs(b) },
        { "workers_end", a->reading.workers_end == b->reading.workers_end },
        { "reopen", a->reading.reopen == b->reading.reopen },
        { "version", a->cache.version == b->cache.version },
        { "cache", same_cache(&a->cache.settings, &b->cache.settings) },
        { "cache_is_fixed", a->cache.is_fixed == b->cache.is_fixed },
        { "memory_bytes", pack_advise_budget(a) == pack_advise_budget(b) },
        { "ram_bytes", a->machine.ram_bytes == b->machine.ram_bytes },
        { "now", same_config(a->now, b->now) },
        { "stored_bytes", !a->data.stored_bytes == !b->data.stored_bytes },
        { "skip_missing", a->data.skip_missing == b->data.skip_missing },
        { "keep_file", a->storing.keep_file == b->storing.keep_file },
        { "min_gain", a->goal.min_gain == b->goal.min_gain },
        { "measure", a->storing.measure == b->storing.measure },
        { "missing_filter", a->data.missing_filter == b->data.missing_filter },
        { "n_cpus", a->machine.profile->n_cpus == b->machine.profile->n_cpus },
    };
    int wrong = 0;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (!members[i].same) {
            note("differs: %s", members[i].name);
            wrong++;
        }
    return wrong;
}

/* The first change that is one of the data. */
static const struct pack_bench_change *
change_of_data(const struct pack_bench_advice *advice)
{
    for (size_t i = 0; i < advice->n; i++)
        for (int k = PACK_ADVISE_SETTINGS; k <= PACK_ADVISE_REWRITE; k++)
            if (strcmp(advice->change[i].kind,
                       pack_advise_change_name((enum pack_advise_change)k)) == 0)
                return &advice->change[i];
    return NULL;
}

/* The command says what the choice is. */
static bool
says(const char *command, const struct pack_advise_outcome *choice,
     const struct pack_advise_config *now)
{
    char text[PACK_SHAPE_TEXT_MAX + 64], shape[PACK_SHAPE_TEXT_MAX];
    bool good = true;
    snprintf(text, sizeof text, "{rdcc_nbytes} %llu",
             (unsigned long long)choice->config.cache.size_bytes);
    if (choice->config.chunk.rank &&
        choice->config.cache.size_bytes != now->cache.size_bytes)
        good = strstr(command, text);
    snprintf(text, sizeof text, "--chunk %s ", pack_shape_format(&choice->config.chunk, shape));
    if (choice->change == PACK_ADVISE_REWRITE && choice->config.chunk.rank)
        good = good && strstr(command, text);
    if (choice->config.pattern.kind != now->pattern.kind)
        good = good && strstr(command, "{pattern} block:chunks=");
    return good;
}

static void
test_case(const struct file *f, const struct order *o, int *n_changes)
{
    struct both *b = calloc(1, sizeof *b);
    struct pack_advise_result *theirs = calloc(1, sizeof *theirs);
    struct pack_bench_advice ours;
    struct pack_error err = { 0 };
    char name[128];
    snprintf(name, sizeof name, "%s, %s, %d workers", f->name, o->pattern ? o->pattern : "default",
             (int)o->workers);
    if (!ok(ask_both(f, o, b), "%s: both programs have a question", name))
        goto out;
    ok(compare_questions(&b->question.params, &b->job.params) == 0,
       "%s: it is the same question", name);
    make_up_times(b);
    b->run.verdict.limit = PACK_LIMIT_CALLS;
    enum pack_status status = pack_advise(&b->job.params, theirs, &err);
    if (status == PACK_OK)
        status = pack_bench_advise(&b->params, &b->run, &b->ask, &ours, &err);
    if (!ok(status == PACK_OK, "%s: both have an answer %s", name, err.text))
        goto out;
    const struct pack_advise_outcome *choice = &theirs->rows[0];
    const struct pack_bench_change *c = change_of_data(&ours);
    if (choice->change == PACK_ADVISE_KEEP)
        ok(!c, "%s: both keep what there is", name);
    else
        ok(c && strcmp(c->kind, pack_advise_change_name(choice->change)) == 0 &&
               says(c->command, choice, &b->job.now),
           "%s: both propose the same %s", name, pack_advise_change_name(choice->change));
    if (c) {
        note("%.2f and %.2f: %s", c->gain, choice->rate / theirs->now.rate, c->command);
        ok(fabs(c->gain / (choice->rate / theirs->now.rate) - 1) < 0.02,
           "%s: with the same gain", name);
    }
    *n_changes += c != NULL;
out:
    done_both(b);
    free(theirs);
    free(b);
}

/* A run of so many epochs asks about so many. */
static void
test_epochs(void)
{
    static const uint64_t epochs[][2] = { { 0, 30 }, { 1, 30 }, { 30, 30 }, { 31, 31 }, { 90, 90 } };
    for (size_t i = 0; i < sizeof epochs / sizeof *epochs; i++) {
        struct pack_bench_params p = { .stop.epochs = epochs[i][0] };
        ok(pack_bench_training(&p) == epochs[i][1],
           "a run of %d epochs stands for a training of %d", (int)epochs[i][0],
           (int)epochs[i][1]);
    }
}

/* A file that was exchanged under its name is not what was read. */
static void
test_exchanged(void)
{
    struct both b;
    struct pack_probe_layout layout = { .extent = { 3, { N, SIDE, SIDE } },
                                        .chunk = { 3, { 24, SIDE, SIDE } } };
    bool can = true;
    if (ok(ask_both(&files[1], &orders[0], &b), "a file is read")) {
        pack_bench_question_done(&b.question);
        unlink(b.path);
        ok(pack_probe_create(b.path, &layout, fill, NULL, NULL) == PACK_OK,
           "and replaced by one with other chunks");
        ok(pack_bench_question_make(&b.params, &b.run, &b.ask, &b.question, &can, NULL) ==
                   PACK_OK && !can,
           "then nothing is said about it");
        pack_bench_question_done(&b.question);
        unlink(b.path);
        can = true;
        ok(pack_bench_question_make(&b.params, &b.run, &b.ask, &b.question, &can, NULL) ==
                   PACK_OK && !can,
           "nor about one that is gone");
    }
    done_both(&b);
}

int
main(void)
{
    int n_changes = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (size_t k = 0; k < sizeof orders / sizeof *orders; k++)
            test_case(&files[i], &orders[k], &n_changes);
    ok(n_changes >= 5, "of which %d cases change something", n_changes);
    test_epochs();
    test_exchanged();
    return done();
}
