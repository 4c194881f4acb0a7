/*
 *     findings ──▶ per dataset: bits of what mends it ──▶ PATH=CHUNK,FILTERS ──▶ rechunk.h
 *                                                                                   │
 *     what is left  ◀── audit.h of the output  ◀────────────────────────────────────┘
 */
#include "libpack/audit/audit_apply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/audit/audit_parts.h"
#include "libpack/rechunk/rechunk.h"

/* ------------------------------------------------------------------ what is done */

/* Rules that are named, and these alone; without any, those that keep values, types, order. */
static bool
is_meant(const struct pack_audit_apply_params *how, const struct pack_audit_finding *f)
{
    bool is_named = false;
    for (size_t i = 0; i < how->n_named; i++)
        is_named = is_named || how->named[i] == f->finding.code;
    return how->n_named > 0 ? is_named : !(f->fix & PACK_AUDIT_FIX_NAMED);
}

/* What mends all that was found of a dataset; path NULL: of the file itself. */
static unsigned
fixes_of(const struct pack_audit_result *found, const struct pack_audit_apply_params *how,
         const char *path)
{
    unsigned fix = 0;
    for (size_t i = 0; i < found->n_findings; i++) {
        const char *dataset = found->findings[i].dataset;
        if (is_meant(how, &found->findings[i]) && !dataset == !path &&
            (!path || strcmp(dataset, path) == 0))
            fix |= found->findings[i].fix;
    }
    return fix & ~(unsigned)PACK_AUDIT_FIX_OTHER;
}

/* Of all datasets together. */
static unsigned
all_fixes(const struct pack_audit_result *found, const struct pack_audit_apply_params *how)
{
    unsigned fix = 0;
    for (size_t i = 0; i < found->n_findings; i++)
        if (is_meant(how, &found->findings[i]))
            fix |= found->findings[i].fix;
    return fix;
}

static const struct pack_audit_reading *
reading_of(const struct pack_audit_file *file, size_t set)
{
    for (size_t i = 0; i < file->n_readings; i++)
        if (file->readings[i].set == set)
            return &file->readings[i];
    return NULL;
}

static enum pack_status
add_spec(struct pack_audit_applied *applied, const char *path, const char *chunk,
         const char *filters, struct pack_error *err)
{
    char **grown = realloc(applied->specs, (applied->n_specs + 1) * sizeof *grown), *spec;
    if (!grown)
        return pack_fail_memory(err, "fixes");
    applied->specs = grown;
    if (asprintf(&spec, "%s=%s,%s", path, chunk, filters) < 0)
        return pack_fail_memory(err, "fixes");
    applied->specs[applied->n_specs++] = spec;
    return PACK_OK;
}

static enum pack_status
plan_set(const struct pack_audit_result *found, const struct pack_audit_apply_params *how,
         size_t set, struct pack_audit_applied *applied, struct pack_error *err)
{
    const struct pack_audit_file *file = &found->files[0];
    const struct pack_facts *facts = &file->survey.datasets[set].facts;
    const struct pack_audit_reading *reading = reading_of(file, set);
    const char *path = facts->path + strspn(facts->path, "/");
    unsigned fix = fixes_of(found, how, path);
    char filters[PACK_PIPELINE_TEXT_MAX], chunk[PACK_SHAPE_TEXT_MAX];
    if (!fix)
        return PACK_OK;
    pack_audit_filters(facts, fix, reading, filters);
    return add_spec(applied, path, pack_audit_chunk(facts, fix, reading, chunk), filters, err);
}

/* Where only the file itself is to be written anew: one of its datasets as it is. */
static enum pack_status
plan_copy(const struct pack_audit_file *file, struct pack_audit_applied *applied,
          struct pack_error *err)
{
    const struct pack_survey_dataset *d = pack_audit_copied(file);
    char filters[PACK_PIPELINE_TEXT_MAX];
    return d ? add_spec(applied, d->facts.path + strspn(d->facts.path, "/"), "",
                        pack_pipeline_format(&d->facts.pipeline, filters), err)
             : PACK_OK;
}

/* -------------------------------------------------------------------- doing it */

static enum pack_status
rewrite(const struct pack_audit_params *params, const struct pack_audit_result *found,
        const struct pack_audit_apply_params *how, struct pack_audit_applied *applied,
        struct pack_error *err)
{
    unsigned fix = all_fixes(found, how);
    struct pack_rechunk_result result = { .sets = NULL };
    const struct pack_rechunk_params p = { .input = found->files[0].path,
                                           .output = how->output,
                                           .datasets = (const char *const *)applied->specs,
                                           .n_datasets = applied->n_specs,
                                           .as = fix & PACK_AUDIT_FIX_BYTES ? "uint8" : NULL,
                                           .shuffle = fix & PACK_AUDIT_FIX_MIX,
                                           .force = how->force,
                                           .resume = !how->force,
                                           .n_threads = how->n_threads,
                                           .watch = params->watch };
    enum pack_status status = pack_rechunk(&p, &result, err);
    applied->is_written = status == PACK_OK;
    applied->is_resumable = result.is_resumable;
    applied->n_saved = result.n_saved;
    applied->input_bytes = result.input_bytes;
    applied->output_bytes = result.output_bytes;
    pack_rechunk_result_done(&result);
    return status;
}

static enum pack_status
audit_again(const struct pack_audit_params *params, const struct pack_audit_file *file,
            const char *output, struct pack_audit_applied *applied, struct pack_error *err)
{
    struct pack_audit_params again = *params;
    char *operand = NULL;
    if (asprintf(&operand, "%s%s%s", output, file->dataset ? ":/" : "",
                 file->dataset ? file->dataset : "") < 0)
        return pack_fail_memory(err, "an audit");
    again.files = (const char *const *)&operand;
    again.n_files = 1;
    enum pack_status status = pack_audit(&again, &applied->after, err);
    free(operand);
    return status;
}

enum pack_status
pack_audit_apply_check(const char *operand, const struct pack_audit_apply_params *how,
                       struct pack_error *err)
{
    char *file = NULL, *dataset = NULL;
    enum pack_status status = pack_h5_operand_split(operand, &file, &dataset, err);
    const struct pack_rechunk_params p = { .input = file,
                                           .output = how->output,
                                           .force = how->force,
                                           .resume = !how->force };
    if (status == PACK_OK)
        status = pack_rechunk_check_output(&p, err);
    free(file);
    free(dataset);
    return status;
}

/* An order belongs to all that lies beside the labels, other fixes to one dataset. */
static enum pack_status
check_alone(unsigned fix, struct pack_error *err)
{
    if (fix & PACK_AUDIT_FIX_BYTES && fix & ~(unsigned)PACK_AUDIT_FIX_BYTES)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "named",
                               "what makes bytes of numbers goes by itself");
    if (fix & PACK_AUDIT_FIX_MIX && fix & ~(unsigned)PACK_AUDIT_FIX_MIX)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "named",
                               "what changes the order goes by itself");
    return PACK_OK;
}

enum pack_status
pack_audit_apply(const struct pack_audit_params *params,
                 const struct pack_audit_result *found,
                 const struct pack_audit_apply_params *how,
                 struct pack_audit_applied *applied, struct pack_error *err)
{
    *applied = (struct pack_audit_applied){ .specs = NULL };
    if (found->n_files != 1)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "output",
                               "one file is mended at a time");
    const struct pack_audit_file *file = &found->files[0];
    enum pack_status status = check_alone(all_fixes(found, how), err);
    for (size_t i = 0; i < file->survey.n_datasets && status == PACK_OK; i++)
        status = plan_set(found, how, i, applied, err);
    if (status == PACK_OK && applied->n_specs == 0 && fixes_of(found, how, NULL))
        status = plan_copy(file, applied, err);
    if (status == PACK_OK && applied->n_specs > 0)
        status = rewrite(params, found, how, applied, err);
    if (status == PACK_OK && applied->is_written)
        status = audit_again(params, file, how->output, applied, err);
    return status;
}

void
pack_audit_applied_done(struct pack_audit_applied *applied)
{
    for (size_t i = 0; i < applied->n_specs; i++)
        free(applied->specs[i]);
    free(applied->specs);
    pack_audit_done(&applied->after);
    *applied = (struct pack_audit_applied){ .specs = NULL };
}

bool
pack_audit_is_mended(const struct pack_audit_applied *applied,
                     const struct pack_audit_finding *finding)
{
    const struct pack_audit_result *after = &applied->after;
    for (size_t i = 0; i < after->n_findings; i++) {
        const struct pack_audit_finding *f = &after->findings[i];
        if (f->finding.code == finding->finding.code && !f->dataset == !finding->dataset &&
            (!f->dataset || strcmp(f->dataset, finding->dataset) == 0))
            return false;
    }
    return applied->is_written;
}
