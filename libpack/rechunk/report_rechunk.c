/* Both forms of the report; nothing in it is timed, so that the same input gives the same
 * text. */
#include "libpack/rechunk/report_rechunk.h"

#include <inttypes.h>
#include <string.h>

#include "libpack/base/json.h"
#include "libpack/base/name.h"
#include "libpack/base/numbers.h"
#include "libpack/base/page.h"
#include "libpack/rechunk/rechunk_parts.h"

/* --------------------------------------------------------------------- text */

static void
put_chunks(struct page *page, const struct pack_rechunk_set *set)
{
    char from[PACK_SHAPE_TEXT_MAX], to[PACK_SHAPE_TEXT_MAX];
    const struct pack_facts *facts = &set->facts;
    LINE(page, "  chunks   %s -> %s\n",
         facts->layout == PACK_LAYOUT_CHUNKED ? pack_shape_format(&facts->chunk, from)
                                              : pack_facts_layout_name(facts),
         set->is_contiguous ? "none: contiguous" : pack_shape_format(&set->chunk, to));
    if (set->is_fixed)
        LINE(page, "  extent   can grow no more, as data without chunks cannot\n");
}

static void
put_filters(struct page *page, const struct pack_rechunk_set *set)
{
    char from[PACK_PIPELINE_TEXT_MAX], to[PACK_PIPELINE_TEXT_MAX];
    LINE(page, "  filters  %s -> %s%s\n",
         pack_pipeline_format(&set->facts.pipeline, from),
         pack_pipeline_format(&set->pipeline, to),
         set->is_contiguous && set->facts.pipeline.n > 0 ? ", as they need chunks" : "");
}

static void
put_type(struct page *page, const struct pack_rechunk_set *set)
{
    char type[PACK_TYPE_TEXT_MAX];
    if (set->narrow)
        LINE(page, "  type     %s -> uint8, k for %s\n",
             pack_type_format(&set->facts.type, type),
             pack_narrow_scale_name(set->narrow->scale));
}

/* How the data goes from one grid to the other. */
static void
put_plan(struct page *page, const struct pack_rechunk_set *set)
{
    const struct pack_rechunk_plan *plan = &set->move.plan;
    char memory[PACK_BYTES_TEXT_MAX];
    uint64_t n = plan->source.n_chunks_total;
    pack_bytes_format(set->move.peak_bytes, memory);
    if (set->verbatim)
        LINE(page, "  plan     %s copied as stored\n",
             pack_counted(n, "chunk", "chunks").text);
    else if (plan->n_loads == n)
        LINE(page, "  plan     %s read once, %s written once, %s of memory, %s\n",
             pack_counted(n, "part", "parts").text,
             pack_counted(plan->target.n_chunks_total, set->is_contiguous ? "piece" : "chunk",
                          set->is_contiguous ? "pieces" : "chunks")
                 .text,
             memory,
             pack_counted(set->move.n_workers, "thread", "threads").text);
    else
        LINE(page, "  plan     %s read %.2f times each, as memory is short: %s, %s\n",
             pack_counted(n, "part", "parts").text, (double)plan->n_loads / (double)n,
             memory, pack_counted(set->move.n_workers, "thread", "threads").text);
}

static void
put_set(struct page *page, const struct pack_rechunk_report *report,
        const struct pack_rechunk_set *set)
{
    char extent[PACK_SHAPE_TEXT_MAX], type[PACK_TYPE_TEXT_MAX];
    char from[PACK_BYTES_TEXT_MAX], to[PACK_BYTES_TEXT_MAX], name[PACK_NAME_TEXT_MAX];
    LINE(page, "/%s  %s %s\n", pack_name_text(set->path, name),
         pack_shape_format(&set->facts.extent, extent),
         pack_type_format(&set->facts.type, type));
    put_type(page, set);
    if (set->axes)
        LINE(page, "  layout   %s -> %s\n", pack_rechunk_is_planes(set) ? "nhwc" : "nchw",
             pack_rechunk_is_planes(set) ? "nchw" : "nhwc");
    if (set->rows)
        LINE(page, "  order    random, of seed %" PRIu64 "; source_index keeps it\n",
             report->params->seed);
    put_chunks(page, set);
    put_filters(page, set);
    put_plan(page, set);
    if (report->result->is_written)
        LINE(page, "  stored   %s -> %s\n",
             pack_bytes_format(set->facts.stored_bytes, from),
             pack_bytes_format(set->moved.written_bytes + set->moved.resumed_bytes, to));
    if (set->moved.n_resumed > 0)
        LINE(page, "  resumed  %" PRIu64 " of %s had been written before\n",
             set->moved.n_resumed,
             pack_counted(set->moved.n_resumed + set->moved.n_writes,
                          set->is_contiguous ? "piece" : "chunk",
                          set->is_contiguous ? "pieces" : "chunks")
                 .text);
}

static void
put_rest(struct page *page, const struct pack_rechunk_result *r)
{
    const struct pack_clone_counts *c = &r->counts;
    LINE(page, "carried over: %s, %s, %s, %s, %s\n",
         pack_counted(c->n_datasets - r->n_sets, "dataset", "datasets").text,
         pack_counted(c->n_groups, "group", "groups").text,
         pack_counted(c->n_types, "committed type", "committed types").text,
         pack_counted(c->n_attributes, "attribute", "attributes").text,
         pack_counted(c->n_links, "link", "links").text);
    if (c->n_null_references > 0)
        LINE(page, "%s led nowhere, and %s null now\n",
             pack_counted(c->n_null_references, "reference", "references").text,
             c->n_null_references == 1 ? "is" : "are");
}

static void
put_advice(struct page *page, const struct pack_rechunk_report *report)
{
    const struct pack_rechunk_params *p = report->params;
    char name[PACK_NAME_TEXT_MAX];
    if (!report->advice)
        return;
    LINE(page, "%s", report->advice->headline);
    if (report->advice->keeps)
        LINE(page, "%s has the chunks and filters that are advised: nothing is written\n",
             pack_name_text(p->input, name));
}

enum pack_status
pack_report_rechunk_text(const struct pack_rechunk_report *report, struct pack_buf *buf,
                         struct pack_error *err)
{
    struct page page = { buf, PACK_OK, err };
    const struct pack_rechunk_result *r = report->result;
    char from[PACK_BYTES_TEXT_MAX], to[PACK_BYTES_TEXT_MAX], name[PACK_NAME_TEXT_MAX];
    put_advice(&page, report);
    if (report->advice && report->advice->keeps)
        return page.status;
    if (r->is_written)
        LINE(&page, "%s: %s, was %s\n", pack_name_text(report->params->output, name),
             pack_bytes_format(r->output_bytes, to),
             pack_bytes_format(r->input_bytes, from));
    for (size_t i = 0; i < r->n_sets; i++)
        put_set(&page, report, &r->sets[i]);
    put_rest(&page, r);
    if (r->was_complete)
        LINE(&page, "it was complete: nothing had to be written\n");
    if (r->is_verified)
        LINE(&page, "verified: what is rewritten holds the same in both files\n");
    return page.status;
}

/* --------------------------------------------------------------------- JSON */

static void
put_options(struct pack_json *json, const struct pack_rechunk_report *report)
{
    const struct pack_rechunk_params *p = report->params;
    pack_json_object(json, "options");
    pack_json_text(json, "input", p->input);
    pack_json_text(json, "output", p->output);
    pack_json_array(json, "datasets");
    for (size_t i = 0; i < p->n_datasets; i++)
        pack_json_text(json, NULL, p->datasets[i]);
    pack_json_close(json);
    pack_json_text(json, "advise", report->advice ? report->advice->options : NULL);
    pack_json_text(json, "chunk", p->chunk);
    pack_json_text(json, "compress", p->compress);
    pack_json_bool(json, "fletcher32", p->fletcher32);
    pack_json_text(json, "as", p->as);
    pack_json_text(json, "layout", p->layout);
    pack_json_bool(json, "shuffle", p->shuffle);
    pack_json_u64(json, "seed", p->seed);
    pack_json_u64(json, "memory_bytes", p->memory_bytes);
    pack_json_bool(json, "resume", p->resume);
    pack_json_bool(json, "dry_run", p->dry_run);
    pack_json_bool(json, "verify", p->verify);
    pack_json_close(json);
}

static void
put_storage(struct pack_json *json, const char *key, const struct pack_shape *chunk,
            const struct pack_pipeline *pipeline)
{
    char text[PACK_PIPELINE_TEXT_MAX];
    pack_json_object(json, key);
    pack_json_shape(json, "chunk", chunk);
    pack_json_text(json, "filters", pack_pipeline_format(pipeline, text));
    pack_json_close(json);
}

static void
put_json_plan(struct pack_json *json, const struct pack_rechunk_set *set)
{
    const struct pack_rechunk_plan *plan = &set->move.plan;
    pack_json_object(json, "plan");
    pack_json_bool(json, "verbatim", set->verbatim);
    pack_json_u64(json, "source_chunks", plan->source.n_chunks_total);
    pack_json_u64(json, "target_chunks", plan->target.n_chunks_total);
    pack_json_u64(json, "loads", plan->n_loads);
    pack_json_u64(json, "peak_bytes", set->move.peak_bytes);
    pack_json_u64(json, "threads", set->move.n_workers);
    pack_json_close(json);
}

static void
put_json_set(struct pack_json *json, const struct pack_rechunk_report *report,
             const struct pack_rechunk_set *set)
{
    static const struct pack_shape none;
    char type[PACK_TYPE_TEXT_MAX];
    pack_json_object(json, NULL);
    pack_json_text(json, "path", set->path);
    pack_json_text(json, "type", pack_type_format(&set->facts.type, type));
    pack_json_shape(json, "extent", &set->facts.extent);
    pack_json_text(json, "scale",
                   set->narrow ? pack_narrow_scale_name(set->narrow->scale) : NULL);
    if (set->axes)
        pack_json_text(json, "layout", pack_rechunk_is_planes(set) ? "nchw" : "nhwc");
    else
        pack_json_null(json, "layout");
    put_storage(json, "source", &set->facts.chunk, &set->facts.pipeline);
    put_storage(json, "target", set->is_contiguous ? &none : &set->chunk, &set->pipeline);
    pack_json_bool(json, "fixed", set->is_fixed);
    put_json_plan(json, set);
    if (report->result->is_written) {
        pack_json_object(json, "moved");
        pack_json_u64(json, "loads", set->moved.n_loads);
        pack_json_u64(json, "writes", set->moved.n_writes);
        pack_json_u64(json, "resumed", set->moved.n_resumed);
        pack_json_u64(json, "read_bytes", set->moved.read_bytes);
        pack_json_u64(json, "written_bytes", set->moved.written_bytes);
        pack_json_u64(json, "resumed_bytes", set->moved.resumed_bytes);
        pack_json_close(json);
    }
    pack_json_close(json);
}

static void
put_json_advice(struct pack_json *json, const struct pack_rechunk_advice *advice)
{
    if (!advice) {
        pack_json_null(json, "advice");
        return;
    }
    pack_json_object(json, "advice");
    pack_json_text(json, "text", advice->headline);
    pack_json_text(json, "change", advice->change);
    pack_json_double(json, "gain", advice->gain);
    pack_json_bool(json, "keeps", advice->keeps);
    pack_json_close(json);
}

enum pack_status
pack_report_rechunk_json(const struct pack_rechunk_report *report, struct pack_buf *buf,
                         struct pack_error *err)
{
    struct pack_json json;
    const struct pack_rechunk_result *r = report->result;
    pack_json_begin_report(&json, buf, "rechunk/1", report->program, report->version);
    put_options(&json, report);
    pack_json_object(&json, "result");
    put_json_advice(&json, report->advice);
    pack_json_bool(&json, "written", r->is_written);
    pack_json_bool(&json, "verified", r->is_verified);
    pack_json_bool(&json, "was_complete", r->was_complete);
    pack_json_u64(&json, "input_bytes", r->input_bytes);
    if (r->is_written)
        pack_json_u64(&json, "output_bytes", r->output_bytes);
    pack_json_array(&json, "datasets");
    for (size_t i = 0; i < r->n_sets; i++)
        put_json_set(&json, report, &r->sets[i]);
    pack_json_close(&json);
    pack_json_object(&json, "carried_over");
    pack_json_u64(&json, "datasets", r->counts.n_datasets - r->n_sets);
    pack_json_u64(&json, "groups", r->counts.n_groups);
    pack_json_u64(&json, "types", r->counts.n_types);
    pack_json_u64(&json, "attributes", r->counts.n_attributes);
    pack_json_u64(&json, "links", r->counts.n_links);
    pack_json_u64(&json, "null_references", r->counts.n_null_references);
    pack_json_close(&json);
    pack_json_close(&json);
    pack_json_close(&json);
    return pack_json_end(&json, err);
}
