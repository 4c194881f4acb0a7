/*
 * A column starts as an array of integers. The first cell that is none turns it into text
 * for good: integers are only taken in the form that printing gives back, so the text of
 * earlier cells can be recovered and no list is read twice. Whether text is made of
 * numbers is known at the end, and the text is at hand should it not be.
 */
#include "libpack/source/list_column.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS    "0123456789"
#define EXACT_MAX 0x1p53 /* float64 holds all integers below */

/* Decimal digits without superfluous zeros in front; their number,
 * 0 when there are none. */
static size_t
whole_part(const char *text)
{
    size_t n = strspn(text, DIGITS);
    return n > 1 && *text == '0' ? 0 : n;
}

/* An integer in the form that "%lld" prints. */
static bool
parse_integer(const char *cell, int64_t *value)
{
    bool negative = *cell == '-';
    const char *digits = cell + negative;
    size_t n = whole_part(digits);
    if (n == 0 || n > 19 || digits[n] || (negative && *digits == '0'))
        return false;
    uint64_t magnitude = 0; /* 19 digits fit */
    for (size_t i = 0; i < n; i++)
        magnitude = 10 * magnitude + (uint64_t)(digits[i] - '0');
    if (magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    *value = (int64_t)(negative ? 0 - magnitude : magnitude);
    return true;
}

static bool
is_nonfinite(const char *text)
{
    return !strcasecmp(text, "nan") || !strcasecmp(text, "inf") ||
           !strcasecmp(text, "infinity");
}

/* [sign] digits [. digits] [e [sign] digits], .digits, or nan and inf. */
static bool
is_number(const char *cell)
{
    const char *s = cell + (*cell == '-' || *cell == '+');
    if (is_nonfinite(s))
        return true;
    size_t whole = whole_part(s), fraction = 0;
    s += whole;
    if (*s == '.')
        s += 1 + (fraction = strspn(s + 1, DIGITS));
    if (whole + fraction == 0)
        return false;
    if (*s == 'e' || *s == 'E') {
        s += 1 + (s[1] == '-' || s[1] == '+');
        size_t exponent = strspn(s, DIGITS);
        if (exponent == 0)
            return false;
        s += exponent;
    }
    return *s == '\0';
}

static enum pack_status
add_text(struct pack_column_builder *b, const char *cell, struct pack_error *err)
{
    b->may_be_number = b->may_be_number && (*cell == '\0' || is_number(cell));
    return pack_buf_append(&b->text, cell, strlen(cell) + 1, err);
}

static enum pack_status
integers_to_text(struct pack_column_builder *b, struct pack_error *err)
{
    b->is_text = b->may_be_number = true;
    for (uint64_t i = 0; i < b->n; i++) {
        enum pack_status status =
            pack_buf_printf(&b->text, err, "%" PRId64, b->integers[i]);
        if (status != PACK_OK)
            return status;
        b->text.size++; /* the NUL behind it */
    }
    free(b->integers);
    b->integers = NULL;
    return PACK_OK;
}

static enum pack_status
add_integer(struct pack_column_builder *b, int64_t value, struct pack_error *err)
{
    if (b->n == b->capacity) {
        uint64_t capacity = b->n < 64 ? 64 : b->n + b->n / 2;
        int64_t *integers = reallocarray(b->integers, capacity, sizeof *integers);
        if (!integers)
            return pack_fail_memory(err, "a column of a list");
        b->integers = integers;
        b->capacity = capacity;
    }
    b->integers[b->n] = value;
    return PACK_OK;
}

enum pack_status
pack_column_add(struct pack_column_builder *b, const char *cell, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    int64_t value;
    if (!b->is_text && parse_integer(cell, &value)) {
        status = add_integer(b, value, err);
    } else {
        if (!b->is_text)
            status = integers_to_text(b, err);
        if (status == PACK_OK)
            status = add_text(b, cell, err);
    }
    b->n += status == PACK_OK;
    return status;
}

/* A cell that is_number(); false when float64 would not give it back. */
static bool
parse_number(const char *cell, locale_t c_locale, double *value)
{
    const char *digits = cell + (*cell == '-' || *cell == '+');
    *value = strtod_l(cell, NULL, c_locale);
    if (isinf(*value))
        return is_nonfinite(digits);
    return digits[strspn(digits, DIGITS)] || fabs(*value) < EXACT_MAX;
}

/* The cells as float64, or no array when they are not. */
static enum pack_status
text_to_floats(const struct pack_column_builder *b, double **floats,
               struct pack_error *err)
{
    const char *cell = (const char *)b->text.data;
    uint64_t n_numbers = 0, i = 0;
    double *values = malloc(b->n * sizeof *values);
    if (!values)
        return pack_fail_memory(err, "a column of a list");
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale) {
        free(values);
        return pack_fail_memory(err, "a locale");
    }
    for (; i < b->n; i++, cell += strlen(cell) + 1) {
        values[i] = NAN;
        if (*cell == '\0')
            continue;
        if (!parse_number(cell, c_locale, &values[i]))
            break;
        n_numbers++;
    }
    freelocale(c_locale);
    if (i < b->n || n_numbers == 0) {
        free(values);
        values = NULL;
    }
    *floats = values;
    return PACK_OK;
}

static enum pack_status
text_to_strings(struct pack_column_builder *b, struct pack_column *column,
                struct pack_error *err)
{
    char **strings = malloc(b->n * sizeof *strings);
    if (!strings)
        return pack_fail_memory(err, "a column of a list");
    char *cell = (char *)b->text.data;
    for (uint64_t i = 0; i < b->n; i++, cell += strlen(cell) + 1)
        strings[i] = cell;
    column->kind = PACK_COLUMN_STRING;
    column->strings = strings;
    column->text = (char *)b->text.data;
    b->text = (struct pack_buf){ 0 };
    return PACK_OK;
}

enum pack_status
pack_column_finish(struct pack_column_builder *b, struct pack_column *column,
                   struct pack_error *err)
{
    if (!b->is_text) {
        column->kind = PACK_COLUMN_INT64;
        column->integers = b->integers;
        b->integers = NULL;
        return PACK_OK;
    }
    if (b->may_be_number) {
        enum pack_status status = text_to_floats(b, &column->floats, err);
        if (status != PACK_OK)
            return status;
    }
    if (!column->floats)
        return text_to_strings(b, column, err);
    column->kind = PACK_COLUMN_FLOAT64;
    pack_buf_done(&b->text);
    return PACK_OK;
}

void
pack_column_builder_done(struct pack_column_builder *b)
{
    free(b->integers);
    pack_buf_done(&b->text);
}

enum pack_status
pack_list_watch(const struct pack_list_params *params, uint64_t n_read, uint64_t n_rows,
                struct pack_error *err)
{
    enum { AT_A_TIME = 1024 };
    if (!params->watch || n_read % AT_A_TIME != 0)
        return PACK_OK;
    pack_watch_tell(params->watch, &(struct pack_progress){ .stage = "listing",
                                                            .unit = "images",
                                                            .done = n_rows });
    return pack_watch_check(params->watch, err);
}
