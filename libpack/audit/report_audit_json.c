/* The same as JSON: keys in fixed order, as h5audit(1) lists them. */
#include <stdio.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/audit/report_audit.h"
#include "libpack/base/json.h"

static void
put_options(struct pack_json *json, const struct pack_audit_report *report)
{
    const struct pack_audit_params *p = report->params;
    const struct pack_advise_ask_reading *r = &p->request.reading;
    pack_json_object(json, "options");
    pack_json_array(json, "files");
    for (size_t i = 0; i < p->n_files; i++)
        pack_json_text(json, NULL, p->files[i]);
    pack_json_close(json);
    pack_json_text(json, "pattern", r->pattern ? r->pattern : "shuffle");
    pack_json_u64(json, "batch", r->batch);
    if (r->workers == UINT64_MAX)
        pack_json_text(json, "workers", NULL);
    else
        pack_json_u64(json, "workers", r->workers);
    pack_json_u64(json, "epochs", r->epochs);
    pack_json_text(json, "hdf5_version", p->request.cache.hdf5_version);
    pack_json_text(json, "storage",
                   p->request.machine.storage ? p->request.machine.storage : "nvme");
    pack_json_text(json, "fail_on", pack_finding_severity_name(report->fail_on));
    pack_json_object(json, "thresholds");
    for (size_t i = 0; i < p->thresholds.n; i++) {
        char key[64];
        snprintf(key, sizeof key, "H5A%03d.%s", p->thresholds.set[i].code,
                 p->thresholds.set[i].name);
        pack_json_double(json, key, p->thresholds.set[i].value);
    }
    pack_json_close(json);
    pack_json_close(json);
}

static void
put_finding(struct pack_json *json, const struct pack_audit_finding *a)
{
    const struct pack_finding *f = &a->finding;
    char code[16];
    snprintf(code, sizeof code, "H5A%03d", f->code);
    pack_json_object(json, NULL);
    pack_json_text(json, "code", code);
    pack_json_text(json, "id", f->id);
    pack_json_text(json, "severity", pack_finding_severity_name(f->severity));
    pack_json_text(json, "dataset", a->dataset);
    pack_json_double(json, "value", f->value);
    pack_json_double(json, "price_bytes", f->price_bytes);
    pack_json_double(json, "price_s_per_epoch", f->price_s);
    pack_json_text(json, "text", f->evidence);
    pack_json_text(json, "remedy", f->remedy[0] ? f->remedy : NULL);
    pack_json_text(json, "command", a->command[0] ? a->command : NULL);
    if (a->grown_bytes > 0)
        pack_json_double(json, "grown_bytes", a->grown_bytes);
    else
        pack_json_null(json, "grown_bytes");
    pack_json_array(json, "left");
    for (size_t i = 0; i < a->n_left; i++) {
        snprintf(code, sizeof code, "H5A%03d", a->left[i]);
        pack_json_text(json, NULL, code);
    }
    pack_json_close(json);
    pack_json_close(json);
}

static void
put_stats(struct pack_json *json, const struct pack_chunk_stats *s)
{
    pack_json_object(json, "chunks");
    pack_json_u64(json, "stored", s->n_stored);
    pack_json_u64(json, "missing", s->n_missing);
    pack_json_u64(json, "stored_min_bytes", s->stored_min_bytes);
    pack_json_u64(json, "stored_median_bytes", s->stored_median_bytes);
    pack_json_u64(json, "stored_p99_bytes", s->stored_p99_bytes);
    pack_json_u64(json, "stored_max_bytes", s->stored_max_bytes);
    pack_json_u64(json, "masked", s->n_masked);
    pack_json_u64(json, "backward", s->n_backward);
    pack_json_u64(json, "span_bytes", s->span_bytes);
    pack_json_u64(json, "gap_bytes", s->gap_bytes);
    pack_json_u64(json, "overlapping", s->n_overlapping);
    pack_json_u64(json, "beyond_end", s->n_beyond_end);
    pack_json_u64(json, "aligned_bytes", s->aligned_bytes);
    pack_json_close(json);
}

static void
put_reading(struct pack_json *json, const struct pack_audit_reading *r)
{
    pack_json_text(json, "not_priced", r && r->why_not[0] ? r->why_not : NULL);
    if (!r || !r->is_known) {
        pack_json_null(json, "reading");
        return;
    }
    pack_json_object(json, "reading");
    pack_json_double(json, "samples_per_s", r->rate);
    pack_json_double(json, "epoch_s", r->epoch_s);
    pack_json_double(json, "amplification", r->amplification);
    pack_json_double(json, "loads_per_sample", r->loads_per_sample);
    pack_json_double(json, "hit_rate", r->hit_rate);
    pack_json_double(json, "default_1_samples_per_s", r->rate_1);
    pack_json_double(json, "default_2_samples_per_s", r->rate_2);
    if (r->has_advice && r->advised_rate > 0)
        pack_json_double(json, "advised_samples_per_s", r->advised_rate);
    else
        pack_json_null(json, "advised_samples_per_s");
    pack_json_close(json);
}

static void
put_contents(struct pack_json *json, const struct pack_contents *c)
{
    if (!c || !c->is_known) {
        pack_json_null(json, "contents");
        return;
    }
    pack_json_object(json, "contents");
    pack_json_u64(json, "samples", c->n_samples);
    pack_json_text(json, "bytes_by", c->scale[0] ? c->scale : NULL);
    pack_json_u64(json, "odd", c->n_odd);
    pack_json_u64(json, "constant", c->n_constant);
    pack_json_u64(json, "equal", c->n_twice);
    if (c->zstd_rate > 0)
        pack_json_double(json, "zstd_rate", c->zstd_rate);
    else
        pack_json_null(json, "zstd_rate");
    pack_json_u64(json, "classes", c->n_classes);
    pack_json_double(json, "classes_in_order", c->classes_seen);
    pack_json_double(json, "classes_at_random", c->classes_random);
    pack_json_close(json);
}

static const struct pack_audit_reading *
find_reading(const struct pack_audit_file *file, size_t set)
{
    for (size_t i = 0; i < file->n_readings; i++)
        if (file->readings[i].set == set)
            return &file->readings[i];
    return NULL;
}

static void
put_dataset(struct pack_json *json, const struct pack_audit_file *file, size_t set)
{
    const struct pack_survey_dataset *d = &file->survey.datasets[set];
    const struct pack_facts *f = &d->facts;
    char type[PACK_TYPE_TEXT_MAX], filters[PACK_PIPELINE_TEXT_MAX];
    pack_json_object(json, NULL);
    pack_json_text(json, "path", f->path + strspn(f->path, "/"));
    pack_json_text(json, "type", d->failure[0] && f->extent.rank == 0
                                     ? NULL
                                     : pack_type_format(&f->type, type));
    pack_json_shape(json, "extent", &f->extent);
    pack_json_text(json, "layout", pack_facts_layout_name(f));
    pack_json_shape(json, "chunk", &f->chunk);
    pack_json_text(json, "filters", pack_pipeline_format(&f->pipeline, filters));
    pack_json_text(json, "index", pack_index_name(f->index));
    pack_json_u64(json, "logical_bytes", f->logical_bytes);
    pack_json_u64(json, "stored_bytes", f->stored_bytes);
    pack_json_text(json, "failure", d->failure[0] ? d->failure : NULL);
    if (d->has_stats)
        put_stats(json, &d->stats);
    else
        pack_json_null(json, "chunks");
    put_reading(json, find_reading(file, set));
    put_contents(json, file->contents ? &file->contents[set] : NULL);
    pack_json_text(json, "contents_failure",
                   file->contents && file->contents[set].why_not[0] ? file->contents[set].why_not
                                                                    : NULL);
    pack_json_close(json);
}

/* Kinds of datasets of which there are very many. */
static void
put_alike(struct pack_json *json, const struct pack_survey *s,
          const struct pack_thresholds *thresholds)
{
    enum { LISTED_MAX = 100 };
    size_t n = pack_findings_alike(s, thresholds);
    pack_json_u64(json, "n_alike", n);
    pack_json_array(json, "alike");
    for (size_t i = 0; i < n && i < LISTED_MAX; i++) {
        pack_json_object(json, NULL);
        pack_json_text(json, "group", s->alike[i].group);
        pack_json_shape(json, "extent", &s->alike[i].extent);
        pack_json_u64(json, "datasets", s->alike[i].n);
        pack_json_close(json);
    }
    pack_json_close(json);
}

static void
put_file(struct pack_json *json, const struct pack_audit_report *report,
         const struct pack_audit_result *r, size_t i)
{
    const struct pack_audit_file *file = &r->files[i];
    const struct pack_survey_file *f = &file->survey.file;
    pack_json_object(json, NULL);
    pack_json_text(json, "file", file->path);
    pack_json_text(json, "dataset", file->dataset);
    pack_json_text(json, "failure", file->status != PACK_OK ? file->failure.text : NULL);
    pack_json_u64(json, "file_bytes", f->file_bytes);
    if (f->has_superblock) {
        pack_json_u64(json, "superblock_version", f->superblock.version);
        pack_json_u64(json, "user_block_bytes", f->superblock.start_bytes);
        pack_json_u64(json, "end_bytes", f->superblock.end_bytes);
    }
    pack_json_u64(json, "free_bytes", f->free_bytes);
    pack_json_u64(json, "metadata_bytes", f->metadata_bytes);
    pack_json_u64(json, "page_bytes", f->page_bytes);
    pack_json_u64(json, "n_datasets", f->n_datasets);
    put_alike(json, &file->survey, &report->params->thresholds);
    pack_json_text(json, "contents_failure",
                   file->contents_why_not[0] ? file->contents_why_not : NULL);
    pack_json_array(json, "findings");
    for (size_t k = 0; k < r->n_findings; k++)
        if (r->findings[k].file == i)
            put_finding(json, &r->findings[k]);
    pack_json_close(json);
    pack_json_array(json, "datasets");
    for (size_t k = 0; k < file->survey.n_datasets; k++)
        put_dataset(json, file, k);
    pack_json_close(json);
    pack_json_close(json);
}

/* What was done, what is gone, and the audit of the output. */
static void
put_fixed(struct pack_json *json, const struct pack_audit_report *report)
{
    const struct pack_audit_applied *a = report->applied;
    const struct pack_audit_result *r = report->result;
    pack_json_object(json, "fixed");
    pack_json_text(json, "output", a->is_written ? report->output : NULL);
    pack_json_array(json, "datasets");
    for (size_t i = 0; i < a->n_specs; i++)
        pack_json_text(json, NULL, a->specs[i]);
    pack_json_close(json);
    pack_json_u64(json, "input_bytes", a->input_bytes);
    pack_json_u64(json, "output_bytes", a->output_bytes);
    pack_json_array(json, "mended");
    for (size_t i = 0; i < r->n_findings; i++)
        if (pack_audit_is_mended(a, &r->findings[i]))
            put_finding(json, &r->findings[i]);
    pack_json_close(json);
    pack_json_array(json, "files");
    for (size_t i = 0; i < a->after.n_files; i++)
        put_file(json, report, &a->after, i);
    pack_json_close(json);
    pack_json_close(json);
}

enum pack_status
pack_report_audit_json(const struct pack_audit_report *report, struct pack_buf *buf,
                       struct pack_error *err)
{
    const struct pack_audit_result *r = report->result;
    struct pack_json json;
    pack_json_begin_report(&json, buf, "audit/1", report->program, report->version);
    put_options(&json, report);
    pack_json_object(&json, "result");
    pack_json_u64(&json, "findings", r->n_findings);
    pack_json_bool(&json, "stopped", report->is_stopped);
    pack_json_array(&json, "unlisted");
    for (size_t i = 0; i < report->n_unlisted; i++)
        pack_json_text(&json, NULL, report->unlisted[i]);
    pack_json_close(&json);
    pack_json_array(&json, "files");
    for (size_t i = 0; i < r->n_files; i++)
        put_file(&json, report, r, i);
    pack_json_close(&json);
    if (report->applied)
        put_fixed(&json, report);
    pack_json_close(&json);
    pack_json_close(&json);
    return pack_json_end(&json, err);
}
