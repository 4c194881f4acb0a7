#include "tools/advise_ask.h"

#include <stdio.h>

#include "libpack/advise/advise_stored.h"
#include "tools/machine.h"

bool
advise_ask_measures(const struct advise_ask *ask)
{
    return ask->request.data.file && !ask->no_measure && !ask->request.machine.storage &&
           !ask->what_if;
}

/* What is asked about is looked at first, where the processor takes seconds. */
static enum pack_status
open_job(struct advise_ask *ask, struct advise_answer *a, struct pack_error *err)
{
    bool is_measuring = advise_ask_measures(ask);
    bool is_kept = is_measuring && machine_kept(&a->processor);
    ask->request.machine.processor = is_kept ? &a->processor : NULL;
    enum pack_status status = pack_advise_job_open(&ask->request, &a->job, err);
    if (status != PACK_OK || !is_measuring || is_kept)
        return status;
    status = machine_processor(&ask->request.watch, &a->processor, err);
    if (status == PACK_OK) {
        pack_advise_job_take_processor(&a->job, &a->processor);
    } else if (status != PACK_ERR_INTERRUPTED) {
        snprintf(a->processor_why, sizeof a->processor_why,
                 "the processor could not be timed: %.200s", err->text);
        status = PACK_OK;
    }
    return status;
}

enum pack_status
advise_answer_open(struct advise_ask *ask, const char *file, struct advise_answer *a,
                   struct pack_error *err)
{
    char remark[1024];
    ask->request.data.file = file;
    ask->request.reading.read = (enum pack_read_mode)ask->read;
    ask->request.storing.chunks = ask->chunks.text;
    ask->request.storing.n_chunks = ask->chunks.n;
    enum pack_status status = open_job(ask, a, err);
    if (status == PACK_OK && a->job.file &&
        pack_h5_dataset_remark(pack_advise_file_data(a->job.file), remark, sizeof remark))
        cli_say("%s", remark);
    if (status == PACK_OK && a->job.order.remark[0])
        cli_say("%s", a->job.order.remark);
    if (status == PACK_OK)
        status = advise_files_note(&a->job, ask->request.machine.storage, &a->files, err);
    return status;
}

static enum pack_status
evaluate(struct advise_ask *ask, struct advise_answer *a, struct pack_error *err)
{
    struct pack_advise_config config;
    if (!ask->what_if)
        return pack_advise(&a->job.params, &a->result, err);
    enum pack_status status =
        pack_advise_job_what_if(&ask->request, &a->job, &config, err);
    if (status == PACK_OK)
        status = pack_advise_what_if(&a->job.params, &config, &a->result, err);
    return status;
}

static struct pack_measure_params
measure_params(const struct advise_ask *ask, const struct pack_advise_job *job)
{
    const struct pack_h5_dataset *data = pack_advise_file_data(job->file);
    return (struct pack_measure_params){
        .file = data->file,
        .data_file = pack_h5_dataset_storage(data),
        .dataset = data->path,
        .with = ask->request.data.with,
        .prove = ask->prove,
        .scratch_dir = ask->scratch,
        .scratch_bytes = ask->scratch_bytes,
        .watch = ask->request.watch,
    };
}

/* Storage and today's settings come before the search that builds on them. */
static enum pack_status
find_measured(struct advise_ask *ask, struct advise_answer *a, struct pack_error *err)
{
    struct pack_measured *m = &a->measured;
    struct pack_measure_params how = measure_params(ask, &a->job);
    enum pack_status status =
        pack_measure_now(&how, &a->job.params, &a->job.profile, m, err);
    if (status == PACK_OK)
        status = evaluate(ask, a, err);
    if (status == PACK_OK)
        status = pack_measure_rows(&how, &a->job.params, &a->result, m, err);
    m->processor_assumed = a->processor_why[0] != '\0';
    if (!m->why_not[0])
        snprintf(m->why_not, sizeof m->why_not, "%s", a->processor_why);
    return status;
}

enum pack_status
advise_answer_find(struct advise_ask *ask, struct advise_answer *a, struct pack_error *err)
{
    enum pack_status status =
        advise_ask_measures(ask) ? find_measured(ask, a, err) : evaluate(ask, a, err);
    return status == PACK_OK
               ? pack_advise_warn_stored(&a->job.params, a->job.file, &a->result, err)
               : status;
}

enum pack_status
advise_answer_engine(struct advise_ask *ask, struct advise_answer *a, struct pack_error *err)
{
    const struct pack_advise_result *r = &a->result;
    if (!a->job.file || !r->has_now || ask->what_if)
        return PACK_OK;
    const struct pack_h5_dataset *data = pack_advise_file_data(a->job.file);
    struct pack_measure_params how = measure_params(ask, &a->job);
    const struct pack_advise_engine_subject subject = { data->file, data->path, 0 };
    enum pack_status status =
        pack_advise_engine(&a->job.params, &subject, &r->now, &a->engine, err);
    return status == PACK_OK && advise_ask_measures(ask)
               ? pack_measure_engine(&how, &a->job.params, &r->now, &a->engine,
                                     &a->measured, err)
               : status;
}

bool
advise_answer_close(struct advise_answer *a, char *text, size_t size)
{
    bool is_changed = advise_files_done(&a->files, text, size);
    pack_advise_job_close(&a->job);
    return is_changed;
}
