#include "libpack/convert/report_convert.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libpack/base/numbers.h"
#include "libpack/base/page.h"
#include "libpack/base/name.h"

static void
put_counts(struct page *page, const struct pack_convert_report *report)
{
    const struct pack_convert_result *r = report->result;
    bool ends = report->params->options.on_error == PACK_ON_ERROR_FAIL;
    const struct {
        uint64_t n;
        const char *what;
    } counts[] = {
        { r->n_rejected - r->n_blank, /* a forecast, else there is no summary */
          ends ? "rejected: the first ends the run, without a file" : "rejected, left out" },
        { r->n_blank, "rejected, packed as black images (dataset valid is 0 there)" },
        { r->n_warned, "damaged slightly but decoded, as strict would not have" },
        { r->n_oriented, "turned upright as their EXIF orientation says" },
        { r->n_icc, "with an ICC profile, which was left alone" },
        { r->n_alpha, "with transparency" },
        { r->n_dim - r->n_pale, "of 16 bits that use 12 of them at most: nearly black" },
        { r->n_pale, "of 16 bits that use 12 of them at most: nearly white" },
        { r->n_cut, "with 16-bit samples outside the range that is scaled" },
        { r->n_animated,
          "animated or with several pictures, of which the first was taken" },
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].n)
            LINE(page, "  %9" PRIu64 "  %s\n", counts[i].n, counts[i].what);
}

/* What came to the source of a run that was resumed. */
static void
put_additions(struct page *page, const struct pack_source_additions *a)
{
    static const char *const why[] = {
        [PACK_LEFT_OUT_NOT] = "",
        [PACK_LEFT_OUT_NOT_LAST] = "which would come before others",
        [PACK_LEFT_OUT_SHUFFLED] = "as the random order is that of the others",
        [PACK_LEFT_OUT_CLASS] = "which has a class that was not there",
        [PACK_LEFT_OUT_COLUMN] = "which changes the type of a column",
        [PACK_LEFT_OUT_FOLDER] = "which is in a folder that was not given",
    };
    char shown[PACK_NAME_TEXT_MAX];
    if (a->n_added)
        LINE(page,
             "  %9" PRIu64 "  added since the run began, packed behind the others\n",
             a->n_added);
    if (a->n_left_out)
        LINE(page,
             "  %9" PRIu64 "  added since the run began and left out, first '%s',\n"
             "             %s; force packs all anew\n",
             a->n_left_out, pack_name_text(a->first, shown), why[a->why]);
}

/* Images that are there but cannot be read. */
static void
put_unread(struct page *page, const struct pack_convert_result *r)
{
    for (int i = 0; i < PACK_CONVERT_UNREAD_MAX; i++) {
        const struct pack_convert_unread *unread = &r->unread[i];
        if (unread->n_rejected)
            LINE(page, "  %9" PRIu64 "  of the rejected: %s, which is not read\n",
                 unread->n_rejected, unread->format);
        if (unread->n_ignored)
            LINE(page, "  %9" PRIu64 "  passed over: %s, which is not read\n",
                 unread->n_ignored, unread->format);
    }
}

/* What the listing passed over without a word: hidden files, files that are no images. */
static void
put_ignored(struct page *page, const struct pack_source *source)
{
    char text[PACK_SOURCE_NOTE_TEXT_MAX];
    for (int kind = 0; kind < PACK_NOTE_KINDS; kind++)
        if (!pack_source_note_warns((enum pack_source_note_kind)kind) &&
            pack_source_note_text(source, (enum pack_source_note_kind)kind, text))
            LINE(page, "  %s\n", text);
}

static uint64_t
chunk_bytes(const struct pack_convert_result *r)
{
    uint64_t bytes = 1;
    for (int i = 0; i < r->chunk.rank; i++)
        bytes *= r->chunk.extent[i];
    return bytes;
}

static void
put_layout(struct page *page, const struct pack_convert_report *report)
{
    const struct pack_convert_result *r = report->result;
    char a[PACK_SHAPE_TEXT_MAX], b[PACK_SHAPE_TEXT_MAX], c[PACK_BYTES_TEXT_MAX];
    char pipeline[PACK_PIPELINE_TEXT_MAX];
    LINE(page, "  images    uint8 %s, %s\n", pack_shape_format(&r->extent, a),
         pack_pixel_layout_name(report->params->options.layout));
    LINE(page, "  chunks    %" PRIu64 " of %s, %s each, %s\n", r->n_chunks,
         pack_shape_format(&r->chunk, b), pack_bytes_format(chunk_bytes(r), c),
         report->params->options.pipeline.n
             ? pack_pipeline_format(&report->params->options.pipeline, pipeline)
             : "not compressed");
    if (report->params->options.pipeline.n && r->stored_bytes &&
        report->job == PACK_JOB_PACK)
        LINE(page, "  stored    %.3f of the pixels' size\n",
             (double)r->stored_bytes / (double)r->pixel_bytes);
}

/* The range of 16-bit samples. */
static void
put_range(struct page *page, const struct pack_convert_report *report)
{
    const struct pack_convert_result *r = report->result;
    bool is_tried = report->job == PACK_JOB_FORECAST && report->params->options.finds_range_16;
    if (!r->scales_16)
        return;
    LINE(page, "  scale16   %u:%u %s\n", r->low_16, r->high_16,
         is_tried ? "of the images tried; packing looks at all"
         : report->job == PACK_JOB_FORECAST ? "would become 0 to 255"
                                            : "became 0 to 255 (stored as attribute)");
}

static void
put_statistics(struct page *page, const struct pack_convert_result *r)
{
    const char *const names[] = { "mean", "std" };
    const double *const values[] = { r->mean, r->std };
    for (int k = 0; k < 2; k++) {
        LINE(page, "  %-8s ", names[k]);
        for (int c = 0; c < r->n_channels; c++)
            LINE(page, " %.4f", values[k][c] / 255);
        LINE(page, "%s\n", k ? "" : "   (of 0 to 1; stored as attributes, of 0 to 255)");
    }
}

static bool
needs_plugin(const struct pack_pipeline *pipeline)
{
    for (int i = 0; i < pipeline->n; i++)
        if (pipeline->filter[i].id == PACK_FILTER_ZSTD)
            return true;
    return false;
}

/* How to open the file from Python. */
static void
put_python(struct page *page, const struct pack_convert_report *report)
{
    const struct pack_convert_result *r = report->result;
    LINE(page, "\n  import h5py%s\n",
         needs_plugin(&report->params->options.pipeline)
             ? "            # zstd: import hdf5plugin, or set HDF5_PLUGIN_PATH"
             : "");
    LINE(page, "  f = h5py.File(");
    if (page->status == PACK_OK)
        page->status = pack_name_literal(report->params->output, '\'', page->text, page->err);
    LINE(page, ", 'r'");
    if (report->sets_cache)
        LINE(page, ", rdcc_nbytes=%" PRIu64, report->cache.size_bytes);
    if (report->sets_cache && report->cache.size_bytes)
        LINE(page, ",\n                rdcc_nslots=%" PRIu64 ", rdcc_w0=%g",
             report->cache.n_slots, report->cache.w0);
    LINE(page, ")\n");
    LINE(page, "  images = f['images']            # keep this: f['images'][i] "
               "opens it anew\n");
    LINE(page, "  x = images[0]                   # numpy uint8, shape ");
    for (int i = 1; i < r->extent.rank; i++)
        LINE(page, "%s%" PRIu64, i > 1 ? ", " : "(", r->extent.extent[i]);
    LINE(page, ")\n");
    if (pack_source_has_labels(report->params->source))
        LINE(page, "  y = f['labels'][0]              # int64\n");
}

/* The settings above are those for assumed times. */
static void
put_question(struct page *page, const struct pack_convert_report *report)
{
    if (report->question)
        LINE(page, "  # by assumed times; to measure them:\n  # %s\n", report->question);
}

static void
put_rate(struct page *page, const struct pack_convert_result *r)
{
    uint64_t fresh = r->n_packed + r->n_rejected - r->n_blank - r->n_replayed;
    double seconds = (double)r->elapsed_ns / 1e9;
    LINE(page, "  %.1f s", seconds);
    if (seconds > 0 && fresh)
        LINE(page, ", %.0f images/s", (double)fresh / seconds);
    if (r->n_replayed)
        LINE(page, ", %s taken over from the interrupted run",
             pack_counted(r->n_replayed, "image", "images").text);
    if (r->verify_ns)
        LINE(page, ", %.1f s of it reading back", (double)r->verify_ns / 1e9);
    LINE(page, ", %.1f s syncing\n", (double)r->sync_ns / 1e9);
}

static void
put_forecast(struct page *page, const struct pack_convert_result *r)
{
    double seconds = (double)r->forecast_ns / 1e9;
    if (r->n_tried == 0)
        return;
    if (seconds < 120)
        LINE(page, "  takes about %.1f s", seconds);
    else
        LINE(page, "  takes about %.0f min", seconds / 60);
    LINE(page, " without the writing, by %" PRIu64 " tried\n", r->n_tried);
}

enum pack_status
pack_report_convert_text(const struct pack_convert_report *report, struct pack_buf *text,
                         struct pack_error *err)
{
    struct page page = { text, PACK_OK, err };
    const struct pack_convert_result *r = report->result;
    char bytes[PACK_BYTES_TEXT_MAX], shown[PACK_NAME_TEXT_MAX];
    const char *output = report->params->output
                             ? pack_name_text(report->params->output, shown)
                             : "a file"; /* of a forecast */
    switch (report->job) {
    case PACK_JOB_COMPARE:
        LINE(&page, "%s: %" PRIu64 " of %s compared, %s\n", output, r->n_packed,
             pack_counted(r->n_listed, "image", "images").text,
             report->differs ? "a difference was found" : "all are as decoded again");
        return page.status;
    case PACK_JOB_FORECAST:
        LINE(&page, "%s would hold %s in about %s\n", output,
             pack_counted(r->n_packed, "image", "images").text,
             pack_bytes_format(r->file_bytes, bytes));
        put_counts(&page, report);
        put_unread(&page, r);
        put_ignored(&page, report->params->source);
        put_layout(&page, report);
        put_range(&page, report);
        put_forecast(&page, r);
        return page.status;
    default: break;
    }
    if (report->differs) {
        LINE(&page, "%s was not made: what was read back differs\n", output);
        return page.status;
    }
    LINE(&page, "%s: %s, %s%s\n", output,
         pack_counted(r->n_packed, "image", "images").text,
         pack_bytes_format(r->file_bytes, bytes),
         report->params->verify ? ", read back and equal" : "");
    put_counts(&page, report);
    put_additions(&page, &r->additions);
    put_unread(&page, r);
    put_ignored(&page, report->params->source);
    put_layout(&page, report);
    put_range(&page, report);
    put_statistics(&page, r);
    put_rate(&page, r);
    put_python(&page, report);
    put_question(&page, report);
    return page.status;
}
