/* The line with the least time among the next ones of all pieces is the next of all. */
#include "libpack/model/trace_merge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/numbers.h"
#include "libpack/model/trace_line.h"

/* A name's place in a piece and among all. */
struct place {
    bool is_known;
    uint64_t here;
    size_t there;
};

struct piece {
    struct pack_trace_head head;
    struct pack_trace_text text;
    struct pack_trace_line line;
    bool more, is_damaged;
    struct place file, dataset; /* of the line before */
};

struct merge {
    struct piece *pieces;
    size_t n;
    struct pack_trace_names files, datasets;
    struct pack_buf *out;
};

static bool
is_stopped(const struct pack_trace_piece *piece)
{
    static const char word[] = "\n# stopped";
    size_t size = pack_trace_text_whole(piece->text, piece->size), line = size;
    while (line > 1 && piece->text[line - 2] != '\n')
        line--;
    return line > 1 && size - line > sizeof word - 1 &&
           memcmp(piece->text + line - 2, word, sizeof word - 1) == 0;
}

/* Goes to the next line; where that is none, the piece ends there. */
static enum pack_status
advance(struct piece *p, struct pack_error *err)
{
    struct pack_error why = { 0 };
    enum pack_status status = pack_trace_text_next(&p->text, &p->line, &p->more, &why);
    if (status == PACK_ERR_FORMAT) {
        p->more = false;
        p->is_damaged = true;
        return PACK_OK;
    }
    return status == PACK_OK ? status : pack_fail(err, status, "%s", why.text);
}

static enum pack_status
begin(struct merge *m, const struct pack_trace_piece *pieces, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    m->pieces = calloc(m->n + 1, sizeof *m->pieces);
    if (!m->pieces)
        return pack_fail_memory(err, "trace");
    for (size_t i = 0; i < m->n && status == PACK_OK; i++) {
        struct piece *p = &m->pieces[i];
        size_t size = pack_trace_text_whole(pieces[i].text, pieces[i].size);
        status = pack_trace_text_begin(&p->text, pieces[i].text, size, &p->head, NULL);
        if (status != PACK_OK || !p->head.has_origin) {
            p->is_damaged = size > 0;
            status = PACK_OK;
        } else {
            status = advance(p, err);
        }
    }
    return status;
}

/* The place among all of a name, said in the trace before it is used. */
static enum pack_status
place_name(struct merge *m, const char *kind, const struct pack_trace_names *here,
           struct pack_trace_names *there, uint64_t place, struct place *known,
           struct pack_error *err)
{
    if (known->is_known && known->here == place)
        return PACK_OK;
    size_t n = there->n;
    *known = (struct place){ .is_known = true, .here = place };
    enum pack_status status =
        pack_trace_names_place(there, here->names[place], &known->there, err);
    if (status == PACK_OK && there->n > n)
        status = pack_trace_put_name(m->out, kind, n, here->names[place], err);
    return status;
}

static enum pack_status
put_line(struct merge *m, struct piece *p, struct pack_error *err)
{
    const struct pack_trace_line *line = &p->line;
    enum pack_status status =
        place_name(m, "file", &p->head.files, &m->files, line->file, &p->file, err);
    if (status == PACK_OK)
        status = place_name(m, "dataset", &p->head.datasets, &m->datasets, line->dataset,
                            &p->dataset, err);
    if (status == PACK_OK)
        status =
            pack_buf_append(m->out, line->text, (size_t)(line->origin - line->text), err);
    return status == PACK_OK
               ? pack_buf_printf(m->out, err, "%zu\t%zu\t%" PRIu64 "\t%" PRIu64 "\n",
                                 p->file.there, p->dataset.there, line->process,
                                 line->time_ns)
               : status;
}

/* names->n: it is none of them. */
static size_t
find_name(const struct pack_trace_names *names, const char *name)
{
    size_t i = 0;
    while (i < names->n && strcmp(names->names[i], name) != 0)
        i++;
    return i;
}

/* What a piece's reads took, by the names of all. A name that nothing was read of stands in
 * no line, and so in no such sum. */
static enum pack_status
add_spent(struct merge *m, const struct piece *p, struct pack_trace_head *sums,
          struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < p->head.n_spent && status == PACK_OK; i++) {
        struct pack_trace_spent spent = p->head.spent[i];
        spent.file = find_name(&m->files, p->head.files.names[spent.file]);
        spent.dataset = find_name(&m->datasets, p->head.datasets.names[spent.dataset]);
        if (spent.file < m->files.n && spent.dataset < m->datasets.n)
            status = pack_trace_spend(sums, &spent, err);
    }
    return status;
}

static enum pack_status
put_spent(struct merge *m, struct pack_error *err)
{
    struct pack_trace_head sums = { 0 };
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < m->n && status == PACK_OK; i++)
        status = add_spent(m, &m->pieces[i], &sums, err);
    for (size_t i = 0; i < sums.n_spent && status == PACK_OK; i++) {
        const struct pack_trace_spent *s = &sums.spent[i];
        status = pack_buf_printf(
            m->out, err, "# spent\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64, s->file,
            s->dataset, s->n_reads, s->ns);
        if (status == PACK_OK && s->process != UINT64_MAX)
            status = pack_buf_printf(m->out, err, "\t%" PRIu64, s->process);
        if (status == PACK_OK)
            status = pack_buf_append(m->out, "\n", 1, err);
    }
    pack_trace_head_done(&sums);
    return status;
}

static enum pack_status
put_ran(struct merge *m, const struct piece *p, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < p->head.n_ran && status == PACK_OK; i++) {
        const struct pack_trace_ran *r = &p->head.ran[i];
        status = pack_buf_printf(m->out, err,
                                 "# ran\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
                                 "\t%" PRIu64 "\t%" PRIu64 "\n",
                                 r->process, r->ns, r->busy_ns, r->delay_ns, r->parent,
                                 r->parent_busy_ns);
    }
    return status;
}

/* Of what was read, in the order of pieces. */
static enum pack_status
put_caches(struct merge *m, const struct piece *p, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < p->head.n_caches && status == PACK_OK; i++) {
        const struct pack_trace_cache *c = &p->head.caches[i];
        char w0[32];
        size_t file = find_name(&m->files, p->head.files.names[c->file]);
        size_t dataset = find_name(&m->datasets, p->head.datasets.names[c->dataset]);
        pack_double_print(c->w0, 6, w0, sizeof w0);
        if (file < m->files.n && dataset < m->datasets.n)
            status = pack_buf_printf(m->out, err,
                                     "# cache\t%zu\t%zu\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
                                     "\t%s\t%s\n",
                                     file, dataset, c->process, c->n_slots, c->size_bytes, w0,
                                     c->version);
    }
    return status;
}

static struct piece *
earliest(const struct merge *m)
{
    struct piece *best = NULL;
    for (size_t i = 0; i < m->n; i++)
        if (m->pieces[i].more &&
            (!best || m->pieces[i].line.time_ns < best->line.time_ns))
            best = &m->pieces[i];
    return best;
}

static enum pack_status
put_lines(struct merge *m, struct pack_error *err)
{
    struct piece *p = earliest(m);
    uint64_t n_around = 0;
    bool any = p != NULL;
    enum pack_status status =
        p ? pack_buf_printf(m->out, err, "# h5pack-trace 2\n") : PACK_OK;
    for (; p && status == PACK_OK; p = earliest(m)) {
        status = put_line(m, p, err);
        if (status == PACK_OK)
            status = advance(p, err);
    }
    if (status == PACK_OK && any)
        status = put_spent(m, err);
    for (size_t i = 0; any && i < m->n && status == PACK_OK; i++)
        status = put_ran(m, &m->pieces[i], err);
    for (size_t i = 0; any && i < m->n && status == PACK_OK; i++)
        status = put_caches(m, &m->pieces[i], err);
    for (size_t i = 0; i < m->n; i++)
        n_around += m->pieces[i].head.n_around;
    return status == PACK_OK && n_around
               ? pack_buf_printf(m->out, err, "# around\t%" PRIu64 "\n", n_around)
               : status;
}

enum pack_status
pack_trace_merge(struct pack_trace_piece *pieces, size_t n, struct pack_buf *out,
                 size_t *n_damaged, size_t *n_stopped, struct pack_error *err)
{
    struct merge m = { .n = n, .out = out };
    enum pack_status status = begin(&m, pieces, err);
    if (status == PACK_OK)
        status = put_lines(&m, err);
    *n_damaged = *n_stopped = 0;
    for (size_t i = 0; m.pieces && i < n; i++) {
        pieces[i].is_damaged = m.pieces[i].is_damaged;
        *n_damaged += m.pieces[i].is_damaged;
        pack_trace_head_done(&m.pieces[i].head);
    }
    free(m.pieces);
    pack_trace_names_done(&m.files);
    pack_trace_names_done(&m.datasets);
    for (size_t i = 0; i < n; i++)
        *n_stopped += is_stopped(&pieces[i]);
    return status;
}
