#include "libpack/base/web.h"

#include <stdlib.h>
#include <string.h>

#include "libpack/base/markup.h"

static const char style[] =
    ":root{color-scheme:light dark;--back:#fff;--text:#1c1c1c;--soft:#666;--line:#ddd;"
    "--box:#f5f5f3;--good:#1b7837;--mild:#9a5b00;--bad:#b3261e}"
    "@media(prefers-color-scheme:dark){:root{--back:#161616;--text:#e4e4e4;--soft:#a0a0a0;"
    "--line:#3a3a3a;--box:#222;--good:#74c98a;--mild:#e6b35c;--bad:#ff8a80}}"
    "*{box-sizing:border-box}"
    "body{margin:0 auto;max-width:62rem;padding:1rem;background:var(--back);"
    "color:var(--text);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}"
    "h1{font-size:1.35rem;margin:.2rem 0}h2{font-size:1.05rem;margin:1.6rem 0 .4rem}"
    ".verdict{font-size:1.15rem;border-left:.35rem solid var(--line);padding:.3rem .8rem;"
    "white-space:pre-line}"
    ".good{border-color:var(--good)}.mild{border-color:var(--mild)}.bad{border-color:var(--bad)}"
    "article{border-top:1px solid var(--line);padding:.7rem 0}"
    "article h3{font-size:1rem;margin:0}article p{margin:.3rem 0}"
    ".tag{display:inline-block;border:1px solid;border-radius:.8rem;padding:0 .6rem;"
    "font-size:.8rem;margin-right:.4rem}"
    ".hazard{color:var(--bad)}.cost{color:var(--mild)}.note,small,footer{color:var(--soft)}"
    "pre{background:var(--box);padding:.6rem .8rem;border-radius:.4rem;overflow-x:auto;"
    "font-size:.82rem;line-height:1.4;overflow-wrap:normal}"
    "pre code{white-space:pre-wrap;overflow-wrap:anywhere}"
    ".drawing{background:#fff;border-radius:.4rem;overflow-x:auto}.drawing svg{max-width:100%;height:auto}"
    "footer{margin-top:2rem;font-size:.85rem}summary{color:var(--soft);cursor:pointer}";

void
pack_web_text(struct page *page, const char *text)
{
    if (page->status == PACK_OK)
        page->status = pack_markup_text(text, page->text, page->err);
}

void
pack_web_begin(struct page *page, const char *title, const char *verdict, const char *tone)
{
    LINE(page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
               "<title>");
    pack_web_text(page, title);
    LINE(page, "</title>\n<style>%s</style>\n</head>\n<body>\n<h1>", style);
    pack_web_text(page, title);
    LINE(page, "</h1>\n<p class=\"verdict %s\">", tone);
    pack_web_text(page, verdict);
    LINE(page, "</p>\n");
}

void
pack_web_head(struct page *page, const char *text)
{
    LINE(page, "<h2>");
    pack_web_text(page, text);
    LINE(page, "</h2>\n");
}

void
pack_web_code(struct page *page, const char *text)
{
    LINE(page, "<pre><code>");
    pack_web_text(page, text);
    LINE(page, "</code></pre>\n");
}

/* One paragraph, of n bytes. */
static void
put_paragraph(struct page *page, const char *text, size_t n)
{
    char *part = n > 0 && page->status == PACK_OK ? strndup(text, n) : NULL;
    if (n > 0 && page->status == PACK_OK && !part)
        page->status = pack_fail_memory(page->err, "a page");
    if (!part)
        return;
    char *rest = part;
    if (strncmp(part, "--- ", 4) == 0) {
        rest = strchrnul(part, '\n');
        if (*rest)
            *rest++ = '\0';
        pack_web_head(page, part + 4);
    }
    if (*rest) {
        LINE(page, "<pre>");
        pack_web_text(page, rest);
        LINE(page, "</pre>\n");
    }
    free(part);
}

void
pack_web_report(struct page *page, const char *text, size_t size)
{
    const char *end = text + size;
    while (text < end) {
        const char *gap = memmem(text, (size_t)(end - text), "\n\n", 2);
        put_paragraph(page, text, (size_t)((gap ? gap : end) - text));
        text = gap ? gap + 2 : end;
    }
}

void
pack_web_whole(struct page *page, const char *title, const char *text, size_t size)
{
    const char *gap = memmem(text, size, "\n\n", 2);
    size_t n = gap ? (size_t)(gap - text) : size;
    char *verdict = page->status == PACK_OK ? strndup(text, n) : NULL;
    if (page->status == PACK_OK && !verdict)
        page->status = pack_fail_memory(page->err, "a page");
    pack_web_begin(page, title, verdict ? verdict : "", "plain");
    if (gap)
        pack_web_report(page, gap + 2, size - n - 2);
    free(verdict);
}

void
pack_web_drawing(struct page *page, const char *head, const void *svg, size_t size)
{
    pack_web_head(page, head);
    LINE(page, "<div class=\"drawing\">");
    if (page->status == PACK_OK)
        page->status = pack_buf_append(page->text, svg, size, page->err);
    LINE(page, "</div>\n");
}

void
pack_web_end(struct page *page, const char *program, const char *version)
{
    LINE(page, "<footer>%s %s</footer>\n</body>\n</html>\n", program, version);
}
