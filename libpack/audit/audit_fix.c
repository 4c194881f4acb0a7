/* What mends which finding: bits, and the command that does it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/advise/snippet.h"
#include "libpack/audit/audit_parts.h"
#include "libpack/base/name.h"
#include "libpack/base/page.h"

/* ----------------------------------------------------------------- filters */

static bool
is_dropped(uint32_t id, unsigned fix)
{
    return (id == PACK_FILTER_SHUFFLE &&
            fix & (PACK_AUDIT_FIX_NO_SHUFFLE | PACK_AUDIT_FIX_BYTES)) ||
           (id != PACK_FILTER_FLETCHER32 && fix & PACK_AUDIT_FIX_NO_FILTERS);
}

bool
pack_audit_has_checksum(const struct pack_pipeline *pipeline)
{
    for (int i = 0; i < pipeline->n; i++)
        if (pipeline->filter[i].id == PACK_FILTER_FLETCHER32)
            return true;
    return false;
}

char *
pack_audit_with_checksum(const char *filters, char text[PACK_PIPELINE_TEXT_MAX])
{
    static const char checksum[] = "fletcher32";
    bool is_none = strcmp(filters, "none") == 0, has = strstr(filters, checksum) != NULL;
    snprintf(text, PACK_PIPELINE_TEXT_MAX, "%s%s%s", is_none ? "" : filters,
             is_none || has ? "" : "+", has ? "" : checksum);
    return text;
}

const struct pack_audit_plan *
pack_audit_plan_of(const struct pack_audit_reading *reading, unsigned fix)
{
    static const unsigned order[] = { PACK_AUDIT_FIX_LAYOUT, PACK_AUDIT_FIX_BYTES,
                                      PACK_AUDIT_FIX_COMPRESS, PACK_AUDIT_FIX_NO_FILTERS,
                                      PACK_AUDIT_FIX_ZSTD };
    for (size_t i = 0; reading && i < sizeof order / sizeof *order; i++)
        for (size_t k = 0; fix & order[i] && k < reading->n_plans; k++)
            if (reading->plans[k].fix == order[i])
                return &reading->plans[k];
    return NULL;
}

char *
pack_audit_filters(const struct pack_facts *facts, unsigned fix,
                   const struct pack_audit_reading *reading,
                   char text[PACK_PIPELINE_TEXT_MAX])
{
    static const uint32_t level = 3;
    const struct pack_pipeline *pipeline = &facts->pipeline;
    const struct pack_audit_plan *plan =
        pack_audit_plan_of(reading, fix & (PACK_AUDIT_FIX_LAYOUT | PACK_AUDIT_FIX_BYTES));
    const char *advised = plan ? plan->filters : NULL;
    struct pack_pipeline changed = { 0 };
    if (fix & PACK_AUDIT_FIX_COMPRESS)
        advised = facts->type.bytes > 1 ? "shuffle+zstd:3" : "zstd:3";
    if (advised)
        return pack_audit_has_checksum(pipeline) ? pack_audit_with_checksum(advised, text)
                                                 : strcpy(text, advised);
    for (int i = 0; i < pipeline->n; i++) {
        const struct pack_filter *f = &pipeline->filter[i];
        if (is_dropped(f->id, fix))
            continue;
        if (f->id == PACK_FILTER_DEFLATE && fix & PACK_AUDIT_FIX_ZSTD)
            (void)pack_pipeline_add(&changed, PACK_FILTER_ZSTD, PACK_FILTER_OPTIONAL, 1,
                                    &level, NULL);
        else
            changed.filter[changed.n++] = *f;
    }
    return pack_pipeline_format(&changed, text);
}

/* What has no chunks gets some, of whole samples and about 64 KiB, where no plan has others. */
char *
pack_audit_chunk(const struct pack_facts *facts, unsigned fix,
                 const struct pack_audit_reading *reading, char text[PACK_SHAPE_TEXT_MAX])
{
    enum { CHUNK_BYTES = 64 << 10 };
    uint64_t samples = facts->extent.rank ? facts->extent.extent[0] : 0;
    uint64_t bytes = samples ? facts->logical_bytes / samples : 0;
    if (fix & PACK_AUDIT_FIX_BYTES)
        bytes /= facts->type.bytes;
    const struct pack_audit_plan *plan = pack_audit_plan_of(reading, fix);
    text[0] = '\0';
    if (plan && plan->chunk[0])
        return strcpy(text, plan->chunk);
    if (facts->layout != PACK_LAYOUT_CHUNKED)
        snprintf(text, PACK_SHAPE_TEXT_MAX, "%llu",
                 (unsigned long long)(bytes && bytes < CHUNK_BYTES ? CHUNK_BYTES / bytes : 1));
    return text;
}

/* ---------------------------------------------------------------- commands */

static const struct {
    int code;
    unsigned fix;
} fixes[] = {
    { 102, PACK_AUDIT_FIX_LAYOUT },     { 103, PACK_AUDIT_FIX_LAYOUT },
    { 104, PACK_AUDIT_FIX_LAYOUT },     { 105, PACK_AUDIT_FIX_LAYOUT },
    { 106, PACK_AUDIT_FIX_LAYOUT },     { 107, PACK_AUDIT_FIX_LAYOUT },
    { 205, PACK_AUDIT_FIX_LAYOUT },     { 401, PACK_AUDIT_FIX_NO_SHUFFLE },
    { 403, PACK_AUDIT_FIX_NO_FILTERS }, { 404, PACK_AUDIT_FIX_ZSTD },
    { 405, PACK_AUDIT_FIX_BYTES },      { 406, PACK_AUDIT_FIX_COMPRESS },
    { 501, PACK_AUDIT_FIX_OTHER },      { 502, PACK_AUDIT_FIX_OTHER },
    { 510, PACK_AUDIT_FIX_COPY },       { 605, PACK_AUDIT_FIX_MIX },
};

unsigned
pack_audit_fix_of(int code)
{
    unsigned fix = 0;
    for (size_t i = 0; i < sizeof fixes / sizeof *fixes; i++)
        if (fixes[i].code == code)
            fix = fixes[i].fix;
    return fix;
}

/* What mends a finding of a dataset, as far as h5rechunk can. */
static unsigned
fix_of(int code, const struct pack_facts *facts, const struct pack_audit_reading *reading)
{
    unsigned fix = pack_audit_fix_of(code);
    if (fix & PACK_AUDIT_FIX_LAYOUT)
        return reading && reading->has_advice && !reading->is_kept ? fix : 0;
    if (fix & (PACK_AUDIT_FIX_COPY | PACK_AUDIT_FIX_OTHER))
        return fix;
    bool has_place = facts && (facts->layout == PACK_LAYOUT_CHUNKED ||
                               (facts->layout == PACK_LAYOUT_CONTIGUOUS &&
                                facts->n_external == 0 && fix & PACK_AUDIT_FIX_NAMED));
    return has_place && pack_pipeline_is_known(&facts->pipeline, NULL) ? fix : 0;
}

static void
put_operand(struct page *page, const char *file, const char *dataset)
{
    struct pack_buf operand = { 0 };
    struct page name = { &operand, page->status, page->err };
    LINE(&name, "%s:/%s", file, dataset);
    page->status = name.status;
    if (page->status == PACK_OK)
        page->status = pack_buf_append(&operand, "", 1, page->err);
    if (page->status == PACK_OK)
        page->status = pack_name_word((const char *)operand.data, page->text, page->err);
    pack_buf_done(&operand);
}

static void
put_rechunk(struct page *page, const char *file, const struct pack_facts *facts,
            const struct pack_audit_reading *reading, unsigned fix)
{
    char filters[PACK_PIPELINE_TEXT_MAX], today[PACK_PIPELINE_TEXT_MAX],
        chunk[PACK_SHAPE_TEXT_MAX];
    LINE(page, "h5rechunk ");
    put_operand(page, file, facts->path + strspn(facts->path, "/"));
    if (pack_audit_chunk(facts, fix, reading, chunk)[0])
        LINE(page, " --chunk %s", chunk);
    pack_audit_filters(facts, fix, reading, filters);
    if (fix & PACK_AUDIT_FIX_BYTES)
        LINE(page, " --as uint8");
    if (fix & PACK_AUDIT_FIX_MIX) /* all that lies beside these labels, in step */
        LINE(page, " --shuffle");
    else if (!(fix & PACK_AUDIT_FIX_BYTES) ||
             strcmp(filters, pack_pipeline_format(&facts->pipeline, today)) != 0)
        LINE(page, " --compress %s", filters);
    LINE(page, " -o %s", pack_snippet_new_file(file));
}

static void
put_word(struct page *page, const char *lead, const char *file, const char *rest)
{
    LINE(page, "%s", lead);
    if (page->status == PACK_OK)
        page->status = pack_name_word(file, page->text, page->err);
    LINE(page, "%s", rest);
}

enum pack_status
pack_audit_mend(const struct pack_finding *finding, const char *file,
                const struct pack_facts *facts, const struct pack_audit_reading *reading,
                struct pack_audit_mending *mending, struct pack_error *err)
{
    static const double slack = 1.02;
    struct pack_buf text = { 0 };
    struct page page = { &text, PACK_OK, err };
    *mending = (struct pack_audit_mending){ .fix = fix_of(finding->code, facts, reading) };
    const struct pack_audit_plan *plan = pack_audit_plan_of(reading, mending->fix);
    if (plan && plan->bytes > slack * (double)facts->stored_bytes)
        mending->grown_bytes = plan->bytes;
    for (size_t i = 0; plan && i < plan->n_left; i++)
        mending->left[mending->n_left++] = plan->left[i];
    if (finding->code == 501) {
        LINE(&page, "h5audit --salvage %s ", pack_snippet_new_file(file));
        put_word(&page, "", file, "");
    } else if (mending->fix & PACK_AUDIT_FIX_OTHER) {
        put_word(&page, "h5clear -s ", file, "");
    } else if (mending->fix & PACK_AUDIT_FIX_COPY) {
        put_word(&page, "h5repack ", file, " ");
        LINE(&page, "%s", pack_snippet_new_file(file));
    } else if (mending->fix) {
        put_rechunk(&page, file, facts, reading, mending->fix);
    }
    if (page.status == PACK_OK && text.size > 0 &&
        (page.status = pack_buf_append(&text, "", 1, err)) == PACK_OK &&
        !(mending->command = strdup((const char *)text.data)))
        page.status = pack_fail_memory(err, "a command");
    pack_buf_done(&text);
    return page.status;
}

const struct pack_survey_dataset *
pack_audit_copied(const struct pack_audit_file *file)
{
    for (size_t i = 0; i < file->survey.n_datasets; i++) {
        const struct pack_survey_dataset *d = &file->survey.datasets[i];
        if (!d->failure[0] && d->facts.layout == PACK_LAYOUT_CHUNKED &&
            pack_pipeline_is_known(&d->facts.pipeline, NULL))
            return d;
    }
    return NULL;
}

enum pack_status
pack_audit_fix_all(const struct pack_audit_result *r, const char *operand,
                   struct pack_buf *text, struct pack_error *err)
{
    struct page page = { text, PACK_OK, err };
    unsigned fix = 0;
    for (size_t i = 0; i < r->n_findings; i++)
        fix |= r->findings[i].fix;
    fix &= ~(unsigned)(PACK_AUDIT_FIX_OTHER | PACK_AUDIT_FIX_NAMED);
    if (r->n_files != 1 || !fix ||
        (fix == PACK_AUDIT_FIX_COPY && !pack_audit_copied(&r->files[0])))
        return PACK_OK;
    LINE(&page, "h5audit --fix %s ", pack_snippet_new_file(r->files[0].path));
    put_word(&page, "", operand, "");
    return page.status == PACK_OK ? pack_buf_append(text, "", 1, err) : page.status;
}
