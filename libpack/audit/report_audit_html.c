/* The page: verdict first, findings by price with what mends them, the map, what there is. */
#include <stdio.h>
#include <string.h>

#include "libpack/audit/audit_parts.h"
#include "libpack/audit/report_audit.h"
#include "libpack/base/name.h"
#include "libpack/base/numbers.h"
#include "libpack/base/size.h"
#include "libpack/base/web.h"
#include "libpack/findings/rules.h"

static size_t
count_of(const struct pack_audit_result *r, enum pack_finding_severity severity)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_findings; i++)
        n += r->findings[i].finding.severity == severity;
    return n;
}

static const char *
tone_of(const struct pack_audit_result *r)
{
    if (r->n_failed || !pack_audit_is_read(r) || count_of(r, PACK_FINDING_HAZARD))
        return "bad";
    return count_of(r, PACK_FINDING_COST) ? "mild" : "good";
}

/* Of all files. */
static const struct pack_audit_finding *
find_worst(const struct pack_audit_result *r)
{
    const struct pack_audit_finding *worst = &r->findings[0];
    for (size_t i = 1; i < r->n_findings; i++) {
        const struct pack_finding *f = &r->findings[i].finding, *g = &worst->finding;
        if (f->severity != g->severity    ? f->severity > g->severity
            : f->price_s != g->price_s    ? f->price_s > g->price_s
                                          : f->price_bytes > g->price_bytes)
            worst = &r->findings[i];
    }
    return worst;
}

/* "First of all, train.h5, /images: ...". */
static void
put_worst(const struct pack_audit_result *r, struct page *page)
{
    const struct pack_audit_finding *worst = find_worst(r);
    char name[PACK_NAME_TEXT_MAX];
    LINE(page, ".\nFirst of all");
    if (r->n_files > 1)
        LINE(page, ", %s", pack_name_text(r->files[worst->file].path, name));
    if (worst->dataset)
        LINE(page, ", /%s", pack_name_text(worst->dataset, name));
    LINE(page, ": %s", worst->finding.evidence);
}

/* "1 hazard, 2 costs in 3 files; 1 file could not be looked at", and the worst of it. */
static void
put_verdict(const struct pack_audit_result *r, struct page *page)
{
    static const char *const words[][2] = {
        [PACK_FINDING_NOTE] = { "note", "notes" },
        [PACK_FINDING_COST] = { "cost", "costs" },
        [PACK_FINDING_HAZARD] = { "hazard", "hazards" },
    };
    const char *gap = "";
    for (int severity = PACK_FINDING_HAZARD; severity >= PACK_FINDING_NOTE; severity--) {
        size_t n = count_of(r, (enum pack_finding_severity)severity);
        if (n > 0) {
            LINE(page, "%s%s", gap, pack_counted(n, words[severity][0], words[severity][1]).text);
            gap = ", ";
        }
    }
    LINE(page, "%s", *gap ? "" : "Nothing found");
    if (r->n_files > 1)
        LINE(page, " in %zu files", r->n_files);
    if (r->n_failed)
        LINE(page, "; %s could not be looked at", pack_counted(r->n_failed, "file", "files").text);
    if (!pack_audit_is_read(r))
        LINE(page, "; not all samples could be read");
    if (pack_audit_worst(r) >= PACK_FINDING_COST)
        put_worst(r, page);
    if (page->status == PACK_OK)
        page->status = pack_buf_append(page->text, "", 1, page->err);
}

static void
put_paragraph(struct page *page, const char *lead, const char *text)
{
    LINE(page, "<p>%s", lead);
    pack_web_text(page, text);
    LINE(page, "</p>\n");
}

static void
put_finding(struct page *page, const struct pack_audit_finding *a)
{
    const struct pack_finding *f = &a->finding;
    const struct pack_rule *rule = pack_rule_of(f->code);
    const char *severity = pack_finding_severity_name(f->severity);
    char price[PACK_AUDIT_PRICE_MAX], name[PACK_NAME_TEXT_MAX];
    LINE(page, "<article>\n<h3><span class=\"tag %s\">%s</span>H5A%03d", severity, severity,
         f->code);
    if (a->dataset) {
        LINE(page, " /");
        pack_web_text(page, pack_name_text(a->dataset, name));
    }
    LINE(page, "</h3>\n");
    put_paragraph(page, "", f->evidence);
    if (pack_report_audit_price(f, price))
        put_paragraph(page, "<b>Price:</b> ", price);
    if (f->remedy[0])
        put_paragraph(page, "<b>Do:</b> ", f->remedy);
    if (a->command[0])
        pack_web_code(page, a->command);
    if (pack_report_audit_growth(a, price))
        put_paragraph(page, "", price);
    if (rule) {
        LINE(page, "<details><summary>Why %s matters</summary>\n", rule->id);
        put_paragraph(page, "", rule->why);
        LINE(page, "</details>\n");
    }
    LINE(page, "</article>\n");
}

/* Samples that could not be read. */
static void
put_unread(struct page *page, const struct pack_audit_file *file)
{
    char name[PACK_NAME_TEXT_MAX];
    for (size_t i = 0; file->contents && i < file->survey.n_datasets; i++) {
        const char *path = file->survey.datasets[i].facts.path;
        if (!file->contents[i].why_not[0])
            continue;
        LINE(page, "<p><b>Samples of /");
        pack_web_text(page, pack_name_text(path + strspn(path, "/"), name));
        LINE(page, " could not be read:</b> ");
        pack_web_text(page, file->contents[i].why_not);
        LINE(page, "</p>\n");
    }
    if (file->contents_why_not[0])
        put_paragraph(page, "<b>Not all samples were looked at:</b> ", file->contents_why_not);
}

static void
put_file(struct page *page, const struct pack_audit_report *report, size_t i)
{
    const struct pack_audit_result *r = report->result;
    const struct pack_audit_file *file = &r->files[i];
    char name[PACK_NAME_TEXT_MAX], size[PACK_BYTES_TEXT_MAX],
        left_out[PACK_AUDIT_LEFT_OUT_MAX];
    size_t n = 0;
    if (r->n_files > 1)
        pack_web_head(page, pack_name_text(file->path, name));
    if (file->status != PACK_OK) {
        put_paragraph(page, "", file->failure.text);
        return;
    }
    LINE(page, "<p><small>%s, %s</small></p>\n",
         pack_bytes_format(file->survey.file.file_bytes, size),
         pack_counted(file->survey.file.n_datasets, "dataset", "datasets").text);
    put_unread(page, file);
    if (pack_report_audit_left_out(file, left_out))
        put_paragraph(page, "", left_out);
    for (size_t k = 0; k < r->n_findings; k++)
        if (r->findings[k].file == i) {
            put_finding(page, &r->findings[k]);
            n++;
        }
    if (n == 0)
        LINE(page, "<p>Nothing found.</p>\n");
}

/* What mends all that is mended so, in one go, where the command finds the same. */
static void
put_fix(struct page *page, const struct pack_audit_report *report)
{
    const struct pack_audit_result *r = report->result;
    struct pack_buf text = { 0 };
    if (report->output || !report->is_plain || page->status != PACK_OK)
        return;
    page->status = pack_audit_fix_all(r, report->params->files[0], &text, page->err);
    if (page->status != PACK_OK || text.size == 0) {
        pack_buf_done(&text);
        return;
    }
    pack_web_head(page, "All of it at once, as far as a rewrite mends it");
    pack_web_code(page, (const char *)text.data);
    pack_buf_done(&text);
}

/* The report that is printed, as it is, behind what can be opened. */
static void
put_rest(struct page *page, const struct pack_audit_report *report)
{
    struct pack_buf text = { 0 };
    if (page->status == PACK_OK)
        page->status = pack_report_audit_text(report, &text, page->err);
    LINE(page, "<details><summary>The whole report, with what was read of each dataset"
               "</summary>\n");
    if (page->status == PACK_OK)
        pack_web_report(page, (const char *)text.data, text.size);
    LINE(page, "</details>\n");
    pack_buf_done(&text);
}

enum pack_status
pack_report_audit_html(const struct pack_audit_report *report, const struct pack_buf *map,
                       struct pack_buf *buf, struct pack_error *err)
{
    const struct pack_audit_result *r = report->result;
    struct page page = { buf, PACK_OK, err };
    struct pack_buf text = { 0 };
    struct page verdict = { &text, PACK_OK, err };
    char title[PACK_NAME_TEXT_MAX + 16], name[PACK_NAME_TEXT_MAX];
    put_verdict(r, &verdict);
    page.status = verdict.status;
    snprintf(title, sizeof title, "%s: %s", report->program,
             r->n_files == 1 ? pack_name_text(r->files[0].path, name) : "several files");
    pack_web_begin(&page, title, page.status == PACK_OK ? (const char *)text.data : "", tone_of(r));
    for (size_t i = 0; i < r->n_files; i++)
        put_file(&page, report, i);
    put_fix(&page, report);
    if (map)
        pack_web_drawing(&page, "What lies where", map->data, map->size);
    put_rest(&page, report);
    pack_web_end(&page, report->program, report->version);
    pack_buf_done(&text);
    return page.status;
}
