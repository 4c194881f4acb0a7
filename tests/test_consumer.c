/* Consumers that need no device: what they do with a batch, and the normalisation that
 * all share. */
#include "libpack/bench/consumer.h"

#include <math.h>
#include <unistd.h>

#include "libpack/base/checksum.h"
#include "libpack/base/clock.h"
#include "libpack/base/rng.h"
#include "tests/tap.h"

/* Independent of the code under test: fp16 through its definition, by searching the
 * neighbours. */
static double
fp16_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double v = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return bits & 0x8000 ? -v : v;
}

static uint16_t
fp16_search(float value)
{
    uint16_t low = 0, sign = signbit(value) ? 0x8000 : 0;
    double v = fabs((double)value);
    for (int bit = 14; bit >= 0; bit--) /* the largest that is not above v */
        if ((low | 1u << bit) <= 0x7c00 && fp16_value(low | (uint16_t)(1u << bit)) <= v)
            low |= (uint16_t)(1u << bit);
    if (low >= 0x7c00)
        return sign | 0x7c00;
    double below = fp16_value(low);
    double above = low + 1 == 0x7c00 ? 65536 : fp16_value(low + 1);
    if (v - below > above - v || (v - below == above - v && (low & 1)))
        low++;
    return sign | low;
}

static void
test_rounding(void)
{
    static const float cases[] = { 0,      1,       65504,    65519.996f,  65520, 1e9f,
                                   -1e9f,  6.1e-5f, 5.96e-8f, 2.98e-8f,    3e-8f, 1e-30f,
                                   -0.25f, 2049,    2051,     0.33325195f, 1e-6f };
    int bad = 0;
    struct pack_rng rng;
    pack_rng_seed(&rng, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        bad += pack_fp16_bits(cases[i]) != fp16_search(cases[i]);
    for (int i = 0; i < 200000; i++) {
        float v =
            (float)ldexp(pack_rng_unit(&rng) - 0.5, (int)pack_rng_below(&rng, 50) - 30);
        bad += pack_fp16_bits(v) != fp16_search(v);
    }
    is_number(bad, 0, "fp16 is the nearest value, halves to even");
    ok(pack_fp16_bits(NAN) == 0x7fff && pack_bf16_bits(NAN) == 0x7fff, "NaN stays one");
    ok(pack_bf16_bits(1.0f) == 0x3f80 && pack_bf16_bits(1.00390625f) == 0x3f80 &&
           pack_bf16_bits(1.01171875f) == 0x3f82 && pack_bf16_bits(-2.5f) == 0xc020 &&
           pack_bf16_bits(3.4e38f) == 0x7f80,
       "bf16 rounds to nearest even");
}

static void
test_normalise(void)
{
    static const double mean[3] = { 123.675, 116.28, 103.53 };
    static const double std[3] = { 58.395, 57.12, 57.375 };
    struct pack_normalise n = { .channels = 3, .height = 5, .width = 7 };
    struct pack_normalise_table table;
    uint8_t nchw[105], nhwc[105];
    float out[105], other[105];
    struct pack_error err;
    struct pack_rng rng;
    pack_rng_seed(&rng, 2);
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < 35; i++)
            nchw[c * 35 + i] = nhwc[i * 3 + c] = (uint8_t)pack_rng_next(&rng);
    ok(pack_normalise_set(&n, mean, std, &err) == PACK_OK, "mean and std are taken");
    n.layout = PACK_PIXEL_NCHW;
    pack_normalise_table(&n, &table);
    pack_normalise_apply(&n, &table, nchw, out);
    int bad = 0;
    for (int i = 0; i < 105; i++)
        bad += out[i] != fmaf(nchw[i], n.scale[i / 35], n.bias[i / 35]) ||
               fabs(out[i] - (nchw[i] - mean[i / 35]) / std[i / 35]) > 1e-5;
    is_number(bad, 0, "every value is (x - mean) / std, as one fused multiply-add");
    n.layout = PACK_PIXEL_NHWC;
    pack_normalise_apply(&n, &table, nhwc, other);
    ok(memcmp(out, other, sizeof out) == 0, "NHWC input comes out as NCHW");
    n.precision = PACK_BF16;
    pack_normalise_table(&n, &table);
    uint16_t half[105];
    pack_normalise_apply(&n, &table, nhwc, half);
    bad = 0;
    for (int i = 0; i < 105; i++)
        bad += half[i] != pack_bf16_bits(out[i]);
    is_number(bad, 0, "half precision is the rounded single precision");
    double zero[3] = { 1, 0, 1 };
    ok(pack_normalise_set(&n, mean, zero, &err) == PACK_ERR_ARGUMENT,
       "a standard deviation of zero is refused");
}

struct seen {
    uint64_t n_steps, n_samples, busy_ns, starved_ns;
    bool ordered;
    size_t output_bytes;
};

static void
see_step(void *context, const struct pack_step *step)
{
    struct seen *seen = context;
    seen->ordered =
        (seen->n_steps == 0 || seen->ordered) && step->number == seen->n_steps;
    seen->n_steps++;
    seen->n_samples += step->n_samples;
    seen->busy_ns += step->busy_ns;
    seen->starved_ns += step->starved_ns;
}

static void
see_output(void *context, const void *values, size_t size)
{
    (void)values;
    ((struct seen *)context)->output_bytes += size;
}

static enum pack_status
expect(void *context, uint64_t round, uint64_t number, uint64_t index, uint64_t *checksum,
       struct pack_error *err)
{
    (void)round, (void)number, (void)err;
    *checksum = pack_checksum((const char *)context + index * 12, 12, 0);
    return PACK_OK;
}

static void
test_consumers(void)
{
    static uint8_t samples[4 * 12];
    static const uint32_t indices[] = { 3, 1 };
    struct pack_error err = { 0 };
    for (size_t i = 0; i < sizeof samples; i++)
        samples[i] = (uint8_t)(i * 7);
    for (const struct pack_consumer_ops *const *row = pack_consumers; *row; row++) {
        if (strcmp((*row)->name, "cuda") == 0)
            continue; /* test_consumer_cuda */
        struct seen seen = { 0 };
        struct pack_consumer_params p = {
            .sample_bytes = 12,
            .batch_max = 4,
            .step_ns = 5000000,
            .has_normalise = true,
            .normalise = { .channels = 3, .height = 2, .width = 2, .scale = { 1, 1, 1 } },
            .expect = expect,
            .expect_context = samples,
            .on_step = see_step,
            .on_output = see_output,
            .context = &seen,
        };
        struct pack_consumer *consumer;
        if (!ok(pack_consumer_open((*row)->name, &p, &consumer, &err) == PACK_OK,
                "%s opens", (*row)->name))
            continue;
        struct pack_batch whole = { .data = samples, .n_samples = 4 };
        struct pack_batch part = whole;
        part.indices = indices;
        part.n_indices = 2;
        uint64_t start = pack_clock_ns();
        ok(pack_consumer_take(consumer, &whole, &err) == PACK_OK &&
               pack_consumer_take(consumer, &part, &err) == PACK_OK &&
               pack_consumer_finish(consumer, &err) == PACK_OK && seen.ordered &&
               seen.n_steps == 2 && seen.n_samples == 6,
           "%s takes a batch and a part of one, and reports two steps", (*row)->name);
        uint64_t elapsed = pack_clock_ns() - start;
        if (strcmp((*row)->name, "emulated") == 0)
            ok(elapsed >= 7500000 && seen.busy_ns == 7500000,
               "emulated takes as long as a step and, for half a batch, half a step");
        if (strcmp((*row)->name, "host") == 0)
            is_number((long long)seen.output_bytes, 6 * 12 * 4, "host makes fp32 of all");
        if (strcmp((*row)->name, "checksum") == 0) {
            static uint8_t other[sizeof samples];
            memcpy(other, samples, sizeof samples);
            other[30] ^= 1;
            whole.data = other;
            ok(pack_consumer_take(consumer, &whole, &err) == PACK_ERR_MISMATCH,
               "checksum finds a single flipped bit");
            is_text(err.text, "epoch 0, batch 0, sample 2 of it differs from the file",
                    "and says where");
        }
        pack_consumer_close(consumer);
    }
}

/* Stops when it is asked for the third time. */
static bool
stop_soon(void *context)
{
    return ++*(int *)context >= 3;
}

static void
test_long_step(void)
{
    static uint8_t sample[4];
    struct seen seen = { .ordered = true };
    int n_asked = 0;
    struct pack_consumer_params p = { .sample_bytes = 4,
                                      .batch_max = 1,
                                      .step_ns = UINT64_C(3600) * 1000000000,
                                      .watch = { .context = &n_asked, .stop = stop_soon },
                                      .on_step = see_step,
                                      .context = &seen };
    struct pack_batch batch = { .data = sample, .n_samples = 1 };
    struct pack_consumer *consumer = NULL;
    struct pack_error err = { 0 };
    alarm(60); /* a step that is slept through is a failure too */
    ok(pack_consumer_open("emulated", &p, &consumer, &err) == PACK_OK &&
           pack_consumer_take(consumer, &batch, &err) == PACK_ERR_INTERRUPTED &&
           seen.n_steps == 0,
       "a step of an hour ends when the run is to end, and is none %s", err.text);
    alarm(0);
    pack_consumer_close(consumer);
}

static void
test_refusals(void)
{
    struct pack_consumer_params p = { .sample_bytes = 4, .batch_max = 1 };
    struct pack_consumer *consumer;
    struct pack_error err;
    ok(pack_consumer_open("gpu", &p, &consumer, &err) == PACK_ERR_ARGUMENT,
       "an unknown consumer is refused");
    note("%s", err.text);
    ok(pack_consumer_open("host", &p, &consumer, &err) == PACK_ERR_ARGUMENT,
       "host refuses what is no image");
    ok(pack_consumer_open("emulated", &p, &consumer, &err) == PACK_ERR_ARGUMENT,
       "emulated wants to know how long a step takes");
}

int
main(void)
{
    test_rounding();
    test_normalise();
    test_consumers();
    test_long_step();
    test_refusals();
    return done();
}
