/* A page to send to a colleague: one file, without scripts and without anything from
 * elsewhere, for a phone or a desktop, dark or light as its reader has it. */
#ifndef LIBPACK_WEB_H
#define LIBPACK_WEB_H

#include <stddef.h>

#include "libpack/base/page.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All text is escaped. `tone` is "good", "mild", "bad" or "plain": the colour of the verdict. */
void pack_web_begin(struct page *page, const char *title, const char *verdict,
                    const char *tone);
void pack_web_head(struct page *page, const char *text); /* of a section */
void pack_web_text(struct page *page, const char *text); /* text alone, escaped */
void pack_web_code(struct page *page, const char *text); /* to be copied */
/* A report in text as the programs print it: paragraphs as they are, "--- what" as heads. */
void pack_web_report(struct page *page, const char *text, size_t size);
/* The same from its beginning on: the first paragraph is the verdict. */
void pack_web_whole(struct page *page, const char *title, const char *text, size_t size);
/* SVG, as it was made. */
void pack_web_drawing(struct page *page, const char *head, const void *svg, size_t size);
void pack_web_end(struct page *page, const char *program, const char *version);

#ifdef __cplusplus
}
#endif
#endif
