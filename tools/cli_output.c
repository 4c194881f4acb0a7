/* Outputs that a program is asked for beside its report. */
#include "config.h"
#include "tools/cli.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "libpack/base/name.h"
#include "libpack/base/outfile.h"
#include "libpack/base/web.h"

/* By any name; one that is not there yet is another's only by its name. */
static bool
is_one_file(const char *a, const char *b)
{
    struct stat one, two;
    if (stat(a, &one) != 0 || stat(b, &two) != 0)
        return strcmp(a, b) == 0;
    return one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

enum pack_status
cli_check_output(const char *path, bool force, const char *const *others, size_t n_others,
                 struct pack_error *err)
{
    for (size_t i = 0; path && i < n_others; i++)
        if (others[i] && is_one_file(path, others[i]))
            return pack_fail(err, PACK_ERR_ARGUMENT,
                             "cannot write '%s': this run needs '%s' as it is", path,
                             others[i]);
    return pack_outfile_check(path, force, err);
}

enum pack_status
cli_write_page(const char *path, bool force, const struct cli_page *p, struct pack_error *err)
{
    struct pack_buf buf = { 0 };
    struct page page = { &buf, PACK_OK, err };
    char name[PACK_NAME_TEXT_MAX], head[PACK_NAME_TEXT_MAX + 32];
    snprintf(head, sizeof head, "%s: %s", p->program, pack_name_text(p->subject, name));
    pack_web_whole(&page, head, (const char *)p->text.data, p->text.size);
    if (p->svg.size > 0)
        pack_web_drawing(&page, "Drawn", p->svg.data, p->svg.size);
    pack_web_end(&page, p->program, PACKAGE_VERSION);
    if (page.status == PACK_OK)
        page.status = pack_outfile_write(path, force, buf.data, buf.size, err);
    pack_buf_done(&buf);
    return page.status;
}
