/*
 * From what was measured in copies to what a row gives on the file: the times of chunks
 * that are loaded and of all the rest, each over what the model says, scale the model of
 * the whole dataset.
 */
#include "libpack/bench/measure_parts.h"

#include <math.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/base/sort.h"
#include "libpack/bench/measure_storage.h"
#include "libpack/model/cost.h"

enum { COPY_EPOCHS = 1000 };
static const double alike = 0.25; /* parts of time that loads take differ by less */

/* The parameters of a search on a copy alone. */
static void
params_of_copy(const struct measure_rows *rows, const struct measure_layout *layout,
               struct pack_advise_params *p)
{
    *p = *rows->params;
    p->data.extent = layout->set->extent;
    p->now = NULL;
    p->data.companion = NULL;
    p->data.labels = NULL;
    p->machine.is_warm = true;
    p->machine.ram_bytes = UINT64_MAX / 2;
    p->reading.epochs = COPY_EPOCHS; /* the copy is small: rounds see the steady state */
    p->watch.progress = NULL;
}

/*
 * What chunks take that are loaded, and all the rest, over what the model says:
 *
 *     time of the first epoch    load * its loads' + rest * its rest
 *     time of later ones         load * theirs     + rest * theirs
 */
struct factors {
    double load, rest;
};

static double
load_ns(const struct pack_cost *cost)
{
    return cost->page_ns + cost->decode_ns + cost->touch_ns;
}

/* Two equations where the two differ in what they load, else one factor for each. */
static bool
solve(const struct measure_expected *e, const struct pack_trial_result *r, struct factors *f)
{
    double l1 = load_ns(&e->first_cost) / e->first_samples,
           h1 = e->first_cost.cpu_ns / e->first_samples - l1,
           l2 = load_ns(&e->later_cost) / e->later_samples,
           h2 = e->later_cost.cpu_ns / e->later_samples - l2,
           t1 = (l1 + h1) * e->first / r->first_rate,
           t2 = (l2 + h2) * e->later / r->later_rate;
    if (l1 / (l1 + h1) - l2 / (l2 + h2) < alike)
        return false;
    f->load = (t1 * h2 - t2 * h1) / (l1 * h2 - l2 * h1);
    f->rest = (l1 * t2 - l2 * t1) / (l1 * h2 - l2 * h1);
    return f->load > 0.05 && f->load < 50 && f->rest > 0.05 && f->rest < 50;
}

static double
load_part(const struct pack_cost *cost)
{
    return cost->cpu_ns > 0 ? load_ns(cost) / cost->cpu_ns : 0;
}

/* Whether what was read tells of later epochs: it saw some, or they load as much. */
static bool
tells_later(const struct pack_advise_outcome *o, const struct measure_expected *e,
            const struct pack_trial_result *r)
{
    return r->has_later ||
           fabs(load_part(&e->first_cost) - load_part(&o->steady_cost)) < alike;
}

static double
scaled_cpu_ns(const struct pack_cost *cost, struct factors f, double pages)
{
    double load = load_ns(cost);
    return f.load * (load - cost->page_ns + pages * cost->page_ns) +
           f.rest * (cost->cpu_ns - load);
}

/* A row's samples/s: processor time scaled, and storage by what that takes. */
static double
scaled(const struct measure_rows *rows, const struct pack_advise_outcome *o,
       struct pack_cost cost, double samples, struct factors f, double pages)
{
    const struct pack_advise_params *params = rows->params;
    cost.cpu_ns = scaled_cpu_ns(&cost, f, pages);
    cost.storage_ns *= rows->storage > 0 ? rows->storage : 1;
    cost.total_ns = cost.cpu_ns + cost.storage_ns;
    return pack_measure_bound(o, &cost, samples,
                              pack_cost_rate(params->machine.profile, &cost, samples,
                                             pack_advise_workers(params)));
}

/* What today's settings give in later epochs where the page cache holds the file, if they were
 * too few to see on the file itself. */
static enum pack_status
find_warm(const struct measure_rows *rows, struct factors f, struct pack_measured *m,
          struct pack_error *err)
{
    struct pack_advise_params params = *rows->params;
    struct measure_expected e;
    params.machine.is_warm = true;
    params.machine.ram_bytes = UINT64_MAX / 2;
    enum pack_status status = pack_measure_model(&params, params.now, 0, &e, err);
    if (status == PACK_OK)
        m->now_warm = scaled(rows, rows->candidates[0].row, e.later_cost, e.later_samples, f, 1);
    return status;
}

/* What storage takes over what the model says, by what today's settings gave of a file that
 * was cold: it was read once, so that this counts within bounds, and only where the first epoch
 * waited for storage, not for the processor. */
static enum pack_status
compare_storage(struct measure_rows *rows, struct factors f, double pages,
                const struct pack_measured *m, struct pack_error *err)
{
    static const double most = 4, least_part = 0.3;
    struct pack_advise_config as_read = *rows->params->now;
    struct measure_expected e;
    as_read.pattern.batch = m->cold_batch;
    enum pack_status status =
        pack_measure_model(rows->params, &as_read, m->cold_samples, &e, err);
    if (status != PACK_OK)
        return status;
    double took_ns = e.first_cost.total_ns * e.first / m->now_first, /* of a worker */
           cpu_ns = scaled_cpu_ns(&e.first_cost, f, pages), modelled_ns = e.first_cost.storage_ns;
    if (modelled_ns > least_part * (cpu_ns + modelled_ns))
        rows->storage = fmin(most, fmax(1 / most, (took_ns - cpu_ns) / modelled_ns));
    return PACK_OK;
}

/* What a row's reads take from pages of the file, over those of its copy. One ratio for
 * all rows whose reads are about as large, so that its noise does not decide between
 * them. */
static double
page_ratio(struct measure_rows *rows, const struct measure_candidate *candidate)
{
    const struct measure_layout *layout = &rows->layouts[candidate->layout];
    const struct pack_cache_counts *counts = &candidate->row->first;
    const struct pack_measure_params *how = rows->how;
    const uint64_t least = 4096;
    size_t i = 0;
    if (rows->pages_are_alike || !rows->measured->is_held || !layout->scratch ||
        counts->file_reads == 0)
        return 1;
    double bytes = (double)counts->file_read_bytes / (double)counts->file_reads;
    while (i < MEASURE_SIZES - 1 && bytes > M_SQRT2 * (double)(least << i))
        i++;
    bool is_direct = 2 * counts->bypass_visits > counts->file_reads ||
                     2 * counts->bypass_visits > counts->requests;
    const struct pack_page_reads reads = {
        .bytes = least << i,
        .to_bytes = is_direct ? (uint64_t)fmin(1e9, pack_advise_batch_bytes(rows->params)) : 0,
        .n_readers = (uint64_t)fmin((double)pack_advise_workers(rows->params),
                                    (double)rows->params->machine.profile->n_cpus)
    };
    double *ratio = &rows->pages[is_direct][i];
    if (*ratio == 0)
        *ratio = pack_measure_pages(how->data_file ? how->data_file : how->file,
                                    pack_scratch_path(layout->scratch), &reads);
    return *ratio;
}

static double
page_part(const struct pack_cost *cost)
{
    return cost->cpu_ns > 0 ? cost->page_ns / cost->cpu_ns : 0;
}

/* Whether what today's settings give on the file is explained better without the ratio of
 * its pages, where they take part enough to tell. rate: what they gave there. */
static bool
pages_mislead(struct measure_rows *rows, const struct measure_candidate *now,
              struct factors f, double rate)
{
    static const double least_part = 0.2;
    const struct pack_advise_outcome *o = now->row;
    if (page_part(&o->steady_cost) < least_part)
        return false;
    double with = scaled(rows, o, o->steady_cost, o->steady_samples, f,
                         page_ratio(rows, now)),
           without = scaled(rows, o, o->steady_cost, o->steady_samples, f, 1);
    return fabs(log(rate / without)) < fabs(log(rate / with));
}

double
pack_measure_apart(double ratio, const struct pack_cost *now, const struct pack_cost *cost)
{
    static const double few = 0.2, most = 0.5; /* parts of today's time that pages take */
    double part = page_part(now), less = part > few ? fmin(1, page_part(cost) / part) : 1;
    double of_pages = fmin(1, fmax(0, (part - few) / (most - few)));
    return pow(ratio, of_pages * less + (1 - of_pages));
}

/* The interval of a row's gain: that of the rounds, as far around the gain as that of the
 * copies around theirs. Called for `now` first. */
static void
note_gain(struct measure_rows *rows, size_t i)
{
    struct pack_advise_outcome *o = rows->candidates[i].row;
    const struct pack_advise_outcome *now = rows->candidates[0].row;
    struct pack_trial_gain gain;
    pack_trial_gain(&rows->results[0], &rows->results[i], &gain);
    if (gain.median <= 0 || now->rate <= 0)
        return;
    o->gain_low = o->rate / now->rate * gain.low / gain.median;
    o->gain_high = o->rate / now->rate * gain.high / gain.median;
}

/* The model of what each round read of the first epoch, where slices ended within it: of the
 * longest, and as much faster than what was measured as in the median of them. Loads lie
 * close together at the beginning, so that no round stands for a longer one. */
static enum pack_status
model_begun(const struct pack_advise_params *copy, const struct measure_candidate *candidate,
            const struct pack_trial_result *r, struct measure_expected *e,
            struct pack_error *err)
{
    double times[PACK_TRIAL_ROUNDS_MAX];
    struct measure_expected whole = *e, begun;
    enum pack_status status = PACK_OK;
    uint64_t most = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; status == PACK_OK && i < r->n_rounds; i++) {
        if (r->first[i] <= 0)
            continue; /* its cache was filled beforehand */
        begun = whole;
        if ((double)r->begun_samples[i] < e->epoch_samples)
            status = pack_measure_model(copy, &candidate->config, r->begun_samples[i], &begun,
                                        err);
        times[n++] = begun.first / r->first[i];
        if (r->begun_samples[i] > most) {
            most = r->begun_samples[i];
            e->first_samples = begun.first_samples;
            e->first_cost = begun.first_cost;
        }
    }
    if (n > 0)
        e->first = r->first_rate * pack_sort_median(times, n);
    return status;
}

/* What the model says of what was read of a copy; a cache that is not filled beforehand may have
 * been filling in all epochs that were seen. */
static enum pack_status
model_copy(const struct measure_rows *rows, size_t i, const struct pack_advise_params *copy,
           struct measure_expected *e, struct pack_error *err)
{
    const struct measure_candidate *candidate = &rows->candidates[i];
    const struct pack_trial_result *r = &rows->results[i];
    bool is_filling = r->has_later && !rows->bench[i].preload && r->n_epochs > 1;
    enum pack_status status =
        is_filling ? pack_measure_model_told(copy, &candidate->config, r->n_epochs, e, err)
                   : pack_measure_model(copy, &candidate->config,
                                        r->has_later ? 0 : r->first_samples, e, err);
    return status == PACK_OK && r->has_later ? model_begun(copy, candidate, r, e, err)
                                             : status;
}

enum pack_status
pack_measure_correct(struct measure_rows *rows, size_t i, struct pack_measured *m,
        struct pack_error *err)
{
    const struct measure_candidate *candidate = &rows->candidates[i];
    const struct pack_trial_result *r = &rows->results[i];
    struct pack_advise_outcome *o = candidate->row;
    struct pack_advise_params copy;
    struct measure_expected e;
    struct factors f;
    double modelled = pack_measure_bound(o, &o->steady_cost, o->steady_samples, o->later_rate);
    params_of_copy(rows, &rows->layouts[candidate->layout], &copy);
    enum pack_status status = model_copy(rows, i, &copy, &e, err);
    if (status != PACK_OK)
        return status;
    if (!tells_later(o, &e, r) || !(e.first > 0 && e.later > 0))
        return PACK_OK; /* stays predicted */
    if (!r->has_later)
        e.later = e.first;
    bool apart = r->has_later && solve(&e, r, &f);
    if (!apart)
        f.load = f.rest = e.first / r->first_rate;
    struct factors later = f;
    if (!apart)
        later.load = later.rest = e.later / r->later_rate;
    bool is_known =
        o->is_now && m->has_now && (rows->is_beside || rows->params->machine.is_warm);
    if (is_known)
        rows->pages_are_alike = pages_mislead(
            rows, candidate, later, m->now_later * modelled / m->modelled_later);
    double pages = page_ratio(rows, candidate);
    if (o->is_now && m->cold_samples > 0)
        status = compare_storage(rows, f, pages, m, err);
    if (status != PACK_OK)
        return status;
    o->first_rate = scaled(rows, o, o->first_cost, o->first_samples, f, pages);
    o->later_rate = scaled(rows, o, o->steady_cost, o->steady_samples, later, pages);
    if (o->is_now && m->now_warm <= 0)
        status = find_warm(rows, later, m, err);
    if (status != PACK_OK)
        return status;
    if (is_known)
        m->now_ratio = (m->now_later / m->modelled_later) / (o->later_rate / modelled);
    const struct pack_cost *now = &rows->candidates[0].row->steady_cost;
    if (rows->params->machine.is_warm) /* else storage is most of the first epoch */
        o->first_rate *= pack_measure_apart(m->now_ratio, now, &o->first_cost);
    o->later_rate *= pack_measure_apart(m->now_ratio, now, &o->steady_cost);
    o->rate = pack_advise_mean_rate(rows->params, o->first_rate, o->later_rate);
    o->basis = rows->how->prove ? PACK_ADVISE_PROVEN : PACK_ADVISE_MEASURED;
    const struct pack_advise_outcome *base = rows->candidates[0].row;
    if (i > 0 && base->is_now && base->basis != PACK_ADVISE_PREDICTED)
        note_gain(rows, i);
    return PACK_OK;
}

/* ------------------------------------------------------------------- the others */

static bool
is_measured(const struct pack_advise_outcome *o)
{
    return o->basis != PACK_ADVISE_PREDICTED && o->modelled_rate > 0;
}

static double
factor_of(const struct pack_advise_outcome *o)
{
    return o->rate / o->modelled_rate;
}

/* 0: none of its layout was measured. */
static double
factor_of_layout(const struct pack_advise_result *r, const struct pack_advise_outcome *o)
{
    double nearest = HUGE_VAL, factor = 0;
    for (size_t i = 0; i < r->n_rows; i++) {
        double far = fabs(r->rows[i].hit_rate - o->hit_rate);
        if (!is_measured(&r->rows[i]) || far >= nearest ||
            !pack_advise_same_layout(&r->rows[i].config, &o->config))
            continue;
        nearest = far;
        factor = factor_of(&r->rows[i]);
    }
    return factor;
}

/* 0: none is measured, or none that decodes as `like` does. */
static double
median_factor(const struct pack_advise_result *r, const struct pack_advise_outcome *like)
{
    double factors[PACK_ADVISE_ROWS_MAX];
    uint32_t n = 0;
    for (size_t i = 0; i < r->n_rows; i++)
        if (is_measured(&r->rows[i]) &&
            (!like || (r->rows[i].config.decode_ns > 0) == (like->config.decode_ns > 0)))
            factors[n++] = factor_of(&r->rows[i]);
    return pack_sort_median(factors, n);
}

void
pack_measure_scale_others(struct measure_rows *rows)
{
    struct pack_advise_result *r = rows->result;
    double factors[PACK_ADVISE_ROWS_MAX] = { 0 };
    for (size_t i = 0; i < r->n_rows; i++) {
        const struct pack_advise_outcome *o = &r->rows[i];
        if (o->basis != PACK_ADVISE_PREDICTED)
            continue;
        factors[i] = factor_of_layout(r, o);
        if (factors[i] <= 0)
            factors[i] = median_factor(r, o);
        if (factors[i] <= 0)
            factors[i] = median_factor(r, NULL);
    }
    for (size_t i = 0; i < r->n_rows; i++)
        if (factors[i] > 0) {
            pack_advise_scale(&r->rows[i], rows->params, factors[i]);
            r->rows[i].basis = PACK_ADVISE_PREDICTED;
        }
}
