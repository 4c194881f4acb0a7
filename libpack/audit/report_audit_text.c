/* File by file: one line of verdict, the findings, what there is. */
#include "libpack/audit/report_audit.h"

#include <stdio.h>
#include <string.h>

#include "libpack/base/name.h"
#include "libpack/base/numbers.h"
#include "libpack/base/page.h"
#include "libpack/base/size.h"
#include "libpack/findings/rules.h"

static size_t
count_of(const struct pack_audit_result *r, size_t file, enum pack_finding_severity severity)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_findings; i++)
        n += r->findings[i].file == file && r->findings[i].finding.severity == severity;
    return n;
}

/* "2 hazards, 1 cost", "nothing found"; why a file could not be looked at is told beside it. */
static void
put_verdict(struct page *page, const struct pack_audit_result *result, size_t file)
{
    static const char *const words[][2] = {
        [PACK_FINDING_NOTE] = { "note", "notes" },
        [PACK_FINDING_COST] = { "cost", "costs" },
        [PACK_FINDING_HAZARD] = { "hazard", "hazards" },
    };
    const struct pack_audit_file *f = &result->files[file];
    char name[PACK_NAME_TEXT_MAX], size[PACK_BYTES_TEXT_MAX];
    const char *gap = "";
    if (f->status != PACK_OK && f->status != PACK_ERR_INTERRUPTED) {
        if (result->n_files > 1)
            LINE(page, "%s: could not be looked at\n", pack_name_text(f->path, name));
        return;
    }
    LINE(page, "%s: ", pack_name_text(f->path, name));
    if (f->status != PACK_OK) {
        LINE(page, "%s\n", f->failure.text);
        return;
    }
    for (int severity = PACK_FINDING_HAZARD; severity >= PACK_FINDING_NOTE; severity--) {
        size_t n = count_of(result, file, (enum pack_finding_severity)severity);
        if (n == 0)
            continue;
        LINE(page, "%s%s", gap, pack_counted(n, words[severity][0], words[severity][1]).text);
        gap = ", ";
    }
    if (!*gap)
        LINE(page, "%s", pack_audit_file_is_read(f) ? "nothing found" : "not all was read");
    LINE(page, "; %s, %s\n",
         pack_bytes_format(f->survey.file.file_bytes, size),
         pack_counted(f->survey.file.n_datasets, "dataset", "datasets").text);
}

const char *
pack_report_audit_left_out(const struct pack_audit_file *file,
                           char text[PACK_AUDIT_LEFT_OUT_MAX])
{
    const struct pack_survey *s = &file->survey;
    if (file->dataset || s->file.n_datasets <= s->n_datasets)
        return NULL;
    snprintf(text, PACK_AUDIT_LEFT_OUT_MAX, "%llu of its %s not looked at: %d are the most",
             (unsigned long long)(s->file.n_datasets - s->n_datasets),
             pack_counted(s->file.n_datasets, "dataset was", "datasets were").text,
             PACK_SURVEY_DATASETS_MAX);
    return text;
}

const char *
pack_report_audit_price(const struct pack_finding *f, char text[PACK_AUDIT_PRICE_MAX])
{
    char bytes[PACK_BYTES_TEXT_MAX];
    int n = 0;
    bool is_hidden = f->code == 501 || f->code == 202;
    if (f->price_bytes >= 1 && !is_hidden)
        n = snprintf(text, PACK_AUDIT_PRICE_MAX, "%s %s",
                     pack_bytes_format((uint64_t)f->price_bytes, bytes),
                     f->code == 105 || f->code == 205 || f->code == 103 || f->code == 203 ||
                             (f->code >= 300 && f->code < 400)
                         ? "read in vain in each epoch"
                         : "of the file");
    if (f->price_s > 0)
        n += snprintf(text + n, PACK_AUDIT_PRICE_MAX - (size_t)n, "%s%s s of each epoch",
                      n ? "; " : "", pack_figure(f->price_s).text);
    return n > 0 ? text : NULL;
}

const char *
pack_report_audit_growth(const struct pack_audit_finding *finding,
                         char text[PACK_AUDIT_PRICE_MAX])
{
    char bytes[PACK_BYTES_TEXT_MAX];
    int n = 0;
    text[0] = '\0';
    if (finding->grown_bytes > 0)
        n = snprintf(text, PACK_AUDIT_PRICE_MAX, "its data takes about %s then, more than now",
                     pack_bytes_format((uint64_t)finding->grown_bytes, bytes));
    for (size_t i = 0; i < finding->n_left && n < PACK_AUDIT_PRICE_MAX; i++)
        n += snprintf(text + n, PACK_AUDIT_PRICE_MAX - (size_t)n, "%sH5A%03d %s",
                      i > 0 ? ", " : n > 0 ? "; found then: " : "found then: ",
                      finding->left[i], pack_rule_of(finding->left[i])->id);
    return text[0] ? text : NULL;
}

static void
put_finding(struct page *page, const struct pack_audit_finding *a)
{
    const struct pack_finding *f = &a->finding;
    char lead[PACK_NAME_TEXT_MAX + 40], name[PACK_NAME_TEXT_MAX], price[PACK_AUDIT_PRICE_MAX];
    snprintf(lead, sizeof lead, "  H5A%03d %s %s%.*s%s", f->code,
             pack_finding_severity_name(f->severity), a->dataset ? "/" : "", 400,
             a->dataset ? pack_name_text(a->dataset, name) : "", a->dataset ? ": " : "");
    pack_page_wrap(page, lead, f->evidence, 6);
    if (pack_report_audit_price(f, price))
        pack_page_wrap(page, "      price: ", price, 13);
    if (f->remedy[0])
        pack_page_wrap(page, "      do:    ", f->remedy, 13);
    if (a->command[0])
        LINE(page, "      fix:   %s\n", a->command);
    if (pack_report_audit_growth(a, price))
        pack_page_wrap(page, "      note:  ", price, 13);
}

/* What is in the file. */
static void
put_facts(struct page *page, const struct pack_audit_file *file,
          const struct pack_survey_dataset *d)
{
    const struct pack_facts *f = &d->facts;
    char extent[PACK_SHAPE_TEXT_MAX], chunk[PACK_SHAPE_TEXT_MAX], type[PACK_TYPE_TEXT_MAX],
        filters[PACK_PIPELINE_TEXT_MAX], size[PACK_BYTES_TEXT_MAX], name[PACK_NAME_TEXT_MAX];
    char line[1024];
    if (d->failure[0] && f->extent.rank == 0)
        return;
    (void)file;
    int n = snprintf(line, sizeof line, "%s %s, ",
                     f->extent.rank ? pack_shape_format(&f->extent, extent) : "scalar",
                     pack_type_format(&f->type, type));
    if (f->layout == PACK_LAYOUT_CHUNKED)
        n += snprintf(line + n, sizeof line - (size_t)n, "%s of %s, %.100s, ",
                      pack_counted(f->n_chunks_stored, "chunk", "chunks").text,
                      pack_shape_format(&f->chunk, chunk),
                      pack_pipeline_format(&f->pipeline, filters));
    else
        n += snprintf(line + n, sizeof line - (size_t)n, "%s, ", pack_facts_layout_name(f));
    snprintf(line + n, sizeof line - (size_t)n, "%s stored",
             pack_bytes_format(f->stored_bytes, size));
    LINE(page, "  /%s\n", pack_name_text(f->path + strspn(f->path, "/"), name));
    pack_page_wrap(page, "      ", line, 6);
}

static void
put_reading(struct page *page, const struct pack_audit_reading *r)
{
    char rate[16], other[16], line[320];
    if (!r->is_known) {
        if (r->why_not[0])
            pack_page_wrap(page, "      not priced: ", r->why_not, 6);
        return;
    }
    int n =
        snprintf(line, sizeof line,
                 "read as asked: %s samples/s predicted, %s reads of the file and %s "
                 "bytes for each byte wanted",
                 pack_short_rate(r->rate, rate), pack_figure(r->loads_per_sample).text,
                 pack_figure(r->amplification).text);
    if (r->rate_1 > 1.05 * r->rate_2 || r->rate_2 > 1.05 * r->rate_1)
        n += snprintf(line + n, sizeof line - (size_t)n,
                      "; with the default cache of HDF5 1.x %s, of 2.x %s",
                      pack_short_rate(r->rate_1, rate), pack_short_rate(r->rate_2, other));
    if (r->has_advice && !r->is_kept)
        snprintf(line + n, sizeof line - (size_t)n, "; another layout gives %s",
                 pack_short_rate(r->advised_rate, rate));
    else if (r->has_advice && r->advised_rate > 0)
        snprintf(line + n, sizeof line - (size_t)n, "; another cache gives %s",
                 pack_short_rate(r->advised_rate, rate));
    else if (r->has_advice)
        snprintf(line + n, sizeof line - (size_t)n, "; no other layout is worth a rewrite");
    pack_page_wrap(page, "      ", line, 6);
}

/* Of what could not be read, whatever else is told. */
static void
put_unread(struct page *page, const struct pack_audit_file *file)
{
    char lead[PACK_NAME_TEXT_MAX + 40], name[PACK_NAME_TEXT_MAX];
    for (size_t i = 0; file->contents && i < file->survey.n_datasets; i++) {
        const char *path = file->survey.datasets[i].facts.path;
        if (!file->contents[i].why_not[0])
            continue;
        snprintf(lead, sizeof lead, "  /%s: samples could not be read: ",
                 pack_name_text(path + strspn(path, "/"), name));
        pack_page_wrap(page, lead, file->contents[i].why_not, 6);
    }
    if (file->contents_why_not[0])
        pack_page_wrap(page, "  not all samples were looked at: ", file->contents_why_not, 6);
}

static void
put_file(struct page *page, const struct pack_audit_result *result, size_t i, bool is_brief)
{
    const struct pack_audit_file *file = &result->files[i];
    char left_out[PACK_AUDIT_LEFT_OUT_MAX];
    put_verdict(page, result, i);
    for (size_t k = 0; k < result->n_findings; k++)
        if (result->findings[k].file == i)
            put_finding(page, &result->findings[k]);
    for (size_t k = 0; k < file->n_readings && !is_brief; k++) {
        put_facts(page, file, &file->survey.datasets[file->readings[k].set]);
        put_reading(page, &file->readings[k]);
    }
    if (file->n_small && file->n_readings && !is_brief)
        LINE(page, "  %s not priced: small, a series of single numbers, or no numbers\n",
             pack_counted(file->n_small, "dataset is", "datasets are").text);
    put_unread(page, file);
    if (pack_report_audit_left_out(file, left_out))
        LINE(page, "  %s\n", left_out);
    if (file->n_passed_over)
        LINE(page, "  %s not priced: only the largest %d are\n",
             pack_counted(file->n_passed_over, "dataset is", "datasets are").text,
             PACK_AUDIT_SETS_MAX);
}

/* "fixed: out.h5, 12 MiB from 24 MiB: H5A102 /images", and the audit of that. */
static void
put_fixed(struct page *page, const struct pack_audit_report *report)
{
    const struct pack_audit_applied *a = report->applied;
    const struct pack_audit_result *r = report->result;
    char name[PACK_NAME_TEXT_MAX], size[PACK_BYTES_TEXT_MAX], before[PACK_BYTES_TEXT_MAX];
    LINE(page, "\n");
    if (!a->is_written) {
        LINE(page, "%s: not written, as nothing was found for which another layout or\n"
                   "      other filters are worth a rewrite\n",
             pack_name_text(report->output, name));
        return;
    }
    LINE(page, "fixed: %s, %s from %s\n", pack_name_text(report->output, name),
         pack_bytes_format(a->output_bytes, size), pack_bytes_format(a->input_bytes, before));
    for (size_t i = 0; i < a->n_specs; i++)
        LINE(page, "  /%s\n", pack_name_text(a->specs[i], name));
    for (size_t i = 0; i < r->n_findings; i++) {
        const struct pack_audit_finding *f = &r->findings[i];
        if (pack_audit_is_mended(a, f))
            LINE(page, "  H5A%03d %s%s: gone\n", f->finding.code, f->dataset ? "/" : "of the file",
                 f->dataset ? pack_name_text(f->dataset, name) : "");
    }
    for (size_t i = 0; i < a->after.n_files; i++)
        put_file(page, &a->after, i, report->is_brief);
}

enum pack_status
pack_report_audit_text(const struct pack_audit_report *report, struct pack_buf *buf,
                       struct pack_error *err)
{
    struct page page = { buf, PACK_OK, err };
    const struct pack_audit_result *r = report->result;
    for (size_t i = 0; i < r->n_files; i++)
        put_file(&page, r, i, report->is_brief);
    if (report->applied)
        put_fixed(&page, report);
    return page.status;
}
