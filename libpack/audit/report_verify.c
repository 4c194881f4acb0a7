/* Both reports tell the same, in the order of the file's datasets. */
#include "libpack/audit/report_verify.h"

#include <inttypes.h>
#include <stdio.h>

#include "libpack/base/json.h"
#include "libpack/base/name.h"
#include "libpack/base/numbers.h"
#include "libpack/base/page.h"
#include "libpack/hdf5/clone.h"

/* "(12,0,0)" */
static const char *
place_text(const struct pack_verify_bad *bad, char *text, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < bad->rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%" PRIu64, i ? "," : "(",
                                 bad->coords[i]);
    if (used < size)
        snprintf(text + used, size - used, ")");
    return text;
}

/* ---------------------------------------------------------------------- text */

static void
put_bad(struct page *page, const struct pack_verify_bad *bad)
{
    char place[PACK_SHAPE_TEXT_MAX], lead[PACK_SHAPE_TEXT_MAX + 96];
    place_text(bad, place, sizeof place);
    if (bad->address_bytes == PACK_CHUNK_MISSING)
        snprintf(lead, sizeof lead, "    chunk %s: ", place);
    else
        snprintf(lead, sizeof lead,
                 "    chunk %s, %" PRIu64 " bytes at %" PRIu64 ": ", place,
                 bad->stored_bytes, bad->address_bytes);
    pack_page_wrap(page, lead, bad->why, 8);
}

/* "12, 40-47": the first of them. */
static void
put_rows(struct page *page, const struct pack_verify_set *set)
{
    enum { RANGES = 12 };
    LINE(page, "  bad samples:");
    for (size_t i = 0; i < set->n_bad_ranges && i < RANGES; i++) {
        const struct pack_verify_rows *r = &set->bad_rows[i];
        LINE(page, "%s %" PRIu64, i ? "," : "", r->first);
        if (r->n > 1)
            LINE(page, "-%" PRIu64, r->first + r->n - 1);
    }
    if (set->n_bad_ranges > RANGES)
        LINE(page, ", and %zu more ranges", set->n_bad_ranges - RANGES);
    LINE(page, "\n");
}

static void
put_set(struct page *page, const struct pack_verify_result *result,
        const struct pack_verify_set *set)
{
    uint64_t all = set->extent.rank ? set->extent.extent[0] : 0;
    char name[PACK_NAME_TEXT_MAX];
    LINE(page, "/%s: ", pack_name_text(set->path, name));
    if (!set->is_done)
        pack_page_wrap(page, "not read to the end: ", set->failure, 2);
    else if (set->n_bad == 0)
        LINE(page, "good, %s%s\n", pack_counted(set->n_stored, "chunk", "chunks").text,
             !set->has_checksum    ? ""
             : set->n_stored == 1 ? " with a checksum"
                                  : " with checksums");
    else
        LINE(page, "%" PRIu64 " of %s\n", set->n_bad,
             pack_counted(set->n_stored, "chunk is bad", "chunks are bad").text);
    if (set->n_bad == 0)
        return;
    if (set->is_done)
        LINE(page, "  good samples: %" PRIu64 " of %" PRIu64 "\n", all - set->n_bad_rows, all);
    put_rows(page, set);
    for (size_t i = 0; i < set->n_listed && i < PACK_REPORT_VERIFY_LISTED; i++)
        put_bad(page, &result->bad[set->first_bad + i]);
    if (set->n_listed > PACK_REPORT_VERIFY_LISTED)
        LINE(page, "    and %zu more, which JSON lists\n",
             set->n_listed - PACK_REPORT_VERIFY_LISTED);
}

static void
put_salvaged(struct page *page, const struct pack_verify_report *report)
{
    const struct pack_salvaged *s = report->salvaged;
    char line[640], name[PACK_NAME_TEXT_MAX];
    (void)pack_name_text(report->output, name);
    if (!s->is_written)
        snprintf(line, sizeof line, "%s is not written: nothing is bad", name);
    else
        snprintf(line, sizeof line,
                 "%s is the file without %s; %s, which read as the fill value in whole or in "
                 "part: each dataset lists its own in the attribute " PACK_CLONE_LOST,
                 name, pack_counted(s->n_chunks, "bad chunk", "bad chunks").text,
                 pack_counted(s->n_rows, "sample is lost", "samples are lost").text);
    pack_page_wrap(page, "salvaged: ", line, 2);
}

enum pack_status
pack_report_verify_text(const struct pack_verify_report *report, struct pack_buf *buf,
                        struct pack_error *err)
{
    const struct pack_verify_result *result = report->result;
    struct page page = { buf, PACK_OK, err };
    char name[PACK_NAME_TEXT_MAX];
    LINE(&page, "%s: ", pack_name_text(report->params->file, name));
    if (result->end_bytes)
        LINE(&page, "the file is cut short: it ends at %" PRIu64 " of %" PRIu64 " bytes\n",
             result->file_bytes, result->end_bytes);
    if (result->status != PACK_OK)
        pack_page_wrap(&page, result->end_bytes ? "  " : "", result->failure.text, 2);
    else if (result->end_bytes)
        LINE(&page, "  what lies before that was read\n");
    else
        LINE(&page, "%s\n",
             pack_verify_is_good(result) ? "everything that is stored can be read"
                                         : "not everything can be read");
    for (size_t i = 0; i < result->n_sets; i++)
        put_set(&page, result, &result->sets[i]);
    if (report->salvaged)
        put_salvaged(&page, report);
    return page.status;
}

/* ---------------------------------------------------------------------- JSON */

static void
json_bad(struct pack_json *json, const struct pack_verify_bad *bad)
{
    bool is_known = bad->address_bytes != PACK_CHUNK_MISSING;
    pack_json_object(json, NULL);
    pack_json_u64s(json, "chunk", bad->coords, (size_t)bad->rank);
    pack_json_text(json, "fault", pack_verify_fault_name(bad->fault));
    if (is_known)
        pack_json_u64(json, "address_bytes", bad->address_bytes);
    else
        pack_json_null(json, "address_bytes");
    if (is_known)
        pack_json_u64(json, "stored_bytes", bad->stored_bytes);
    else
        pack_json_null(json, "stored_bytes");
    pack_json_u64(json, "filter_mask", bad->filter_mask);
    pack_json_u64(json, "first_sample", bad->first_row);
    pack_json_u64(json, "n_samples", bad->n_rows);
    pack_json_text(json, "why", bad->why);
    pack_json_close(json);
}

static void
json_set(struct pack_json *json, const struct pack_verify_result *result,
         const struct pack_verify_set *set)
{
    uint64_t all = set->extent.rank ? set->extent.extent[0] : 0;
    pack_json_object(json, NULL);
    pack_json_text(json, "path", set->path);
    pack_json_text(json, "layout",
                   set->is_external ? "external" : pack_layout_name(set->layout));
    pack_json_shape(json, "extent", &set->extent);
    pack_json_shape(json, "chunk", &set->chunk);
    pack_json_bool(json, "is_done", set->is_done);
    pack_json_text(json, "failure", set->is_done ? NULL : set->failure);
    pack_json_bool(json, "is_by_hdf5", set->is_by_hdf5);
    pack_json_bool(json, "has_checksum", set->has_checksum);
    pack_json_u64(json, "n_chunks", set->n_chunks);
    pack_json_u64(json, "n_stored", set->n_stored);
    pack_json_u64(json, "n_masked", set->n_masked);
    pack_json_u64(json, "n_bad", set->n_bad);
    pack_json_u64(json, "stored_bytes", set->stored_bytes);
    pack_json_u64(json, "n_samples", all);
    pack_json_u64(json, "n_bad_samples", set->n_bad_rows);
    pack_json_array(json, "bad_samples");
    for (size_t i = 0; i < set->n_bad_ranges; i++) {
        const uint64_t range[] = { set->bad_rows[i].first, set->bad_rows[i].n };
        pack_json_u64s(json, NULL, range, 2);
    }
    pack_json_close(json);
    pack_json_array(json, "bad_chunks");
    for (size_t i = 0; i < set->n_listed; i++)
        json_bad(json, &result->bad[set->first_bad + i]);
    pack_json_close(json);
    pack_json_close(json);
}

enum pack_status
pack_report_verify_json(const struct pack_verify_report *report, struct pack_buf *buf,
                        struct pack_error *err)
{
    const struct pack_verify_result *result = report->result;
    struct pack_json json;
    pack_json_begin_report(&json, buf, "verify/1", report->program, report->version);
    pack_json_text(&json, "file", report->params->file);
    pack_json_bool(&json, "is_good", pack_verify_is_good(result));
    pack_json_text(&json, "failure",
                   result->status == PACK_OK ? NULL : result->failure.text);
    if (result->end_bytes) {
        pack_json_object(&json, "cut");
        pack_json_u64(&json, "file_bytes", result->file_bytes);
        pack_json_u64(&json, "end_bytes", result->end_bytes);
        pack_json_close(&json);
    } else {
        pack_json_null(&json, "cut");
    }
    pack_json_array(&json, "datasets");
    for (size_t i = 0; i < result->n_sets; i++)
        json_set(&json, result, &result->sets[i]);
    pack_json_close(&json);
    if (report->salvaged) {
        const struct pack_salvaged *s = report->salvaged;
        pack_json_object(&json, "salvaged");
        pack_json_text(&json, "output", s->is_written ? report->output : NULL);
        pack_json_u64(&json, "n_chunks", s->n_chunks);
        pack_json_u64(&json, "n_samples", s->n_rows);
        pack_json_u64(&json, "output_bytes", s->output_bytes);
        pack_json_close(&json);
    }
    pack_json_close(&json);
    return pack_json_end(&json, err);
}
