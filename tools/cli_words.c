/* A text taken apart as by a shell, without anything that a shell would put in. */
#include "tools/cli.h"

#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t\n";

/* Copies the word at *at to `to`, moves *at behind it; false: a quote does not end. */
static bool
copy_word(const char **at, char **to)
{
    char quote = '\0';
    for (; **at && (quote || !strchr(blanks, **at)); (*at)++) {
        bool escapes = **at == '\\' && quote != '\'' && (*at)[1];
        if (escapes)
            *(*to)++ = *++(*at);
        else if (quote && **at == quote)
            quote = '\0';
        else if (!quote && (**at == '\'' || **at == '"'))
            quote = **at;
        else
            *(*to)++ = **at;
    }
    *(*to)++ = '\0';
    return quote == '\0';
}

enum pack_status
cli_words_split(const char *text, struct cli_words *words, struct pack_error *err)
{
    size_t size = strlen(text) + 1;
    struct cli_words made = { .text = malloc(size), /* a word is no longer than it was */
                              .word = calloc(size, sizeof *made.word) };
    char *to = made.text;
    bool is_whole = true;
    if (!made.text || !made.word) {
        cli_words_free(&made);
        return pack_fail_memory(err, "options");
    }
    for (text += strspn(text, blanks); *text && is_whole; text += strspn(text, blanks)) {
        made.word[made.n++] = to;
        is_whole = copy_word(&text, &to);
    }
    *words = made;
    return is_whole ? PACK_OK
                    : pack_fail(err, PACK_ERR_ARGUMENT, "a quote has no end: %.80s",
                                made.word[made.n - 1]);
}

void
cli_words_free(struct cli_words *words)
{
    free(words->text);
    free(words->word);
    *words = (struct cli_words){ .n = 0 };
}
