/* In blocks until the end: pipes and files that grow have no size to ask for. */
#include "libpack/base/textfile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The byte order mark that editors of some systems put before UTF-8. */
static void
drop_mark(struct pack_buf *text)
{
    static const char mark[] = { '\xef', '\xbb', '\xbf' };
    if (text->size < sizeof mark || memcmp(text->data, mark, sizeof mark) != 0)
        return;
    text->size -= sizeof mark;
    memmove(text->data, text->data + sizeof mark, text->size + 1);
}

enum pack_status
pack_textfile_read(const char *path, size_t max, struct pack_buf *text,
                   struct pack_error *err)
{
    char block[4096];
    size_t n;
    enum pack_status status = PACK_OK;
    pack_buf_init(text, max);
    FILE *stream = fopen(path, "re");
    if (!stream)
        return pack_fail_errno(err, errno, "cannot open '%s'", path);
    while (status == PACK_OK && (n = fread(block, 1, sizeof block, stream)) > 0)
        status = pack_buf_append(text, block, n, err);
    text->max = 0; /* the NUL is not part of the text */
    if (status == PACK_OK)
        status = pack_buf_printf(text, err, "%s", "");
    if (status == PACK_OK)
        drop_mark(text);
    if (status != PACK_OK)
        status = pack_error_prefix(err, status, "'%s'", path);
    else if (ferror(stream))
        status = pack_fail_errno(err, errno, "cannot read '%s'", path);
    fclose(stream);
    if (status != PACK_OK)
        pack_buf_done(text);
    return status;
}
