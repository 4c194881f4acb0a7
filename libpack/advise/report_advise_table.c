/* The ranked rows as a table, and the chart of rates: what has columns. */
#include "libpack/advise/report_advise_parts.h"

#include <stdio.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/base/numbers.h"

char *
pack_report_pattern(const struct pack_pattern *pattern, char *text)
{
    static const char *const names[] = {
        [PACK_PATTERN_SEQUENTIAL] = "in order", [PACK_PATTERN_SHUFFLE] = "shuffle",
        [PACK_PATTERN_BLOCK] = "block",         [PACK_PATTERN_BUFFER] = "buffer",
        [PACK_PATTERN_REPLACEMENT] = "redrawn", [PACK_PATTERN_WEIGHTED] = "weighted",
        [PACK_PATTERN_TRACE] = "trace"
    };
    if (pattern->kind == PACK_PATTERN_BLOCK)
        snprintf(text, PACK_REPORT_PATTERN_MAX, "%s %llu",
                 pattern->local ? "local" : "block",
                 (unsigned long long)(pattern->pool_chunks ? pattern->pool_chunks : 32));
    else
        snprintf(text, PACK_REPORT_PATTERN_MAX, "%s", names[pattern->kind]);
    return text;
}

const char *
pack_report_chunk(const struct pack_shape *chunk, char *text)
{
    return chunk->rank ? pack_shape_format(chunk, text) : "contiguous";
}

static char *
cache_text(const struct pack_advise_config *config, char *text)
{
    if (config->chunk.rank == 0)
        return strcpy(text, "-");
    if (config->cache.size_bytes == 0 || config->cache.n_slots == 0)
        return strcpy(text, "off");
    return pack_short_bytes((double)config->cache.size_bytes, text);
}

/* ------------------------------------------------------------------- table */

static void
put_row(struct page *page, const struct pack_advise_outcome *o, char mark)
{
    char chunk[PACK_SHAPE_TEXT_MAX], order[PACK_REPORT_PATTERN_MAX], cache[16], rate[16],
        loads[16], bytes[16], memory[16], file[16];
    const char *shape = pack_report_chunk(&o->config.chunk, chunk);
    if (strlen(shape) > 13)
        LINE(page, "%c%s\n%14s", mark, shape, "");
    else
        LINE(page, "%c%-13s", mark, shape);
    static const char basis[] = { [PACK_ADVISE_PREDICTED] = ' ',
                                  [PACK_ADVISE_MEASURED] = 'm',
                                  [PACK_ADVISE_PROVEN] = 'p' };
    LINE(page, " %-6.6s %-9.9s %5s %7s%c%5.1f %6s %5s %4s %4s %4.2f\n", o->config.codec,
        pack_report_pattern(&o->config.pattern, order), cache_text(&o->config, cache),
        pack_short_rate(o->rate, rate), basis[o->basis], 100 * o->hit_rate,
        pack_short_count(o->loads_per_sample, loads),
        pack_short_bytes(o->bytes_per_sample, bytes),
        pack_short_bytes(o->memory_bytes, memory), pack_short_bytes(o->file_bytes, file),
        o->randomness);
}

/* Whether the interval of a row's gain is so wide that the machine must have done other
 * work meanwhile. */
static bool
is_disturbed(const struct pack_advise_result *result)
{
    for (size_t i = 0; i < result->n_rows; i++)
        if (result->rows[i].gain_low > 0 &&
            result->rows[i].gain_high > 3 * result->rows[i].gain_low)
            return true;
    return false;
}

/* What the letters behind the rates mean, and how much was read for them. */
static void
put_basis(struct page *page, const struct pack_report_advise *report)
{
    const struct pack_measured *m = report->measured;
    char line[512];
    if (!m) {
        pack_page_wrap(page, "", "All rates are predicted, for assumed times.", 0);
        return;
    }
    if (m->n_rows == 0) {
        snprintf(line, sizeof line,
                 "All rates of the table are predictions of the model, none was measured%s%s.",
                 m->why_not[0] ? ": " : "", m->why_not);
        pack_page_wrap(page, "", line, 0);
        return;
    }
    snprintf(line, sizeof line,
             "Rates with %s: %s on this machine, %s written in that layout and "
             "read up to %s in turns with today's; the others are predicted.",
             m->proven ? "p" : "m", m->proven ? "proven" : "measured",
             pack_counted(m->n_samples, "sample", "samples").text,
             pack_counted(m->n_rounds, "time", "times").text);
    pack_page_wrap(page, "", line, 0);
    if (is_disturbed(report->result))
        pack_page_wrap(page, "",
                       "Rounds of one row differ by more than 3 times: other work disturbed "
                       "the measurement; ask again on a quiet machine.",
                       0);
    if (m->why_not[0]) {
        snprintf(line, sizeof line, "Not all could be measured: %s.", m->why_not);
        pack_page_wrap(page, "", line, 0);
    }
}

void
pack_report_advise_table(struct page *page, const struct pack_report_advise *report)
{
    const struct pack_advise_result *result = report->result;
    LINE(page, "\n%-14s %-6s %-9s %5s %7s %5s %6s %5s %4s %4s %4s\n", " chunk", "codec",
        "order", "cache", "sampl/s", "hit %", "loads", "bytes", "mem", "file", "rand");
    for (size_t i = 0; i < result->n_rows; i++)
        put_row(page, &result->rows[i],
                i == 0                     ? '*'
                : result->rows[i].is_now   ? '='
                : result->rows[i].is_front ? '+'
                                           : ' ');
    LINE(page,
        "* the choice  %s+ Pareto-optimal: nothing is better in one respect\n"
        "and as good in the others. Cache per worker, memory of all; loads and\n"
        "bytes per sample; rand: randomness of the order, 1 for a uniform shuffle.\n",
        result->has_now ? "= today  " : "");
    put_basis(page, report);
}

/* ------------------------------------------------------------------- chart */

static void
put_chart_cell(struct page *page, const struct pack_advise_map *map, bool has_hits, int i,
               int j)
{
    static const char shades[] = " .:-=+*#%@";
    char text[16];
    int tenth = (int)(10 * map->hit_rate[i][j]);
    tenth = tenth > 9 ? 9 : tenth;
    if (has_hits)
        LINE(page, "   %c%d%c", shades[tenth], tenth, shades[tenth]);
    else
        LINE(page, "%6s", pack_short_thousands(map->rate[i][j], text));
}

/* Where hardly anything is ever found in the cache, what is left to tell is the rate. */
void
pack_report_advise_chart(struct page *page, const struct pack_report_advise *report)
{
    const struct pack_advise_map *map = &report->result->map;
    bool has_hits = pack_advise_map_has_hits(map);
    char text[16];
    if (map->n_chunks < 2)
        return;
    LINE(page, "\n%s, by samples per chunk and cache per worker%s\n%7s",
        has_hits ? "hit rate, 0 to 9 tenths" : "samples/s of later epochs",
        has_hits ? "" : "\n(nothing is found in a cache of these sizes)", "");
    for (int j = 0; j < map->n_chunks; j++)
        LINE(page, "%6llu", (unsigned long long)map->samples_per_chunk[j]);
    LINE(page, "\n");
    for (int i = map->n_caches - 1; i >= 0; i--) {
        LINE(page, "%6s ", pack_short_bytes((double)map->cache_bytes[i], text));
        for (int j = 0; j < map->n_chunks; j++)
            put_chart_cell(page, map, has_hits, i, j);
        LINE(page, "\n");
    }
}
