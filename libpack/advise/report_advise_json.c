/* The report as JSON: keys in fixed order, as h5advise(1) lists them. */
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/base/json.h"
#include "libpack/advise/report_advise.h"
#include "libpack/advise/snippet.h"
#include "libpack/model/cachesim_json.h"

void
pack_report_warnings_json(struct pack_json *json, const char *key,
                          const struct pack_advise_warning *warnings, size_t n)
{
    pack_json_array(json, key);
    for (size_t i = 0; i < n; i++) {
        pack_json_object(json, NULL);
        pack_json_text(json, "id", warnings[i].id);
        pack_json_double(json, "value", warnings[i].value);
        pack_json_text(json, "text", warnings[i].text);
        pack_json_u64(json, "code", (uint64_t)warnings[i].code);
        pack_json_text(json, "severity", warnings[i].severity);
        pack_json_double(json, "price_bytes", warnings[i].price_bytes);
        pack_json_double(json, "price_s_per_epoch", warnings[i].price_s);
        pack_json_text(json, "remedy", warnings[i].remedy);
        pack_json_close(json);
    }
    pack_json_close(json);
}

static void
put_options(struct pack_json *json, const struct pack_report_advise *r)
{
    const struct pack_advise_params *p = r->params;
    pack_json_object(json, "options");
    pack_json_text(json, "subject", r->subject);
    pack_json_shape(json, "extent", &p->data.extent);
    pack_json_text(json, "type", r->type);
    pack_json_u64(json, "element_bytes", p->data.elem_size);
    pack_json_text(json, "pattern", r->pattern);
    pack_json_shape(json, "box", &p->reading.pattern.box);
    pack_json_u64(json, "batch", p->reading.pattern.batch ? p->reading.pattern.batch : 1);
    pack_json_u64(json, "workers", pack_advise_workers(p));
    pack_json_u64(json, "rank", p->reading.pattern.rank);
    pack_json_u64(json, "world", p->reading.pattern.world ? p->reading.pattern.world : 1);
    pack_json_text(json, "read", pack_read_mode_name(p->reading.pattern.read));
    pack_json_u64(json, "epochs", pack_advise_epochs(p));
    pack_json_bool(json, "persistent_workers", !p->reading.workers_end);
    pack_json_double(json, "min_gain", pack_advise_min_gain(p));
    pack_json_bool(json, "keep_file", p->storing.keep_file);
    pack_json_u64(json, "memory_bytes", pack_advise_memory(p));
    pack_json_u64(json, "ram_bytes", p->machine.ram_bytes);
    pack_json_text(json, "storage", p->machine.profile->name);
    pack_json_bool(json, "storage_is_measured", p->machine.profile->is_measured);
    pack_json_text(json, "hdf5_version", r->hdf5_version);
    pack_json_bool(json, "hdf5_version_is_compared",
                   pack_hdf5_version_is_compared(r->hdf5_version));
    pack_json_double(json, "target_samples_per_s", p->goal.target);
    pack_json_u64(json, "seed", p->reading.pattern.seed);
    pack_json_bool(json, "what_if", r->is_what_if);
    pack_json_close(json);
}

static void
put_cost(struct pack_json *json, const char *key, const struct pack_cost *c,
         double samples)
{
    pack_json_object(json, key);
    pack_json_double(json, "call_ns", c->call_ns / samples);
    pack_json_double(json, "copy_ns", c->copy_ns / samples);
    pack_json_double(json, "page_ns", c->page_ns / samples);
    pack_json_double(json, "storage_ns", c->storage_ns / samples);
    pack_json_double(json, "decode_ns", c->decode_ns / samples);
    pack_json_double(json, "walk_ns", c->walk_ns / samples);
    pack_json_double(json, "touch_ns", c->touch_ns / samples);
    pack_json_double(json, "total_ns", c->total_ns / samples);
    pack_json_close(json);
}

static void
put_outcome(struct pack_json *json, const char *key, const struct pack_advise_outcome *o)
{
    const struct pack_advise_config *config = &o->config;
    char order[PACK_REPORT_PATTERN_MAX];
    pack_json_object(json, key);
    pack_json_shape(json, "chunk", &config->chunk);
    pack_json_text(json, "codec", config->codec);
    pack_json_bool(json, "virtual", config->is_virtual);
    pack_json_double(json, "stored_rate", config->stored_rate);
    pack_json_text(json, "order", pack_report_pattern(&config->pattern, order));
    pack_json_u64(json, "rdcc_nbytes", config->cache.size_bytes);
    pack_json_u64(json, "rdcc_nslots", config->cache.n_slots);
    pack_json_double(json, "rdcc_w0", config->cache.w0);
    pack_json_text(json, "hdf5_version", pack_hdf5_version_name(config->cache.version));
    pack_json_bool(json, "reopen", config->reopen);
    pack_json_double(json, "samples_per_s", o->rate);
    pack_json_double(json, "first_epoch_samples_per_s", o->first_rate);
    pack_json_double(json, "later_epochs_samples_per_s", o->later_rate);
    pack_json_double(json, "hit_rate", o->hit_rate);
    pack_json_double(json, "requests_per_sample",
                     (double)o->steady.requests / o->steady_samples);
    pack_json_double(json, "loads_per_sample", o->loads_per_sample);
    pack_json_double(json, "read_bytes_per_sample", o->bytes_per_sample);
    pack_json_double(json, "amplification", o->amplification);
    pack_json_u64(json, "memory_bytes", (uint64_t)o->memory_bytes);
    pack_json_bool(json, "fits", o->fits);
    pack_json_u64(json, "file_bytes", (uint64_t)o->file_bytes);
    pack_json_double(json, "randomness", o->randomness);
    pack_json_u64(json, "shared_chunks", o->shared_chunks);
    pack_json_rate(json, "class_mixing", o->class_mixing);
    pack_json_double(json, "page_cache_rate", o->page_cache_rate);
    pack_json_rate(json, "lru_hit_rate", o->lru_hit_rate);
    pack_json_rate(json, "belady_hit_rate", o->belady_hit_rate);
    pack_json_bool(json, "is_exact", o->is_exact);
    pack_json_bool(json, "is_front", o->is_front);
    pack_json_bool(json, "is_user", o->is_user);
    pack_json_bool(json, "is_now", o->is_now);
    pack_json_text(json, "change", pack_advise_change_name(o->change));
    pack_json_text(json, "basis", pack_advise_basis_name(o->basis));
    pack_json_double(json, "modelled_samples_per_s", o->modelled_rate);
    pack_json_double(json, "gain_low", o->gain_low);
    pack_json_double(json, "gain_high", o->gain_high);
    pack_json_double(json, "worker_samples_per_epoch", o->worker_samples);
    pack_json_double(json, "later_samples_counted", o->steady_samples);
    pack_cache_counts_print(json, "first_epoch_counts", &o->first);
    pack_cache_counts_print(json, "later_counts", &o->steady);
    put_cost(json, "later_cost_per_sample", &o->steady_cost, o->steady_samples);
    pack_json_close(json);
}

static enum pack_status
put_code(struct pack_json *json, const struct pack_report_advise *r,
         struct pack_error *err)
{
    struct pack_snippet_subject subject = { .file = r->file,
                                            .dataset = r->dataset,
                                            .source = r->source,
                                            .packed = r->packed,
                                            .params = r->params,
                                            .config = &r->result->rows[0].config,
                                            .needs_python = r->needs_python };
    enum pack_status status = PACK_OK;
    const char *name;
    pack_json_object(json, "code");
    for (size_t i = 0; status == PACK_OK && (name = pack_snippet_name(i, NULL)); i++) {
        struct pack_buf text = { 0 };
        status = pack_snippet_print(i, &subject, &text, err);
        if (status == PACK_OK)
            pack_json_text_n(json, name, (const char *)text.data, text.size);
        pack_buf_done(&text);
    }
    pack_json_close(json);
    return status;
}

static void
put_cells(struct pack_json *json, const char *key, const struct pack_advise_map *map,
          const double cells[PACK_ADVISE_MAP_MAX][PACK_ADVISE_MAP_MAX])
{
    pack_json_array(json, key);
    for (int i = 0; i < map->n_caches; i++)
        pack_json_doubles(json, NULL, cells[i], (size_t)map->n_chunks);
    pack_json_close(json);
}

static void
put_map(struct pack_json *json, const struct pack_advise_map *map)
{
    pack_json_object(json, "map");
    size_t n_chunks = (size_t)map->n_chunks, n_caches = (size_t)map->n_caches;
    pack_json_u64s(json, "samples_per_chunk", map->samples_per_chunk, n_chunks);
    pack_json_u64s(json, "chunk_bytes", map->chunk_bytes, n_chunks);
    pack_json_u64s(json, "cache_bytes", map->cache_bytes, n_caches);
    put_cells(json, "hit_rate", map, map->hit_rate);
    put_cells(json, "samples_per_s", map, map->rate);
    pack_json_close(json);
}

static void
put_now(struct pack_json *json, const struct pack_advise_result *result)
{
    if (!result->has_now) {
        pack_json_null(json, "now");
        return;
    }
    put_outcome(json, "now", &result->now);
    pack_json_text(json, "cause", result->cause);
    if (result->has_versions) {
        put_outcome(json, "defaults_1", &result->version_1);
        put_outcome(json, "defaults_2", &result->version_2);
    }
}

/* Of later epochs, as rows are. */
static void
put_engine(struct pack_json *json, const struct pack_advise_engine *e)
{
    if (!e || !e->is_known) {
        pack_json_null(json, "engine");
        return;
    }
    const struct pack_forecast *f = &e->forecast;
    const struct pack_forecast_counts *c = &f->later;
    pack_json_object(json, "engine");
    pack_json_text(json, "engine", "libpack");
    pack_json_text(json, "strategy", f->engine);
    pack_json_u64(json, "threads", f->n_threads);
    pack_json_u64(json, "memory_bytes", f->memory_bytes);
    pack_json_u64(json, "decoded_chunks_kept", f->n_slots);
    pack_json_double(json, "samples_per_s", e->rate);
    pack_json_double(json, "first_epoch_samples_per_s", e->first_rate);
    pack_json_double(json, "later_epochs_samples_per_s", e->later_rate);
    pack_json_text(json, "basis", pack_advise_basis_name(e->basis));
    pack_json_double(json, "modelled_samples_per_s", e->modelled_rate);
    pack_json_double(json, "gain_low", e->gain_low);
    pack_json_double(json, "gain_high", e->gain_high);
    pack_json_double(json, "hit_rate", e->hit_rate);
    pack_json_double(json, "loads_per_sample", e->loads_per_sample);
    pack_json_double(json, "read_bytes_per_sample", e->bytes_per_sample);
    pack_json_bool(json, "is_exact", f->is_exact);
    pack_json_object(json, "first_epoch_counts");
    pack_json_u64(json, "samples", f->first.n_samples);
    pack_json_u64(json, "visits", f->first.visits);
    pack_json_u64(json, "loads", f->first.loads);
    pack_json_u64(json, "hits", f->first.hits);
    pack_json_close(json);
    put_cost(json, "later_cost_per_sample", &e->later_cost, (double)c->n_samples);
    pack_json_close(json);
}

static void
put_training(struct pack_json *json, const struct pack_report_advise *report)
{
    struct pack_advise_training t;
    if (!pack_report_training(report, &t)) {
        pack_json_null(json, "training");
        return;
    }
    pack_json_object(json, "training");
    pack_json_double(json, "recorded_samples_per_s", t.recorded_rate);
    pack_json_double(json, "reading", t.reading);
    pack_json_double(json, "training", t.training);
    pack_json_double(json, "samples_per_s", t.rate);
    pack_json_double(json, "gain", t.gain);
    pack_json_bool(json, "gain_is_least", t.is_least);
    pack_json_double(json, "gain_most", t.most);
    pack_json_close(json);
}

static void
put_search(struct pack_json *json, const struct pack_advise_result *result)
{
    pack_json_object(json, "search");
    pack_json_u64(json, "candidates", result->n_candidates);
    pack_json_u64(json, "bounded", result->n_bounded);
    pack_json_u64(json, "sampled", result->n_sampled);
    pack_json_u64(json, "exact", result->n_exact);
    pack_json_u64(json, "visits", result->n_visits);
    pack_json_close(json);
}

static void
put_target(struct pack_json *json, const struct pack_report_advise *r)
{
    if (r->params->goal.target <= 0) {
        pack_json_null(json, "target");
        return;
    }
    pack_json_object(json, "target");
    pack_json_bool(json, "is_reached", r->result->target_is_reached);
    pack_json_u64(json, "workers", r->result->target_workers);
    pack_json_double(json, "workers_samples_per_s", r->result->target_rate);
    pack_json_double(json, "echo", r->result->target_echo);
    pack_json_close(json);
}

static void
put_measured(struct pack_json *json, const struct pack_measured *m)
{
    if (!m) {
        pack_json_null(json, "measured");
        return;
    }
    pack_json_object(json, "measured");
    pack_json_double(json, "resident_rate", m->resident_rate);
    pack_json_bool(json, "storage", m->storage_measured);
    pack_json_bool(json, "has_now", m->has_now);
    pack_json_double(json, "now_first_samples_per_s", m->now_first);
    if (m->later_unseen)
        pack_json_null(json, "now_later_samples_per_s");
    else
        pack_json_double(json, "now_later_samples_per_s", m->now_later);
    pack_json_double(json, "modelled_first_samples_per_s", m->modelled_first);
    pack_json_double(json, "modelled_later_samples_per_s", m->modelled_later);
    pack_json_bool(json, "proven", m->proven);
    pack_json_u64(json, "rows", m->n_rows);
    pack_json_u64(json, "rounds", m->n_rounds);
    pack_json_u64(json, "samples", m->n_samples);
    pack_json_double(json, "file_over_copy", m->now_ratio);
    pack_json_u64(json, "elapsed_ns", m->elapsed_ns);
    pack_json_bool(json, "processor", !m->processor_assumed);
    pack_json_text(json, "why_not", m->why_not[0] ? m->why_not : NULL);
    pack_json_close(json);
}

enum pack_status
pack_report_advise_json(const struct pack_report_advise *r, struct pack_buf *buf,
                        struct pack_error *err)
{
    const struct pack_advise_result *result = r->result;
    struct pack_json json;
    pack_json_begin_report(&json, buf, "advise/1", r->program, r->version);
    put_options(&json, r);
    pack_json_object(&json, "result");
    put_now(&json, result);
    pack_json_array(&json, "rows");
    for (size_t i = 0; i < result->n_rows; i++)
        put_outcome(&json, NULL, &result->rows[i]);
    pack_json_close(&json);
    pack_json_array(&json, "why");
    for (int i = 0; i < PACK_ADVISE_WHY && !r->is_what_if; i++)
        pack_json_text(&json, NULL, result->why[i]);
    pack_json_close(&json);
    put_engine(&json, r->engine);
    put_training(&json, r);
    put_target(&json, r);
    pack_report_warnings_json(&json, "warnings", result->warnings, result->n_warnings);
    pack_report_warnings_json(&json, "choice_warnings", result->choice_warnings,
                              result->n_choice_warnings);
    enum pack_status status = put_code(&json, r, err);
    put_map(&json, &result->map);
    put_search(&json, result);
    pack_json_close(&json);
    put_measured(&json, r->measured);
    pack_json_close(&json);
    return status == PACK_OK ? pack_json_end(&json, err) : status;
}
