/* Which command mends which finding. */
#include <stdlib.h>
#include <string.h>

#include "libpack/advise/snippet.h"
#include "libpack/audit/audit_parts.h"
#include "libpack/base/name.h"
#include "libpack/base/page.h"

/* Rules that another layout mends. */
static bool
is_of_layout(int code)
{
    static const int codes[] = { 102, 103, 104, 105, 106, 107, 205 };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i] == code)
            return true;
    return false;
}

/* The filters without one of them, or with zstd in its place; "none" when none is left. */
static void
change_filters(const struct pack_pipeline *pipeline, uint32_t id, bool to_zstd, char *text)
{
    static const uint32_t level = 3;
    struct pack_pipeline changed = { 0 };
    for (int i = 0; i < pipeline->n; i++) {
        const struct pack_filter *f = &pipeline->filter[i];
        if (f->id != id)
            changed.filter[changed.n++] = *f;
        else if (to_zstd)
            (void)pack_pipeline_add(&changed, PACK_FILTER_ZSTD, PACK_FILTER_OPTIONAL, 1,
                                    &level, NULL);
    }
    pack_pipeline_format(&changed, text);
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
put_filters(struct page *page, const char *file, const struct pack_facts *facts,
            const char *filters)
{
    LINE(page, "h5rechunk ");
    put_operand(page, file, facts->path + strspn(facts->path, "/"));
    LINE(page, " --compress %s -o %s", filters, pack_snippet_new_file(file));
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
pack_audit_command(const struct pack_finding *finding, const char *file,
                   const struct pack_facts *facts, const struct pack_advise_config *config,
                   char **command, struct pack_error *err)
{
    char filters[PACK_PIPELINE_TEXT_MAX];
    struct pack_buf text = { 0 };
    struct page page = { &text, PACK_OK, err };
    bool is_known = facts && facts->layout == PACK_LAYOUT_CHUNKED &&
                    pack_pipeline_is_known(&facts->pipeline, NULL);
    if (config && is_of_layout(finding->code)) {
        page.status = pack_snippet_rechunk(file, facts->path + strspn(facts->path, "/"), config,
                                           &text, err);
    } else if (finding->code == 401 && is_known) {
        change_filters(&facts->pipeline, PACK_FILTER_SHUFFLE, false, filters);
        put_filters(&page, file, facts, filters);
    } else if (finding->code == 403 && is_known) {
        put_filters(&page, file, facts, "none");
    } else if (finding->code == 404 && is_known) {
        change_filters(&facts->pipeline, PACK_FILTER_DEFLATE, true, filters);
        put_filters(&page, file, facts, filters);
    } else if (finding->code == 502) {
        put_word(&page, "h5clear -s ", file, "");
    } else if (finding->code == 510) {
        put_word(&page, "h5repack ", file, " ");
        LINE(&page, "%s", pack_snippet_new_file(file));
    }
    if (page.status == PACK_OK && text.size > 0 &&
        (page.status = pack_buf_append(&text, "", 1, err)) == PACK_OK &&
        !(*command = strdup((const char *)text.data)))
        page.status = pack_fail_memory(err, "a command");
    pack_buf_done(&text);
    return page.status;
}
