/* Whether options agree with those that an existing file was packed with. */
#include "tools/pack_stored.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libpack/base/buf.h"
#include "libpack/base/json.h"
#include "libpack/convert/convert_options.h"
#include "libpack/hdf5/filter.h"
#include "tools/cli.h"

/* Options that decide what a file holds, and their keys in what is stored of them. */
static const struct {
    const char *option, *key;
} stored_options[] = {
    { "size", "size" },
    { "fit", "fit" },
    { "shorter", "shorter" },
    { "crop", "crop" },
    { "resample", "resample" },
    { "layout", "layout" },
    { "gray", "mode" },
    { "no-exif-orientation", "exif_orientation" },
    { "background", "background" },
    { "max-pixels", "max_pixels" },
    { "max-file", "max_file_bytes" },
    { "scale16", "scale16" },
    { "strict", "strict" },
    { "draft", "draft" },
    { "chunk", "chunk" },
    { "for", "for" },
    { "compress", "compress" },
    { "fletcher32", "compress" },
    { "libver", "libver" },
    { "on-error", "on_error" },
    { "shuffle", "shuffle" },
    { "seed", "seed" },
    { "limit", "limit" },
};

static bool
same_value(const struct pack_json_value *a, const struct pack_json_value *b)
{
    if (!a || !b || a->kind != b->kind)
        return !a && !b;
    switch (a->kind) {
    case PACK_JSON_TEXT: return strcmp(a->text, b->text) == 0;
    case PACK_JSON_BOOL: return a->truth == b->truth;
    default: return a->natural == b->natural;
    }
}

/* "size 16x16"; "no size". */
static const char *
stored_text(const char *key, const struct pack_json_value *value, char text[128])
{
    if (!value)
        snprintf(text, 128, "no %s", key);
    else if (value->kind == PACK_JSON_TEXT)
        snprintf(text, 128, "%s %.80s", key, value->text);
    else if (value->kind == PACK_JSON_BOOL)
        snprintf(text, 128, "%s %s", key, value->truth ? "true" : "false");
    else
        snprintf(text, 128, "%s %" PRIu64, key, value->natural);
    return text;
}

static enum pack_status
read_back(const struct pack_convert_options *options, struct pack_json_doc **doc,
          const struct pack_json_value **root, struct pack_error *err)
{
    struct pack_buf text = { 0 };
    enum pack_status status = pack_convert_options_text(options, &text, err);
    if (status == PACK_OK)
        status = pack_json_parse((const char *)text.data, text.size, doc, root, err);
    pack_buf_done(&text);
    return status;
}

enum pack_status
pack_stored_check(const struct pack_args *args, const struct pack_convert_options *stored,
                  struct pack_error *err)
{
    struct pack_convert_options given;
    struct pack_json_doc *given_doc = NULL, *stored_doc = NULL;
    const struct pack_json_value *given_root = NULL, *stored_root = NULL;
    char text[128];
    const struct pack_pipeline *was_filtered = &stored->pipeline;
    bool sums = was_filtered->n > 0 &&
                was_filtered->filter[was_filtered->n - 1].id == PACK_FILTER_FLETCHER32;
    enum pack_status status = pack_args_options(args, &given, err);
    /* two options of one key: what of them is not given is as it was */
    if (status == PACK_OK && sums && !cli_is_given("compress"))
        given.pipeline = *was_filtered;
    else if (status == PACK_OK && sums && !args->fletcher32)
        status = pack_pipeline_add(&given.pipeline, PACK_FILTER_FLETCHER32, 0, 0, NULL, err);
    if (status == PACK_OK)
        status = read_back(&given, &given_doc, &given_root, err);
    if (status == PACK_OK)
        status = read_back(stored, &stored_doc, &stored_root, err);
    for (size_t i = 0;
         status == PACK_OK && i < sizeof stored_options / sizeof *stored_options; i++) {
        const char *key = stored_options[i].key;
        const struct pack_json_value *was = pack_json_find(stored_root, key);
        if (cli_is_given(stored_options[i].option) &&
            !same_value(pack_json_find(given_root, key), was))
            status = pack_fail(err, PACK_ERR_ARGUMENT,
                               "--%s: '%.600s' was packed with %s, and is verified with "
                               "the options that it was packed with",
                               stored_options[i].option, args->output,
                               stored_text(key, was, text));
    }
    pack_json_free(given_doc);
    pack_json_free(stored_doc);
    return status;
}
