/*
 * Every call that base/ and hdf5/ make to others fails in turn: what comes of it is told,
 * and nothing is kept. See strikes.h.
 */
#include "tests/strikes.h"

#include "libpack/base/buf.h"
#include "libpack/base/json.h"
#include "libpack/base/journal.h"
#include "libpack/base/outfile.h"
#include "libpack/base/pool.h"
#include "libpack/base/textfile.h"
#include "libpack/hdf5/filter.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_boxes.h"
#include "libpack/hdf5/h5_caches.h"
#include "libpack/hdf5/h5_dataset.h"
#include "libpack/hdf5/h5_probe.h"
#include "libpack/hdf5/h5_read.h"
#include "libpack/hdf5/readset.h"
#include "libpack/hdf5/scratch.h"
#include "libpack/hdf5/writer.h"

enum { N_SAMPLES = 23, SIDE = 6 };
/* Attributes that cannot be read are as absent ones, and so is the time of a file. */
enum { ATTRIBUTES = 1u << STRIKE_MEMORY | 1u << STRIKE_HDF5, ANY = (1u << STRIKE_KINDS) - 1 };

static uint8_t pixels[N_SAMPLES * SIDE * SIDE];

#define TRY(call)                                                                         \
    do {                                                                                  \
        enum pack_status try_status = call;                                               \
        if (try_status != PACK_OK)                                                        \
            return try_status;                                                            \
    } while (0)

/* ------------------------------------------------------------------ writing */

static const char *const names[] = { "a.jpg", "", "\xc3\xa9.png", "cc" };

/* Chunks of two samples, through two filters; the last one is put in behind a gap. */
static enum pack_status
put_chunks(struct pack_writer_dataset *set, const struct pack_pipeline *pipeline,
           struct pack_error *err)
{
    struct pack_filter_ctx *ctx = NULL;
    uint64_t address;
    enum pack_status status = pack_filter_ctx_new(&ctx, err);
    for (uint64_t i = 0; i < N_SAMPLES / 2 && status == PACK_OK; i++) {
        struct pack_stored stored;
        status = pack_pipeline_encode(pipeline, ctx, pixels + i * 2 * SIDE * SIDE,
                                      2 * SIDE * SIDE, &stored, err);
        if (status == PACK_OK)
            status = pack_writer_chunk(set, i, &stored, &address, err);
    }
    pack_filter_ctx_free(ctx);
    return status == PACK_OK ? pack_writer_dataset_extent(set, N_SAMPLES, err) : status;
}

static enum pack_status
put_values(struct pack_writer *w, struct pack_error *err)
{
    static const int64_t labels[N_SAMPLES] = { 3, -1, 4 };
    static const double mean[] = { 1.5, 2.5, -1 };
    static char large[70000];
    const char *long_names[40] = { large };
    struct pack_shape shape = { 1, { N_SAMPLES } };
    struct pack_writer_numbers numbers = { PACK_FLOAT64, 3, mean, false };
    memset(large, 'x', sizeof large - 1);
    for (int i = 1; i < 40; i++)
        long_names[i] = "y";
    TRY(pack_writer_array(w, "labels", PACK_INT64, &shape, labels, err));
    TRY(pack_writer_texts(w, "names", names, 4, err));
    TRY(pack_writer_texts(w, "long \xc3\xa9", long_names, 40, err));
    TRY(pack_writer_attr_text(w, "a/b/images", "CLASS", "IMAGE", err));
    TRY(pack_writer_attr_text(w, "/", "\xc3\xa9", "\xc3\xa9", err));
    TRY(pack_writer_attr_numbers(w, "a/b/images", "mean", &numbers, err));
    numbers = (struct pack_writer_numbers){ PACK_INT64, 2, labels, false };
    TRY(pack_writer_attr_numbers(w, "a/b/images", "scale16", &numbers, err));
    return pack_writer_attr_texts(w, "a/b/images", "DIMENSION_LABELS", names, 3, err);
}

static enum pack_status
write_file(struct pack_error *err)
{
    struct pack_writer_params params = { .is_new = true };
    struct pack_writer_dataset_params dp = {
        .sample = { 2, { SIDE, SIDE } }, .chunk = { 3, { 2, SIDE, SIDE } }
    };
    struct pack_writer *w = NULL;
    struct pack_writer_dataset *set;
    TRY(pack_pipeline_parse("zstd:1+fletcher32", 1, &dp.pipeline, err));
    TRY(pack_writer_open("made.h5", &params, &w, err));
    enum pack_status status = pack_writer_dataset_create(w, "a/b/images", &dp, &set, err);
    if (status == PACK_OK)
        status = put_chunks(set, &dp.pipeline, err);
    if (status == PACK_OK)
        status = put_values(w, err);
    if (status == PACK_OK)
        return pack_writer_close(w, err);
    pack_writer_abandon(w);
    unlink("made.h5");
    return status;
}

static void
remove_made(void)
{
    unlink("made.h5");
}

/* ------------------------------------------------------------------ reading */

static enum pack_status
say_facts(int64_t file, const char *path, struct pack_error *err)
{
    static struct pack_facts facts;
    char type[PACK_TYPE_TEXT_MAX], shape[PACK_SHAPE_TEXT_MAX];
    TRY(pack_facts_read(file, path, &facts, err));
    strike_say("%s %s %s %llu %d %d %.1f %s\n", path, pack_type_format(&facts.type, type),
               pack_shape_format(&facts.extent, shape),
               (unsigned long long)facts.n_chunks_stored, facts.pipeline.n, facts.n_mean,
               facts.mean[0], facts.class_name);
    return PACK_OK;
}

static enum pack_status
say_dataset(void *context, const char *path, struct pack_error *err)
{
    return say_facts(*(int64_t *)context, path, err);
}

static enum pack_status
read_facts(struct pack_error *err)
{
    int64_t file = -1;
    TRY(pack_h5_open("whole.h5", NULL, &file, err));
    enum pack_status status = pack_h5_datasets(file, say_dataset, &file, err);
    pack_h5_close(file);
    return status;
}

static enum pack_status
read_index(struct pack_error *err)
{
    struct pack_chunkindex index;
    TRY(pack_chunkindex_read("whole.h5", "a/b/images", 0, &index, err));
    for (uint64_t i = 0; i < index.n_chunks; i++)
        strike_say("%llu %llu %llu\n", (unsigned long long)index.chunks[i].address_bytes,
                   (unsigned long long)index.chunks[i].stored_bytes,
                   (unsigned long long)index.n_missing);
    pack_chunkindex_done(&index);
    return PACK_OK;
}

static enum pack_status
say_texts(int64_t file, const char *path, struct pack_error *err)
{
    char **texts;
    uint64_t n;
    TRY(pack_h5_read_texts(file, path, 1000, &texts, &n, err));
    for (uint64_t i = 0; i < n; i++)
        strike_say("'%.9s' %zu\n", texts[i], strlen(texts[i]));
    pack_h5_texts_free(texts, n);
    return PACK_OK;
}

static enum pack_status
say_all(int64_t file, struct pack_error *err)
{
    int64_t *values, range[2];
    uint64_t n;
    char *text;
    TRY(pack_h5_read_integers(file, "labels", 1000, &values, &n, err));
    strike_sum("labels", values, n * sizeof *values);
    free(values);
    TRY(say_texts(file, "names", err));
    TRY(say_texts(file, "long \xc3\xa9", err));
    TRY(pack_h5_read_attr_text(file, "a/b/images", "CLASS", &text, err));
    strike_say("%s\n", text);
    free(text);
    TRY(pack_h5_read_attr_integers(file, "a/b/images", "scale16", 2, range, err));
    strike_say("%lld %lld\n", (long long)range[0], (long long)range[1]);
    return PACK_OK;
}

static enum pack_status
read_lists(struct pack_error *err)
{
    int64_t file = -1;
    TRY(pack_h5_open("whole.h5", NULL, &file, err));
    enum pack_status status = say_all(file, err);
    pack_h5_close(file);
    return status;
}

/* Two reads of boxes, with a driver that counts and a dataset that is opened each time. */
static enum pack_status
read_boxes(struct pack_error *err)
{
    static uint8_t out[sizeof pixels];
    struct pack_h5_count count = { 0 };
    struct pack_h5_boxes_params params = { .file = "whole.h5", .dataset = "/a/b/images",
                                           .reopen = true, .count = &count };
    struct pack_box boxes[] = { { 3, { 1, 0, 2 }, { 2, SIDE, 3 } },
                                { 3, { 5, 0, 2 }, { 6, SIDE, 3 } } };
    struct pack_box all = { 3, { 0 }, { N_SAMPLES, SIDE, SIDE } };
    struct pack_cache_params cache;
    struct pack_h5_boxes *r = NULL;
    TRY(pack_h5_boxes_open(&params, &r, err));
    enum pack_status status = pack_h5_boxes_cache(r, &cache, err);
    if (status == PACK_OK)
        status = pack_h5_boxes_read(r, boxes, 2, out, NULL, err);
    if (status == PACK_OK) {
        strike_sum("boxes", out, 8 * SIDE * 3);
        status = pack_h5_boxes_read(r, &all, 1, out, NULL, err);
    }
    if (status == PACK_OK)
        strike_sum("all", out, sizeof out);
    pack_h5_boxes_close(r);
    return status;
}

/* A set of two files: one, and a virtual dataset of it, with what the simulator needs. */
static enum pack_status
simulate(const struct pack_h5_dataset *data, struct pack_error *err)
{
    struct pack_cache_params cache;
    struct pack_h5_caches *caches = NULL;
    struct pack_cache_counts counts;
    struct pack_box box = { 3, { 1, 0, 0 }, { 7, SIDE, SIDE } };
    pack_cache_params_defaults(&cache, PACK_HDF5_1_10);
    TRY(pack_h5_caches_new(data, &cache, &caches, err));
    enum pack_status status = pack_h5_caches_read(caches, &box, 1, err);
    if (status == PACK_OK) {
        pack_h5_caches_take(caches, &counts);
        strike_say("requests %llu loads %llu\n", (unsigned long long)counts.requests,
                   (unsigned long long)counts.loads);
    }
    pack_h5_caches_free(caches);
    return status;
}

static enum pack_status
read_set(struct pack_error *err)
{
    static const char *const files[] = { "whole.h5:/a/b/images", "virtual.h5:/a/b/images" };
    struct pack_readset *set = NULL;
    char text[400];
    TRY(pack_readset_open(files, 2, NULL, &set, err));
    strike_say("%llu %zu %d %d\n", (unsigned long long)set->extent.extent[0], set->n_files,
               pack_readset_is_changed(set, text, sizeof text),
               pack_readset_remark(set, text, sizeof text));
    enum pack_status status = simulate(set->parts[0].data, err);
    if (status == PACK_OK)
        status = simulate(set->parts[1].data, err);
    pack_readset_close(set);
    return status;
}

static enum pack_status
make_scratch(const char *dir, int rank, struct pack_error *err)
{
    struct pack_scratch_params params = { .file = "whole.h5", .dataset = "a/b/images",
                                          .n_samples = 9, .dir = dir,
                                          .chunk = { rank, { 4, 5, SIDE } } };
    struct pack_scratch *scratch = NULL;
    if (rank)
        TRY(pack_pipeline_parse("gzip:1", 1, &params.pipeline, err));
    TRY(pack_scratch_make(&params, &scratch, err));
    strike_say("%llu samples\n", (unsigned long long)pack_scratch_samples(scratch));
    struct pack_h5_boxes_params how = { .file = pack_scratch_path(scratch),
                                        .dataset = PACK_SCRATCH_DATASET };
    struct pack_box box = { 3, { 0 }, { 9, SIDE, SIDE } };
    struct pack_h5_boxes *r = NULL;
    uint8_t out[9 * SIDE * SIDE];
    enum pack_status status = pack_h5_boxes_open(&how, &r, err);
    if (status == PACK_OK)
        status = pack_h5_boxes_read(r, &box, 1, out, NULL, err);
    if (status == PACK_OK)
        strike_sum("copied", out, sizeof out);
    pack_h5_boxes_close(r);
    pack_scratch_close(scratch);
    return status;
}

static enum pack_status
make_scratches(struct pack_error *err)
{
    TRY(make_scratch(NULL, 3, err));
    TRY(make_scratch(NULL, 0, err));
    return make_scratch(".", 3, err);
}

static void
fill(void *context, uint64_t first, uint64_t n, void *out)
{
    (void)context;
    memset(out, (int)first + 1, n * SIDE);
}

static enum pack_status
use_probe(struct pack_error *err)
{
    struct pack_probe_layout layout = { .extent = { 2, { 9, SIDE } },
                                        .chunk = { 2, { 2, SIDE } } };
    struct pack_box box = { 2, { 1, 1 }, { 4, 2 } };
    struct pack_cache_params cache;
    struct pack_probe *probe = NULL;
    uint8_t out[8];
    pack_cache_params_defaults(&cache, PACK_HDF5_1_10);
    TRY(pack_probe_create("probe.h5", &layout, fill, NULL, err));
    TRY(pack_probe_open("probe.h5", &cache, NULL, &probe, err));
    enum pack_status status = pack_probe_reopen(probe, err);
    if (status == PACK_OK)
        status = pack_probe_read(probe, &box, 1, out, err);
    if (status == PACK_OK)
        strike_sum("probe", out, sizeof out);
    pack_probe_close(probe);
    return status;
}

/* --------------------------------------------------------------------- base */

static enum pack_status
use_filters(struct pack_error *err)
{
    static uint8_t out[sizeof pixels];
    static const char *const texts[] = { "shuffle+gzip:6+fletcher32", "zstd:3", "gzip:1+zstd" };
    struct pack_filter_ctx *ctx = NULL;
    TRY(pack_filter_ctx_new(&ctx, err));
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < 3 && status == PACK_OK; i++) {
        struct pack_pipeline pipeline;
        struct pack_stored stored;
        static uint8_t room[4 * sizeof pixels];
        status = pack_pipeline_parse(texts[i], 4, &pipeline, err);
        for (int k = 0; k < pipeline.n; k++)
            pipeline.filter[k].flags = 0; /* none is skipped */
        if (status == PACK_OK)
            status = pack_pipeline_encode_to(&pipeline, ctx, pixels, sizeof pixels, room,
                                             &stored, err);
        if (status == PACK_OK)
            status = pack_pipeline_decode(&pipeline, ctx, &stored, out, sizeof out, err);
        if (status == PACK_OK)
            strike_sum(texts[i], out, sizeof out);
    }
    pack_filter_ctx_free(ctx);
    return status;
}

static enum pack_status
see(void *context, uint32_t type, const void *payload, size_t size, struct pack_error *err)
{
    (void)context;
    (void)err;
    strike_say("record %u of %zu\n", type, size);
    strike_sum("holds", payload, size);
    return PACK_OK;
}

static enum pack_status
use_journal(const struct pack_outfile *out, struct pack_error *err)
{
    static uint8_t large[150000];
    struct pack_journal_params params = { pack_outfile_journal_fd(out), "the 'journal'",
                                          "me", 2 };
    struct pack_journal *journal = NULL;
    enum pack_status status = pack_journal_create(&params, &journal, err);
    for (uint32_t i = 1; i < 4 && status == PACK_OK; i++)
        status = pack_journal_append(journal, i, large, i * 50000, err);
    if (status == PACK_OK)
        status = pack_journal_sync(journal, err);
    enum pack_status closed = pack_journal_close(journal, status == PACK_OK ? err : NULL);
    TRY(status ? status : closed);
    TRY(pack_journal_read(&params, see, NULL, err));
    TRY(pack_journal_resume(&params, see, NULL, &journal, err));
    status = pack_journal_append(journal, 9, "more", 4, err);
    closed = pack_journal_close(journal, status == PACK_OK ? err : NULL);
    TRY(status ? status : closed);
    return pack_journal_read(&params, see, NULL, err);
}

static void
remove_out(void)
{
    unlink("out");
    unlink("out.part");
    unlink("out.part.journal");
}

static enum pack_status
use_outfile(struct pack_error *err)
{
    struct pack_outfile_params params = { .journal = true };
    struct pack_outfile *out = NULL;
    TRY(pack_outfile_open("out", &params, &out, err));
    int fd = open("out.part", O_RDWR | O_CREAT, 0600);
    enum pack_status status = fd < 0 || write(fd, "whole", 5) != 5
                                  ? pack_fail_errno(err, EIO, "cannot write 'out.part'")
                                  : use_journal(out, err);
    if (fd >= 0)
        close(fd);
    if (status == PACK_OK)
        return pack_outfile_commit(out, err);
    pack_outfile_discard(out);
    return status;
}

static enum pack_status
write_outfile(struct pack_error *err)
{
    TRY(pack_outfile_check("out", false, err));
    return pack_outfile_write("out", false, pixels, sizeof pixels, err);
}

/* What an interrupted run left is begun again. */
static void
leave_part(void)
{
    static const char *const left[] = { "out.part", "out.part.journal" };
    remove_out();
    for (int i = 0; i < 2; i++) {
        FILE *f = fopen(left[i], "w");
        fputs("h5pack journal 2 and more", f);
        fclose(f);
    }
}

static enum pack_status
restart_outfile(struct pack_error *err)
{
    struct pack_outfile_params params = { .journal = true, .resume = true };
    struct pack_outfile *out = NULL;
    TRY(pack_outfile_open("out", &params, &out, err));
    strike_say("resumed %d\n", pack_outfile_is_resumed(out));
    enum pack_status status = pack_outfile_restart(out, err);
    strike_say("part %d\n", status == PACK_OK && access("out.part", F_OK) == 0);
    pack_outfile_abandon(out);
    return status;
}

static enum pack_status
force_outfile(struct pack_error *err)
{
    struct pack_outfile_params params = { .journal = true, .force = true };
    struct pack_outfile *out = NULL;
    TRY(pack_outfile_open("out", &params, &out, err));
    strike_say("part %d\n", access("out.part", F_OK) == 0);
    pack_outfile_discard(out);
    return PACK_OK;
}

static void
work(void *item, unsigned worker, void *context)
{
    (void)worker;
    (void)context;
    ++*(int *)item;
}

static enum pack_status
use_pool(struct pack_error *err)
{
    struct pack_pool_lane lane = { work, NULL, 4 };
    struct pack_pool *pool = NULL;
    struct pack_budget *budget = NULL;
    int items[4] = { 0 }, *item;
    TRY(pack_pool_new(2, &lane, 1, &pool, err));
    enum pack_status status = pack_budget_new(100, &budget, err);
    for (int i = 0; i < 4 && status == PACK_OK; i++)
        pack_pool_submit(pool, 0, &items[i]);
    while (status == PACK_OK && (item = pack_pool_next(pool, 0)))
        strike_say("%d ", *item);
    pack_budget_free(budget);
    pack_pool_free(pool);
    return status;
}

static enum pack_status
use_texts(struct pack_error *err)
{
    struct pack_buf text = { 0 }, again = { 0 };
    struct pack_json_doc *doc = NULL;
    const struct pack_json_value *root;
    struct pack_json json;
    TRY(pack_textfile_read("list.json", 1 << 20, &text, err));
    enum pack_status status =
        pack_json_parse((const char *)text.data, text.size, &doc, &root, err);
    if (status == PACK_OK) {
        const struct pack_json_value *name = pack_json_find(root, "name");
        pack_json_begin(&json, &again);
        pack_json_object(&json, NULL);
        for (int i = 0; i < 100; i++)
            pack_json_text(&json, "name", name->text);
        pack_json_close(&json);
        status = pack_json_end(&json, err);
    }
    if (status == PACK_OK)
        strike_sum("json", again.data, again.size);
    pack_json_free(doc);
    pack_buf_done(&again);
    pack_buf_done(&text);
    return status;
}

/* -------------------------------------------------------------------- files */

/* A virtual dataset of the whole file's. */
static void
make_virtual(void)
{
    const hsize_t extent[] = { N_SAMPLES, SIDE, SIDE };
    hid_t file = H5Fcreate("virtual.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t links = H5Pcreate(H5P_LINK_CREATE), list = H5Pcreate(H5P_DATASET_CREATE);
    hid_t space = H5Screate_simple(3, extent, NULL);
    H5Pset_create_intermediate_group(links, 1);
    H5Pset_virtual(list, space, "whole.h5", "a/b/images", space);
    H5Dclose(H5Dcreate2(file, "a/b/images", H5T_STD_U8LE, space, links, list, H5P_DEFAULT));
    H5Pclose(links);
    H5Pclose(list);
    H5Sclose(space);
    H5Fclose(file);
}

static void
make_files(void)
{
    struct pack_error err;
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * i / 7);
    if (write_file(&err) != PACK_OK || rename("made.h5", "whole.h5") != 0) {
        printf("Bail out! %s\n", err.text);
        exit(99);
    }
    make_virtual();
    FILE *f = fopen("list.json", "w");
    fputs("\xef\xbb\xbf{\"name\": \"b\xc3\xa4r \\u00e4\", \"list\": [1, 2.5, [null]]}", f);
    fclose(f);
}

int
main(void)
{
    static const struct strike_case cases[] = {
        { "a file is written", remove_made, write_file, "made.h5", true, true, 0, 0, NULL },
        { "facts are read", NULL, read_facts, NULL, false, true, ATTRIBUTES, 0, NULL },
        { "chunks are listed", NULL, read_index, NULL, false, true, 0, 0, NULL },
        { "lists and attributes are read", NULL, read_lists, NULL, false, true, 0, 0, NULL },
        { "boxes are read", NULL, read_boxes, NULL, false, true, 0, 0, NULL },
        { "a set of files is opened", NULL, read_set, NULL, false, true, ANY, 3, NULL },
        { "a part is written anew", NULL, make_scratches, NULL, false, true, 0, 0, NULL },
        { "a file is made and measured", NULL, use_probe, NULL, false, true, 0, 0, NULL },
        { "chunks are packed", NULL, use_filters, NULL, false, false, 0, 0, NULL },
        { "a journal is kept", remove_out, use_outfile, "out", false, false, 0, 0, NULL },
        { "bytes are written", remove_out, write_outfile, "out", false, false, 0, 0, NULL },
        { "a run begins again", leave_part, restart_outfile, NULL, false, false, 0, 0, NULL },
        { "what is left is removed", leave_part, force_outfile, NULL, false, false, 0, 0, NULL },
        { "threads work", NULL, use_pool, NULL, false, false, 0, 0, NULL },
        { "a text is read and written", NULL, use_texts, NULL, false, false, 0, 0, NULL },
    };
    char folder[] = "/tmp/h5pack-test.XXXXXX", command[64];
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 99;
    pack_h5_quiet();
    if (pack_h5_register_zstd(NULL) != PACK_OK)
        return 99;
    make_files();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int kind = 0; kind < STRIKE_KINDS; kind++)
            strike_all(&cases[i], (enum strike_kind)kind);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (chdir("/") != 0 || system(command) != 0)
        note("'%s' stays", folder);
    return done();
}
