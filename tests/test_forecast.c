/* What a forecast counts is what the reader then does: visits, loads and hits of every layout,
 * in every order, with memory for all chunks and for hardly any; reads of what is not
 * filtered. */
#include <unistd.h>

#include <hdf5.h>

#include <libpack/reader.h>
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_parts.h"
#include "libpack/reader/forecast.h"
#include "tests/made_h5.h"
#include "tests/made_reader.h"
#include "tests/tap.h"

static const char path[] = "test_forecast.tmp.h5";

enum { N_EPOCHS = 4, COUNTED = 3 };

static const struct made layouts[] = {
    { .name = "chunks of 4, gzip", .type = "u8", .rank = 3, .dims = { 203, 20, 30 },
      .chunk = { 4, 20, 30 }, .pipeline = "gzip:1" },
    { .name = "chunks of 1, zstd", .type = "u8", .rank = 3, .dims = { 203, 20, 30 },
      .chunk = { 1, 20, 30 }, .pipeline = "zstd:1" },
    { .name = "chunks that cut, gzip", .type = "i16", .rank = 3, .dims = { 203, 20, 30 },
      .chunk = { 7, 6, 11 }, .pipeline = "shuffle+gzip:1" },
    { .name = "half of it missing", .type = "u8", .rank = 3, .dims = { 203, 20, 30 },
      .chunk = { 5, 20, 30 }, .pipeline = "gzip:1", .sparse = true, .fill = 3 },
    { .name = "some without filters", .type = "u8", .rank = 3, .dims = { 203, 20, 60 },
      .chunk = { 5, 20, 30 }, .pipeline = "shuffle+gzip:1", .masked = true },
    { .name = "chunks of 6", .type = "u8", .rank = 3, .dims = { 203, 20, 30 },
      .chunk = { 6, 20, 30 } },
    { .name = "chunks that cut", .type = "f32", .rank = 3, .dims = { 203, 20, 30 },
      .chunk = { 7, 6, 11 } },
    { .name = "contiguous", .type = "u8", .rank = 3, .dims = { 203, 20, 30 } },
};

static const struct {
    const char *name;
    struct pack_pattern pattern;
} orders[] = {
    { "sequential", { .kind = PACK_PATTERN_SEQUENTIAL, .batch = 10 } },
    { "shuffle", { .kind = PACK_PATTERN_SHUFFLE, .batch = 16, .seed = 5 } },
    { "blocks", { .kind = PACK_PATTERN_BLOCK, .pool_chunks = 4, .batch = 8, .seed = 2 } },
    { "local blocks, without the last",
      { .kind = PACK_PATTERN_BLOCK, .pool_chunks = 4, .local = true, .dealt = 2, .batch = 8,
        .drop_last = true } },
    { "boxes", { .kind = PACK_PATTERN_REPLACEMENT, .batch = 7, .seed = 9,
                 .box = { 3, { 3, 9, 13 } } } },
    { "rank 1 of 3", { .kind = PACK_PATTERN_SHUFFLE, .batch = 16, .rank = 1, .world = 3 } },
};

struct epoch_done {
    uint64_t n_samples, n_batches;
    struct pack_reader_work work;
};

/* What the reader does in each epoch. */
static bool
read_epochs(const struct pack_reader_params *params, struct epoch_done epochs[N_EPOCHS],
            struct pack_reader_info *info)
{
    struct pack_reader *reader = NULL;
    struct pack_reader_batch batch = { .n_samples = 0 };
    struct pack_error err = { .text = "" };
    bool good = pack_reader_open(params, &reader, &err) == PACK_OK;
    memset(epochs, 0, N_EPOCHS * sizeof *epochs);
    while (good && (good = pack_reader_next(reader, &batch, &err) == PACK_OK) &&
           batch.n_samples) {
        struct epoch_done *d = &epochs[batch.epoch - params->pattern.epoch];
        d->n_samples += batch.n_samples;
        d->n_batches++;
        d->work.visits += batch.work.visits;
        d->work.loads += batch.work.loads;
        d->work.hits += batch.work.hits;
        d->work.file_reads += batch.work.file_reads;
        d->work.file_read_bytes += batch.work.file_read_bytes;
    }
    if (good)
        pack_reader_info(reader, info, NULL);
    else
        note("%s", err.text);
    pack_reader_close(reader);
    return good;
}

/* Reads are told of where there are no others, for chunks that are decoded may be read
 * together. */
static bool
are_equal(const struct pack_forecast_counts *c, const struct epoch_done *d)
{
    bool same = c->n_samples == d->n_samples && c->n_batches == d->n_batches &&
                c->visits == d->work.visits && c->loads == d->work.loads &&
                c->hits == d->work.hits;
    if (same && c->loads + c->hits == 0)
        same = c->reads == d->work.file_reads && c->read_bytes == d->work.file_read_bytes;
    if (!same)
        note("%llu/%llu samples, %llu/%llu visits, %llu/%llu loads, %llu/%llu hits, "
             "%llu/%llu reads of %llu/%llu bytes",
             (unsigned long long)c->n_samples, (unsigned long long)d->n_samples,
             (unsigned long long)c->visits, (unsigned long long)d->work.visits,
             (unsigned long long)c->loads, (unsigned long long)d->work.loads,
             (unsigned long long)c->hits, (unsigned long long)d->work.hits,
             (unsigned long long)c->reads, (unsigned long long)d->work.file_reads,
             (unsigned long long)c->read_bytes,
             (unsigned long long)d->work.file_read_bytes);
    return same;
}

static void
add(struct epoch_done *sum, const struct epoch_done *part)
{
    sum->n_samples += part->n_samples;
    sum->n_batches += part->n_batches;
    sum->work.visits += part->work.visits;
    sum->work.loads += part->work.loads;
    sum->work.hits += part->work.hits;
    sum->work.file_reads += part->work.file_reads;
    sum->work.file_read_bytes += part->work.file_read_bytes;
}

static void
compare(const char *what, const struct pack_reader_params *params)
{
    struct epoch_done epochs[N_EPOCHS], later = { 0 };
    struct pack_reader_info info = { .n_slots = 0 };
    struct pack_forecast f;
    struct pack_error err = { .text = "" };
    bool good = read_epochs(params, epochs, &info) &&
                pack_forecast(params, 0, &f, &err) == PACK_OK;
    for (int i = 1; i < COUNTED; i++)
        add(&later, &epochs[i]);
    ok(good && f.is_exact && are_equal(&f.first, &epochs[0]) && are_equal(&f.later, &later),
       "%s: as it was done %s", what, err.text);
    ok(good && f.n_slots == info.n_slots && f.memory_bytes == info.memory_bytes &&
           f.n_threads == info.n_threads && strcmp(f.engine, info.engine) == 0,
       "%s: in as much memory", what);
}

static void
test_layout(const struct made *made)
{
    struct pack_reader_params params = { .file = path,
                                         .dataset = "x",
                                         .n_epochs = N_EPOCHS,
                                         .n_threads = 2 };
    char what[160];
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        params.pattern = orders[i].pattern;
        params.memory_bytes = 0;
        snprintf(what, sizeof what, "%s, %s", made->name, orders[i].name);
        compare(what, &params);
        params.memory_bytes = least_memory(params) + 20000;
        snprintf(what, sizeof what, "%s, %s, little memory", made->name, orders[i].name);
        compare(what, &params);
    }
}

/* With room for all, a first epoch reads every chunk once, as it is stored. */
static void
test_bytes(void)
{
    struct pack_reader_params params = { .file = path, .dataset = "x", .pattern = { .batch = 7 } };
    struct pack_facts facts = { .stored_bytes = 0 };
    struct pack_forecast f = { .n_slots = 0 };
    ok(pack_dataset_facts(path, "x", &facts, NULL) == PACK_OK &&
           pack_forecast(&params, 0, &f, NULL) == PACK_OK &&
           f.first.loads == facts.n_chunks_stored && f.first.load_bytes == facts.stored_bytes &&
           f.first.copy_bytes == facts.logical_bytes,
       "%llu bytes of chunks, %llu copied out", (unsigned long long)f.first.load_bytes,
       (unsigned long long)f.first.copy_bytes);
    is_number((long long)f.first.runs, 203, "each sample in one run");
    params.pattern.box = (struct pack_shape){ 3, { 1, 20, 8 } };
    ok(pack_forecast(&params, 0, &f, NULL) == PACK_OK && f.first.short_runs == 203 * 20 &&
           f.first.runs == 0,
       "rows of 8 bytes are short runs");
    params.pattern.box.extent[2] = 9;
    ok(pack_forecast(&params, 0, &f, NULL) == PACK_OK && f.first.short_runs == 0 &&
           f.first.runs == 203 * 20,
       "of 9, longer ones");
}

/* Counting that ends early has whole epochs, or parts of one. */
static void
test_cut(void)
{
    struct pack_reader_params params = { .file = path,
                                         .dataset = "x",
                                         .pattern = { .batch = 10 },
                                         .n_epochs = 2 };
    struct pack_forecast f;
    ok(pack_forecast(&params, 95, &f, NULL) == PACK_OK && !f.is_exact &&
           f.first.n_samples == 100 && f.later.n_samples == 60,
       "counting ends in mid-epoch, what comes behind a half being what follows");
    ok(pack_forecast(&params, 300, &f, NULL) == PACK_OK && f.is_exact &&
           f.first.n_samples == 203 && f.later.n_samples == 203,
       "an epoch that was not counted to its end is left away");
    ok(pack_forecast(&params, 5, &f, NULL) == PACK_OK && !f.is_exact &&
           f.first.n_samples == 10 && f.later.n_samples == 10,
       "a single batch is all that is known");
}

static bool
is_asked_to_stop(void *context)
{
    (void)context;
    return true;
}

static void
test_refusals(void)
{
    struct pack_reader_params params = { .file = path, .dataset = "x", .memory_bytes = 10 };
    struct pack_forecast f;
    struct pack_error err = { .text = "" };
    ok(pack_forecast(&params, 0, &f, &err) == PACK_ERR_MEMORY && err.param &&
           strcmp(err.param, "memory_bytes") == 0,
       "too little memory is the reader's refusal");
    params.memory_bytes = 0;
    params.pattern.workers = 2;
    ok(pack_forecast(&params, 0, &f, &err) == PACK_ERR_ARGUMENT, "as are workers");
    params.pattern.workers = 0;
    params.dataset = "y";
    ok(pack_forecast(&params, 0, &f, &err) == PACK_ERR_NOT_FOUND, "and what is not there");
    params.dataset = "x";
    params.watch.stop = is_asked_to_stop;
    ok(pack_forecast(&params, 0, &f, &err) == PACK_ERR_INTERRUPTED, "it can be stopped");
}

int
main(void)
{
    pack_h5_register_zstd(NULL);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (!made_write(&layouts[i], path)) {
            ok(false, "%s is made", layouts[i].name);
            continue;
        }
        test_layout(&layouts[i]);
    }
    test_refusals();
    made_write(&layouts[0], path);
    test_bytes();
    test_cut();
    unlink(path);
    return done();
}
