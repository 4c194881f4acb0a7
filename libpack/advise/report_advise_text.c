/*
 * The report as text: one line that says what to do, then what is so today, the ranked
 * table, why, the settings as code, what to watch out for, a chart, how it was found.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "libpack/model/profile_terms.h"
#include "libpack/advise/advise_parts.h"
#include "libpack/advise/report_advise.h"
#include "libpack/advise/snippet.h"

enum { WIDTH = 79 };

/* The first failure is kept; what follows does nothing. */
struct out {
    const struct pack_report_advise *r;
    struct pack_buf *buf;
    struct pack_error *err;
    enum pack_status status;
};

__attribute__((format(printf, 2, 3))) static void
put(struct out *out, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (out->status == PACK_OK)
        out->status = pack_buf_append(out->buf, text, strlen(text), out->err);
}

/* Text wrapped to WIDTH, all lines but the first indented. */
static void
put_wrapped(struct out *out, const char *lead, const char *text, int indent)
{
    int at = (int)strlen(lead);
    put(out, "%s", lead);
    for (bool first = true; *text; first = false) {
        int word = (int)strcspn(text, " ");
        if (!first && at + 1 + word > WIDTH) {
            put(out, "\n%*s", indent, "");
            at = indent;
        } else if (!first) {
            put(out, " ");
            at++;
        }
        put(out, "%.*s", word, text);
        at += word;
        text += word + strspn(text + word, " ");
    }
    put(out, "\n");
}

/* At most five columns: "147K", "1.2M", "23G". */
static char *
short_bytes(double bytes, char *text)
{
    static const char units[] = "BKMGTPE";
    int unit = 0;
    while (bytes >= 999.5 && unit < 6) {
        bytes /= 1024;
        unit++;
    }
    if (unit == 0)
        snprintf(text, 16, "%.0f", bytes);
    else
        snprintf(text, 16, bytes < 9.95 ? "%.1f%c" : "%.0f%c", bytes, units[unit]);
    return text;
}

/* At most six columns. */
static char *
short_count(double n, char *text)
{
    if (n >= 999.5)
        snprintf(text, 16, "%.0f", n);
    else
        snprintf(text, 16, n >= 1 ? "%.3g" : n >= 1e-4 ? "%.2g" : "%.0f", n);
    return text;
}

/* At most five columns: "950", "9.5K", "85K", "1.2M". */
static char *
thousands(double n, char *text)
{
    static const char units[] = " KMGTP";
    int unit = 0;
    while (n >= 999.5 && unit < 5) {
        n /= 1000;
        unit++;
    }
    if (unit == 0)
        snprintf(text, 16, "%.0f", n);
    else
        snprintf(text, 16, n < 9.95 ? "%.1f%c" : "%.0f%c", n, units[unit]);
    return text;
}

/* At most seven columns. */
static char *
short_rate(double rate, char *text)
{
    if (rate >= 99999.5)
        snprintf(text, 16, rate >= 9.9995e6 ? "%.3gM" : "%.0fK",
                 rate >= 9.9995e6 ? rate / 1e6 : rate / 1e3);
    else
        snprintf(text, 16, rate >= 100 ? "%.0f" : rate >= 10 ? "%.1f" : "%.2f", rate);
    return text;
}

char *
pack_report_order(const struct pack_pattern *pattern, char *text)
{
    static const char *const names[] = {
        [PACK_PATTERN_SEQUENTIAL] = "in order", [PACK_PATTERN_SHUFFLE] = "shuffle",
        [PACK_PATTERN_BLOCK] = "block",         [PACK_PATTERN_BUFFER] = "buffer",
        [PACK_PATTERN_REPLACEMENT] = "redrawn", [PACK_PATTERN_WEIGHTED] = "weighted",
        [PACK_PATTERN_TRACE] = "trace"
    };
    if (pattern->kind == PACK_PATTERN_BLOCK)
        snprintf(text, PACK_REPORT_ORDER_MAX, "%s %llu",
                 pattern->local ? "local" : "block",
                 (unsigned long long)(pattern->pool_chunks ? pattern->pool_chunks : 32));
    else
        snprintf(text, PACK_REPORT_ORDER_MAX, "%s", names[pattern->kind]);
    return text;
}

static const char *
chunk_text(const struct pack_shape *chunk, char *text)
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
    return short_bytes((double)config->cache.size_bytes, text);
}

/* ---------------------------------------------------------------- sections */

static void
put_headline(struct out *out)
{
    const struct pack_advise_result *result = out->r->result;
    const struct pack_advise_outcome *best = &result->rows[0];
    char chunk[PACK_SHAPE_TEXT_MAX], rate[16], size[16], order[PACK_REPORT_ORDER_MAX],
        line[512], more[80] = "", factor[32], later[32];
    const struct pack_cache_params *cache = &best->config.cache;
    size_t n;
    if (best->is_now)
        snprintf(more, sizeof more, ", as it is today");
    else if (result->has_now && !out->r->is_what_if && result->now.rate > 0)
        snprintf(more, sizeof more, ", %s times today's",
                 pack_advise_times(best->rate / result->now.rate, factor));
    if (best->config.chunk.rank == 0)
        snprintf(line, sizeof line, "contiguous, %s: %s samples/s%s",
                 pack_report_order(&best->config.pattern, order),
                 short_rate(best->rate, rate), more);
    else
        snprintf(line, sizeof line,
                 "chunks %.200s, compression %.60s, %s, rdcc_nbytes=%llu (%s) "
                 "rdcc_nslots=%llu rdcc_w0=%g: %s samples/s%s",
                 chunk_text(&best->config.chunk, chunk), best->config.codec,
                 pack_report_order(&best->config.pattern, order),
                 (unsigned long long)cache->size_bytes,
                 short_bytes((double)cache->size_bytes, size),
                 (unsigned long long)cache->n_slots, cache->w0,
                 short_rate(best->rate, rate), more);
    const char *lead = out->r->is_what_if ? "WHAT IF  "
                       : best->is_now     ? "KEEP  "
                                          : "BEST  ";
    put_wrapped(out, lead, line, 6);
    snprintf(line, sizeof line, "%llu epochs; the first %s samples/s, later ones %s",
             (unsigned long long)pack_advise_epochs(out->r->params),
             short_rate(best->first_rate, rate), short_rate(best->later_rate, size));
    n = strlen(line);
    if (result->has_now && !best->is_now && !out->r->is_what_if)
        snprintf(line + n, sizeof line - n, ": %s and %s times today's",
                 pack_advise_times(best->first_rate / result->now.first_rate, factor),
                 pack_advise_times(best->later_rate / result->now.later_rate, later));
    put_wrapped(out, "      ", line, 6);
}

static void
put_subject(struct out *out)
{
    const struct pack_advise_params *p = out->r->params;
    char shape[PACK_SHAPE_TEXT_MAX], size[16], memory[16], ram[16], line[768];
    double bytes = (double)p->elem_size;
    for (int i = 0; i < p->extent.rank; i++)
        bytes *= (double)p->extent.extent[i];
    snprintf(line, sizeof line, "%.300s  %.200s %s, %s", out->r->subject,
             pack_shape_format(&p->extent, shape), out->r->type,
             short_bytes(bytes, size));
    put_wrapped(out, "FOR   ", line, 6);
    uint64_t workers = p->pattern.workers ? p->pattern.workers : 1;
    snprintf(line, sizeof line,
             "%s, batch %llu, %llu worker%s%s, caches up to %s in all, page cache %s, "
             "storage %.60s (%s), %llu processors, HDF5 %s",
             out->r->pattern,
             (unsigned long long)(p->pattern.batch ? p->pattern.batch : 1),
             (unsigned long long)workers, workers == 1 ? "" : "s",
             p->workers_end ? " that end with each epoch" : "", short_bytes((double)(p->memory_bytes ? p->memory_bytes : UINT64_C(1) << 30),
                         memory),
             p->ram_bytes ? short_bytes((double)p->ram_bytes, ram) : "none",
             p->profile->name, p->profile->is_measured ? "measured" : "assumed figures",
             (unsigned long long)p->profile->n_cpus, out->r->hdf5_version);
    put_wrapped(out, "      ", line, 6);
}

static void
put_outcome(struct out *out, const char *lead, const struct pack_advise_outcome *o)
{
    char rate[16], first[16], later[16], bytes[16], memory[16], line[512];
    int n =
        snprintf(line, sizeof line,
                 "%s samples/s (first epoch %s, later %s), hit rate %.1f %%, %.3g loads "
                 "and %s bytes a sample (%.3g times what is wanted)",
                 short_rate(o->rate, rate), short_rate(o->first_rate, first),
                 short_rate(o->later_rate, later), 100 * o->hit_rate, o->loads_per_sample,
                 short_bytes(o->bytes_per_sample, bytes), o->amplification);
    snprintf(line + n, sizeof line - (size_t)n, ", %s of memory%s",
             short_bytes(o->memory_bytes, memory),
             o->fits ? "" : ", more than there is: it ends before the first epoch does");
    put_wrapped(out, lead, line, 6);
}

static void
put_mixing(struct out *out, const struct pack_advise_outcome *o)
{
    char line[160];
    if (o->class_mixing < 0)
        return;
    snprintf(line, sizeof line,
             "a batch holds %.0f %% of the classes that a uniformly drawn one does",
             100 * o->class_mixing);
    put_wrapped(out, "      ", line, 6);
}

static void
put_policies(struct out *out, const struct pack_advise_outcome *o)
{
    char line[256];
    if (o->lru_hit_rate < 0)
        return;
    double hits = (double)o->first.hits / (double)o->first.requests;
    snprintf(
        line, sizeof line,
        "hit rate of the first epoch: HDF5 %.1f %%, least recently used %.1f %%, the "
        "best that any policy could do %.1f %%",
        100 * hits, 100 * o->lru_hit_rate, 100 * o->belady_hit_rate);
    put_wrapped(out, "      ", line, 6);
}

/* Measured beside modelled. */
static void
put_measured(struct out *out)
{
    const struct pack_measured *m = out->r->measured;
    char first[16], later[16], model[16], line[512];
    if (!m || !m->has_now)
        return;
    snprintf(line, sizeof line,
             "measured on this file, now: %s samples/s, later epochs %s; the model alone "
             "says %s there, %.3g times as much",
             short_rate(m->now_first, first), short_rate(m->now_later, later),
             short_rate(m->modelled_later, model), m->modelled_later / m->now_later);
    put_wrapped(out, "      ", line, 6);
    if (m->resident_rate >= 0) {
        snprintf(line, sizeof line,
                 "%.0f %% of the file lay in the page cache; storage figures are %s",
                 100 * m->resident_rate,
                 m->storage_measured    ? "measured, past the page cache"
                 : out->r->params->is_warm ? "not needed"
                                           : "assumed");
        put_wrapped(out, "      ", line, 6);
    }
}

static void
put_now(struct out *out)
{
    const struct pack_advise_result *result = out->r->result;
    const struct pack_advise_config *config = &result->now.config;
    char chunk[PACK_SHAPE_TEXT_MAX], size[16], line[512], one[16], two[16];
    if (!result->has_now)
        return;
    snprintf(line, sizeof line,
             "%s%.200s, compression %.60s, cache %s in %llu slots, w0 %g%s",
             config->chunk.rank ? "chunks " : "", chunk_text(&config->chunk, chunk),
             config->codec, short_bytes((double)config->cache.size_bytes, size),
             (unsigned long long)config->cache.n_slots, config->cache.w0,
             config->reopen ? ", opened by name at each read" : "");
    put_wrapped(out, "\nNOW   ", line, 6);
    put_outcome(out, "      ", &result->now);
    put_measured(out);
    put_policies(out, &result->now);
    put_mixing(out, &result->now);
    put_wrapped(out, "      ", result->cause, 6);
    double a = result->version_1.rate, b = result->version_2.rate;
    if (result->has_versions && (a > 1.05 * b || b > 1.05 * a)) {
        snprintf(line, sizeof line,
                 "defaults of HDF5 1.x (1 MiB): %s samples/s; of 2.x (8 MiB): %s",
                 short_rate(a, one), short_rate(b, two));
        put_wrapped(out, "      ", line, 6);
    }
}

static void
put_row(struct out *out, const struct pack_advise_outcome *o, char mark)
{
    char chunk[PACK_SHAPE_TEXT_MAX], order[PACK_REPORT_ORDER_MAX], cache[16], rate[16],
        loads[16], bytes[16], memory[16], file[16];
    const char *shape = chunk_text(&o->config.chunk, chunk);
    if (strlen(shape) > 13)
        put(out, "%c%s\n%14s", mark, shape, "");
    else
        put(out, "%c%-13s", mark, shape);
    static const char basis[] = { [PACK_ADVISE_PREDICTED] = ' ',
                                  [PACK_ADVISE_MEASURED] = 'm',
                                  [PACK_ADVISE_PROVEN] = 'p' };
    put(out, " %-6.6s %-9.9s %5s %7s%c%5.1f %6s %5s %4s %4s %4.2f\n", o->config.codec,
        pack_report_order(&o->config.pattern, order), cache_text(&o->config, cache),
        short_rate(o->rate, rate), basis[o->basis], 100 * o->hit_rate,
        short_count(o->loads_per_sample, loads), short_bytes(o->bytes_per_sample, bytes),
        short_bytes(o->memory_bytes, memory), short_bytes(o->file_bytes, file),
        o->randomness);
}

/* What the letters behind the rates mean, and how much was read for them. */
static void
put_basis(struct out *out)
{
    const struct pack_measured *m = out->r->measured;
    char line[512];
    if (!m || m->n_rows == 0) {
        put_wrapped(out, "",
                    m ? "All rates are predicted: nothing here could be measured."
                      : "All rates are predicted, for assumed times.",
                    0);
        return;
    }
    snprintf(line, sizeof line,
             "Rates with %s: %s on this machine, %llu samples written in that layout and "
             "read %u times in turns with today's; the others are predicted.",
             m->proven ? "p" : "m", m->proven ? "proven" : "measured",
             (unsigned long long)m->n_samples, (unsigned)m->n_rounds);
    put_wrapped(out, "", line, 0);
}

static void
put_table(struct out *out)
{
    const struct pack_advise_result *result = out->r->result;
    put(out, "\n%-14s %-6s %-9s %5s %7s %5s %6s %5s %4s %4s %4s\n", " chunk", "codec",
        "order", "cache", "sampl/s", "hit %", "loads", "bytes", "mem", "file", "rand");
    for (size_t i = 0; i < result->n_rows; i++)
        put_row(out, &result->rows[i],
                i == 0                     ? '*'
                : result->rows[i].is_now   ? '='
                : result->rows[i].is_front ? '+'
                                           : ' ');
    put(out,
        "* the choice  %s+ as good in its own way: nothing is better in one\n"
        "respect and as good in the others. Cache per worker, memory of all; loads and\n"
        "bytes per sample; rand: randomness of the order, 1 for a uniform shuffle.\n",
        result->has_now ? "= today  " : "");
    put_basis(out);
}

static void
put_target(struct out *out)
{
    const struct pack_advise_result *result = out->r->result;
    const struct pack_advise_params *p = out->r->params;
    char line[512], rate[16], want[16];
    if (p->target <= 0)
        return;
    short_rate(p->target, want);
    short_rate(result->rows[0].rate, rate);
    if (result->target_is_reached)
        snprintf(line, sizeof line, "%s samples/s are reached: %s", want, rate);
    else if (result->target_workers)
        snprintf(line, sizeof line,
                 "%s samples/s take %llu workers of the first row, which reach %s", want,
                 (unsigned long long)result->target_workers,
                 short_rate(result->target_rate, rate));
    else
        snprintf(
            line, sizeof line,
            "%s samples/s are out of reach of the first row on this storage, %llu "
            "processors and the memory allowed: it gives %s; using each sample %.2f times (echo) makes up for it",
            want, (unsigned long long)p->profile->n_cpus, rate, result->target_echo);
    put_wrapped(out, "\nTARGET  ", line, 8);
}

/* Of the choice first, for it is what will be read; then of today's, where that differs. */
static void
put_warnings(struct out *out)
{
    const struct pack_advise_result *result = out->r->result;
    bool has_both = result->has_now && !result->rows[0].is_now;
    if (result->n_choice_warnings + (has_both ? result->n_warnings : 0))
        put(out, "\n");
    for (size_t i = 0; i < result->n_choice_warnings; i++)
        put_wrapped(out, has_both ? "MIND  of the choice: " : "MIND  ",
                    result->choice_warnings[i].text, 6);
    for (size_t i = 0; has_both && i < result->n_warnings; i++)
        put_wrapped(out, "MIND  today: ", result->warnings[i].text, 6);
}

static void
put_code(struct out *out)
{
    const struct pack_report_advise *r = out->r;
    struct pack_snippet_subject subject = { .file = r->file,
                                            .dataset = r->dataset,
                                            .source = r->source,
                                            .params = r->params,
                                            .config = &r->result->rows[0].config };
    const char *name, *title, *code = r->code ? r->code : "short";
    for (size_t i = 0; (name = pack_snippet_name(i, &title)) != NULL; i++) {
        bool is_short = strcmp(name, "c") != 0 && strcmp(name, "pytorch") != 0;
        if (strcmp(code, "all") != 0 && strcmp(code, name) != 0 &&
            (strcmp(code, "short") != 0 || !is_short))
            continue;
        put(out, "\n--- %s\n", title);
        if (out->status == PACK_OK)
            out->status = pack_snippet_print(i, &subject, out->buf, out->err);
    }
}

static void
put_chart_cell(struct out *out, const struct pack_advise_map *map, bool has_hits, int i,
               int j)
{
    static const char shades[] = " .:-=+*#%@";
    char text[16];
    int tenth = (int)(10 * map->hit_rate[i][j]);
    tenth = tenth > 9 ? 9 : tenth;
    if (has_hits)
        put(out, "   %c%d%c", shades[tenth], tenth, shades[tenth]);
    else
        put(out, "%6s", thousands(map->rate[i][j], text));
}

/* Where hardly anything is ever found in the cache, what is left to tell is the rate. */
static void
put_chart(struct out *out)
{
    const struct pack_advise_map *map = &out->r->result->map;
    bool has_hits = pack_advise_map_has_hits(map);
    char text[16];
    if (map->n_chunks < 2)
        return;
    put(out, "\n%s, by samples per chunk and cache per worker%s\n%7s",
        has_hits ? "hit rate, 0 to 9 tenths" : "samples/s of later epochs",
        has_hits ? "" : "\n(nothing is found in a cache of these sizes)", "");
    for (int j = 0; j < map->n_chunks; j++)
        put(out, "%6llu", (unsigned long long)map->samples_per_chunk[j]);
    put(out, "\n");
    for (int i = map->n_caches - 1; i >= 0; i--) {
        put(out, "%6s ", short_bytes((double)map->cache_bytes[i], text));
        for (int j = 0; j < map->n_chunks; j++)
            put_chart_cell(out, map, has_hits, i, j);
        put(out, "\n");
    }
}

/* How much of worker 0's reads stands behind the rows. */
static const char *
simulated(const struct out *out, char text[96])
{
    const struct pack_advise_result *result = out->r->result;
    const struct pack_advise_outcome *least = &result->rows[0];
    for (size_t i = 1; i < result->n_rows; i++)
        if (!result->rows[i].is_exact &&
            (least->is_exact || result->rows[i].n_simulated < least->n_simulated))
            least = &result->rows[i];
    if (least->is_exact)
        return strcpy(text, "every read of up to 3 epochs");
    snprintf(text, 96, "at least the first %.3g million of %.3g million reads an epoch",
             (double)least->n_simulated / 1e6, least->worker_samples / 1e6);
    return text;
}

static void
put_method(struct out *out)
{
    const struct pack_advise_result *result = out->r->result;
    uint64_t workers = out->r->params->pattern.workers;
    char line[512], reads[96];
    if (out->r->is_what_if)
        snprintf(line, sizeof line, "one configuration, %s%s", simulated(out, reads),
                 workers > 1 ? " for one worker, to which all others are alike" : "");
    else
        snprintf(line, sizeof line,
                 "%llu candidates: %llu dropped by bounds in closed form, %llu simulated "
                 "in part, %llu in full (the rows above, %s%s); %.3g million chunk "
                 "visits; seed %llu",
                 (unsigned long long)result->n_candidates,
                 (unsigned long long)result->n_bounded,
                 (unsigned long long)result->n_sampled,
                 (unsigned long long)result->n_exact, simulated(out, reads),
                 workers > 1 ? " of one worker, to which all others are alike" : "",
                 (double)result->n_visits / 1e6,
                 (unsigned long long)out->r->params->pattern.seed);
    put_wrapped(out, "\nHOW   ", line, 6);
    if (pack_hdf5_version_is_compared(out->r->hdf5_version))
        snprintf(reads, sizeof reads, "Counts are exact for HDF5 %s",
                 out->r->hdf5_version);
    else
        snprintf(reads, sizeof reads,
                 "HDF5 %.30s: counts are those of 2.1 and may differ by a few loads",
                 out->r->hdf5_version);
    snprintf(line, sizeof line, "%s; times come from the cost model and %s.", reads,
             out->r->params->profile->is_measured ? "the measured profile"
             : out->r->measured ? "the measured processor"
                                : "assumed figures (measure with --calibrate)");
    put_wrapped(out, "      ", line, 6);
}

enum pack_status
pack_report_advise_text(const struct pack_report_advise *report, struct pack_buf *buf,
                        struct pack_error *err)
{
    struct out out = { .r = report, .buf = buf, .err = err };
    const struct pack_advise_result *result = report->result;
    put_headline(&out);
    put_subject(&out);
    if (report->is_what_if) {
        put(&out, "\n");
        put_outcome(&out, "      ", &result->rows[0]);
        put_policies(&out, &result->rows[0]);
        put_wrapped(&out, "      ", result->cause, 6);
    } else {
        put_now(&out);
        put_table(&out);
        put(&out, "\n");
        for (int i = 0; i < PACK_ADVISE_WHY; i++)
            put_wrapped(&out, i ? "      " : "WHY   ", result->why[i], 6);
        put_policies(&out, &result->rows[0]);
        put_mixing(&out, &result->rows[0]);
    }
    put_target(&out);
    put_warnings(&out);
    put_code(&out);
    if (!report->is_what_if)
        put_chart(&out);
    put_method(&out);
    return out.status;
}

enum pack_status
pack_report_calibration_text(const struct pack_calibration *c, struct pack_buf *buf,
                             struct pack_error *err)
{
    struct out out = { .buf = buf, .err = err };
    const struct pack_profile_term *term;
    if (c->is_cold)
        put(&out, "cold reads were cold: of %.0f MB, %.1f MB were still in memory\n",
            (double)c->cold_bytes / 1e6, (double)c->still_cached_bytes / 1e6);
    else
        put(&out,
            "the page cache could not be emptied here (%.0f of %.0f MB stayed): the "
            "storage\n"
            "figures are those of memory\n",
            (double)c->still_cached_bytes / 1e6, (double)c->cold_bytes / 1e6);
    for (size_t i = 0; (term = pack_profile_term(i)) != NULL; i++)
        put(&out, "%-21s %12.4g %-8s %s\n", term->key,
            *(const double *)((const char *)&c->profile + term->offset), term->unit,
            term->meaning);
    return out.status;
}
