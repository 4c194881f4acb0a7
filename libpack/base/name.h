/* File names as bytes: their order, and the forms in which they are stored and shown. */
#ifndef LIBPACK_NAME_H
#define LIBPACK_NAME_H

#include <stddef.h>

#include <libpack/status.h>
#include "libpack/base/buf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A file name is any bytes but NUL; most are UTF-8 and some are not. */

/*
 * Orders names as Python orders the strings that os.listdir() returns on a UTF-8 system:
 * by code point, a byte that is not valid UTF-8 counting as U+DC00 + byte
 * ("surrogateescape"). It differs from strcmp() only for names with such bytes. Negative,
 * 0 or positive.
 */
int pack_name_compare(const char *a, const char *b);

/*
 * The stored form of a name, always valid UTF-8: valid UTF-8 stays as it is except that a
 * backslash is doubled; each byte that is not valid becomes \xHH in lower-case
 * hexadecimal. Different names have different forms. `out` takes at most 4 * strlen(name)
 * + 1 bytes; with `out` NULL nothing is written. Returns the length without the NUL.
 */
size_t pack_name_escape(const char *name, char *out);

/*
 * The name behind a stored form: \\ becomes one backslash and \xHH the byte HH (01 to ff,
 * either case). `out` takes strlen(text) + 1 bytes and may be `text` itself.
 * PACK_ERR_FORMAT when a backslash is followed by anything else.
 */
enum pack_status pack_name_unescape(const char *text, char *out, struct pack_error *err);

enum { PACK_NAME_TEXT_MAX = 256 };
/*
 * A name for a message, on one line: the stored form with control characters as \xHH too,
 * and "..." in place of the middle where it is too long for the array. Returns text.
 */
char *pack_name_text(const char *name, char text[PACK_NAME_TEXT_MAX]);

/*
 * A sentence for one line, character by character: writes the form of the first one, with
 * control characters and bytes that are not UTF-8 as \xHH, to form, *n bytes of it, and
 * returns how many bytes of `text` that stands for. Backslashes stay as they are.
 */
size_t pack_name_visible(const char *text, char form[8], size_t *n);

/* Appends a file's name as one word of a shell, in quotes where it needs them, $'...' where
 * it has control characters or bytes that are not UTF-8; "./" goes before a dash, which
 * programs would take for an option. */
enum pack_status pack_name_word(const char *name, struct pack_buf *buf,
                                struct pack_error *err);

/* Appends text between `quote`s, as Python (single ones) and C (double ones) read it. UTF-8
 * stays, other bytes are escaped in the way of the language. */
enum pack_status pack_name_literal(const char *text, char quote, struct pack_buf *buf,
                                   struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
