/*
 *     file ──survey.h──▶ facts ──findings_stored.h──▶ findings of the file and its datasets
 *                          └──▶ audit_read.c ──▶ what a reader pays, and what mends it
 */
#include "libpack/audit/audit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/audit/audit_parts.h"
#include "libpack/audit/contents.h"
#include "libpack/hdf5/h5_dataset.h"

enum { SMALL_BYTES = 1 << 20 };

/* ------------------------------------------------------------------ findings */

bool
pack_audit_is_wanted(const struct pack_audit_params *p, int code)
{
    bool wanted = p->n_only == 0;
    for (size_t i = 0; i < p->n_only; i++)
        wanted = wanted || p->only[i] == code;
    for (size_t i = 0; i < p->n_ignored; i++)
        wanted = wanted && p->ignored[i] != code;
    return wanted;
}

/* Whether h5audit --salvage has something to go by. */
static bool
can_salvage(const struct pack_survey *s)
{
    bool can = s->status == PACK_OK && s->n_datasets > 0;
    for (size_t i = 0; i < s->n_datasets; i++)
        can = can && !s->datasets[i].failure[0];
    return can;
}

/* What can be done about a finding of a file: where no tool opens it, only what makes it one
 * that opens. */
static unsigned
possible_fixes(const struct pack_survey *s, int code)
{
    if (pack_findings_is_cut(s))
        return code == 501 && can_salvage(s) ? PACK_AUDIT_FIX_OTHER : 0;
    return s->status == PACK_OK ? ~0u : PACK_AUDIT_FIX_OTHER;
}

static enum pack_status
keep(const struct pack_audit_params *p, struct pack_audit_result *r,
     const struct pack_finding *finding, const char *dataset,
     const struct pack_audit_mending *mending, struct pack_error *err)
{
    if (!pack_audit_is_wanted(p, finding->code))
        return PACK_OK;
    struct pack_audit_finding *grown =
        realloc(r->findings, (r->n_findings + 1) * sizeof *grown);
    if (!grown)
        return pack_fail_memory(err, "findings");
    r->findings = grown;
    unsigned fix =
        mending->fix & possible_fixes(&r->files[r->n_files - 1].survey, finding->code);
    grown[r->n_findings] = (struct pack_audit_finding){ .finding = *finding,
                                                        .file = r->n_files - 1,
                                                        .dataset = dataset,
                                                        .fix = fix };
    /* a command that is cut would be another one */
    if (fix && mending->command && strlen(mending->command) < PACK_AUDIT_COMMAND_MAX)
        strcpy(grown[r->n_findings].command, mending->command);
    if (grown[r->n_findings].command[0]) {
        grown[r->n_findings].grown_bytes = mending->grown_bytes;
        grown[r->n_findings].n_left = mending->n_left;
        memcpy(grown[r->n_findings].left, mending->left, sizeof mending->left);
    }
    r->n_findings++;
    return PACK_OK;
}

static int
by_price(const void *a, const void *b)
{
    const struct pack_audit_finding *x = a, *y = b;
    const struct pack_finding *f = &x->finding, *g = &y->finding;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (f->severity != g->severity)
        return f->severity > g->severity ? -1 : 1;
    if (f->price_s != g->price_s)
        return f->price_s > g->price_s ? -1 : 1;
    if (f->price_bytes != g->price_bytes)
        return f->price_bytes > g->price_bytes ? -1 : 1;
    if (f->code != g->code)
        return f->code - g->code;
    return x->dataset && y->dataset ? strcmp(x->dataset, y->dataset) : 0;
}

/* ------------------------------------------------------------------ datasets */

/* Whether so much is read of it that the reader is to be asked about. A series of single numbers
 * is read as a whole, or in windows: as samples only where that is said. */
static bool
is_read(const struct pack_audit_params *p, const struct pack_audit_file *file,
        const struct pack_survey_dataset *d)
{
    const struct pack_facts *f = &d->facts;
    bool is_series = f->extent.rank > 0 && f->n_elements == f->extent.extent[0] &&
                     !file->dataset && p->request.reading.box.rank == 0;
    return !p->no_reader && !d->failure[0] && !is_series && f->extent.rank > 0 &&
           f->extent.extent[0] > 1 && f->logical_bytes >= SMALL_BYTES &&
           pack_contents_is_of_numbers(f);
}

static bool
is_meant(const struct pack_audit_file *file, const struct pack_survey_dataset *d)
{
    return !file->dataset ||
           strcmp(d->facts.path + strspn(d->facts.path, "/"), file->dataset) == 0;
}

/* The largest of those that are meant and read, as many as a reader is simulated for. */
struct largest {
    size_t set[PACK_AUDIT_SETS_MAX], n;
};

static void
find_largest(const struct pack_audit_params *p, const struct pack_audit_file *file,
             struct largest *largest)
{
    const struct pack_survey_dataset *sets = file->survey.datasets;
    largest->n = 0;
    for (size_t i = 0; i < file->survey.n_datasets; i++) {
        uint64_t bytes = sets[i].facts.logical_bytes;
        size_t at = largest->n;
        if (!is_meant(file, &sets[i]) || !is_read(p, file, &sets[i]))
            continue;
        while (at > 0 && sets[largest->set[at - 1]].facts.logical_bytes < bytes)
            at--;
        if (at == PACK_AUDIT_SETS_MAX)
            continue;
        if (largest->n < PACK_AUDIT_SETS_MAX)
            largest->n++;
        memmove(&largest->set[at + 1], &largest->set[at],
                (largest->n - 1 - at) * sizeof largest->set[0]);
        largest->set[at] = i;
    }
}

static bool
is_among(const struct largest *largest, size_t set)
{
    bool is = false;
    for (size_t i = 0; i < largest->n; i++)
        is = is || largest->set[i] == set;
    return is;
}

/* Whether samples of more than one number lie beside it, as many as it has numbers: it may be
 * their labels then. */
static bool
has_samples_beside(const struct pack_survey *s, size_t set)
{
    const struct pack_facts *f = &s->datasets[set].facts;
    const char *slash = strrchr(f->path, '/');
    size_t n = slash ? (size_t)(slash - f->path) : 0;
    for (size_t i = 0; i < s->n_datasets; i++) {
        const struct pack_facts *g = &s->datasets[i].facts;
        const char *end = strrchr(g->path, '/');
        if ((end ? (size_t)(end - g->path) : 0) == n &&
            strncmp(f->path, g->path, n) == 0 && g->extent.rank > 0 &&
            f->extent.rank > 0 && g->extent.extent[0] == f->extent.extent[0] &&
            g->n_elements > g->extent.extent[0])
            return true;
    }
    return false;
}

/* Whether each sample is as likely to be the next as any other. */
static bool
is_uniform(const char *pattern)
{
    static const char *const names[] = { "shuffle", "replacement", "weighted" };
    bool is = !pattern;
    for (size_t i = 0; pattern && i < sizeof names / sizeof *names; i++)
        is = is || (strlen(names[i]) == strcspn(pattern, ":") &&
                    strncmp(pattern, names[i], strlen(names[i])) == 0);
    return is;
}

void
pack_audit_find_contents(const struct pack_audit_params *p, const struct pack_audit_file *file,
                         size_t set, struct pack_audit_found *found)
{
    if (!file->contents)
        return;
    const struct pack_contents_use use = {
        .is_shuffled = is_uniform(p->request.reading.pattern),
        .has_samples = file->contents[set].n_classes > 0 &&
                       has_samples_beside(&file->survey, set),
    };
    found->n += pack_findings_contents(&file->survey.datasets[set].facts,
                                       &file->contents[set], &use, &p->thresholds,
                                       found->finding + found->n,
                                       PACK_AUDIT_FOUND_MAX - found->n);
}

/* What needs no reader. */
static enum pack_status
look_at_stored(const struct pack_audit_params *p, const struct pack_audit_file *file, size_t set,
               struct pack_audit_found *found, struct pack_error *err)
{
    static const struct pack_stored_reading nobody = { .epoch_samples = 0 };
    const struct pack_survey_dataset *d = &file->survey.datasets[set];
    enum pack_status status = PACK_OK;
    found->n = pack_findings_dataset(d, &nobody, &p->thresholds, found->finding,
                                     PACK_FINDINGS_STORED_MAX);
    pack_audit_find_contents(p, file, set, found);
    for (size_t i = 0; i < found->n && status == PACK_OK; i++)
        status = pack_audit_mend(&found->finding[i], file->path, &d->facts, NULL,
                                 &found->mending[i], err);
    return status;
}

/* What is linked to is mended where it is. */
static void
refer(struct pack_audit_found *found)
{
    for (size_t i = 0; i < found->n; i++) {
        struct pack_finding *f = &found->finding[i];
        if (pack_audit_fix_of(f->code) && !f->remedy[0])
            snprintf(f->remedy, sizeof f->remedy,
                     "it is in another file: audit that one");
        found->mending[i].fix = 0;
    }
}

static enum pack_status
look_at_set(const struct pack_audit_params *p, const struct largest *largest, size_t set,
            struct pack_audit_found *found, struct pack_audit_result *r,
            struct pack_error *err)
{
    struct pack_audit_file *file = &r->files[r->n_files - 1];
    const struct pack_survey_dataset *d = &file->survey.datasets[set];
    enum pack_status status;
    bool is_asked = is_among(largest, set);
    file->n_passed_over += !is_asked && is_read(p, file, d);
    file->n_small += !is_read(p, file, d);
    found->n = 0;
    memset(found->mending, 0, sizeof found->mending);
    if (is_asked) {
        struct pack_audit_reading *reading = &file->readings[file->n_readings++];
        reading->set = set;
        status = pack_audit_read(p, file, reading, found, err);
    } else {
        status = look_at_stored(p, file, set, found, err);
    }
    if (d->is_elsewhere)
        refer(found);
    const char *path = d->facts.path + strspn(d->facts.path, "/");
    for (size_t i = 0; i < found->n && status == PACK_OK; i++)
        status = keep(p, r, &found->finding[i], path, &found->mending[i], err);
    for (size_t i = 0; i < found->n; i++)
        free(found->mending[i].command);
    return status;
}

/* Reads samples of all that is meant, where that is asked for. */
static enum pack_status
read_contents(const struct pack_audit_params *p, struct pack_audit_file *file,
              struct pack_error *err)
{
    const struct pack_contents_params params = { .file = file->path,
                                                 .n_samples =
                                                     p->is_deep ? 0 : p->n_samples,
                                                 .n_threads = p->n_threads,
                                                 .watch = &p->watch };
    size_t n = file->survey.n_datasets;
    if ((!p->is_deep && p->n_samples == 0) || n == 0 || file->survey.status != PACK_OK)
        return PACK_OK;
    bool *asked = calloc(n, sizeof *asked);
    file->contents = calloc(n, sizeof *file->contents);
    enum pack_status status =
        asked && file->contents ? PACK_OK : pack_fail_memory(err, "a look at samples");
    for (size_t i = 0; i < n && asked; i++)
        asked[i] = is_meant(file, &file->survey.datasets[i]);
    if (status == PACK_OK)
        status = pack_contents_look(&params, &file->survey, asked, file->contents,
                                    file->contents_why_not, err);
    free(asked);
    return status;
}

static enum pack_status
look_at_sets(const struct pack_audit_params *p, struct pack_audit_result *r,
             struct pack_error *err)
{
    struct pack_audit_file *file = &r->files[r->n_files - 1];
    bool is_there = !file->dataset;
    struct largest largest;
    struct pack_audit_found *found = calloc(1, sizeof *found);
    file->readings = calloc(PACK_AUDIT_SETS_MAX, sizeof *file->readings);
    enum pack_status status =
        found && file->readings ? PACK_OK : pack_fail_memory(err, "an audit");
    find_largest(p, file, &largest);
    for (size_t i = 0; i < file->survey.n_datasets && status == PACK_OK; i++) {
        if (!is_meant(file, &file->survey.datasets[i]))
            continue;
        is_there = true;
        status = look_at_set(p, &largest, i, found, r, err);
        if (status == PACK_OK)
            status = pack_watch_check(&p->watch, err);
    }
    free(found);
    if (status == PACK_OK && !is_there && file->survey.status == PACK_OK) {
        file->status =
            pack_fail(&file->failure, PACK_ERR_NOT_FOUND, "'%.200s': %s", file->path,
                      file->survey.not_meant[0] ? file->survey.not_meant
                                                : "there is no such dataset");
        r->n_failed++;
    }
    return status;
}

/* -------------------------------------------------------------------- files */

static enum pack_status
look_at_file(const struct pack_audit_params *p, const char *operand,
             struct pack_audit_result *r, struct pack_error *err)
{
    struct pack_audit_file *file = &r->files[r->n_files++];
    struct pack_finding findings[PACK_FINDINGS_STORED_MAX];
    struct pack_audit_mending mending;
    const struct pack_h5_guard_limits limits = { .watch = &p->watch };
    char *path = NULL;
    enum pack_status status = pack_h5_operand_split(operand, &path, &file->dataset, err);
    file->path = path;
    if (status != PACK_OK)
        return status;
    file->status = pack_survey_file(file->path, file->dataset, &limits, &file->survey, &file->failure);
    if (file->status == PACK_ERR_MEMORY || file->status == PACK_ERR_INTERRUPTED)
        return pack_fail(err, file->status, "%s", file->failure.text);
    if (file->status != PACK_OK) {
        r->n_failed++;
        return PACK_OK;
    }
    if (file->dataset && file->survey.meant[0]) { /* asked for by another link, too */
        char *meant = strdup(file->survey.meant);
        if (!meant)
            return pack_fail_memory(err, "a dataset's name");
        free(file->dataset);
        file->dataset = meant;
    }
    size_t n = pack_findings_file(&file->survey, &p->thresholds, findings,
                                  PACK_FINDINGS_STORED_MAX);
    for (size_t i = 0; i < n && status == PACK_OK; i++) {
        status = pack_audit_mend(&findings[i], file->path, NULL, NULL, &mending, err);
        if (status == PACK_OK)
            status = keep(p, r, &findings[i], NULL, &mending, err);
        free(mending.command);
    }
    if (status == PACK_OK)
        status = read_contents(p, file, err);
    return status == PACK_OK ? look_at_sets(p, r, err) : status;
}

/* What is asked of the reader is tried on a made-up dataset, so that it is refused once, and
 * before any file is looked at. What has to fit a dataset is left to each of them. */
static enum pack_status
check_request(const struct pack_audit_params *p, struct pack_error *err)
{
    struct pack_advise_request request = p->request;
    const char *pattern = request.reading.pattern;
    if (pattern && (strncmp(pattern, "trace", 5) == 0 || strncmp(pattern, "weighted", 8) == 0))
        return PACK_OK; /* it is of a dataset's own samples */
    struct pack_advise_job *job = calloc(1, sizeof *job);
    if (!job)
        return pack_fail_memory(err, "an audit");
    request.data = (struct pack_advise_ask_data){
        .shape = { 4, { 1 << 20, 64, 64, 3 } },
    };
    request.storing = (struct pack_advise_ask_storing){ .chunks = NULL };
    request.cache.bytes = request.cache.slots = UINT64_MAX; /* of a file's own chunks */
    request.cache.w0 = -1;
    request.reading.crop.rank = request.reading.box.rank = 0;
    enum pack_status status = pack_advise_job_open(&request, job, err);
    pack_advise_job_close(job);
    free(job);
    return status;
}

enum pack_status
pack_audit(const struct pack_audit_params *p, struct pack_audit_result *r,
           struct pack_error *err)
{
    *r = (struct pack_audit_result){ .n_files = 0 };
    r->files = calloc(p->n_files + 1, sizeof *r->files);
    if (!r->files)
        return pack_fail_memory(err, "a list of files");
    enum pack_status status = check_request(p, err);
    for (size_t i = 0; i < p->n_files && status == PACK_OK; i++) {
        pack_watch_tell(&p->watch, &(struct pack_progress){ .stage = "auditing",
                                                            .unit = "files",
                                                            .done = i,
                                                            .total = p->n_files });
        status = pack_watch_check(&p->watch, err);
        if (status == PACK_OK)
            status = look_at_file(p, p->files[i], r, err);
        if (status == PACK_ERR_INTERRUPTED && r->n_files == i + 1)
            r->files[i].status =
                pack_fail(&r->files[i].failure, status, "not looked at to its end");
    }
    if (r->n_findings > 0)
        qsort(r->findings, r->n_findings, sizeof *r->findings, by_price);
    return status;
}

void
pack_audit_done(struct pack_audit_result *r)
{
    for (size_t i = 0; i < r->n_files; i++) {
        pack_survey_done(&r->files[i].survey);
        free(r->files[i].readings);
        free(r->files[i].contents);
        free(r->files[i].dataset);
        free((char *)r->files[i].path);
    }
    free(r->files);
    free(r->findings);
    *r = (struct pack_audit_result){ .n_files = 0 };
}

int
pack_audit_worst(const struct pack_audit_result *r)
{
    int worst = -1;
    for (size_t i = 0; i < r->n_findings; i++)
        if ((int)r->findings[i].finding.severity > worst)
            worst = (int)r->findings[i].finding.severity;
    return worst;
}

bool
pack_audit_file_is_read(const struct pack_audit_file *file)
{
    bool is_read = !file->contents_why_not[0];
    for (size_t i = 0; file->contents && i < file->survey.n_datasets; i++)
        is_read = is_read && !file->contents[i].why_not[0];
    return is_read;
}

bool
pack_audit_is_read(const struct pack_audit_result *r)
{
    bool is_read = true;
    for (size_t i = 0; i < r->n_files; i++)
        is_read = is_read && pack_audit_file_is_read(&r->files[i]);
    return is_read;
}
