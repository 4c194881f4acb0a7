/* Memory and codecs, without HDF5. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "libpack/advise/calibrate_parts.h"
#include "libpack/base/clock.h"
#include "libpack/hdf5/filter.h"

enum { BLOCK = 64 << 10 };

/* ns per byte of copying random blocks out of `range` bytes. */
static double
time_copy(struct pack_lab *lab, const unsigned char *from, size_t range)
{
    double times[PACK_LAB_ROUNDS];
    size_t block = range < 4 * BLOCK ? range / 4 : BLOCK, n = (8 << 20) / block;
    for (size_t round = 0; round < lab->n_rounds; round++) {
        uint64_t start = pack_clock_cpu_ns();
        for (size_t i = 0; i < n; i++) {
            size_t at = (size_t)pack_rng_below(&lab->rng, range / block) * block;
            memcpy(lab->buffer, from + at, block);
            __asm__ volatile("" ::: "memory"); /* every copy is made */
        }
        times[round] = (double)(pack_clock_cpu_ns() - start) / (double)(n * block);
    }
    return pack_lab_fastest(times, lab->n_rounds);
}

/* ns per byte of what the system does when memory is used for the first time. */
static double
time_touch(const struct pack_lab *lab, unsigned char *memory)
{
    enum { SIZE = 32 << 20 };
    double first[PACK_LAB_ROUNDS], again[PACK_LAB_ROUNDS];
    for (size_t round = 0; round < lab->n_rounds; round++) {
        madvise(memory, SIZE, MADV_DONTNEED);
        uint64_t start = pack_clock_cpu_ns(), middle;
        memset(memory, 1, SIZE);
        middle = pack_clock_cpu_ns();
        memset(memory, 2, SIZE);
        again[round] = (double)(pack_clock_cpu_ns() - middle) / SIZE;
        first[round] = (double)(middle - start) / SIZE;
    }
    return pack_lab_fastest(first, lab->n_rounds) -
           pack_lab_fastest(again, lab->n_rounds);
}

enum pack_status
pack_lab_memory(struct pack_lab *lab, struct pack_error *err)
{
    static const size_t ranges[] = { 64 << 10, 1 << 20,  4 << 20,
                                     16 << 20, 64 << 20, 512 << 20 };
    const size_t n = sizeof ranges / sizeof *ranges - (lab->params->is_quick ? 1 : 0),
                 most = ranges[n - 1];
    struct pack_profile_curve *copy = &lab->profile->copy;
    unsigned char *memory =
        mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return pack_fail_memory(err, "measuring copies");
    lab->profile->touch_ns = pack_lab_positive(time_touch(lab, memory));
    copy->n = 0;
    memset(memory, 1, most);
    enum pack_status status = pack_watch_check(&lab->params->watch, err);
    for (size_t i = 0; status == PACK_OK && i < n; i++) {
        copy->bytes[copy->n] = (double)ranges[i];
        copy->value[copy->n++] = fmax(time_copy(lab, memory, ranges[i]), 1e-3);
        status = pack_watch_check(&lab->params->watch, err);
    }
    munmap(memory, most);
    return status;
}

/* Something like a photograph: slow waves and noise, 8 bits, three channels. */
static void
paint(struct pack_lab *lab, unsigned char *pixels, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        double x = (double)(i / 3 % 224), y = (double)(i / 672), c = (double)(i % 3);
        double v = 128 + 70 * sin(x / 31 + c) * cos(y / 43) + 20 * sin(x * y / 900);
        v += (double)(pack_rng_next(&lab->rng) & 7);
        pixels[i] = (unsigned char)v;
    }
}

enum { IMAGE_BYTES = 224 * 224 * 3, IMAGES = 8 };

/* The painted images at the start of the buffer are encoded and decoded: several different
 * ones, so that the processor's branch predictor does not come to know a single one. */
static enum pack_status
time_codec(struct pack_lab *lab, const char *name, double *encode_ns, double *decode_ns,
           struct pack_error *err)
{
    struct pack_pipeline pipeline;
    struct pack_filter_ctx *ctx = NULL;
    unsigned char *pixels = lab->buffer, *stored = pixels + IMAGES * IMAGE_BYTES,
                  *out = stored + 2 * IMAGE_BYTES;
    double encode[IMAGES], decode[IMAGES];
    struct pack_stored encoded;
    enum pack_status status = pack_pipeline_parse(name, 2, &pipeline, err);
    if (status == PACK_OK)
        status = pack_filter_ctx_new(&ctx, err);
    for (int i = 0; status == PACK_OK && i < IMAGES; i++) {
        uint64_t start = pack_clock_cpu_ns();
        status = pack_pipeline_encode(&pipeline, ctx, pixels + i * IMAGE_BYTES,
                                      IMAGE_BYTES, &encoded, err);
        encode[i] = (double)(pack_clock_cpu_ns() - start) / IMAGE_BYTES;
        if (status != PACK_OK)
            break;
        memcpy(stored, encoded.data,
               encoded.size < 2 * IMAGE_BYTES ? encoded.size : 2 * IMAGE_BYTES);
        encoded.data = stored;
        start = pack_clock_cpu_ns();
        status = pack_pipeline_decode(&pipeline, ctx, &encoded, out, IMAGE_BYTES, err);
        decode[i] = (double)(pack_clock_cpu_ns() - start) / IMAGE_BYTES;
        if (status == PACK_OK)
            status = pack_watch_check(&lab->params->watch, err);
    }
    pack_filter_ctx_free(ctx);
    if (status == PACK_OK && encode_ns)
        *encode_ns = pack_lab_positive(pack_lab_fastest(encode, IMAGES));
    if (status == PACK_OK)
        *decode_ns = pack_lab_positive(pack_lab_fastest(decode, IMAGES));
    return status;
}

enum pack_status
pack_lab_codecs(struct pack_lab *lab, struct pack_error *err)
{
    struct pack_profile *p = lab->profile;
    paint(lab, lab->buffer, IMAGES * IMAGE_BYTES);
    enum pack_status status =
        time_codec(lab, "gzip:4", &p->gzip_encode_ns, &p->gzip_decode_ns, err);
    if (status == PACK_OK)
        status = time_codec(lab, "zstd:3", &p->zstd_encode_ns, &p->zstd_decode_ns, err);
    if (status == PACK_OK)
        status = time_codec(lab, "shuffle", NULL, &p->shuffle_decode_ns, err);
    if (status == PACK_OK)
        status = time_codec(lab, "fletcher32", NULL, &p->fletcher32_decode_ns, err);
    return status;
}
