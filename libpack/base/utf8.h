/* UTF-8: is it, and one character at a time. */
#ifndef LIBPACK_UTF8_H
#define LIBPACK_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Bytes of the well-formed UTF-8 character (RFC 3629: shortest form, no surrogates, up to
 * U+10FFFF) that starts at text[0], at most `size` of them; 0 when there is none.
 */
size_t pack_utf8_length(const char *text, size_t size);

/* Whether all of text is well-formed. */
bool pack_utf8_valid(const char *text, size_t size);

/* Writes code point `code` (valid, no surrogate) to out[4]; returns its length. */
size_t pack_utf8_encode(uint32_t code, char *out);

#ifdef __cplusplus
}
#endif
#endif
