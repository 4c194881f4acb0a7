#include "tools/pack_args.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libpack/base/pool.h"
#include "libpack/convert/convert_options.h"
#include "libpack/image/color.h"
#include "tools/cli.h"
#include "tools/job_options.h"

static struct pack_args o = {
    .seed = UINT64_MAX,
    .max_pixels = PACK_IMAGE_MAX_PIXELS,
    .max_file = PACK_CONVERT_MAX_FILE,
};

static const struct cli_option options[] = {
    CLI_SECTION("What to pack"),
    CLI_TEXT('o', "output", &o.output, "FILE",
             "the HDF5 file to make (required, but for --dry-run)"),
    CLI_TEXT('l', "list", &o.list, "FILE",
             "take images from a list (- is standard input): paths, 'path label' lines, "
             "CSV or TSV with further columns, CelebA's, im2rec's, JSON, COCO's "
             "instances; paths start from SOURCE when given, else from the list's folder"),
    CLI_TEXT(0, "path-column", &o.path_column, "NAME|N",
             "column of the list with the paths, counted from 1; 0: each line is a path"),
    CLI_TEXT(0, "label-column", &o.label_column, "NAME|N",
             "column of the list with the labels; 0: none"),
    CLI_FLAG(0, "no-header", &o.no_header, "the list's first line is like the others"),
    CLI_FLAG('0', "null", &o.nul,
             "with --list: paths end in NUL, as find -print0 writes them"),
    CLI_FLAG(0, "label-from-folder", &o.label_from_folder,
             "an image's class is the name of the folder that it is in"),
    CLI_TEXT(
        0, "classes", &o.classes, "FILE",
        "label numbers: class names one per line, or the HDF5 file of the training set"),
    CLI_FLAG(0, "no-labels", &o.no_labels,
             "take all images below SOURCE, without classes"),
    CLI_FLAG(0, "any-name", &o.any_name,
             "in class folders, also take images whose names have no image extension"),
    CLI_FLAG(0, "splits-are-classes", &o.splits_are_classes,
             "folders called train, val or test are classes"),
    CLI_FLAG(0, "masks-are-classes", &o.masks_are_classes,
             "folders called masks, labels and the like are classes"),
    CLI_FLAG(0, "shuffle", &o.shuffle,
             "store in random order, with the dataset source_index"),
    CLI_NUMBER(0, "seed", &o.seed, "N", 0, 0x1p63 - 1025,
               "of the random order (default: random)"),
    CLI_NUMBER('n', "limit", &o.limit, "N", 1, 0x1p63 - 1025,
               "only the first N, after --shuffle"),

    CLI_SECTION("Pixels"),
    CLI_SIDES(0, "size", &o.size, "resize every image to HxW, see --fit"),
    CLI_CHOICE(0, "fit", &o.fit, "crop|pad|stretch",
               "how --size treats other aspect ratios (default: crop)"),
    CLI_NUMBER(0, "shorter", &o.shorter, "N", 1, PACK_GEOMETRY_MAX,
               "resize the shorter side to N, as torchvision's Resize(N)"),
    CLI_SIDES(0, "crop", &o.crop, "then cut out the centre, as torchvision's CenterCrop"),
    CLI_CHOICE(0, "resample", &o.resample, "bilinear|nearest|box|hamming|bicubic|lanczos",
               "filter, as Pillow's of that name (default: bilinear)"),
    CLI_FLAG(0, "draft", &o.draft,
             "decode large JPEGs at 1/2, 1/4 or 1/8 before they are resized, as Pillow's "
             "draft(): faster, and slightly other pixels"),
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
    CLI_BYTES(0, "max-file", &o.max_file, "SIZE",
              "refuse larger image files (default: 4G)"),
    CLI_TEXT(0, "scale16", &o.scale16, "auto|MIN:MAX",
             "samples of 16 bits: MIN to MAX become 0 to 255; auto: the range of all "
             "images (default: the high byte)"),
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
    CLI_CHOICE(0, "libver", &o.libver, "v110|earliest|v18|latest",
               "oldest HDF5 that can read the file (default: v110, of 2016)"),

    CLI_SECTION("Running"),
    CLI_NUMBER('j', "threads", &o.threads, "N", 1, PACK_POOL_THREADS_MAX,
               "worker threads (default: one per processor)"),
    CLI_BYTES(0, "memory", &o.memory, "SIZE",
              "bound of all pixel and file buffers (default: 1G)"),
    CLI_CHOICE(
        0, "on-error", &o.on_error, "skip|fail|blank",
        "images that cannot be read: leave out, stop, or keep their place in black "
        "(default: skip)"),
    CLI_FLAG(0, "gone-are-rejects", &o.gone_are_rejects,
             "images that are not there are such, however many in a row (default: a "
             "hundred end the run)"),
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

static const struct cli_hint hints[] = {
    JOB_GEOMETRY_HINT,
    CLI_HINT("splits_are_classes", PACK_OK,
             "pack each by a call of its own, 'h5pack SOURCE/NAME -o NAME.h5', the others "
             "with '--classes FIRST.h5' (or say --splits-are-classes)"),
    CLI_HINT("no_labels", PACK_OK, "--no-labels takes them all"),
    CLI_HINT("masks_are_classes", PACK_OK,
             "--masks-are-classes takes all with their folders as classes, --no-labels "
             "without"),
    CLI_HINT("masks", PACK_OK,
             "--list LIST takes one, with labels in it or --label-from-folder; "
             "--masks-are-classes takes masks as pictures of their folders' classes, "
             "--no-labels without"),
    CLI_HINT("path_column", PACK_OK,
             "--path-column N says which column it is, counted from 1, and 0 that each "
             "line is a path"),
    CLI_HINT("label_column", PACK_OK,
             "--label-column N says which column it is, counted from 1, and 0 that there "
             "is none"),
    CLI_HINT("label_from_folder", PACK_ERR_ARGUMENT,
             "--list FILE SOURCE gives them with a line 'NAME LABEL' for each image, as "
             "ImageNet's val.txt has it, --label-from-folder by the folders' names"),
    CLI_HINT("list", PACK_ERR_FORMAT,
             "an image or a folder of them is given without --list"),
    CLI_HINT("list", PACK_ERR_ARGUMENT,
             "--list FILE SOURCE gives labels with a line 'NAME LABEL' for each image"),
    CLI_HINT("list", PACK_ERR_NOT_FOUND, "a list of images is given with --list"),
    CLI_HINT("any_name", PACK_OK, "--any-name takes images by their content"),
    CLI_HINT("classes", PACK_ERR_MISMATCH,
             "were --classes or --list given when it was packed?"),
    CLI_HINT("force", PACK_ERR_EXISTS, "--force replaces it"),
    CLI_HINT("force", PACK_OK, "--force starts again"),
    CLI_HINT("force_resume", PACK_OK,
             "--force --resume goes on with the interrupted run that is to replace it, "
             "--force alone starts again"),
    CLI_HINT("force_finished", PACK_OK,
             "--resume sees whether a run that was killed had completed it, --force replaces it"),
    CLI_HINT("resume", PACK_OK,
             "with the same options --resume completes it, --force starts again"),
    CLI_HINT("gone_are_rejects", PACK_OK,
             "where they were deleted, --gone-are-rejects goes on without them"),
    CLI_HINT("memory_bytes", PACK_OK,
             "--memory sets the bound, --max-pixels and --max-file leave such images out"),
    CLI_NO_HINT
};

static const char *
about(void)
{
    static char text[128];
    snprintf(text, sizeof text, "reads %s", pack_image_formats());
    return text;
}

static const struct cli_program program = {
    .name = "h5pack",
    .about = about,
    .purpose = "folders of JPEG and PNG images to one uint8 HDF5 file",
    .synopsis = "[OPTIONS] SOURCE... -o FILE.h5\n"
                "[OPTIONS] --list FILE [SOURCE] -o FILE.h5\n"
                "--verify SOURCE... -o EXISTING.h5",
    .options = options,
    .epilogue =
        "SOURCE is a folder with a subfolder per class, as torchvision's ImageFolder "
        "has\n"
        "it, a flat folder of images, or an image file. Exit status: 0 done; 1 done, but\n"
        "images were rejected or a verification failed; 2 could not; 128 + signal when\n"
        "stopped.\n"
        "\n"
        "examples:\n"
        "  h5pack imagenet/train --shorter 256 --crop 224x224 -o train.h5\n"
        "  h5pack imagenet/val --shorter 256 --crop 224x224 --classes train.h5 -o "
        "val.h5\n"
        "  h5pack --list list_attr_celeba.txt img_align_celeba -o celeba.h5\n"
        "  h5pack photos --dry-run -o photos.h5\n"
        "\n"
        "More: man h5pack\n",
    .hints = hints,
};

const struct pack_args *
pack_args_parse(int argc, char **argv, int *exit_status)
{
    return cli_parse(&program, argc, argv, &o.folders, &o.n_folders, exit_status) ? &o
                                                                                  : NULL;
}

void
pack_args_free(void)
{
    free(o.folders);
}

/* ------------------------------------------------- from words to parameters */

static enum pack_status
parse_background(const struct pack_args *args, struct pack_image_params *image,
                 struct pack_error *err)
{
    if (!args->background)
        return PACK_OK;
    image->has_background = pack_image_color_parse(args->background, image->background);
    return image->has_background
               ? PACK_OK
               : pack_fail(err, PACK_ERR_ARGUMENT,
                           "--background: '%.80s' is not a colour like #ffffff",
                           args->background);
}

/* MIN:MAX the other way round. */
static bool
is_backwards(const char *text)
{
    unsigned min, max;
    char rest;
    return sscanf(text, "%5u:%5u%c", &min, &max, &rest) == 2 && min >= max;
}

static enum pack_status
parse_scale(const struct pack_args *args, struct pack_convert_options *c,
            struct pack_error *err)
{
    struct pack_image_params *image = &c->image;
    c->finds_range_16 = args->scale16 && strcmp(args->scale16, "auto") == 0;
    if (!args->scale16 || c->finds_range_16)
        return PACK_OK;
    image->scales_16 =
        pack_image_range_parse(args->scale16, &image->low_16, &image->high_16);
    if (!image->scales_16 && is_backwards(args->scale16))
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--scale16: '%.80s' is not a range: MIN is to be below MAX, as in "
                         "0:4095",
                         args->scale16);
    return image->scales_16
               ? PACK_OK
               : pack_fail(err, PACK_ERR_ARGUMENT,
                           "--scale16: '%.80s' is not a range within 0:65535, like 0:4095, "
                           "nor auto",
                           args->scale16);
}

static enum pack_status
parse_chunk(const struct pack_args *args, struct pack_convert_options *c,
            struct pack_error *err)
{
    struct pack_shape shape;
    if (!args->chunk || strcmp(args->chunk, "auto") == 0)
        return PACK_OK;
    enum pack_status status = pack_shape_parse(args->chunk, &shape, err);
    if (status != PACK_OK)
        return pack_error_prefix(err, status, "--chunk");
    if (shape.rank == 1)
        c->chunk_samples = shape.extent[0];
    else
        c->chunk = shape;
    return PACK_OK;
}

static enum pack_status
parse_compress(const struct pack_args *args, struct pack_pipeline *pipeline,
               struct pack_error *err)
{
    enum pack_status status =
        pack_pipeline_parse(args->compress ? args->compress : "none", 1, pipeline, err);
    if (status != PACK_OK)
        return pack_error_prefix(err, status, "--compress");
    return args->fletcher32
               ? pack_pipeline_add(pipeline, PACK_FILTER_FLETCHER32, 0, 0, NULL, err)
               : PACK_OK;
}

/* What would be ignored. */
static const struct cli_rule rules[] = {
    { "no-labels", NULL, "list|label-from-folder" },
    { "null", "list", NULL },
    { "path-column", "list", "null" },
    { "label-column", "list", "null|label-from-folder" },
    { "no-header", "list", "null" },
    { "seed", "shuffle", NULL },
    { "fit", "size", NULL },
    { "resample", "size|shorter", NULL },
    { "draft", "size|shorter", NULL },
    { "classes", NULL, "no-labels" },
    { "any-name", NULL, "list" },
    { "splits-are-classes", NULL, "list|no-labels" },
    { "masks-are-classes", NULL, "list|no-labels" },
    { "verify", NULL, "dry-run" },
    { "resume", NULL, "dry-run" },
};

/* Whether a path is that of `name` with `ending` behind it, as far as folders tell. */
static bool
is_path_of(const char *path, const char *name, const char *ending)
{
    const char *path_end = strrchr(path, '/'), *name_end = strrchr(name, '/');
    char path_folder[4096], name_folder[4096];
    struct stat a, b;
    path_end = path_end ? path_end + 1 : path;
    name_end = name_end ? name_end + 1 : name;
    size_t n = strlen(name_end);
    if (strncmp(path_end, name_end, n) != 0 || strcmp(path_end + n, ending) != 0)
        return false;
    snprintf(path_folder, sizeof path_folder, "./%.*s", (int)(path_end - path), path);
    snprintf(name_folder, sizeof name_folder, "./%.*s", (int)(name_end - name), name);
    return stat(*path == '/' ? path_folder + 2 : path_folder, &a) == 0 &&
           stat(*name == '/' ? name_folder + 2 : name_folder, &b) == 0 &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* The list of rejects is written beside its own name, too. */
static enum pack_status
check_rejects(const struct pack_args *args, struct pack_error *err)
{
    const char *rejects = args->rejects, *output = args->output;
    if (is_path_of(rejects, output, ""))
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--rejects and --output name the same file '%.200s'", output);
    if (is_path_of(rejects, output, ".part") ||
        is_path_of(rejects, output, ".part.journal") ||
        is_path_of(output, rejects, ".part"))
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--rejects: '%.200s' and '%.200s' are written to the same file",
                         rejects, output);
    return PACK_OK;
}

enum pack_status
pack_args_check(const struct pack_args *args, struct pack_error *err)
{
    if (!args->output && !args->dry_run)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "no output given: h5pack SOURCE -o FILE.h5; see h5pack --help");
    if (args->output && strcmp(args->output, "-") == 0)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--output: an HDF5 file cannot be written to standard output "
                         "(./- is a file called '-')");
    if (args->n_folders == 0 && !args->list)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "no source given: a folder of images, image files, or --list");
    if (args->n_folders > 1 && args->list)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--list takes one folder that its paths start from, not %zu",
                         args->n_folders);
    if (cli_check_rules(rules, sizeof rules / sizeof *rules, args->n_folders, err) !=
        PACK_OK)
        return PACK_ERR_ARGUMENT;
    if (cli_is_given("memory") && args->memory == 0)
        return pack_fail(err, PACK_ERR_ARGUMENT, "--memory: 0 bytes hold no image");
    if (args->max_file == 0)
        return pack_fail(err, PACK_ERR_ARGUMENT, "--max-file: 0 bytes hold no image");
    if (args->rejects && strcmp(args->rejects, "-") == 0)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--rejects: the list is kept in a file while it grows, not "
                         "written to standard output (./- is a file called '-')");
    return args->rejects && args->output ? check_rejects(args, err) : PACK_OK;
}

enum pack_status
pack_args_options(const struct pack_args *args, struct pack_convert_options *c,
                  struct pack_error *err)
{
    struct job_pixels pixels = { args->size, args->crop, args->shorter, args->fit,
                                 args->resample, args->draft };
    *c = (struct pack_convert_options){
        .image = { .mode = args->gray ? PACK_IMAGE_GRAY : PACK_IMAGE_RGB,
                   .ignore_orientation = args->no_orientation,
                   .strict = args->strict,
                   .max_pixels = args->max_pixels },
        .layout = (enum pack_pixel_layout)args->layout,
        .goal = (enum pack_chunk_goal)args->goal,
        .libver = (enum pack_libver)args->libver,
        .on_error = (enum pack_on_error)args->on_error,
        .max_file_bytes = args->max_file,
        .shuffle = args->shuffle,
        .limit = args->limit,
    };
    if (args->shuffle)
        c->seed = args->seed == UINT64_MAX ? job_random_seed() : args->seed;
    enum pack_status status = job_geometry(&pixels, &c->geometry, err);
    if (status == PACK_OK)
        status = parse_background(args, &c->image, err);
    if (status == PACK_OK)
        status = parse_scale(args, c, err);
    if (status == PACK_OK)
        status = parse_chunk(args, c, err);
    return status == PACK_OK ? parse_compress(args, &c->pipeline, err) : status;
}
