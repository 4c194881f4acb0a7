/* The command that reads a file as it was asked about, with libpack's own reader. */
#include "libpack/advise/snippet.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/base/name.h"
#include "libpack/base/page.h"

/* The command goes on in a new line. */
static const char and_then[] = " \\\n         ";

/* Options that few ask for. */
static void
put_rest(const struct pack_snippet_subject *s, struct page *page)
{
    const struct pack_pattern *p = &s->params->reading.pattern;
    bool has_memory = pack_advise_memory(s->params) != pack_advise_default_memory(0);
    char box[PACK_SHAPE_TEXT_MAX];
    bool has_box = p->box.rank && p->kind != PACK_PATTERN_TRACE; /* which says it itself */
    if (has_box || p->world > 1 || p->seed || has_memory)
        LINE(page, "%s", and_then);
    if (has_box)
        LINE(page, " --box %s", pack_shape_format(&p->box, box));
    if (p->world > 1)
        LINE(page, " --rank %" PRIu64 "/%" PRIu64, p->rank, p->world);
    if (p->seed)
        LINE(page, " --seed %" PRIu64, p->seed);
    if (has_memory)
        LINE(page, " --memory %" PRIu64, pack_advise_memory(s->params));
}

enum pack_status
pack_snippet_reader(const struct pack_snippet_subject *s, const char *pattern,
                    struct pack_buf *buf, struct pack_error *err)
{
    const struct pack_pattern *p = &s->params->reading.pattern;
    struct page page = { buf, PACK_OK, err };
    char *operand = NULL;
    if (asprintf(&operand, "%s:/%s", s->file, s->dataset) < 0)
        return pack_fail_memory(err, "a name");
    LINE(&page, "h5readbench ");
    if (page.status == PACK_OK)
        page.status = pack_name_word(operand, buf, err);
    LINE(&page, " --engine libpack%s --pattern ", and_then);
    if (page.status == PACK_OK)
        page.status = pack_name_word(pattern, buf, err);
    if (s->with)
        LINE(&page, " --with ");
    if (s->with && page.status == PACK_OK)
        page.status = pack_name_word(s->with, buf, err);
    LINE(&page, " --workers %" PRIu64 " --batch %" PRIu64 " --epochs %" PRIu64, p->workers,
         p->batch ? p->batch : 1, pack_advise_epochs(s->params));
    put_rest(s, &page);
    free(operand);
    return page.status;
}
