/*
 * Writes the samples of a dataset as the reader gives them, in order and in this machine's
 * byte order, to standard output, for tests in other languages; what it is read with, to
 * standard error.
 *
 *     reader_dump FILE DATASET [pread|mmap] [THREADS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpack/reader.h>
#include "libpack/hdf5/h5.h"

int
main(int argc, char **argv)
{
    struct pack_error err = { .text = "usage: reader_dump FILE DATASET" };
    struct pack_reader *reader = NULL;
    struct pack_reader_batch batch;
    struct pack_reader_info info;
    enum pack_status status = PACK_ERR_ARGUMENT;
    if (argc > 2) {
        struct pack_reader_params params = {
            .file = argv[1],
            .dataset = argv[2],
            .pattern = { .batch = 16 },
            .strategy = argc > 3 && strcmp(argv[3], "mmap") == 0 ? PACK_READER_MMAP
                                                                 : PACK_READER_PREAD,
            .n_threads = argc > 4 ? (unsigned)atoi(argv[4]) : 2,
        };
        pack_h5_register_zstd(NULL);
        status = pack_reader_open(&params, &reader, &err);
    }
    if (status == PACK_OK)
        status = pack_reader_info(reader, &info, &err);
    while (status == PACK_OK) {
        status = pack_reader_next(reader, &batch, &err);
        if (status != PACK_OK || batch.n_samples == 0)
            break;
        fwrite(batch.data, info.sample_bytes, batch.n_samples, stdout);
    }
    if (status == PACK_OK)
        fprintf(stderr, "%s %s\n", info.engine, info.reason);
    else
        fprintf(stderr, "reader_dump: %s\n", err.text);
    pack_reader_close(reader);
    return status == PACK_OK && fflush(stdout) == 0 ? 0 : 2;
}
