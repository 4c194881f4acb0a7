/* Writing JSON: one function opens a slot (comma, newline, indent, key), the rest fill
 * it. */
#include "libpack/base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/numbers.h"
#include "libpack/base/utf8.h"

static void
put(struct pack_json *json, const char *text, size_t size)
{
    if (json->status == PACK_OK)
        json->status = pack_buf_append(json->buf, text, size, &json->err);
}

static void
puts_(struct pack_json *json, const char *text)
{
    put(json, text, strlen(text));
}

static void
quoted(struct pack_json *json, const char *text, size_t size)
{
    puts_(json, "\"");
    for (size_t i = 0; i < size;) {
        unsigned char c = (unsigned char)text[i];
        char escape[8];
        size_t length = pack_utf8_length(text + i, size - i);
        if (length == 0) {
            puts_(json, "\xEF\xBF\xBD");
            i++;
        } else if (c == '"' || c == '\\') {
            escape[0] = '\\';
            escape[1] = (char)c;
            put(json, escape, 2);
            i++;
        } else if (c < 0x20 || c == 0x7f) {
            snprintf(escape, sizeof escape, "\\u%04x", c);
            puts_(json, escape);
            i++;
        } else {
            put(json, text + i, length);
            i += length;
        }
    }
    puts_(json, "\"");
}

static void
newline(struct pack_json *json)
{
    static const char blanks[] = "                                ";
    puts_(json, "\n");
    for (int left = 2 * json->depth; left > 0; left -= 32)
        put(json, blanks, (size_t)(left < 32 ? left : 32));
}

/* Everything that stands before a value. */
static void
open_slot(struct pack_json *json, const char *key)
{
    if (json->has_items[json->depth])
        puts_(json, ",");
    if (json->depth > 0)
        newline(json);
    json->has_items[json->depth] = true;
    if (key) {
        quoted(json, key, strlen(key));
        puts_(json, ": ");
    }
}

static void
nest(struct pack_json *json, const char *key, const char *opener, char closer)
{
    open_slot(json, key);
    puts_(json, opener);
    if (json->depth == PACK_JSON_DEPTH_MAX) {
        if (json->status == PACK_OK)
            json->status = pack_fail(&json->err, PACK_ERR_LIMIT,
                                     "JSON nested deeper than %d", PACK_JSON_DEPTH_MAX);
        return;
    }
    json->depth++;
    json->has_items[json->depth] = false;
    json->closer[json->depth] = closer;
}

void
pack_json_begin(struct pack_json *json, struct pack_buf *buf)
{
    memset(json, 0, sizeof *json);
    json->buf = buf;
}

void
pack_json_object(struct pack_json *json, const char *key)
{
    nest(json, key, "{", '}');
}

void
pack_json_array(struct pack_json *json, const char *key)
{
    nest(json, key, "[", ']');
}

void
pack_json_close(struct pack_json *json)
{
    if (json->depth == 0)
        return;
    bool had_items = json->has_items[json->depth];
    char closer = json->closer[json->depth];
    json->depth--;
    if (had_items)
        newline(json);
    put(json, &closer, 1);
}

void
pack_json_text_n(struct pack_json *json, const char *key, const char *value, size_t size)
{
    open_slot(json, key);
    quoted(json, value, size);
}

void
pack_json_text(struct pack_json *json, const char *key, const char *value)
{
    if (value)
        pack_json_text_n(json, key, value, strlen(value));
    else
        pack_json_null(json, key);
}

void
pack_json_u64(struct pack_json *json, const char *key, uint64_t value)
{
    char text[24];
    open_slot(json, key);
    snprintf(text, sizeof text, "%" PRIu64, value);
    puts_(json, text);
}

void
pack_json_i64(struct pack_json *json, const char *key, int64_t value)
{
    char text[24];
    open_slot(json, key);
    snprintf(text, sizeof text, "%" PRId64, value);
    puts_(json, text);
}

void
pack_json_double(struct pack_json *json, const char *key, double value)
{
    char text[40];
    if (!isfinite(value)) {
        pack_json_null(json, key);
        return;
    }
    open_slot(json, key);
    for (int digits = 1; digits <= 17; digits++) {
        pack_double_print(value, digits, text, sizeof text);
        if (pack_double_read(text, NULL) == value)
            break;
    }
    puts_(json, text);
}

void
pack_json_bool(struct pack_json *json, const char *key, bool value)
{
    open_slot(json, key);
    puts_(json, value ? "true" : "false");
}

void
pack_json_null(struct pack_json *json, const char *key)
{
    open_slot(json, key);
    puts_(json, "null");
}

void
pack_json_begin_report(struct pack_json *json, struct pack_buf *buf, const char *schema,
                       const char *program, const char *version)
{
    pack_json_begin(json, buf);
    pack_json_object(json, NULL);
    pack_json_text(json, "schema", schema);
    pack_json_text(json, "program", program);
    pack_json_text(json, "version", version);
}

void
pack_json_u64s(struct pack_json *json, const char *key, const uint64_t *values, size_t n)
{
    pack_json_array(json, key);
    for (size_t i = 0; i < n; i++)
        pack_json_u64(json, NULL, values[i]);
    pack_json_close(json);
}

void
pack_json_doubles(struct pack_json *json, const char *key, const double *values, size_t n)
{
    pack_json_array(json, key);
    for (size_t i = 0; i < n; i++)
        pack_json_double(json, NULL, values[i]);
    pack_json_close(json);
}

void
pack_json_shape(struct pack_json *json, const char *key, const struct pack_shape *shape)
{
    if (shape->rank == 0)
        pack_json_null(json, key);
    else
        pack_json_u64s(json, key, shape->extent, (size_t)shape->rank);
}

void
pack_json_rate(struct pack_json *json, const char *key, double rate)
{
    if (rate < 0)
        pack_json_null(json, key);
    else
        pack_json_double(json, key, rate);
}

enum pack_status
pack_json_end(struct pack_json *json, struct pack_error *err)
{
    if (json->status == PACK_OK) /* printf leaves a NUL behind the text */
        json->status = pack_buf_printf(json->buf, &json->err, "\n");
    if (json->status == PACK_OK && json->depth != 0)
        return pack_fail(err, PACK_ERR_ARGUMENT, "JSON ends inside an object or array");
    if (json->status != PACK_OK && err)
        *err = json->err;
    return json->status;
}
