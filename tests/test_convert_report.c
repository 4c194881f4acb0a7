/*
 * What reports of h5pack print, against a result made up here: every number has a value of
 * its own, so that one in the wrong place, of the wrong unit or off by one shows.
 */
#include "libpack/convert/report_convert.h"
#include "libpack/source/records.h"
#include "tests/made_up.h"

static struct pack_source source;
static struct pack_convert_params params;
static struct pack_convert_result result;
static char hidden[] = "a/.b";

static void
fill(void)
{
    memset(&source, 0, sizeof source);
    source.has_labels = true;
    for (int kind = 0; kind < PACK_NOTE_KINDS; kind++)
        source.notes[kind] = (struct pack_source_note){ 3 + (uint64_t)kind, hidden };
    source.notes[PACK_NOTE_LOOP].count = 0;
    params = (struct pack_convert_params){ .source = &source,
                                           .output = "out.h5",
                                           .version = "9.8.7",
                                           .verify = true };
    (void)pack_pipeline_parse("zstd:3", 1, &params.options.pipeline, NULL);
    result = (struct pack_convert_result){
        .n_listed = 1100,
        .n_packed = 1000,
        .n_rejected = 103,
        .n_blank = 3,
        .n_warned = 11,
        .n_icc = 12,
        .n_alpha = 13,
        .n_oriented = 14,
        .n_animated = 15,
        .n_cut = 16,
        .scales_16 = true,
        .low_16 = 171,
        .high_16 = 4018,
        .unread = { [1] = { "GIF", 12, 21 }, [3] = { "BMP", 5, 0 } },
        .n_replayed = 600,
        .extent = { 4, { 1000, 32, 48, 3 } },
        .chunk = { 4, { 8, 32, 48, 3 } },
        .n_chunks = 125,
        .pixel_bytes = 4608000,
        .stored_bytes = 1152000,
        .source_bytes = 7777,
        .file_bytes = 3 << 20,
        .n_channels = 3,
        .mean = { 25.5, 51, 76.5 },
        .std = { 102, 127.5, 153 },
        .elapsed_ns = 4000000000,
        .sync_ns = 250000000,
        .verify_ns = 1500000000,
        .peak_bytes = 8888,
        .buffer_bytes = 9999,
        .forecast_ns = 119900000000,
        .n_tried = 17,
    };
}

static struct pack_convert_report
report(enum pack_convert_job job)
{
    return (struct pack_convert_report){ .job = job,
                                         .params = &params,
                                         .result = &result,
                                         .sets_cache = true,
                                         .question = "h5advise out.h5 -p shuffle",
                                         .cache = { 1009, 8 << 20, 0.5, 0 } };
}

static const char *
print(struct pack_buf *buf, const struct pack_convert_report *r)
{
    buf->size = 0;
    pack_report_convert_text(r, buf, NULL);
    return text_of(buf, true);
}

/* --------------------------------------------------------------------- text */

static void
test_packed(void)
{
    static const char *const lines[] = {
        "out.h5: 1000 images, 3.0 MiB, read back and equal\n",
        "        100  rejected, left out\n",
        "          3  rejected, packed as black images",
        "         11  damaged slightly",
        "         14  turned upright",
        "         12  with an ICC profile",
        "         13  with transparency",
        "         15  animated",
        "         16  with 16-bit samples outside the range",
        "  scale16   171:4018 became 0 to 255 (stored as attribute)\n",
        "         12  of the rejected: GIF, which is not read\n"
        "         21  passed over: GIF, which is not read\n"
        "          5  of the rejected: BMP, which is not read\n",
        "  images    uint8 1000x32x48x3, ",
        "  chunks    125 of 8x32x48x3, 36.0 KiB each, zstd:3\n",
        "  stored    0.250 of the pixels' size\n",
        "  mean      0.1000 0.2000 0.3000   (of 0 to 1",
        "  std       0.4000 0.5000 0.6000\n",
        /* 1000 + 103 - 3 - 600 in 4 s */
        "  4.0 s, 125 images/s, 600 images taken over from the interrupted run, 1.5 s of it "
        "reading back, 0.2 s syncing\n",
        "  import h5py            # zstd: ",
        "h5py.File('out.h5', 'r', rdcc_nbytes=8388608,\n"
        "                rdcc_nslots=1009, rdcc_w0=0.5)\n",
        "numpy uint8, shape (32, 48, 3)\n",
        "f['labels'][0]",
        "  # h5advise out.h5 -p shuffle\n",
    };
    struct pack_buf text = { 0 };
    struct pack_convert_report r = report(PACK_JOB_PACK);
    is_number(missing(print(&text, &r), lines, sizeof lines / sizeof *lines), 0,
              "every number of the text is the one that was made up");
    ok(strstr((char *)text.data, "3 hidden") && !strstr((char *)text.data, " 8 empty"),
       "what anyone would pass over is told here, hints at mistakes elsewhere");

    params.options.pipeline.n = 0;
    params.verify = source.has_labels = false;
    result.n_packed = 1;
    result.n_replayed = result.verify_ns = 0;
    result.n_rejected = result.n_blank = 3;
    r.cache.size_bytes = 0;
    const char *s = print(&text, &r);
    ok(strstr(s, "out.h5: 1 image, 3.0 MiB\n") && strstr(s, "not compressed\n") &&
           !strstr(s, "  stored ") && strstr(s, "import h5py\n") &&
           strstr(s, ", rdcc_nbytes=0)\n") && !strstr(s, "labels") &&
           strstr(s, "  4.0 s, 0 images/s, 0.2 s syncing\n") && !strstr(s, "left out"),
       "what was not done is not told");
    ok(!plural_of_one(s), "nor is one image called images");
    r.sets_cache = false;
    ok(strstr(print(&text, &r), "h5py.File('out.h5', 'r')\n"),
       "nor are settings that HDF5 has of itself");
    r.question = NULL;
    ok(!strstr(print(&text, &r), "h5advise"), "nor a question that nobody asked");
    r.differs = true;
    is_text(print(&text, &r), "out.h5 was not made: what was read back differs\n",
            "a file that differs was not made");
    pack_buf_done(&text);
    fill();
}

static void
test_others(void)
{
    struct pack_buf text = { 0 };
    struct pack_convert_report r = report(PACK_JOB_COMPARE);
    is_text(print(&text, &r), "out.h5: 1000 of 1100 images compared, all are as decoded "
                              "again\n",
            "a comparison says how many were compared");
    r.differs = true;
    is_text(print(&text, &r), "out.h5: 1000 of 1100 images compared, a difference was "
                              "found\n",
            "and what was found");
    r = report(PACK_JOB_FORECAST);
    const char *s = print(&text, &r);
    ok(strstr(s, "out.h5 would hold 1000 images in about 3.0 MiB\n") &&
           strstr(s, "  takes about 119.9 s without the writing, by 17 tried\n") &&
           !strstr(s, "stored") && !strstr(s, "import"),
       "a forecast has no file to open");
    ok(strstr(s, "  scale16   171:4018 would become 0 to 255\n"), "a range that is given is told");
    params.options.finds_range_16 = true;
    ok(strstr(print(&text, &r), "  scale16   171:4018 of the images tried; packing looks at all\n"),
       "one that is looked for is that of what was tried");
    params.options.finds_range_16 = result.scales_16 = false;
    ok(!strstr(print(&text, &r), "scale16"), "without one there is none to tell");
    result.forecast_ns = 120000000000;
    ok(strstr(print(&text, &r), "  takes about 2 min without"), "two minutes are minutes");
    result.n_tried = 0;
    ok(!strstr(print(&text, &r), "takes about"), "nothing tried, nothing foreseen");
    pack_buf_done(&text);
    fill();
}

/* --------------------------------------------------------------------- JSON */

/* The report of a job as JSON; NULL when it is none. */
static const struct pack_json_value *
parse(enum pack_convert_job job, struct pack_json_doc **doc)
{
    const struct pack_json_value *root = NULL;
    struct pack_buf text = { 0 };
    struct pack_convert_report r = report(job);
    r.differs = job == PACK_JOB_COMPARE;
    pack_report_convert_json(&r, &text, NULL);
    enum pack_status status =
        pack_json_parse((char *)text.data, text.size, doc, &root, NULL);
    pack_buf_done(&text);
    return status == PACK_OK ? root : NULL;
}

static void
test_json(void)
{
    static const struct made_up_number numbers[] = {
        { "result.listed", 1100 },
        { "result.packed", 1000 },
        { "result.rejected", 103 },
        { "result.ignored.hidden", 3 },
        { "result.ignored.not_images", 4 },
        { "result.ignored.images_by_content_only", 5 },
        { "result.ignored.images_beside_classes", 6 },
        { "result.ignored.empty_folders", 7 },
        { "result.ignored.empty_classes", 8 },
        { "result.ignored.unreadable", 9 },
        { "result.ignored.broken_links", 10 },
        { "result.ignored.thumbnails", 13 },
        { "result.ignored.sources_not_images", 15 },
        { "result.unread.GIF", 33 },
        { "result.unread.BMP", 5 },
        { "result.blank", 3 },
        { "result.warned", 11 },
        { "result.icc_profiles", 12 },
        { "result.with_alpha", 13 },
        { "result.rotated", 14 },
        { "result.animated", 15 },
        { "result.masks", 14 },
        { "result.cut_16bit", 16 },
        { "result.scale16.0", 171 },
        { "result.scale16.1", 4018 },
        { "result.extent.0", 1000 },
        { "result.extent.3", 3 },
        { "result.chunk.0", 8 },
        { "result.chunks", 125 },
        { "result.pixel_bytes", 4608000 },
        { "result.stored_bytes", 1152000 },
        { "result.file_bytes", 3 << 20 },
        { "result.mean.0", 25.5 },
        { "result.mean.2", 76.5 },
        { "result.std.0", 102 },
        { "result.std.2", 153 },
        { "measured.elapsed_ns", 4e9 },
        { "measured.sync_ns", 25e7 },
        { "measured.verify_ns", 15e8 },
        { "measured.resumed", 600 },
        { "measured.source_bytes", 7777 },
        { "measured.buffer_bytes", 9999 },
        { "measured.decode_peak_bytes", 8888 },
    };
    static const struct made_up_number compared[] = { { "result.compared", 1000 },
                                                      { "measured.verify_ns", 15e8 } };
    static const struct made_up_number forecast[] = { { "result.packed", 1000 },
                                                      { "measured.tried", 17 },
                                                      { "measured.forecast_ns", 1199e8 } };
    struct pack_json_doc *doc = NULL;
    const struct pack_json_value *root = parse(PACK_JOB_PACK, &doc);
    is_number(wrong_numbers(root, numbers, sizeof numbers / sizeof *numbers), 0,
              "every number of the JSON is the one that was made up");
    ok(at(root, "result.matches") && at(root, "result.matches")->truth &&
           !at(root, "result.ignored.loops"),
       "it matches; kinds that did not occur are left out");
    is_text(at(root, "options.output")->text, "out.h5", "the file is named");
    pack_json_free(doc);
    root = parse(PACK_JOB_COMPARE, &doc);
    ok(wrong_numbers(root, compared, 2) == 0 && !at(root, "result.matches")->truth &&
           !at(root, "result.extent") && !at(root, "result.mean"),
       "a comparison says whether the file matches, and makes none");
    pack_json_free(doc);
    root = parse(PACK_JOB_FORECAST, &doc);
    ok(wrong_numbers(root, forecast, 3) == 0 && !at(root, "result.mean") &&
           !at(root, "measured.elapsed_ns"),
       "a forecast has measured its own");
    pack_json_free(doc);
}

/* ------------------------------------------------------------------ every word */

#define COUNTS \
    "        100  rejected, left out\n" \
    "          3  rejected, packed as black images (dataset valid is 0 there)\n" \
    "         11  damaged slightly but decoded, as strict would not have\n" \
    "         14  turned upright as their EXIF orientation says\n" \
    "         12  with an ICC profile, which was left alone\n" \
    "         13  with transparency\n" \
    "         11  of 16 bits that use 12 of them at most: nearly black\n" \
    "          7  of 16 bits that use 12 of them at most: nearly white\n" \
    "         16  with 16-bit samples outside the range that is scaled\n" \
    "         15  animated or with several pictures, of which the first was" \
    " taken\n"
#define LAYOUT \
    "         12  of the rejected: GIF, which is not read\n" \
    "         21  passed over: GIF, which is not read\n" \
    "          5  of the rejected: BMP, which is not read\n" \
    "  3 hidden files and folders ignored, first 'a/.b'\n" \
    "  4 files ignored that are no images, first 'a/.b'\n" \
    "  7 folders without images ignored, first 'a/.b'\n" \
    "  12 folders in the list ignored, first 'a/.b'\n" \
    "  13 images ignored that lie in folders of thumbnails, first 'a/.b'\n" \
    "  16 comments in the list ignored, first 'a/.b'\n" \
    "  images    uint8 1000x32x48x3, nhwc\n" \
    "  chunks    125 of 8x32x48x3, 36.0 KiB each, zstd:3\n"

/* Numbers that are 0 in fill(), too. */
static void
fill_all(void)
{
    fill();
    result.n_dim = 18;
    result.n_pale = 7;
    result.additions = (struct pack_source_additions){
        .n_added = 4, .n_left_out = 5, .first = "z/9.jpg", .why = PACK_LEFT_OUT_NOT_LAST
    };
}

static void
test_whole_texts(void)
{
    static const char packed[] =
        "out.h5: 1000 images, 3.0 MiB, read back and equal\n" COUNTS
        "          4  added since the run began, packed behind the others\n"
        "          5  added since the run began and left out, first 'z/9.jpg',\n"
        "             which would come before others; force packs all anew\n"
        LAYOUT
        "  stored    0.250 of the pixels' size\n"
        "  scale16   171:4018 became 0 to 255 (stored as attribute)\n"
        "  mean      0.1000 0.2000 0.3000   (of 0 to 1; stored as attributes, of"
        " 0 to 255)\n"
        "  std       0.4000 0.5000 0.6000\n"
        "  4.0 s, 125 images/s, 600 images taken over from the interrupted run,"
        " 1.5 s of it reading back, 0.2 s syncing\n"
        "\n"
        "  import h5py            # zstd: import hdf5plugin, or set"
        " HDF5_PLUGIN_PATH\n"
        "  f = h5py.File('out.h5', 'r', rdcc_nbytes=8388608,\n"
        "                rdcc_nslots=1009, rdcc_w0=0.5)\n"
        "  images = f['images']            # keep this: f['images'][i] opens"
        " it anew\n"
        "  x = images[0]                   # numpy uint8, shape (32, 48, 3)\n"
        "  y = f['labels'][0]              # int64\n"
        "  # by assumed times; to measure them:\n"
        "  # h5advise out.h5 -p shuffle\n";
    static const char forecast[] =
        "out.h5 would hold 1000 images in about 3.0 MiB\n" COUNTS LAYOUT
        "  scale16   171:4018 would become 0 to 255\n"
        "  takes about 119.9 s without the writing, by 17 tried\n";
    struct pack_buf text = { 0 };
    struct pack_convert_report r = report(PACK_JOB_PACK);
    fill_all();
    is_text(print(&text, &r), packed, "all that is said of a file that was packed");
    r = report(PACK_JOB_FORECAST);
    is_text(print(&text, &r), forecast, "and of one that would be");
    params.output = NULL;
    ok(strncmp(print(&text, &r), "a file would hold 1000 images", 29) == 0,
       "which needs no name");
    pack_buf_done(&text);
    fill();
}

/* Gray images, planes, other pipelines and names. */
static void
test_variants(void)
{
    static const char gray[] =
        "  images    uint8 1000x32x48, nhwc\n"
        "  chunks    125 of 8x32x48, 12.0 KiB each, gzip:1+fletcher32\n"
        "  stored    0.250 of the pixels' size\n"
        "  mean      0.1000   (of 0 to 1; stored as attributes, of 0 to 255)\n"
        "  std       0.4000\n"
        "  4.0 s, 125 images/s";
    static const char opened[] =
        "  import h5py\n"
        "  f = h5py.File('a\"b.h5', 'r')\n"
        "  images = f['images']            # keep this: f['images'][i] opens it anew\n"
        "  x = images[0]                   # numpy uint8, shape (32, 48)\n"
        "  # by assumed times";
    static const char *const why[] = {
        [PACK_LEFT_OUT_NOT_LAST] = "which would come before others",
        [PACK_LEFT_OUT_SHUFFLED] = "as the random order is that of the others",
        [PACK_LEFT_OUT_CLASS] = "which has a class that was not there",
        [PACK_LEFT_OUT_COLUMN] = "which changes the type of a column",
        [PACK_LEFT_OUT_FOLDER] = "which is in a folder that was not given",
    };
    struct pack_buf text = { 0 };
    struct pack_convert_report r = report(PACK_JOB_PACK);
    (void)pack_pipeline_parse("gzip:1+fletcher32", 1, &params.options.pipeline, NULL);
    params.output = "a\"b.h5";
    source.has_labels = false;
    result.scales_16 = false;
    result.n_channels = 1;
    result.extent.rank = result.chunk.rank = 3;
    r.sets_cache = false;
    const char *s = print(&text, &r);
    ok(strstr(s, gray) && strstr(s, opened), "gray images, another pipeline, a quote in a name");
    result.stored_bytes = 0;
    params.options.layout = PACK_PIXEL_NCHW;
    ok(!strstr(print(&text, &r), "  stored ") &&
           strstr((char *)text.data, "  images    uint8 1000x32x48, nchw\n"),
       "planes, and nothing that is stored");
    result.elapsed_ns = 0;
    ok(strstr(print(&text, &r), "\n  0.0 s, 600 images taken over"), "no time, no rate");
    int wrong = 0;
    for (int i = 1; i < (int)(sizeof why / sizeof *why); i++) {
        char want[256];
        result.additions = (struct pack_source_additions){
            .n_left_out = 1, .first = "\x1b/9.jpg", .why = (enum pack_source_left_out)i
        };
        snprintf(want, sizeof want,
                 "          1  added since the run began and left out, first '\\x1b/9.jpg',\n"
                 "             %s; force packs all anew\n",
                 why[i]);
        wrong += !strstr(print(&text, &r), want) || strstr((char *)text.data, "packed behind");
    }
    ok(wrong == 0, "what is left out is told with the reason");
    r = report(PACK_JOB_COMPARE);
    result.n_packed = result.n_listed = 1;
    params.output = "out.h5";
    is_text(print(&text, &r), "out.h5: 1 of 1 image compared, all are as decoded again\n",
            "one image is one image");
    pack_buf_done(&text);
    fill();
}

#define OPTIONS \
    "    \"mode\": \"rgb\",\n" \
    "    \"layout\": \"nhwc\",\n" \
    "    \"exif_orientation\": true,\n" \
    "    \"strict\": false,\n" \
    "    \"max_pixels\": 178956970,\n" \
    "    \"max_file_bytes\": 4294967296,\n" \
    "    \"chunk\": \"auto\",\n" \
    "    \"for\": \"shuffle\",\n" \
    "    \"compress\": \"zstd:3\",\n" \
    "    \"libver\": \"v110\",\n" \
    "    \"on_error\": \"skip\",\n" \
    "    \"shuffle\": false\n" \
    "  },\n" \
    "  \"result\": {\n"
#define IGNORED \
    "    \"ignored\": {\n" \
    "      \"hidden\": 3,\n" \
    "      \"not_images\": 4,\n" \
    "      \"images_by_content_only\": 5,\n" \
    "      \"images_beside_classes\": 6,\n" \
    "      \"empty_folders\": 7,\n" \
    "      \"empty_classes\": 8,\n" \
    "      \"unreadable\": 9,\n" \
    "      \"broken_links\": 10,\n" \
    "      \"listed_folders\": 12,\n" \
    "      \"thumbnails\": 13,\n" \
    "      \"sources_not_images\": 15,\n" \
    "      \"comments\": 16\n" \
    "    },\n" \
    "    \"masks\": 14,\n" \
    "    \"unread\": {\n" \
    "      \"GIF\": 33,\n" \
    "      \"BMP\": 5\n" \
    "    },\n"
#define IMAGES \
    "    \"blank\": 3,\n" \
    "    \"warned\": 11,\n" \
    "    \"icc_profiles\": 12,\n" \
    "    \"with_alpha\": 13,\n" \
    "    \"rotated\": 14,\n" \
    "    \"animated\": 15,\n" \
    "    \"dim_16bit\": 18,\n" \
    "    \"pale_16bit\": 7,\n" \
    "    \"cut_16bit\": 16,\n" \
    "    \"scale16\": [\n" \
    "      171,\n" \
    "      4018\n" \
    "    ],\n" \
    "    \"extent\": [\n" \
    "      1000,\n" \
    "      32,\n" \
    "      48,\n" \
    "      3\n" \
    "    ],\n" \
    "    \"chunk\": [\n" \
    "      8,\n" \
    "      32,\n" \
    "      48,\n" \
    "      3\n" \
    "    ],\n" \
    "    \"chunks\": 125,\n" \
    "    \"pixel_bytes\": 4608000,\n" \
    "    \"stored_bytes\": 1152000,\n" \
    "    \"file_bytes\": 3145728"
#define MEASURED \
    "  \"measured\": {\n" \
    "    \"elapsed_ns\": 4000000000,\n" \
    "    \"sync_ns\": 250000000,\n" \
    "    \"verify_ns\": 1500000000,\n" \
    "    \"resumed\": 600,\n" \
    "    \"added\": 4,\n" \
    "    \"left_out\": 5,\n" \
    "    \"source_bytes\": 7777,\n" \
    "    \"buffer_bytes\": 9999,\n" \
    "    \"decode_peak_bytes\": 8888\n" \
    "  }\n" \
    "}\n"

/* The whole of a report. */
static void
is_json(enum pack_convert_job job, bool differs, const char *want, const char *what)
{
    struct pack_buf text = { 0 };
    struct pack_convert_report r = report(job);
    r.differs = differs;
    pack_report_convert_json(&r, &text, NULL);
    is_text(text_of(&text, true), want, what);
    pack_buf_done(&text);
}

static void
test_whole_json(void)
{
    static const char packed[] =
        "{\n"
        "  \"schema\": \"pack/1\",\n"
        "  \"program\": \"h5pack\",\n"
        "  \"version\": \"9.8.7\",\n"
        "  \"options\": {\n"
        "    \"output\": \"out.h5\",\n" OPTIONS
        "    \"job\": \"pack\",\n"
        "    \"listed\": 1100,\n"
        "    \"packed\": 1000,\n"
        "    \"rejected\": 103,\n" IGNORED
        "    \"matches\": true,\n" IMAGES
        ",\n"
        "    \"mean\": [\n"
        "      25.5,\n"
        "      51,\n"
        "      76.5\n"
        "    ],\n"
        "    \"std\": [\n"
        "      102,\n"
        "      127.5,\n"
        "      153\n"
        "    ]\n"
        "  },\n" MEASURED;
    static const char forecast[] =
        "{\n"
        "  \"schema\": \"pack/1\",\n"
        "  \"program\": \"h5pack\",\n"
        "  \"version\": \"9.8.7\",\n"
        "  \"options\": {\n"
        "    \"output\": null,\n" OPTIONS
        "    \"job\": \"forecast\",\n"
        "    \"listed\": 1100,\n"
        "    \"packed\": 1000,\n"
        "    \"rejected\": 103,\n" IGNORED IMAGES
        "\n"
        "  },\n"
        "  \"measured\": {\n"
        "    \"tried\": 17,\n"
        "    \"forecast_ns\": 119900000000\n"
        "  }\n"
        "}\n";
    static const char compared[] =
        "{\n"
        "  \"schema\": \"pack/1\",\n"
        "  \"program\": \"h5pack\",\n"
        "  \"version\": \"9.8.7\",\n"
        "  \"options\": {\n"
        "    \"output\": \"out.h5\",\n" OPTIONS
        "    \"job\": \"compare\",\n"
        "    \"listed\": 1100,\n"
        "    \"compared\": 1000,\n"
        "    \"rejected\": 103,\n" IGNORED
        "    \"matches\": false\n"
        "  },\n" MEASURED;
    fill_all();
    is_json(PACK_JOB_PACK, false, packed, "the whole JSON of packing");
    is_json(PACK_JOB_COMPARE, true, compared, "of comparing");
    params.verify = false;
    params.output = NULL;
    is_json(PACK_JOB_FORECAST, false, forecast, "and of a forecast");

    struct pack_json_doc *doc = NULL;
    params.source = NULL;
    result.scales_16 = false;
    result.unread[1].n_ignored = 0;
    result.unread[3] = (struct pack_convert_unread){ "BMP", 0, 0 };
    result.extent.rank = 0;
    const struct pack_json_value *root = parse(PACK_JOB_PACK, &doc);
    ok(root && !at(root, "result.ignored")->first && !at(root, "result.masks")->natural &&
           at(root, "result.scale16")->kind == PACK_JSON_NULL &&
           at(root, "result.extent")->kind == PACK_JSON_NULL && !at(root, "result.matches") &&
           at(root, "result.unread.GIF")->natural == 12 && !at(root, "result.unread.BMP"),
       "without a list, a range or a shape there is none");
    pack_json_free(doc);
    fill();
}

int
main(void)
{
    fill();
    test_packed();
    test_others();
    test_whole_texts();
    test_variants();
    test_json();
    test_whole_json();
    return done();
}
