/* A report being written: the first failure is kept, what follows does nothing. */
#ifndef LIBPACK_PAGE_H
#define LIBPACK_PAGE_H

#include <stddef.h>

#include "libpack/base/buf.h"
#include <libpack/status.h>

struct page {
    struct pack_buf *text;
    enum pack_status status;
    struct pack_error *err;
};

/* Formatted as printf does it; the caller brings the newline. */
#define LINE(page, ...)                                                             \
    ((page)->status = (page)->status == PACK_OK                                     \
                          ? pack_buf_printf((page)->text, (page)->err, __VA_ARGS__) \
                          : (page)->status)

/* `lead` and a sentence, in lines of 79 columns where words permit; all but the first
 * behind `indent` blanks. Ends the last line. */
void pack_page_wrap(struct page *page, const char *lead, const char *sentence, int indent);

/* What a program calls the parameters that a report speaks of; an array of these ends with
 * one whose param is NULL. */
struct pack_option_word {
    const char *param, *option; /* "echo", "--echo" */
};
/* The option, or the parameter's own name where there is none, or no array. */
const char *pack_option_word(const struct pack_option_word *words, const char *param);
/* A sentence in which parameters stand in braces, "{echo} 2", with these words in their
 * places: "--echo 2". Into text[size], cut at its end; returns text. */
char *pack_option_text(const struct pack_option_word *words, const char *sentence,
                       char *text, size_t size);

#endif
