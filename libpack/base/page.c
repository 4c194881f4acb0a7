#include "libpack/base/page.h"

#include "libpack/base/name.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 79 };

/* A word; what would end the line, or is no UTF-8, in hex. */
static void
put_word(struct page *page, const char *word, size_t size)
{
    char form[8];
    size_t n;
    for (const char *end = word + size; word < end;) {
        word += pack_name_visible(word, form, &n);
        LINE(page, "%.*s", (int)n, form);
    }
}

void
pack_page_wrap(struct page *page, const char *lead, const char *sentence, int indent)
{
    int at = (int)strlen(lead);
    LINE(page, "%s", lead);
    for (bool first = true; *sentence; first = false) {
        int word = (int)strcspn(sentence, " ");
        if (!first && at + 1 + word > WIDTH) {
            LINE(page, "\n%*s", indent, "");
            at = indent;
        } else if (!first) {
            LINE(page, " ");
            at++;
        }
        put_word(page, sentence, (size_t)word);
        at += word;
        sentence += word + strspn(sentence + word, " ");
    }
    LINE(page, "\n");
}

const char *
pack_option_word(const struct pack_option_word *words, const char *param)
{
    for (; words && words->param; words++)
        if (strcmp(words->param, param) == 0)
            return words->option;
    return param;
}

char *
pack_option_text(const struct pack_option_word *words, const char *sentence, char *text,
                 size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    while (*sentence && used < size - 1) {
        char param[64];
        int end = 0;
        if (sscanf(sentence, "{%63[a-z0-9_]}%n", param, &end) == 1 && end > 0) {
            int n = snprintf(text + used, size - used, "%s", pack_option_word(words, param));
            used += (size_t)n < size - used ? (size_t)n : size - used - 1;
            sentence += end;
        } else {
            text[used++] = *sentence++;
            text[used] = '\0';
        }
    }
    return text;
}
