/*
 * Each file that is written is a clone of the first input: pack_clone_pieces says which rows of
 * which datasets it gets. All of them are claimed before any work, written as partial files,
 * and get their names at the end, so that no virtual file is over shards that are not there.
 */
#include "libpack/rechunk/shards.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/base/checksum.h"
#include "libpack/base/fd.h"
#include "libpack/base/outfile.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_dataset.h"

enum { CARRY_BYTES = 64 << 20 };

/* A file that is read, as it was when it was first looked at. */
struct source {
    char *name;
    struct stat then;
};

struct job {
    const struct pack_shards_params *params;
    struct source *sources;
    size_t n_sources;
    struct pack_shards_result *result;
    struct pack_clone_pieces pieces;
    const char **files;
    uint64_t *end;
    char *group, *dataset;
    struct pack_shard_label label;
    char label_text[PACK_SHARD_LABEL_MAX];
    struct pack_outfile **out; /* of shards, if any, and then of the output */
    size_t n_out;
};

/* --------------------------------------------------------------------- inputs */

/* What HDF5 reads meanwhile from a file that vanished or was written to it does not tell: fill
 * values, or damaged chunks as they are. So each is looked at again at the end. */
static enum pack_status
note_source(void *context, const char *file, struct pack_error *err)
{
    struct job *job = context;
    struct stat now;
    if (stat(file, &now) != 0)
        return pack_fail_errno(err, errno, "cannot look at '%s'", file);
    for (size_t i = 0; i < job->n_sources; i++) {
        const struct stat *then = &job->sources[i].then;
        if (strcmp(job->sources[i].name, file) != 0)
            continue;
        bool is_other = now.st_dev != then->st_dev || now.st_ino != then->st_ino;
        return !is_other && now.st_size == then->st_size &&
                       pack_fd_mtime_ns(&now) == pack_fd_mtime_ns(then)
                   ? PACK_OK
                   : pack_fail(err, PACK_ERR_CHANGED, "'%s' was %s since it was opened", file,
                               is_other                      ? "replaced"
                               : now.st_size < then->st_size ? "cut short"
                                                             : "written to");
    }
    struct source *grown = realloc(job->sources, (job->n_sources + 1) * sizeof *grown);
    if (!grown)
        return pack_fail_memory(err, "a list of files");
    job->sources = grown;
    grown[job->n_sources] = (struct source){ strdup(file), now };
    if (!grown[job->n_sources].name)
        return pack_fail_memory(err, "a name");
    job->n_sources++;
    return PACK_OK;
}

static enum pack_status
note_inputs(struct job *job, struct pack_error *err)
{
    const struct pack_shards_params *p = job->params;
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < p->n_inputs && status == PACK_OK; i++)
        status = note_source(job, p->inputs[i], err);
    return status;
}

static enum pack_status
read_facts(const char *file, const char *dataset, struct pack_facts *facts,
           struct pack_error *err)
{
    int64_t id = -1;
    enum pack_status status = pack_h5_open(file, NULL, &id, err);
    if (status == PACK_OK)
        status = pack_facts_read(id, dataset, facts, err);
    pack_h5_close(id);
    if (status != PACK_OK)
        return pack_error_prefix(err, status, "'%s'", file);
    if (facts->extent.rank < 1 || facts->extent.extent[0] == 0)
        return pack_fail(err, PACK_ERR_UNSUPPORTED, "'%s:/%s' has no rows", file, dataset);
    return PACK_OK;
}

/* The dataset whose rows count, and its group. */
static enum pack_status
find_dataset(struct job *job, struct pack_error *err)
{
    const struct pack_shards_params *p = job->params;
    enum pack_status status = PACK_OK;
    if (p->dataset)
        job->dataset = strdup(p->dataset + strspn(p->dataset, "/"));
    else
        status = pack_h5_dataset_find(p->inputs[0], &job->dataset, err);
    if (status != PACK_OK)
        return status;
    if (!job->dataset)
        return pack_fail_memory(err, "a path");
    const char *slash = strrchr(job->dataset, '/');
    job->group = slash ? strndup(job->dataset, (size_t)(slash - job->dataset)) : strdup("/");
    return job->group ? PACK_OK : pack_fail_memory(err, "a path");
}

static enum pack_status
make_lists(struct job *job, size_t n, struct pack_error *err)
{
    job->result->shards = calloc(n, sizeof *job->result->shards);
    job->files = calloc(n, sizeof *job->files);
    job->end = calloc(n, sizeof *job->end);
    job->pieces.files = job->files;
    job->pieces.end = job->end;
    job->pieces.n = n;
    return job->result->shards && job->files && job->end
               ? PACK_OK
               : pack_fail_memory(err, "a list of shards");
}

/* ------------------------------------------------------------------ splitting */

/* How many shards: a number, or as many as files of a size take. */
static enum pack_status
count_shards(const struct job *job, const struct pack_facts *facts, uint64_t n_units,
             uint64_t *n, struct pack_error *err)
{
    const char *text = job->params->split;
    uint64_t bytes;
    bool is_number = text[0] && text[strspn(text, "0123456789")] == '\0';
    if (pack_bytes_parse(text, &bytes, NULL) != PACK_OK)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "split",
                               "split: '%s' is neither a number of files nor a size of each, like 2G",
                               text);
    if (bytes == 0)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "split", "'%s' makes no shards", text);
    *n = is_number ? bytes : (facts->stored_bytes + bytes - 1) / bytes;
    if (!is_number && *n > n_units)
        *n = n_units; /* no smaller than a chunk */
    if (*n == 0)
        *n = 1;
    if (*n > n_units)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "split",
                               "%s shards are more than '%s' of '%.200s' has chunks of rows, which are %llu",
                               text, facts->path, job->params->inputs[0],
                               (unsigned long long)n_units);
    if (*n > PACK_SHARDS_MAX)
        return pack_fail_param(err, PACK_ERR_LIMIT, "split",
                               "'%s' makes %llu shards: %d are the most", text,
                               (unsigned long long)*n, PACK_SHARDS_MAX);
    return PACK_OK;
}

/* What tells a set from others: its source, and how that is cut. */
static enum pack_status
identify(struct job *job, struct pack_error *err)
{
    struct pack_buf text = { 0 };
    struct stat st;
    if (stat(job->params->inputs[0], &st) != 0)
        return pack_fail_errno(err, errno, "cannot look at '%s'", job->params->inputs[0]);
    enum pack_status status =
        pack_buf_printf(&text, err, "%s\n%lld %lld", job->dataset, (long long)st.st_size,
                        (long long)pack_fd_mtime_ns(&st));
    for (size_t i = 0; i < job->pieces.n && status == PACK_OK; i++)
        status = pack_buf_printf(&text, err, " %llu", (unsigned long long)job->end[i]);
    job->label.set = pack_checksum(text.data, text.size, 0);
    job->label.n = job->pieces.n;
    pack_buf_done(&text);
    return status;
}

static enum pack_status
plan_split(struct job *job, struct pack_error *err)
{
    struct pack_facts facts;
    uint64_t n = 0;
    const char *output = job->params->output ? job->params->output : "OUT.h5";
    enum pack_status status = find_dataset(job, err);
    if (status == PACK_OK)
        status = read_facts(job->params->inputs[0], job->dataset, &facts, err);
    if (status != PACK_OK)
        return status;
    uint64_t rows = facts.extent.extent[0];
    uint64_t unit = facts.layout == PACK_LAYOUT_CHUNKED ? facts.chunk.extent[0] : 1;
    uint64_t n_units = (rows - 1) / unit + 1;
    status = count_shards(job, &facts, n_units, &n, err);
    if (status == PACK_OK)
        status = make_lists(job, (size_t)n, err);
    for (size_t i = 0; i < n && status == PACK_OK; i++) {
        struct pack_shard *shard = &job->result->shards[job->result->n_shards++];
        uint64_t units = n_units / n * (i + 1) + n_units % n * (i + 1) / n;
        status = pack_shard_name(output, i, (size_t)n, &shard->path, &shard->name, err);
        shard->first = i > 0 ? shard[-1].end : 0;
        shard->end = i + 1 == n ? rows : units * unit;
        job->files[i] = shard->name;
        job->end[i] = shard->end;
    }
    job->result->n_rows = job->pieces.n_rows = rows;
    job->pieces.group = job->group;
    job->pieces.dataset = job->dataset;
    if (status == PACK_OK)
        status = identify(job, err);
    return status == PACK_OK && job->params->output
               ? pack_shard_earlier_find(job->params->output, (size_t)n, job->params->inputs[0],
                                         job->params->force, &job->result->earlier,
                                         &job->result->n_earlier, err)
               : status;
}

/* -------------------------------------------------------------------- joining */

static enum pack_status
plan_join(struct job *job, struct pack_error *err)
{
    const struct pack_shards_params *p = job->params;
    struct pack_facts facts;
    uint64_t end = 0;
    job->pieces.cut = PACK_CLONE_JOINED;
    job->pieces.output = p->output;
    if (p->n_inputs == 1)
        return PACK_OK;
    enum pack_status status =
        pack_shard_set_check(p->inputs, p->n_inputs, &job->result->n_absent, err);
    if (status == PACK_OK)
        status = find_dataset(job, err);
    if (status == PACK_OK)
        status = make_lists(job, p->n_inputs, err);
    for (size_t i = 0; i < p->n_inputs && status == PACK_OK; i++) {
        struct pack_shard *shard = &job->result->shards[job->result->n_shards++];
        status = read_facts(p->inputs[i], job->dataset, &facts, err);
        if (status != PACK_OK)
            break;
        shard->path = strdup(p->inputs[i]);
        if (!shard->path)
            return pack_fail_memory(err, "a name");
        if (i == 0)
            job->pieces.n_rows = facts.extent.extent[0];
        shard->first = end;
        shard->end = end += facts.extent.extent[0];
        job->files[i] = p->inputs[i];
        job->end[i] = end;
    }
    job->result->n_rows = end;
    job->pieces.group = job->group;
    job->pieces.dataset = job->dataset;
    return status;
}

/* -------------------------------------------------------------------- outputs */

/* None of the inputs, by whatever name. */
static enum pack_status
check_input(const struct pack_shards_params *p, const char *path, struct pack_error *err)
{
    struct stat input, output;
    if (stat(path, &output) != 0)
        return PACK_OK;
    for (size_t i = 0; i < p->n_inputs; i++)
        if (stat(p->inputs[i], &input) == 0 && input.st_dev == output.st_dev &&
            input.st_ino == output.st_ino)
            return pack_fail_param(err, PACK_ERR_ARGUMENT, "output",
                                   "'%s' is '%s' itself, which is not rewritten in place", path,
                                   p->inputs[i]);
    return PACK_OK;
}

static enum pack_status
claim(struct job *job, const char *path, struct pack_error *err)
{
    const struct pack_outfile_params params = { .force = job->params->force, .journal = true };
    enum pack_status status = check_input(job->params, path, err);
    if (status == PACK_OK)
        status = pack_outfile_open(path, &params, &job->out[job->n_out], err);
    if (status == PACK_ERR_EXISTS && err && err->param)
        err->param = "force"; /* what was interrupted cannot be resumed */
    if (status == PACK_OK)
        status = pack_outfile_restart(job->out[job->n_out++], err);
    return status;
}

static enum pack_status
claim_all(struct job *job, struct pack_error *err)
{
    size_t n = job->params->split ? job->result->n_shards : 0;
    enum pack_status status = PACK_OK;
    job->out = calloc(n + 1, sizeof(struct pack_outfile *));
    if (!job->out)
        return pack_fail_memory(err, "a list of files");
    for (size_t i = 0; i < n && status == PACK_OK; i++)
        status = claim(job, job->result->shards[i].path, err);
    return status == PACK_OK ? claim(job, job->params->output, err) : status;
}

/* One file; path NULL: only looks whether it can be made. */
static enum pack_status
make_file(struct job *job, const char *path, struct pack_error *err)
{
    const struct pack_shards_params *p = job->params;
    const uint64_t room = p->memory_bytes < CARRY_BYTES ? p->memory_bytes : CARRY_BYTES;
    const struct pack_clone_params params = { .file = p->inputs[0],
                                              .room_bytes = room,
                                              .pieces = &job->pieces,
                                              .watch = p->watch };
    struct pack_clone *clone = NULL;
    struct stat st;
    enum pack_status status = pack_clone_open(&params, &clone, err);
    if (status == PACK_OK)
        job->result->counts = pack_clone_counts(clone);
    if (status == PACK_OK && path)
        status = pack_clone_create(clone, path, false, err);
    if (status == PACK_OK && path)
        status = pack_clone_finish(clone, err);
    pack_clone_close(clone);
    if (status == PACK_OK && path && stat(path, &st) == 0)
        job->result->output_bytes += (uint64_t)st.st_size;
    return status == PACK_OK ? pack_watch_check(&p->watch, err) : status;
}

static void
tell(const struct job *job, size_t done)
{
    const struct pack_progress progress = { .stage = job->params->split ? "splitting"
                                                                          : "joining",
                                            .unit = "files",
                                            .done = done,
                                            .total = job->n_out };
    pack_watch_tell(&job->params->watch, &progress);
}

/* Which of the files is made: a shard, or the virtual file. */
static void
choose(struct job *job, size_t i)
{
    bool is_shard = i + 1 < job->n_out;
    job->pieces.at = i;
    job->pieces.cut = is_shard ? PACK_CLONE_SHARD : PACK_CLONE_VIRTUAL;
    job->label.part = i + 1;
    pack_shard_label_format(&job->label, job->label_text);
    job->pieces.label = is_shard ? job->label_text : NULL;
}

static enum pack_status
make_files(struct job *job, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < job->n_out && status == PACK_OK; i++) {
        tell(job, i);
        if (job->params->split)
            choose(job, i);
        status = make_file(job, pack_outfile_part_path(job->out[i]), err);
    }
    return status;
}

/* The shards first. Those of a run that cannot name them all go again. */
static enum pack_status
publish(struct job *job, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    size_t n = 0;
    for (; n < job->n_out && status == PACK_OK; n++) {
        struct pack_outfile *out = job->out[n];
        job->out[n] = NULL;
        status = pack_outfile_commit(out, err);
        if (status != PACK_OK)
            break;
    }
    for (size_t i = 0; status != PACK_OK && i < n; i++)
        unlink(job->result->shards[i].path);
    return status;
}

static enum pack_status
look(struct job *job, struct pack_error *err)
{
    const struct pack_shards_params *p = job->params;
    enum pack_status status = pack_h5_register_zstd(err);
    job->pieces.note = note_source;
    job->pieces.note_context = job;
    for (size_t i = 0; i < p->n_inputs && status == PACK_OK; i++)
        status = pack_clone_try(p->inputs[i], err);
    if (status == PACK_OK)
        status = note_inputs(job, err);
    if (status == PACK_OK)
        status = p->split ? plan_split(job, err) : plan_join(job, err);
    if (status == PACK_OK)
        status = make_file(job, NULL, err);
    return status;
}

enum pack_status
pack_shards(const struct pack_shards_params *params, struct pack_shards_result *result,
            struct pack_error *err)
{
    struct job job = { .params = params, .result = result };
    enum pack_status status = look(&job, err);
    if (status == PACK_OK && !params->dry_run) {
        status = claim_all(&job, err);
        if (status == PACK_OK)
            status = make_files(&job, err);
        if (status == PACK_OK && !params->split) /* its sources are noted again */
            status = make_file(&job, NULL, err);
        if (status == PACK_OK)
            status = note_inputs(&job, err);
        if (status == PACK_OK)
            status = publish(&job, err);
        result->is_written = status == PACK_OK;
        if (status == PACK_OK)
            pack_shard_earlier_remove(result->earlier, result->n_earlier);
        if (status == PACK_OK && params->split && params->force)
            pack_shard_leftovers_remove(params->output, result->n_shards);
    }
    for (size_t i = 0; i < job.n_out; i++)
        pack_outfile_discard(job.out[i]);
    for (size_t i = 0; i < job.n_sources; i++)
        free(job.sources[i].name);
    free(job.sources);
    free(job.out);
    free(job.files);
    free(job.end);
    free(job.group);
    free(job.dataset);
    return status;
}

void
pack_shards_result_done(struct pack_shards_result *result)
{
    for (size_t i = 0; i < result->n_shards; i++) {
        free(result->shards[i].path);
        free(result->shards[i].name);
    }
    free(result->shards);
    for (size_t i = 0; i < result->n_earlier; i++)
        free(result->earlier[i].path);
    free(result->earlier);
    *result = (struct pack_shards_result){ .shards = NULL };
}
