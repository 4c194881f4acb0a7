/* A short list of what differs from the table of rules. */
#include "libpack/findings/thresholds.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "libpack/base/numbers.h"
#include "libpack/findings/rules.h"

static const struct pack_rule_threshold *
find(const struct pack_rule *rule, const char *name)
{
    for (int i = 0; i < PACK_RULE_THRESHOLDS_MAX && rule->threshold[i].name; i++)
        if (strcmp(rule->threshold[i].name, name) == 0)
            return &rule->threshold[i];
    return NULL;
}

double
pack_threshold(const struct pack_thresholds *t, int code, const char *name)
{
    for (size_t i = 0; t && i < t->n; i++)
        if (t->set[i].code == code && strcmp(t->set[i].name, name) == 0)
            return t->set[i].value;
    const struct pack_rule *rule = pack_rule_of(code);
    const struct pack_rule_threshold *own = rule ? find(rule, name) : NULL;
    assert(own);
    return own ? own->value : INFINITY;
}

/* "1.5", and of bytes "64K", "1.5MiB". */
static bool
read_value(const char *text, bool is_bytes, double *value)
{
    static const char units[] = "KMGT";
    char *end;
    *value = pack_double_read(text, &end);
    if (end == text || !isfinite(*value) || *value < 0)
        return false;
    const char *unit = is_bytes && *end ? strchr(units, *end) : NULL;
    if (unit) {
        *value = ldexp(*value, 10 * (int)(unit - units + 1));
        end += strcmp(end + 1, "iB") == 0 ? 3 : 1;
    }
    return *end == '\0';
}

/* One that was set before is replaced. */
static enum pack_status
set(struct pack_thresholds *t, int code, const char *name, double value,
    struct pack_error *err)
{
    size_t i = 0;
    while (i < t->n && (t->set[i].code != code || strcmp(t->set[i].name, name) != 0))
        i++;
    if (i == PACK_THRESHOLDS_MAX)
        return pack_fail(err, PACK_ERR_LIMIT, "there are more than %d thresholds",
                         PACK_THRESHOLDS_MAX);
    t->set[i].code = code;
    t->set[i].name = name;
    t->set[i].value = value;
    t->n += i == t->n;
    return PACK_OK;
}

enum pack_status
pack_thresholds_parse(const char *text, struct pack_thresholds *t, struct pack_error *err)
{
    char rule_name[64], name[32] = "";
    size_t before = strcspn(text, "="), length = strcspn(text, ".=");
    double value;
    if (text[before] != '=' || length >= sizeof rule_name ||
        before > length + sizeof name)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "'%.80s' is not a rule, '=' and a number, as H5A102=1.1", text);
    snprintf(rule_name, sizeof rule_name, "%.*s", (int)length, text);
    if (before > length)
        snprintf(name, sizeof name, "%.*s", (int)(before - length - 1),
                 text + length + 1);
    const struct pack_rule *rule = pack_rule_find(rule_name);
    if (!rule)
        return pack_fail(err, PACK_ERR_ARGUMENT, "no rule is called '%.40s'", rule_name);
    if (!rule->threshold[0].name)
        return pack_fail(err, PACK_ERR_ARGUMENT, "H5A%03d %s has no threshold",
                         rule->code, rule->id);
    const struct pack_rule_threshold *own =
        before > length ? find(rule, name) : &rule->threshold[0];
    if (!own)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "H5A%03d %s has no threshold '%s': %s%s%s", rule->code, rule->id,
                         name, rule->threshold[0].name,
                         rule->threshold[1].name ? ", " : "",
                         rule->threshold[1].name ? rule->threshold[1].name : "");
    if (!read_value(text + before + 1, strcmp(own->name, "bytes") == 0, &value))
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "'%.40s' is no number from 0 on, which '%s' of H5A%03d is",
                         text + before + 1, own->name, rule->code);
    return set(t, rule->code, own->name, value, err);
}
