/* JSON: a streaming writer, a streaming reader, and small documents as trees. */
#ifndef LIBPACK_JSON_H
#define LIBPACK_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "libpack/base/buf.h"
#include <libpack/shape.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PACK_JSON_DEPTH_MAX = 64 };

/* ------------------------------------------------------------------ writer
 *
 * Writes into a pack_buf, indented by two spaces, commas and nesting kept by the writer:
 *
 *     struct pack_json json;
 *     pack_json_begin(&json, &buf);
 *     pack_json_object(&json, NULL);
 *     pack_json_text(&json, "schema", "advise/1");
 *     pack_json_array(&json, "extent");
 *     pack_json_u64(&json, NULL, 3);
 *     pack_json_close(&json);
 *     pack_json_close(&json);
 *     status = pack_json_end(&json, err);
 *
 * `key` is NULL inside arrays and for the outermost value. The first failure (memory, or
 * nesting beyond PACK_JSON_DEPTH_MAX) is kept and reported by pack_json_end; calls after
 * it do nothing. Text that is not UTF-8 has each bad byte replaced by U+FFFD. Doubles are
 * printed with the fewest digits that read back the same; infinities and NaN, which JSON
 * lacks, become null.
 */
struct pack_json {
    struct pack_buf *buf;
    int depth;
    bool has_items[PACK_JSON_DEPTH_MAX + 1];
    char closer[PACK_JSON_DEPTH_MAX + 1];
    enum pack_status status;
    struct pack_error err;
};

void pack_json_begin(struct pack_json *json, struct pack_buf *buf);
void pack_json_object(struct pack_json *json, const char *key);
void pack_json_array(struct pack_json *json, const char *key);
void pack_json_close(struct pack_json *json); /* the innermost open object or array */
void pack_json_text(struct pack_json *json, const char *key,
                    const char *value); /* NULL: null */
void pack_json_text_n(struct pack_json *json, const char *key, const char *value,
                      size_t size);
void pack_json_u64(struct pack_json *json, const char *key, uint64_t value);
void pack_json_i64(struct pack_json *json, const char *key, int64_t value);
void pack_json_double(struct pack_json *json, const char *key, double value);
void pack_json_bool(struct pack_json *json, const char *key, bool value);
void pack_json_null(struct pack_json *json, const char *key);

/* What reports have in common: the outermost object, left open, with the members that say
 * what the document is; arrays of n numbers; shapes, null for rank 0; rates, null for what
 * is below 0 ("not known"). */
void pack_json_begin_report(struct pack_json *json, struct pack_buf *buf,
                            const char *schema, const char *program,
                            const char *version);
void pack_json_u64s(struct pack_json *json, const char *key, const uint64_t *values,
                    size_t n);
void pack_json_doubles(struct pack_json *json, const char *key, const double *values,
                       size_t n);
void pack_json_shape(struct pack_json *json, const char *key,
                     const struct pack_shape *shape);
void pack_json_rate(struct pack_json *json, const char *key, double rate);

/* Ends the document with a newline, and a NUL that is not counted. All objects and arrays
 * must be closed. */
enum pack_status pack_json_end(struct pack_json *json, struct pack_error *err);

/* ------------------------------------------------------------------ reader
 *
 * One document (RFC 8259) in memory becomes events, in the order of the text. Bounded:
 * nesting up to PACK_JSON_DEPTH_MAX, a document up to PACK_JSON_SIZE_MAX bytes, an object
 * up to PACK_JSON_KEYS_MAX keys. Strict: UTF-8 only, no lone surrogates, no \u0000, no key
 * twice in an object, nothing but blanks behind the document. Integers of 64 bits, signed
 * and unsigned, are exact.
 *
 * Why our own: jansson ends at INT64_MAX and builds trees; yajl gives events and numbers
 * as text, but takes keys twice and any depth, so that half of this file would stand on
 * top of it, it has had no release since 2014, and it would be one more library for each
 * user to install.
 */
enum {
    PACK_JSON_SIZE_MAX = 64 << 20,
    PACK_JSON_KEYS_MAX = 1024,
    PACK_JSON_VALUES_MAX = 1 << 20 /* of a tree */
};

enum pack_json_kind {
    PACK_JSON_NULL,
    PACK_JSON_BOOL,
    PACK_JSON_NUMBER,
    PACK_JSON_TEXT,
    PACK_JSON_ARRAY,
    PACK_JSON_OBJECT
};

struct pack_json_value {
    enum pack_json_kind kind;
    const char *key;  /* inside an object, else NULL */
    bool truth;       /* of a BOOL */
    double number;    /* of a NUMBER */
    bool is_integer;  /* a NUMBER without fraction or exponent that fits int64_t */
    int64_t integer;  /* its exact value then */
    bool is_natural;  /* a NUMBER without fraction or exponent that fits uint64_t */
    uint64_t natural; /* its exact value then */
    const char *text; /* of a TEXT, NUL-terminated; of a NUMBER, as it stands */

    /* in a tree only */
    size_t n;                            /* members of an ARRAY or OBJECT */
    const struct pack_json_value *first; /* the first member */
    const struct pack_json_value *next;  /* the next member of the same parent */
};

enum pack_json_part {
    PACK_JSON_BEGIN = 0, /* of an ARRAY or OBJECT: its members follow */
    PACK_JSON_END,       /* its members have been; no key */
    PACK_JSON_SCALAR     /* all others */
};

/* Keys and texts are valid during the call. What is not PACK_OK ends the reading and
 * becomes its result. */
typedef enum pack_status (*pack_json_event_fn)(void *context, enum pack_json_part part,
                                               const struct pack_json_value *value,
                                               struct pack_error *err);

/* PACK_ERR_FORMAT with "line 3, column 14: ...", PACK_ERR_LIMIT, PACK_ERR_MEMORY. Memory
 * is that of the keys of open objects and of the longest text. */
enum pack_status pack_json_read(const char *text, size_t size, pack_json_event_fn fn,
                                void *context, struct pack_error *err);

/*
 * The same of a document of any size that lies in `head` and goes on in `file`; a window of
 * it is kept. Texts and keys may have PACK_JSON_SIZE_MAX bytes. Arrays and objects for which
 * passes_over() says so, right after their PACK_JSON_BEGIN, are closed without events for
 * what is in them, which is not checked either but for brackets and quotes: most of a large
 * document costs next to nothing then. PACK_ERR_IO and PACK_ERR_INTERRUPTED too. (Behind a
 * text, positions in errors are that of its end.)
 */
struct pack_json_stream {
    FILE *file; /* NULL: the head is all */
    const char *head;
    size_t head_bytes;
    bool (*passes_over)(void *context, const struct pack_json_value *value); /* or NULL */
    const struct pack_watch *watch; /* asked when more is read; NULL: nothing ends it */
};
enum pack_status pack_json_read_stream(const struct pack_json_stream *stream,
                                       pack_json_event_fn fn, void *context,
                                       struct pack_error *err);

/*
 * The same for small documents, as a tree of up to PACK_JSON_VALUES_MAX values, which are
 * borrowed until pack_json_free(). `text` need not outlive the call.
 */
struct pack_json_doc;
enum pack_status pack_json_parse(const char *text, size_t size,
                                 struct pack_json_doc **doc,
                                 const struct pack_json_value **root,
                                 struct pack_error *err);
void pack_json_free(struct pack_json_doc *doc);

/* Member of an object by key, or NULL; NULL and non-objects are fine. */
const struct pack_json_value *pack_json_find(const struct pack_json_value *object,
                                             const char *key);

#ifdef __cplusplus
}
#endif
#endif
