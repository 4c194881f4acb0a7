/*
 * The report as text: one line that says what to do, then what is so today, the ranked
 * table, why, the settings as code, what to watch out for, a chart, how it was found.
 */
#include "libpack/advise/report_advise_parts.h"

#include <stdio.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/advise/snippet.h"
#include "libpack/base/numbers.h"
#include "libpack/hdf5/h5_dataset.h"

/* ---------------------------------------------------------------- sections */

/* "virtual, 4 sources, ", or nothing. */
static const char *
virtual_text(const struct pack_report_advise *report,
             const struct pack_advise_config *config, char *text, size_t size)
{
    uint64_t n = pack_advise_n_caches(report->params, config);
    snprintf(text, size, "virtual, %.60s, ", pack_counted(n, "source", "sources").text);
    return config->is_virtual ? text : "";
}

bool
pack_report_training(const struct pack_report_advise *report,
                     struct pack_advise_training *training)
{
    const struct pack_advise_result *result = report->result;
    if (!result->has_now || result->now.rate <= 0)
        return false;
    double speedup =
        result->rows[0].is_now ? 1 : result->rows[0].rate / result->now.rate;
    return pack_advise_training(report->recorded, speedup,
                                report->params->machine.profile->n_cpus, training);
}

static void
put_training(struct page *page, const struct pack_report_advise *report)
{
    struct pack_advise_training t;
    char line[400], now[16], then[16], factor[32], most[32];
    if (!pack_report_training(report, &t))
        return;
    int n = snprintf(line, sizeof line,
                     "the training that was recorded: %s samples/s, %.3g %% of its workers' time "
                     "reading",
                     pack_short_rate(t.recorded_rate, now), 100 * t.reading);
    if (t.training > 0)
        n += snprintf(line + n, sizeof line - (size_t)n,
                      ", %.2g %% of the time of the process that trains working",
                      100 * t.training);
    if (!report->result->rows[0].is_now)
        n += snprintf(line + n, sizeof line - (size_t)n,
                      "; %s with this, %s%s times as many, predicted",
                      pack_short_rate(t.rate, then), t.is_least ? "at least " : "",
                      pack_advise_times(t.gain, factor));
    if (t.most < pack_advise_min_gain(report->params))
        snprintf(line + n, sizeof line - (size_t)n,
                 ". No way of reading makes it more than %s times as fast",
                 pack_advise_times(t.most, most));
    pack_page_wrap(page, "      ", line, 6);
}

/* One epoch has no later ones. */
static bool
has_later(const struct pack_report_advise *report)
{
    return pack_advise_epochs(report->params) > 1;
}

static void
put_headline(struct page *page, const struct pack_report_advise *report)
{
    const struct pack_advise_result *result = report->result;
    const struct pack_advise_outcome *best = &result->rows[0];
    char chunk[PACK_SHAPE_TEXT_MAX], rate[16], size[16], order[PACK_REPORT_PATTERN_MAX],
        line[512], more[80] = "", factor[32], later[32], virtual[96];
    const struct pack_cache_params *cache = &best->config.cache;
    size_t n;
    if (best->is_now)
        snprintf(more, sizeof more, ", as it is today");
    else if (result->has_now && !report->is_what_if && result->now.rate > 0)
        snprintf(more, sizeof more, ", %s times today's",
                 pack_advise_times(best->rate / result->now.rate, factor));
    if (best->config.chunk.rank == 0)
        snprintf(line, sizeof line, "%scontiguous, %s: %s samples/s%s",
                 virtual_text(report, &best->config, virtual, sizeof virtual),
                 pack_report_pattern(&best->config.pattern, order),
                 pack_short_rate(best->rate, rate), more);
    else
        snprintf(line, sizeof line,
                 "%schunks %.200s, compression %.60s, %s, rdcc_nbytes=%llu (%s) "
                 "rdcc_nslots=%llu rdcc_w0=%g: %s samples/s%s",
                 virtual_text(report, &best->config, virtual, sizeof virtual),
                 pack_report_chunk(&best->config.chunk, chunk), best->config.codec,
                 pack_report_pattern(&best->config.pattern, order),
                 (unsigned long long)cache->size_bytes,
                 cache->size_bytes ? pack_short_bytes((double)cache->size_bytes, size) : "none",
                 (unsigned long long)cache->n_slots, cache->w0,
                 pack_short_rate(best->rate, rate), more);
    const char *lead = report->is_what_if ? "WHAT IF  "
                       : best->is_now     ? "KEEP  "
                                          : "BEST  ";
    pack_page_wrap(page, lead, line, 6);
    if (!has_later(report)) { /* all has been said */
        put_training(page, report);
        return;
    }
    snprintf(line, sizeof line, "%s; the first %s samples/s, later ones %s",
             pack_counted(pack_advise_epochs(report->params), "epoch", "epochs").text,
             pack_short_rate(best->first_rate, rate), pack_short_rate(best->later_rate, size));
    n = strlen(line);
    if (result->has_now && !best->is_now && !report->is_what_if)
        snprintf(line + n, sizeof line - n, ": %s and %s times today's",
                 pack_advise_times(best->first_rate / result->now.first_rate, factor),
                 pack_advise_times(best->later_rate / result->now.later_rate, later));
    pack_page_wrap(page, "      ", line, 6);
    put_training(page, report);
}

static void
put_subject(struct page *page, const struct pack_report_advise *report)
{
    const struct pack_advise_params *p = report->params;
    char shape[PACK_SHAPE_TEXT_MAX], size[16], memory[16], ram[16], line[768];
    double bytes = (double)p->data.elem_size;
    for (int i = 0; i < p->data.extent.rank; i++)
        bytes *= (double)p->data.extent.extent[i];
    snprintf(line, sizeof line, "%.300s  %.200s %s, %s", report->subject,
             pack_shape_format(&p->data.extent, shape), report->type,
             pack_short_bytes(bytes, size));
    pack_page_wrap(page, "FOR   ", line, 6);
    uint64_t workers = pack_advise_workers(p), batch = p->reading.pattern.batch;
    const struct pack_profile *profile = p->machine.profile;
    snprintf(
        line, sizeof line,
        "%s, batch %llu, %s%s, caches up to %s in all, page cache %s, "
        "storage %.60s (%s), %s, HDF5 %s",
        report->pattern,
        (unsigned long long)(batch ? batch : 1),
        pack_counted(workers, "worker", "workers").text,
        !p->reading.workers_end ? ""
        : workers == 1          ? " that ends with each epoch"
                                : " that end with each epoch",
        pack_short_bytes((double)pack_advise_memory(p), memory),
        p->machine.ram_bytes ? pack_short_bytes((double)p->machine.ram_bytes, ram)
                             : "none",
        profile->name, profile->is_measured ? "measured" : "assumed figures",
        pack_counted(profile->n_cpus, "processor", "processors").text,
        report->hdf5_version);
    pack_page_wrap(page, "      ", line, 6);
}

static void
put_outcome(struct page *page, const struct pack_report_advise *report,
            const struct pack_advise_outcome *o)
{
    char rate[16], first[16], later[16], bytes[16], memory[16], line[512];
    int n = snprintf(line, sizeof line, "%s samples/s", pack_short_rate(o->rate, rate));
    if (has_later(report))
        n += snprintf(line + n, sizeof line - (size_t)n, " (first epoch %s, later %s)",
                      pack_short_rate(o->first_rate, first), pack_short_rate(o->later_rate, later));
    n += snprintf(
        line + n, sizeof line - (size_t)n,
        ", hit rate %.1f %%, %s and %s bytes a sample (%s times what is wanted)",
        100 * o->hit_rate,
        pack_figured(o->loads_per_sample, "load", "loads").text,
        pack_short_bytes(o->bytes_per_sample, bytes), pack_figure(o->amplification).text);
    snprintf(line + n, sizeof line - (size_t)n, ", %s of memory%s",
             pack_short_bytes(o->memory_bytes, memory),
             o->fits ? "" : ", more than there is: it ends before the first epoch does");
    pack_page_wrap(page, "      ", line, 6);
}

static void
put_mixing(struct page *page, const struct pack_advise_outcome *o)
{
    char line[160];
    if (o->class_mixing < 0)
        return;
    snprintf(line, sizeof line,
             "a batch holds %.0f %% of the classes that a uniformly drawn one does",
             100 * o->class_mixing);
    pack_page_wrap(page, "      ", line, 6);
}

/* Of a worker-local order: what is left of loading chunks more than once. */
static void
put_shared(struct page *page, const struct pack_advise_outcome *o)
{
    char line[160];
    if (!o->config.pattern.local)
        return;
    snprintf(line, sizeof line,
             "chunks that lie across two workers' shares, and are loaded by both: %llu",
             (unsigned long long)o->shared_chunks);
    pack_page_wrap(page, "      ", line, 6);
}

static void
put_policies(struct page *page, const struct pack_advise_outcome *o)
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
    pack_page_wrap(page, "      ", line, 6);
}

/* Measured beside modelled. */
static void
put_measured(struct page *page, const struct pack_report_advise *report)
{
    const struct pack_measured *m = report->measured;
    char first[16], later[16], model[16], line[512];
    if (!m || !m->has_now)
        return;
    if (m->later_unseen)
        snprintf(line, sizeof line,
                 "measured on this file, now: %s samples/s where it was read for the first "
                 "time; the model alone says %s there, %.3g times as much",
                 pack_short_rate(m->now_first, first), pack_short_rate(m->modelled_first, model),
                 m->modelled_first / m->now_first);
    else
        snprintf(line, sizeof line,
                 "measured on this file, now: %s samples/s, later epochs %s; the model alone "
                 "says %s there, %.3g times as much",
                 pack_short_rate(m->now_first, first), pack_short_rate(m->now_later, later),
                 pack_short_rate(m->modelled_later, model), m->modelled_later / m->now_later);
    pack_page_wrap(page, "      ", line, 6);
    if (m->resident_rate >= 0) {
        snprintf(line, sizeof line,
                 "%.0f %% of the file lay in the page cache; storage figures are %s",
                 100 * m->resident_rate,
                 m->storage_measured               ? "measured, past the page cache"
                 : report->params->machine.is_warm ? "not needed"
                                                   : "assumed");
        pack_page_wrap(page, "      ", line, 6);
    }
}

/* Sources that cannot be modelled one by one. */
static void
put_unclear(struct page *page, const struct pack_report_advise *report)
{
    const struct pack_h5_dataset *d = report->params->data.virtual_data;
    char line[256];
    if (!d || !d->sources.unclear || !report->result->now.config.is_virtual)
        return;
    snprintf(line, sizeof line,
             "All sources are modelled as contiguous here (%.100s): today's loads, bytes and "
             "rate are estimates.",
             d->sources.unclear);
    pack_page_wrap(page, "      ", line, 6);
}

static void
put_now(struct page *page, const struct pack_report_advise *report)
{
    const struct pack_advise_result *result = report->result;
    const struct pack_advise_config *config = &result->now.config;
    char chunk[PACK_SHAPE_TEXT_MAX], size[16], line[640], one[16], two[16], virtual[96];
    if (!result->has_now)
        return;
    snprintf(line, sizeof line,
             "%s%s%.200s, compression %.60s, cache %s in %.60s, w0 %g%s",
             virtual_text(report, config, virtual, sizeof virtual),
             config->chunk.rank ? "chunks " : "", pack_report_chunk(&config->chunk, chunk),
             config->codec, pack_short_bytes((double)config->cache.size_bytes, size),
             pack_counted(config->cache.n_slots, "slot", "slots").text, config->cache.w0,
             config->reopen ? ", opened by name at each read" : "");
    pack_page_wrap(page, "\nNOW   ", line, 6);
    put_unclear(page, report);
    put_outcome(page, report, &result->now);
    put_measured(page, report);
    put_policies(page, &result->now);
    put_mixing(page, &result->now);
    put_shared(page, &result->now);
    pack_page_wrap(page, "      ", result->cause, 6);
    double a = result->version_1.rate, b = result->version_2.rate;
    if (result->has_versions && (a > 1.05 * b || b > 1.05 * a)) {
        snprintf(line, sizeof line,
                 "defaults of HDF5 1.x (1 MiB): %s samples/s; of 2.x (8 MiB): %s",
                 pack_short_rate(a, one), pack_short_rate(b, two));
        pack_page_wrap(page, "      ", line, 6);
    }
}

static struct pack_snippet_subject
subject_of(const struct pack_report_advise *report)
{
    return (struct pack_snippet_subject){ .file = report->file,
                                          .dataset = report->dataset,
                                          .source = report->source,
                                          .with = report->with,
                                          .packed = report->packed,
                                          .params = report->params,
                                          .config = &report->result->rows[0].config,
                                          .needs_python = report->needs_python };
}

static void
put_engine(struct page *page, const struct pack_report_advise *report)
{
    const struct pack_advise_engine *e = report->engine;
    const struct pack_advise_result *result = report->result;
    char line[512], rate[16], later[16], bytes[16], factor[32], low[32], high[32];
    if (!e || !e->is_known || !result->has_now || result->now.rate <= 0 ||
        e->rate < PACK_ADVISE_EQUAL_GAIN * result->now.rate)
        return;
    int n = snprintf(
        line, sizeof line,
        "libpack's own reader, %s without HDF5's lock, of the file as it is: %s samples/s, %s "
        "times today's, %s",
        pack_counted(e->forecast.n_threads, "thread", "threads").text,
        pack_short_rate(e->rate, rate), pack_advise_times(e->rate / result->now.rate, factor),
        pack_advise_basis_name(e->basis));
    if (e->basis != PACK_ADVISE_PREDICTED && e->gain_low > 0)
        n += snprintf(line + n, sizeof line - (size_t)n, " (%s to %s)",
                      pack_advise_times(e->gain_low, low),
                      pack_advise_times(e->gain_high, high));
    if (has_later(report))
        n += snprintf(line + n, sizeof line - (size_t)n, "; later epochs %s",
                      pack_short_rate(e->later_rate, later));
    n += snprintf(line + n, sizeof line - (size_t)n, ": %s and %s bytes a sample",
                  pack_figured(e->loads_per_sample, "read or decoded chunk",
                               "reads or decoded chunks").text,
                  pack_short_bytes(e->bytes_per_sample, bytes));
    if (e->forecast.n_slots)
        snprintf(line + n, sizeof line - (size_t)n, ", %.1f %% of visits find their chunk "
                 "decoded", 100 * e->hit_rate);
    pack_page_wrap(page, "\nREADER  ", line, 6);
    const struct pack_snippet_subject subject = subject_of(report);
    if (report->params->reading.pattern.step > 1)
        return; /* h5readbench has no samples that lie apart */
    LINE(page, "      ");
    if (page->status == PACK_OK)
        page->status = pack_snippet_reader(&subject, report->pattern, page->text, page->err);
    LINE(page, "\n");
}

static void
put_target(struct page *page, const struct pack_report_advise *report)
{
    const struct pack_advise_result *result = report->result;
    const struct pack_advise_params *p = report->params;
    char line[512], rate[16], want[16];
    if (p->goal.target <= 0)
        return;
    pack_short_rate(p->goal.target, want);
    pack_short_rate(result->rows[0].rate, rate);
    if (result->target_is_reached)
        snprintf(line, sizeof line, "%s samples/s are reached: %s", want, rate);
    else if (result->target_workers)
        snprintf(line, sizeof line,
                 "%s samples/s take %s of the first row, which %s %s", want,
                 pack_counted(result->target_workers, "worker", "workers").text,
                 result->target_workers == 1 ? "reaches" : "reach",
                 pack_short_rate(result->target_rate, rate));
    else
        snprintf(
            line, sizeof line,
            "%s samples/s are out of reach of the first row on this storage, %s and "
            "the memory allowed: it gives %s; using each sample %.2f times (echo) makes up "
            "for it",
            want,
            pack_counted(p->machine.profile->n_cpus, "processor", "processors").text,
            rate, result->target_echo);
    pack_page_wrap(page, "\nTARGET  ", line, 8);
}

/* Of the choice first, for it is what will be read; then of today's, where that differs. */
static void
put_warnings(struct page *page, const struct pack_report_advise *report)
{
    const struct pack_advise_result *result = report->result;
    bool has_both = result->has_now && !result->rows[0].is_now;
    if (result->n_choice_warnings + (has_both ? result->n_warnings : 0))
        LINE(page, "\n");
    for (size_t i = 0; i < result->n_choice_warnings; i++)
        pack_page_wrap(page, has_both ? "MIND  of the choice: " : "MIND  ",
                    result->choice_warnings[i].text, 6);
    for (size_t i = 0; has_both && i < result->n_warnings; i++)
        pack_page_wrap(page, "MIND  today: ", result->warnings[i].text, 6);
}

static void
put_code(struct page *page, const struct pack_report_advise *report)
{
    const struct pack_snippet_subject subject = subject_of(report);
    const char *name, *title, *code = report->code ? report->code : "short";
    for (size_t i = 0; (name = pack_snippet_name(i, &title)) != NULL; i++) {
        bool is_short = strcmp(name, "c") != 0 && strcmp(name, "pytorch") != 0;
        if (strcmp(code, "all") != 0 && strcmp(code, name) != 0 &&
            (strcmp(code, "short") != 0 || !is_short))
            continue;
        LINE(page, "\n--- %s\n", title);
        if (page->status == PACK_OK)
            page->status = pack_snippet_print(i, &subject, page->text, page->err);
    }
}

/* How much of worker 0's reads stands behind the rows. */
static const char *
simulated(const struct pack_report_advise *report, char text[96])
{
    const struct pack_advise_result *result = report->result;
    const struct pack_advise_outcome *least = &result->rows[0];
    for (size_t i = 1; i < result->n_rows; i++)
        if (!result->rows[i].is_exact &&
            (least->is_exact || result->rows[i].n_simulated < least->n_simulated))
            least = &result->rows[i];
    if (least->is_exact)
        return strcpy(text, "every read of up to 3 epochs, or of more while caches fill,");
    snprintf(text, 96, "at least the first %.3g million of %.3g million reads an epoch",
             (double)least->n_simulated / 1e6, least->worker_samples / 1e6);
    return text;
}

static void
put_method(struct page *page, const struct pack_report_advise *report)
{
    const struct pack_advise_result *result = report->result;
    uint64_t workers = report->params->reading.pattern.workers;
    char line[512], reads[96];
    int n;
    if (report->is_what_if)
        snprintf(line, sizeof line, "one configuration, %s%s", simulated(report, reads),
                 workers > 1 ? " for one worker, to which all others are alike" : "");
    else
        snprintf(line, sizeof line,
                 "%s: %llu dropped by bounds in closed form, %llu simulated "
                 "in part, %llu in full (the rows above, %s%s); %.3g million chunk "
                 "visits; seed %llu",
                 pack_counted(result->n_candidates, "candidate", "candidates").text,
                 (unsigned long long)result->n_bounded,
                 (unsigned long long)result->n_sampled,
                 (unsigned long long)result->n_exact, simulated(report, reads),
                 workers > 1 ? " of one worker, to which all others are alike" : "",
                 (double)result->n_visits / 1e6,
                 (unsigned long long)report->params->reading.pattern.seed);
    pack_page_wrap(page, "\nHOW   ", line, 6);
    if (pack_hdf5_version_is_compared(report->hdf5_version))
        snprintf(reads, sizeof reads, "Counts are exact for HDF5 %s",
                 report->hdf5_version);
    else
        snprintf(reads, sizeof reads,
                 "HDF5 %.30s: counts are those of 2.1 and may differ by a few loads",
                 report->hdf5_version);
    n = snprintf(line, sizeof line, "%s; times come from the cost model and ", reads);
    const struct pack_measured *m = report->measured;
    bool is_measured = report->params->machine.profile->is_measured;
    if (m && m->processor_assumed && is_measured) /* by the file's storage alone */
        snprintf(line + n, sizeof line - (size_t)n,
                 "the measured storage; the processor is assumed (measure with %s).",
                 pack_option_word(report->options, "calibrate"));
    else if (is_measured || (m && !m->processor_assumed))
        snprintf(line + n, sizeof line - (size_t)n, "the measured %s.",
                 is_measured ? "profile" : "processor");
    else
        snprintf(line + n, sizeof line - (size_t)n, "assumed figures (measure with %s).",
                 pack_option_word(report->options, "calibrate"));
    pack_page_wrap(page, "      ", line, 6);
}

enum pack_status
pack_report_advise_headline(const struct pack_report_advise *report, struct pack_buf *buf,
                            struct pack_error *err)
{
    struct page page = { buf, PACK_OK, err };
    put_headline(&page, report);
    return page.status;
}

enum pack_status
pack_report_advise_text(const struct pack_report_advise *report, struct pack_buf *buf,
                        struct pack_error *err)
{
    struct page page = { buf, PACK_OK, err };
    const struct pack_advise_result *result = report->result;
    put_headline(&page, report);
    put_subject(&page, report);
    if (report->is_what_if) {
        LINE(&page, "\n");
        put_outcome(&page, report, &result->rows[0]);
        put_policies(&page, &result->rows[0]);
        put_shared(&page, &result->rows[0]);
        pack_page_wrap(&page, "      ", result->cause, 6);
    } else {
        put_now(&page, report);
        pack_report_advise_table(&page, report);
        LINE(&page, "\n");
        for (int i = 0; i < PACK_ADVISE_WHY; i++)
            pack_page_wrap(&page, i ? "      " : "WHY   ", result->why[i], 6);
        put_policies(&page, &result->rows[0]);
        put_mixing(&page, &result->rows[0]);
        put_shared(&page, &result->rows[0]);
    }
    put_engine(&page, report);
    put_target(&page, report);
    put_warnings(&page, report);
    put_code(&page, report);
    if (!report->is_what_if)
        pack_report_advise_chart(&page, report);
    put_method(&page, report);
    return page.status;
}
