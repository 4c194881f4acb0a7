/*
 * Bad calls of every function that the library exports: a sentence that names the
 * parameter, or a harmless value; never a crash. Uses public headers and the shared
 * library only, as a stranger does, and fails for a function of libpack.sym that has no
 * row here.
 */
#include <libpack/libpack.h>

#include <float.h>
#include <math.h>
#include <unistd.h>

#include "tests/tap.h"

enum { NAMES_MAX = 512, NAME_MAX_BYTES = 64 };

static const char *called[NAMES_MAX];
static size_t n_called;
static struct pack_error err;

static void
note_call(const char *function)
{
    for (size_t i = 0; i < n_called; i++)
        if (strcmp(called[i], function) == 0)
            return;
    if (n_called < NAMES_MAX)
        called[n_called++] = function;
}

static void
refused(const char *function, const char *param, const char *call,
        enum pack_status status, enum pack_status wanted)
{
    bool named = err.param && strcmp(err.param, param) == 0 && err.text[0] != '\0';
    note_call(function);
    if (!ok(status == wanted && err.status == wanted && named, "%s(%s) is refused for %s",
            function, call, param))
        note("got %s, param %s: %s", pack_status_name(status),
             err.param ? err.param : "none", err.text);
    memset(&err, 0, sizeof err);
}

static void
holds(const char *function, const char *call, bool good)
{
    note_call(function);
    ok(good, "%s: %s", function, call);
}

/* A call that is refused, with the parameter that the error names. */
#define REFUSED(param, function, ...)                                                    \
    refused(#function, param, #__VA_ARGS__, function(__VA_ARGS__), PACK_ERR_ARGUMENT)
/* The same without *err: the status alone. */
#define LIMITED(param, function, ...)                                                    \
    refused(#function, param, #__VA_ARGS__, function(__VA_ARGS__), PACK_ERR_LIMIT)
/* What is true of a call that returns no status. */
#define HOLDS(function, condition) holds(#function, #condition, condition)
/* A call that returns nothing: it comes back. */
#define RETURNS(function, ...)                                                           \
    (function(__VA_ARGS__), holds(#function, "(" #__VA_ARGS__ ") returns", true))

static const double nan_value = (double)NAN, inf_value = (double)INFINITY;

/* ------------------------------------------------------------------- status */

static enum pack_status
fail_with(const char *format)
{
    return pack_fail(&err, PACK_ERR_IO, format, 1);
}

static bool
never(void *context)
{
    (void)context;
    return false;
}

static void
test_status(void)
{
    const char *volatile no_format = NULL;
    struct pack_watch watch = { .stop = never };
    HOLDS(pack_status_name, strcmp(pack_status_name((enum pack_status)99), "unknown") == 0);
    HOLDS(pack_status_name, strcmp(pack_status_name((enum pack_status)-1), "unknown") == 0);
    HOLDS(pack_fail, pack_fail(NULL, PACK_ERR_IO, "x") == PACK_ERR_IO);
    HOLDS(pack_fail, fail_with(no_format) == PACK_ERR_IO && err.text[0] == '\0');
    HOLDS(pack_fail_param, pack_fail_param(NULL, PACK_ERR_IO, NULL, "x") == PACK_ERR_IO);
    HOLDS(pack_fail_errno, pack_fail_errno(NULL, -1, "x") == PACK_ERR_IO);
    HOLDS(pack_fail_errno, pack_fail_errno(&err, -1, "x") == PACK_ERR_IO && err.text[0]);
    HOLDS(pack_fail_memory, pack_fail_memory(&err, NULL) == PACK_ERR_MEMORY);
    HOLDS(pack_fail_memory, pack_fail_memory(NULL, NULL) == PACK_ERR_MEMORY);
    HOLDS(pack_error_prefix, pack_error_prefix(NULL, PACK_ERR_IO, "x") == PACK_ERR_IO);
    HOLDS(pack_error_param, pack_error_param(NULL, PACK_ERR_IO, NULL) == PACK_ERR_IO);
    HOLDS(pack_error_param, pack_error_param(&err, PACK_ERR_IO, NULL) == PACK_ERR_MEMORY);
    RETURNS(pack_watch_tell, NULL, NULL);
    RETURNS(pack_watch_tell, &watch, NULL);
    HOLDS(pack_watch_stops, !pack_watch_stops(NULL));
    HOLDS(pack_watch_check, pack_watch_check(NULL, NULL) == PACK_OK);
    HOLDS(pack_version, pack_version()[0] != '\0');
    memset(&err, 0, sizeof err);
}

/* -------------------------------------------------------------------- shape */

static const struct pack_shape rank_33 = { .rank = 33, .extent = { 1 } },
                               rank_minus = { .rank = -1 }, rank_0 = { .rank = 0 },
                               square = { 2, { 8, 8 } }, quarter = { 2, { 4, 4 } },
                               flat = { 2, { 4, 0 } }, huge = { 2, { UINT64_MAX, 3 } };

static void
test_shape(void)
{
    struct pack_shape shape;
    struct pack_grid grid, bent;
    struct pack_box box = { 2, { 4, 4 }, { 4, 5 } };
    uint64_t n;
    char text[PACK_SHAPE_TEXT_MAX];
    HOLDS(pack_shape_count, !pack_shape_count(NULL, &n));
    HOLDS(pack_shape_count, !pack_shape_count(&square, NULL));
    HOLDS(pack_shape_count, !pack_shape_count(&rank_33, &n));
    HOLDS(pack_shape_count, !pack_shape_count(&rank_minus, &n));
    HOLDS(pack_shape_count, !pack_shape_count(&huge, &n));
    HOLDS(pack_shape_equal, !pack_shape_equal(NULL, NULL));
    HOLDS(pack_shape_equal, !pack_shape_equal(&square, NULL));
    HOLDS(pack_shape_equal, !pack_shape_equal(&rank_33, &rank_33));
    HOLDS(pack_shape_equal, !pack_shape_equal(&rank_minus, &rank_minus));
    REFUSED("text", pack_shape_parse, NULL, &shape, &err);
    REFUSED("shape", pack_shape_parse, "1x2", NULL, &err);
    HOLDS(pack_shape_format, pack_shape_format(&square, NULL) == NULL);
    HOLDS(pack_shape_format, strcmp(pack_shape_format(NULL, text), "unknown") == 0);
    HOLDS(pack_shape_format, strcmp(pack_shape_format(&rank_33, text), "unknown") == 0);
    HOLDS(pack_shape_format, strcmp(pack_shape_format(&rank_minus, text), "unknown") == 0);
    REFUSED("text", pack_bytes_parse, NULL, &n, &err);
    REFUSED("bytes", pack_bytes_parse, "1K", NULL, &err);
    HOLDS(pack_bytes_format, pack_bytes_format(1, NULL) == NULL);
    REFUSED("grid", pack_grid_init, NULL, &square, &quarter, 1, &err);
    REFUSED("extent", pack_grid_init, &grid, NULL, &quarter, 1, &err);
    REFUSED("chunk", pack_grid_init, &grid, &square, NULL, 1, &err);
    REFUSED("extent", pack_grid_init, &grid, &rank_0, &rank_0, 1, &err);
    REFUSED("extent", pack_grid_init, &grid, &rank_33, &rank_33, 1, &err);
    REFUSED("extent", pack_grid_init, &grid, &rank_minus, &rank_minus, 1, &err);
    REFUSED("chunk", pack_grid_init, &grid, &square, &rank_33, 1, &err);
    REFUSED("chunk", pack_grid_init, &grid, &square, &flat, 1, &err);
    REFUSED("elem_size", pack_grid_init, &grid, &square, &quarter, 0, &err);
    HOLDS(pack_grid_init,
          pack_grid_init(&grid, &huge, &quarter, 1, NULL) == PACK_ERR_LIMIT);
    if (pack_grid_init(&grid, &square, &quarter, 1, NULL) != PACK_OK)
        exit(2);
    bent = grid;
    bent.rank = 33;
    REFUSED("grid", pack_grid_check_box, NULL, &box, &err);
    REFUSED("grid", pack_grid_check_box, &bent, &box, &err);
    REFUSED("box", pack_grid_check_box, &grid, NULL, &err);
    REFUSED("box", pack_grid_check_box, &grid, &box, &err);
    box = (struct pack_box){ 2, { 7, 7 }, { UINT64_MAX, 1 } };
    REFUSED("box", pack_grid_check_box, &grid, &box, &err);
    box = (struct pack_box){ 2, { 0, 9 }, { 1, 1 } };
    REFUSED("box", pack_grid_check_box, &grid, &box, &err);
    box.rank = 33;
    REFUSED("box", pack_grid_check_box, &grid, &box, &err);
}

/* -------------------------------------------------------------------- image */

static void
test_image(void)
{
    static const unsigned char jpeg[] = { 0xff, 0xd8, 0xff, 0xe0, 0, 16 };
    struct pack_image_params bad_mode = { .mode = (enum pack_image_mode)7 };
    struct pack_image_info info = { .format = (enum pack_image_format)9 };
    struct pack_image image = { 0 };
    struct pack_geometry bad_fit = { .fit = (enum pack_fit)9 },
                         half = { .size_h = 3 }, wide = { .shorter = UINT32_MAX };
    enum pack_pixel_layout layout;
    enum pack_resample_filter filter;
    enum pack_fit fit;
    RETURNS(pack_image_done, NULL);
    HOLDS(pack_image_format_name,
          strcmp(pack_image_format_name((enum pack_image_format)9), "unknown") == 0);
    HOLDS(pack_image_formats, strncmp(pack_image_formats(), "JPEG, PNG", 9) == 0);
    HOLDS(pack_image_is_known, !pack_image_is_known(NULL, 0));
    HOLDS(pack_image_is_known, !pack_image_is_known(NULL, 16));
    REFUSED("data", pack_image_probe, NULL, 5, NULL, &info, &err);
    REFUSED("info", pack_image_probe, jpeg, sizeof jpeg, NULL, NULL, &err);
    REFUSED("mode", pack_image_probe, jpeg, sizeof jpeg, &bad_mode, &info, &err);
    HOLDS(pack_image_probe,
          pack_image_probe(NULL, 0, NULL, &info, NULL) == PACK_ERR_FORMAT);
    REFUSED("data", pack_image_decode, NULL, 5, NULL, &image, NULL, &err);
    REFUSED("image", pack_image_decode, jpeg, sizeof jpeg, NULL, NULL, NULL, &err);
    REFUSED("mode", pack_image_decode, jpeg, sizeof jpeg, &bad_mode, &image, NULL, &err);
    HOLDS(pack_image_decode,
          pack_image_decode(NULL, 0, NULL, &image, NULL, NULL) == PACK_ERR_FORMAT);
    HOLDS(pack_image_decode_bytes, pack_image_decode_bytes(NULL, NULL) == UINT64_MAX);
    HOLDS(pack_image_decode_bytes, pack_image_decode_bytes(&info, NULL) == UINT64_MAX);
    REFUSED("name", pack_pixel_layout_parse, NULL, &layout, &err);
    REFUSED("layout", pack_pixel_layout_parse, "nhwc", NULL, &err);
    HOLDS(pack_pixel_layout_name,
          strcmp(pack_pixel_layout_name((enum pack_pixel_layout)9), "unknown") == 0);
    REFUSED("name", pack_resample_filter_parse, NULL, &filter, &err);
    REFUSED("filter", pack_resample_filter_parse, "box", NULL, &err);
    HOLDS(pack_resample_filter_name,
          strcmp(pack_resample_filter_name((enum pack_resample_filter)-1), "unknown") == 0);
    REFUSED("name", pack_fit_parse, NULL, &fit, &err);
    REFUSED("fit", pack_fit_parse, "crop", NULL, &err);
    HOLDS(pack_fit_name, strcmp(pack_fit_name((enum pack_fit)9), "unknown") == 0);
    REFUSED("geometry", pack_geometry_check, NULL, &err);
    REFUSED("fit", pack_geometry_check, &bad_fit, &err);
    REFUSED("size_h", pack_geometry_check, &half, &err);
    REFUSED("shorter", pack_geometry_check, &wide, &err);
}

/* ------------------------------------------------------------------ dataset */

static void
test_dataset(void)
{
    struct pack_pipeline pipeline = { 0 }, odd = { .n = 1000000 }, full = { .n = 32 };
    static struct pack_facts facts;
    struct pack_chunkindex index;
    enum pack_libver libver;
    uint32_t cd[PACK_FILTER_CD_MAX + 1] = { 0 }, id;
    char text[PACK_PIPELINE_TEXT_MAX];
    struct pack_type type = { .class_id = (enum pack_type_class)77, .bytes = UINT32_MAX };
    REFUSED("text", pack_pipeline_parse, NULL, 1, &pipeline, &err);
    REFUSED("pipeline", pack_pipeline_parse, "none", 1, NULL, &err);
    REFUSED("element_bytes", pack_pipeline_parse, "shuffle", 0, &pipeline, &err);
    REFUSED("pipeline", pack_pipeline_add, NULL, 1, 0, 0, NULL, &err);
    REFUSED("cd", pack_pipeline_add, &pipeline, 1, 0, 1, NULL, &err);
    REFUSED("n_cd", pack_pipeline_add, &pipeline, 1, 0, PACK_FILTER_CD_MAX + 1, cd, &err);
    REFUSED("pipeline", pack_pipeline_add, &full, 1, 0, 0, NULL, &err);
    REFUSED("pipeline", pack_pipeline_add, &odd, 1, 0, 0, NULL, &err);
    odd.n = -1;
    REFUSED("pipeline", pack_pipeline_add, &odd, 1, 0, 0, NULL, &err);
    HOLDS(pack_pipeline_format, pack_pipeline_format(&pipeline, NULL) == NULL);
    HOLDS(pack_pipeline_format, strcmp(pack_pipeline_format(NULL, text), "unknown") == 0);
    HOLDS(pack_pipeline_format, strcmp(pack_pipeline_format(&odd, text), "unknown") == 0);
    odd.n = 1000000;
    HOLDS(pack_pipeline_format, strcmp(pack_pipeline_format(&odd, text), "unknown") == 0);
    HOLDS(pack_pipeline_is_known, !pack_pipeline_is_known(NULL, &id));
    HOLDS(pack_pipeline_is_known, !pack_pipeline_is_known(&odd, &id));
    full.filter[0].id = 4;
    HOLDS(pack_pipeline_is_known, !pack_pipeline_is_known(&full, NULL));
    HOLDS(pack_filter_name, pack_filter_name(0) == NULL);
    HOLDS(pack_filter_need, pack_filter_need(1, NULL) == NULL);
    REFUSED("text", pack_libver_parse, NULL, &libver, &err);
    REFUSED("libver", pack_libver_parse, "v18", NULL, &err);
    HOLDS(pack_libver_name, strcmp(pack_libver_name((enum pack_libver)9), "unknown") == 0);
    REFUSED("file", pack_dataset_facts, NULL, "/x", &facts, &err);
    REFUSED("path", pack_dataset_facts, "x.h5", NULL, &facts, &err);
    REFUSED("facts", pack_dataset_facts, "x.h5", "/x", NULL, &err);
    HOLDS(pack_dataset_facts, pack_dataset_facts("", "", &facts, NULL) != PACK_OK);
    HOLDS(pack_facts_skip_missing, !pack_facts_skip_missing(NULL));
    HOLDS(pack_facts_is_unwritten, !pack_facts_is_unwritten(NULL));
    HOLDS(pack_type_format, pack_type_format(&type, NULL) == NULL);
    HOLDS(pack_type_format, strcmp(pack_type_format(NULL, text), "unknown") == 0);
    HOLDS(pack_type_format, strlen(pack_type_format(&type, text)) < PACK_TYPE_TEXT_MAX);
    HOLDS(pack_type_class_name,
          strcmp(pack_type_class_name((enum pack_type_class)-1), "other") == 0);
    HOLDS(pack_layout_name, strcmp(pack_layout_name((enum pack_layout)9), "unknown") == 0);
    HOLDS(pack_facts_layout_name, strcmp(pack_facts_layout_name(NULL), "unknown") == 0);
    HOLDS(pack_index_name, strcmp(pack_index_name((enum pack_index)9), "unknown") == 0);
    REFUSED("file", pack_chunkindex_read, NULL, "/x", 0, &index, &err);
    REFUSED("path", pack_chunkindex_read, "x.h5", NULL, 0, &index, &err);
    REFUSED("index", pack_chunkindex_read, "x.h5", "/x", 0, NULL, &err);
    RETURNS(pack_chunkindex_done, NULL);
}

/* ------------------------------------------------------------------ pattern */

static void
test_pattern_params(void)
{
    struct pack_pattern_iter *iter = NULL;
    static const uint64_t beyond[] = { 0, UINT64_MAX };
    static const double weights[64] = { 0, 1, -1 }, nans[8] = { 1, (double)NAN };
    struct pack_box boxes[2] = { { 1, { 0 }, { 1 } }, { 33, { 0 }, { 1 } } };
    struct pack_pattern p = { .extent = square };
#define WITH(...) ((struct pack_pattern){ .extent = square, __VA_ARGS__ })
    REFUSED("pattern", pack_pattern_new, NULL, &iter, &err);
    REFUSED("iter", pack_pattern_new, &p, NULL, &err);
    REFUSED("kind", pack_pattern_new, &WITH(.kind = (enum pack_pattern_kind)99), &iter, &err);
    REFUSED("read", pack_pattern_new, &WITH(.read = (enum pack_read_mode)99), &iter, &err);
    REFUSED("extent", pack_pattern_new, &(struct pack_pattern){ .extent = rank_33 }, &iter,
            &err);
    REFUSED("extent", pack_pattern_new, &(struct pack_pattern){ .extent = rank_0 }, &iter,
            &err);
    REFUSED("box", pack_pattern_new, &WITH(.box = rank_33), &iter, &err);
    REFUSED("box", pack_pattern_new, &WITH(.box = flat), &iter, &err);
    REFUSED("box", pack_pattern_new, &WITH(.box = huge), &iter, &err);
    REFUSED("n_samples", pack_pattern_new, &WITH(.n_samples = UINT64_MAX), &iter, &err);
    REFUSED("rank", pack_pattern_new, &WITH(.rank = 1), &iter, &err);
    REFUSED("worker", pack_pattern_new, &WITH(.worker = 3, .workers = 3), &iter, &err);
    LIMITED("batch", pack_pattern_new, &WITH(.batch = UINT64_MAX), &iter, &err);
    REFUSED("weights", pack_pattern_new, &WITH(.kind = PACK_PATTERN_WEIGHTED), &iter, &err);
    REFUSED("subset", pack_pattern_new, &WITH(.n_subset = 3), &iter, &err);
    REFUSED("subset", pack_pattern_new, &WITH(.subset = beyond), &iter, &err);
    REFUSED("subset", pack_pattern_new, &WITH(.subset = beyond, .n_subset = 2), &iter, &err);
    REFUSED("weights", pack_pattern_new,
            &WITH(.kind = PACK_PATTERN_WEIGHTED, .weights = weights), &iter, &err);
    REFUSED("weights", pack_pattern_new,
            &WITH(.kind = PACK_PATTERN_WEIGHTED, .weights = nans), &iter, &err);
    REFUSED("trace", pack_pattern_new, &WITH(.kind = PACK_PATTERN_TRACE, .n_trace = 2),
            &iter, &err);
    REFUSED("trace", pack_pattern_new,
            &WITH(.kind = PACK_PATTERN_TRACE, .n_trace = 2, .trace = boxes), &iter, &err);
    boxes[1] = (struct pack_box){ 1, { UINT64_MAX }, { 2 } };
    REFUSED("trace", pack_pattern_new,
            &WITH(.kind = PACK_PATTERN_TRACE, .n_trace = 2, .trace = boxes), &iter, &err);
    REFUSED("n_samples", pack_pattern_new, &WITH(.kind = PACK_PATTERN_TRACE), &iter, &err);
    REFUSED("slide", pack_pattern_new,
            &WITH(.kind = PACK_PATTERN_BLOCK, .slide = true, .local = true), &iter, &err);
    p.batch = UINT32_MAX; /* of 8 samples: one batch of 8 */
    p.read = PACK_READ_BATCH;
    HOLDS(pack_pattern_new, pack_pattern_new(&p, &iter, NULL) == PACK_OK);
    pack_pattern_free(iter);
#undef WITH
}

static void
test_pattern(void)
{
    struct pack_pattern p = { .extent = square };
    struct pack_pattern_iter *iter = NULL;
    struct pack_request request;
    struct pack_trace trace;
    enum pack_read_mode mode;
    uint64_t samples[8];
    REFUSED("text", pack_pattern_parse, NULL, &p, &err);
    REFUSED("pattern", pack_pattern_parse, "shuffle", NULL, &err);
    REFUSED("text", pack_pattern_parse_rank, NULL, &p, &err);
    REFUSED("pattern", pack_pattern_parse_rank, "0/2", NULL, &err);
    REFUSED("text", pack_read_mode_parse, NULL, &mode, &err);
    REFUSED("mode", pack_read_mode_parse, "span", NULL, &err);
    HOLDS(pack_pattern_name,
          strcmp(pack_pattern_name((enum pack_pattern_kind)99), "unknown") == 0);
    HOLDS(pack_read_mode_name,
          strcmp(pack_read_mode_name((enum pack_read_mode)-1), "unknown") == 0);
    test_pattern_params();
    if (pack_pattern_new(&p, &iter, NULL) != PACK_OK)
        exit(2);
    RETURNS(pack_pattern_free, NULL);
    HOLDS(pack_pattern_next, !pack_pattern_next(NULL, &request));
    HOLDS(pack_pattern_next, !pack_pattern_next(iter, NULL));
    HOLDS(pack_pattern_samples, pack_pattern_samples(NULL, samples, 8) == 0);
    HOLDS(pack_pattern_samples, pack_pattern_samples(iter, NULL, 8) == 0);
    HOLDS(pack_pattern_length, pack_pattern_length(NULL) == 0);
    HOLDS(pack_pattern_position, pack_pattern_position(NULL) == 0);
    HOLDS(pack_pattern_epoch, pack_pattern_epoch(NULL) == 0);
    HOLDS(pack_pattern_n_samples, pack_pattern_n_samples(NULL) == 0);
    HOLDS(pack_pattern_shared_chunks, pack_pattern_shared_chunks(NULL) == 0);
    HOLDS(pack_pattern_is_whole, !pack_pattern_is_whole(NULL));
    REFUSED("iter", pack_pattern_seek, NULL, 0, 0, &err);
    REFUSED("position", pack_pattern_seek, iter, 0, 9, &err);
    pack_pattern_free(iter);
    REFUSED("text", pack_trace_parse, NULL, 3, &trace, &err);
    REFUSED("trace", pack_trace_parse, "1\t1\n", 4, NULL, &err);
    REFUSED("text", pack_trace_parse_of, NULL, 3, NULL, NULL, &trace, &err);
    REFUSED("trace", pack_trace_parse_of, "1\t1\n", 4, NULL, NULL, NULL, &err);
    HOLDS(pack_trace_parse, pack_trace_parse(NULL, 0, &trace, NULL) == PACK_ERR_FORMAT);
    RETURNS(pack_trace_free, NULL);
}

/* ----------------------------------------------------------------- cachesim */

static void
test_cachesim_new(struct pack_grid *grid)
{
    struct pack_cachesim_params params = { 0 };
    struct pack_cachesim *sim = NULL;
    struct pack_grid bent = *grid, none = { 0 };
#define CACHE(...) (&(struct pack_cachesim_params){ .cache = { 521, 1 << 20, __VA_ARGS__ } })
    REFUSED("grid", pack_cachesim_new, NULL, &params, &sim, &err);
    REFUSED("params", pack_cachesim_new, grid, NULL, &sim, &err);
    REFUSED("sim", pack_cachesim_new, grid, &params, NULL, &err);
    REFUSED("grid", pack_cachesim_new, &none, &params, &sim, &err);
    bent.rank = 1000000;
    REFUSED("grid", pack_cachesim_new, &bent, &params, &sim, &err);
    bent = *grid;
    bent.n_chunks[1]++;
    REFUSED("grid", pack_cachesim_new, &bent, &params, &sim, &err);
    bent = *grid;
    bent.n_chunks_total = 1;
    REFUSED("grid", pack_cachesim_new, &bent, &params, &sim, &err);
    REFUSED("w0", pack_cachesim_new, grid, CACHE(1.5, PACK_HDF5_1_10), &sim, &err);
    REFUSED("w0", pack_cachesim_new, grid, CACHE(nan_value, PACK_HDF5_1_10), &sim, &err);
    REFUSED("version", pack_cachesim_new, grid, CACHE(0.5, (enum pack_hdf5_version)9), &sim,
            &err);
    params.stored_rate = -1;
    REFUSED("stored_rate", pack_cachesim_new, grid, &params, &sim, &err);
    params.stored_rate = DBL_MAX;
    REFUSED("stored_rate", pack_cachesim_new, grid, &params, &sim, &err);
    params.stored_rate = nan_value;
    REFUSED("stored_rate", pack_cachesim_new, grid, &params, &sim, &err);
    RETURNS(pack_cachesim_free, NULL);
#undef CACHE
}

static void
test_cachesim_reads(struct pack_cachesim *sim)
{
    struct pack_box in = { 2, { 0, 0 }, { 1, 1 } }, out = { 2, { 8, 0 }, { 1, 1 } },
                    rank_1 = { 1, { 0 }, { 1 } }, deep = { 33, { 0 }, { 1 } },
                    wraps = { 2, { 1, 0 }, { UINT64_MAX, 1 } }, two[2] = { in, out };
    uint64_t samples[3] = { 0, 7, 8 }, stride[2] = { 1, 1 }, still[2] = { 1, 0 },
             far[2] = { UINT64_C(1) << 63, 1 }, points[4] = { 0, 0, 7, 8 },
             numbers[2] = { 3, 4 };
    struct pack_box every = { 2, { 0, 0 }, { 3, 2 } };
    struct pack_cache_counts counts;
    pack_cachesim_take(sim, &counts);
    REFUSED("sim", pack_cachesim_read, NULL, &in, &err);
    REFUSED("box", pack_cachesim_read, sim, NULL, &err);
    REFUSED("box", pack_cachesim_read, sim, &out, &err);
    REFUSED("box", pack_cachesim_read, sim, &rank_1, &err);
    REFUSED("box", pack_cachesim_read, sim, &deep, &err);
    REFUSED("box", pack_cachesim_read, sim, &wraps, &err);
    REFUSED("sim", pack_cachesim_read_samples, NULL, samples, 3, &err);
    REFUSED("samples", pack_cachesim_read_samples, sim, NULL, 3, &err);
    REFUSED("samples", pack_cachesim_read_samples, sim, samples, 3, &err);
    REFUSED("sim", pack_cachesim_read_boxes, NULL, two, 2, &err);
    REFUSED("boxes", pack_cachesim_read_boxes, sim, NULL, 2, &err);
    REFUSED("boxes", pack_cachesim_read_boxes, sim, two, 2, &err);
    REFUSED("box", pack_cachesim_read_boxes, sim, &out, 1, &err);
    REFUSED("sim", pack_cachesim_read_strided, NULL, &in, stride, &err);
    REFUSED("box", pack_cachesim_read_strided, sim, NULL, stride, &err);
    REFUSED("stride", pack_cachesim_read_strided, sim, &in, NULL, &err);
    REFUSED("stride", pack_cachesim_read_strided, sim, &in, still, &err);
    REFUSED("box", pack_cachesim_read_strided, sim, &deep, stride, &err);
    REFUSED("box", pack_cachesim_read_strided, sim, &every, far, &err);
    stride[0] = 4;
    REFUSED("box", pack_cachesim_read_strided, sim, &every, stride, &err);
    REFUSED("sim", pack_cachesim_read_points, NULL, points, 2, &err);
    REFUSED("coords", pack_cachesim_read_points, sim, NULL, 2, &err);
    REFUSED("coords", pack_cachesim_read_points, sim, points, 2, &err);
    REFUSED("sim", pack_cachesim_visit, NULL, 0, 1, &err);
    REFUSED("numbers", pack_cachesim_visit, sim, 4, 1, &err);
    REFUSED("numbers", pack_cachesim_visit, sim, UINT64_MAX, 1, &err);
    REFUSED("n_elements", pack_cachesim_visit, sim, 0, 17, &err);
    REFUSED("sim", pack_cachesim_visit_many, NULL, numbers, 2, 1, &err);
    REFUSED("numbers", pack_cachesim_visit_many, sim, NULL, 2, 1, &err);
    REFUSED("numbers", pack_cachesim_visit_many, sim, numbers, 2, 1, &err);
    pack_cachesim_take(sim, &counts);
    HOLDS(pack_cachesim_take, counts.requests == 0 && counts.hits == 0);
}

static void
test_cachesim_limits(void)
{
    struct pack_cachesim_params params = { .cache = { 521, 1 << 20, 0.75, PACK_HDF5_1_10 } };
    struct pack_shape extent = { 2, { UINT64_C(1) << 20, UINT64_C(1) << 20 } },
                      chunk = { 2, { 1, 1 } };
    struct pack_box all = { 2, { 0, 0 }, { 1 << 20, 1 << 20 } }, twice[2] = { all, all };
    struct pack_cachesim *sim = NULL;
    struct pack_grid grid;
    uint64_t stride[2] = { 1, 1 };
    if (pack_grid_init(&grid, &extent, &chunk, 1, NULL) != PACK_OK ||
        pack_cachesim_new(&grid, &params, &sim, NULL) != PACK_OK)
        exit(2);
    LIMITED("box", pack_cachesim_read, sim, &all, &err);
    LIMITED("boxes", pack_cachesim_read_boxes, sim, twice, 2, &err);
    LIMITED("box", pack_cachesim_read_strided, sim, &all, stride, &err);
    pack_cachesim_free(sim);
}

static void
test_cachesim(void)
{
    struct pack_cachesim_params params = { .cache = { 521, 1 << 20, 0.75, PACK_HDF5_1_10 } };
    struct pack_cache_params defaults;
    struct pack_cache_counts counts = { .hits = 1 };
    struct pack_cachesim *sim = NULL;
    struct pack_grid grid;
    struct pack_shape small = { 2, { 4, 8 } };
    enum pack_hdf5_version version;
    REFUSED("text", pack_hdf5_version_parse, NULL, &version, &err);
    REFUSED("version", pack_hdf5_version_parse, "1.10", NULL, &err);
    HOLDS(pack_hdf5_version_is_compared, !pack_hdf5_version_is_compared(NULL));
    HOLDS(pack_hdf5_version_name,
          strcmp(pack_hdf5_version_name((enum pack_hdf5_version)9), "unknown") == 0);
    RETURNS(pack_cache_params_defaults, NULL, PACK_HDF5_1_8);
    RETURNS(pack_cache_params_defaults, &defaults, (enum pack_hdf5_version)-1);
    RETURNS(pack_cache_counts_add, NULL, &counts);
    RETURNS(pack_cache_counts_add, &counts, NULL);
    if (pack_grid_init(&grid, &square, &quarter, 1, NULL) != PACK_OK)
        exit(2);
    test_cachesim_new(&grid);
    if (pack_cachesim_new(&grid, &params, &sim, NULL) != PACK_OK)
        exit(2);
    test_cachesim_reads(sim);
    REFUSED("sim", pack_cachesim_set_extent, NULL, &square, NULL, &err);
    REFUSED("extent", pack_cachesim_set_extent, sim, NULL, NULL, &err);
    REFUSED("extent", pack_cachesim_set_extent, sim, &rank_33, NULL, &err);
    REFUSED("chunk", pack_cachesim_set_extent, sim, &(struct pack_shape){ 1, { 9 } }, NULL,
            &err);
    HOLDS(pack_cachesim_set_extent,
          pack_cachesim_set_extent(sim, &small, NULL, NULL) == PACK_ERR_UNSUPPORTED);
    RETURNS(pack_cachesim_reopen, NULL);
    RETURNS(pack_cachesim_counts, NULL, &counts);
    RETURNS(pack_cachesim_counts, sim, NULL);
    RETURNS(pack_cachesim_take, NULL, &counts);
    RETURNS(pack_cachesim_take, sim, NULL);
    HOLDS(pack_cachesim_entries, pack_cachesim_entries(NULL) == 0);
    HOLDS(pack_cachesim_grid, pack_cachesim_grid(NULL) == NULL);
    pack_cachesim_free(sim);
    params.cache = (struct pack_cache_params){ 0 };
    if (pack_cachesim_new(&grid, &params, &sim, NULL) != PACK_OK)
        exit(2);
    test_cachesim_reads(sim); /* past the cache */
    pack_cachesim_free(sim);
    test_cachesim_limits();
}

/* ------------------------------------------------------- sources and packing */

static void
test_source_open(void)
{
    static const char *const none[] = { NULL }, *const empty[] = { "" },
                            *const here[] = { "." };
    struct pack_source_params params = { 0 }, classes = { .n_classes = 1 },
                              unnamed = { .n_classes = 1, .classes = none },
                              format = { .list_format = (enum pack_list_format)9 };
    struct pack_source *source = NULL;
    FILE *file = tmpfile();
    if (!file)
        exit(2);
    REFUSED("folders", pack_source_open, NULL, 1, &params, &source, &err);
    REFUSED("folders", pack_source_open, here, 0, &params, &source, &err);
    REFUSED("folders", pack_source_open, none, 1, &params, &source, &err);
    REFUSED("folders", pack_source_open, empty, 1, &params, &source, &err);
    REFUSED("params", pack_source_open, here, 1, NULL, &source, &err);
    REFUSED("source", pack_source_open, here, 1, &params, NULL, &err);
    REFUSED("classes", pack_source_open, here, 1, &classes, &source, &err);
    REFUSED("classes", pack_source_open, here, 1, &unnamed, &source, &err);
    REFUSED("file", pack_source_open_list, NULL, "l", &params, &source, &err);
    REFUSED("name", pack_source_open_list, file, NULL, &params, &source, &err);
    REFUSED("params", pack_source_open_list, file, "l", NULL, &source, &err);
    REFUSED("source", pack_source_open_list, file, "l", &params, NULL, &err);
    REFUSED("classes", pack_source_open_list, file, "l", &classes, &source, &err);
    REFUSED("list_format", pack_source_open_list, file, "l", &format, &source, &err);
    fclose(file);
}

/* Two images that are not there, for what does not open them. */
static struct pack_source *
two_images(void)
{
    struct pack_source_params params = { .list_format = PACK_LIST_LINES };
    struct pack_source *source = NULL;
    char text[] = "a.jpg\nb.jpg\n";
    FILE *file = fmemopen(text, sizeof text - 1, "r");
    if (!file || pack_source_open_list(file, "l", &params, &source, NULL) != PACK_OK)
        exit(2);
    fclose(file);
    return source;
}

static void
test_source(void)
{
    struct pack_source *source = two_images();
    char text[PACK_SOURCE_NOTE_TEXT_MAX];
    size_t n = 7;
    int fd;
    test_source_open();
    RETURNS(pack_source_close, NULL);
    HOLDS(pack_source_count, pack_source_count(NULL) == 0);
    HOLDS(pack_source_name, pack_source_name(NULL, 0) == NULL);
    HOLDS(pack_source_name, pack_source_name(source, 2) == NULL);
    HOLDS(pack_source_label, pack_source_label(NULL, 0) == -1);
    HOLDS(pack_source_label, pack_source_label(source, UINT64_MAX) == -1);
    HOLDS(pack_source_list_form, !pack_source_list_form(NULL));
    HOLDS(pack_source_has_labels, !pack_source_has_labels(NULL));
    HOLDS(pack_source_classes, pack_source_classes(NULL, &n) == NULL && n == 0);
    HOLDS(pack_source_classes, pack_source_classes(source, NULL) == NULL);
    REFUSED("source", pack_source_shuffle, NULL, 1, &err);
    RETURNS(pack_source_limit, NULL, 1);
    HOLDS(pack_source_path, pack_source_path(NULL, 0, text, sizeof text) == 0);
    HOLDS(pack_source_path, pack_source_path(source, 2, text, sizeof text) == 0 && !text[0]);
    HOLDS(pack_source_path, pack_source_path(source, 1, NULL, 100) == 5);
    REFUSED("source", pack_source_open_file, NULL, 0, &fd, &err);
    REFUSED("fd", pack_source_open_file, source, 0, NULL, &err);
    REFUSED("i", pack_source_open_file, source, 2, &fd, &err);
    HOLDS(pack_source_note_text, !pack_source_note_text(NULL, PACK_NOTE_LOOP, text));
    HOLDS(pack_source_note_text, !pack_source_note_text(source, PACK_NOTE_LOOP, NULL));
    HOLDS(pack_source_note_text, !pack_source_note_text(source, PACK_NOTE_KINDS, text));
    HOLDS(pack_source_note_warns,
          !pack_source_note_warns((enum pack_source_note_kind)1000000));
    pack_source_close(source);
}

/* The order that options store is the order that the source has. */
static void
test_convert_order(struct pack_convert_params good)
{
    struct pack_source *mixed = two_images(), *cut = two_images();
    struct pack_convert_result result;
    struct pack_convert_params p = good;
    (void)pack_source_shuffle(mixed, 3, NULL);
    pack_source_limit(cut, 1);
#define OTHER(param)                                                                     \
    do {                                                                                 \
        REFUSED(param, pack_convert, &p, &result, &err);                                 \
        REFUSED(param, pack_convert_forecast, &p, &result, &err);                        \
    } while (0)
    p.options.shuffle = true;
    OTHER("shuffle");
    p.source = mixed;
    OTHER("seed");
    p.options.shuffle = false;
    p.options.seed = 3;
    OTHER("shuffle");
    p = good;
    p.options.limit = 1;
    OTHER("limit");
    p.source = cut;
    p.options.limit = 0;
    OTHER("limit");
    p.options.limit = 2;
    OTHER("limit");
#undef OTHER
    pack_source_close(mixed);
    pack_source_close(cut);
}

/* What is refused in options, by whatever packs with them. */
static void
test_convert_options(struct pack_convert_params good)
{
    static const struct pack_image_window window;
    struct pack_convert_result result;
    struct pack_convert_params p;
#define BAD(param, member, ...)                                                          \
    do {                                                                                 \
        p = good;                                                                        \
        p.options.member = __VA_ARGS__;                                                  \
        REFUSED(param, pack_convert, &p, &result, &err);                                 \
        REFUSED(param, pack_convert_forecast, &p, &result, &err);                        \
    } while (0)
    BAD("mode", image.mode, (enum pack_image_mode)9);
    BAD("window", image.window, &window);
    BAD("layout", layout, (enum pack_pixel_layout)9);
    BAD("goal", goal, (enum pack_chunk_goal)9);
    BAD("libver", libver, (enum pack_libver)9);
    BAD("on_error", on_error, (enum pack_on_error)9);
    BAD("size_h", geometry.size_h, 3);
    BAD("fit", geometry.fit, (enum pack_fit)9);
    BAD("chunk", chunk, rank_33);
    BAD("chunk", chunk, rank_minus);
    BAD("chunk", chunk, flat);
    BAD("pipeline", pipeline.n, 1000000);
    BAD("pipeline", pipeline, (struct pack_pipeline){ 1, { { 1, 0, 99, { 0 } } } });
#undef BAD
}

static void
test_convert(void)
{
    struct pack_source *source = two_images(), *empty = two_images();
    struct pack_convert_params good = { .source = source, .output = "api.h5", .version = "1" };
    struct pack_convert_params p = good;
    struct pack_convert_options options;
    struct pack_convert_result result;
    pack_source_limit(empty, 0);
    REFUSED("params", pack_convert, NULL, &result, &err);
    REFUSED("result", pack_convert, &p, NULL, &err);
    REFUSED("params", pack_convert_forecast, NULL, &result, &err);
    REFUSED("result", pack_convert_forecast, &p, NULL, &err);
    REFUSED("params", pack_convert_compare, NULL, &result, &err);
    REFUSED("result", pack_convert_compare, &p, NULL, &err);
    p.source = NULL;
    REFUSED("source", pack_convert, &p, &result, &err);
    REFUSED("source", pack_convert_forecast, &p, &result, &err);
    REFUSED("source", pack_convert_compare, &p, &result, &err);
    p.source = empty;
    REFUSED("source", pack_convert, &p, &result, &err);
    REFUSED("source", pack_convert_forecast, &p, &result, &err);
    p = good;
    p.output = NULL;
    REFUSED("output", pack_convert, &p, &result, &err);
    REFUSED("output", pack_convert_compare, &p, &result, &err);
    p.output = "";
    REFUSED("output", pack_convert, &p, &result, &err);
    p = good;
    p.version = NULL;
    REFUSED("version", pack_convert, &p, &result, &err);
    p = good;
    p.n_threads = 1000000;
    REFUSED("n_threads", pack_convert, &p, &result, &err);
    REFUSED("n_threads", pack_convert_compare, &p, &result, &err);
    test_convert_options(good);
    test_convert_order(good);
    ok(access("api.h5", F_OK) != 0 && access("api.h5.part", F_OK) != 0,
       "what is refused writes no file");
    REFUSED("path", pack_convert_options_read, NULL, &options, &err);
    REFUSED("options", pack_convert_options_read, "x.h5", NULL, &err);
    HOLDS(pack_convert_chunk_samples,
          pack_convert_chunk_samples((enum pack_chunk_goal)9, 0) == 1);
    pack_source_close(source);
    pack_source_close(empty);
}

/* ---------------------------------------------------------- profiles, advice */

static void
test_profile(void)
{
    struct pack_profile profile;
    REFUSED("name", pack_profile_named, NULL, &profile, &err);
    REFUSED("profile", pack_profile_named, "nvme", NULL, &err);
    HOLDS(pack_profile_name, pack_profile_name(SIZE_MAX, NULL) == NULL);
    HOLDS(pack_profile_name, pack_profile_name(0, NULL) != NULL);
    REFUSED("text", pack_profile_parse, NULL, 3, &profile, &err);
    REFUSED("profile", pack_profile_parse, "{}", 2, NULL, &err);
    HOLDS(pack_profile_parse, pack_profile_parse("", 0, &profile, NULL) == PACK_ERR_FORMAT);
}

static struct pack_advise_result result;
static struct pack_advise_outcome outcome;
static const struct pack_advise_config chunked = {
    .chunk = { 2, { 4, 8 } },
    .codec = "none",
    .stored_rate = 1,
    .cache = { 521, 1 << 20, 0.75, PACK_HDF5_1_10 },
};

/* Every entry that takes params refuses these. */
static void
bad_params(const char *param, const struct pack_advise_params *p)
{
    struct pack_advise_config config = chunked;
    REFUSED(param, pack_advise, p, &result, &err);
    REFUSED(param, pack_advise_evaluate, p, &chunked, 0, &outcome, &err);
    REFUSED(param, pack_advise_what_if, p, &chunked, &result, &err);
    REFUSED(param, pack_advise_settle, p, &result, &err);
    REFUSED(param, pack_advise_slots, p, &config, &err);
}

static void
test_advise_params(const struct pack_advise_params *good)
{
    static const uint32_t labels[8];
    static const struct pack_advise_companion deep = { .extent = { .rank = 33 } },
                                              shorter = { .extent = { 1, { 7 } } };
    struct pack_profile broken = *good->machine.profile;
    struct pack_advise_params p = *good;
    bad_params("params", NULL);
#define BAD(param, member, ...)                                                          \
    do {                                                                                 \
        p = *good;                                                                       \
        p.member = __VA_ARGS__;                                                          \
        bad_params(param, &p);                                                           \
    } while (0)
    BAD("profile", machine.profile, NULL);
    broken.call_ns = nan_value;
    BAD("profile", machine.profile, &broken);
    broken.call_ns = -1;
    BAD("profile", machine.profile, &broken);
    broken = *good->machine.profile;
    broken.page.n = 0;
    BAD("profile", machine.profile, &broken);
    broken.page.n = 99;
    BAD("profile", machine.profile, &broken);
    BAD("extent", data.extent, rank_33);
    BAD("extent", data.extent, rank_0);
    BAD("extent", data.extent, flat);
    BAD("elem_size", data.elem_size, 0);
    BAD("chunk_max", data.chunk_max, rank_33);
    BAD("box", reading.pattern.box, rank_33);
    BAD("kind", reading.pattern.kind, (enum pack_pattern_kind)99);
    BAD("read", reading.pattern.read, (enum pack_read_mode)9);
    BAD("version", cache.version, (enum pack_hdf5_version)9);
    BAD("epochs", reading.epochs, UINT64_MAX);
    BAD("n_threads", n_threads, 1000000);
    BAD("min_gain", goal.min_gain, -1);
    BAD("min_gain", goal.min_gain, nan_value);
    BAD("target", goal.target, inf_value);
    BAD("chunks", storing.n_chunks, 1);
    BAD("companion", data.companion, &deep);
    BAD("companion", data.companion, &shorter);
#undef BAD
    p = *good;
    p.data.labels = labels;
    p.data.n_labels = 8;
    bad_params("n_classes", &p);
    p = *good;
    p.data.extent = huge;
    LIMITED("extent", pack_advise, &p, &result, &err);
    p = *good;
    p.cache.is_fixed = true;
    p.cache.settings.w0 = nan_value;
    bad_params("w0", &p);
    p = *good;
    p.machine.memory_bytes = 1;
    REFUSED("memory_bytes", pack_advise, &p, &result, &err);
    p = *good;
    p.storing.chunks = &quarter;
    p.storing.n_chunks = PACK_ADVISE_CHUNKS_MAX + 1;
    REFUSED("n_chunks", pack_advise, &p, &result, &err);
    p.storing.chunks = &rank_33;
    p.storing.n_chunks = 1;
    REFUSED("chunk", pack_advise, &p, &result, &err);
}

static enum pack_status
measure_nothing(void *context, const struct pack_shape *chunk, const char *codec,
                double *stored_rate, double *decode_ns, struct pack_error *error)
{
    (void)context, (void)chunk, (void)codec, (void)error;
    *stored_rate = *decode_ns = nan_value;
    return PACK_OK;
}

/* Boxes of another dataset than the one that is given. */
static void
test_advise_traces(const struct pack_advise_params *good)
{
    static const struct pack_box boxes[] = {
        { 2, { 7, 0 }, { 2, 8 } },
        { 2, { UINT64_C(1) << 60, 0 }, { 1, 8 } },
        { 2, { 0, 0 }, { UINT64_C(1) << 60, 8 } },
        { 2, { 8, 0 }, { 0, 8 } },
        { 3, { 0, 0, 0 }, { 1, 1, 1 } },
    };
    static const uint32_t labels[8];
    struct pack_advise_params p = *good;
    struct pack_advise_config c = chunked;
    p.data.labels = labels;
    p.data.n_labels = 8;
    p.data.n_classes = 1;
    p.reading.pattern_is_fixed = true;
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++) {
        c.pattern = (struct pack_pattern){ .kind = PACK_PATTERN_TRACE,
                                           .trace = &boxes[i],
                                           .n_trace = 1 };
        p.reading.pattern = c.pattern;
        REFUSED("trace", pack_advise_evaluate, &p, &c, 0, &outcome, &err);
        REFUSED("trace", pack_advise_what_if, &p, &c, &result, &err);
        REFUSED("trace", pack_advise, &p, &result, &err);
    }
}

static void
test_advise_configs(const struct pack_advise_params *good)
{
    struct pack_advise_params p = *good;
    struct pack_advise_config c;
#define BAD(param, member, ...)                                                          \
    do {                                                                                 \
        c = chunked;                                                                     \
        c.member = __VA_ARGS__;                                                          \
        REFUSED(param, pack_advise_evaluate, good, &c, 0, &outcome, &err);               \
        REFUSED(param, pack_advise_what_if, good, &c, &result, &err);                    \
        REFUSED(param, pack_advise_slots, good, &c, &err);                               \
        p.now = &c;                                                                      \
        REFUSED(param, pack_advise, &p, &result, &err);                                  \
    } while (0)
    BAD("chunk", chunk, rank_33);
    BAD("chunk", chunk, rank_minus);
    BAD("chunk", chunk, flat);
    BAD("codec", codec[0], '\0');
    BAD("stored_rate", stored_rate, 0);
    BAD("stored_rate", stored_rate, nan_value);
    BAD("decode_ns", decode_ns, -1);
    BAD("w0", cache.w0, 2);
    BAD("version", cache.version, (enum pack_hdf5_version)9);
    BAD("kind", pattern.kind, (enum pack_pattern_kind)99);
    BAD("read", pattern.read, (enum pack_read_mode)9);
    BAD("box", pattern.box, rank_33);
#undef BAD
    c = chunked;
    memset(c.codec, 'x', sizeof c.codec);
    REFUSED("codec", pack_advise_evaluate, good, &c, 0, &outcome, &err);
    REFUSED("config", pack_advise_evaluate, good, NULL, 0, &outcome, &err);
    REFUSED("outcome", pack_advise_evaluate, good, &chunked, 0, NULL, &err);
    REFUSED("config", pack_advise_what_if, good, NULL, &result, &err);
    REFUSED("result", pack_advise_what_if, good, &chunked, NULL, &err);
    REFUSED("config", pack_advise_slots, good, NULL, &err);
    REFUSED("result", pack_advise, good, NULL, &err);
    p = *good;
    p.storing.measure = measure_nothing;
    REFUSED("measure", pack_advise, &p, &result, &err);
    test_advise_traces(good);
}

static void
test_advise(void)
{
    struct pack_profile profile;
    struct pack_advise_params good = { .data.extent = square,
                                       .data.elem_size = 4,
                                       .machine.profile = &profile };
    struct pack_advise_outcome scaled = { .rate = 3, .first_rate = 3, .later_rate = 3 };
    if (pack_profile_named("nvme", &profile, NULL) != PACK_OK)
        exit(2);
    HOLDS(pack_advise_basis_name,
          strcmp(pack_advise_basis_name((enum pack_advise_basis)9), "unknown") == 0);
    HOLDS(pack_advise_change_name,
          strcmp(pack_advise_change_name((enum pack_advise_change)-1), "unknown") == 0);
    result.n_rows = 1;
    result.rows[0].config = chunked;
    test_advise_params(&good);
    test_advise_configs(&good);
    RETURNS(pack_advise_scale, NULL, &good, 2);
    pack_advise_scale(&scaled, NULL, 2);
    pack_advise_scale(&scaled, &good, nan_value);
    pack_advise_scale(&scaled, &good, -1);
    HOLDS(pack_advise_scale, scaled.rate == 3 && scaled.first_rate == 3);
    REFUSED("result", pack_advise_settle, &good, NULL, &err);
    result.n_rows = 0;
    REFUSED("result", pack_advise_settle, &good, &result, &err);
    result.n_rows = 1000;
    REFUSED("result", pack_advise_settle, &good, &result, &err);
    result.n_rows = 1;
    result.rows[0].config.chunk.rank = 33;
    REFUSED("chunk", pack_advise_settle, &good, &result, &err);
}

/* ------------------------------------------------------------------- reader */

static void
test_reader(void)
{
    struct pack_reader_params params = { .file = "none.h5", .dataset = "x" };
    struct pack_reader *reader = NULL;
    struct pack_reader_batch batch;
    struct pack_reader_info info;
    REFUSED("params", pack_reader_open, NULL, &reader, &err);
    REFUSED("reader", pack_reader_open, &params, NULL, &err);
    HOLDS(pack_reader_open,
          pack_reader_open(&params, &reader, &err) == PACK_ERR_NOT_FOUND);
    params.file = NULL;
    REFUSED("file", pack_reader_open, &params, &reader, &err);
    params = (struct pack_reader_params){ .file = "none.h5" };
    REFUSED("dataset", pack_reader_open, &params, &reader, &err);
    params = (struct pack_reader_params){ "none.h5", "x", .strategy = 4 };
    REFUSED("strategy", pack_reader_open, &params, &reader, &err);
    params = (struct pack_reader_params){ "none.h5", "x", .n_threads = 1025 };
    REFUSED("n_threads", pack_reader_open, &params, &reader, &err);
    params = (struct pack_reader_params){ "none.h5", "x", .n_ahead = 1 << 17 };
    REFUSED("n_ahead", pack_reader_open, &params, &reader, &err);
    params = (struct pack_reader_params){ "none.h5", "x", .pattern = { .workers = 2 } };
    REFUSED("pattern", pack_reader_open, &params, &reader, &err);
    params = (struct pack_reader_params){ "none.h5", "x", .pattern = { .read = 1 } };
    REFUSED("pattern", pack_reader_open, &params, &reader, &err);
    params = (struct pack_reader_params){ "none.h5", "x", .n_further = 1 };
    REFUSED("further", pack_reader_open, &params, &reader, &err);
    params.n_further = 1000;
    REFUSED("n_further", pack_reader_open, &params, &reader, &err);
    struct pack_reader_transform made = { .crop = PACK_READER_CROP_CENTRE, .height = 4 };
    struct pack_facts facts = { .type = { .class_id = PACK_TYPE_INTEGER, .bytes = 1 },
                                .extent = { 3, { 10, 8, 8 } } };
    struct pack_shape sample = { 3, { 1, 8, 8 } };
    REFUSED("transform", pack_reader_transform_check, NULL, &facts, &sample, &err);
    REFUSED("facts", pack_reader_transform_check, &made, NULL, &sample, &err);
    REFUSED("sample", pack_reader_transform_check, &made, &facts, NULL, &err);
    REFUSED("sample", pack_reader_transform_check, &made, &facts, &quarter, &err);
    REFUSED("sample", pack_reader_transform_check, &made, &facts, &rank_33, &err);
    REFUSED("width", pack_reader_transform_check, &made, &facts, &sample, &err);
    made.width = 4;
    HOLDS(pack_reader_transform_check,
          pack_reader_transform_check(&made, &facts, &sample, &err) == PACK_OK);
    made.height = 9;
    REFUSED("height", pack_reader_transform_check, &made, &facts, &sample, &err);
    facts.type.is_signed = true;
    HOLDS(pack_reader_transform_check, pack_reader_transform_check(&made, &facts, &sample, &err) ==
                                           PACK_ERR_UNSUPPORTED);
    REFUSED("reader", pack_reader_further_info, NULL, 0, &info, &err);
    REFUSED("reader", pack_reader_next, NULL, &batch, &err);
    REFUSED("reader", pack_reader_keep, NULL, &batch, &err);
    REFUSED("reader", pack_reader_give_back, NULL, 0, &err);
    REFUSED("reader", pack_reader_info, NULL, &info, &err);
    RETURNS(pack_reader_stop, NULL);
    RETURNS(pack_reader_close, NULL);
}

/* ----------------------------------------------------------- all of them */

/* How many of the names in libpack.sym have no row above. */
static int
without_row(int *n_exported)
{
    const char *top = getenv("top_builddir");
    char path[4096], name[NAME_MAX_BYTES];
    int n = 0;
    snprintf(path, sizeof path, "%s/libpack.sym", top ? top : ".");
    FILE *file = fopen(path, "r");
    for (*n_exported = 0; file && fscanf(file, "%63s", name) == 1; ++*n_exported) {
        bool found = false;
        for (size_t i = 0; i < n_called && !found; i++)
            found = strcmp(called[i], name) == 0;
        if (!found)
            note("%s has no row", name);
        n += !found;
    }
    if (file)
        fclose(file);
    return n;
}

int
main(void)
{
    int n_exported;
    alarm(300); /* a call that never ends is a failure too */
    test_status();
    test_shape();
    test_image();
    test_dataset();
    test_pattern();
    test_cachesim();
    test_source();
    test_convert();
    test_profile();
    test_advise();
    test_reader();
    ok(without_row(&n_exported) == 0, "every exported function has a bad call here");
    ok(n_exported >= 100, "the list of exported functions was read");
    return done();
}
