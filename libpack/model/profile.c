/*
 * Profiles are data: one table of named machines, one table of terms that drives reading
 * and writing of the JSON form.
 */
#include "libpack/model/profile_terms.h"

#include <math.h>
#include <string.h>

#include "libpack/base/check.h"
#include "libpack/base/json.h"

#define TERM(k, u, m)                                                                  \
    {                                                                                  \
        .key = #k, .unit = u, .meaning = m, .offset = offsetof(struct pack_profile, k) \
    }

/* Two since reads of several boxes are counted by element, not by box. */
#define PROFILE_SCHEMA "profile/2"

static const struct pack_profile_term terms[] = {
    TERM(call_ns, "ns", "one H5Dread of one box in one cached chunk"),
    TERM(chunk_ns, "ns", "each further chunk of the same H5Dread"),
    TERM(far_ns, "ns", "finding a chunk that left the processor's caches"),
    TERM(run_ns, "ns", "each further contiguous run that is copied"),
    TERM(miss_ns, "ns", "bookkeeping of one load or direct visit"),
    TERM(place_ns, "ns/byte", "loading into memory beyond the processor's caches"),
    TERM(piece_ns, "ns", "each further piece read past the cache"),
    TERM(walk_ns, "ns", "each entry that an eviction looks at"),
    TERM(walk_far_ns, "ns", "the same in lists beyond the processor's caches"),
    TERM(box_ns, "ns", "each further box of a selection"),
    TERM(elem_ns, "ns", "each element of a selection of several boxes"),
    TERM(elem_axis_ns, "ns", "the same, for each dimension beyond two"),
    TERM(open_ns, "ns", "opening and closing the dataset by name"),
    TERM(slot_ns, "ns", "the same, for each slot of the cache"),
    TERM(touch_ns, "ns/byte", "memory used for the first time"),
    TERM(gzip_decode_ns, "ns/byte", "decoding gzip"),
    TERM(gzip_encode_ns, "ns/byte", "encoding gzip, level 4"),
    TERM(zstd_decode_ns, "ns/byte", "decoding zstd"),
    TERM(zstd_encode_ns, "ns/byte", "encoding zstd, level 3"),
    TERM(shuffle_decode_ns, "ns/byte", "undoing the shuffle filter"),
    TERM(fletcher32_decode_ns, "ns/byte", "verifying fletcher32"),
    TERM(latency_ns, "ns", "one small read from storage"),
    TERM(stream_bytes_per_s, "bytes/s", "large reads, one reader"),
    TERM(max_bytes_per_s, "bytes/s", "any number of readers"),
    TERM(max_reads_per_s, "1/s", "small reads, any number of readers"),
};

enum { N_TERMS = sizeof terms / sizeof *terms };

#define VALUE_MAX 1e18

/* The processor's part of the named profiles, see profile.h. */
static const struct pack_profile processor = {
    .n_cpus = 8,
    .call_ns = 1000,
    .chunk_ns = 550,
    .far_ns = 1250,
    .run_ns = 5,
    .miss_ns = 850,
    .piece_ns = 180,
    .place_ns = 0.04,
    .walk_ns = 7.5,
    .walk_far_ns = 23,
    .box_ns = 1500,
    .elem_ns = 30,
    .elem_axis_ns = 17,
    .open_ns = 7200,
    .slot_ns = 0.35,
    .touch_ns = 0.35,
    .copy = { .n = 6,
              .bytes = { 64 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 512 << 20 },
              .value = { 0.01, 0.022, 0.035, 0.05, 0.11, 0.12 } },
    .page = { .n = 7,
              .bytes = { 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20,
                         8 << 20 },
              .value = { 1400, 1700, 4000, 9000, 33000, 125000, 1085000 } },
    .gzip_decode_ns = 5,
    .gzip_encode_ns = 21,
    .zstd_decode_ns = 1,
    .zstd_encode_ns = 1.2,
    .shuffle_decode_ns = 0.28,
    .fletcher32_decode_ns = 0.22,
};

static const struct storage {
    const char *name, *description;
    double latency_ns, stream_bytes_per_s, max_bytes_per_s, max_reads_per_s;
} storages[] = {
    { "nvme", "local NVMe drive", 90e3, 1.5e9, 3.0e9, 300e3 },
    { "sata-ssd", "SATA solid-state drive", 150e3, 450e6, 530e6, 70e3 },
    { "hdd", "one rotating disk", 10e6, 150e6, 150e6, 120 },
    { "nfs", "network file system over 10 Gbit/s", 600e3, 350e6, 1.1e9, 20e3 },
};

enum { N_STORAGES = sizeof storages / sizeof *storages };

const char *
pack_profile_name(size_t i, const char **description)
{
    if (i >= N_STORAGES)
        return NULL;
    if (description)
        *description = storages[i].description;
    return storages[i].name;
}

enum pack_status
pack_profile_named(const char *name, struct pack_profile *profile, struct pack_error *err)
{
    if (!name || !profile)
        return pack_check_given(err, "name", name, "profile", profile, NULL);
    for (size_t i = 0; i < N_STORAGES; i++) {
        if (strcmp(name, storages[i].name) != 0)
            continue;
        *profile = processor;
        strcpy(profile->name, name);
        profile->latency_ns = storages[i].latency_ns;
        profile->stream_bytes_per_s = storages[i].stream_bytes_per_s;
        profile->max_bytes_per_s = storages[i].max_bytes_per_s;
        profile->max_reads_per_s = storages[i].max_reads_per_s;
        return PACK_OK;
    }
    return pack_fail(
        err, PACK_ERR_NOT_FOUND,
        "no storage is called '%.80s': nvme, sata-ssd, hdd, nfs, or the file of "
        "a measured profile",
        name);
}

static bool
is_curve(const struct pack_profile_curve *curve)
{
    if (curve->n < 1 || curve->n > PACK_PROFILE_POINTS_MAX)
        return false;
    for (int i = 0; i < curve->n; i++)
        if (!(curve->bytes[i] > (i ? curve->bytes[i - 1] : 0) &&
              curve->bytes[i] < VALUE_MAX && curve->value[i] > 0 &&
              curve->value[i] < VALUE_MAX))
            return false;
    return true;
}

enum pack_status
pack_profile_check(const struct pack_profile *profile, struct pack_error *err)
{
    enum pack_status status = pack_check_given(err, "profile", profile, NULL);
    if (status != PACK_OK)
        return status;
    bool good = profile->n_cpus >= 1 && is_curve(&profile->copy) &&
                is_curve(&profile->page) &&
                memchr(profile->name, '\0', sizeof profile->name) != NULL;
    for (size_t i = 0; i < N_TERMS && good; i++) {
        double value = *(const double *)((const char *)profile + terms[i].offset);
        good = value > 0 && value < VALUE_MAX;
    }
    return good ? PACK_OK
                : pack_fail_param(err, PACK_ERR_ARGUMENT, "profile",
                                  "the profile has terms that are not positive numbers");
}

const struct pack_profile_term *
pack_profile_term(size_t i)
{
    return i < N_TERMS ? &terms[i] : NULL;
}

double
pack_profile_at(const struct pack_profile_curve *curve, double bytes)
{
    if (curve->n == 1 || bytes <= curve->bytes[0])
        return curve->value[0];
    int i = 1;
    while (i < curve->n - 1 && bytes > curve->bytes[i])
        i++;
    double t =
        log(bytes / curve->bytes[i - 1]) / log(curve->bytes[i] / curve->bytes[i - 1]);
    return curve->value[i - 1] * pow(curve->value[i] / curve->value[i - 1], t);
}

/* -------------------------------------------------------------------- JSON */

static void
print_curve(struct pack_json *json, const char *key,
            const struct pack_profile_curve *curve)
{
    pack_json_array(json, key);
    for (int i = 0; i < curve->n; i++) {
        pack_json_array(json, NULL);
        pack_json_double(json, NULL, curve->bytes[i]);
        pack_json_double(json, NULL, curve->value[i]);
        pack_json_close(json);
    }
    pack_json_close(json);
}

enum pack_status
pack_profile_print(const struct pack_profile *profile, struct pack_buf *buf,
                   struct pack_error *err)
{
    struct pack_json json;
    pack_json_begin(&json, buf);
    pack_json_object(&json, NULL);
    pack_json_text(&json, "schema", PROFILE_SCHEMA);
    pack_json_text(&json, "name", profile->name);
    pack_json_bool(&json, "is_measured", profile->is_measured);
    pack_json_u64(&json, "n_cpus", profile->n_cpus);
    for (size_t i = 0; i < N_TERMS; i++)
        pack_json_double(&json, terms[i].key,
                         *(const double *)((const char *)profile + terms[i].offset));
    print_curve(&json, "copy_ns_by_bytes", &profile->copy);
    print_curve(&json, "page_ns_by_bytes", &profile->page);
    pack_json_close(&json);
    return pack_json_end(&json, err);
}

static bool
is_positive(const struct pack_json_value *value)
{
    return value && value->kind == PACK_JSON_NUMBER && isfinite(value->number) &&
           value->number > 0 && value->number < VALUE_MAX;
}

static enum pack_status
parse_curve(const struct pack_json_value *root, const char *key,
            struct pack_profile_curve *curve, struct pack_error *err)
{
    const struct pack_json_value *list = pack_json_find(root, key), *point;
    if (!list || list->kind != PACK_JSON_ARRAY || list->n < 1 ||
        list->n > PACK_PROFILE_POINTS_MAX)
        return pack_fail(err, PACK_ERR_FORMAT, "profile needs \"%s\" with 1 to %d points",
                         key, PACK_PROFILE_POINTS_MAX);
    curve->n = 0;
    for (point = list->first; point; point = point->next) {
        double *bytes = curve->bytes + curve->n;
        if (point->kind != PACK_JSON_ARRAY || point->n != 2 ||
            !is_positive(point->first) || !is_positive(point->first->next))
            return pack_fail(err, PACK_ERR_FORMAT,
                             "point %d of \"%s\" is not a pair of positive numbers",
                             curve->n + 1, key);
        bytes[0] = point->first->number;
        if (curve->n && bytes[0] <= bytes[-1])
            return pack_fail(err, PACK_ERR_FORMAT, "the bytes of \"%s\" do not ascend",
                             key);
        curve->value[curve->n++] = point->first->next->number;
    }
    return PACK_OK;
}

static enum pack_status
parse_root(const struct pack_json_value *root, struct pack_profile *profile,
           struct pack_error *err)
{
    const struct pack_json_value *value = pack_json_find(root, "schema");
    if (!value || value->kind != PACK_JSON_TEXT || strcmp(value->text, PROFILE_SCHEMA) != 0)
        return pack_fail(err, PACK_ERR_FORMAT,
                         "not a machine profile: \"schema\" is not \"" PROFILE_SCHEMA "\"");
    value = pack_json_find(root, "name");
    if (!value || value->kind != PACK_JSON_TEXT ||
        strlen(value->text) >= PACK_PROFILE_NAME_MAX)
        return pack_fail(err, PACK_ERR_FORMAT,
                         "profile needs a \"name\" of up to %d bytes",
                         PACK_PROFILE_NAME_MAX - 1);
    strcpy(profile->name, value->text);
    value = pack_json_find(root, "is_measured");
    profile->is_measured = value && value->truth;
    value = pack_json_find(root, "n_cpus");
    if (!is_positive(value) || !value->is_integer || value->number > 1e6)
        return pack_fail(err, PACK_ERR_FORMAT, "profile needs \"n_cpus\", 1 to 1000000");
    profile->n_cpus = (uint64_t)value->integer;
    for (size_t i = 0; i < N_TERMS; i++) {
        value = pack_json_find(root, terms[i].key);
        if (!is_positive(value))
            return pack_fail(err, PACK_ERR_FORMAT,
                             "profile needs \"%s\", a positive number", terms[i].key);
        *(double *)((char *)profile + terms[i].offset) = value->number;
    }
    enum pack_status status = parse_curve(root, "copy_ns_by_bytes", &profile->copy, err);
    if (status == PACK_OK)
        status = parse_curve(root, "page_ns_by_bytes", &profile->page, err);
    return status;
}

enum pack_status
pack_profile_parse(const char *text, size_t size, struct pack_profile *profile,
                   struct pack_error *err)
{
    struct pack_json_doc *doc = NULL;
    const struct pack_json_value *root;
    struct pack_profile parsed = { 0 };
    if (!text || !profile)
        return pack_check_given(err, "text", text, "profile", profile, NULL);
    enum pack_status status = pack_json_parse(text, size, &doc, &root, err);
    if (status == PACK_OK)
        status = parse_root(root, &parsed, err);
    if (status == PACK_OK)
        *profile = parsed;
    pack_json_free(doc);
    return status;
}

void
pack_profile_take_processor(struct pack_profile *profile, const struct pack_profile *from)
{
    struct pack_profile both = *from;
    memcpy(both.name, profile->name, sizeof both.name);
    both.is_measured = profile->is_measured;
    both.n_cpus = profile->n_cpus;
    both.latency_ns = profile->latency_ns;
    both.stream_bytes_per_s = profile->stream_bytes_per_s;
    both.max_bytes_per_s = profile->max_bytes_per_s;
    both.max_reads_per_s = profile->max_reads_per_s;
    *profile = both;
}
