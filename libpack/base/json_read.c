/*
 * Reading JSON: recursive descent, bounded in depth, into nodes from an arena.
 *
 * All nodes and strings live in blocks that are freed together. Strings never grow when
 * unescaped, so each is decoded straight into the arena.
 */
#include "libpack/base/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/utf8.h"

enum { BLOCK_SIZE = 16384 };

struct block {
    struct block *next;
    size_t used, size;
    _Alignas(16) unsigned char bytes[];
};

struct pack_json_doc {
    struct block *blocks;
};

struct parser {
    struct pack_json_doc *doc;
    const char *start, *at, *end;
    int depth;
    struct pack_error *err;
};

static void *
take(struct pack_json_doc *doc, size_t size)
{
    size = (size + 15) & ~(size_t)15;
    struct block *block = doc->blocks;
    if (!block || block->size - block->used < size) {
        size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        block = malloc(sizeof *block + room);
        if (!block)
            return NULL;
        *block = (struct block){ .next = doc->blocks, .size = room };
        doc->blocks = block;
    }
    void *memory = block->bytes + block->used;
    block->used += size;
    return memory;
}

static enum pack_status
fail_at(struct parser *p, const char *what)
{
    size_t line = 1, column = 1;
    for (const char *c = p->start; c < p->at; c++) {
        column++;
        if (*c == '\n') {
            line++;
            column = 1;
        }
    }
    return pack_fail(p->err, PACK_ERR_FORMAT, "line %zu, column %zu: %s", line, column,
                     what);
}

static void
skip_blanks(struct parser *p)
{
    while (p->at < p->end &&
           (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r'))
        p->at++;
}

static bool
at_char(const struct parser *p, char c)
{
    return p->at < p->end && *p->at == c;
}

/* Four hex digits at *p->at, moved behind; -1 when they are not there. */
static long
hex4(struct parser *p)
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

/* The code point of a \u escape (its surrogate pair included), 'u' already read. */
static enum pack_status
unicode_escape(struct parser *p, char **out)
{
    long code = hex4(p);
    if (code >= 0xd800 && code < 0xdc00 && p->end - p->at >= 6 && p->at[0] == '\\' &&
        p->at[1] == 'u') {
        p->at += 2;
        long low = hex4(p);
        if (low < 0xdc00 || low > 0xdfff)
            return fail_at(p, "broken \\u escape");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code <= 0 || (code >= 0xd800 && code <= 0xdfff))
        return fail_at(p, "broken \\u escape");
    *out += pack_utf8_encode((uint32_t)code, *out);
    return PACK_OK;
}

static enum pack_status
parse_text(struct parser *p, const char **text)
{
    const char *close = ++p->at;
    while (close < p->end && *close != '"')
        close += *close == '\\' && p->end - close > 1 ? 2 : 1;
    if (close >= p->end)
        return fail_at(p, "string without an end");
    char *out = take(p->doc, (size_t)(close - p->at) + 1);
    if (!out)
        return pack_fail_memory(p->err, "JSON");
    *text = out;
    while (p->at < close) {
        static const char plain[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
        unsigned char c = (unsigned char)*p->at;
        if (c < 0x20)
            return fail_at(p, "control character in a string");
        if (c != '\\') {
            size_t length = pack_utf8_length(p->at, (size_t)(close - p->at));
            if (length == 0)
                return fail_at(p, "string is not UTF-8");
            memcpy(out, p->at, length);
            out += length;
            p->at += length;
            continue;
        }
        p->at++;
        const char *known = strchr(plain, *p->at);
        if (*p->at == 'u') {
            p->at++;
            enum pack_status status = unicode_escape(p, &out);
            if (status != PACK_OK)
                return status;
        } else if (known && *known) {
            *out++ = meant[known - plain];
            p->at++;
        } else {
            return fail_at(p, "unknown escape in a string");
        }
    }
    *out = '\0';
    p->at = close + 1;
    return PACK_OK;
}

/* -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)? */
static enum pack_status
parse_number(struct parser *p, struct pack_json_value *value)
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
    char text[512];
    size_t length = (size_t)(q - from);
    if (length >= sizeof text)
        goto bad;
    memcpy(text, from, length);
    text[length] = '\0';
    value->kind = PACK_JSON_NUMBER;
    value->number = strtod(text, NULL);
    if (!isfinite(value->number))
        goto bad;
    errno = 0;
    if (integer)
        value->integer = strtoll(text, NULL, 10);
    value->is_integer = integer && errno == 0;
    p->at = q;
    return PACK_OK;
bad:
    return fail_at(p, "not a number");
}

static bool
literal(struct parser *p, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(p->end - p->at) < length || memcmp(p->at, word, length) != 0)
        return false;
    p->at += length;
    return true;
}

static enum pack_status parse_value(struct parser *p, struct pack_json_value *value);

/* Members up to `closer`; those of an object have keys. */
static enum pack_status
parse_members(struct parser *p, struct pack_json_value *parent, char closer)
{
    const struct pack_json_value **link = &parent->first;
    if (++p->depth > PACK_JSON_DEPTH_MAX)
        return fail_at(p, "nested too deep");
    p->at++;
    skip_blanks(p);
    while (!at_char(p, closer)) {
        struct pack_json_value *member = take(p->doc, sizeof *member);
        if (!member)
            return pack_fail_memory(p->err, "JSON");
        memset(member, 0, sizeof *member);
        if (parent->kind == PACK_JSON_OBJECT) {
            if (!at_char(p, '"'))
                return fail_at(p, "expected a key in double quotes");
            enum pack_status status = parse_text(p, &member->key);
            if (status != PACK_OK)
                return status;
            skip_blanks(p);
            if (!at_char(p, ':'))
                return fail_at(p, "expected ':' after a key");
            p->at++;
        }
        enum pack_status status = parse_value(p, member);
        if (status != PACK_OK)
            return status;
        *link = member;
        link = &member->next;
        parent->n++;
        skip_blanks(p);
        if (at_char(p, closer))
            break;
        if (!at_char(p, ','))
            return fail_at(p,
                           closer == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
        p->at++;
        skip_blanks(p);
        if (at_char(p, closer))
            return fail_at(p, "a comma needs a value behind it");
    }
    p->at++;
    p->depth--;
    return PACK_OK;
}

static enum pack_status
parse_value(struct parser *p, struct pack_json_value *value)
{
    skip_blanks(p);
    if (p->at >= p->end)
        return fail_at(p, "ends too early");
    switch (*p->at) {
    case '{': value->kind = PACK_JSON_OBJECT; return parse_members(p, value, '}');
    case '[': value->kind = PACK_JSON_ARRAY; return parse_members(p, value, ']');
    case '"': value->kind = PACK_JSON_TEXT; return parse_text(p, &value->text);
    default: break;
    }
    if (literal(p, "null")) {
        value->kind = PACK_JSON_NULL;
        return PACK_OK;
    }
    value->kind = PACK_JSON_BOOL;
    value->truth = *p->at == 't';
    if (literal(p, "true") || literal(p, "false"))
        return PACK_OK;
    return parse_number(p, value);
}

enum pack_status
pack_json_parse(const char *text, size_t size, struct pack_json_doc **doc,
                const struct pack_json_value **root, struct pack_error *err)
{
    struct pack_json_doc *made = calloc(1, sizeof *made);
    if (!made)
        return pack_fail_memory(err, "JSON");
    struct parser p = {
        .doc = made, .start = text, .at = text, .end = text + size, .err = err
    };
    struct pack_json_value *top = take(made, sizeof *top);
    enum pack_status status;
    if (!top) {
        status = pack_fail_memory(err, "JSON");
        goto out;
    }
    memset(top, 0, sizeof *top);
    status = parse_value(&p, top);
    if (status != PACK_OK)
        goto out;
    skip_blanks(&p);
    if (p.at != p.end)
        status = fail_at(&p, "unexpected text after the document");
out:
    if (status != PACK_OK) {
        pack_json_free(made);
        return status;
    }
    *doc = made;
    *root = top;
    return PACK_OK;
}

void
pack_json_free(struct pack_json_doc *doc)
{
    if (!doc)
        return;
    for (struct block *block = doc->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(doc);
}

const struct pack_json_value *
pack_json_find(const struct pack_json_value *object, const char *key)
{
    if (!object || object->kind != PACK_JSON_OBJECT)
        return NULL;
    for (const struct pack_json_value *m = object->first; m; m = m->next)
        if (strcmp(m->key, key) == 0)
            return m;
    return NULL;
}
