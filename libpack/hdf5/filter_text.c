/* Names of filters and texts of pipelines. */
#include <libpack/dataset.h>
#include "libpack/base/check.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GZIP_LEVEL = 4, ZSTD_LEVEL = 3, ZSTD_LEVEL_MIN = -50, ZSTD_LEVEL_MAX = 22 };

/* Registered filters that occur in the field, and what people install to read them. */
static const struct {
    uint32_t id;
    const char *name, *package;
} registered[] = {
    { PACK_FILTER_DEFLATE, "gzip", "an HDF5 built with zlib" },
    { PACK_FILTER_SHUFFLE, "shuffle", "any HDF5" },
    { PACK_FILTER_FLETCHER32, "fletcher32", "any HDF5" },
    { 4, "szip", "an HDF5 built with libaec" },
    { 5, "nbit", "any HDF5" },
    { 6, "scaleoffset", "any HDF5" },
    { 305, "lzo", "PyTables" },
    { 307, "bzip2", "import hdf5plugin" },
    { PACK_FILTER_LZF, "lzf", "import h5py, or Debian's hdf5-plugin-lzf" },
    { 32001, "blosc", "import hdf5plugin" },
    { 32004, "lz4", "import hdf5plugin" },
    { 32008, "bitshuffle", "import hdf5plugin" },
    { 32013, "zfp", "import hdf5plugin" },
    { PACK_FILTER_ZSTD, "zstd", "import hdf5plugin" },
    { 32017, "sz", "import hdf5plugin" },
    { 32018, "fcidecomp", "import hdf5plugin" },
    { 32019, "jpeg", "the HDF Group's hdf5_plugins" },
    { 32024, "sz3", "import hdf5plugin" },
    { 32026, "blosc2", "import hdf5plugin" },
    { 32028, "sperr", "import hdf5plugin" },
};

const char *
pack_filter_name(uint32_t id)
{
    for (size_t i = 0; i < sizeof registered / sizeof registered[0]; i++)
        if (registered[i].id == id)
            return registered[i].name;
    return NULL;
}

char *
pack_filter_need(uint32_t id, char *text)
{
    if (!text)
        return NULL;
    snprintf(text, PACK_FILTER_NEED_MAX, "needs filter %u, which has no usual package",
             id);
    for (size_t i = 0; i < sizeof registered / sizeof registered[0]; i++)
        if (registered[i].id == id)
            snprintf(text, PACK_FILTER_NEED_MAX, "needs filter %u (%s): %s", id,
                     registered[i].name, registered[i].package);
    return text;
}

char *
pack_pipeline_format(const struct pack_pipeline *pipeline, char *text)
{
    size_t used = 0;
    if (!text)
        return NULL;
    if (!pipeline || pipeline->n < 0 || pipeline->n > PACK_PIPELINE_MAX)
        return strcpy(text, "unknown");
    if (pipeline->n == 0)
        return strcpy(text, "none");
    for (int i = 0; i < pipeline->n; i++) {
        const struct pack_filter *filter = &pipeline->filter[i];
        const char *name = pack_filter_name(filter->id);
        char stage[64];
        int n = name ? snprintf(stage, sizeof stage, "%s", name)
                     : snprintf(stage, sizeof stage, "filter-%u", filter->id);
        bool has_level =
            filter->id == PACK_FILTER_DEFLATE || filter->id == PACK_FILTER_ZSTD;
        if (has_level && filter->n_cd > 0)
            n += snprintf(stage + n, sizeof stage - (size_t)n, ":%d", (int)filter->cd[0]);
        if (used + (size_t)n + sizeof "+..." > PACK_PIPELINE_TEXT_MAX)
            return strcpy(text + used, "+...") - used;
        used += (size_t)sprintf(text + used, "%s%s", i ? "+" : "", stage);
    }
    return text;
}

enum pack_status
pack_pipeline_add(struct pack_pipeline *pipeline, uint32_t id, uint32_t flags,
                  uint32_t n_cd, const uint32_t *cd, struct pack_error *err)
{
    if (!pipeline || (n_cd > 0 && !cd))
        return pack_check_given(err, "pipeline", pipeline, "cd", cd, NULL);
    if (pipeline->n < 0 || pipeline->n > PACK_PIPELINE_MAX)
        return pack_check_choice("pipeline", pipeline->n, PACK_PIPELINE_MAX + 1, err);
    if (pipeline->n == PACK_PIPELINE_MAX)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "pipeline",
                               "more than %d filters", PACK_PIPELINE_MAX);
    if (n_cd > PACK_FILTER_CD_MAX)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "n_cd",
                               "a filter with more than %d parameters",
                               PACK_FILTER_CD_MAX);
    struct pack_filter *filter = &pipeline->filter[pipeline->n++];
    *filter = (struct pack_filter){ .id = id, .flags = flags, .n_cd = n_cd };
    if (n_cd > 0)
        memcpy(filter->cd, cd, n_cd * sizeof *cd);
    return PACK_OK;
}

/* What may be named on a command line. */
static const struct {
    const char *name;
    uint32_t id, flags;
    bool has_level;
    long level, level_min, level_max;
} stages[] = {
    { "gzip", PACK_FILTER_DEFLATE, PACK_FILTER_OPTIONAL, true, GZIP_LEVEL, 0, 9 },
    { "deflate", PACK_FILTER_DEFLATE, PACK_FILTER_OPTIONAL, true, GZIP_LEVEL, 0, 9 },
    { "zstd", PACK_FILTER_ZSTD, PACK_FILTER_OPTIONAL, true, ZSTD_LEVEL, ZSTD_LEVEL_MIN,
      ZSTD_LEVEL_MAX },
    { "shuffle", PACK_FILTER_SHUFFLE, PACK_FILTER_OPTIONAL, false, 0, 0, 0 },
    { "fletcher32", PACK_FILTER_FLETCHER32, 0, false, 0, 0, 0 },
};

/* One stage: `size` characters of text. */
static enum pack_status
parse_stage(const char *text, size_t size, uint32_t element_bytes,
            struct pack_pipeline *pipeline, struct pack_error *err)
{
    const char *colon = memchr(text, ':', size);
    size_t name_size = colon ? (size_t)(colon - text) : size;
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        if (strlen(stages[i].name) != name_size ||
            memcmp(stages[i].name, text, name_size) != 0)
            continue;
        long value = stages[i].has_level ? stages[i].level : (long)element_bytes;
        if (colon) {
            char *end;
            if (!stages[i].has_level)
                return pack_fail(err, PACK_ERR_ARGUMENT, "%s takes no level",
                                 stages[i].name);
            value = strtol(colon + 1, &end, 10);
            bool is_number = colon[1] == '-' ? isdigit((unsigned char)colon[2])
                                             : isdigit((unsigned char)colon[1]);
            if (!is_number || end != text + size || value < stages[i].level_min ||
                value > stages[i].level_max)
                return pack_fail(err, PACK_ERR_ARGUMENT,
                                 "%s level '%.*s' is not a number from %ld to %ld",
                                 stages[i].name, (int)(text + size - colon - 1),
                                 colon + 1, stages[i].level_min, stages[i].level_max);
        }
        uint32_t cd = (uint32_t)value;
        return pack_pipeline_add(pipeline, stages[i].id, stages[i].flags,
                                 stages[i].id != PACK_FILTER_FLETCHER32, &cd, err);
    }
    return pack_fail(err, PACK_ERR_ARGUMENT,
                     "'%.*s' is not none, gzip, zstd, shuffle or fletcher32",
                     (int)(size < 80 ? size : 80), text);
}

enum pack_status
pack_pipeline_parse(const char *text, uint32_t element_bytes,
                    struct pack_pipeline *pipeline, struct pack_error *err)
{
    struct pack_pipeline parsed = { 0 };
    enum pack_status status = PACK_OK;
    if (!text || !pipeline)
        return pack_check_given(err, "text", text, "pipeline", pipeline, NULL);
    if (element_bytes == 0)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "element_bytes",
                               "elements have no bytes");
    if (strcmp(text, "none") != 0)
        for (const char *at = text; !status; at++) {
            size_t size = strcspn(at, "+");
            status = parse_stage(at, size, element_bytes, &parsed, err);
            at += size;
            if (*at == '\0')
                break;
        }
    if (!status)
        *pipeline = parsed;
    return status;
}
