/* What today's settings give on the file itself, before any search. */
#include "libpack/bench/measure_parts.h"

#include <stdlib.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/base/clock.h"
#include "libpack/bench/measure_storage.h"
#include "libpack/model/cost.h"

enum {
    ROUNDS = 3,
    LOOK_SAMPLES = 4000 /* simulated to know what to expect */
};
static const uint64_t slice_ns = 300 * 1000 * 1000;
static const double warm_rate = 0.99; /* of the file's bytes: it counts as resident */

enum pack_status
pack_measure_open(const struct pack_measure_params *how, struct measure_file *file,
                  struct pack_error *err)
{
    *file = (struct measure_file){ .set = how->set, .with = how->with_set };
    if (!how->set) {
        enum pack_status status =
            pack_readset_open(&how->file, 1, how->dataset, &file->opened, err);
        if (status != PACK_OK)
            return status;
        file->set = file->opened;
    }
    if (how->with &&
        pack_readset_open(&how->file, 1, how->with, &file->opened_with, NULL) == PACK_OK)
        file->with = file->opened_with;
    return PACK_OK;
}

void
pack_measure_close_file(struct measure_file *file)
{
    pack_readset_close(file->opened_with);
    pack_readset_close(file->opened);
    *file = (struct measure_file){ .set = NULL };
}

enum pack_status
pack_measure_take_now(const struct pack_advise_params *params,
                      const struct pack_advise_config *as_read,
                      const struct pack_trial_result *r, struct pack_measured *m,
                      struct pack_error *err)
{
    struct pack_advise_params then = *params;
    struct measure_expected e = { 0 }, cold = { 0 };
    bool is_new = !m->has_now;
    if (!is_new) /* in turns with copies, where the page cache holds the file by now */
        then.machine.is_warm = true;
    m->has_now = true;
    m->now_later = r->later_rate;
    m->later_unseen = !r->has_later && !then.machine.is_warm;
    if (r->has_later) /* all was read in the slice before */
        m->now_warm = r->later_rate;
    enum pack_status status =
        r->has_later && r->n_epochs > 1 /* a cache may fill for longer than was looked at */
            ? pack_measure_model_told(&then, as_read, r->n_epochs, &e, err)
            : pack_measure_model(&then, as_read, r->has_later ? 0 : r->first_samples, &e, err);
    m->modelled_later = r->has_later ? e.later : e.first;
    if (params->machine.is_warm) {
        m->now_first = r->first_rate;
        m->modelled_first = e.first;
    } else if (is_new && status == PACK_OK) { /* read once, it is not cold any more */
        m->now_first = r->first[0];
        m->cold_samples = r->opening_samples;
        m->cold_batch = as_read->pattern.batch;
        status = pack_measure_model(params, as_read, m->cold_samples, &cold, err);
        m->modelled_first = cold.first;
    }
    return status;
}

static enum pack_status
time_now(const struct pack_measure_params *how, const struct pack_advise_params *params,
         const struct measure_file *file, struct pack_measured *m, struct pack_error *err)
{
    struct pack_trial_params trial = { .slice_ns = slice_ns,
                                       .rounds_min = ROUNDS,
                                       .rounds_max = ROUNDS,
                                       .is_resident = m->resident_rate >= warm_rate,
                                       .watch = how->watch };
    struct pack_trial_result *r = calloc(1, sizeof *r);
    struct pack_bench_params run;
    struct pack_advise_config config = *params->now;
    struct measure_expected e;
    if (!r)
        return pack_fail_memory(err, "measurements");
    enum pack_status status = pack_measure_model(params, &config, LOOK_SAMPLES, &e, err);
    if (status == PACK_OK) {
        double rate = pack_cost_rate(params->machine.profile, &e.first_cost, e.first_samples,
                                     pack_advise_workers(params)); /* if all had as many */
        pack_measure_cut_batch(params, rate, slice_ns, &config);
        trial.slice_ns = pack_measure_slice(params, rate, slice_ns, &config);
        pack_measure_run(params, &config, file->set, &run);
        run.with = file->with;
        status = pack_trial_run(&run, 1, &trial, r, err);
    }
    if (status == PACK_OK && r->first_rate > 0)
        status = pack_measure_take_now(params, &config, r, m, err);
    free(r);
    return status;
}

/* Whether the file lies in the page cache, of which *resident_rate says what part does, and
 * can stay there. */
static bool
is_held(const struct measure_file *file, const struct pack_advise_params *params,
        double *resident_rate)
{
    uint64_t size = 0;
    *resident_rate = pack_readset_resident_rate(file->set, &size);
    return *resident_rate >= warm_rate && params->machine.ram_bytes >= size;
}

/* Of storage, unless all lies in memory, and of the file. */
static enum pack_status
measure(const struct pack_measure_params *how, const struct measure_file *file,
        struct pack_advise_params *params, struct pack_profile *profile,
        struct pack_measured *m, struct pack_error *err)
{
    const char *storage = pack_h5_dataset_storage(file->set->parts[0].data);
    enum pack_status status = PACK_OK;
    double rate;
    params->machine.is_warm = is_held(file, params, &m->resident_rate);
    if (!params->machine.is_warm)
        m->storage_measured = pack_measure_storage(storage, profile) == PACK_OK;
    if (m->storage_measured) {
        profile->is_measured = true;
        strcpy(profile->name, "of this file");
    }
    if (pack_measure_may_read(params, m))
        status = time_now(how, params, file, m, err);
    m->is_held = is_held(file, params, &rate);
    return status;
}

enum pack_status
pack_measure_now(const struct pack_measure_params *how, struct pack_advise_params *params,
                 struct pack_profile *profile, struct pack_measured *m,
                 struct pack_error *err)
{
    struct measure_file file;
    struct pack_error why;
    uint64_t start_ns = pack_clock_ns();
    *m = (struct pack_measured){ .resident_rate = -1, .now_ratio = 1 };
    if (!params->now)
        return PACK_OK;
    /* what cannot be read plainly is advised on all the same, as predicted */
    if (pack_measure_open(how, &file, &why) != PACK_OK) {
        pack_measure_note(m, "the file could not be read", why.text);
        return PACK_OK;
    }
    enum pack_status status = measure(how, &file, params, profile, m, &why);
    if (pack_measure_is_fatal(status)) {
        if (err)
            *err = why;
    } else if (status != PACK_OK) {
        pack_measure_note(m, "today's settings could not be read", why.text);
        m->has_now = false;
        status = PACK_OK;
    }
    pack_measure_close_file(&file);
    m->elapsed_ns += pack_clock_ns() - start_ns;
    return status;
}
