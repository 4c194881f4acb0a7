/* As in findings_stored.c, a rule is a function and a line. */
#include "libpack/findings/findings_contents.h"

#include <stdio.h>
#include <string.h>

#include "libpack/base/numbers.h"
#include "libpack/findings/rules.h"
#include "libpack/findings/thresholds.h"
#include "libpack/hdf5/filter.h"

#define SAY(text, ...) snprintf(text, sizeof(text), __VA_ARGS__)

struct look {
    const struct pack_facts *f;
    const struct pack_contents *c;
    const struct pack_contents_use *use;
    const struct pack_thresholds *t;
};

/* "all 60000 samples", "the 256 samples that were looked at" */
static const char *
say_which(const struct look *l, char text[80])
{
    bool is_all = l->c->n_samples == l->f->extent.extent[0];
    snprintf(text, 80, "%s%llu samples%s", is_all ? "all " : "the ",
             (unsigned long long)l->c->n_samples, is_all ? "" : " that were looked at");
    return text;
}

static uint64_t
values_of_sample(const struct pack_facts *f)
{
    return f->extent.extent[0] ? f->n_elements / f->extent.extent[0] : 0;
}

static bool
wide_bytes(const struct look *l, struct pack_finding *out)
{
    char which[80], type[PACK_TYPE_TEXT_MAX];
    uint32_t bytes = l->f->type.bytes;
    if (!l->c->scale[0] ||
        (double)l->f->logical_bytes < pack_threshold(l->t, 405, "bytes"))
        return false;
    out->value = bytes;
    if (!pack_pipeline_compresses(&l->f->pipeline))
        out->price_bytes = (double)l->f->stored_bytes * (1 - 1.0 / bytes);
    SAY(out->evidence,
        "%s, but in %s there is nothing but integers of 0 to 255%s: as uint8 they "
        "take 1 byte where they take %u",
        pack_type_format(&l->f->type, type), say_which(l, which),
        strcmp(l->c->scale, "k") == 0 ? "" : " by 255", bytes);
    return true;
}

static bool
missing_compression(const struct look *l, struct pack_finding *out)
{
    if (l->c->zstd_rate <= 0 || l->c->zstd_rate > pack_threshold(l->t, 406, "rate") ||
        pack_pipeline_compresses(&l->f->pipeline) ||
        (double)l->f->stored_bytes < pack_threshold(l->t, 406, "bytes"))
        return false;
    out->value = l->c->zstd_rate;
    out->price_bytes = (double)l->f->stored_bytes * (1 - l->c->zstd_rate);
    SAY(out->evidence,
        "stored as it is: %szstd left %.3g %% of the samples that were tried",
        l->f->type.bytes > 1 ? "shuffle and " : "", 100 * l->c->zstd_rate);
    SAY(out->remedy,
        "worth it where storage is the limit, or space; what lies in memory is "
        "read faster as it is");
    return true;
}

static bool
odd_numbers(const struct look *l, struct pack_finding *out)
{
    char which[80];
    if (l->c->n_odd == 0 || (double)l->c->n_odd < pack_threshold(l->t, 602, "samples"))
        return false;
    out->value = (double)l->c->n_odd;
    SAY(out->evidence, "%llu of %s, the first is %llu, have a NaN or an infinity in them",
        (unsigned long long)l->c->n_odd, say_which(l, which),
        (unsigned long long)l->c->first_odd);
    return true;
}

/* So many samples, and each of so many values. */
static bool
is_many(const struct look *l, int code, uint64_t n)
{
    return (double)n >= pack_threshold(l->t, code, "samples") &&
           (double)values_of_sample(l->f) >= pack_threshold(l->t, code, "values");
}

static bool
constant_samples(const struct look *l, struct pack_finding *out)
{
    char which[80];
    if (l->c->n_constant == 0 || !is_many(l, 603, l->c->n_constant))
        return false;
    out->value = (double)l->c->n_constant;
    SAY(out->evidence, "%llu of %s, the first is %llu, hold one value in all places",
        (unsigned long long)l->c->n_constant, say_which(l, which),
        (unsigned long long)l->c->first_constant);
    return true;
}

static bool
equal_samples(const struct look *l, struct pack_finding *out)
{
    if (l->c->n_twice == 0 || !is_many(l, 604, l->c->n_twice))
        return false;
    out->value = (double)l->c->n_twice;
    SAY(out->evidence, "%s exactly as an earlier one: the first is %llu, as %llu",
        pack_counted(l->c->n_twice, "sample is", "samples are").text,
        (unsigned long long)l->c->first_twice, (unsigned long long)l->c->first_once);
    return true;
}

static bool
sorted_labels(const struct look *l, struct pack_finding *out)
{
    const struct pack_contents *c = l->c;
    if (!l->use->has_samples || c->n_classes < 2 || c->n_classes * 10 > c->n_samples ||
        (double)c->n_samples < pack_threshold(l->t, 605, "samples") ||
        c->classes_seen - 1 > pack_threshold(l->t, 605, "rate") * (c->classes_random - 1))
        return false;
    out->value = c->classes_seen;
    if (l->use->is_shuffled)
        out->severity = PACK_FINDING_NOTE;
    SAY(out->evidence,
        "labels come in runs: %d samples in order are of %.3g of the %llu classes, "
        "on average, where in a random order it would be %.3g",
        PACK_CONTENTS_WINDOW, c->classes_seen, (unsigned long long)c->n_classes,
        c->classes_random);
    SAY(out->remedy, "%s",
        l->use->is_shuffled ? "nothing is lost where samples are drawn from all of them; a "
                              "block shuffle mixes few classes"
                            : "images and labels written anew, once, in a random order");
    return true;
}

static const struct {
    int code;
    bool (*find)(const struct look *look, struct pack_finding *out);
} rules[] = {
    { 405, wide_bytes },       { 406, missing_compression }, { 602, odd_numbers },
    { 603, constant_samples }, { 604, equal_samples },       { 605, sorted_labels },
};

bool
pack_findings_is_of_contents(int code)
{
    bool is = false;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        is = is || rules[i].code == code;
    return is;
}

size_t
pack_findings_contents(const struct pack_facts *facts,
                       const struct pack_contents *contents,
                       const struct pack_contents_use *use,
                       const struct pack_thresholds *thresholds,
                       struct pack_finding *findings, size_t max)
{
    const struct look look = { facts, contents, use, thresholds };
    size_t n = 0;
    for (size_t i = 0; i < sizeof rules / sizeof *rules && n < max && contents->is_known;
         i++) {
        const struct pack_rule *rule = pack_rule_of(rules[i].code);
        struct pack_finding found = { .code = rule->code,
                                      .id = rule->id,
                                      .severity = rule->severity };
        if (rules[i].find(&look, &found))
            findings[n++] = found;
    }
    return n;
}
