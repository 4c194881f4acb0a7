/*
 *     child: open, walk ──▶ FILE, DATASET, DATASET, ..., END ──▶ parent
 *
 * Records are a head and as many bytes as it says. Without an END the child came to a bad
 * end; what it had sent until then is whole but for the last.
 */
#include "libpack/hdf5/survey.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/hdf5/cut_file.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_chunks.h"
#include "libpack/hdf5/h5_parts.h"
#include "libpack/hdf5/h5_metadata.h"
#include "libpack/hdf5/h5_sources.h"

enum record {
    RECORD_FREE = 1,
    RECORD_DATASET,
    RECORD_COUNT,
    RECORD_SHARED,
    RECORD_MEANT,
    RECORD_DESCRIBED,
    RECORD_NOT_MEANT,
    RECORD_END
};

struct head {
    uint32_t kind, size;
};

_Static_assert((sizeof(struct pack_survey_dataset) + sizeof(struct head)) *
                       (PACK_SURVEY_DATASETS_MAX + 1) <
                   200 << 20,
               "the guard takes as much");

/* ------------------------------------------------------------------- the child */

/* A run of bytes of the file that one dataset claims. */
struct run {
    uint64_t start, end;
    uint32_t set; /* its number among the datasets */
};

enum { RUNS_MAX = 1 << 20 };

struct looking {
    const char *path, *wanted;
    bool is_met; /* the wanted one */
    struct pack_h5_guard *guard;
    int64_t file;
    uint64_t file_bytes, n_datasets;
    struct pack_survey_dataset dataset; /* the one being looked at */
    struct run *runs;
    size_t n_runs, runs_capacity;
    char (*paths)[PACK_FACTS_PATH_MAX]; /* of the datasets that have runs, by number */
    uint32_t n_paths, paths_capacity;
};

static enum pack_status
send_record(struct looking *l, enum record kind, const void *data, size_t size,
            struct pack_error *err)
{
    const struct head head = { kind, (uint32_t)size };
    enum pack_status status = pack_h5_guard_send(l->guard, &head, sizeof head, err);
    return status == PACK_OK ? pack_h5_guard_send(l->guard, data, size, err) : status;
}

static void
keep_failure(struct pack_survey_dataset *d, const struct pack_error *why)
{
    snprintf(d->failure, sizeof d->failure, "%.*s", PACK_SURVEY_TEXT_MAX - 1, why->text);
}

/* Without memory for it nothing is known of shared bytes, and all else is as it is. */
static void
add_run(struct looking *l, uint64_t start, uint64_t bytes)
{
    struct run *last = l->n_runs ? &l->runs[l->n_runs - 1] : NULL;
    if (bytes == 0 || start > l->file_bytes || bytes > l->file_bytes - start)
        return; /* of which another rule tells */
    if (last && last->set == l->n_paths && last->end == start) {
        last->end += bytes;
        return;
    }
    if (l->n_runs == RUNS_MAX)
        return;
    if (l->n_runs == l->runs_capacity) {
        size_t more = l->runs_capacity ? 2 * l->runs_capacity : 256;
        struct run *grown = realloc(l->runs, more * sizeof *grown);
        if (!grown)
            return;
        l->runs = grown;
        l->runs_capacity = more;
    }
    l->runs[l->n_runs++] = (struct run){ start, start + bytes, l->n_paths };
}

/* Gives the runs that were added a name. */
static void
name_runs(struct looking *l, const char *dataset)
{
    if (l->n_runs == 0 || l->runs[l->n_runs - 1].set != l->n_paths)
        return;
    if (l->n_paths == l->paths_capacity) {
        uint32_t more = l->paths_capacity ? 2 * l->paths_capacity : 64;
        void *grown = realloc(l->paths, more * sizeof *l->paths);
        if (!grown) {
            while (l->n_runs > 0 && l->runs[l->n_runs - 1].set == l->n_paths)
                l->n_runs--;
            return;
        }
        l->paths = grown;
        l->paths_capacity = more;
    }
    snprintf(l->paths[l->n_paths++], PACK_FACTS_PATH_MAX, "%s", dataset);
}

static int
by_start(const void *a, const void *b)
{
    const struct run *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->set > y->set) - (x->set < y->set);
}

static void
find_shared(struct looking *l, struct pack_survey_shared *shared)
{
    const struct run *reach = l->runs; /* the one that ends last of those before */
    if (l->n_runs > 1)
        qsort(l->runs, l->n_runs, sizeof *l->runs, by_start);
    for (size_t i = 1; i < l->n_runs; i++) {
        const struct run *r = &l->runs[i];
        if (r->start < reach->end && r->set != reach->set && shared->n++ == 0) {
            bool in_order = reach->set < r->set;
            shared->first_bytes = r->start;
            memcpy(shared->one, l->paths[in_order ? reach->set : r->set], sizeof shared->one);
            memcpy(shared->other, l->paths[in_order ? r->set : reach->set], sizeof shared->other);
        }
        if (r->end > reach->end)
            reach = r;
    }
}

static void
list_chunks(struct looking *l, const char *dataset)
{
    struct pack_survey_dataset *d = &l->dataset;
    struct pack_chunkindex index;
    struct pack_error why;
    if (d->facts.layout != PACK_LAYOUT_CHUNKED)
        return;
    pack_h5_guard_note(l->guard, "listing the chunks of '/%s'", dataset);
    enum pack_status status =
        pack_h5_chunks_list(l->path, dataset, &d->facts, 0, NULL, &index, &why);
    if (status != PACK_OK) {
        d->is_too_many = status == PACK_ERR_LIMIT;
        keep_failure(d, &why);
        return;
    }
    d->has_stats =
        pack_chunk_stats_make(&index, l->file_bytes, &d->stats, &why) == PACK_OK;
    if (!d->has_stats)
        keep_failure(d, &why);
    for (uint64_t i = 0; i < index.n_chunks; i++)
        if (index.chunks[i].address_bytes != PACK_CHUNK_MISSING)
            add_run(l, index.chunks[i].address_bytes, index.chunks[i].stored_bytes);
    pack_chunkindex_done(&index);
}

static void
list_sources(struct looking *l, const char *dataset)
{
    struct pack_survey_dataset *d = &l->dataset;
    struct pack_h5_sources sources;
    const struct pack_h5_source *first;
    struct pack_error why;
    if (d->facts.layout != PACK_LAYOUT_VIRTUAL)
        return;
    pack_h5_guard_note(l->guard, "looking for the sources of '/%s'", dataset);
    if (pack_h5_sources_read(l->file, l->path, &d->facts, l->guard, &sources, &why) != PACK_OK) {
        keep_failure(d, &why);
        return;
    }
    d->n_sources = sources.n_sources;
    d->n_missing_sources = pack_h5_sources_missing(&sources, &first);
    if (d->n_missing_sources > 0)
        snprintf(d->missing_source, sizeof d->missing_source, "%s", first->file);
    pack_h5_sources_done(&sources);
}

/* Two paths to one object. */
static bool
is_same(hid_t file, const char *a, const char *b)
{
    if (strcmp(a + strspn(a, "/"), b + strspn(b, "/")) == 0)
        return true;
#if H5_VERSION_GE(1, 12, 0)
    H5O_info2_t x, y;
    int order;
    return H5Oget_info_by_name3(file, a, &x, H5O_INFO_BASIC, H5P_DEFAULT) >= 0 &&
           H5Oget_info_by_name3(file, b, &y, H5O_INFO_BASIC, H5P_DEFAULT) >= 0 &&
           x.fileno == y.fileno && H5Otoken_cmp(file, &x.token, &y.token, &order) >= 0 &&
           order == 0;
#else
    H5O_info_t x, y;
    return H5Oget_info_by_name2(file, a, &x, H5O_INFO_BASIC, H5P_DEFAULT) >= 0 &&
           H5Oget_info_by_name2(file, b, &y, H5O_INFO_BASIC, H5P_DEFAULT) >= 0 &&
           x.fileno == y.fileno && x.addr == y.addr;
#endif
}

static bool
is_wanted(const struct looking *l, const char *dataset)
{
    return l->wanted && !l->is_met && is_same(l->file, l->wanted, dataset);
}

static enum pack_status
note_meant(struct looking *l, const char *dataset, struct pack_error *err)
{
    char path[PACK_FACTS_PATH_MAX] = "";
    if (!is_wanted(l, dataset))
        return PACK_OK;
    l->is_met = true;
    snprintf(path, sizeof path, "%s", dataset + strspn(dataset, "/"));
    return send_record(l, RECORD_MEANT, path, sizeof path, err);
}

static enum pack_status
look_at(void *context, const char *dataset, struct pack_error *err)
{
    struct looking *l = context;
    struct pack_survey_dataset *d = &l->dataset;
    struct pack_error why;
    if (++l->n_datasets > PACK_SURVEY_DATASETS_MAX && !is_wanted(l, dataset))
        return PACK_OK;
    memset(d, 0, sizeof *d);
    pack_h5_guard_note(l->guard, "reading '/%s'", dataset);
    if (pack_facts_read(l->file, dataset, &d->facts, &why) == PACK_OK) {
        list_chunks(l, dataset);
        (void)pack_h5_lacks_filter(&d->facts.pipeline, d->has_stats ? d->stats.left_out : 0,
                                   &d->missing_filter);
        list_sources(l, dataset);
        if (d->facts.contiguous_address != UINT64_MAX)
            add_run(l, d->facts.contiguous_address, d->facts.stored_bytes);
        name_runs(l, dataset);
    } else {
        memset(&d->facts, 0, sizeof d->facts);
        snprintf(d->facts.path, sizeof d->facts.path, "%s", dataset);
        keep_failure(d, &why);
    }
    d->beyond_bytes = pack_survey_beyond(&d->facts, l->file_bytes);
    enum pack_status status = send_record(l, RECORD_DATASET, d, sizeof *d, err);
    return status == PACK_OK ? note_meant(l, dataset, err) : status;
}

uint64_t
pack_survey_beyond(const struct pack_facts *f, uint64_t file_bytes)
{
    uint64_t at = f->contiguous_address;
    if (f->layout != PACK_LAYOUT_CONTIGUOUS || f->n_external > 0 || at == UINT64_MAX)
        return 0;
    uint64_t there = at < file_bytes ? file_bytes - at : 0;
    return f->logical_bytes > there ? f->logical_bytes - there : 0;
}

/* What a link of the root leads to, where that is a dataset: in which file its chunks lie is
 * not asked. */
static enum pack_status
look_at_link(void *context, const char *dataset, struct pack_error *err)
{
    struct looking *l = context;
    struct pack_survey_dataset *d = &l->dataset;
    memset(d, 0, sizeof *d);
    d->is_elsewhere = true;
    pack_h5_guard_note(l->guard, "reading '/%s'", dataset);
    if (pack_facts_read(l->file, dataset, &d->facts, NULL) != PACK_OK ||
        (++l->n_datasets > PACK_SURVEY_DATASETS_MAX && !is_wanted(l, dataset)))
        return PACK_OK;
    (void)pack_h5_missing_filter(&d->facts.pipeline, &d->missing_filter);
    return send_record(l, RECORD_DATASET, d, sizeof *d, err);
}

/* Why what is asked about is no dataset of the file. */
static enum pack_status
note_not_meant(struct looking *l, struct pack_error *err)
{
    char text[PACK_SURVEY_TEXT_MAX];
    struct pack_error why;
    if (!l->wanted || l->is_met ||
        pack_facts_read(l->file, l->wanted, &l->dataset.facts, &why) == PACK_OK)
        return PACK_OK;
    snprintf(text, sizeof text, "%.*s", PACK_SURVEY_TEXT_MAX - 1, why.text);
    return send_record(l, RECORD_NOT_MEANT, text, sizeof text, err);
}

static enum pack_status
look_at_all(struct looking *l, struct pack_error *err)
{
    enum pack_status status = pack_h5_register_zstd(err);
    if (status == PACK_OK)
        status = pack_h5_open(l->path, NULL, &l->file, err);
    if (status != PACK_OK)
        return status;
    hssize_t free_bytes = H5Fget_freespace(l->file);
    const uint64_t free_space = free_bytes > 0 ? (uint64_t)free_bytes : 0;
    status = send_record(l, RECORD_FREE, &free_space, sizeof free_space, err);
    pack_h5_guard_note(l->guard, "listing its datasets");
    if (status == PACK_OK)
        status = pack_h5_datasets(l->file, look_at, l, err);
    if (status == PACK_OK && l->n_datasets == 0)
        status = pack_h5_links(l->file, look_at_link, l, err);
    if (status == PACK_OK && l->wanted && !l->is_met && pack_h5_is_dataset(l->file, l->wanted)) {
        status = look_at_link(l, l->wanted, err); /* in another file */
        if (status == PACK_OK)
            status = note_meant(l, l->wanted, err);
    }
    if (status == PACK_OK)
        status = note_not_meant(l, err);
    pack_h5_guard_note(l->guard, "counting what describes its data");
    const uint64_t described[2] = { pack_h5_metadata_bytes(l->file),
                                    pack_h5_page_bytes(l->file) };
    if (status == PACK_OK)
        status = send_record(l, RECORD_DESCRIBED, described, sizeof described, err);
    pack_h5_guard_note(l->guard, "closing it");
    pack_h5_close(l->file);
    return status;
}

static enum pack_status
look(void *context, struct pack_h5_guard *guard, struct pack_error *err)
{
    struct looking *l = context;
    l->guard = guard;
    enum pack_status status = look_at_all(l, err);
    struct pack_error full;
    struct pack_survey_shared shared = { .n = 0 };
    find_shared(l, &shared);
    free(l->runs);
    free(l->paths);
    if (send_record(l, RECORD_COUNT, &l->n_datasets, sizeof l->n_datasets, &full) != PACK_OK ||
        send_record(l, RECORD_SHARED, &shared, sizeof shared, &full) != PACK_OK ||
        send_record(l, RECORD_END, "", 0, &full) != PACK_OK)
        return status != PACK_OK ? status : pack_fail(err, full.status, "%s", full.text);
    return status;
}

/* ------------------------------------------------------------------ the parent */

/* A child whose heap the file has damaged may send anything: what is read without a look at
 * it later, bounds of loops and ends of texts, has to be right. */
static bool
is_sane(struct pack_survey_dataset *d)
{
    struct pack_facts *f = &d->facts;
    const struct pack_shape *shapes[] = { &f->extent, &f->max_extent, &f->chunk, &f->n_chunks };
    bool *const bools[] = {
        &f->type.is_signed,    &f->type.is_ieee,    &f->type.is_long_double, &f->type.is_variable,
        &f->type.is_padded,    &f->type.is_bool,    &f->edge_chunks_unfiltered,
        &f->filters_available, &f->fill_is_zero,    &f->has_page_strategy,
        &d->has_stats,         &d->is_elsewhere,    &d->is_too_many
    };
    for (size_t i = 0; i < sizeof bools / sizeof *bools; i++)
        pack_h5_guard_mend_bool(bools[i]);
    f->path[sizeof f->path - 1] = d->failure[sizeof d->failure - 1] = '\0';
    d->missing_source[sizeof d->missing_source - 1] = '\0';
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (shapes[i]->rank < 0 || shapes[i]->rank > PACK_RANK_MAX)
            return false;
    return f->pipeline.n >= 0 && f->pipeline.n <= PACK_PIPELINE_MAX;
}

static enum pack_status
take_record(struct pack_survey *s, const struct head *head, const unsigned char *data,
            size_t *capacity, struct pack_error *err)
{
    if (head->kind == RECORD_FREE && head->size == sizeof s->file.free_bytes)
        memcpy(&s->file.free_bytes, data, head->size);
    if (head->kind == RECORD_DESCRIBED && head->size == 2 * sizeof(uint64_t)) {
        memcpy(&s->file.metadata_bytes, data, sizeof(uint64_t));
        memcpy(&s->file.page_bytes, data + sizeof(uint64_t), sizeof(uint64_t));
    }
    if (head->kind == RECORD_COUNT && head->size == sizeof s->file.n_datasets)
        memcpy(&s->file.n_datasets, data, head->size);
    if (head->kind == RECORD_SHARED && head->size == sizeof s->shared) {
        memcpy(&s->shared, data, head->size);
        s->shared.one[sizeof s->shared.one - 1] = '\0';
        s->shared.other[sizeof s->shared.other - 1] = '\0';
    }
    if (head->kind == RECORD_MEANT && head->size == sizeof s->meant) {
        memcpy(s->meant, data, head->size);
        s->meant[sizeof s->meant - 1] = '\0';
    }
    if (head->kind == RECORD_NOT_MEANT && head->size == sizeof s->not_meant) {
        memcpy(s->not_meant, data, head->size);
        s->not_meant[sizeof s->not_meant - 1] = '\0';
    }
    if (head->kind == RECORD_END)
        s->is_complete = true;
    if (head->kind != RECORD_DATASET || head->size != sizeof *s->datasets ||
        s->n_datasets > PACK_SURVEY_DATASETS_MAX)
        return PACK_OK;
    if (s->n_datasets == *capacity) {
        size_t more = *capacity ? 2 * *capacity : 16;
        struct pack_survey_dataset *grown = realloc(s->datasets, more * sizeof *grown);
        if (!grown)
            return pack_fail_memory(err, "a list of datasets");
        s->datasets = grown;
        *capacity = more;
    }
    struct pack_survey_dataset *d = &s->datasets[s->n_datasets];
    memcpy(d, data, head->size);
    s->n_datasets += is_sane(d);
    return PACK_OK;
}

enum pack_status
pack_survey_receive(struct pack_survey *s, const struct pack_buf *sent, struct pack_error *err)
{
    struct head head;
    size_t at = 0, capacity = 0;
    enum pack_status status = PACK_OK;
    while (status == PACK_OK && sent->size - at >= sizeof head) {
        memcpy(&head, sent->data + at, sizeof head);
        at += sizeof head;
        if (head.size > sent->size - at)
            break; /* cut short */
        status = take_record(s, &head, sent->data + at, &capacity, err);
        at += head.size;
    }
    if (s->file.n_datasets < s->n_datasets)
        s->file.n_datasets = s->n_datasets;
    return status;
}

static size_t
group_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) : 0;
}

/* By what datasets that are alike have in common. */
static int
compare_facts(const struct pack_facts *a, const struct pack_facts *b)
{
    size_t n = group_length(a->path), m = group_length(b->path);
    int order = strncmp(a->path, b->path, n < m ? n : m);
    if (order != 0 || n != m)
        return order != 0 ? order : n < m ? -1 : 1;
    if (a->type.class_id != b->type.class_id)
        return a->type.class_id < b->type.class_id ? -1 : 1;
    if (a->type.bytes != b->type.bytes)
        return a->type.bytes < b->type.bytes ? -1 : 1;
    if (a->extent.rank != b->extent.rank)
        return a->extent.rank < b->extent.rank ? -1 : 1;
    for (int i = 0; i < a->extent.rank; i++)
        if (a->extent.extent[i] != b->extent.extent[i])
            return a->extent.extent[i] < b->extent.extent[i] ? -1 : 1;
    return 0;
}

static int
by_facts(const void *a, const void *b)
{
    const struct pack_survey_dataset *const *x = a, *const *y = b;
    return compare_facts(&(*x)->facts, &(*y)->facts);
}

static int
by_number(const void *a, const void *b)
{
    const struct pack_survey_alike *x = a, *y = b;
    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    int order = strcmp(x->group, y->group);
    return order != 0 ? order : memcmp(x->extent.extent, y->extent.extent, sizeof x->extent.extent);
}

static enum pack_status
count_alike(struct pack_survey *s, struct pack_error *err)
{
    const struct pack_survey_dataset **sets = calloc(s->n_datasets + 1, sizeof *sets);
    s->alike = calloc(s->n_datasets / 2 + 1, sizeof *s->alike);
    if (!sets || !s->alike) {
        free(sets);
        return pack_fail_memory(err, "a list of datasets");
    }
    for (size_t i = 0; i < s->n_datasets; i++)
        sets[i] = &s->datasets[i];
    qsort(sets, s->n_datasets, sizeof *sets, by_facts);
    for (size_t i = 0, end; i < s->n_datasets; i = end) {
        const struct pack_facts *first = &sets[i]->facts;
        for (end = i + 1; end < s->n_datasets && by_facts(&sets[i], &sets[end]) == 0;)
            end++;
        if (end - i < 2 || first->extent.rank == 0)
            continue;
        struct pack_survey_alike *alike = &s->alike[s->n_alike++];
        alike->n = end - i;
        alike->extent = first->extent;
        snprintf(alike->group, sizeof alike->group, "%.*s", (int)group_length(first->path),
                 first->path);
    }
    free(sets);
    qsort(s->alike, s->n_alike, sizeof *s->alike, by_number);
    return PACK_OK;
}

static enum pack_status
look_at_file(const char *path, struct pack_survey_file *f, struct pack_error *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0) {
        int errnum = errno;
        if (fd >= 0)
            close(fd);
        return pack_fail_errno(err, errnum, "cannot open '%s'", path);
    }
    if (S_ISREG(st.st_mode)) {
        f->file_bytes = (uint64_t)st.st_size;
        f->has_superblock = pack_superblock_find(fd, f->file_bytes, &f->superblock);
    }
    close(fd);
    return S_ISREG(st.st_mode)
               ? PACK_OK
               : pack_fail(err, PACK_ERR_ARGUMENT, "cannot open '%s': it is %s", path,
                           S_ISDIR(st.st_mode) ? "a folder" : "not a regular file");
}

enum pack_status
pack_survey_file(const char *path, const char *dataset,
                 const struct pack_h5_guard_limits *limits, struct pack_survey *out, struct pack_error *err)
{
    struct pack_survey s = { .n_datasets = 0 };
    struct pack_buf sent = { 0 };
    enum pack_status status = look_at_file(path, &s.file, err);
    if (status != PACK_OK)
        return status;
    struct looking *l = calloc(1, sizeof *l);
    if (!l)
        return pack_fail_memory(err, "a survey");
    struct pack_cut_file cut;
    l->path = pack_cut_file_open(path, &cut) ? cut.name : path;
    l->wanted = dataset;
    l->file_bytes = s.file.file_bytes;
    s.status = pack_h5_guard_gather(path, limits, look, l, &sent, &s.failure);
    free(l);
    status = pack_survey_receive(&s, &sent, err);
    pack_buf_done(&sent);
    pack_cut_file_rename(&cut, path, s.failure.text, sizeof s.failure.text);
    for (size_t i = 0; i < s.n_datasets; i++)
        pack_cut_file_rename(&cut, path, s.datasets[i].failure, sizeof s.datasets[i].failure);
    pack_cut_file_close(&cut);
    if (status == PACK_OK && (s.status == PACK_ERR_INTERRUPTED || s.status == PACK_ERR_MEMORY))
        status = pack_fail(err, s.status, "%s", s.failure.text);
    if (status == PACK_OK)
        status = count_alike(&s, err);
    if (status != PACK_OK) {
        pack_survey_done(&s);
        return status;
    }
    *out = s;
    return PACK_OK;
}

void
pack_survey_done(struct pack_survey *s)
{
    free(s->datasets);
    free(s->alike);
    *s = (struct pack_survey){ .n_datasets = 0 };
}
