#include "tools/rechunk_advice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/advise/report_advise.h"
#include "tools/advise_ask.h"

static struct advise_ask ask = { .request = { PACK_ADVISE_REQUEST_DEFAULTS } };

/* Of h5advise those that ask about a file and its reading; nothing that is printed or
 * written, and nothing that keeps the file. */
static const struct cli_option options[] = {
    CLI_TEXT(0, "with", &ask.request.data.with, "DATASET", ""),
    ADVISE_READING_OPTIONS(ask),
    ADVISE_CACHE_OPTIONS(ask),
    ADVISE_MACHINE_OPTIONS(ask),
    ADVISE_MEASURING_OPTIONS(ask),
    CLI_END
};

static const struct cli_program program = { .name = "h5advise", .options = options };

/* The lines that h5advise begins with. */
static enum pack_status
put_headline(const struct advise_answer *answer, struct rechunk_advice *advice,
             struct pack_error *err)
{
    const struct pack_report_advise report = { .params = &answer->job.params,
                                               .result = &answer->result };
    enum pack_status status = pack_report_advise_headline(&report, &advice->headline, err);
    if (status == PACK_OK)
        status = pack_buf_append(&advice->headline, "", 1, err);
    advice->told.headline = (const char *)advice->headline.data;
    return status;
}

static enum pack_status
take(const struct advise_answer *answer, struct rechunk_advice *advice,
     struct pack_error *err)
{
    const struct pack_advise_outcome *best = &answer->result.rows[0];
    const struct pack_advise_outcome *now = &answer->result.now;
    advice->told.change = pack_advise_change_name(best->change);
    advice->told.gain = now->rate > 0 ? best->rate / now->rate : 1;
    advice->told.keeps = best->change != PACK_ADVISE_REWRITE;
    if (best->config.chunk.rank == 0)
        strcpy(advice->chunk, "none");
    else
        pack_shape_format(&best->config.chunk, advice->chunk);
    if (strcmp(best->config.codec, now->config.codec) != 0)
        snprintf(advice->codec, sizeof advice->codec, "%s", best->config.codec);
    return put_headline(answer, advice, err);
}

/* Parameters of the advisor are none of this program's: its hints are not for them. */
static enum pack_status
name_option(enum pack_status status, struct pack_error *err)
{
    if (status == PACK_OK || status == PACK_ERR_INTERRUPTED || !err || !err->param)
        return status;
    err->param = NULL;
    return pack_error_prefix(err, status, "--advise");
}

enum pack_status
rechunk_advice_take(const char *text, const char *file, struct cli_progress *progress,
                    struct rechunk_advice *advice, struct pack_error *err)
{
    struct advise_answer *answer = calloc(1, sizeof *answer);
    struct cli_words words = { .n = 0 };
    char changed[512];
    if (!answer)
        return pack_fail_memory(err, "advice");
    advice->told.options = text;
    ask.request.watch = cli_watch(progress);
    enum pack_status status = cli_words_split(text, &words, err);
    if (status == PACK_OK)
        status = cli_parse_words(&program, words.word, words.n, err);
    if (status != PACK_OK)
        status = pack_error_prefix(err, status, "--advise");
    if (status == PACK_OK)
        status = name_option(advise_answer_open(&ask, file, answer, err), err);
    if (status == PACK_OK)
        status = name_option(advise_answer_find(&ask, answer, err), err);
    cli_progress_end(progress);
    if (status == PACK_OK)
        status = take(answer, advice, err);
    if (advise_answer_close(answer, changed, sizeof changed) && status == PACK_OK)
        status = pack_fail(err, PACK_ERR_CHANGED, "while it was looked at, %s", changed);
    cli_free_texts(&ask.chunks);
    cli_words_free(&words);
    free(answer);
    return status;
}

void
rechunk_advice_done(struct rechunk_advice *advice)
{
    pack_buf_done(&advice->headline);
}
