/* Any bytes as the head of a list: what is recognised fits the rows that are read by it
 * afterwards, whichever files are said to be there. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/source/list_form.h"

/* A third of all names are files, a third folders, by their bytes. */
static enum pack_list_look
look(void *context, const char *path)
{
    unsigned sum = *(const unsigned *)context;
    for (; *path; path++)
        sum = 31 * sum + (unsigned char)*path;
    return (enum pack_list_look)(sum % 3);
}

/* The columns that were recognised are in the first row. */
static void
check(const struct pack_list_form *form, const struct pack_list_head *head)
{
    struct pack_rows *r = malloc(sizeof *r);
    if (!r)
        return;
    pack_rows_init(r, &form->rows, head, NULL, "l", NULL);
    enum pack_status status = pack_rows_next(r);
    if (status == PACK_OK && form->has_count)
        status = pack_rows_next(r);
    if (status == PACK_OK && r->n_cells > 0) {
        size_t n = r->n_cells + form->has_count;
        assert(form->path_at < n);
        assert(form->label_at == PACK_LIST_NO_COLUMN || form->label_at < n);
        assert(form->label_at != form->path_at);
    }
    pack_rows_done(r);
    free(r);
}

static void
recognise(const uint8_t *data, size_t size, const struct pack_list_params *params,
          bool is_whole)
{
    struct pack_list_head head = { .size = size, .capacity = size, .is_whole = is_whole };
    struct pack_list_form *form = malloc(sizeof *form);
    struct pack_error err = { .text = "" };
    head.bytes = malloc(size + 1); /* of its own, so that its end is seen */
    if (!form || !head.bytes)
        goto out;
    memcpy(head.bytes, data, size);
    enum pack_status status = pack_list_recognise(&head, "l", params, form, &err);
    if (status != PACK_OK)
        assert(err.text[0] && err.status == status);
    else if (!form->is_coco) {
        assert(strncmp(form->taken, "takes ", 6) == 0);
        check(form, &head);
    }
out:
    free(head.bytes);
    free(form);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const columns[] = { NULL, "0", "1", "2", "x" };
    if (size < 2)
        return 0;
    unsigned seed = data[0];
    struct pack_list_params params = { .format = (enum pack_list_format)(data[1] % 16 ? 0 : 1),
                                       .path_column = columns[data[1] / 16 % 5],
                                       .label_column = columns[data[0] / 16 % 5],
                                       .no_header = data[0] & 1,
                                       .no_label = data[0] & 2,
                                       .look = data[0] & 4 ? look : NULL,
                                       .look_context = &seed };
    recognise(data + 2, size - 2, &params, true);
    recognise(data + 2, size - 2, &params, false);
    return 0;
}
