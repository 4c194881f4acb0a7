#include "libpack/base/page.h"

#include <stdbool.h>
#include <string.h>

enum { WIDTH = 79 };

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
        LINE(page, "%.*s", word, sentence);
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
