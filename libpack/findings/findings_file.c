/* Of a file as a whole. */
#include "libpack/findings/findings_stored.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "libpack/base/name.h"
#include "libpack/base/numbers.h"
#include "libpack/base/size.h"
#include "libpack/findings/rules.h"
#include "libpack/findings/thresholds.h"

#define SAY(text, ...) snprintf(text, sizeof(text), __VA_ARGS__)

struct look {
    const struct pack_survey *s;
    const struct pack_thresholds *t;
};

bool
pack_findings_is_cut(const struct pack_survey *s)
{
    const struct pack_superblock *sb = &s->file.superblock;
    return s->file.has_superblock && !sb->has_driver &&
           sb->end_bytes > s->file.file_bytes;
}

static bool
truncated(const struct look *l, struct pack_finding *out)
{
    const struct pack_survey *s = l->s;
    char is[PACK_BYTES_TEXT_MAX], was[PACK_BYTES_TEXT_MAX];
    if (!pack_findings_is_cut(s))
        return false;
    out->value = (double)s->file.superblock.end_bytes;
    out->price_bytes = out->value - (double)s->file.file_bytes;
    SAY(out->evidence,
        "the file ends at %s and says that it ended at %s (%llu of %llu bytes)%s",
        pack_bytes_format(s->file.file_bytes, is),
        pack_bytes_format(s->file.superblock.end_bytes, was),
        (unsigned long long)s->file.file_bytes,
        (unsigned long long)s->file.superblock.end_bytes,
        s->status != PACK_OK ? "; not all of its datasets could be listed" : "");
    if (s->status != PACK_OK && s->n_datasets > 0)
        SAY(out->remedy, "copy it again from where it came from: names were cut off too, and what "
                         "cannot be listed is not salvaged");
    else if (s->status != PACK_OK)
        SAY(out->remedy, "copy it again from where it came from: what says where data lies was cut "
                         "off, and no tool of HDF5 brings it back");
    else
        SAY(out->remedy, "copy it again from where it came from; what lies before the cut can be salvaged");
    return true;
}

static bool
marked_open(const struct look *l, struct pack_finding *out)
{
    const struct pack_survey *s = l->s;
    if (!s->file.has_superblock || !s->file.superblock.is_marked_open)
        return false;
    SAY(out->evidence,
        "the file is marked as open for writing: somebody is at it now, or a "
        "writer did not come to close it");
    SAY(out->remedy, "once nobody writes: h5clear -s");
    return true;
}

static bool
crashes(const struct look *l, struct pack_finding *out)
{
    const struct pack_survey *s = l->s;
    if (s->is_complete || s->status == PACK_OK)
        return false;
    SAY(out->evidence, "%.479s", s->failure.text);
    return true;
}

static bool
unreadable(const struct look *l, struct pack_finding *out)
{
    const struct pack_survey *s = l->s;
    if (!s->is_complete || s->status == PACK_OK || pack_findings_is_cut(s))
        return false;
    SAY(out->evidence, "%.479s", s->failure.text);
    if (s->file.has_superblock)
        SAY(out->remedy, "copy it again, or from a backup: no tool of HDF5 mends this (h5clear only "
                         "takes off the mark that a writer left)");
    return true;
}

static void
add(uint64_t *sum, uint64_t bytes)
{
    if (!pack_size_add(*sum, bytes, sum))
        *sum = UINT64_MAX;
}

/* What is left of pages behind its chunks: data of a page and more begin a new one. */
static uint64_t
behind_chunks(const struct pack_facts *f, uint64_t page_bytes)
{
    if (page_bytes == 0 || f->chunk_bytes < page_bytes)
        return page_bytes;
    uint64_t over = f->chunk_bytes % page_bytes;
    uint64_t rest = f->pipeline.n > 0 ? page_bytes / 2 : over ? page_bytes - over : 0;
    return pack_size_mul(rest, f->n_chunks_stored + 1, &rest) ? rest : UINT64_MAX;
}

/* Whether some of what its elements say lies in a heap of the file. References to parts of a
 * dataset do, which are longer than those to objects. */
static bool
may_have_heap(const struct pack_type *type)
{
    enum { OBJECT_BYTES = 8 };
    return type->is_variable || type->class_id == PACK_TYPE_COMPOUND ||
           type->class_id == PACK_TYPE_ARRAY ||
           (type->class_id == PACK_TYPE_REFERENCE && type->bytes > OBJECT_BYTES);
}

/* What no dataset, nothing that describes it and no page can account for. */
static bool
free_space(const struct look *l, struct pack_finding *out)
{
    const struct pack_survey *s = l->s;
    uint64_t held = s->file.metadata_bytes;
    char size[PACK_BYTES_TEXT_MAX];
    if (s->status != PACK_OK || s->n_datasets < s->file.n_datasets || s->n_datasets == 0)
        return false;
    if (s->file.has_superblock)
        add(&held, s->file.superblock.start_bytes);
    for (size_t i = 0; i < s->n_datasets; i++) {
        const struct pack_facts *f = &s->datasets[i].facts;
        if (s->datasets[i].failure[0] || may_have_heap(&f->type))
            return false; /* how large it is is not known */
        if (f->n_external > 0)
            continue;
        add(&held, f->stored_bytes);
        add(&held, behind_chunks(f, s->file.page_bytes));
    }
    if (held >= s->file.file_bytes)
        return false;
    out->price_bytes = (double)(s->file.file_bytes - held);
    out->value = out->price_bytes / (double)s->file.file_bytes;
    if (out->price_bytes < pack_threshold(l->t, 510, "bytes") ||
        out->value < pack_threshold(l->t, 510, "rate"))
        return false;
    SAY(out->evidence, "%s of the file, %.3g %%, belong to no dataset",
        pack_bytes_format(s->file.file_bytes - held, size), 100 * out->value);
    return true;
}

size_t
pack_findings_alike(const struct pack_survey *s, const struct pack_thresholds *thresholds)
{
    double least = fmax(2, pack_threshold(thresholds, 512, "datasets"));
    size_t n = 0;
    while (n < s->n_alike && (double)s->alike[n].n >= least)
        n++;
    return n;
}

/* All kinds of them as far as there is room, the most first. */
static bool
many_datasets(const struct look *l, struct pack_finding *out)
{
    enum { NAMED = 4, GROUP_MAX = 48 };
    const struct pack_survey_alike *alike = l->s->alike;
    size_t n = pack_findings_alike(l->s, l->t), named = n > NAMED ? NAMED : n;
    char extent[PACK_SHAPE_TEXT_MAX], group[PACK_NAME_TEXT_MAX], more[160] = "";
    if (n == 0)
        return false;
    out->value = (double)alike->n;
    int at = SAY(out->evidence, "%llu datasets of the same shape, %s, in '/%.200s'",
                 (unsigned long long)alike->n, pack_shape_format(&alike->extent, extent),
                 pack_name_text(alike->group, group));
    if (n > named)
        SAY(more, ", and those of %s", pack_counted(n - named, "other kind", "other kinds").text);
    for (size_t i = 1; i < named && at < (int)sizeof out->evidence; i++)
        at += snprintf(out->evidence + at, sizeof out->evidence - (size_t)at,
                       ", %llu of %.40s in '/%.*s'", (unsigned long long)alike[i].n,
                       pack_shape_format(&alike[i].extent, extent), GROUP_MAX,
                       pack_name_text(alike[i].group, group));
    if (at < (int)sizeof out->evidence)
        snprintf(out->evidence + at, sizeof out->evidence - (size_t)at,
                 "%s: one for each sample", more);
    SAY(out->remedy, "one dataset%s, with one more dimension in front", n > 1 ? " of each kind" : "");
    return true;
}

/* The last part of a path is one of the words. */
static bool
is_called(const char *path, const char *const *words)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (; *words; words++)
        if (strcmp(name, *words) == 0)
            return true;
    return false;
}

/* The length of the path of the group that it is in, with a slash behind it. */
static size_t
group_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* MATLAB's labels are a matrix of one row. */
static uint64_t
count_entries(const struct pack_shape *extent)
{
    return extent->rank == 2 && extent->extent[0] == 1 ? extent->extent[1]
                                                       : extent->extent[0];
}

/* Labels beside images, of which there are not as many; NULL: none. What is in a group and below
 * it is listed in one stretch. */
static const struct pack_facts *
find_other_length(const struct pack_survey *s, size_t images)
{
    static const char *const targets[] = { "labels", "label", "targets", "y", NULL };
    const struct pack_facts *a = &s->datasets[images].facts;
    size_t n = group_length(a->path), first = images;
    while (first > 0 && strncmp(s->datasets[first - 1].facts.path, a->path, n) == 0)
        first--;
    for (size_t i = first; i < s->n_datasets; i++) {
        const struct pack_facts *b = &s->datasets[i].facts;
        if (strncmp(b->path, a->path, n) != 0)
            break;
        if (group_length(b->path) == n && is_called(b->path, targets) && b->extent.rank > 0 &&
            a->extent.extent[0] != count_entries(&b->extent))
            return b;
    }
    return NULL;
}

static bool
lengths_differ(const struct look *l, struct pack_finding *out)
{
    static const char *const inputs[] = { "images", "data", "x", "X", "features", NULL };
    const struct pack_survey *s = l->s;
    for (size_t i = 0; i < s->n_datasets; i++) {
        const struct pack_facts *a = &s->datasets[i].facts;
        const struct pack_facts *b = a->extent.rank > 0 && is_called(a->path, inputs)
                                         ? find_other_length(s, i)
                                         : NULL;
        if (!b)
            continue;
        out->value = (double)count_entries(&b->extent);
        SAY(out->evidence, "'%.120s' has %llu samples, '%.120s' beside it %llu", a->path,
            (unsigned long long)a->extent.extent[0], b->path,
            (unsigned long long)count_entries(&b->extent));
        return true;
    }
    return false;
}

static bool
shared_bytes(const struct look *l, struct pack_finding *out)
{
    const struct pack_survey *s = l->s;
    char one[PACK_NAME_TEXT_MAX], other[PACK_NAME_TEXT_MAX];
    if (s->shared.n == 0)
        return false;
    out->value = (double)s->shared.n;
    SAY(out->evidence,
        "'/%.160s' and '/%.160s' both claim bytes of the file from %llu on%s",
        pack_name_text(s->shared.one, one), pack_name_text(s->shared.other, other),
        (unsigned long long)s->shared.first_bytes,
        s->shared.n > 1 ? ", and there are more such places" : "");
    return true;
}

static const struct {
    int code;
    bool (*find)(const struct look *look, struct pack_finding *out);
} rules[] = {
    { 501, truncated },    { 502, marked_open },    { 503, crashes },
    { 504, unreadable },   { 510, free_space },     { 512, many_datasets },
    { 515, shared_bytes }, { 601, lengths_differ },
};

size_t
pack_findings_file(const struct pack_survey *survey,
                   const struct pack_thresholds *thresholds,
                   struct pack_finding *findings, size_t max)
{
    const struct look look = { survey, thresholds };
    size_t n = 0;
    for (size_t i = 0; i < sizeof rules / sizeof *rules && n < max; i++) {
        const struct pack_rule *rule = pack_rule_of(rules[i].code);
        struct pack_finding found = { .code = rule->code,
                                      .id = rule->id,
                                      .severity = rule->severity };
        if (rules[i].find(&look, &found))
            findings[n++] = found;
    }
    return n;
}
