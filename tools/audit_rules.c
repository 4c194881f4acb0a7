#include "config.h"

#include "tools/audit_rules.h"

#include <stdlib.h>

#include "libpack/base/page.h"
#include "libpack/findings/rules.h"
#include "libpack/findings/severity.h"

enum pack_status
audit_rules_list(struct pack_buf *text, struct pack_error *err)
{
    struct page page = { text, PACK_OK, err };
    const struct pack_rule *rule;
    for (size_t i = 0; (rule = pack_rule_at(i)) != NULL; i++)
        LINE(&page, "H5A%03d %-6s %-22s %s\n", rule->code,
             pack_finding_severity_name(rule->severity), rule->id, rule->title);
    return page.status;
}

/* "Thresholds: factor=2, ...; bytes=65536, ...", and a NUL. */
static enum pack_status
describe_thresholds(const struct pack_rule *rule, struct pack_buf *words,
                    struct pack_error *err)
{
    struct page page = { words, PACK_OK, err };
    for (int i = 0; i < PACK_RULE_THRESHOLDS_MAX && rule->threshold[i].name; i++)
        LINE(&page, "%s %s=%.10g (%s)", i ? "," : "Thresholds:", rule->threshold[i].name,
             rule->threshold[i].value, rule->threshold[i].what);
    return page.status == PACK_OK ? pack_buf_append(words, ".", 2, err) : page.status;
}

enum pack_status
audit_rules_explain(const char *name, struct pack_buf *text, struct pack_error *err)
{
    struct page page = { text, PACK_OK, err };
    const struct pack_rule *rule = pack_rule_find(name);
    if (!rule)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--explain: no rule is called '%.40s'; --list-rules has all",
                         name);
    LINE(&page, "H5A%03d %s (%s): %s\n", rule->code, rule->id,
         pack_finding_severity_name(rule->severity), rule->title);
    pack_page_wrap(&page, "", rule->why, 0);
    if (page.status != PACK_OK || !rule->threshold[0].name)
        return page.status;
    struct pack_buf words = { 0 };
    page.status = describe_thresholds(rule, &words, err);
    if (page.status == PACK_OK)
        pack_page_wrap(&page, "", (const char *)words.data, 0);
    pack_buf_done(&words);
    return page.status;
}

enum pack_status
audit_rules_codes(const char *option, const struct cli_texts *names, int **codes,
                  struct pack_error *err)
{
    *codes = calloc(names->n + 1, sizeof **codes);
    if (!*codes)
        return pack_fail_memory(err, "a list of rules");
    for (size_t i = 0; i < names->n; i++) {
        const struct pack_rule *rule = pack_rule_find(names->text[i]);
        if (!rule)
            return pack_fail(err, PACK_ERR_ARGUMENT,
                             "%s: no rule is called '%.40s'; --list-rules has all", option,
                             names->text[i]);
        (*codes)[i] = rule->code;
    }
    return PACK_OK;
}
