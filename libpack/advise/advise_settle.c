/*
 * From outcomes to an answer: which row is the choice, in what order the others stand,
 * whether a target is met, and everything that is said of it. Runs at the end of a search
 * and again whenever a measurement has replaced what the model said.
 */
#include <math.h>
#include <stdlib.h>

#include "libpack/advise/advise_parts.h"

const char *
pack_advise_basis_name(enum pack_advise_basis basis)
{
    static const char *const names[] = { [PACK_ADVISE_PREDICTED] = "predicted",
                                         [PACK_ADVISE_MEASURED] = "measured",
                                         [PACK_ADVISE_PROVEN] = "proven" };
    return (unsigned)basis < sizeof names / sizeof *names ? names[basis] : "unknown";
}

const char *
pack_advise_change_name(enum pack_advise_change change)
{
    static const char *const names[] = { [PACK_ADVISE_KEEP] = "none",
                                         [PACK_ADVISE_SETTINGS] = "settings",
                                         [PACK_ADVISE_ORDER] = "order",
                                         [PACK_ADVISE_REWRITE] = "rewrite" };
    return (unsigned)change < sizeof names / sizeof *names ? names[change] : "unknown";
}

void
pack_advise_scale(struct pack_advise_outcome *o, const struct pack_advise_params *params,
                  double factor)
{
    if (!o || !params || !(factor > 0 && isfinite(factor)))
        return;
    o->first_rate *= factor;
    o->later_rate *= factor;
    o->rate = pack_advise_mean_rate(params, o->first_rate, o->later_rate);
    o->basis = PACK_ADVISE_MEASURED;
}

/* ---------------------------------------------------------------- a target */

/* Readers beyond the processors only wait, for storage: some of that helps. */
enum { READERS_PER_CPU = 4 };

/* Samples/s of the choice with so many workers; 0 where their caches take too much. */
static enum pack_status
rate_with(const struct pack_advise_params *params, const struct pack_advise_outcome *o,
          uint64_t workers, double *rate, struct pack_error *err)
{
    struct pack_advise_params p = *params;
    struct pack_advise_config config = o->config;
    struct pack_advise_outcome more;
    p.reading.pattern.workers = config.pattern.workers = workers;
    enum pack_status status = pack_advise_evaluate(&p, &config, 0, &more, err);
    if (status != PACK_OK)
        return status;
    bool fits =
        more.memory_bytes <= 1.1 * (double)pack_advise_budget(&p) * (double)workers;
    *rate = fits ? more.rate * o->rate / o->modelled_rate : 0;
    return PACK_OK;
}

/* Doubles the workers until the target is reached, or memory is full, then halves the
 * step. */
static enum pack_status
workers_for(const struct pack_advise_params *params, const struct pack_advise_outcome *o,
            uint64_t *workers, double *reached, struct pack_error *err)
{
    uint64_t below = pack_advise_workers(params), above = 0; /* 0: not known */
    uint64_t most = READERS_PER_CPU * params->machine.profile->n_cpus;
    enum pack_status status = PACK_OK;
    while (status == PACK_OK && (above ? above > below + 1 : below < most)) {
        double rate;
        uint64_t n = above              ? below + (above - below) / 2
                     : 2 * below < most ? 2 * below
                                        : most;
        status = rate_with(params, o, n, &rate, err);
        if (status == PACK_OK && rate >= params->goal.target) {
            above = *workers = n;
            *reached = rate;
        } else if (status == PACK_OK && rate == 0) {
            above = n;
        } else {
            below = n;
        }
    }
    return status;
}

enum pack_status
pack_advise_meet_target(const struct pack_advise_params *params,
                        struct pack_advise_result *result, struct pack_error *err)
{
    const struct pack_advise_outcome *o = &result->rows[0];
    result->target_workers = 0;
    result->target_rate = 0;
    if (params->goal.target <= 0)
        return PACK_OK;
    result->target_is_reached = o->rate >= params->goal.target;
    result->target_echo = fmax(1, params->goal.target / o->rate);
    return result->target_is_reached
               ? PACK_OK
               : workers_for(params, o, &result->target_workers, &result->target_rate,
                             err);
}

/* ------------------------------------------------------------------ settling */

/* The row of today's configuration says what `now` says; the last row makes room for it
 * where there is none. */
static void
place_now(struct pack_advise_result *r)
{
    size_t at = 0;
    if (!r->has_now)
        return;
    while (at < r->n_rows && !r->rows[at].is_now)
        at++;
    if (at == r->n_rows)
        at = r->n_rows < PACK_ADVISE_ROWS_MAX ? r->n_rows++ : r->n_rows - 1;
    bool is_user = r->rows[at].is_now && r->rows[at].is_user;
    r->rows[at] = r->now;
    r->rows[at].is_now = true;
    r->rows[at].is_user = is_user;
}

enum pack_status
pack_advise_settle(const struct pack_advise_params *params, struct pack_advise_result *r,
                   struct pack_error *err)
{
    enum pack_status status = pack_advise_check_params(params, err);
    if (status == PACK_OK)
        status = pack_advise_check_result(r, err);
    if (status != PACK_OK)
        return status;
    place_now(r);
    for (size_t i = 0; i < r->n_rows; i++)
        r->rows[i].change = pack_advise_change_of(params, &r->rows[i].config);
    size_t best =
        pack_advise_choose(params, r->has_now ? &r->now : NULL, r->rows, r->n_rows);
    struct pack_advise_outcome choice = r->rows[best];
    r->rows[best] = r->rows[0];
    r->rows[0] = choice;
    qsort(r->rows + 1, r->n_rows - 1, sizeof *r->rows, pack_advise_by_rate);
    pack_advise_mark_front(r->rows, r->n_rows);
    status = pack_advise_meet_target(params, r, err);
    if (status != PACK_OK || params->goal.is_brief)
        return status;
    status = pack_advise_policies(params, &r->rows[0], err);
    pack_advise_explain(params, r);
    if (status == PACK_OK)
        status = pack_advise_warn(params, &r->rows[0], NULL, r->choice_warnings,
                                  &r->n_choice_warnings, err);
    if (status == PACK_OK)
        status = pack_advise_warn(params, r->has_now ? &r->now : &r->rows[0], NULL, r->warnings,
                                  &r->n_warnings, err);
    return status;
}
