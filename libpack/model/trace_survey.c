/* Datasets are looked for in a table of places, the last one first; processes are kept in
 * order. */
#include "libpack/model/trace_survey.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/sort.h"

enum { PARTS_MAX = 1 << 20, SLOTS_MIN = 16 };

/* ---------------------------------------------------------------- counting */

/* The slot that names this part, or the empty one where it belongs. */
static size_t *
find_slot(const struct pack_trace_survey *s, uint64_t file, uint64_t dataset)
{
    uint64_t mixed = (file * UINT64_C(0x9e3779b97f4a7c15) ^ dataset) * UINT64_C(0xbf58476d1ce4e5b9);
    size_t i = (size_t)(mixed >> 32) & (s->n_slots - 1);
    while (s->slots[i] && (s->parts[s->slots[i] - 1].file != file ||
                           s->parts[s->slots[i] - 1].dataset != dataset))
        i = (i + 1) & (s->n_slots - 1);
    return &s->slots[i];
}

/* Twice as many slots as there may be parts, and more. */
static enum pack_status
make_slots(struct pack_trace_survey *s, struct pack_error *err)
{
    if (2 * s->n_parts < s->n_slots)
        return PACK_OK;
    size_t n = s->n_slots ? 2 * s->n_slots : SLOTS_MIN;
    size_t *more = calloc(n, sizeof *more);
    if (!more)
        return pack_fail_memory(err, "trace");
    free(s->slots);
    s->slots = more;
    s->n_slots = n;
    for (size_t i = 0; i < s->n_parts; i++)
        *find_slot(s, s->parts[i].file, s->parts[i].dataset) = i + 1;
    return PACK_OK;
}

static enum pack_status
find_part(struct pack_trace_survey *s, const struct pack_trace_line *line, size_t *place,
          struct pack_error *err)
{
    enum pack_status status = make_slots(s, err);
    if (status != PACK_OK)
        return status;
    size_t *slot = find_slot(s, line->file, line->dataset);
    *place = *slot ? *slot - 1 : s->n_parts;
    if (*slot)
        return PACK_OK;
    if (s->n_parts == PARTS_MAX)
        return pack_fail(err, PACK_ERR_LIMIT,
                         "the trace has reads of more than %d datasets", PARTS_MAX);
    if (s->n_parts == s->capacity) {
        size_t capacity = s->capacity ? 2 * s->capacity : 4;
        struct pack_trace_part *more = realloc(s->parts, capacity * sizeof *more);
        if (!more)
            return pack_fail_memory(err, "trace");
        s->parts = more;
        s->capacity = capacity;
    }
    s->parts[s->n_parts++] = (struct pack_trace_part){ .file = line->file,
                                                       .dataset = line->dataset,
                                                       .rank = line->box.rank };
    *slot = s->n_parts;
    return PACK_OK;
}

static enum pack_status
note_process(struct pack_trace_part *part, uint64_t process, struct pack_error *err)
{
    size_t place = pack_sort_place(part->processes, part->n_processes, process);
    if (place < part->n_processes && part->processes[place] == process)
        return PACK_OK;
    if (part->n_processes == PACK_TRACE_PROCESSES_MAX)
        return pack_fail(err, PACK_ERR_LIMIT,
                         "the trace has reads of more than %d processes",
                         PACK_TRACE_PROCESSES_MAX);
    if (part->n_processes == part->capacity) {
        size_t capacity = part->capacity ? 2 * part->capacity : 4;
        uint64_t *more = realloc(part->processes, capacity * sizeof *more);
        if (!more)
            return pack_fail_memory(err, "trace");
        part->processes = more;
        part->capacity = capacity;
    }
    memmove(part->processes + place + 1, part->processes + place,
            (part->n_processes - place) * sizeof *part->processes);
    part->processes[place] = process;
    part->n_processes++;
    return PACK_OK;
}

static enum pack_status
count(struct pack_trace_survey *s, const struct pack_trace_text *t,
      const struct pack_trace_line *line, size_t *last, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    if (*last >= s->n_parts || s->parts[*last].file != line->file ||
        s->parts[*last].dataset != line->dataset)
        status = find_part(s, line, last, err);
    if (status != PACK_OK)
        return status;
    struct pack_trace_part *part = &s->parts[*last];
    if (part->rank != line->box.rank)
        return pack_fail(err, PACK_ERR_FORMAT, "line %zu, column %zu: %s",
                         t->line - 1, t->last_column,
                         "another number of dimensions than in the first read");
    if (!s->head.has_origin || part->n_boxes == 0 || part->last_ns != line->time_ns ||
        part->last_process != line->process) {
        part->n_reads++;
        part->last_ns = line->time_ns;
        part->last_process = line->process;
        status = note_process(part, line->process, err);
    }
    part->n_boxes++;
    return status;
}

static int
by_reads(const void *a, const void *b)
{
    const struct pack_trace_part *p = a, *q = b;
    if (p->n_reads != q->n_reads)
        return p->n_reads > q->n_reads ? -1 : 1;
    if (p->file != q->file)
        return p->file < q->file ? -1 : 1;
    return p->dataset < q->dataset ? -1 : p->dataset > q->dataset;
}

enum pack_status
pack_trace_survey(const char *text, size_t size, struct pack_trace_survey *survey,
                  struct pack_error *err)
{
    struct pack_trace_text t;
    struct pack_trace_line line;
    bool more = true;
    size_t last = 0;
    enum pack_status status = pack_trace_text_begin(&t, text, size, &survey->head, err);
    while (status == PACK_OK && more) {
        status = pack_trace_text_next(&t, &line, &more, err);
        if (status == PACK_OK && more)
            status = count(survey, &t, &line, &last, err);
    }
    if (status == PACK_OK && survey->n_parts == 0)
        return pack_fail(err, PACK_ERR_FORMAT, "the trace holds no reads");
    if (status == PACK_OK)
        qsort(survey->parts, survey->n_parts, sizeof *survey->parts, by_reads);
    free(survey->slots); /* of places that are others now */
    survey->slots = NULL;
    survey->n_slots = 0;
    return status;
}

void
pack_trace_survey_done(struct pack_trace_survey *survey)
{
    for (size_t i = 0; i < survey->n_parts; i++)
        free(survey->parts[i].processes);
    free(survey->parts);
    free(survey->slots);
    pack_trace_head_done(&survey->head);
    *survey = (struct pack_trace_survey){ 0 };
}

enum pack_status
pack_trace_survey_processes(const struct pack_trace_survey *survey, uint64_t *n,
                            struct pack_error *err)
{
    size_t total = 0, k = 0;
    for (size_t i = 0; i < survey->n_parts; i++)
        total += survey->parts[i].n_processes;
    uint64_t *all = malloc((total + 1) * sizeof *all);
    if (!all)
        return pack_fail_memory(err, "trace");
    for (size_t i = 0; i < survey->n_parts; i++)
        for (size_t j = 0; j < survey->parts[i].n_processes; j++)
            all[k++] = survey->parts[i].processes[j];
    pack_sort_u64(all, total);
    *n = 0;
    for (size_t i = 0; i < total; i++)
        *n += i == 0 || all[i] != all[i - 1];
    free(all);
    return PACK_OK;
}

/* ----------------------------------------------------------------- finding */

static const char *
without_slash(const char *path)
{
    return path + strspn(path, "/");
}

static const char *
last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* How well a part is what is asked for: 0, not at all. */
static int
fitness(const struct pack_trace_survey *s, const struct pack_trace_part *part,
        const char *file, const char *dataset)
{
    const char *name = s->head.files.names[part->file];
    if (dataset && strcmp(without_slash(s->head.datasets.names[part->dataset]),
                          without_slash(dataset)) != 0)
        return 0;
    if (!file)
        return 1;
    return strcmp(name, file) == 0                       ? 3
           : strcmp(last_part(name), last_part(file)) == 0 ? 2
                                                           : 1;
}

static enum pack_status
fail_find(const struct pack_trace_survey *s, const char *dataset, struct pack_error *err)
{
    char list[200] = "";
    size_t at = 0;
    for (size_t i = 0; i < s->n_parts && at + 60 < sizeof list; i++) {
        const struct pack_trace_part *part = &s->parts[i];
        at += (size_t)snprintf(list + at, sizeof list - at, "%s'/%.30s' (%" PRIu64 ")",
                               i ? ", " : "",
                               without_slash(s->head.datasets.names[part->dataset]),
                               part->n_reads);
    }
    return pack_fail_param(err, PACK_ERR_ARGUMENT, "trace",
                           "the trace has no reads of '/%.60s'; it has of %s",
                           without_slash(dataset), list);
}

enum pack_status
pack_trace_survey_find(const struct pack_trace_survey *survey, const char *file,
                       const char *dataset, const struct pack_trace_part **part,
                       struct pack_error *err)
{
    int best = 0;
    if (!survey->head.has_origin) {
        *part = &survey->parts[0];
        return PACK_OK;
    }
    for (size_t i = 0; i < survey->n_parts; i++) {
        int fit = fitness(survey, &survey->parts[i], file, dataset);
        if (fit > best) {
            *part = &survey->parts[i];
            best = fit;
        }
    }
    return best > 0 ? PACK_OK : fail_find(survey, dataset, err);
}
