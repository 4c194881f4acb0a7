/*
 * Names are decoded into units: a character of valid UTF-8, or a single byte that starts
 * none. Python decodes file names in the same way: it drops the longest malformed piece
 * at a time, but maps it byte by byte, and no byte of such a piece after the first could
 * start a character. Bytes of valid UTF-8 sort as their code points do, so two names need
 * decoding only from the unit in which they first differ.
 */
#include "libpack/base/name.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "libpack/base/utf8.h"

static bool
continues(char c)
{
    return (c & 0xc0) == 0x80;
}

/* Length of the unit's character, 0 when it is a byte on its own. */
static size_t
unit_length(const char *text)
{
    return pack_utf8_length(text, strnlen(text, 3) + 1); /* a NUL is a character too */
}

static uint32_t
next_unit(const char **text)
{
    const unsigned char *s = (const unsigned char *)*text;
    size_t length = unit_length(*text);
    *text += length ? length : 1;
    switch (length) {
    case 0: return 0xdc00u + s[0];
    case 1: return s[0];
    case 2: return (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
    case 3: return (s[0] & 0x0fu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
    default:
        return (s[0] & 0x07u) << 18 | (s[1] & 0x3fu) << 12 | (s[2] & 0x3fu) << 6 |
               (s[3] & 0x3fu);
    }
}

int
pack_name_compare(const char *a, const char *b)
{
    size_t i = 0;
    for (; a[i] == b[i]; i++)
        if (a[i] == '\0')
            return 0;
    /* back to where a unit starts in both: at a byte that continues none, or the start */
    if (continues(a[i]) || continues(b[i]))
        while (i > 0 && continues(a[--i]))
            ;
    uint32_t unit_a, unit_b;
    a += i;
    b += i;
    do {
        unit_a = next_unit(&a);
        unit_b = next_unit(&b);
    } while (unit_a == unit_b);
    return unit_a < unit_b ? -1 : 1;
}

/* \xHH for the byte at `text` */
static size_t
put_hex(char *out, const char *text)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char c = (unsigned char)*text;
    memcpy(out, (char[]){ '\\', 'x', digits[c >> 4], digits[c & 15] }, 4);
    return 4;
}

/* The stored form of the unit at `text`, whose unit_length() is `length`:
 * up to 4 bytes. */
static size_t
put_stored(char *out, const char *text, size_t length)
{
    if (length == 0)
        return put_hex(out, text);
    if (*text == '\\')
        *out++ = '\\';
    memcpy(out, text, length);
    return *text == '\\' ? 2 : length;
}

size_t
pack_name_escape(const char *name, char *out)
{
    char form[4];
    size_t at = 0;
    for (size_t length; *name; name += length ? length : 1) {
        length = unit_length(name);
        at += put_stored(out ? out + at : form, name, length);
    }
    if (out)
        out[at] = '\0';
    return at;
}

static int
hex_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The byte that the escape at `text` stands for; returns its length,
 * 0 when it is none. */
static size_t
unescape_byte(const char *text, char *byte)
{
    if (text[1] == '\\') {
        *byte = '\\';
        return 2;
    }
    if (text[1] != 'x')
        return 0;
    int high = hex_value(text[2]), low = high < 0 ? -1 : hex_value(text[3]);
    if (low < 0 || (high | low) == 0)
        return 0;
    *byte = (char)(high << 4 | low);
    return 4;
}

enum pack_status
pack_name_unescape(const char *text, char *out, struct pack_error *err)
{
    char shown[PACK_NAME_TEXT_MAX];
    while (*text) {
        size_t length = 1;
        char byte = *text;
        if (byte == '\\' && (length = unescape_byte(text, &byte)) == 0)
            return pack_fail(err, PACK_ERR_FORMAT,
                             "not the stored form of a name: it has a backslash before "
                             "neither a backslash nor xHH, at '%s'",
                             pack_name_text(text, shown));
        *out++ = byte;
        text += length;
    }
    *out = '\0';
    return PACK_OK;
}

/* As put_stored, with control characters (U+0000 to U+001F, U+007F to U+009F) in hex. */
static size_t
put_visible(char *out, const char *text, size_t length)
{
    unsigned char c = (unsigned char)*text;
    if (length == 1 && (c < 0x20 || c == 0x7f))
        return put_hex(out, text);
    if (length == 2 && c == 0xc2 && (unsigned char)text[1] < 0xa0)
        return put_hex(out, text) + put_hex(out + 4, text + 1);
    return put_stored(out, text, length);
}

size_t
pack_name_visible(const char *text, char form[8], size_t *n)
{
    size_t length = unit_length(text);
    form[0] = *text;
    *n = *text == '\\' ? 1 : put_visible(form, text, length);
    return length ? length : 1;
}

char *
pack_name_text(const char *name, char text[PACK_NAME_TEXT_MAX])
{
    enum { HALF = (PACK_NAME_TEXT_MAX - 4) / 2 };
    char form[8];
    size_t total = 0, at = 0, seen = 0, length, n;
    for (const char *s = name; *s; s += length ? length : 1)
        total += put_visible(form, s, length = unit_length(s));
    bool whole = total < PACK_NAME_TEXT_MAX, in_head = true;
    for (; *name; name += length ? length : 1) {
        n = put_visible(form, name, length = unit_length(name));
        if (!whole && in_head && at + n > HALF) {
            in_head = false;
            memcpy(text + at, "...", 3);
            at += 3;
        }
        if (whole || in_head || total - seen <= HALF) {
            memcpy(text + at, form, n);
            at += n;
        }
        seen += n;
    }
    text[at] = '\0';
    return text;
}

/* UTF-8 without control characters. */
static bool
is_visible(const char *text)
{
    for (size_t n; *text; text += n) {
        n = pack_utf8_length(text, strlen(text));
        if (n == 0 || (unsigned char)*text < 32 || *text == 127)
            return false;
    }
    return true;
}

enum pack_status
pack_name_word(const char *name, struct pack_buf *buf, struct pack_error *err)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-./,:+@%=";
    const char *folder = *name == '-' ? "./" : ""; /* else it reads as an option */
    if (*name && name[strspn(name, plain)] == '\0')
        return pack_buf_printf(buf, err, "%s%s", folder, name);
    bool escapes = !is_visible(name);
    enum pack_status status =
        pack_buf_printf(buf, err, "%s'%s", escapes ? "$" : "", folder);
    for (; status == PACK_OK && *name; name++)
        if (escapes && (*name == '\'' || *name == '\\'))
            status = pack_buf_printf(buf, err, "\\%c", *name);
        else if (escapes && !is_visible((const char[2]){ *name, '\0' }))
            status = pack_buf_printf(buf, err, "\\%03o", (unsigned char)*name);
        else
            status = *name == '\'' ? pack_buf_append(buf, "'\\''", 4, err)
                                   : pack_buf_append(buf, name, 1, err);
    return status == PACK_OK ? pack_buf_append(buf, "'", 1, err) : status;
}

enum pack_status
pack_name_literal(const char *text, char quote, struct pack_buf *buf,
                  struct pack_error *err)
{
    enum pack_status status = pack_buf_append(buf, &quote, 1, err);
    for (size_t n; status == PACK_OK && *text; text += n) {
        unsigned char c = (unsigned char)*text;
        size_t letter = pack_utf8_length(text, strlen(text));
        n = letter ? letter : 1;
        if (c == (unsigned char)quote || c == '\\')
            status = pack_buf_printf(buf, err, "\\%c", c);
        else if (!letter && quote == '\'') /* as os.fsdecode() has it */
            status = pack_buf_printf(buf, err, "\\udc%02x", c);
        else if (!letter || c < 32 || c == 127)
            status = pack_buf_printf(buf, err, "\\%03o", c);
        else
            status = pack_buf_append(buf, text, n, err);
    }
    return status == PACK_OK ? pack_buf_append(buf, &quote, 1, err) : status;
}

