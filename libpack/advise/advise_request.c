/* Each part of a request is one function; the first that fails has said why. */
#include "libpack/advise/advise_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libpack/convert.h>
#include "libpack/advise/advise_parts.h"
#include "libpack/hdf5/facts_layout.h"
#include "libpack/model/cost.h"
#include "libpack/model/profile_terms.h"
#include "libpack/base/numbers.h"
#include "libpack/base/pool.h"
#include "libpack/base/textfile.h"
#include "libpack/base/system.h"

enum { DEFAULT_WORKERS = 4 };

/* -------------------------------------------------------- what there is to read */

static const struct {
    const char *name;
    uint64_t bytes;
} types[] = {
    { "uint8", 1 },   { "int8", 1 },   { "uint16", 2 },  { "int16", 2 },
    { "float16", 2 }, { "uint32", 4 }, { "int32", 4 },   { "uint64", 8 },
    { "float32", 4 }, { "int64", 8 },  { "float64", 8 },
};

static enum pack_status
from_shape(const struct pack_advise_request *r, struct pack_advise_job *job,
           struct pack_error *err)
{
    const char *type = r->data.type ? r->data.type : "uint8";
    job->params.data.extent = r->data.shape;
    pack_shape_format(&r->data.shape, job->subject);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, type) == 0) {
            job->params.data.elem_size = types[i].bytes;
            strcpy(job->type, type);
            return PACK_OK;
        }
    }
    return pack_fail_param(
        err, PACK_ERR_ARGUMENT, "type",
        "type: '%.80s' is none of int8 to int64, uint8 to uint64, float16, "
        "float32, float64",
        type);
}

static enum pack_status
from_images(const struct pack_advise_request *r, struct pack_advise_job *job,
            struct pack_error *err)
{
    struct pack_source_params listing = { .is_image = pack_image_is_known };
    struct pack_convert_params params = { .watch = r->watch };
    struct pack_convert_result forecast;
    params.options.geometry = r->data.geometry;
    params.options.layout = r->data.layout;
    params.options.image.mode = r->data.gray ? PACK_IMAGE_GRAY : PACK_IMAGE_RGB;
    enum pack_status status =
        pack_source_open(&r->data.images, 1, &listing, &params.source, err);
    if (status == PACK_OK)
        status = pack_convert_forecast(&params, &forecast, err);
    pack_source_close(params.source);
    if (status != PACK_OK)
        return status;
    job->params.data.extent = forecast.extent;
    job->params.data.elem_size = 1;
    strcpy(job->type, "uint8");
    snprintf(job->subject, sizeof job->subject, "%s", r->data.images);
    return PACK_OK;
}

/* Whole numbers from 0 on, one per sample and not too many kinds,
 * are taken for classes. */
static enum pack_status
read_labels(struct pack_advise_job *job, struct pack_error *err)
{
    const struct pack_facts *facts = &pack_advise_file_data(job->with)->facts;
    const int64_t classes_max = 100000;
    int64_t *values = NULL, most = -1;
    uint64_t n = 0;
    if (facts->extent.rank != 1 || facts->type.class_id != PACK_TYPE_INTEGER ||
        !facts->filters_available)
        return PACK_OK;
    enum pack_status status = pack_advise_file_integers(job->with, &values, &n, err);
    if (status != PACK_OK)
        return pack_error_param(err, status, "with");
    job->labels = malloc((n ? n : 1) * sizeof *job->labels);
    for (uint64_t i = 0; job->labels && i < n; i++) {
        bool is_class = values[i] >= 0 && values[i] < classes_max;
        job->labels[i] = is_class ? (uint32_t)values[i] : 0;
        if (!is_class || values[i] > most)
            most = is_class ? values[i] : classes_max;
    }
    free(values);
    if (!job->labels)
        return pack_fail_memory(err, "labels");
    if (most < 0 || most >= classes_max)
        return PACK_OK; /* something else than classes */
    job->params.data.labels = job->labels;
    job->params.data.n_labels = n;
    job->params.data.n_classes = (uint32_t)most + 1;
    return PACK_OK;
}

static enum pack_status
open_companion(const struct pack_advise_request *r, struct pack_advise_job *job,
               struct pack_error *err)
{
    struct pack_advise_config config;
    enum pack_status status =
        pack_advise_file_open_with(job->file, r->data.with, &job->with, err);
    if (status != PACK_OK)
        return pack_error_param(err, status, "with");
    const struct pack_facts *facts = &pack_advise_file_data(job->with)->facts;
    pack_advise_file_config(job->with, &job->profile, &config);
    if (facts->extent.extent[0] != job->params.data.extent.extent[0])
        return pack_fail_param(
            err, PACK_ERR_ARGUMENT, "with", "with: '%.200s' has %s, the dataset %llu",
            r->data.with, pack_counted(facts->extent.extent[0], "entry", "entries").text,
            (unsigned long long)job->params.data.extent.extent[0]);
    job->companion = (struct pack_advise_companion){
        .extent = facts->extent,
        .chunk = config.chunk,
        .elem_size = facts->type.bytes,
        .stored_rate = config.stored_rate,
        .decode_ns = config.decode_ns,
        .filtered = strcmp(config.codec, "none") != 0,
    };
    pack_advise_file_chunk_max(job->with, &job->companion.chunk_max);
    job->companion.stored_bytes =
        pack_advise_file_stored(job->with, &job->companion.skip_missing);
    job->companion.is_unwritten = pack_facts_is_unwritten(facts);
    job->params.data.companion = &job->companion;
    return read_labels(job, err);
}

/* Where a file alone is given and a trace says what of it was read: FILE:/PATH. */
static enum pack_status
name_traced(const struct pack_advise_request *r, struct pack_advise_job *job,
            struct pack_buf *operand, struct pack_error *err)
{
    char *file = NULL, *path = NULL, *dataset = NULL;
    if (!r->reading.pattern)
        return PACK_OK;
    enum pack_status status = pack_h5_operand_split(r->data.file, &file, &path, err);
    if (status == PACK_OK && !path)
        status = pack_pattern_file_dataset(r->reading.pattern, file, &dataset, err);
    job->is_found = dataset != NULL;
    if (dataset)
        status = pack_buf_printf(operand, err, "%s:/%s", file,
                                 dataset + strspn(dataset, "/"));
    free(file);
    free(path);
    free(dataset);
    return status;
}

static enum pack_status
from_file(const struct pack_advise_request *r, struct pack_advise_job *job,
          struct pack_error *err)
{
    struct pack_buf operand = { 0 };
    enum pack_status status = name_traced(r, job, &operand, err);
    if (status == PACK_OK)
        status = pack_advise_file_open(
            job->is_found ? (const char *)operand.data : r->data.file, r->data.known,
            &job->file, err);
    pack_buf_done(&operand);
    if (status != PACK_OK)
        return status;
    const struct pack_h5_dataset *data = pack_advise_file_data(job->file);
    const struct pack_facts *facts = &data->facts;
    pack_advise_file_use(job->file, &r->watch, &job->profile);
    job->params.data.extent = facts->extent;
    job->params.data.elem_size = facts->type.bytes;
    job->params.data.missing_filter = pack_advise_file_missing_filter(job->file);
    pack_advise_file_chunk_max(job->file, &job->params.data.chunk_max);
    job->params.data.stored_bytes =
        pack_advise_file_stored(job->file, &job->params.data.skip_missing);
    job->params.data.is_unwritten = pack_facts_is_unwritten(facts);
    job->params.data.has_old_index = pack_advise_file_has_old_index(job->file);
    job->params.storing.measure = pack_advise_file_measure;
    job->params.storing.measure_context = job->file;
    pack_advise_file_config(job->file, &job->profile, &job->now);
    job->params.now = &job->now;
    job->params.data.virtual_data = facts->layout == PACK_LAYOUT_VIRTUAL ? data : NULL;
    pack_type_format(&facts->type, job->type);
    snprintf(job->subject, sizeof job->subject, "%s:/%s", data->file,
             data->path);
    return r->data.with ? open_companion(r, job, err) : PACK_OK;
}

/* ------------------------------------------------------------ how it is read */

/* The axis of an image's height: channels are last where the file says so, or they are few;
 * else before it. */
static int
height_axis(const struct pack_advise_job *job)
{
    const struct pack_shape *extent = &job->params.data.extent;
    enum pack_facts_layout layout =
        job->file ? pack_facts_layout(&pack_advise_file_data(job->file)->facts)
                  : PACK_FACTS_UNKNOWN;
    bool channels_last = layout == PACK_FACTS_UNKNOWN /* then as bench_pixels.c has it */
                             ? extent->rank == 4 && extent->extent[3] <= 4 && extent->extent[1] > 4
                             : layout == PACK_FACTS_NHWC;
    return extent->rank - (channels_last ? 3 : 2);
}

static enum pack_status
set_box(const struct pack_advise_request *r, struct pack_advise_job *job,
        struct pack_error *err)
{
    const struct pack_shape *extent = &job->params.data.extent;
    struct pack_shape *box = &job->params.reading.pattern.box;
    *box = r->reading.box;
    if (r->reading.box.rank && r->reading.crop.rank)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "box",
                               "a box and a crop exclude each other");
    if (r->reading.box.rank && r->reading.box.rank != extent->rank)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "box",
                               "box: it has %s, the dataset has %d",
                               pack_dimensions(r->reading.box.rank).text, extent->rank);
    if (r->reading.crop.rank == 0)
        return PACK_OK;
    if (r->reading.crop.rank != 2 || extent->rank < 3)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "crop",
                               "crop: it is of images in 3 or 4 dimensions, "
                               "other data take a box");
    int h = height_axis(job);
    *box = *extent;
    box->extent[0] = 1;
    box->extent[h] = r->reading.crop.extent[0];
    box->extent[h + 1] = r->reading.crop.extent[1];
    return PACK_OK;
}

/* What one read of a trace asks for, on average along axis 0. */
static void
set_mean_box(struct pack_pattern *pattern)
{
    uint64_t elements = 0;
    for (uint64_t i = 0; i < pattern->n_trace; i++)
        elements += pattern->trace[i].count[0];
    pattern->box = pattern->extent;
    pattern->box.extent[0] = elements / pattern->n_trace;
}

static enum pack_status
set_pattern(const struct pack_advise_request *r, struct pack_advise_job *job,
            struct pack_error *err)
{
    struct pack_pattern *pattern = &job->params.reading.pattern;
    pattern->kind = PACK_PATTERN_SHUFFLE;
    enum pack_status status = r->reading.pattern
                                  ? pack_pattern_parse(r->reading.pattern, pattern, err)
                                  : PACK_OK;
    if (status != PACK_OK)
        return pack_error_param(err, status, "pattern");
    job->params.reading.pattern_is_fixed = r->reading.pattern != NULL;
    if (r->reading.rank) {
        status = pack_pattern_parse_rank(r->reading.rank, pattern, err);
        if (status != PACK_OK)
            return pack_error_param(err, status, "rank");
    }
    pattern->seed = r->reading.seed;
    pattern->batch = r->reading.batch;
    bool as_recorded = r->reading.workers == UINT64_MAX;
    pattern->workers = as_recorded ? DEFAULT_WORKERS : r->reading.workers;
    pattern->step = r->reading.step;
    pattern->read = r->reading.read;
    pattern->extent = job->params.data.extent;
    status = set_box(r, job, err);
    const struct pack_h5_dataset *data = job->file ? pack_advise_file_data(job->file)
                                                   : NULL;
    struct pack_pattern_reader reader = {
        .file = data ? data->file : NULL,
        .dataset = data ? data->path : NULL,
        .is_found = job->is_found,
        .workers = as_recorded ? PACK_TRACE_AS_RECORDED : (int64_t)r->reading.workers,
    };
    if (status == PACK_OK)
        status = pack_pattern_file_read(pattern, &job->params.data.extent, &reader,
                                        &job->order, err);
    if (status == PACK_OK && pattern->kind == PACK_PATTERN_TRACE)
        set_mean_box(pattern);
    if (job->order.job.workers > 0 && job->order.job.is_replayed)
        pattern->workers = job->order.job.workers;
    return status;
}

/* ------------------------------------------------- settings and the machine */

/* What a trace was recorded with: of another version than is asked about only what differs from
 * its defaults, which somebody has set. */
static void
take_recorded(const struct pack_trace *trace, struct pack_cache_params *settings)
{
    struct pack_cache_params defaults;
    enum pack_hdf5_version version;
    if (pack_hdf5_version_parse(trace->hdf5_version, &version, NULL) != PACK_OK)
        return;
    pack_cache_params_defaults(&defaults, version);
    if (trace->rdcc_nslots != defaults.n_slots)
        settings->n_slots = trace->rdcc_nslots;
    if (trace->rdcc_nbytes != defaults.size_bytes)
        settings->size_bytes = trace->rdcc_nbytes;
    if (trace->rdcc_w0 != defaults.w0)
        settings->w0 = trace->rdcc_w0;
}

/* What is given, else what a trace was recorded with, else the version's defaults. */
static enum pack_status
set_cache(const struct pack_advise_request *r, struct pack_advise_job *job,
          struct pack_error *err)
{
    struct pack_advise_params *p = &job->params;
    const struct pack_trace *trace = &job->order.trace;
    pack_probe_hdf5_version(job->hdf5_version);
    if (trace->hdf5_version[0])
        snprintf(job->hdf5_version, sizeof job->hdf5_version, "%s", trace->hdf5_version);
    if (r->cache.hdf5_version)
        snprintf(job->hdf5_version, sizeof job->hdf5_version, "%.20s",
                 r->cache.hdf5_version);
    enum pack_status status =
        pack_hdf5_version_parse(job->hdf5_version, &p->cache.version, err);
    if (status != PACK_OK)
        return pack_error_param(err, status, "hdf5_version");
    pack_cache_params_defaults(&p->cache.settings, p->cache.version);
    if (trace->hdf5_version[0])
        take_recorded(trace, &p->cache.settings);
    if (r->cache.bytes != UINT64_MAX)
        p->cache.settings.size_bytes = r->cache.bytes;
    if (r->cache.slots != UINT64_MAX)
        p->cache.settings.n_slots = r->cache.slots;
    if (r->cache.w0 >= 0)
        p->cache.settings.w0 = r->cache.w0;
    return PACK_OK;
}

static enum pack_status
set_chunks(const struct pack_advise_request *r, struct pack_advise_job *job,
           struct pack_error *err)
{
    job->chunks = calloc(r->storing.n_chunks + 1, sizeof *job->chunks);
    if (!job->chunks)
        return pack_fail_memory(err, "options");
    for (size_t i = 0; i < r->storing.n_chunks; i++) {
        if (strcmp(r->storing.chunks[i], "none") == 0)
            continue; /* contiguous: rank 0 */
        enum pack_status status =
            pack_shape_parse(r->storing.chunks[i], &job->chunks[i], err);
        if (status != PACK_OK)
            return pack_error_param(err, status, "chunks");
        if (job->chunks[i].rank != job->params.data.extent.rank)
            return pack_fail_param(err, PACK_ERR_ARGUMENT, "chunks",
                                   "chunks: '%s' has %s, the dataset has %d",
                                   r->storing.chunks[i],
                                   pack_dimensions(job->chunks[i].rank).text,
                                   job->params.data.extent.rank);
    }
    job->params.storing.chunks = job->chunks;
    job->params.storing.n_chunks = r->storing.n_chunks;
    return PACK_OK;
}

static enum pack_status
set_profile(const struct pack_advise_request *r, struct pack_advise_job *job,
            struct pack_error *err)
{
    struct pack_buf text = { 0 };
    const char *storage = r->machine.storage ? r->machine.storage : "nvme";
    const char *dot = strrchr(storage, '.');
    struct pack_profile *profile = &job->profile;
    enum pack_status status;
    if (strchr(storage, '/') || (dot && strcmp(dot, ".json") == 0)) {
        status = pack_textfile_read(storage, 1 << 20, &text, err);
        if (status == PACK_OK) {
            status = pack_profile_parse((const char *)text.data, text.size, profile, err);
            if (status != PACK_OK)
                status = pack_error_prefix(err, status, "'%s'", storage);
        }
        pack_buf_done(&text);
    } else {
        status = pack_profile_named(storage, profile, err);
        if (status == PACK_OK && r->machine.processor)
            pack_profile_take_processor(profile, r->machine.processor);
        profile->n_cpus = pack_pool_default_threads();
    }
    if (status != PACK_OK)
        return pack_error_param(err, status, "storage");
    if (r->machine.n_cpus)
        profile->n_cpus = r->machine.n_cpus;
    job->params.machine.profile = profile;
    return PACK_OK;
}

static void
set_machine(const struct pack_advise_request *r, struct pack_advise_job *job)
{
    struct pack_advise_params *p = &job->params;
    p->reading.epochs = r->reading.epochs;
    p->reading.reopen = r->reading.reopen;
    p->reading.workers_end =
        (r->reading.workers_end && r->reading.workers > 0) ||
        (job->order.job.is_replayed && job->order.job.workers_end);
    p->machine.memory_bytes = r->machine.memory_bytes == UINT64_MAX
                                  ? pack_advise_default_memory(pack_system_ram_bytes())
                                  : r->machine.memory_bytes;
    p->machine.ram_bytes = r->machine.ram_bytes == UINT64_MAX
                               ? pack_system_ram_bytes() / 2
                               : r->machine.ram_bytes;
    p->goal.target = r->goal.target;
    p->goal.min_gain = r->goal.min_gain;
    p->storing.keep_file = r->storing.keep_file;
    p->n_threads = pack_pool_default_threads();
    p->watch = r->watch;
}

/* Today's configuration: the file's, or the first chunk with the cache given. */
static void
set_now(const struct pack_advise_request *r, struct pack_advise_job *job)
{
    bool has_cache =
        r->cache.bytes != UINT64_MAX || r->cache.slots != UINT64_MAX || r->cache.w0 >= 0;
    if (!job->file) {
        job->now = (struct pack_advise_config){ .codec = "none", .stored_rate = 1 };
        if (r->storing.n_chunks)
            job->now.chunk = job->chunks[0];
        job->params.now = r->storing.n_chunks && has_cache ? &job->now : NULL;
    }
    job->now.pattern = job->params.reading.pattern;
    job->now.cache = job->params.cache.settings;
    job->now.reopen = r->reading.reopen;
}

/* -------------------------------------------------------------------- jobs */

enum pack_status
pack_advise_job_open(const struct pack_advise_request *r, struct pack_advise_job *job,
                     struct pack_error *err)
{
    memset(job, 0, sizeof *job);
    if (r->machine.memory_bytes == 0)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "memory",
                               "memory: 0 bytes hold no chunk");
    enum pack_status status = set_profile(r, job, err);
    if (status == PACK_OK)
        status = r->data.file     ? from_file(r, job, err)
                 : r->data.images ? from_images(r, job, err)
                                  : from_shape(r, job, err);
    if (status == PACK_OK)
        status = set_pattern(r, job, err);
    if (status == PACK_OK)
        status = set_cache(r, job, err);
    if (status == PACK_OK)
        status = set_chunks(r, job, err);
    if (status == PACK_OK) {
        set_machine(r, job);
        set_now(r, job);
    }
    return status;
}

void
pack_advise_job_close(struct pack_advise_job *job)
{
    pack_advise_file_close(job->with);
    pack_advise_file_close(job->file);
    free(job->chunks);
    pack_pattern_file_done(&job->order);
    free(job->labels);
}

void
pack_advise_job_take_processor(struct pack_advise_job *job,
                               const struct pack_profile *processor)
{
    struct pack_advise_config config;
    pack_profile_take_processor(&job->profile, processor);
    if (job->file) {
        pack_advise_file_config(job->file, &job->profile, &config);
        job->now.decode_ns = config.decode_ns;
    }
    if (job->with) {
        pack_advise_file_config(job->with, &job->profile, &config);
        job->companion.decode_ns = config.decode_ns;
    }
}

enum pack_status
pack_advise_job_what_if(const struct pack_advise_request *r, struct pack_advise_job *job,
                        struct pack_advise_config *config, struct pack_error *err)
{
    struct pack_pipeline pipeline;
    if (r->storing.n_chunks > 1)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "chunks",
                               "one configuration has one shape of chunks, not %zu",
                               r->storing.n_chunks);
    *config = job->now;
    if (r->storing.n_chunks || r->storing.codec)
        config->is_virtual = false; /* another layout is one file's */
    if (r->storing.n_chunks)
        config->chunk = job->chunks[0];
    if (config->chunk.rank == 0 && r->storing.n_chunks) {
        strcpy(config->codec, "none");
        config->stored_rate = 1;
        config->decode_ns = 0;
    }
    if (r->storing.codec) {
        enum pack_status status = pack_pipeline_parse(
            r->storing.codec, (uint32_t)job->params.data.elem_size, &pipeline, err);
        if (status != PACK_OK)
            return pack_error_param(err, status, "codec");
        snprintf(config->codec, sizeof config->codec, "%.63s", r->storing.codec);
        config->stored_rate = 1;
        config->decode_ns = pack_cost_decode_ns(&job->profile, &pipeline, 0);
    }
    if (strcmp(config->codec, "none") != 0 && config->chunk.rank == 0)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "chunks",
                               "contiguous data cannot be compressed, only chunks");
    if (!job->file || strcmp(config->codec, "none") == 0 ||
        !(r->storing.codec || r->storing.n_chunks))
        return PACK_OK;
    return pack_advise_file_measure(job->file, &config->chunk, config->codec,
                                    &config->stored_rate, &config->decode_ns, err);
}
