/* Whatever a child sends whose memory a file has taken over: records of a survey, of samples, of
 * chunks that were verified. They are taken, judged by all rules, and reported. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/audit/contents.h"
#include "libpack/audit/report_verify.h"
#include "libpack/audit/verify_parts.h"
#include "libpack/findings/findings_stored.h"
#include "libpack/hdf5/survey.h"

/* Input is a recipe, for records are larger than what a fuzzer likes to make: a kind, a size (0:
 * that of `natural`), and some bytes, which are repeated until the record is full. */
static void
cook(const uint8_t *data, size_t size, const uint32_t *natural, uint32_t n_kinds,
     struct pack_buf *sent)
{
    enum { BYTES = 24, MOST = 1 << 20 };
    static unsigned char record[1 << 16];
    for (size_t at = 0; at + 4 + BYTES <= size && sent->size < MOST; at += 4 + BYTES) {
        const uint32_t kind = data[at] % (n_kinds + 1);
        uint32_t bytes = data[at + 1] | (uint32_t)data[at + 2] << 8;
        uint32_t gap = 1 + data[at + 3] % 64;
        bytes = bytes ? bytes : natural[kind];
        const uint32_t head[] = { kind, bytes };
        memset(record, 0, sizeof record);
        for (uint32_t i = 0; i < bytes && i < sizeof record; i += gap)
            record[i] = data[at + 4 + i / gap % BYTES];
        if (pack_buf_append(sent, head, sizeof head, NULL) != PACK_OK ||
            pack_buf_append(sent, record, bytes < sizeof record ? bytes : sizeof record, NULL) !=
                PACK_OK)
            return;
    }
}

static void
judge(struct pack_survey *s)
{
    struct pack_finding found[PACK_FINDINGS_STORED_MAX];
    struct pack_contents_use use = { .has_samples = true };
    struct pack_stored_reading reading = { .epoch_samples = 1e4,
                                           .epoch_s = 1,
                                           .amplification = 3,
                                           .read_bytes = 1e9,
                                           .decodes_per_sample = 1,
                                           .decode_s = 1,
                                           .gzip_ns = 3,
                                           .zstd_ns = 1,
                                           .cache = { .n_slots = 521, .size_bytes = 1 << 20 } };
    struct pack_contents contents = { .is_known = true, .n_samples = 7, .n_classes = 3 };
    pack_findings_file(s, NULL, found, PACK_FINDINGS_STORED_MAX);
    for (size_t i = 0; i < s->n_datasets; i++) {
        pack_findings_dataset(&s->datasets[i], &reading, NULL, found, PACK_FINDINGS_STORED_MAX);
        memcpy(contents.scale, "k", 2);
        pack_findings_contents(&s->datasets[i].facts, &contents, &use, NULL, found,
                               PACK_FINDINGS_STORED_MAX);
    }
}

static void
try_survey(const uint8_t *data, size_t size)
{
    static const uint32_t natural[] = { 8, 8, sizeof(struct pack_survey_dataset), 8,
                                        sizeof(struct pack_survey_shared), PACK_FACTS_PATH_MAX,
                                        0 };
    struct pack_survey survey = { .file = { .file_bytes = 1 << 20 } };
    struct pack_buf sent = { 0 };
    cook(data, size, natural, 6, &sent);
    if (pack_survey_receive(&survey, &sent, NULL) == PACK_OK)
        judge(&survey);
    struct pack_contents *contents = calloc(survey.n_datasets + 1, sizeof *contents);
    if (contents)
        pack_contents_take(&sent, &survey, contents);
    free(contents);
    pack_survey_done(&survey);
    pack_buf_done(&sent);
}

static void
try_verify(const uint8_t *data, size_t size)
{
    static const uint32_t natural[] = { 8, sizeof(struct pack_verify_set),
                                        sizeof(struct pack_verify_record) + 16,
                                        sizeof(struct pack_verify_set), 0 };
    struct pack_verify_result result = { .n_sets = 0 };
    const struct pack_verify_params params = { .file = "x.h5" };
    const struct pack_verify_report report = { "fuzz", "1", &params, &result, NULL, NULL };
    struct pack_buf text = { 0 };
    cook(data, size, natural, 4, &result.sent);
    if (pack_verify_settle(&result, NULL) == PACK_OK) {
        pack_report_verify_text(&report, &text, NULL);
        pack_report_verify_json(&report, &text, NULL);
        pack_verify_is_good(&result);
    }
    pack_buf_done(&text);
    pack_verify_done(&result);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_survey(data, size);
    try_verify(data, size);
    return 0;
}
