/*
 * Every call that the reader makes to others fails in turn, at opening and while batches are
 * read: a sentence, nothing kept, no thread that waits for ever. See strikes.h.
 */
#include "tests/strikes.h"

#include <libpack/reader.h>
#include "libpack/hdf5/h5.h"
#include "tests/made_h5.h"

static enum pack_status
read_all(enum pack_reader_strategy strategy, struct pack_error *err)
{
    struct pack_reader_params params = { .file = "whole.h5",
                                         .dataset = "x",
                                         .pattern = { .kind = PACK_PATTERN_SHUFFLE,
                                                      .batch = 16 },
                                         .n_threads = 1,
                                         .strategy = strategy };
    struct pack_reader *reader = NULL;
    struct pack_reader_batch batch = { .n_samples = 1 };
    enum pack_status status = pack_reader_open(&params, &reader, err);
    while (status == PACK_OK && batch.n_samples) {
        status = pack_reader_next(reader, &batch, err);
        if (status == PACK_OK)
            strike_sum("batch", batch.data, batch.n_samples * 100);
    }
    pack_reader_close(reader);
    return status;
}

static enum pack_status
read_pread(struct pack_error *err)
{
    return read_all(PACK_READER_PREAD, err);
}

static enum pack_status
read_mmap(struct pack_error *err)
{
    return read_all(PACK_READER_MMAP, err);
}

static enum pack_status
read_direct(struct pack_error *err)
{
    return read_all(PACK_READER_DIRECT, err);
}

/* All batches are kept, with those of a dataset in step; buffers are added while they are read. */
static enum pack_status
read_and_keep(struct pack_error *err)
{
    static const char *const further[] = { "x" };
    struct pack_reader_params params = { .file = "whole.h5",
                                         .dataset = "x",
                                         .pattern = { .kind = PACK_PATTERN_SHUFFLE,
                                                      .batch = 16 },
                                         .n_threads = 1,
                                         .n_kept = PACK_READER_KEEP_ALL,
                                         .further = further,
                                         .n_further = 1 };
    struct pack_reader *reader = NULL;
    struct pack_reader_batch batch = { .n_samples = 1 };
    size_t last = 0;
    enum pack_status status = pack_reader_open(&params, &reader, err);
    while (status == PACK_OK && batch.n_samples) {
        status = pack_reader_next(reader, &batch, err);
        if (status == PACK_OK && batch.n_samples)
            status = pack_reader_keep(reader, &batch, err);
        if (status == PACK_OK && batch.n_samples)
            last = batch.buffer;
    }
    if (status == PACK_OK)
        status = pack_reader_give_back(reader, last, err);
    pack_reader_close(reader);
    return status;
}

int
main(void)
{
    static const struct made made = { .name = "coded",
                                      .type = "i16",
                                      .rank = 2,
                                      .dims = { 96, 50 },
                                      .chunk = { 8, 50 },
                                      .pipeline = "shuffle+gzip:4+fletcher32" };
    static const struct strike_case cases[] = {
        { "batches are read", NULL, read_pread, NULL, false, true, 0, 0, NULL },
        { "out of a mapping", NULL, read_mmap, NULL, false, true, 0, 0, NULL },
        { "and kept", NULL, read_and_keep, NULL, false, true, 0, 0, NULL },
        { "past the page cache", NULL, read_direct, NULL, false, true, 0, 0, NULL },
    };
    char folder[] = "/tmp/h5pack-test.XXXXXX", command[64];
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 99;
    pack_h5_quiet();
    made_write(&made, "whole.h5");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int kind = 0; kind < STRIKE_KINDS; kind++)
            strike_all(&cases[i], (enum strike_kind)kind);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (chdir("/") != 0 || system(command) != 0)
        note("'%s' stays", folder);
    return done();
}
