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
        "h5py.File(\"out.h5\", \"r\", rdcc_nbytes=8388608,\n"
        "                rdcc_nslots=1009, rdcc_w0=0.5)\n",
        "numpy uint8, shape (32, 48, 3)\n",
        "f[\"labels\"][0]",
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
    ok(strstr(print(&text, &r), "h5py.File(\"out.h5\", \"r\")\n"),
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

int
main(void)
{
    fill();
    test_packed();
    test_others();
    test_json();
    return done();
}
