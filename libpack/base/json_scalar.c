/* The texts, numbers and words of a JSON document. */
#include "libpack/base/json_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/numbers.h"
#include "libpack/base/utf8.h"

/* Four hex digits at *p->at, moved behind; -1 when they are not there. */
static long
hex4(struct pack_json_parser *p)
{
    long value = 0;
    if (p->end - p->at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = p->at[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    p->at += 4;
    return value;
}

static const char BROKEN[] = "broken \\u escape",
                  HALF[] = "half of a surrogate pair, which is no character";

/* The code point of a \u escape (its surrogate pair included), 'u' already read. */
static enum pack_status
unicode_escape(struct pack_json_parser *p, char **out)
{
    long code = hex4(p);
    if (code >= 0xd800 && code < 0xdc00 && p->end - p->at >= 6 && p->at[0] == '\\' &&
        p->at[1] == 'u') {
        p->at += 2;
        long low = hex4(p);
        if (low < 0xdc00 || low > 0xdfff)
            return pack_json_fail_at(p, low < 0 ? BROKEN : HALF);
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code <= 0)
        return pack_json_fail_at(p, code < 0 ? BROKEN : "\\u0000, which no text here may hold");
    if (code >= 0xd800 && code <= 0xdfff)
        return pack_json_fail_at(p, HALF);
    *out += pack_utf8_encode((uint32_t)code, *out);
    return PACK_OK;
}

enum pack_status
pack_json_parse_text(struct pack_json_parser *p, struct pack_buf *into)
{
    size_t size;
    p->at++;
    const char *opened = p->at;
    if (!pack_json_find_close(p, &size)) {
        p->at = p->file ? p->at : opened;
        return pack_json_fail_at(p, "string without an end");
    }
    const char *close = p->at + size;
    /* unescaping never makes a text longer */
    enum pack_status status = pack_buf_reserve(into, (size_t)(close - p->at) + 1, p->err);
    if (status != PACK_OK)
        return status;
    char *out = (char *)into->data + into->size;
    while (p->at < close) {
        static const char plain[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
        unsigned char c = (unsigned char)*p->at;
        if (c < 0x20)
            return pack_json_fail_at(p, "control character in a string");
        if (c != '\\') {
            size_t length = pack_utf8_length(p->at, (size_t)(close - p->at));
            if (length == 0)
                return pack_json_fail_at(p, "string is not UTF-8");
            memcpy(out, p->at, length);
            out += length;
            p->at += length;
            continue;
        }
        p->at++;
        const char *known = strchr(plain, *p->at);
        if (*p->at == 'u') {
            p->at++;
            status = unicode_escape(p, &out);
            if (status != PACK_OK)
                return status;
        } else if (known && *known) {
            *out++ = meant[known - plain];
            p->at++;
        } else {
            return pack_json_fail_at(p, "unknown escape in a string");
        }
    }
    *out++ = '\0';
    into->size = (size_t)(out - (char *)into->data);
    p->at = close + 1;
    return PACK_OK;
}

/* What Python's json writes for what no number is. */
static bool
is_nonfinite(struct pack_json_parser *p)
{
    const char *at = p->at;
    p->at += p->at < p->end && *p->at == '-';
    bool found = pack_json_literal(p, "NaN") || pack_json_literal(p, "Infinity");
    p->at = at;
    return found;
}

/* -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)? */
enum pack_status
pack_json_parse_number(struct pack_json_parser *p, struct pack_json_value *value)
{
    const char *from = p->at, *q = p->at;
    bool integer = true;
    const char *end = p->end;
#define DIGITS()                                  \
    do {                                          \
        if (q >= end || *q < '0' || *q > '9')     \
            goto bad;                             \
        while (q < end && *q >= '0' && *q <= '9') \
            q++;                                  \
    } while (0)
    if (q < end && *q == '-')
        q++;
    if (q < end && *q == '0')
        q++;
    else
        DIGITS();
    if (q < end && *q == '.') {
        integer = false;
        q++;
        DIGITS();
    }
    if (q < end && (*q == 'e' || *q == 'E')) {
        integer = false;
        q++;
        if (q < end && (*q == '+' || *q == '-'))
            q++;
        DIGITS();
    }
#undef DIGITS
    char *text = p->number;
    size_t length = (size_t)(q - from);
    if (length >= sizeof p->number)
        goto bad;
    memcpy(text, from, length);
    text[length] = '\0';
    value->kind = PACK_JSON_NUMBER;
    value->text = text;
    value->number = pack_double_read(text, NULL);
    if (!isfinite(value->number))
        goto bad;
    if (integer) {
        errno = 0;
        value->integer = strtoll(text, NULL, 10);
        value->is_integer = errno == 0;
        errno = 0;
        value->natural = strtoull(text + (*text == '-'), NULL, 10);
        value->is_natural = errno == 0 && (*text != '-' || value->natural == 0);
    }
    p->at = q;
    return PACK_OK;
bad:
    p->at = from;
    return pack_json_fail_at(p, is_nonfinite(p) ? "NaN and Infinity are no numbers of JSON, "
                                                  "which has null for want of one"
                                                : "not a number");
}

bool
pack_json_literal(struct pack_json_parser *p, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(p->end - p->at) < length || memcmp(p->at, word, length) != 0)
        return false;
    p->at += length;
    return true;
}
