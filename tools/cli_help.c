/* --help, out of the same table that words are parsed by. */
#include "tools/cli.h"

#include <stdio.h>
#include <string.h>

enum { HELP_COLUMN = 30, HELP_WIDTH = 80 };

/* Prints text from column `at`, wrapped, later lines indented to HELP_COLUMN. */
static void
wrap(const char *text, int at)
{
    while (*text) {
        size_t word = strcspn(text, " ");
        if (at > HELP_COLUMN && at + 1 + (int)word > HELP_WIDTH) {
            printf("\n%*s", HELP_COLUMN, "");
            at = HELP_COLUMN;
        } else if (at > HELP_COLUMN) {
            putchar(' ');
            at++;
        }
        printf("%.*s", (int)word, text);
        at += (int)word;
        text += word + strspn(text + word, " ");
    }
    putchar('\n');
}

static void
help_option(const struct cli_option *option)
{
    if (option->kind == CLI_KIND_SECTION) {
        printf("\n%s:\n", option->name);
        return;
    }
    char letter[8] = "    ";
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    int at = printf("  %s--%s%s%s", letter, option->name, option->value ? " " : "",
                    option->value ? option->value : "");
    if (at + 2 > HELP_COLUMN) {
        putchar('\n');
        at = 0;
    }
    printf("%*s", HELP_COLUMN - at, "");
    wrap(option->help, HELP_COLUMN);
}

void
cli_help(const struct cli_program *program)
{
    const char *line = program->synopsis;
    printf("%s - %s\n\n", program->name, program->purpose);
    for (bool first = true; *line; first = false) {
        size_t length = strcspn(line, "\n");
        printf("%s %s %.*s\n", first ? "usage:" : "      ", program->name, (int)length,
               line);
        line += length + (line[length] == '\n');
    }
    for (const struct cli_option *o = program->options; o->kind != CLI_KIND_END; o++)
        help_option(o);
    for (const struct cli_option *o = cli_common_options; o->kind != CLI_KIND_END; o++)
        help_option(o);
    if (program->epilogue)
        printf("\n%s", program->epilogue);
}
