#include "tools/readbench_sweep.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "libpack/base/json.h"
#include "tools/job_options.h"

enum { ROUNDS = 3 };

/* The rounds: figures[run * ROUNDS + round], n[run] of them so far. */
struct rounds {
    const struct sweep *sweep;
    const struct sweep_job *job;
    struct readbench_figures *figures;
    unsigned *n;
};

/* ----------------------------------------------------------------- running */

/* The first run once for nothing, so that no point pays for a cold cache; then all of them
 * round by round, to and fro, so that none is always early. */
static enum pack_status
run_rounds(struct rounds *r, bool is_cold, struct pack_error *err)
{
    size_t n = r->sweep->n_runs;
    struct readbench_figures warm;
    enum pack_status status =
        is_cold ? PACK_OK : sweep_run(r->sweep, 0, r->job, &warm, err);
    for (size_t i = 0; i < n * ROUNDS && status == PACK_OK && !cli_signal; i++) {
        size_t run = i / n % 2 ? n - 1 - i % n : i % n;
        status = sweep_run(r->sweep, run, r->job, &r->figures[run * ROUNDS + r->n[run]],
                           err);
        r->n[run] += status == PACK_OK && !cli_signal;
    }
    return status;
}

static int
by_rate(const void *a, const void *b)
{
    const struct readbench_figures *x = a, *y = b;
    return (x->rate > y->rate) - (x->rate < y->rate);
}

/* The round of the median rate; the worst exit status of all, with its reason. */
static struct readbench_figures
median_of(struct readbench_figures *figures, unsigned n)
{
    qsort(figures, n, sizeof *figures, by_rate);
    struct readbench_figures median = figures[(n - 1) / 2];
    median.n_rounds = n;
    median.rate_min = figures[0].rate;
    median.rate_max = figures[n - 1].rate;
    for (unsigned i = 0; i < n; i++)
        if (figures[i].exit_status > median.exit_status) {
            median.exit_status = figures[i].exit_status;
            memcpy(median.reason, figures[i].reason, sizeof median.reason);
        }
    return median;
}

/* ----------------------------------------------------------------- telling */

static void
print_header(const struct sweep *sweep)
{
    for (size_t k = 0; k < sweep->n_keys; k++)
        printf("%-12s ", sweep->key[k].name);
    printf("%10s %6s  %8s  %8s  %7s  limited by\n", "samples/s", "spread", "hit rate",
           "x wanted", "busy");
}

static void
print_row(const struct sweep *sweep, size_t run, const struct readbench_figures *f)
{
    char hits[16] = "-";
    for (size_t k = 0; k < sweep->n_keys; k++)
        printf("%-12s ", sweep_value(sweep, run, k));
    if (f->hit_rate >= 0)
        snprintf(hits, sizeof hits, "%.1f %%", 100 * f->hit_rate);
    printf("%10.1f %4.0f %%  %8s  %8.2f  %5.1f %%  %s\n", f->rate,
           f->rate > 0 ? 100 * (f->rate_max - f->rate_min) / f->rate : 0, hits,
           f->amplification, 100 * f->busy_rate, pack_limit_name(f->limit));
}

static void
begin_json(struct pack_json *json, uint64_t seed, struct pack_buf *text)
{
    pack_json_begin_report(json, text, "readbench-sweep/1", "h5readbench",
                           PACKAGE_VERSION);
    pack_json_object(json, "options");
    pack_json_u64(json, "seed", seed);
    pack_json_close(json);
    pack_json_array(json, "runs");
}

static void
put_run(struct pack_json *json, const struct sweep *sweep, size_t run,
        const struct readbench_figures *f)
{
    pack_json_object(json, NULL);
    pack_json_object(json, "values");
    for (size_t k = 0; k < sweep->n_keys; k++)
        pack_json_text(json, sweep->key[k].name, sweep_value(sweep, run, k));
    pack_json_close(json);
    pack_json_i64(json, "exit_status", f->exit_status);
    pack_json_u64(json, "rounds", f->n_rounds);
    pack_json_double(json, "samples_per_s", f->rate);
    pack_json_double(json, "samples_per_s_min", f->rate_min);
    pack_json_double(json, "samples_per_s_max", f->rate_max);
    pack_json_double(json, "hit_rate", f->hit_rate < 0 ? NAN : f->hit_rate);
    pack_json_double(json, "amplification", f->amplification);
    pack_json_double(json, "busy_rate", f->busy_rate);
    pack_json_double(json, "au", f->au < 0 ? NAN : f->au);
    pack_json_text(json, "limit", pack_limit_name(f->limit));
    pack_json_close(json);
}

/* What there is of each run, into *json or, where that is NULL, as a table; the worst exit
 * status, with a reason on stderr. */
static int
tell_rounds(struct rounds *r, struct pack_json *json)
{
    int worst = CLI_DONE;
    if (!json)
        print_header(r->sweep);
    for (size_t run = 0; run < r->sweep->n_runs; run++) {
        if (r->n[run] == 0)
            continue;
        struct readbench_figures f = median_of(&r->figures[run * ROUNDS], r->n[run]);
        if (f.exit_status > worst)
            worst = f.exit_status;
        if (f.reason[0])
            cli_complain("run %zu of %zu: %s", run + 1, r->sweep->n_runs, f.reason);
        if (json)
            put_run(json, r->sweep, run, &f);
        else
            print_row(r->sweep, run, &f);
    }
    return worst;
}

static enum pack_status
tell_json(struct rounds *r, uint64_t seed, struct pack_buf *text, int *worst,
          struct pack_error *err)
{
    struct pack_json json;
    begin_json(&json, seed, text);
    *worst = tell_rounds(r, &json);
    pack_json_close(&json);
    pack_json_bool(&json, "interrupted", cli_signal != 0);
    pack_json_close(&json);
    return pack_json_end(&json, err);
}

static void
complain_of_end(const struct rounds *r)
{
    unsigned n = 0;
    for (size_t run = 0; run < r->sweep->n_runs; run++)
        n += r->n[run];
    cli_complain("stopped before the end: %u of %zu runs were made", n,
                 r->sweep->n_runs * ROUNDS);
}

int
readbench_sweep(const struct readbench_options *o, int argc, char **argv, sweep_fn fn,
                sweep_fn check, struct pack_buf *text)
{
    struct sweep sweep;
    struct pack_error err = { 0 };
    uint64_t seed = o->seed == UINT64_MAX ? job_random_seed() : o->seed;
    char seed_option[48];
    char *common[] = { seed_option, NULL }; /* one order for all */
    const struct sweep_job job = { .argc = argc,
                                   .argv = argv,
                                   .common = common,
                                   .fn = fn,
                                   .check = check,
                                   .figures_bytes = sizeof(struct readbench_figures) };
    struct rounds rounds = { .sweep = &sweep, .job = &job };
    int worst = CLI_DONE;
    snprintf(seed_option, sizeof seed_option, "--seed=%" PRIu64, seed);
    enum pack_status status = sweep_open(&o->sweep, &sweep, &err);
    if (status == PACK_OK)
        status = sweep_check(&sweep, &job, &err);
    if (status != PACK_OK)
        goto out;
    rounds.figures = calloc(sweep.n_runs * ROUNDS, sizeof *rounds.figures);
    rounds.n = calloc(sweep.n_runs, sizeof *rounds.n);
    if (!rounds.figures || !rounds.n) {
        status = pack_fail_memory(&err, "a sweep");
        goto out;
    }
    status = run_rounds(&rounds, o->cold, &err);
    if (status != PACK_OK && !cli_signal)
        goto out;
    if (o->json) {
        enum pack_status told = tell_json(&rounds, seed, text, &worst, &err);
        status = status == PACK_OK ? told : status;
    } else {
        worst = tell_rounds(&rounds, NULL);
    }
    if (cli_signal)
        complain_of_end(&rounds);
    if (status != PACK_OK)
        text->size = 0;
out:
    free(rounds.figures);
    free(rounds.n);
    sweep_close(&sweep);
    return cli_signal ? 128 + cli_signal : status == PACK_OK ? worst : cli_fail(&err);
}
