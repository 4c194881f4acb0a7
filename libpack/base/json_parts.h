/* What json_read.c and json_scalar.c share. */
#ifndef LIBPACK_JSON_PARTS_H
#define LIBPACK_JSON_PARTS_H

#include "libpack/base/json.h"

/* Of a number, which is to lie in one window. */
enum { PACK_JSON_SCALAR_BYTES_MAX = 512 };

struct pack_json_parser {
    const char *start, *at, *end;
    size_t line, column; /* of `start`, both from 0 */
    FILE *file;          /* with what follows `end`; NULL: nothing */
    const struct pack_watch *watch;
    char *window;
    size_t capacity;
    enum pack_status status; /* of moving the window on */
    bool (*passes_over)(void *context, const struct pack_json_value *value);
    int depth;
    struct pack_buf keys; /* of all open objects, innermost last */
    struct pack_buf text; /* the last one decoded */
    char number[PACK_JSON_SCALAR_BYTES_MAX]; /* the last one, as it stands */
    pack_json_event_fn fn;
    void *context;
    struct pack_error *err;
};

/* PACK_ERR_FORMAT with "line 3, column 14: " in front of `what`. */
enum pack_status pack_json_fail_at(struct pack_json_parser *p, const char *what);

/* How many bytes there are up to the quote that closes the text at p->at. */
bool pack_json_find_close(struct pack_json_parser *p, size_t *length);

/* The text at p->at, with its NUL, behind what `into` holds. */
enum pack_status pack_json_parse_text(struct pack_json_parser *p, struct pack_buf *into);

/* A number at p->at; a word, if it is there. Both lie in the window as a whole. */
enum pack_status pack_json_parse_number(struct pack_json_parser *p,
                                        struct pack_json_value *value);
bool pack_json_literal(struct pack_json_parser *p, const char *word);

#endif
