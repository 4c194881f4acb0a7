/* Each way to cut the lines is tried by the code that reads the list later, on the head
 * alone; a last row that the head may cut short is left out. */
#include "libpack/source/list_survey.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/numbers.h"

bool
pack_survey_image_name(const char *text)
{
    static const char *const endings[] = { ".jpg",  ".jpeg", ".png",  ".ppm",  ".bmp",
                                           ".pgm",  ".tif",  ".tiff", ".webp", ".gif",
                                           ".heic", ".heif", ".avif", ".jp2",  ".jfif" };
    const char *dot = strrchr(text, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof endings[0]; i++)
        if (strcasecmp(dot, endings[i]) == 0)
            return true;
    return false;
}

static bool
is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool
pack_survey_file_name(const char *text)
{
    const char *dot = strrchr(text, '.');
    bool has_letter = false;
    size_t n = 0;
    if (!dot || dot == text || dot[-1] == '/')
        return false;
    for (n = 0; is_letter(dot[1 + n]) || is_digit(dot[1 + n]); n++)
        has_letter |= is_letter(dot[1 + n]);
    return has_letter && n <= 5 && dot[1 + n] == '\0';
}

enum pack_status
pack_survey_check_path(const char *path, const struct pack_list_params *params,
                       struct pack_error *err)
{
    char text[PACK_NAME_TEXT_MAX];
    size_t n = 0;
    while (is_letter(path[n]) || (n > 0 && (is_digit(path[n]) || path[n] == '+')))
        n++;
    if (n < 2 || strncmp(path + n, "://", 3) != 0 ||
        (params->look && params->look(params->look_context, path) != PACK_LOOK_NOTHING))
        return PACK_OK;
    return pack_fail(err, PACK_ERR_FORMAT,
                     "'%s' is an address, not a file: the images are to be on this "
                     "machine, and their paths in the list",
                     pack_name_text(path, text));
}

static bool
is_number(const char *text)
{
    char *end;
    if (!is_digit(*text) && !strchr("+-.", *text))
        return false;
    pack_double_read(text, &end);
    return end > text && *end == '\0';
}

/* A whole number below 10^15. */
static bool
parse_whole(const char *text, long long *value)
{
    size_t n = strspn(text, "0123456789");
    *value = n > 0 && n <= 15 && text[n] == '\0' ? strtoll(text, NULL, 10) : -1;
    return *value >= 0;
}

static void
note_cell(struct pack_survey_column *column, size_t row, const char *text)
{
    bool is_like = pack_survey_file_name(text);
    long long value;
    bool is_whole = parse_whole(text, &value);
    column->n_like += is_like;
    column->n_image += pack_survey_image_name(text);
    column->n_number += is_number(text);
    column->n_empty += *text == '\0';
    column->n_counting += is_whole && (row == 0 || value == column->last + 1);
    column->last = is_whole ? value : -2;
    bool has_digit = text[strcspn(text, "0123456789")] != '\0';
    column->n_digit += has_digit;
    if (row == 0) {
        column->first_like = is_like;
        column->first_word = *text && !has_digit;
    }
}

/* Whether the row that was read last is whole: something follows it in the head. */
static bool
is_row_whole(const struct pack_rows *r, const struct pack_list_head *head)
{
    return r->at < r->end || r->ahead_at < r->ahead.size || head->is_whole ||
           r->row_line == 1;
}

/* The next row, *found where it can be cut and is whole. */
static enum pack_status
next_whole(struct pack_rows *r, const struct pack_list_head *head, bool *found,
           struct pack_error *err)
{
    enum pack_status status = pack_rows_try(r, found, err);
    *found = *found && is_row_whole(r, head);
    return status;
}

static enum pack_status
note_row(struct pack_survey *s, const struct pack_rows *r, struct pack_error *err)
{
    if (s->n_rows == 0) {
        s->columns = calloc(r->n_cells, sizeof *s->columns);
        if (!s->columns)
            return pack_fail_memory(err, "the columns of a list");
        s->n_cells = r->n_cells;
        s->is_even = true;
    }
    s->is_even = s->is_even && r->n_cells == s->n_cells;
    for (size_t i = 0; i < r->n_cells && i < s->n_cells; i++)
        note_cell(&s->columns[i], s->n_rows, pack_rows_cell(r, i));
    s->n_rows++;
    return PACK_OK;
}

enum pack_status
pack_survey_take(const struct pack_list_head *head, const struct pack_rows_syntax *syntax,
                 struct pack_survey *survey, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    struct pack_rows *r = malloc(sizeof *r);
    *survey = (struct pack_survey){ 0 };
    if (!r)
        return pack_fail_memory(err, "a list");
    pack_rows_init(r, syntax, head, NULL, "", NULL);
    while (status == PACK_OK && survey->n_rows < PACK_SURVEY_ROWS_MAX) {
        enum pack_status cut = pack_rows_next(r);
        survey->is_broken = cut != PACK_OK && is_row_whole(r, head);
        if (cut == PACK_ERR_MEMORY)
            status = pack_fail_memory(err, "a list");
        if (cut != PACK_OK || r->n_cells == 0 || !is_row_whole(r, head))
            break;
        status = note_row(survey, r, err);
    }
    pack_rows_done(r);
    free(r);
    return status;
}

const char *
pack_survey_ending(size_t i)
{
    static const char *const endings[] = { ".jpg", ".png",  ".jpeg", ".JPG", ".JPEG",
                                           ".PNG", ".webp", ".tif",  ".tiff" };
    return i < sizeof endings / sizeof endings[0] ? endings[i] : NULL;
}

/* Whether there is something that a cell names. */
static bool
is_there(const char *cell, const struct pack_survey_place *place,
         const struct pack_list_params *params)
{
    const char *ending;
    char path[PATH_MAX];
    if (params->look(params->look_context, cell) != PACK_LOOK_NOTHING)
        return true;
    for (size_t i = 0; place->adds_endings && *cell && (ending = pack_survey_ending(i)); i++)
        if (snprintf(path, sizeof path, "%s%s", cell, ending) < PATH_MAX &&
            params->look(params->look_context, path) == PACK_LOOK_FILE)
            return true;
    return false;
}

enum pack_status
pack_survey_look(const struct pack_list_head *head, const struct pack_survey_place *place,
                 const struct pack_list_params *params, size_t *n_there,
                 struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    bool found = true;
    *n_there = 0;
    if (!params->look)
        return PACK_OK;
    struct pack_rows *r = malloc(sizeof *r);
    if (!r)
        return pack_fail_memory(err, "a list");
    pack_rows_init(r, &place->syntax, head, NULL, "", NULL);
    for (size_t i = 0; found && i < place->skip + PACK_SURVEY_LOOKS_MAX; i++) {
        status = next_whole(r, head, &found, err);
        *n_there += found && i >= place->skip && place->at < r->n_cells &&
                    is_there(pack_rows_cell(r, place->at), place, params);
    }
    pack_rows_done(r);
    free(r);
    return status;
}

/* Whether a line may be a path, as far as it tells itself. */
static bool
may_be_path(const char *line, const struct pack_list_params *params)
{
    return pack_survey_file_name(line) || !strpbrk(line, " \t,") ||
           (params->look &&
            params->look(params->look_context, line) == PACK_LOOK_FOLDER);
}

enum pack_status
pack_survey_is_paths(const struct pack_list_head *head, char terminator,
                     const struct pack_list_params *params, bool *are_paths,
                     struct pack_error *err)
{
    struct pack_rows_syntax whole = { .cut = PACK_ROWS_WHOLE,
                                      .terminator = terminator,
                                      .has_comments = true };
    struct pack_rows *r = malloc(sizeof *r);
    size_t n_images = 0;
    bool found = true, fits = true;
    enum pack_status status = PACK_OK;
    if (!r)
        return pack_fail_memory(err, "a list");
    pack_rows_init(r, &whole, head, NULL, "", NULL);
    for (size_t n = 0; found && fits && n < PACK_SURVEY_ROWS_MAX; n++) {
        status = next_whole(r, head, &found, err);
        if (!found)
            break;
        n_images += pack_survey_image_name(pack_rows_cell(r, 0));
        fits = may_be_path(pack_rows_cell(r, 0), params);
    }
    pack_rows_done(r);
    free(r);
    *are_paths = fits && n_images > 0;
    return status;
}
