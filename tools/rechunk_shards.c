/* h5rechunk --split and --join: nothing but files in and files out. */
#include "config.h"

#include "tools/cli.h"
#include "tools/rechunk_shards.h"

enum pack_status
rechunk_shards(const struct pack_shards_params *params, bool json, bool quiet,
               struct pack_error *err)
{
    struct cli_progress progress = { 0 };
    struct pack_shards_params p = *params;
    struct pack_shards_result result = { .shards = NULL };
    struct pack_buf text = { 0 };
    p.watch = cli_watch(&progress);
    enum pack_status status = pack_shards(&p, &result, err);
    cli_progress_end(&progress);
    const struct pack_shards_report report = { .program = "h5rechunk",
                                               .version = PACKAGE_VERSION,
                                               .params = &p,
                                               .result = &result };
    if (status == PACK_OK && (json || !quiet))
        status = json ? pack_report_shards_json(&report, &text, err)
                      : pack_report_shards_text(&report, &text, err);
    if (status == PACK_OK && (json || !quiet))
        cli_print(&text);
    pack_buf_done(&text);
    pack_shards_result_done(&result);
    return status;
}
