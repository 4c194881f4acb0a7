/* The words of --pattern, --rank and --read. */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include <libpack/pattern.h>
#include "libpack/base/check.h"
#include "libpack/base/size.h"

static const char *const kind_names[] = {
    [PACK_PATTERN_SEQUENTIAL] = "sequential",
    [PACK_PATTERN_SHUFFLE] = "shuffle",
    [PACK_PATTERN_BLOCK] = "block",
    [PACK_PATTERN_BUFFER] = "buffer",
    [PACK_PATTERN_REPLACEMENT] = "replacement",
    [PACK_PATTERN_WEIGHTED] = "weighted",
    [PACK_PATTERN_TRACE] = "trace",
};
enum { N_KINDS = sizeof kind_names / sizeof kind_names[0] };

static const char *const mode_names[] = {
    [PACK_READ_SAMPLE] = "sample",
    [PACK_READ_BATCH] = "batch",
    [PACK_READ_SPAN] = "span",
};
enum { N_MODES = sizeof mode_names / sizeof mode_names[0] };

const char *
pack_pattern_name(enum pack_pattern_kind kind)
{
    return (size_t)kind < N_KINDS ? kind_names[kind] : "unknown";
}

const char *
pack_read_mode_name(enum pack_read_mode mode)
{
    return (size_t)mode < N_MODES ? mode_names[mode] : "unknown";
}

/* The index of a name of `size` bytes, or -1. */
static int
find_name(const char *const *names, size_t n_names, const char *text, size_t size)
{
    for (size_t i = 0; i < n_names; i++)
        if (strlen(names[i]) == size && memcmp(names[i], text, size) == 0)
            return (int)i;
    return -1;
}

/* What a key's value goes into; FILE values extend to the end of the text, and LOCAL has
 * none. */
enum value_kind { VALUE_COUNT, VALUE_POOL, VALUE_LOCAL, VALUE_FILE };

static const struct key {
    enum pack_pattern_kind kind;
    const char *name;
    enum value_kind value;
    size_t offset; /* of a count's member in struct pack_pattern */
} keys[] = {
    { PACK_PATTERN_BLOCK, "chunks", VALUE_COUNT,
      offsetof(struct pack_pattern, pool_chunks) },
    { PACK_PATTERN_BLOCK, "pool", VALUE_POOL, 0 },
    { PACK_PATTERN_BLOCK, "local", VALUE_LOCAL, 0 },
    { PACK_PATTERN_BUFFER, "samples", VALUE_COUNT,
      offsetof(struct pack_pattern, buffer_samples) },
    { PACK_PATTERN_REPLACEMENT, "draws", VALUE_COUNT,
      offsetof(struct pack_pattern, draws) },
    { PACK_PATTERN_WEIGHTED, "draws", VALUE_COUNT, offsetof(struct pack_pattern, draws) },
    { PACK_PATTERN_WEIGHTED, "by", VALUE_FILE, 0 },
};

static const struct key *
find_key(enum pack_pattern_kind kind, const char *text, size_t size)
{
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (keys[i].kind == kind && strlen(keys[i].name) == size &&
            memcmp(keys[i].name, text, size) == 0)
            return &keys[i];
    return NULL;
}

static enum pack_status
bad_key(enum pack_pattern_kind kind, const char *text, size_t size,
        struct pack_error *err)
{
    char known[80] = "";
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (keys[i].kind == kind) {
            if (known[0])
                strcat(known, " or ");
            strcat(strcat(known, keys[i].name),
                   keys[i].value == VALUE_LOCAL ? "" : "=");
        }
    if (!known[0])
        return pack_fail(err, PACK_ERR_ARGUMENT, "pattern %s takes nothing after ':'",
                         kind_names[kind]);
    return pack_fail(err, PACK_ERR_ARGUMENT, "pattern %s takes %s, not '%.*s'",
                     kind_names[kind], known, size > 40 ? 40 : (int)size, text);
}

static enum pack_status
parse_count(const struct key *key, const char *text, size_t size,
            struct pack_pattern *pattern, struct pack_error *err)
{
    char digits[32];
    uint64_t value = 0;
    if (size >= sizeof digits)
        size = sizeof digits - 1;
    memcpy(digits, text, size);
    digits[size] = '\0';
    enum pack_status status = pack_u64_parse(digits, UINT64_C(1) << 62, &value, err);
    if (status == PACK_OK && value == 0)
        status = pack_fail(err, PACK_ERR_ARGUMENT, "0 is too few");
    if (status)
        return pack_error_prefix(err, status, "pattern %s, %s", kind_names[key->kind],
                                 key->name);
    memcpy((char *)pattern + key->offset, &value, sizeof value);
    return PACK_OK;
}

static enum pack_status
parse_pool(const char *text, size_t size, struct pack_pattern *pattern,
           struct pack_error *err)
{
    static const char *const pools[] = { "refill", "slide" };
    int pool = find_name(pools, 2, text, size);
    if (pool < 0)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "pattern block, pool: '%.*s' is neither refill nor slide",
                         size > 40 ? 40 : (int)size, text);
    pattern->slide = pool == 1;
    return PACK_OK;
}

static enum pack_status
parse_file(const char *text, struct pack_pattern *pattern, struct pack_error *err)
{
    if (*text == '\0')
        return pack_fail(err, PACK_ERR_ARGUMENT, "pattern %s needs the name of a file",
                         kind_names[pattern->kind]);
    pattern->file = text;
    return PACK_OK;
}

/* "key=value,key=value"; moves through the text. */
static enum pack_status
parse_keys(const char *text, struct pack_pattern *pattern, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    while (status == PACK_OK && text) {
        size_t name_size = strcspn(text, "=,"), size;
        const struct key *key = find_key(pattern->kind, text, name_size);
        if (!key || (text[name_size] == '=') == (key->value == VALUE_LOCAL))
            return bad_key(pattern->kind, text, name_size, err);
        if (key->value == VALUE_LOCAL) {
            pattern->local = true;
            text = text[name_size] == ',' ? text + name_size + 1 : NULL;
            continue;
        }
        const char *value = text + name_size + 1;
        if (key->value == VALUE_FILE)
            return parse_file(value, pattern, err);
        size = strcspn(value, ",");
        if (key->value == VALUE_POOL)
            status = parse_pool(value, size, pattern, err);
        else
            status = parse_count(key, value, size, pattern, err);
        text = value[size] == ',' ? value + size + 1 : NULL;
    }
    return status;
}

enum pack_status
pack_pattern_parse(const char *text, struct pack_pattern *pattern, struct pack_error *err)
{
    if (!text || !pattern)
        return pack_check_given(err, "text", text, "pattern", pattern, NULL);
    size_t size = strcspn(text, ":");
    int kind = find_name(kind_names, N_KINDS, text, size);
    struct pack_pattern parsed = *pattern;
    enum pack_status status = PACK_OK;
    if (kind < 0)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "'%.60s' is not a pattern: sequential, shuffle, block, buffer, "
                         "replacement, weighted or trace",
                         text);
    parsed.kind = (enum pack_pattern_kind)kind;
    parsed.file = NULL;
    parsed.pool_chunks = parsed.buffer_samples = parsed.draws = 0;
    parsed.slide = parsed.local = false;
    if (parsed.kind == PACK_PATTERN_TRACE)
        status = parse_file(text[size] ? text + size + 1 : "", &parsed, err);
    else if (text[size] == ':')
        status = parse_keys(text + size + 1, &parsed, err);
    if (status == PACK_OK && parsed.local && parsed.slide)
        status = pack_fail(err, PACK_ERR_ARGUMENT,
                           "pattern block, local: pools are refilled, they cannot slide");
    if (status == PACK_OK && parsed.kind == PACK_PATTERN_WEIGHTED && !parsed.file)
        status = pack_fail(err, PACK_ERR_ARGUMENT,
                           "pattern weighted needs by=FILE, a weight for each sample");
    if (status == PACK_OK)
        *pattern = parsed;
    return status;
}

enum pack_status
pack_pattern_parse_rank(const char *text, struct pack_pattern *pattern,
                        struct pack_error *err)
{
    char digits[24] = "";
    uint64_t rank, world;
    if (!text || !pattern)
        return pack_check_given(err, "text", text, "pattern", pattern, NULL);
    size_t size = strcspn(text, "/");
    if (size < sizeof digits)
        memcpy(digits, text, size);
    if (text[size] != '/' || pack_u64_parse(digits, UINT32_MAX, &rank, NULL) ||
        pack_u64_parse(text + size + 1, UINT32_MAX, &world, NULL))
        return pack_fail(err, PACK_ERR_ARGUMENT, "'%.40s' is not a rank like 0/8", text);
    if (rank >= world)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "rank %" PRIu64 " of %" PRIu64
                         " does not exist: ranks count from 0",
                         rank, world);
    pattern->rank = rank;
    pattern->world = world;
    return PACK_OK;
}

enum pack_status
pack_read_mode_parse(const char *text, enum pack_read_mode *mode, struct pack_error *err)
{
    if (!text || !mode)
        return pack_check_given(err, "text", text, "mode", mode, NULL);
    int found = find_name(mode_names, N_MODES, text, strlen(text));
    if (found < 0)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "'%.40s' is not a way to read a batch: sample, batch or span",
                         text);
    *mode = (enum pack_read_mode)found;
    return PACK_OK;
}
