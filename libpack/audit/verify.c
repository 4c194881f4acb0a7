/*
 *     parent ──▶ child: SET, BAD..., END, SET, BAD... and a crash
 *            ──▶ another: what comes behind that dataset
 *
 * What was found until then outlives a child.
 */
#include "libpack/audit/verify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libpack/audit/verify_parts.h"

enum { CHILDREN_MAX = 1000 };

const char *
pack_verify_fault_name(enum pack_verify_fault fault)
{
    static const char *const names[PACK_VERIFY_FAULTS] = {
        "good", "beyond-end", "size", "decoding", "reading", "overlap", "mask",
    };
    return fault < PACK_VERIFY_FAULTS ? names[fault] : "unknown";
}

/* ------------------------------------------------------------------- the child */

/* Holes do not count. */
static uint64_t
size_bytes(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
}

/* Processor time, for the data may be many times what is stored. */
static uint64_t
reading_ns(const char *path)
{
    return UINT64_C(10000000000) + size_bytes(path) / (4 << 20) * UINT64_C(1000000000);
}

static enum pack_status
run_child(struct pack_verify_run *run, struct pack_buf *sent, struct pack_error *err)
{
    const struct pack_verify_params *p = run->params;
    struct pack_h5_guard_limits limits = p->limits;
    if (limits.cpu_ns == 0)
        limits.cpu_ns = reading_ns(p->file);
    if (limits.memory_bytes == 0)
        limits.memory_bytes = (UINT64_C(4) << 30) + p->memory_bytes;
    limits.watch = &p->watch;
    limits.now = (struct pack_progress){ .stage = "verifying",
                                         .unit = "MiB",
                                         .total = size_bytes(p->file) >> 20 };
    return pack_h5_guard_gather(p->file, &limits, pack_verify_child, run, sent, err);
}

/* -------------------------------------------------------------------- records */

/* Of what children said. */
struct heard {
    size_t n[PACK_VERIFY_COMPLETE + 1]; /* of each kind */
    size_t whole_bytes;                 /* what is behind them was cut short */
    size_t last_set;                    /* where the last of them begins */
};

static size_t
least_bytes(uint32_t kind)
{
    return kind == PACK_VERIFY_COMPLETE ? 0
           : kind == PACK_VERIFY_BAD    ? sizeof(struct pack_verify_record)
                                        : sizeof(struct pack_verify_set);
}

/* The record at `at`; false: there is no whole one. */
static bool
next_record(const struct pack_buf *sent, size_t at, struct pack_verify_head *head)
{
    if (sent->size - at < sizeof *head)
        return false;
    memcpy(head, sent->data + at, sizeof *head);
    return head->kind >= PACK_VERIFY_SET && head->kind <= PACK_VERIFY_COMPLETE &&
           head->bytes <= sent->size - at - sizeof *head &&
           head->bytes >= least_bytes(head->kind) && head->bytes % sizeof(uint64_t) == 0;
}

static struct heard
hear(const struct pack_buf *sent)
{
    struct heard h = { .whole_bytes = 0 };
    struct pack_verify_head head;
    for (; next_record(sent, h.whole_bytes, &head); h.whole_bytes += head.bytes) {
        h.whole_bytes += sizeof head;
        h.n[head.kind]++;
        if (head.kind == PACK_VERIFY_SET)
            h.last_set = h.whole_bytes;
    }
    return h;
}

/* Ends the set on which a child ended. */
static enum pack_status
end_set(struct pack_buf *all, size_t last_set, const char *failure, struct pack_error *err)
{
    struct pack_verify_head head = { PACK_VERIFY_END, sizeof(struct pack_verify_set) };
    struct pack_verify_set *set = malloc(sizeof *set);
    if (!set)
        return pack_fail_memory(err, "what was found");
    memcpy(set, all->data + last_set, sizeof *set);
    snprintf(set->failure, sizeof set->failure, "%.*s", (int)sizeof set->failure - 1, failure);
    enum pack_status status = pack_buf_append(all, &head, sizeof head, err);
    if (status == PACK_OK)
        status = pack_buf_append(all, set, sizeof *set, err);
    free(set);
    return status;
}

/* Children, until one comes to the end of the file. */
static enum pack_status
run_children(const struct pack_verify_params *params, const struct pack_cut_file *cut,
             const char *path, struct pack_verify_result *result, struct pack_error *err)
{
    struct pack_verify_run run = { .params = params, .cut = cut, .path = path, .h5 = -1 };
    enum pack_status status = PACK_OK;
    for (int i = 0; i < CHILDREN_MAX && status == PACK_OK; i++) {
        struct pack_buf sent = { .size = 0 };
        struct pack_error why = { .text = "" };
        enum pack_status ended = run_child(&run, &sent, &why);
        struct heard h = hear(&sent);
        size_t before = result->sent.size;
        status = pack_buf_append(&result->sent, sent.data, h.whole_bytes, err);
        pack_buf_done(&sent);
        if (status == PACK_OK && (ended == PACK_ERR_MEMORY || ended == PACK_ERR_INTERRUPTED))
            return pack_fail(err, ended, "%s", why.text);
        if (status != PACK_OK || h.n[PACK_VERIFY_COMPLETE])
            return status;
        if (h.n[PACK_VERIFY_SET] == h.n[PACK_VERIFY_END]) { /* not while reading one */
            result->status = ended;
            result->failure = why;
            return PACK_OK;
        }
        run.from += h.n[PACK_VERIFY_SET];
        status = end_set(&result->sent, before + h.last_set, why.text, err);
    }
    return status;
}

/* -------------------------------------------------------------------- the result */

static int
compare_bad(const void *a, const void *b)
{
    const struct pack_verify_bad *x = a, *y = b;
    if (x->set != y->set)
        return x->set < y->set ? -1 : 1;
    if (x->first_row != y->first_row)
        return x->first_row < y->first_row ? -1 : 1;
    for (int i = 0; i < x->rank && i < y->rank; i++)
        if (x->coords[i] != y->coords[i])
            return x->coords[i] < y->coords[i] ? -1 : 1;
    return (x->address_bytes > y->address_bytes) - (x->address_bytes < y->address_bytes);
}

/* Rows that touch a bad chunk, as ranges: its bad chunks are in order of their first. */
static enum pack_status
join_rows(const struct pack_verify_result *result, struct pack_verify_set *set,
          struct pack_error *err)
{
    struct pack_verify_rows *last = NULL;
    set->bad_rows = calloc(set->n_listed + 1, sizeof *set->bad_rows);
    if (!set->bad_rows)
        return pack_fail_memory(err, "bad rows");
    for (size_t i = 0; i < set->n_listed; i++) {
        const struct pack_verify_bad *bad = &result->bad[set->first_bad + i];
        uint64_t end = bad->first_row + bad->n_rows;
        if (!last || bad->first_row > last->first + last->n) {
            last = &set->bad_rows[set->n_bad_ranges++];
            *last = (struct pack_verify_rows){ bad->first_row, 0 };
        }
        if (end > last->first + last->n)
            last->n = end - last->first;
    }
    for (size_t i = 0; i < set->n_bad_ranges; i++)
        set->n_bad_rows += set->bad_rows[i].n;
    return PACK_OK;
}

/* A child whose heap a file has damaged may send anything: bounds of loops and ends of texts
 * are made right. */
static void
mend_shape(struct pack_shape *shape)
{
    if (shape->rank < 0 || shape->rank > PACK_RANK_MAX)
        shape->rank = 0;
}

static void
mend_set(struct pack_verify_set *set)
{
    set->path[sizeof set->path - 1] = set->failure[sizeof set->failure - 1] = '\0';
    pack_h5_guard_mend_bool(&set->is_missing);
    pack_h5_guard_mend_bool(&set->is_done);
    pack_h5_guard_mend_bool(&set->is_external);
    pack_h5_guard_mend_bool(&set->is_by_hdf5);
    pack_h5_guard_mend_bool(&set->has_checksum);
    mend_shape(&set->extent);
    mend_shape(&set->chunk);
    set->bad_rows = NULL;
    set->n_bad_ranges = 0;
    set->n_bad_rows = 0;
}

/* The record stays where its coordinates and its text are. */
static void
take_bad(unsigned char *record, size_t size, struct pack_verify_bad *bad)
{
    struct pack_verify_record r;
    memcpy(&r, record, sizeof r);
    size_t rest = (size - sizeof r) / sizeof(uint64_t);
    if (r.rank > PACK_RANK_MAX || r.rank > rest)
        r.rank = 0;
    if (r.n_rows > UINT64_MAX - r.first_row)
        r.n_rows = 0;
    *bad = (struct pack_verify_bad){ .fault = (enum pack_verify_fault)r.fault,
                                     .filter_mask = r.filter_mask,
                                     .first_row = r.first_row,
                                     .n_rows = r.n_rows,
                                     .address_bytes = r.address_bytes,
                                     .stored_bytes = r.stored_bytes,
                                     .rank = (int)r.rank,
                                     .coords = (const void *)(record + sizeof r),
                                     .why = "as others before" };
    if (rest > r.rank) {
        record[size - 1] = '\0';
        bad->why = (const char *)(bad->coords + r.rank);
    }
}

static void
take(struct pack_verify_result *result, const struct pack_verify_head *head,
     unsigned char *record)
{
    switch (head->kind) {
    case PACK_VERIFY_SET: result->n_sets++; /* fall through */
    case PACK_VERIFY_END:
        if (result->n_sets == 0)
            break;
        memcpy(&result->sets[result->n_sets - 1], record, sizeof *result->sets);
        mend_set(&result->sets[result->n_sets - 1]);
        break;
    case PACK_VERIFY_BAD:
        take_bad(record, head->bytes, &result->bad[result->n_bad]);
        result->bad[result->n_bad++].set = result->n_sets ? result->n_sets - 1 : 0;
        break;
    default: break;
    }
}

/* What children said, in tables. */
enum pack_status
pack_verify_settle(struct pack_verify_result *result, struct pack_error *err)
{
    struct heard h = hear(&result->sent);
    struct pack_verify_head head;
    enum pack_status status = PACK_OK;
    result->sets = calloc(h.n[PACK_VERIFY_SET] + 1, sizeof *result->sets);
    result->bad = calloc(h.n[PACK_VERIFY_BAD] + 1, sizeof *result->bad);
    if (!result->sets || !result->bad)
        return pack_fail_memory(err, "what was found");
    for (size_t at = 0; next_record(&result->sent, at, &head); at += sizeof head + head.bytes)
        take(result, &head, result->sent.data + at + sizeof head);
    qsort(result->bad, result->n_bad, sizeof *result->bad, compare_bad);
    for (size_t i = 0, next = 0; i < result->n_sets && status == PACK_OK; i++) {
        struct pack_verify_set *set = &result->sets[i];
        set->first_bad = next;
        while (next < result->n_bad && result->bad[next].set == i)
            next++;
        set->n_bad = set->n_listed = next - set->first_bad;
        status = join_rows(result, set, err);
    }
    return status;
}

/* Sentences name the file as it was given. */
static void
rename_cut(const struct pack_cut_file *cut, const char *path, struct pack_verify_result *result)
{
    pack_cut_file_rename(cut, path, result->failure.text, sizeof result->failure.text);
    for (size_t i = 0; i < result->n_sets; i++)
        pack_cut_file_rename(cut, path, result->sets[i].failure,
                             sizeof result->sets[i].failure);
}

enum pack_status
pack_verify(const struct pack_verify_params *params, struct pack_verify_result *result,
            struct pack_error *err)
{
    struct pack_verify_result made = { .n_sets = 0 };
    struct stat st;
    if (stat(params->file, &st) != 0)
        return pack_fail_errno(err, errno, "cannot open '%s'", params->file);
    if (!S_ISREG(st.st_mode))
        return pack_fail(err, PACK_ERR_IO, "cannot open '%s': %s", params->file,
                         S_ISDIR(st.st_mode) ? "it is a folder" : "not a regular file");
    struct pack_verify_params p = *params;
    struct pack_cut_file cut;
    if (pack_cut_file_open(params->file, &cut)) {
        p.file = cut.name;
        made.file_bytes = cut.file_bytes;
        made.end_bytes = cut.end_bytes;
    }
    enum pack_status status = run_children(&p, &cut, params->file, &made, err);
    if (status == PACK_OK)
        status = pack_verify_settle(&made, err);
    rename_cut(&cut, params->file, &made);
    pack_cut_file_close(&cut);
    if (status == PACK_OK && made.n_sets == 1 && made.sets[0].is_missing)
        status = pack_fail(err, PACK_ERR_NOT_FOUND, "'%.200s': %s", params->file,
                           made.sets[0].failure);
    if (status != PACK_OK) {
        pack_verify_done(&made);
        return status;
    }
    *result = made;
    return PACK_OK;
}

void
pack_verify_done(struct pack_verify_result *result)
{
    for (size_t i = 0; i < result->n_sets; i++)
        free(result->sets[i].bad_rows);
    free(result->sets);
    free(result->bad);
    pack_buf_done(&result->sent);
    *result = (struct pack_verify_result){ .n_sets = 0 };
}

bool
pack_verify_is_good(const struct pack_verify_result *result)
{
    bool good = result->status == PACK_OK && result->n_bad == 0 && result->end_bytes == 0;
    for (size_t i = 0; i < result->n_sets; i++)
        good = good && result->sets[i].is_done;
    return good;
}
