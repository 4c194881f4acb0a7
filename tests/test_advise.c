/* The advisor's parts: profiles, costs, contiguous reads, the search's laws. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "libpack/model/profile_terms.h"
#include <libpack/advise.h>
#include "libpack/base/buf.h"
#include "libpack/hdf5/h5_probe.h"
#include "libpack/base/rng.h"
#include "libpack/model/cost.h"
#include "tests/tap.h"

static void
test_profile(void)
{
    struct pack_profile profile, again;
    struct pack_error err;
    struct pack_buf text = { 0 };
    const char *name, *description;
    for (size_t i = 0; (name = pack_profile_name(i, &description)) != NULL; i++) {
        text.size = 0;
        bool same =
            pack_profile_named(name, &profile, &err) == PACK_OK &&
            pack_profile_print(&profile, &text, &err) == PACK_OK &&
            pack_profile_parse((char *)text.data, text.size, &again, &err) == PACK_OK;
        for (size_t k = 0; same && pack_profile_term(k); k++) {
            size_t at = pack_profile_term(k)->offset;
            same = *(double *)((char *)&profile + at) == *(double *)((char *)&again + at);
        }
        ok(same && again.page.n == profile.page.n, "profile %s reads back as printed",
           name);
    }
    ok(pack_profile_named("floppy", &profile, &err) == PACK_ERR_NOT_FOUND &&
           strstr(err.text, "nvme"),
       "an unknown one is refused, those known are named");
    for (size_t cut = 0; cut + 2 < text.size; cut += 7) /* it ends in "}\n" */
        if (pack_profile_parse((char *)text.data, cut, &again, &err) == PACK_OK)
            ok(false, "a profile cut after %zu bytes is refused", cut);
    ok(pack_profile_parse("{\"schema\": 1}", 13, &again, &err) == PACK_ERR_FORMAT,
       "what is not a profile is refused");
    is_text(err.text, "not a machine profile: \"schema\" is not \"profile/2\"",
            "in words");
    ok(pack_profile_parse("{\"a\": ?}", 8, &again, &err) == PACK_ERR_FORMAT &&
           strstr(err.text, "line 1, column 7"),
       "and what is not JSON, with line and column");
    struct pack_profile_curve curve = { 2, { 10, 1000 }, { 1, 100 } };
    ok(fabs(pack_profile_at(&curve, 100) - 10) < 1e-9 &&
           pack_profile_at(&curve, 1) == 1 &&
           fabs(pack_profile_at(&curve, 1e4) - 1000) < 1e-6,
       "curves are straight on logarithmic axes, constant below, go on above");
    pack_buf_done(&text);
}

static void
test_cost(void)
{
    struct pack_profile profile;
    struct pack_cost one, two;
    struct pack_error err;
    (void)pack_profile_named("hdd", &profile, &err);
    struct pack_cost_work work = { .n_reads = 100,
                                   .counts = { .requests = 100,
                                               .loads = 100,
                                               .file_reads = 100,
                                               .file_read_bytes = 100 << 20 },
                                   .chunk_bytes = 1 << 20,
                                   .stored_bytes = 1 << 20 };
    pack_cost_estimate(&profile, &work, 1, &one);
    ok(fabs(one.total_ns - one.cpu_ns - one.storage_ns) < 1, "terms add up");
    ok(one.storage_ns > 100 * (profile.latency_ns + 6e6),
       "a cold read waits for latency and bytes");
    work.page_cache_rate = 1;
    pack_cost_estimate(&profile, &work, 1, &two);
    ok(two.storage_ns == 0 && two.cpu_ns == one.cpu_ns, "a warm one does not");
    work.page_cache_rate = 0;
    pack_cost_estimate(&profile, &work, 8, &two);
    ok(two.storage_ns > 7 * one.storage_ns / 2, "readers share one disk");
    profile.n_cpus = 1;
    work.page_cache_rate = 1;
    pack_cost_estimate(&profile, &work, 8, &two);
    ok(fabs(pack_cost_rate(&profile, &two, 100, 8) -
            pack_cost_rate(&profile, &two, 100, 1)) < 1e-6,
       "and one processor");
    work.n_elems = 1000;
    pack_cost_estimate(&profile, &work, 1, &one);
    work.rank = 4;
    pack_cost_estimate(&profile, &work, 1, &two);
    work.n_elems = 0;
    struct pack_cost none;
    pack_cost_estimate(&profile, &work, 1, &none);
    ok(fabs(one.call_ns - none.call_ns - 1000 * profile.elem_ns) < 1e-3 &&
           fabs(two.call_ns - one.call_ns - 2000 * profile.elem_axis_ns) < 1e-3,
       "elements of several boxes in one read cost each for itself, and more with more axes");
    ok(pack_cost_page_cache_rate(PACK_COST_SEQUENTIAL, 100, 99) == 0 &&
           pack_cost_page_cache_rate(PACK_COST_SEQUENTIAL, 100, 100) == 1 &&
           pack_cost_page_cache_rate(PACK_COST_INDEPENDENT, 100, 50) == 0.5,
       "in order nothing is found until all fits");
}

/* The formula of cost.h, played through. */
static void
test_page_cache(void)
{
    enum { N = 2000, KEEP = 1200, EPOCHS = 12 };
    static uint64_t last[N], order[N];
    uint64_t now = 0, hits = 0;
    struct pack_rng rng;
    pack_rng_seed(&rng, 1);
    for (uint64_t i = 0; i < N; i++)
        order[i] = i;
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        for (uint64_t i = N - 1; i > 0; i--) {
            uint64_t k = pack_rng_below(&rng, i + 1), held = order[i];
            order[i] = order[k];
            order[k] = held;
        }
        for (uint64_t i = 0; i < N; i++) {
            uint64_t newer = 0; /* distinct pages used since */
            for (uint64_t k = 0; epoch && k < N; k++)
                newer += last[k] > last[order[i]];
            hits += epoch && newer < KEEP;
            last[order[i]] = ++now;
        }
    }
    double seen = (double)hits / (N * (EPOCHS - 1));
    double said = pack_cost_page_cache_rate(PACK_COST_PERMUTED, N, KEEP);
    ok(fabs(seen - said) < 0.02,
       "permutations find %.3f in 60 %% of memory, formula %.3f", seen, said);
}

static void
fill(void *context, uint64_t first, uint64_t n, void *out)
{
    (void)context;
    memset(out, (int)first, n * 40 * 50);
}

/* Contiguous data: file reads and bytes of the model, and of HDF5 behind the driver. */
static void
test_contiguous(void)
{
    struct pack_probe_layout layout = { .extent = { 3, { 300, 40, 50 } } };
    struct pack_profile profile;
    struct pack_error err;
    char path[] = "test_advise-XXXXXX";
    static unsigned char out[300 * 40 * 50];
    const struct pack_shape boxes[] = {
        { 0 }, { 3, { 1, 7, 50 } }, { 3, { 2, 40, 3 } }, { 3, { 40, 40, 50 } }
    };
    int fd = mkstemp(path);
    close(fd);
    (void)pack_profile_named("nvme", &profile, &err);
    if (pack_probe_create(path, &layout, fill, NULL, &err) != PACK_OK) {
        ok(false, "%s", err.text);
        return;
    }
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++) {
        struct pack_advise_params p = { .data.extent = layout.extent,
                                        .data.elem_size = 1,
                                        .machine.profile = &profile,
                                        .reading.epochs = 1,
                                        .reading.pattern = { .kind = PACK_PATTERN_SHUFFLE,
                                                             .box = boxes[i] } };
        struct pack_advise_config config = { .codec = "none",
                                             .stored_rate = 1,
                                             .pattern = p.reading.pattern };
        struct pack_advise_outcome o;
        struct pack_h5_count count = { 0 };
        struct pack_cache_params cache = { 521, 1 << 20, 0.75, PACK_HDF5_1_10 };
        struct pack_pattern_iter *iter;
        struct pack_request request;
        struct pack_probe *probe;
        p.reading.pattern.extent = layout.extent;
        if (pack_advise_evaluate(&p, &config, 0, &o, &err) != PACK_OK ||
            pack_pattern_new(&p.reading.pattern, &iter, &err) != PACK_OK ||
            pack_probe_open(path, &cache, &count, &probe, &err) != PACK_OK) {
            ok(false, "%s", err.text);
            continue;
        }
        while (pack_pattern_next(iter, &request))
            (void)pack_probe_read(probe, request.boxes, request.n_boxes, out, &err);
        ok(o.first.file_reads == count.raw.file_reads &&
               o.first.file_read_bytes == count.raw.file_read_bytes,
           "contiguous reads %zu: %llu reads of %llu bytes, HDF5 does %llu of %llu", i,
           (unsigned long long)o.first.file_reads,
           (unsigned long long)o.first.file_read_bytes,
           (unsigned long long)count.raw.file_reads,
           (unsigned long long)count.raw.file_read_bytes);
        pack_probe_close(probe);
        pack_pattern_free(iter);
    }
    unlink(path);
}

/* No simulation beats its bound by more than noise: what is dropped deserved it. */
static void
test_search(void)
{
    struct pack_profile profile;
    struct pack_error err;
    static struct pack_advise_result one, four;
    (void)pack_profile_named("sata-ssd", &profile, &err);
    const struct pack_shape user = { 3, { 3, 20, 20 } };
    struct pack_advise_params p = {
        .data.extent = { 3, { 5000, 40, 40 } },
        .data.elem_size = 2,
        .machine.profile = &profile,
        .storing.chunks = &user,
        .storing.n_chunks = 1,
        .reading.pattern = { .kind = PACK_PATTERN_SHUFFLE, .batch = 32, .workers = 2 },
        .machine.memory_bytes = 8 << 20,
        .n_threads = 1
    };
    enum pack_status status = pack_advise(&p, &one, &err);
    ok(status == PACK_OK, "a search ends");
    p.n_threads = 4;
    status = pack_advise(&p, &four, &err);
    ok(status == PACK_OK && one.n_rows == four.n_rows &&
           memcmp(one.rows[0].config.chunk.extent, four.rows[0].config.chunk.extent,
                  24) == 0 &&
           one.rows[0].rate == four.rows[0].rate && one.n_visits == four.n_visits,
       "with the same result on any number of threads");
    bool has_user = false, front = false, fits = true;
    for (size_t i = 0; i < one.n_rows; i++) {
        has_user |= pack_shape_equal(&one.rows[i].config.chunk, &user);
        front |= one.rows[i].is_front;
        fits &= one.rows[i].memory_bytes < 9 << 20;
    }
    int pools = 0, whole = 0;
    p.data.extent.extent[0] = 600;
    status = pack_advise(&p, &four, &err);
    for (size_t i = 0; i < four.n_rows; i++) {
        const struct pack_advise_config *c = &four.rows[i].config;
        pools += c->pattern.kind == PACK_PATTERN_BLOCK;
        whole += c->pattern.kind == PACK_PATTERN_BLOCK &&
                 c->pattern.pool_chunks * c->chunk.extent[0] >= 600;
    }
    ok(status == PACK_OK && pools > 0 && whole == 0,
       "of %d blocks none is of the whole dataset: that is a shuffle", pools);
    ok(has_user, "the user's own shape is in the table");
    ok(front && fits, "there is a front, and caches keep to the memory given");
    p.machine.memory_bytes = 100;
    ok(pack_advise(&p, &one, &err) == PACK_ERR_ARGUMENT, "too little memory is refused");
    struct pack_shape large = { 3, { 6000, 40, 40 } };
    p.machine.memory_bytes = 1 << 20;
    p.storing.chunks = &large;
    ok(pack_advise(&p, &one, &err) == PACK_ERR_ARGUMENT &&
           strstr(err.text, "larger than"),
       "so is a chunk larger than the dataset");
    p.storing.n_chunks = 0;
    p.data.extent = (struct pack_shape){ 2, { UINT64_MAX, 3 } };
    ok(pack_advise(&p, &one, &err) == PACK_ERR_LIMIT,
       "and more bytes than 64 bits count");
}

/* Codecs that were measured, in place of doing it. */
struct asked {
    double rate;
    int n_zstd, n_gzip;
};

static enum pack_status
measure(void *context, const struct pack_shape *chunk, const char *codec, double *stored_rate,
        double *decode_ns, struct pack_error *err)
{
    struct asked *asked = context;
    (void)chunk, (void)err;
    asked->n_zstd += strcmp(codec, "zstd:3") == 0;
    asked->n_gzip += strcmp(codec, "gzip:4") == 0;
    *stored_rate = asked->rate;
    *decode_ns = 1;
    return PACK_OK;
}

/* What zstd leaves as it is, gzip is not tried on, unless it is today's. */
static void
test_vain(void)
{
    struct pack_profile profile;
    static struct pack_advise_result result;
    struct asked vain = { .rate = 0.96 }, some = { .rate = 0.94 }, today = { .rate = 0.96 };
    struct pack_advise_config now = { .chunk = { 3, { 3, 40, 40 } },
                                      .codec = "gzip:4",
                                      .stored_rate = 0.96,
                                      .decode_ns = 5,
                                      .pattern.kind = PACK_PATTERN_SHUFFLE };
    (void)pack_profile_named("nvme", &profile, NULL);
    struct pack_advise_params p = {
        .data.extent = { 3, { 500, 40, 40 } },
        .data.elem_size = 1,
        .machine.profile = &profile,
        .storing.measure = measure,
        .reading.pattern = { .kind = PACK_PATTERN_SHUFFLE, .batch = 32, .workers = 2 },
        .machine.memory_bytes = 8 << 20,
        .n_threads = 1
    };
    struct asked *each[] = { &vain, &some, &today };
    bool done = true;
    pack_cache_params_defaults(&now.cache, p.cache.version);
    for (int i = 0; i < 3; i++) {
        p.storing.measure_context = each[i];
        p.now = i == 2 ? &now : NULL;
        done = pack_advise(&p, &result, NULL) == PACK_OK && done;
    }
    ok(done && vain.n_zstd > 2 && vain.n_gzip == 0 && some.n_gzip == some.n_zstd &&
           today.n_gzip == today.n_zstd && today.n_gzip > 2,
       "gzip is tried where zstd makes data smaller, or where it is today's: %d, %d, %d",
       vain.n_gzip, some.n_gzip, today.n_gzip);
}

/* One sample in chunks that could not be worse, and no time to lose by it. */
static void
test_lone(void)
{
    struct pack_profile profile;
    struct pack_error err;
    static struct pack_advise_result r;
    (void)pack_profile_named("hdd", &profile, &err);
    const struct pack_shape user = { 2, { 1, 1000 } };
    struct pack_advise_params p = {
        .data.extent = { 2, { 1, 1000 } },
        .data.elem_size = 1,
        .machine.profile = &profile,
        .storing.chunks = &user,
        .reading.pattern = { .kind = PACK_PATTERN_SHUFFLE, .batch = 64, .workers = 4 }
    };
    struct pack_advise_config now = { .chunk = { 2, { 1, 1 } },
                                      .codec = "none",
                                      .stored_rate = 1,
                                      .cache = { 521, 1 << 20, 0.75, PACK_HDF5_1_10 },
                                      .pattern = p.reading.pattern };
    p.now = &now;
    ok(pack_advise(&p, &r, &err) == PACK_OK && r.n_rows == 1 && r.rows[0].is_now &&
           strstr(r.why[2], "an epoch reads one sample, so that there is nothing to choose"),
       "with one sample there is nothing to choose, and that is said");
    p.storing.n_chunks = 1;
    ok(pack_advise(&p, &r, &err) == PACK_OK && r.n_rows > 1 && r.rows[0].is_now,
       "a user's chunks are shown, and today's are kept");
    p.data.extent.extent[0] = 2;
    p.storing.n_chunks = 0;
    ok(pack_advise(&p, &r, &err) == PACK_OK && r.n_rows > 1 && !r.rows[0].is_now,
       "of two samples something is chosen");
}

static void
test_slots(void)
{
    struct pack_profile profile;
    struct pack_error err;
    struct pack_advise_outcome o;
    (void)pack_profile_named("nvme", &profile, &err);
    struct pack_advise_params p = { .data.extent = { 3, { 40, 100, 100 } },
                                    .data.elem_size = 1,
                                    .machine.profile = &profile,
                                    .reading.pattern_is_fixed = true,
                                    .reading.pattern = { .kind = PACK_PATTERN_SHUFFLE } };
    struct pack_advise_config c = { .chunk = { 3, { 1, 20, 20 } },
                                    .codec = "none",
                                    .stored_rate = 1,
                                    .pattern = p.reading.pattern,
                                    .cache = { 0, 1 << 20, 0.75, PACK_HDF5_1_10 } };
    enum pack_status status = pack_advise_slots(&p, &c, &err);
    ok(status == PACK_OK && c.cache.n_slots >= 1000, "1000 chunks need %llu slots",
       (unsigned long long)c.cache.n_slots);
    status = pack_advise_evaluate(&p, &c, 0, &o, &err);
    ok(status == PACK_OK && o.first.loads <= 1010, "with which each is loaded once: %llu",
       (unsigned long long)o.first.loads);
    c.cache.n_slots = 64; /* 25 chunks a sample take 64 slot values */
    status = pack_advise_evaluate(&p, &c, 0, &o, &err);
    ok(status == PACK_OK && o.steady.hits == 0,
       "with 64 all samples share the same 25 slots");
}

/* 600 samples in 100 chunks, all of which the cache holds. */
static struct pack_advise_params
epochs_params(const struct pack_profile *profile)
{
    return (
        struct pack_advise_params){ .data.extent = { 2, { 600, 1000 } },
                                    .data.elem_size = 1,
                                    .machine.profile = profile,
                                    .reading.epochs = 3,
                                    .machine.ram_bytes = 1 << 30,
                                    .reading.pattern = { .kind = PACK_PATTERN_SHUFFLE } };
}

static struct pack_advise_config
epochs_config(const struct pack_advise_params *p)
{
    return (
        struct pack_advise_config){ .chunk = { 2, { 6, 1000 } },
                                    .codec = "none",
                                    .stored_rate = 1,
                                    .pattern = p->reading.pattern,
                                    .cache = { 1009, 1 << 20, 0.75, PACK_HDF5_1_10 } };
}

static void
test_epochs(void)
{
    struct pack_profile profile;
    struct pack_error err;
    struct pack_advise_outcome stay, end, three;
    (void)pack_profile_named("nvme", &profile, &err);
    struct pack_advise_params p = epochs_params(&profile);
    struct pack_advise_config c = epochs_config(&p);
    ok(pack_advise_evaluate(&p, &c, 0, &stay, &err) == PACK_OK &&
           stay.first.loads == 100 && stay.steady.loads == 0,
       "workers that stay load each chunk once and for all");
    p.reading.workers_end = true;
    enum pack_status status = pack_advise_evaluate(&p, &c, 0, &end, &err);
    ok(status == PACK_OK && end.first.loads == 100 && end.steady.loads == 200 &&
           end.steady_samples == 1200,
       "workers that end load it again in each epoch: %llu in two",
       (unsigned long long)end.steady.loads);
    ok(end.steady_cost.touch_ns == 2 * end.first_cost.touch_ns &&
           end.first_cost.touch_ns > 0 && stay.steady_cost.touch_ns == 0,
       "into memory that is new again");
    ok(end.later_rate > end.first_rate, "but out of the page cache");
    p.reading.workers_end = false;
    p.reading.epochs = 30;
    ok(pack_advise_evaluate(&p, &c, 0, &three, &err) == PACK_OK &&
           three.n_simulated == 1800 && three.first_rate == stay.first_rate &&
           three.rate > stay.rate &&
           fabs(three.rate - 30 / (1 / three.first_rate + 29 / three.later_rate)) <
               1e-6 * three.rate,
       "three epochs are simulated, the rate is that of thirty");
    p.reading.epochs = 0;
    ok(pack_advise_evaluate(&p, &c, 0, &stay, &err) == PACK_OK && stay.rate == three.rate,
       "which is the default");
}

/* Batches of 20 of 600 samples with 1000 elements, in one read each. */
static void
test_batches(void)
{
    struct pack_profile profile;
    struct pack_error err;
    struct pack_advise_outcome apart, joined, ordered;
    (void)pack_profile_named("nvme", &profile, &err);
    struct pack_advise_params p = epochs_params(&profile);
    p.machine.is_warm = true;
    p.reading.pattern.batch = 20;
    struct pack_advise_config c = epochs_config(&p);
    ok(pack_advise_evaluate(&p, &c, 0, &apart, &err) == PACK_OK && apart.elems_per_read == 0,
       "samples read one by one are no union");
    c.pattern.read = PACK_READ_BATCH;
    enum pack_status status = pack_advise_evaluate(&p, &c, 0, &joined, &err);
    ok(status == PACK_OK && joined.elems_per_read == 20000, "20 scattered ones in a read are");
    double more = (joined.steady_cost.call_ns - apart.steady_cost.call_ns) /
                  joined.steady_samples;
    ok(more > 0.8 * 1000 * profile.elem_ns && more < 1.2 * 1000 * profile.elem_ns,
       "and each of the 1000 elements of a sample costs its time: %.0f ns", more);
    c.pattern.kind = PACK_PATTERN_SEQUENTIAL;
    status = pack_advise_evaluate(&p, &c, 0, &ordered, &err);
    ok(status == PACK_OK && ordered.elems_per_read == 0 &&
           ordered.steady_cost.call_ns < 0.1 * joined.steady_cost.call_ns,
       "20 neighbours are one box");
    c.chunk.rank = 0;
    ok(pack_advise_evaluate(&p, &c, 0, &ordered, &err) == PACK_OK && ordered.runs_per_read == 0,
       "and one run of contiguous data");
    c.pattern.kind = PACK_PATTERN_SHUFFLE;
    p.data.extent = (struct pack_shape){ 3, { 600, 20, 50 } };
    c.pattern = p.reading.pattern;
    status = pack_advise_evaluate(&p, &c, 0, &apart, &err);
    ok(status == PACK_OK && apart.runs_per_read == 0, "contiguous samples one by one are plain");
    c.pattern.read = PACK_READ_BATCH;
    status = pack_advise_evaluate(&p, &c, 0, &joined, &err);
    ok(status == PACK_OK && joined.runs_per_read == 400 && joined.elems_per_read == 0,
       "20 scattered ones of 20 runs in a read are 400 runs: %g", joined.runs_per_read);
    more = (joined.steady_cost.copy_ns - apart.steady_cost.copy_ns) / joined.steady_samples;
    ok(fabs(more - 19.95 * profile.run_ns) < 0.01 * profile.run_ns,
       "which cost their time: %.3g ns a sample", more);
}

static void
test_companion(void)
{
    struct pack_profile profile;
    struct pack_error err;
    struct pack_advise_outcome alone, both;
    const struct pack_advise_companion with = { .extent = { 1, { 600 } },
                                                .chunk = { 1, { 100 } },
                                                .elem_size = 8,
                                                .stored_rate = 1 };
    (void)pack_profile_named("hdd", &profile, &err);
    struct pack_advise_params p = epochs_params(&profile);
    struct pack_advise_config c = epochs_config(&p);
    ok(pack_advise_evaluate(&p, &c, 0, &alone, &err) == PACK_OK, "images alone");
    p.data.companion = &with;
    ok(pack_advise_evaluate(&p, &c, 0, &both, &err) == PACK_OK, "and with labels");
    ok(both.first_rate < alone.first_rate && both.later_rate < alone.later_rate,
       "labels in step take time in the first epoch and later");
    ok(fabs(both.rate - 3 / (1 / both.first_rate + 2 / both.later_rate)) <
               1e-6 * both.rate &&
           both.rate < 0.9 * both.later_rate,
       "and the rate is still that of all epochs: %.0f of %.0f and %.0f", both.rate,
       both.first_rate, both.later_rate);
}

/* w0 = 1 outgrows its bytes with reads in part; so must what it is compared with. */
static void
test_policies(void)
{
    struct pack_profile profile;
    struct pack_error err;
    static struct pack_advise_result result;
    (void)pack_profile_named("nvme", &profile, &err);
    struct pack_advise_params p = epochs_params(&profile);
    struct pack_advise_config c = epochs_config(&p);
    c.cache = (struct pack_cache_params){ 1009, 60000, 1, PACK_HDF5_1_10 };
    enum pack_status status = pack_advise_what_if(&p, &c, &result, &err);
    ok(status == PACK_OK && result.rows[0].first.peak_bytes > 120000,
       "a cache with w0 = 1 grows to %llu bytes",
       (unsigned long long)result.rows[0].first.peak_bytes);
    const struct pack_advise_outcome *o = &result.rows[0];
    double hits = (double)o->first.hits / (double)o->first.requests;
    ok(o->belady_hit_rate >= hits && hits > 0.5,
       "no policy is said to do better than the best one: %.3f of at most %.3f", hits,
       o->belady_hit_rate);
}

struct stopper {
    int n, after;
};

static bool
stops(void *context)
{
    struct stopper *s = context;
    return ++s->n > s->after;
}

static void
test_large(void)
{
    struct pack_profile profile;
    struct pack_error err;
    struct pack_advise_outcome o;
    static struct pack_advise_result result;
    struct stopper stopper = { .after = 3 };
    (void)pack_profile_named("nvme", &profile, &err);
    struct pack_advise_params p = epochs_params(&profile);
    p.data.extent.extent[0] = UINT64_C(10000000000);
    p.watch = (struct pack_watch){ .context = &stopper, .stop = stops };
    struct pack_advise_config c = epochs_config(&p);
    ok(pack_advise_evaluate(&p, &c, 0, &o, &err) == PACK_ERR_INTERRUPTED &&
           stopper.n == 4,
       "one long evaluation asks whether to end, and does");
    stopper = (struct stopper){ .after = 40 };
    p.n_threads = 2;
    ok(pack_advise(&p, &result, &err) == PACK_ERR_INTERRUPTED, "so does a search");
    p.watch.stop = NULL;
    enum pack_status status = pack_advise_evaluate(&p, &c, 0, &o, &err);
    ok(status == PACK_OK && !o.is_exact && o.n_simulated >= 8000000 && o.n_simulated < 1 << 25,
       "of 10^10 samples the first are simulated: %llu",
       (unsigned long long)o.n_simulated);
    c.chunk = (struct pack_shape){ 2, { 6, 10 } };
    uint64_t whole = o.n_simulated;
    status = pack_advise_evaluate(&p, &c, 0, &o, &err);
    ok(status == PACK_OK && !o.is_exact && o.n_simulated < whole / 50,
       "fewer of them where each takes more chunks: %llu",
       (unsigned long long)o.n_simulated);
    status = pack_advise_evaluate(&p, &c, 1, &o, &err);
    ok(status == PACK_OK && o.first_rate > 0 && o.later_rate > 0 && isfinite(o.rate),
       "of one sample too there are rates: %g", o.rate);
    p.data.extent = (struct pack_shape){ 2, { 8, 12 << 20 } };
    c.chunk = (struct pack_shape){ 2, { 1, 1 } };
    status = pack_advise_evaluate(&p, &c, 0, &o, &err);
    ok(status == PACK_OK && o.n_simulated == 2,
       "and two where one takes as many chunks as all may: %llu",
       (unsigned long long)o.n_simulated);
    status = pack_advise_evaluate(&p, &c, 6, &o, &err);
    ok(status == PACK_OK && o.n_simulated == 2, "even where six are asked for: %llu",
       (unsigned long long)o.n_simulated);
}

int
main(void)
{
    test_epochs();
    test_batches();
    test_companion();
    test_policies();
    test_large();
    test_profile();
    test_cost();
    test_page_cache();
    test_contiguous();
    test_search();
    test_vain();
    test_lone();
    test_slots();
    return done();
}
