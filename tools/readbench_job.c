#include "tools/readbench_job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/job_options.h"

enum { DEFAULT_BATCH = 32, PYTHON_SAMPLE_NS = 8000, PYTHON_BATCH_NS = 300000 };

/* ---------------------------------------------------------------- options */

static enum pack_status
parse_time(const char *name, const char *text, uint64_t *ns, struct pack_error *err)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
    char *end;
    if (!text)
        return PACK_OK;
    double value = strtod(text, &end);
    for (size_t i = 0; i < sizeof units / sizeof *units && end != text; i++)
        if (strcmp(end, units[i].unit) == 0 && value >= 0 && value * units[i].ns < 1e18) {
            *ns = (uint64_t)(value * units[i].ns + 0.5);
            return PACK_OK;
        }
    return pack_fail(err, PACK_ERR_ARGUMENT, "--%s: '%.40s' is not a time like 25ms",
                     name, text);
}

static enum pack_status
parse_order(struct readbench_job *job, struct pack_error *err)
{
    const struct readbench_options *o = job->options;
    struct pack_bench_params *p = &job->params;
    p->pattern.seed = o->seed;
    if (o->seed == UINT64_MAX)
        p->pattern.seed = job_random_seed();
    p->pattern.batch = o->batch ? o->batch : DEFAULT_BATCH;
    p->pattern.drop_last = o->drop_last;
    p->pattern.read = (enum pack_read_mode)o->read;
    p->pattern.box = o->box;
    enum pack_status status = pack_pattern_parse(o->pattern ? o->pattern : "shuffle",
                                                &p->pattern, err);
    if (status == PACK_OK && o->rank)
        status = pack_pattern_parse_rank(o->rank, &p->pattern, err);
    return status;
}

/* A preset is a workload as a whole: another batch or step would be another one, whose
 * threshold nobody knows. */
static enum pack_status
check_preset(const struct pack_bench_preset *preset, const struct pack_bench_params *p,
             uint64_t batch, struct pack_error *err)
{
    if (batch && batch != preset->batch)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--preset %s has batches of %" PRIu64 ", and --batch says %" PRIu64
                         "; leave one of them away (--step %" PRIu64
                         "us is the step of the preset)",
                         preset->name, preset->batch, batch, preset->step_ns / 1000);
    if (p->consumer.params.step_ns != preset->step_ns)
        return pack_fail(
            err, PACK_ERR_ARGUMENT,
            "--preset %s has steps of %" PRIu64 "us, and --step says %" PRIu64
            "us; leave one of them away (--batch %" PRIu64 " is the batch of the preset)",
            preset->name, preset->step_ns / 1000, p->consumer.params.step_ns / 1000,
            preset->batch);
    return PACK_OK;
}

/* What Python does beside reading and copying: measured with PyTorch 2.15 and h5py 3.16,
 * see tests/bench/dataloader.sh. */
static enum pack_status
parse_interpreter(const struct readbench_options *o, struct pack_bench_params *p,
                  struct pack_error *err)
{
    bool torch = o->hand_over == 1;
    if (!torch && (o->sample_cost || o->batch_cost))
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--%s goes with --hand-over pytorch",
                         o->sample_cost ? "sample-cost" : "batch-cost");
    p->hand_over.sample_ns = torch ? PYTHON_SAMPLE_NS : 0;
    p->hand_over.batch_ns = torch ? PYTHON_BATCH_NS : 0;
    enum pack_status status =
        parse_time("sample-cost", o->sample_cost, &p->hand_over.sample_ns, err);
    return status == PACK_OK
               ? parse_time("batch-cost", o->batch_cost, &p->hand_over.batch_ns, err)
               : status;
}

static enum pack_status
parse_consumer(struct readbench_job *job, struct pack_error *err)
{
    const struct readbench_options *o = job->options;
    struct pack_bench_params *p = &job->params;
    if (o->preset) {
        job->preset = pack_bench_preset_find(o->preset);
        if (!job->preset)
            return pack_fail(err, PACK_ERR_ARGUMENT,
                             "--preset: '%.40s' is none of resnet50-h100, resnet50-a100, "
                             "unet3d-h100, cosmoflow-h100",
                             o->preset);
        p->pattern.batch = job->preset->batch;
        p->consumer.params.step_ns = job->preset->step_ns;
    }
    enum pack_status status =
        parse_time("step", o->step, &p->consumer.params.step_ns, err);
    if (status == PACK_OK && job->preset)
        status = check_preset(job->preset, p, o->batch, err);
    if (status == PACK_OK)
        status = parse_time("delay", o->delay, &p->workers.delay_ns, err);
    if (status == PACK_OK)
        status = parse_time("stall", o->stall, &p->workers.stall_ns, err);
    if (status == PACK_OK)
        status = parse_interpreter(o, p, err);
    p->consumer.params.stall_ns = p->workers.stall_ns;
    p->consumer.params.transfer = (enum pack_transfer)o->transfer;
    p->consumer.params.gpu = o->gpu;
    p->consumer.params.normalise.precision = (enum pack_precision)o->precision;
    p->consumer.name = o->consumer                  ? o->consumer
                       : p->consumer.params.step_ns ? "emulated"
                                                    : "null";
    p->consumer.echo = o->echo;
    p->consumer.echo_split = o->echo_split;
    return status;
}

static void
fill_reading(const struct readbench_options *o, struct pack_bench_params *p)
{
    p->engine = o->engine;
    p->workers.n = o->workers;
    p->reader.memory_bytes = o->memory;
    p->workers.prefetch = o->prefetch;
    p->open.set_cache = o->nbytes != UINT64_MAX || o->nslots != UINT64_MAX || o->w0 >= 0;
    p->open.cache.n_slots =
        o->nslots; /* UINT64_MAX and a negative w0: HDF5's own defaults */
    p->open.cache.size_bytes = o->nbytes;
    p->open.cache.w0 = o->w0;
    p->open.reopen = o->reopen;
    p->cold = o->cold;
    p->stop.epochs = o->epochs;
    p->stop.batches = o->batches;
    p->stop.after_ns = (uint64_t)(o->seconds * 1e9);
    p->hand_over.torch = o->hand_over == 1;
    p->workers.fresh = o->no_persistent;
    p->keep_events = o->trace || o->svg || o->html;
    p->no_check = o->no_check;
}

/* ------------------------------------------------------------------ inputs */

/* --crop of a dataset: a box with all channels. */
static enum pack_status
set_crop(struct readbench_job *job, const struct pack_normalise *pixels, bool is_images,
         struct pack_error *err)
{
    const struct readbench_options *o = job->options;
    struct pack_shape *box = &job->params.pattern.box;
    if (!o->crop.rank)
        return PACK_OK;
    if (!is_images)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--crop wants uint8 images; --box AxBxC takes any shape");
    *box = job->set->extent;
    box->extent[0] = 1;
    bool last = pixels->layout == PACK_PIXEL_NHWC;
    box->extent[box->rank - (last ? 3 : 2)] = o->crop.extent[0];
    box->extent[box->rank - (last ? 2 : 1)] = o->crop.extent[1];
    return PACK_OK;
}

/* The dataset that a trace reads most, where none is named. */
static enum pack_status
find_traced(const struct readbench_job *job, char **dataset, struct pack_error *err)
{
    const struct readbench_options *o = job->options;
    char *file = NULL, *path = NULL;
    if (o->dataset || job->n_operands != 1 || !o->pattern)
        return PACK_OK;
    enum pack_status status = pack_h5_operand_split(job->operands[0], &file, &path, err);
    if (status == PACK_OK && !path)
        status = pack_pattern_file_dataset(o->pattern, file, dataset, err);
    free(file);
    free(path);
    return status;
}

static bool
reads_hdf5(const struct readbench_options *o)
{
    return !o->engine || strcmp(o->engine, "hdf5") == 0;
}

/* Where no cache is asked for, that of the recorded program, whose HDF5 may have other defaults. */
static void
take_cache(const struct readbench_options *o, const struct pack_trace *trace,
           struct pack_bench_params *p)
{
    if (!trace->hdf5_version[0] || !reads_hdf5(o))
        return;
    p->open.set_cache = true;
    if (o->nslots == UINT64_MAX)
        p->open.cache.n_slots = trace->rdcc_nslots;
    if (o->nbytes == UINT64_MAX)
        p->open.cache.size_bytes = trace->rdcc_nbytes;
    if (o->w0 < 0)
        p->open.cache.w0 = trace->rdcc_w0;
}

/* The file that the pattern names; a trace of several processes says how many read. */
static enum pack_status
read_order(struct readbench_job *job, bool is_found, struct pack_error *err)
{
    struct pack_bench_params *p = &job->params;
    const struct pack_h5_dataset *data = job->set->parts[0].data;
    const struct pack_trace_job *recorded = &job->order.job;
    const struct pack_pattern_reader reader = {
        .file = data->file,
        .dataset = data->path,
        .is_found = is_found,
        .workers = cli_is_given("workers") || p->workers.n > 0 ? (int64_t)p->workers.n
                                                               : PACK_TRACE_AS_RECORDED,
    };
    enum pack_status status =
        pack_pattern_file_read(&p->pattern, &job->set->extent, &reader, &job->order, err);
    if (status != PACK_OK || recorded->workers == 0)
        return status;
    if (job->set->n_parts > 1)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "'%s' names the files that were read: replay it on one of them",
                         p->pattern.file);
    cli_say("%s", job->order.remark);
    take_cache(job->options, &job->order.trace, p);
    if (recorded->workers > PACK_PROCS_MAX && recorded->is_replayed)
        return pack_fail(err, PACK_ERR_LIMIT,
                         "'%s' is of %" PRIu64 " workers; --workers %d can be had",
                         p->pattern.file, recorded->workers, PACK_PROCS_MAX);
    if (recorded->is_replayed) {
        p->workers.n = recorded->workers > 1 ? recorded->workers : p->workers.n;
        p->workers.fresh =
            p->workers.fresh || (recorded->workers_end && reads_hdf5(job->options));
    }
    return PACK_OK;
}

static enum pack_status
open_files(struct readbench_job *job, struct pack_error *err)
{
    const struct readbench_options *o = job->options;
    struct pack_bench_params *p = &job->params;
    const char *const *operands = (const char *const *)job->operands;
    int layout = o->layout == 0   ? -1
                 : o->layout == 1 ? PACK_PIXEL_NHWC
                                  : PACK_PIXEL_NCHW;
    char *found = NULL;
    enum pack_status status = find_traced(job, &found, err);
    if (status == PACK_OK)
        status = pack_readset_open(operands, job->n_operands, found ? found : o->dataset,
                                   &job->set, err);
    bool is_found = found != NULL;
    free(found);
    if (status == PACK_OK && o->with) {
        const char *first = job->set->parts[0].data->file;
        if (job->set->n_parts > 1)
            return pack_fail(err, PACK_ERR_ARGUMENT,
                             "--with reads beside one file, and there are %zu",
                             job->set->n_parts);
        status = pack_readset_open(&first, 1, o->with, &job->with, err);
    }
    if (status != PACK_OK)
        return status;
    p->set = job->set;
    p->with = job->with;
    char remark[1024];
    if (pack_readset_remark(job->set, remark, sizeof remark))
        cli_say("%s", remark);
    const struct pack_facts *facts = &job->set->parts[0].data->facts;
    struct pack_normalise *n = &p->consumer.params.normalise;
    status = set_crop(job, n, pack_bench_pixels(facts, &p->pattern.box, layout, n), err);
    p->consumer.params.has_normalise =
        pack_bench_pixels(facts, &p->pattern.box, layout, n);
    if (status == PACK_OK && p->consumer.params.has_normalise)
        status = pack_bench_scale(facts, o->mean, o->std, n, err);
    if (status != PACK_OK)
        return status;
    return read_order(job, is_found, err);
}

static enum pack_status
open_images(struct readbench_job *job, struct pack_error *err)
{
    const struct readbench_options *o = job->options;
    struct pack_bench_params *p = &job->params;
    struct pack_geometry *g = &p->images.geometry;
    struct pack_source_params params = { 0 };
    struct job_pixels pixels = { .size = o->size, .crop = o->crop, .shorter = o->shorter };
    enum pack_status status = job_geometry(&pixels, g, err);
    if (status == PACK_OK && !pack_geometry_fixed(g, &p->images.height, &p->images.width))
        status = pack_fail(err, PACK_ERR_ARGUMENT,
                           "--images needs one size for all: --size HxW, "
                           "or --shorter N and --crop HxW");
    if (status == PACK_OK)
        status = pack_source_open(&o->images, 1, &params, &job->source, err);
    if (status != PACK_OK)
        return status;
    p->images.source = job->source;
    p->images.layout = o->layout == 2 ? PACK_PIXEL_NCHW : PACK_PIXEL_NHWC;
    p->consumer.params.has_normalise = true;
    struct pack_normalise *n = &p->consumer.params.normalise;
    n->channels = 3;
    n->height = p->images.height;
    n->width = p->images.width;
    n->layout = p->images.layout;
    struct pack_shape extent = { .rank = 4,
                                 .extent = { pack_source_count(job->source),
                                             p->images.height, p->images.width, 3 } };
    const struct pack_pattern_reader reader = { .workers = (int64_t)p->workers.n };
    status = pack_bench_scale(NULL, o->mean, o->std, n, err);
    return status == PACK_OK
               ? pack_pattern_file_read(&p->pattern, &extent, &reader, &job->order, err)
               : status;
}

/* ------------------------------------------------------------- the consumer */

/* The best consumer there is; says which. */
static void
choose_consumer(struct pack_bench_params *p)
{
    struct pack_error err = { 0 };
    struct pack_consumer *consumer = NULL;
    struct pack_consumer_params probe = p->consumer.params;
    const char *why = "samples are no uint8 images";
    if (strcmp(p->consumer.name, "auto") != 0)
        return;
    p->consumer.name = p->consumer.params.step_ns ? "emulated" : "null";
    if (probe.has_normalise) {
        /* in a process of its own: CUDA must not be started before the readers are */
        pid_t pid = fork();
        if (pid == 0) {
            probe.batch_max = 1;
            probe.sample_bytes = pack_normalise_values(&probe.normalise);
            bool can = pack_consumer_open("cuda", &probe, &consumer, &err) == PACK_OK;
            pack_consumer_close(consumer);
            _exit(can ? 0 : 1);
        }
        int how = 1;
        if (pid > 0)
            waitpid(pid, &how, 0);
        why = "no GPU can be used";
        if (pid > 0 && how == 0) {
            p->consumer.name = "cuda";
            why = "a GPU is there";
        }
    }
    cli_say("consumer %s (%s)", p->consumer.name, why);
}

/* ---------------------------------------------------------------- a whole job */

void
readbench_close(struct readbench_job *job)
{
    pack_readset_close(job->set);
    pack_readset_close(job->with);
    pack_source_close(job->source);
    pack_pattern_file_done(&job->order);
}

/* Nothing computes: there is no step, and nobody is busy. */
static enum pack_status
check_null(const struct readbench_job *job, struct pack_error *err)
{
    const struct readbench_options *o = job->options;
    if (strcmp(job->params.consumer.name, "null") != 0)
        return PACK_OK;
    if (job->params.consumer.params.step_ns > 0)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--%s: consumer 'null' makes no steps; emulated and cuda do",
                         o->step ? "step" : "preset");
    return o->min_busy >= 0 ? pack_fail(err, PACK_ERR_ARGUMENT,
                                        "--min-busy: consumer 'null' is never busy; --step, "
                                        "--preset or --consumer names one that is")
                            : PACK_OK;
}

enum pack_status
readbench_check(const struct readbench_options *o, struct readbench_job *job,
                struct pack_error *err)
{
    job->options = o;
    struct pack_bench_params *p = &job->params;
    enum pack_status status = parse_order(job, err);
    if (status == PACK_OK)
        status = parse_consumer(job, err);
    fill_reading(o, p);
    if (status == PACK_OK && !job->n_operands == !o->images)
        status = pack_fail(err, PACK_ERR_ARGUMENT,
                           "give either FILE[:/DATASET]... or --images FOLDER; see "
                           "h5readbench --help");
    if (status == PACK_OK && strcmp(p->consumer.name, "auto") != 0)
        status = pack_consumer_check(p->consumer.name, err);
    if (status == PACK_OK && strcmp(p->consumer.name, "emulated") == 0 &&
        p->consumer.params.step_ns == 0) /* before the runs of a sweep that come first */
        status = pack_fail_param(err, PACK_ERR_ARGUMENT, "step",
                                 "consumer 'emulated' needs the duration of a step");
    return status == PACK_OK ? check_null(job, err) : status;
}

enum pack_status
readbench_open(const struct readbench_options *o, struct readbench_job *job,
               struct pack_error *err)
{
    struct pack_bench_params *p = &job->params;
    enum pack_status status = readbench_check(o, job, err);
    if (status == PACK_OK)
        status = o->images ? open_images(job, err) : open_files(job, err);
    if (status != PACK_OK)
        return status;
    /* a MIG instance is seen only by a process that asks for it */
    if (o->gpu && (strncmp(o->gpu, "MIG-", 4) == 0 || strncmp(o->gpu, "GPU-", 4) == 0))
        setenv("CUDA_VISIBLE_DEVICES", o->gpu, 1);
    choose_consumer(p);
    return PACK_OK;
}
