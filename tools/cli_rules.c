/* Options that mean something only beside others; see struct cli_rule. */
#include "tools/cli.h"

#include <stdio.h>
#include <string.h>

enum { OPTION_NAME_MAX = 64, SENTENCE_MAX = 256 };

/* The next of the names apart by "|", into name; NULL at the end. */
static const char *
next_name(const char *names, char name[OPTION_NAME_MAX])
{
    if (!names || !*names)
        return NULL;
    size_t n = strcspn(names, "|");
    snprintf(name, OPTION_NAME_MAX, "%.*s", (int)n, names);
    return names + n + (names[n] == '|');
}

static bool
is_there(const char *name, size_t n_operands)
{
    return strcmp(name, "FILE") == 0 ? n_operands > 0 : cli_is_given(name);
}

/* The first of the names that is given, into name. */
static bool
find_given(const char *names, size_t n_operands, char name[OPTION_NAME_MAX])
{
    while ((names = next_name(names, name)) != NULL)
        if (is_there(name, n_operands))
            return true;
    return false;
}

/* "--echo", "FILE or --images", "FILE, --shape or --images". */
static const char *
list_names(const char *names, char text[SENTENCE_MAX])
{
    char name[OPTION_NAME_MAX];
    int used = 0;
    text[0] = '\0';
    while ((names = next_name(names, name)) != NULL)
        used += snprintf(text + used, SENTENCE_MAX - (size_t)used, "%s%s%s",
                         used == 0  ? ""
                         : *names ? ", "
                                    : " or ",
                         strcmp(name, "FILE") == 0 ? "" : "--", name);
    return text;
}

enum pack_status
cli_check_rules(const struct cli_rule *rules, size_t n, size_t n_operands,
                struct pack_error *err)
{
    char name[OPTION_NAME_MAX], list[SENTENCE_MAX];
    for (size_t i = 0; i < n; i++) {
        const struct cli_rule *r = &rules[i];
        if (!cli_is_given(r->option))
            continue;
        if (r->with && !find_given(r->with, n_operands, name))
            return pack_fail(err, PACK_ERR_ARGUMENT, "--%s goes with %s", r->option,
                             list_names(r->with, list));
        if (find_given(r->without, n_operands, name))
            return pack_fail(err, PACK_ERR_ARGUMENT, "--%s does not go with %s%s",
                             r->option, strcmp(name, "FILE") == 0 ? "" : "--", name);
    }
    return PACK_OK;
}
