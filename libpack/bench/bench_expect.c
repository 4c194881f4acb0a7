/*
 * What the checksum consumer compares with: another walk over the pattern, other handles,
 * HDF5's own driver. Whole samples are read once, in the file's order, and their
 * checksums kept, 8 bytes each; boxes are read when they are asked for.
 */
#include <stdlib.h>
#include <string.h>

#include "libpack/bench/bench_parts.h"
#include "libpack/base/checksum.h"
#include "libpack/hdf5/h5_boxes.h"

struct bench_expect {
    const struct bench_plan *plan;
    struct pack_pattern_iter *iter;
    struct pack_h5_boxes **reader; /* one per part */
    uint64_t *whole;               /* checksums of whole samples, or NULL */
    unsigned char *sample;         /* stride_bytes */
    bool began;
    uint64_t round, number; /* of the batch whose sums are in `sums` */
    uint64_t *sums;         /* of a batch */
};

void
pack_bench_expect_close(struct bench_expect *expect)
{
    if (!expect)
        return;
    for (size_t i = 0; expect->reader && i < expect->plan->params.set->n_parts; i++)
        pack_h5_boxes_close(expect->reader[i]);
    pack_pattern_free(expect->iter);
    free(expect->reader);
    free(expect->whole);
    free(expect->sample);
    free(expect->sums);
    free(expect);
}

/* Reads one box of the set and takes its checksum, zeros behind it up to the stride. */
static enum pack_status
sum_box(struct bench_expect *expect, const struct pack_box *box, uint64_t *sum,
        struct pack_error *err)
{
    const struct pack_readset *set = expect->plan->params.set;
    struct pack_readset_cursor cursor = { 0 };
    struct pack_box local;
    size_t part;
    unsigned char *at = expect->sample;
    while (pack_readset_take(set, box, 1, &cursor, &local, &part) > 0) {
        enum pack_status status =
            pack_h5_boxes_read(expect->reader[part], &local, 1, at, NULL, err);
        if (status != PACK_OK)
            return status;
        at += pack_readset_box_bytes(set, &local);
    }
    memset(at, 0, expect->plan->stride_bytes - (size_t)(at - expect->sample));
    *sum = pack_checksum(expect->sample, expect->plan->stride_bytes, 0);
    return PACK_OK;
}

static enum pack_status
sum_whole(struct bench_expect *expect, struct pack_error *err)
{
    const struct pack_shape *extent = &expect->plan->pattern.extent;
    struct pack_box box = { .rank = extent->rank };
    enum pack_status status = PACK_OK;
    expect->whole = calloc((size_t)extent->extent[0], sizeof *expect->whole);
    if (!expect->whole)
        return pack_fail_memory(err, "checksums");
    for (int i = 0; i < extent->rank; i++)
        box.count[i] = i ? extent->extent[i] : 1;
    for (uint64_t s = 0; s < extent->extent[0] && status == PACK_OK; s++) {
        box.start[0] = s;
        status = sum_box(expect, &box, &expect->whole[s], err);
    }
    return status;
}

enum pack_status
pack_bench_expect_open(const struct bench_plan *plan, struct bench_expect **out,
                       struct pack_error *err)
{
    const struct pack_readset *set = plan->params.set;
    if (!set)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "consumer 'checksum' compares with a file, not with images");
    struct bench_expect *expect = calloc(1, sizeof *expect);
    if (!expect)
        return pack_fail_memory(err, "checksums");
    struct pack_pattern pattern = plan->pattern;
    pattern.read = PACK_READ_SAMPLE;
    expect->plan = plan;
    expect->reader = calloc(set->n_parts, sizeof *expect->reader);
    expect->sample = malloc(plan->stride_bytes ? plan->stride_bytes : 1);
    expect->sums = calloc((size_t)plan->batch_max, sizeof *expect->sums);
    enum pack_status status = PACK_OK;
    if (!expect->reader || !expect->sample || !expect->sums)
        status = pack_fail_memory(err, "checksums");
    for (size_t i = 0; i < set->n_parts && status == PACK_OK; i++) {
        struct pack_h5_boxes_params params = { .file = set->parts[i].data->file,
                                               .dataset = set->dataset };
        status = pack_h5_boxes_open(&params, &expect->reader[i], err);
    }
    if (status == PACK_OK)
        status = pack_pattern_new(&pattern, &expect->iter, err);
    if (status == PACK_OK && pack_pattern_is_whole(expect->iter))
        status = sum_whole(expect, err);
    if (status != PACK_OK) {
        pack_bench_expect_close(expect);
        return status;
    }
    *out = expect;
    return PACK_OK;
}

/* The sums of a batch's samples, in the order of the pattern. */
static enum pack_status
sum_batch(struct bench_expect *expect, uint64_t round, uint64_t number,
          struct pack_error *err)
{
    const struct bench_plan *plan = expect->plan;
    uint64_t epoch = plan->pattern.epoch + round, at = number * plan->pattern.batch;
    uint64_t n = pack_bench_batch_samples(plan, number);
    struct pack_request request;
    enum pack_status status = PACK_OK;
    if (pack_pattern_epoch(expect->iter) != epoch ||
        pack_pattern_position(expect->iter) != at)
        status = pack_pattern_seek(expect->iter, epoch, at, err);
    for (uint64_t i = 0; i < n && status == PACK_OK; i++) {
        if (!pack_pattern_next(expect->iter, &request))
            return pack_fail(err, PACK_ERR_MISMATCH,
                             "more samples arrived than the pattern has");
        if (expect->whole)
            expect->sums[i] = expect->whole[request.boxes[0].start[0]];
        else
            status = sum_box(expect, &request.boxes[0], &expect->sums[i], err);
    }
    return status;
}

enum pack_status
pack_bench_expect(void *context, uint64_t round, uint64_t number, uint64_t index,
                  uint64_t *checksum, struct pack_error *err)
{
    struct bench_expect *expect = context;
    if (!expect->began || expect->round != round || expect->number != number) {
        enum pack_status status = sum_batch(expect, round, number, err);
        if (status != PACK_OK)
            return status;
        expect->began = true;
        expect->round = round;
        expect->number = number;
    }
    *checksum = expect->sums[index];
    return PACK_OK;
}
