/* What was split or joined, in both forms. */
#include <inttypes.h>

#include "libpack/base/json.h"
#include "libpack/base/name.h"
#include "libpack/base/numbers.h"
#include "libpack/base/page.h"
#include "libpack/rechunk/shards.h"

enum pack_status
pack_report_shards_text(const struct pack_shards_report *report, struct pack_buf *buf,
                        struct pack_error *err)
{
    struct page page = { buf, PACK_OK, err };
    const struct pack_shards_result *r = report->result;
    const struct pack_shards_params *p = report->params;
    char name[PACK_NAME_TEXT_MAX], bytes[PACK_BYTES_TEXT_MAX];
    if (r->is_written)
        LINE(&page, "%s: %s in all\n", pack_name_text(p->output, name),
             pack_bytes_format(r->output_bytes, bytes));
    LINE(&page, "%s %s", pack_counted(r->counts.n_pieces, "dataset", "datasets").text,
         p->split ? "split" : "joined");
    if (r->n_shards > 0)
        LINE(&page, ", %s %s %s", pack_counted(r->n_rows, "row", "rows").text,
             p->split ? "in" : "of", pack_counted(r->n_shards, "file", "files").text);
    LINE(&page, "\n");
    for (size_t i = 0; i < r->n_shards; i++)
        LINE(&page, "  %s  rows %" PRIu64 " to %" PRIu64 "\n",
             pack_name_text(r->shards[i].path, name), r->shards[i].first,
             r->shards[i].end - 1);
    if (r->n_absent > 0)
        LINE(&page, "%s of the set %s not among them\n",
             pack_counted(r->n_absent, "shard", "shards").text,
             r->n_absent == 1 ? "is" : "are");
    for (size_t i = 0; i < r->n_earlier; i++) {
        const struct pack_shard_earlier *one = &r->earlier[i];
        LINE(&page, "  %s  ", pack_name_text(one->path, name));
        if (one->is_removed)
            LINE(&page, "of an earlier set, %s\n", p->dry_run ? "to be removed" : "removed");
        else
            LINE(&page, "left, though its name is a shard's: %s\n", one->why);
    }
    return page.status;
}

static void
put_options(struct pack_json *json, const struct pack_shards_params *p)
{
    pack_json_object(json, "options");
    pack_json_array(json, "inputs");
    for (size_t i = 0; i < p->n_inputs; i++)
        pack_json_text(json, NULL, p->inputs[i]);
    pack_json_close(json);
    pack_json_text(json, "output", p->output);
    pack_json_text(json, "dataset", p->dataset);
    pack_json_text(json, "split", p->split);
    pack_json_bool(json, "join", !p->split);
    pack_json_u64(json, "memory_bytes", p->memory_bytes);
    pack_json_bool(json, "dry_run", p->dry_run);
    pack_json_close(json);
}

enum pack_status
pack_report_shards_json(const struct pack_shards_report *report, struct pack_buf *buf,
                        struct pack_error *err)
{
    struct pack_json json;
    const struct pack_shards_result *r = report->result;
    pack_json_begin_report(&json, buf, "rechunk_shards/1", report->program, report->version);
    put_options(&json, report->params);
    pack_json_object(&json, "result");
    pack_json_bool(&json, "written", r->is_written);
    pack_json_u64(&json, "datasets", r->counts.n_pieces);
    pack_json_u64(&json, "rows", r->n_rows);
    pack_json_u64(&json, "output_bytes", r->output_bytes);
    pack_json_array(&json, "files");
    for (size_t i = 0; i < r->n_shards; i++) {
        pack_json_object(&json, NULL);
        pack_json_text(&json, "path", r->shards[i].path);
        pack_json_u64(&json, "first", r->shards[i].first);
        pack_json_u64(&json, "rows", r->shards[i].end - r->shards[i].first);
        pack_json_close(&json);
    }
    pack_json_close(&json);
    pack_json_u64(&json, "absent", r->n_absent);
    pack_json_array(&json, "earlier");
    for (size_t i = 0; i < r->n_earlier; i++) {
        pack_json_object(&json, NULL);
        pack_json_text(&json, "path", r->earlier[i].path);
        pack_json_bool(&json, "removed", r->earlier[i].is_removed && r->is_written);
        pack_json_text(&json, "left_because", r->earlier[i].why);
        pack_json_close(&json);
    }
    pack_json_close(&json);
    pack_json_close(&json);
    pack_json_close(&json);
    return pack_json_end(&json, err);
}
