/*
 * A fix can bring along what another rule finds: filters that reads do not need make a chunk
 * one that a cache takes in whole, compression makes it one that is decoded anew, bytes in
 * place of floats make it tiny. So all rules are asked about a dataset as it would be then,
 * and where they find something new in it, about others with plain chunks.
 *
 *     fix ──▶ filters, chunk ──simulated──▶ outcome ──rules──▶ left ──▶ plan
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/advise/advise_stored.h"
#include "libpack/audit/audit_parts.h"
#include "libpack/findings/rules.h"
#include "libpack/hdf5/filter.h"
#include "libpack/model/cost.h"
#include "libpack/model/grid.h"

/* What rules find in a dataset, by code. */
struct codes {
    int code[PACK_AUDIT_FOUND_MAX];
    enum pack_finding_severity severity[PACK_AUDIT_FOUND_MAX];
    size_t n;
};

static void
note(struct codes *codes, int code, enum pack_finding_severity severity)
{
    for (size_t i = 0; i < codes->n; i++)
        if (codes->code[i] == code)
            return;
    if (codes->n == PACK_AUDIT_FOUND_MAX)
        return;
    codes->code[codes->n] = code;
    codes->severity[codes->n++] = severity;
}

/* ------------------------------------------------------- the dataset as it would be */

static enum pack_status
describe(const struct pack_advise_params *params, const struct pack_advise_outcome *o,
         struct pack_survey_dataset *d, struct pack_error *err)
{
    struct pack_facts *f = &d->facts;
    struct pack_grid grid;
    uint32_t bytes = (uint32_t)params->data.elem_size;
    enum pack_status status = pack_advise_grid(params, &o->config.chunk, &grid, err);
    if (status == PACK_OK)
        status = pack_pipeline_parse(o->config.codec, bytes, &f->pipeline, err);
    if (status != PACK_OK)
        return status;
    if (f->type.bytes != bytes) {
        f->type.class_id = PACK_TYPE_INTEGER;
        f->type.bytes = bytes;
        f->logical_bytes = f->n_elements * bytes;
    }
    f->layout = PACK_LAYOUT_CHUNKED;
    f->chunk = o->config.chunk;
    f->chunk_bytes = grid.chunk_bytes;
    f->n_chunks.rank = f->chunk.rank;
    for (int i = 0; i < grid.rank; i++)
        f->n_chunks.extent[i] = grid.n_chunks[i];
    f->n_chunks_total = f->n_chunks_stored = grid.n_chunks_total;
    f->stored_bytes = (uint64_t)o->file_bytes;
    d->has_stats = false;
    memset(&d->stats, 0, sizeof d->stats);
    return PACK_OK;
}

static enum pack_status
ask_rules(const struct pack_audit_outlook *l, const struct pack_advise_params *params,
          const struct pack_advise_outcome *o, const struct pack_survey_dataset *d,
          const struct pack_contents *contents, struct codes *codes, struct pack_error *err)
{
    struct pack_advise_warning warnings[PACK_ADVISE_WARNINGS_MAX];
    struct pack_finding found[PACK_FINDINGS_STORED_MAX];
    struct pack_stored_reading reading;
    const struct pack_contents_use use = { .is_shuffled = true };
    size_t n = 0;
    enum pack_status status = pack_advise_warn(params, o, l->thresholds, warnings, &n, err);
    if (status != PACK_OK)
        return status;
    for (size_t i = 0; i < n; i++)
        note(codes, warnings[i].code, pack_rule_of(warnings[i].code)->severity);
    pack_advise_stored_reading(params, o, &reading);
    n = pack_findings_dataset(d, &reading, l->thresholds, found, PACK_FINDINGS_STORED_MAX);
    for (size_t i = 0; i < n; i++)
        note(codes, found[i].code, found[i].severity);
    n = contents ? pack_findings_contents(&d->facts, contents, &use, l->thresholds, found,
                                          PACK_FINDINGS_STORED_MAX)
                 : 0;
    for (size_t i = 0; i < n; i++)
        note(codes, found[i].code, found[i].severity);
    return PACK_OK;
}

/* ----------------------------------------------------------------------- what is left */

static bool
is_found(const struct pack_audit_outlook *l, int code)
{
    bool is = false;
    for (size_t i = 0; i < l->found->n; i++)
        is = is || l->found->finding[i].code == code;
    return is;
}

/* What another layout could do without. */
static bool
is_of_layout(int code)
{
    return (code >= 102 && code <= 107) || code == 201 || code == 203 || code == 205 ||
           code == 401 || code == 403 || code == 404;
}

static int
rank_of(const struct pack_audit_choice *c)
{
    return c->is_harmful ? 2 : c->n_left > 0;
}

static void
take(const struct pack_audit_outlook *l, unsigned fix, const struct codes *codes,
     const struct pack_advise_outcome *o, struct pack_audit_choice *choice)
{
    struct pack_audit_choice c = { .is_made = true, .outcome = *o };
    for (size_t i = 0; i < codes->n; i++) {
        bool is_new = !is_found(l, codes->code[i]);
        if (codes->code[i] == 204 || codes->code[i] == 302) /* of what nobody asked about */
            continue;
        c.is_harmful = c.is_harmful || (is_new && codes->severity[i] > PACK_FINDING_NOTE);
        bool is_left = is_new || (fix & PACK_AUDIT_FIX_LAYOUT && is_of_layout(codes->code[i]));
        if (is_left && c.n_left < PACK_AUDIT_LEFT_MAX)
            c.left[c.n_left++] = codes->code[i];
    }
    int rank = rank_of(&c), best = rank_of(choice);
    if (!choice->is_made || rank < best ||
        (rank == best && o->rate > choice->outcome.rate))
        *choice = c;
}

enum pack_status
pack_audit_consider(const struct pack_audit_outlook *l, unsigned fix,
                    const struct pack_advise_params *params,
                    const struct pack_advise_outcome *outcome,
                    struct pack_audit_choice *choice, struct pack_error *err)
{
    struct pack_advise_outcome o = *outcome;
    struct codes codes = { .n = 0 };
    struct pack_contents contents;
    char text[PACK_PIPELINE_TEXT_MAX];
    enum pack_status status = PACK_OK;
    struct pack_survey_dataset *d = malloc(sizeof *d);
    if (!d)
        return pack_fail_memory(err, "an outlook");
    *d = *l->dataset;
    if (pack_audit_has_checksum(&d->facts.pipeline)) { /* it is kept, and is a filter */
        snprintf(o.config.codec, sizeof o.config.codec, "%.*s", PACK_ADVISE_CODEC_MAX - 1,
                 pack_audit_with_checksum(outcome->config.codec, text));
        status = pack_advise_evaluate(params, &o.config, PACK_AUDIT_SAMPLES, &o, err);
    }
    if (l->contents) {
        contents = *l->contents;
        if (fix & PACK_AUDIT_FIX_BYTES) {
            contents.scale[0] = '\0';
            contents.zstd_rate = contents.bytes_zstd_rate;
        }
    }
    if (status == PACK_OK)
        status = describe(params, &o, d, err);
    if (status == PACK_OK)
        status =
            ask_rules(l, params, &o, d, l->contents ? &contents : NULL, &codes, err);
    if (status == PACK_OK)
        take(l, fix, &codes, outcome, choice);
    free(d);
    return status;
}

/* --------------------------------------------------------------------------- plans */

bool
pack_audit_plain_chunk(const struct pack_shape *extent, uint64_t elem_size, int i,
                       struct pack_shape *chunk)
{
    enum { MOST_BYTES = 1 << 20 };
    double sample = (double)elem_size;
    uint64_t n = UINT64_C(1) << i;
    for (int k = 1; k < extent->rank; k++)
        sample *= (double)extent->extent[k];
    *chunk = *extent;
    chunk->extent[0] = n;
    return n < extent->extent[0] && (i == 0 || (double)n * sample <= MOST_BYTES);
}

void
pack_audit_plan_add(struct pack_audit_reading *r, unsigned fix,
                    const struct pack_audit_choice *choice, bool is_moved)
{
    struct pack_audit_plan *plan = &r->plans[r->n_plans++];
    const struct pack_advise_outcome *o = &choice->outcome;
    *plan = (struct pack_audit_plan){ .fix = fix,
                                      .rate = o->later_rate,
                                      .bytes = o->file_bytes,
                                      .n_left = choice->n_left };
    if (is_moved)
        pack_shape_format(&o->config.chunk, plan->chunk);
    snprintf(plan->filters, sizeof plan->filters, "%s", o->config.codec);
    memcpy(plan->left, choice->left, sizeof plan->left);
}

/* The filters of a fix as a configuration has them: of bytes that were floats, what is known of
 * some of them. */
static enum pack_status
set_filters(const struct pack_audit_outlook *l, unsigned fix, struct pack_advise_params *params,
            struct pack_advise_config *config, struct pack_error *err)
{
    const struct pack_facts *f = &l->dataset->facts;
    char text[PACK_PIPELINE_TEXT_MAX];
    struct pack_pipeline pipeline;
    bool is_bytes = fix & PACK_AUDIT_FIX_BYTES;
    double rate = is_bytes ? l->contents->bytes_zstd_rate : 0;
    if (is_bytes && rate > pack_threshold(l->thresholds, 403, "rate"))
        fix |= PACK_AUDIT_FIX_NO_FILTERS; /* what made little of floats makes nothing of these */
    if (is_bytes) {
        params->data.elem_size = 1;
        params->data.stored_bytes = NULL;
    }
    pack_audit_filters(f, fix, NULL, text);
    snprintf(config->codec, sizeof config->codec, "%.*s", PACK_ADVISE_CODEC_MAX - 1, text);
    config->stored_rate = 1;
    config->decode_ns = 0;
    enum pack_status status = pack_pipeline_parse(
        config->codec, (uint32_t)params->data.elem_size, &pipeline, err);
    if (status != PACK_OK || !pack_pipeline_compresses(&pipeline))
        return status;
    if (!is_bytes)
        return params->storing.measure(params->storing.measure_context, &config->chunk,
                                       config->codec, &config->stored_rate, &config->decode_ns,
                                       err);
    config->stored_rate = rate > 0 ? rate : 1;
    config->decode_ns =
        pack_cost_decode_ns(params->machine.profile, &pipeline, config->stored_rate);
    return PACK_OK;
}

/* Today's chunk; what has none gets some. */
static enum pack_status
set_chunk(const struct pack_audit_outlook *l, unsigned fix, struct pack_advise_config *config)
{
    const struct pack_facts *f = &l->dataset->facts;
    char text[PACK_SHAPE_TEXT_MAX];
    if (f->layout == PACK_LAYOUT_CHUNKED)
        return PACK_OK;
    config->chunk = f->extent;
    uint64_t n = strtoull(pack_audit_chunk(f, fix, NULL, text), NULL, 10);
    if (n < config->chunk.extent[0])
        config->chunk.extent[0] = n;
    return PACK_OK;
}

/* What zstd makes of it next to what is stored, by what both make of the same chunks. */
static enum pack_status
weigh(const struct pack_audit_outlook *l, const struct pack_advise_params *params,
      struct pack_advise_outcome *o, struct pack_error *err)
{
    const struct pack_facts *f = &l->dataset->facts;
    char codec[PACK_PIPELINE_TEXT_MAX];
    double rate = 0, ns;
    enum pack_status status =
        params->storing.measure(params->storing.measure_context, &f->chunk,
                                pack_pipeline_format(&f->pipeline, codec), &rate, &ns, err);
    if (status == PACK_OK && rate > 0)
        o->file_bytes = (double)f->stored_bytes * o->config.stored_rate / rate;
    return status;
}

static enum pack_status
plan_one(const struct pack_audit_outlook *l, unsigned fix, struct pack_audit_reading *r,
         struct pack_error *err)
{
    struct pack_advise_params params = l->job->params;
    struct pack_advise_config config = *params.now;
    struct pack_audit_choice choice = { .is_made = false };
    struct pack_advise_outcome o;
    enum pack_status status = set_chunk(l, fix, &config);
    const struct pack_shape today = config.chunk;
    if (status == PACK_OK)
        status = set_filters(l, fix, &params, &config, err);
    if (status == PACK_OK)
        status = pack_advise_evaluate(&params, &config, PACK_AUDIT_SAMPLES, &o, err);
    if (status == PACK_OK && fix == PACK_AUDIT_FIX_ZSTD)
        status = weigh(l, &params, &o, err);
    if (status == PACK_OK)
        status = pack_audit_consider(l, fix, &params, &o, &choice, err);
    bool is_clean = status != PACK_OK || choice.n_left == 0 || fix == PACK_AUDIT_FIX_ZSTD;
    for (int i = 0; !is_clean && status == PACK_OK &&
                    pack_audit_plain_chunk(&params.data.extent, params.data.elem_size, i,
                                           &config.chunk);
         i++) {
        status = pack_advise_evaluate(&params, &config, PACK_AUDIT_SAMPLES, &o, err);
        if (status == PACK_OK && o.fits)
            status = pack_audit_consider(l, fix, &params, &o, &choice, err);
    }
    if (status == PACK_OK)
        pack_audit_plan_add(r, fix, &choice,
                            l->dataset->facts.layout != PACK_LAYOUT_CHUNKED ||
                                !pack_shape_equal(&choice.outcome.config.chunk, &today));
    return status;
}

enum pack_status
pack_audit_plan(const struct pack_audit_outlook *l, struct pack_audit_reading *r,
                struct pack_error *err)
{
    static const unsigned planned = PACK_AUDIT_FIX_NO_FILTERS | PACK_AUDIT_FIX_ZSTD |
                                    PACK_AUDIT_FIX_BYTES | PACK_AUDIT_FIX_COMPRESS;
    const struct pack_facts *f = &l->dataset->facts;
    enum pack_status status = PACK_OK;
    if (!l->job->params.now || l->job->params.now->is_virtual ||
        !pack_pipeline_is_known(&f->pipeline, NULL))
        return PACK_OK;
    for (size_t i = 0; i < l->found->n && status == PACK_OK; i++) {
        unsigned fix = pack_audit_fix_of(l->found->finding[i].code);
        if (!(fix & planned) || pack_audit_plan_of(r, fix))
            continue;
        status = plan_one(l, fix, r, err);
        if (status != PACK_ERR_MEMORY && status != PACK_ERR_INTERRUPTED)
            status = PACK_OK; /* nothing is known of it beforehand */
    }
    return status;
}
