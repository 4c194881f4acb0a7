/* h5pack: folders of JPEG and PNG images to one uint8 HDF5 file. */
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include <libpack/convert.h>
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_read.h"
#include "libpack/base/json.h"
#include "libpack/base/name.h"
#include "libpack/base/outfile.h"
#include "libpack/convert/report_convert.h"
#include "libpack/base/rng.h"
#include "tools/cli.h"

enum { ERROR_LINES_MAX = 20, CLASSES_MAX = 1 << 20 };

static struct {
    const char *output, *list, *classes, *rejects, *size, *crop, *background, *chunk,
        *compress;
    bool nul, no_labels, any_name, splits_are_classes, shuffle;
    uint64_t seed, limit;
    bool gray, no_orientation, strict;
    uint64_t max_pixels, shorter;
    int fit, resample, layout, goal, libver, on_error;
    bool fletcher32;
    uint64_t threads, memory;
    bool force, resume, dry_run, verify, json, quiet;
} o = {
    .seed = UINT64_MAX,
    .libver = PACK_LIBVER_V110,
    .max_pixels = PACK_IMAGE_MAX_PIXELS,
};

static const struct cli_option options[] = {
    CLI_SECTION("What to pack"),
    CLI_TEXT('o', "output", &o.output, "FILE", "the HDF5 file to make (required)"),
    CLI_TEXT(
        'l', "list", &o.list, "FILE",
        "take images from a TSV or CSV with a column 'path' (optional 'label', any "
        "further columns), from CelebA's list_attr_celeba.txt, or with - one path per "
        "line from standard input; paths start from SOURCE when given, "
        "else from the list's folder"),
    CLI_FLAG('0', "null", &o.nul,
             "with --list: paths end in NUL, as find -print0 writes them"),
    CLI_TEXT(
        0, "classes", &o.classes, "FILE",
        "label numbers: class names one per line, or the HDF5 file of the training set"),
    CLI_FLAG(0, "no-labels", &o.no_labels,
             "take all images below SOURCE, without classes"),
    CLI_FLAG(0, "any-name", &o.any_name,
             "in class folders, also take images whose names have no image extension"),
    CLI_FLAG(0, "splits-are-classes", &o.splits_are_classes,
             "folders called train, val or test are classes"),
    CLI_FLAG(0, "shuffle", &o.shuffle,
             "store in random order, with the dataset source_index"),
    CLI_NUMBER(0, "seed", &o.seed, "N", 0, 0x1p63 - 1025,
               "of the random order (default: random)"),
    CLI_NUMBER('n', "limit", &o.limit, "N", 1, 0x1p63 - 1025,
               "only the first N, after --shuffle"),

    CLI_SECTION("Pixels"),
    CLI_TEXT(0, "size", &o.size, "HxW", "resize every image to HxW, see --fit"),
    CLI_CHOICE(0, "fit", &o.fit, "crop|pad|stretch",
               "how --size treats other aspect ratios (default: crop)"),
    CLI_NUMBER(0, "shorter", &o.shorter, "N", 1, PACK_GEOMETRY_MAX,
               "resize the shorter side to N, as torchvision's Resize(N)"),
    CLI_TEXT(0, "crop", &o.crop, "HxW",
             "then cut out the centre, as torchvision's CenterCrop"),
    CLI_CHOICE(0, "resample", &o.resample, "bilinear|nearest|box|hamming|bicubic|lanczos",
               "filter, as Pillow's of that name (default: bilinear)"),
    CLI_CHOICE(0, "layout", &o.layout, "nhwc|nchw",
               "order of axes (default: nhwc, which viewers show and torch takes as "
               "channels_last without a copy)"),
    CLI_FLAG(0, "gray", &o.gray, "one channel, as Pillow's convert('L')"),
    CLI_FLAG(0, "no-exif-orientation", &o.no_orientation,
             "leave rotated photos as stored"),
    CLI_TEXT(
        0, "background", &o.background, "#RRGGBB",
        "put transparent images on this colour (default: drop alpha, as Pillow does)"),
    CLI_NUMBER(0, "max-pixels", &o.max_pixels, "N", 1, 0x1p40,
               "refuse larger images (default: 178956970, Pillow's limit)"),
    CLI_FLAG(0, "strict", &o.strict, "refuse images that decode with warnings"),

    CLI_SECTION("Storage"),
    CLI_TEXT('c', "chunk", &o.chunk, "auto|N|AxBxCxD",
             "samples per chunk, or a whole chunk shape (default: auto, see --for)"),
    CLI_CHOICE(
        0, "for", &o.goal, "shuffle|block-shuffle",
        "how the file will be read: shuffle makes chunks of one image (more while below "
        "64 KiB), block-shuffle of about 1 MiB (default: shuffle)"),
    CLI_TEXT(0, "compress", &o.compress, "none|zstd[:LEVEL]|gzip[:LEVEL]",
             "photos shrink by a tenth at best, so: default none"),
    CLI_FLAG(0, "fletcher32", &o.fletcher32,
             "a checksum in every chunk, checked at every read"),
    CLI_CHOICE(0, "libver", &o.libver, "earliest|v18|v110|latest",
               "oldest HDF5 that can read the file (default: v110, of 2016)"),

    CLI_SECTION("Running"),
    CLI_NUMBER('j', "threads", &o.threads, "N", 1, PACK_POOL_THREADS_MAX,
               "worker threads (default: one per processor)"),
    CLI_BYTES(0, "memory", &o.memory, "SIZE", "bound of all pixel buffers (default: 1G)"),
    CLI_CHOICE(
        0, "on-error", &o.on_error, "skip|fail|blank",
        "images that cannot be read: leave out, stop, or keep their place in black "
        "(default: skip)"),
    CLI_TEXT(0, "rejects", &o.rejects, "FILE.tsv",
             "write the list of rejected images there"),
    CLI_FLAG('f', "force", &o.force, "replace an existing file or an interrupted run"),
    CLI_FLAG('r', "resume", &o.resume,
             "go on with an interrupted run, also one begun with --force"),
    CLI_FLAG(0, "dry-run", &o.dry_run,
             "read headers and try a few images; forecast count, size, time and rejects"),
    CLI_FLAG(0, "verify", &o.verify,
             "after packing, read everything back and compare; when FILE exists, decode "
             "SOURCE again and compare with it"),
    CLI_FLAG(0, "json", &o.json, "print one JSON object"),
    CLI_FLAG('q', "quiet", &o.quiet, "no progress, no remarks"),
    CLI_END
};

static const struct cli_program program = {
    .name = "h5pack",
    .purpose = "folders of JPEG and PNG images to one uint8 HDF5 file",
    .synopsis = "[OPTIONS] SOURCE... -o FILE.h5\n"
                "[OPTIONS] --list FILE [SOURCE] -o FILE.h5\n"
                "--verify SOURCE... -o EXISTING.h5",
    .options = options,
    .epilogue =
        "SOURCE is a folder with a subfolder per class, as torchvision's ImageFolder "
        "has\n"
        "it, or a flat folder of images. Exit status: 0 done; 1 done, but images were\n"
        "rejected or a verification failed; 2 could not; 128 + signal when stopped.\n"
        "\n"
        "examples:\n"
        "  h5pack imagenet/train --shorter 256 --crop 224x224 -o train.h5\n"
        "  h5pack imagenet/val --shorter 256 --crop 224x224 --classes train.h5 -o "
        "val.h5\n"
        "  h5pack --list list_attr_celeba.txt img_align_celeba -o celeba.h5\n"
        "  h5pack photos --dry-run -o photos.h5\n"
        "\n"
        "More: man h5pack\n",
};

/* ---------------------------------------------------------------- options */

static enum pack_status
parse_extent(const char *name, const char *text, uint32_t *h, uint32_t *w,
             struct pack_error *err)
{
    struct pack_shape shape;
    if (!text)
        return PACK_OK;
    enum pack_status status = pack_shape_parse(text, &shape, err);
    if (status == PACK_OK && shape.rank == 1) {
        shape.rank = 2; /* --size 224 is a square */
        shape.extent[1] = shape.extent[0];
    }
    if (status == PACK_OK && (shape.rank != 2 || shape.extent[0] > PACK_GEOMETRY_MAX ||
                              shape.extent[1] > PACK_GEOMETRY_MAX))
        status = pack_fail(err, PACK_ERR_ARGUMENT, "'%s' is not HxW with sides up to %d",
                           text, PACK_GEOMETRY_MAX);
    if (status != PACK_OK)
        return pack_error_prefix(err, status, "--%s", name);
    *h = (uint32_t)shape.extent[0];
    *w = (uint32_t)shape.extent[1];
    return PACK_OK;
}

static enum pack_status
parse_background(struct pack_image_params *image, struct pack_error *err)
{
    unsigned rgb[3];
    int used = 0;
    if (!o.background)
        return PACK_OK;
    if (sscanf(o.background, "#%2x%2x%2x%n", &rgb[0], &rgb[1], &rgb[2], &used) != 3 ||
        used != 7 || o.background[used])
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--background: '%.80s' is not a colour like #ffffff",
                         o.background);
    image->has_background = true;
    for (int i = 0; i < 3; i++)
        image->background[i] = (uint8_t)rgb[i];
    return PACK_OK;
}

static enum pack_status
parse_chunk(struct pack_convert_options *c, struct pack_error *err)
{
    struct pack_shape shape;
    if (!o.chunk || strcmp(o.chunk, "auto") == 0)
        return PACK_OK;
    enum pack_status status = pack_shape_parse(o.chunk, &shape, err);
    if (status != PACK_OK)
        return pack_error_prefix(err, status, "--chunk");
    if (shape.rank == 1)
        c->chunk_samples = shape.extent[0];
    else
        c->chunk = shape;
    return PACK_OK;
}

static enum pack_status
parse_compress(struct pack_pipeline *pipeline, struct pack_error *err)
{
    enum pack_status status =
        pack_pipeline_parse(o.compress ? o.compress : "none", 1, pipeline, err);
    if (status != PACK_OK)
        return pack_error_prefix(err, status, "--compress");
    return o.fletcher32
               ? pack_pipeline_add(pipeline, PACK_FILTER_FLETCHER32, 0, 0, NULL, err)
               : PACK_OK;
}

static uint64_t
random_seed(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return pack_rng_mix((uint64_t)now.tv_sec,
                        (uint64_t)now.tv_nsec ^ (uint64_t)getpid()) >>
           32;
}

static enum pack_status
make_options(struct pack_convert_options *c, struct pack_error *err)
{
    *c = (struct pack_convert_options){
        .image = { .mode = o.gray ? PACK_IMAGE_GRAY : PACK_IMAGE_RGB,
                   .ignore_orientation = o.no_orientation,
                   .strict = o.strict,
                   .max_pixels = o.max_pixels },
        .geometry = { .fit = (enum pack_fit)o.fit,
                      .shorter = (uint32_t)o.shorter,
                      .filter = (enum pack_resample_filter)o.resample },
        .layout = (enum pack_pixel_layout)o.layout,
        .goal = (enum pack_chunk_goal)o.goal,
        .libver = (enum pack_libver)o.libver,
        .on_error = (enum pack_on_error)o.on_error,
        .shuffle = o.shuffle,
        .limit = o.limit,
    };
    if (o.shuffle)
        c->seed = o.seed == UINT64_MAX ? random_seed() : o.seed;
    struct pack_geometry *g = &c->geometry;
    enum pack_status status = parse_extent("size", o.size, &g->size_h, &g->size_w, err);
    if (status == PACK_OK)
        status = parse_extent("crop", o.crop, &g->crop_h, &g->crop_w, err);
    if (status == PACK_OK)
        status = pack_geometry_check(g, err);
    if (status == PACK_OK)
        status = parse_background(&c->image, err);
    if (status == PACK_OK)
        status = parse_chunk(c, err);
    return status == PACK_OK ? parse_compress(&c->pipeline, err) : status;
}

static enum pack_status
check_words(size_t n_sources, struct pack_error *err)
{
    if (!o.output)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "no output given: h5pack SOURCE -o FILE.h5; see h5pack --help");
    if (n_sources == 0 && !o.list)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "no source given: a folder of images, or --list");
    if (n_sources > 1 && o.list)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--list takes one folder that its paths start from, not %zu",
                         n_sources);
    if (o.nul && !o.list)
        return pack_fail(err, PACK_ERR_ARGUMENT, "--null goes with --list");
    if (o.rejects && strcmp(o.rejects, o.output) == 0)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--rejects and --output name the same file '%.200s'", o.output);
    if (o.seed != UINT64_MAX && !o.shuffle)
        return pack_fail(err, PACK_ERR_ARGUMENT, "--seed goes with --shuffle");
    return PACK_OK;
}

/* ----------------------------------------------------------------- classes */

static enum pack_status
read_class_lines(FILE *file, const char *path, char ***names, uint64_t *n,
                 struct pack_error *err)
{
    struct pack_list *list;
    enum pack_status status = pack_list_read(file, path, PACK_LIST_LINES, &list, err);
    if (status != PACK_OK)
        return status;
    *names = calloc(list->n_rows, sizeof **names);
    for (*n = 0; *names && *n < list->n_rows && status == PACK_OK; ++*n)
        if (!((*names)[*n] = strdup(list->path.strings[*n])))
            status = pack_fail_memory(err, "class names");
    if (!*names)
        status = pack_fail_memory(err, "class names");
    pack_list_free(list);
    return status;
}

static enum pack_status
read_class_dataset(const char *path, char ***names, uint64_t *n, struct pack_error *err)
{
    int64_t file;
    enum pack_status status = pack_h5_open(path, NULL, &file, err);
    if (status != PACK_OK)
        return status;
    status = pack_h5_read_texts(file, "class_names", CLASSES_MAX, names, n, err);
    pack_h5_close(file);
    for (uint64_t i = 0; status == PACK_OK && i < *n; i++)
        status = pack_name_unescape((*names)[i], (*names)[i], err);
    return status == PACK_OK ? status : pack_error_prefix(err, status, "'%s'", path);
}

/* Not a pipe, which can be read only once and belongs to no folder. */
static bool
is_regular(FILE *file)
{
    struct stat st;
    return fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode);
}

/* A text file, or an HDF5 file by its first eight bytes. */
static enum pack_status
read_classes(const char *path, char ***names, uint64_t *n, struct pack_error *err)
{
    static const char signature[] = "\x89HDF\r\n\x1a\n";
    char head[sizeof signature - 1] = { 0 };
    FILE *file = fopen(path, "rb");
    if (!file)
        return pack_fail_errno(err, errno, "cannot open '%s'", path);
    size_t got = is_regular(file) ? fread(head, 1, sizeof head, file) : 0;
    if (got)
        rewind(file);
    enum pack_status status =
        got == sizeof head && memcmp(head, signature, sizeof head) == 0
            ? read_class_dataset(path, names, n, err)
            : read_class_lines(file, path, names, n, err);
    fclose(file);
    return status;
}

/* ------------------------------------------------------------------ source */

static bool
listing_goes_on(void *context, uint64_t n_images)
{
    cli_progress_update(context, n_images, 0);
    return !cli_signal;
}

static enum pack_status
open_list(char **folders, size_t n_folders, struct pack_source_params *params,
          struct pack_source **source, struct pack_error *err)
{
    bool piped = strcmp(o.list, "-") == 0;
    FILE *file = piped ? stdin : fopen(o.list, "rb");
    if (!file)
        return pack_fail_errno(err, errno, "cannot open '%s'", o.list);
    params->list_format = o.nul   ? PACK_LIST_NULL
                          : piped ? PACK_LIST_LINES
                                  : PACK_LIST_TABLE;
    params->list_root = n_folders ? folders[0] : is_regular(file) ? NULL : ".";
    enum pack_status status = pack_source_open_list(
        file, piped ? "standard input" : o.list, params, source, err);
    if (!piped)
        fclose(file);
    return status;
}

static enum pack_status
open_source(char **folders, size_t n_folders, const struct pack_convert_options *c,
            struct pack_source **source, struct pack_error *err)
{
    char **classes = NULL;
    uint64_t n_classes = 0;
    struct cli_progress progress;
    struct pack_source_params params = {
        .no_labels = o.no_labels,
        .any_name = o.any_name,
        .splits_are_classes = o.splits_are_classes,
        .is_image = pack_image_is_known,
        .progress = listing_goes_on,
        .progress_context = &progress,
    };
    enum pack_status status =
        o.classes ? read_classes(o.classes, &classes, &n_classes, err) : PACK_OK;
    params.classes = (const char *const *)classes;
    params.n_classes = n_classes;
    cli_progress_begin(&progress, "listing", "images", 0);
    if (status == PACK_OK)
        status = o.list ? open_list(folders, n_folders, &params, source, err)
                        : pack_source_open((const char *const *)folders, n_folders,
                                           &params, source, err);
    cli_progress_end(&progress);
    pack_h5_texts_free(classes, n_classes);
    if (status != PACK_OK && cli_signal) /* a list that is waited for fails to be read */
        status = pack_fail(err, PACK_ERR_INTERRUPTED, "interrupted");
    if (status == PACK_OK && c->shuffle)
        status = pack_source_shuffle(*source, c->seed, err);
    if (status == PACK_OK && c->limit)
        pack_source_limit(*source, c->limit);
    return status;
}

static void
say_notes(const struct pack_source *source)
{
    char text[PACK_SOURCE_NOTE_TEXT_MAX];
    for (int kind = 0; kind < PACK_NOTE_KINDS; kind++)
        if (pack_source_note_warns((enum pack_source_note_kind)kind) &&
            pack_source_note_text(source, (enum pack_source_note_kind)kind, text))
            cli_say("%s", text);
}

/* ----------------------------------------------------------------- running */

struct talk {
    const struct pack_source *source;
    struct cli_progress progress;
    const char *stage;
    uint64_t n_rejects;
    struct pack_outfile *rejects;
};

static void
on_progress(void *context, const struct pack_convert_progress *progress)
{
    struct talk *talk = context;
    if (talk->stage != progress->stage) {
        cli_progress_end(&talk->progress);
        cli_progress_begin(&talk->progress, progress->stage, "images", progress->total);
        talk->stage = progress->stage;
    }
    cli_progress_update(&talk->progress, progress->done, progress->bytes);
}

static bool
on_reject(void *context, const struct pack_reject *reject)
{
    struct talk *talk = context;
    char path[8192], text[PACK_NAME_TEXT_MAX];
    pack_source_path(talk->source, reject->index, path, sizeof path);
    if (++talk->n_rejects <= ERROR_LINES_MAX + 1)
        cli_progress_hide(&talk->progress);
    if (talk->n_rejects <= ERROR_LINES_MAX)
        cli_say("'%s': %s", pack_name_text(path, text), reject->reason);
    else if (talk->n_rejects == ERROR_LINES_MAX + 1)
        cli_say("further rejected images are %s", talk->rejects
                                                      ? "in the list of rejects only"
                                                      : "not shown: --rejects FILE.tsv");
    if (!talk->rejects)
        return true;
    FILE *file = pack_outfile_stream(talk->rejects);
    char *stored = malloc(pack_name_escape(path, NULL) + 1);
    if (!stored)
        return false;
    pack_name_escape(path, stored);
    for (const char *c = stored; *c; c++)
        if ((unsigned char)*c < ' ')
            fprintf(file, "\\x%02x", *c);
        else
            putc(*c, file);
    free(stored);
    return fprintf(file, "\t%s\n", reject->reason) > 0 && !ferror(file);
}

static const char REJECTS_HEADER[] = "path\treason\n";

/* A list of an earlier run is replaced without asking; other files are not. */
static bool
is_list_of_rejects(const char *path)
{
    char head[sizeof REJECTS_HEADER] = "";
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    size_t got = fread(head, 1, sizeof head - 1, file);
    fclose(file);
    return got == sizeof head - 1 && strcmp(head, REJECTS_HEADER) == 0;
}

static enum pack_status
open_rejects(struct talk *talk, struct pack_error *err)
{
    if (!o.rejects)
        return PACK_OK;
    struct pack_outfile_params params = { .force =
                                              o.force || is_list_of_rejects(o.rejects) };
    enum pack_status status = pack_outfile_open(o.rejects, &params, &talk->rejects, err);
    if (status == PACK_OK)
        fputs(REJECTS_HEADER, pack_outfile_stream(talk->rejects));
    return status;
}

/* The list of rejects is worth having whatever became of the run. */
static enum pack_status
close_rejects(struct talk *talk, enum pack_status status, struct pack_error *err)
{
    if (!talk->rejects)
        return status;
    struct pack_error own;
    enum pack_status committed =
        pack_outfile_commit(talk->rejects, status == PACK_OK ? err : &own);
    return status == PACK_OK ? committed : status;
}

static bool
exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

static void
complain(const struct pack_convert_result *result, enum pack_status status,
         const struct pack_error *err)
{
    if (result->resumable && status == PACK_ERR_MISMATCH)
        cli_complain("%s (--resume packs again what differs)", err->text);
    else if (result->resumable)
        cli_complain("%s (%" PRIu64 " of %" PRIu64
                     " images are done; --resume goes on with them)",
                     err->text, result->n_saved, result->n_listed);
    else
        cli_complain("%s", err->text);
}

static int
finish(const struct pack_convert_params *params, const struct pack_convert_result *result,
       enum pack_convert_job job, enum pack_status status, const struct pack_error *err)
{
    struct pack_buf text = { 0 };
    struct pack_error own;
    bool mismatch = status == PACK_ERR_MISMATCH;
    if (status != PACK_OK)
        complain(result, status, err);
    if (status != PACK_OK && !mismatch)
        return status == PACK_ERR_INTERRUPTED && cli_signal ? 128 + cli_signal
                                                            : CLI_FAILED;
    struct pack_convert_report report = { job, params, result, mismatch };
    enum pack_status reported = o.json ? pack_report_convert_json(&report, &text, &own)
                                       : pack_report_convert_text(&report, &text, &own);
    if (reported != PACK_OK)
        complain(result, reported, &own);
    else if (o.json || !o.quiet)
        cli_print(&text);
    pack_buf_done(&text);
    return reported != PACK_OK              ? CLI_FAILED
           : mismatch || result->n_rejected ? CLI_LOOK
                                            : CLI_DONE;
}

static int
run(char **folders, size_t n_folders)
{
    struct pack_error err;
    struct pack_source *source = NULL;
    struct pack_convert_result result = { 0 };
    struct talk talk = { 0 };
    struct pack_convert_params params = {
        .output = o.output,
        .version = PACKAGE_VERSION,
        .force = o.force,
        .resume = o.resume,
        .verify = o.verify,
        .n_threads = (unsigned)o.threads,
        .memory_bytes = o.memory,
        .context = &talk,
        .on_progress = on_progress,
        .on_reject = on_reject,
        .stop = &cli_signal,
    };
    enum pack_convert_job job =
        o.dry_run ? PACK_JOB_FORECAST
        : o.verify && !o.force && !o.resume && o.output && exists(o.output)
            ? PACK_JOB_COMPARE
            : PACK_JOB_PACK;
    enum pack_status status = check_words(n_folders, &err);
    if (status == PACK_OK)
        status = pack_h5_register_zstd(&err);
    if (status == PACK_OK)
        status = job == PACK_JOB_COMPARE
                     ? pack_convert_options_read(o.output, &params.options, &err)
                     : make_options(&params.options, &err);
    if (status == PACK_OK)
        status = open_source(folders, n_folders, &params.options, &source, &err);
    if (status == PACK_OK)
        status = open_rejects(&talk, &err);
    if (status == PACK_OK) {
        talk.source = params.source = source;
        say_notes(source);
        status = job == PACK_JOB_FORECAST  ? pack_convert_forecast(&params, &result, &err)
                 : job == PACK_JOB_COMPARE ? pack_convert_compare(&params, &result, &err)
                                           : pack_convert(&params, &result, &err);
        cli_progress_end(&talk.progress);
        status = close_rejects(&talk, status, &err);
    }
    int exit_status = finish(&params, &result, job, status, &err);
    pack_source_close(source);
    return exit_status;
}

/*
 * glibc learns from large blocks that come and go to keep them, per thread. What a worker
 * gives back is to leave the process, or --memory would be no bound of it.
 */
static void
return_large_blocks(void)
{
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

int
main(int argc, char **argv)
{
    char **folders;
    size_t n_folders;
    int exit_status;
    if (!cli_parse(&program, argc, argv, &folders, &n_folders, &exit_status))
        return exit_status;
    cli_set_quiet(o.quiet);
    cli_catch_signals();
    return_large_blocks();
    exit_status = run(folders, n_folders);
    free(folders);
    return cli_exit(exit_status);
}
