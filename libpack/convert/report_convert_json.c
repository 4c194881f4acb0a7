#include "libpack/convert/report_convert.h"

#include "libpack/base/json.h"
#include "libpack/convert/convert_options.h"
#include "libpack/convert/convert_parts.h"

/* What the program was asked for: where the file is, and the stored options. */
static void
put_options(struct pack_json *json, const struct pack_convert_params *params)
{
    pack_json_object(json, "options");
    if (params->output)
        pack_json_text(json, "output", params->output);
    else
        pack_json_null(json, "output");
    pack_convert_options_put(&params->options, json);
    pack_json_close(json);
}

/* What the listing passed over, by kind; kinds that did not occur are left out. */
static void
put_ignored(struct pack_json *json, const struct pack_source *source)
{
    static const char *const kinds[PACK_NOTE_KINDS] = {
        "hidden",
        "not_images",
        "images_by_content_only",
        "images_beside_classes",
        "empty_folders",
        "empty_classes",
        "unreadable",
        "broken_links",
        "loops",
        "listed_folders",
        "thumbnails",
        NULL, /* masks: they are not passed over */
        "sources_not_images",
        "comments",
    };
    pack_json_object(json, "ignored");
    for (int kind = 0; kind < PACK_NOTE_KINDS; kind++)
        if (kinds[kind] && source && source->notes[kind].count)
            pack_json_u64(json, kinds[kind], source->notes[kind].count);
    pack_json_close(json);
}

static uint64_t
count_masks(const struct pack_source *source)
{
    return source ? source->notes[PACK_NOTE_MASK].count : 0;
}

/* Images of formats that are not read, by format. */
static void
put_unread(struct pack_json *json, const struct pack_convert_result *r)
{
    pack_json_object(json, "unread");
    for (int i = 0; i < PACK_CONVERT_UNREAD_MAX; i++)
        if (r->unread[i].n_rejected || r->unread[i].n_ignored)
            pack_json_u64(json, r->unread[i].format,
                          r->unread[i].n_rejected + r->unread[i].n_ignored);
    pack_json_close(json);
}

/* Of 16-bit samples; null where none are scaled. */
static void
put_range(struct pack_json *json, const struct pack_convert_result *r)
{
    const uint64_t range[] = { r->low_16, r->high_16 };
    if (r->scales_16)
        pack_json_u64s(json, "scale16", range, 2);
    else
        pack_json_null(json, "scale16");
}

static void
put_result(struct pack_json *json, const struct pack_convert_report *report)
{
    static const char *const jobs[] = { "pack", "forecast", "compare" };
    const struct pack_convert_result *r = report->result;
    bool compared = report->job == PACK_JOB_COMPARE;
    pack_json_object(json, "result");
    pack_json_text(json, "job", jobs[report->job]);
    pack_json_u64(json, "listed", r->n_listed);
    pack_json_u64(json, compared ? "compared" : "packed", r->n_packed);
    pack_json_u64(json, "rejected", r->n_rejected);
    put_ignored(json, report->params->source);
    pack_json_u64(json, "masks", count_masks(report->params->source));
    put_unread(json, r);
    if (compared || report->params->verify)
        pack_json_bool(json, "matches", !report->differs);
    if (!compared) {
        pack_json_u64(json, "blank", r->n_blank);
        pack_json_u64(json, "warned", r->n_warned);
        pack_json_u64(json, "icc_profiles", r->n_icc);
        pack_json_u64(json, "with_alpha", r->n_alpha);
        pack_json_u64(json, "rotated", r->n_oriented);
        pack_json_u64(json, "animated", r->n_animated);
        pack_json_u64(json, "dim_16bit", r->n_dim);
        pack_json_u64(json, "pale_16bit", r->n_pale);
        pack_json_u64(json, "cut_16bit", r->n_cut);
        put_range(json, r);
        pack_json_shape(json, "extent", &r->extent);
        pack_json_shape(json, "chunk", &r->chunk);
        pack_json_u64(json, "chunks", r->n_chunks);
        pack_json_u64(json, "pixel_bytes", r->pixel_bytes);
        pack_json_u64(json, "stored_bytes", r->stored_bytes);
        pack_json_u64(json, "file_bytes", r->file_bytes);
    }
    if (report->job == PACK_JOB_PACK) {
        pack_json_doubles(json, "mean", r->mean, (size_t)r->n_channels);
        pack_json_doubles(json, "std", r->std, (size_t)r->n_channels);
    }
    pack_json_close(json);
}

static void
put_measured(struct pack_json *json, const struct pack_convert_result *r)
{
    pack_json_object(json, "measured");
    pack_json_u64(json, "elapsed_ns", r->elapsed_ns);
    pack_json_u64(json, "sync_ns", r->sync_ns);
    pack_json_u64(json, "verify_ns", r->verify_ns);
    pack_json_u64(json, "resumed", r->n_replayed);
    pack_json_u64(json, "added", r->additions.n_added);
    pack_json_u64(json, "left_out", r->additions.n_left_out);
    pack_json_u64(json, "source_bytes", r->source_bytes);
    pack_json_u64(json, "buffer_bytes", r->buffer_bytes);
    pack_json_u64(json, "decode_peak_bytes", r->peak_bytes);
    pack_json_close(json);
}

static void
put_forecast(struct pack_json *json, const struct pack_convert_result *r)
{
    pack_json_object(json, "measured");
    pack_json_u64(json, "tried", r->n_tried);
    pack_json_u64(json, "forecast_ns", r->forecast_ns);
    pack_json_close(json);
}

enum pack_status
pack_report_convert_json(const struct pack_convert_report *report, struct pack_buf *text,
                         struct pack_error *err)
{
    struct pack_json json;
    pack_json_begin_report(&json, text, "pack/1", "h5pack", report->params->version);
    put_options(&json, report->params);
    put_result(&json, report);
    if (report->job == PACK_JOB_FORECAST)
        put_forecast(&json, report->result);
    else
        put_measured(&json, report->result);
    pack_json_close(&json);
    return pack_json_end(&json, err);
}
