/* What tests of reports share: reports are printed of results made up here, and every
 * number that they print is looked up again, in text or in JSON. */
#ifndef TESTS_MADE_UP_H
#define TESTS_MADE_UP_H

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "libpack/base/buf.h"
#include "libpack/base/json.h"
#include "tests/tap.h"

struct made_up_number {
    const char *path; /* "result.rows.1.first_epoch_counts.hits" */
    double value;
};

/* Where a text says "1 batches" or "1 samples", or NULL; "1 is" and "1 as" may stand. */
__attribute__((unused)) static const char *
plural_of_one(const char *text)
{
    for (const char *p = strstr(text, "1 "); p; p = strstr(p + 1, "1 ")) {
        size_t n = 0;
        while (isalpha((unsigned char)p[2 + n]))
            n++;
        bool starts = p == text || strchr(" \n(,:", p[-1]);
        if (starts && n > 2 && p[1 + n] == 's')
            return p;
    }
    return NULL;
}

/* Numbers from `from` on, one more for each field. */
__attribute__((unused)) static void
number(uint64_t *fields, size_t n, uint64_t from)
{
    for (size_t i = 0; i < n; i++)
        fields[i] = from + i;
}

__attribute__((unused)) static const struct pack_json_value *
at(const struct pack_json_value *v, const char *path)
{
    char key[64];
    for (; v && *path; path += *path == '.') {
        size_t n = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        path += n;
        if (key[0] >= '0' && key[0] <= '9') {
            v = v->first;
            for (int i = atoi(key); v && i > 0; i--)
                v = v->next;
        } else {
            v = pack_json_find(v, key);
        }
    }
    return v;
}

/* How many of n numbers of a JSON text are not there, or others. */
__attribute__((unused)) static int
wrong_numbers(const struct pack_json_value *root, const struct made_up_number *numbers,
              size_t n)
{
    int wrong = 0;
    for (size_t i = 0; i < n; i++) {
        const struct pack_json_value *v = at(root, numbers[i].path);
        if (!v || fabs(v->number - numbers[i].value) > 1e-9 * fabs(numbers[i].value)) {
            wrong++;
            note("%s is %g, not %g", numbers[i].path, v ? v->number : NAN,
                 numbers[i].value);
        }
    }
    return wrong;
}

/* Ends a text and, unless lines matter, makes one blank of all that is between words. */
__attribute__((unused)) static const char *
text_of(struct pack_buf *buf, bool lines)
{
    size_t n = 0;
    pack_buf_append(buf, "", 1, NULL);
    char *text = (char *)buf->data;
    for (size_t i = 0; !lines && i < buf->size; i++) {
        bool blank = isspace((unsigned char)text[i]);
        if (!blank || (n && text[n - 1] != ' '))
            text[n++] = blank ? ' ' : text[i];
    }
    return text;
}

/* How many of n pieces a text lacks. */
__attribute__((unused)) static int
missing(const char *text, const char *const *pieces, size_t n)
{
    int wrong = 0;
    for (size_t i = 0; i < n; i++)
        if (!strstr(text, pieces[i])) {
            wrong++;
            note("missing: %.100s", pieces[i]);
        }
    return wrong;
}

#endif
