/*
 * Reading JSON: recursive descent, bounded in depth, each value handed on as it is met.
 *
 * What is kept is the last text, and the keys of the objects that are still open, one
 * behind the other, so that a key that comes twice is noticed:
 *
 *     { "a": 1, "b": { "c": [ ...        keys: a b | c
 *
 * A document in a file is seen through a window, which moves on when its end is met; what
 * is in front of the value being read goes.
 */
#include "libpack/base/json_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/checksum.h"

/* A key of an object that is still open; its text and a NUL follow. */
struct key {
    uint64_t checksum;
    size_t length;
};

enum { WINDOW_BYTES = 1 << 18 };

/* Lets the text start at p->at, counting the lines before. */
static void
move_start(struct pack_json_parser *p)
{
    const char *newline;
    while ((newline = memchr(p->start, '\n', (size_t)(p->at - p->start)))) {
        p->start = newline + 1;
        p->line++;
        p->column = 0;
    }
    p->column += (size_t)(p->at - p->start);
    p->start = p->at;
}

enum pack_status
pack_json_fail_at(struct pack_json_parser *p, const char *what)
{
    if (p->status != PACK_OK)
        return p->status;
    move_start(p);
    return pack_fail(p->err, PACK_ERR_FORMAT, "line %zu, column %zu: %s", p->line + 1,
                     p->column + 1, what);
}

/* Room for more behind the `left` bytes at p->at. */
static enum pack_status
grow_window(struct pack_json_parser *p, size_t left)
{
    size_t capacity = p->capacity ? 2 * p->capacity : WINDOW_BYTES;
    if (left < p->capacity)
        return PACK_OK;
    while (capacity <= left)
        capacity *= 2;
    if (capacity > 2 * (size_t)PACK_JSON_SIZE_MAX)
        return pack_fail(p->err, PACK_ERR_LIMIT, "a text of more than %d bytes",
                         PACK_JSON_SIZE_MAX);
    char *window = malloc(capacity);
    if (!window)
        return pack_fail_memory(p->err, "JSON");
    memcpy(window, p->at, left);
    free(p->window);
    p->window = window;
    p->capacity = capacity;
    p->start = p->at = window;
    return PACK_OK;
}

/* Makes the text behind p->at longer; false at its end, and on failures, which
 * p->status keeps. */
static bool
read_more(struct pack_json_parser *p)
{
    size_t left = (size_t)(p->end - p->at);
    if (!p->file || p->status != PACK_OK)
        return false;
    move_start(p);
    p->status = pack_watch_check(p->watch, p->err);
    if (p->status == PACK_OK)
        p->status = grow_window(p, left);
    if (p->status != PACK_OK)
        return false;
    if (p->at != p->window)
        memmove(p->window, p->at, left);
    errno = 0;
    size_t n = fread(p->window + left, 1, p->capacity - left, p->file);
    p->start = p->at = p->window;
    p->end = p->window + left + n;
    if (n == 0 && ferror(p->file))
        p->status = pack_fail_errno(p->err, errno ? errno : EIO, "cannot read JSON");
    return n > 0;
}

static void
skip_blanks(struct pack_json_parser *p)
{
    do
        while (p->at < p->end &&
               (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r'))
            p->at++;
    while (p->at == p->end && read_more(p));
}

static bool
at_char(struct pack_json_parser *p, char c)
{
    return (p->at < p->end || read_more(p)) && *p->at == c;
}

bool
pack_json_find_close(struct pack_json_parser *p, size_t *length)
{
    size_t n = 0;
    do {
        size_t size = (size_t)(p->end - p->at);
        while (n < size && p->at[n] != '"')
            n += p->at[n] == '\\' ? 2 : 1;
        if (n < size) {
            *length = n;
            return true;
        }
    } while (read_more(p));
    p->at = p->end;
    return false;
}

/* Whether the key at `last` is among those from `from` on. */
static bool
is_twice(const struct pack_json_parser *p, size_t from, size_t last)
{
    struct key new, old;
    memcpy(&new, p->keys.data + last, sizeof new);
    for (size_t at = from; at < last; at += sizeof old + old.length) {
        memcpy(&old, p->keys.data + at, sizeof old);
        if (old.checksum == new.checksum &&
            old.length ==
                new.length &&memcmp(p->keys.data + at + sizeof old,
                                    p->keys.data + last + sizeof new, new.length) == 0)
            return true;
    }
    return false;
}

/* The key at p->at and its colon, behind those from `from` on; *last is where it is. */
static enum pack_status
parse_key(struct pack_json_parser *p, size_t from, size_t *last)
{
    struct key key = { 0 };
    const char *at = p->at;
    if (!at_char(p, '"'))
        return pack_json_fail_at(p, "expected a key in double quotes");
    *last = p->keys.size;
    enum pack_status status = pack_buf_append(&p->keys, &key, sizeof key, p->err);
    if (status == PACK_OK)
        status = pack_json_parse_text(p, &p->keys);
    if (status != PACK_OK)
        return status;
    key.length = p->keys.size - *last - sizeof key;
    key.checksum = pack_checksum(p->keys.data + *last + sizeof key, key.length, 0);
    memcpy(p->keys.data + *last, &key, sizeof key);
    if (is_twice(p, from, *last)) {
        p->at = p->file ? p->at : at; /* the window may have moved on */
        return pack_json_fail_at(p, "the same key a second time");
    }
    skip_blanks(p);
    if (!at_char(p, ':'))
        return pack_json_fail_at(p, "expected ':' after a key");
    p->at++;
    return PACK_OK;
}

static enum pack_status parse_value(struct pack_json_parser *p, size_t key);

enum { NO_KEY = 0 }; /* a key's text never starts the buffer */

/* Members up to `closer`; those of an object have keys. */
static enum pack_status
parse_members(struct pack_json_parser *p, char closer)
{
    size_t from = p->keys.size, last = 0, n = 0;
    if (++p->depth > PACK_JSON_DEPTH_MAX)
        return pack_json_fail_at(p, "nested too deep");
    p->at++;
    skip_blanks(p);
    while (!at_char(p, closer)) {
        enum pack_status status = PACK_OK;
        if (closer == '}' && ++n > PACK_JSON_KEYS_MAX)
            return pack_fail(p->err, PACK_ERR_LIMIT, "an object of more than %d keys",
                             PACK_JSON_KEYS_MAX);
        if (closer == '}')
            status = parse_key(p, from, &last);
        if (status == PACK_OK)
            status = parse_value(p, closer == '}' ? last + sizeof(struct key) : NO_KEY);
        if (status != PACK_OK)
            return status;
        skip_blanks(p);
        if (at_char(p, closer))
            break;
        if (!at_char(p, ','))
            return pack_json_fail_at(p, closer == '}' ? "expected ',' or '}'"
                                                      : "expected ',' or ']'");
        p->at++;
        skip_blanks(p);
        if (at_char(p, closer))
            return pack_json_fail_at(p, "a comma needs a value behind it");
    }
    p->at++;
    p->depth--;
    p->keys.size = from;
    return PACK_OK;
}

/* To behind the bracket that closes the one at p->at. */
static enum pack_status
pass_over(struct pack_json_parser *p)
{
    size_t depth = 0, length;
    do {
        if (p->at == p->end && !read_more(p))
            return pack_json_fail_at(p, "ends too early");
        char c = *p->at++;
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        if (c != '"')
            continue;
        if (!pack_json_find_close(p, &length))
            return pack_json_fail_at(p, "string without an end");
        p->at += length + 1;
    } while (depth > 0);
    return PACK_OK;
}

/* An array or object: its beginning, its members, its end. */
static enum pack_status
parse_nested(struct pack_json_parser *p, struct pack_json_value *value, char closer)
{
    enum pack_status status = p->fn(p->context, PACK_JSON_BEGIN, value, p->err);
    if (status == PACK_OK && p->passes_over && p->passes_over(p->context, value))
        status = pass_over(p);
    else if (status == PACK_OK)
        status = parse_members(p, closer);
    value->key = NULL;
    return status == PACK_OK ? p->fn(p->context, PACK_JSON_END, value, p->err) : status;
}

/* `key`: where in p->keys the value's key is, or NO_KEY. */
static enum pack_status
parse_value(struct pack_json_parser *p, size_t key)
{
    struct pack_json_value value = {
        .key = key == NO_KEY ? NULL : (const char *)p->keys.data + key,
    };
    enum pack_status status = PACK_OK;
    skip_blanks(p);
    if (p->at >= p->end)
        return pack_json_fail_at(p, "ends too early");
    while (p->end - p->at < PACK_JSON_SCALAR_BYTES_MAX && read_more(p))
        continue;
    if (*p->at == '{' || *p->at == '[') {
        value.kind = *p->at == '{' ? PACK_JSON_OBJECT : PACK_JSON_ARRAY;
        return parse_nested(p, &value, *p->at == '{' ? '}' : ']');
    }
    if (*p->at == '"') {
        value.kind = PACK_JSON_TEXT;
        p->text.size = 0;
        status = pack_json_parse_text(p, &p->text);
        value.text = (const char *)p->text.data;
    } else if (pack_json_literal(p, "true")) {
        value.kind = PACK_JSON_BOOL;
        value.truth = true;
    } else if (pack_json_literal(p, "false")) {
        value.kind = PACK_JSON_BOOL;
    } else if (!pack_json_literal(p, "null")) {
        status = pack_json_parse_number(p, &value);
    }
    return status == PACK_OK ? p->fn(p->context, PACK_JSON_SCALAR, &value, p->err)
                             : status;
}

static enum pack_status
parse_document(struct pack_json_parser *p)
{
    enum pack_status status = parse_value(p, NO_KEY);
    if (status == PACK_OK) {
        skip_blanks(p);
        if (p->status != PACK_OK)
            status = p->status;
        else if (p->at != p->end)
            status = pack_json_fail_at(p, "unexpected text after the document");
    }
    pack_buf_done(&p->keys);
    pack_buf_done(&p->text);
    free(p->window);
    return status;
}

enum pack_status
pack_json_read(const char *text, size_t size, pack_json_event_fn fn, void *context,
               struct pack_error *err)
{
    struct pack_json_parser p = {
        .start = text,
        .at = text,
        .end = text + size,
        .fn = fn,
        .context = context,
        .err = err,
    };
    if (size > PACK_JSON_SIZE_MAX)
        return pack_fail(err, PACK_ERR_LIMIT, "JSON of %zu bytes, more than %d", size,
                         PACK_JSON_SIZE_MAX);
    return parse_document(&p);
}

enum pack_status
pack_json_read_stream(const struct pack_json_stream *stream, pack_json_event_fn fn,
                      void *context, struct pack_error *err)
{
    struct pack_json_parser p = {
        .start = stream->head,
        .at = stream->head,
        .end = stream->head + stream->head_bytes,
        .file = stream->file,
        .watch = stream->watch,
        .passes_over = stream->passes_over,
        .fn = fn,
        .context = context,
        .err = err,
    };
    return parse_document(&p);
}
