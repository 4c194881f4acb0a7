/*
 * The cuda consumer. By itself this test wants a GPU and skips without;
 * tests/fake_cuda.sh runs it against the fake driver, where it can also make calls fail.
 */
#include "libpack/bench/consumer.h"

#include <dlfcn.h>
#include <math.h>
#include <time.h>
#include <unistd.h>

#include "libpack/base/rng.h"
#include "tests/tap.h"

enum { BATCH = 5, N_BATCHES = 7 };
enum { NEAR = 100000 }; /* ns between two calls to the driver */
enum { OVERLAP_BYTES = BATCH * 3 * 20 * 18 };

/* The fake driver's own functions, NULL on a real one. */
static int (*fake_live)(void), (*fake_hazards)(void);
static int (*fake_outputs)(uint64_t *sums, int max);
static uint64_t (*fake_sum)(const void *data, size_t size);

struct seen {
    uint64_t n_steps, n_samples, busy_ns, starved_ns, copy_wait_ns, copy_bytes;
    uint64_t last_end_ns, wrong_times;
    uint64_t pin_ns;
    uint64_t normalise_ns, copy_ns; /* of most steps */
    uint64_t n_timed, n_copy_waits; /* steps with these; that waited for all of a copy */
    const void *want;
    size_t want_bytes;
    int n_outputs, n_wrong;
};

static bool
is_near(uint64_t a, uint64_t b, uint64_t by)
{
    return a <= b + by && b <= a + by;
}

/* Events are known to a float's precision, and the GPU's clock is tied to the host's a
 * little late. */
static bool
fits(const struct seen *seen, const struct pack_step *step)
{
    uint64_t copied_ns = step->copy_begin_ns + step->copy_ns;
    return step->number == seen->n_steps && step->begin_ns >= seen->last_end_ns &&
           step->end_ns - step->begin_ns == step->busy_ns &&
           (step->number == 0 ||
            step->begin_ns - seen->last_end_ns == step->starved_ns) &&
           step->copy_wait_ns <= step->starved_ns &&
           step->normalise_ns <= step->busy_ns && copied_ns <= step->begin_ns + 1000 &&
           (step->copy_bytes == 0 ||
            step->copy_begin_ns + 1000000 >= step->pin_begin_ns + step->pin_ns);
}

static void
see_step(void *context, const struct pack_step *step)
{
    struct seen *seen = context;
    seen->wrong_times += !fits(seen, step);
    seen->n_timed += is_near(step->normalise_ns, seen->normalise_ns, NEAR) &&
                     is_near(step->copy_ns, seen->copy_ns, NEAR);
    seen->n_copy_waits += is_near(step->copy_wait_ns, seen->copy_ns, NEAR);
    seen->last_end_ns = step->end_ns;
    seen->n_steps++;
    seen->n_samples += step->n_samples;
    seen->copy_bytes += step->copy_bytes;
    seen->pin_ns += step->pin_ns;
    if (step->number > 0) {
        seen->busy_ns += step->busy_ns;
        seen->starved_ns += step->starved_ns;
        seen->copy_wait_ns += step->copy_wait_ns;
    }
}

static void
see_output(void *context, const void *values, size_t size)
{
    struct seen *seen = context;
    seen->n_outputs++;
    seen->n_wrong += size != seen->want_bytes || memcmp(values, seen->want, size) != 0;
}

static struct pack_consumer_params
make_params(struct seen *seen, uint32_t height, uint32_t width)
{
    static const double mean[3] = { 123.675, 116.28, 103.53 };
    static const double std[3] = { 58.395, 57.12, 57.375 };
    struct pack_consumer_params p = {
        .sample_bytes = 3 * height * width,
        .batch_max = BATCH,
        .has_normalise = true,
        .normalise = { .channels = 3, .height = height, .width = width },
        .on_step = see_step,
        .on_output = see_output,
        .context = seen,
    };
    pack_normalise_set(&p.normalise, mean, std, NULL);
    return p;
}

/* What the host makes of the samples a step uses. */
static void
host_result(const struct pack_consumer_params *p, const struct pack_batch *batch,
            unsigned char *out)
{
    struct pack_normalise_table table;
    uint64_t n = batch->indices ? batch->n_indices : batch->n_samples;
    size_t bytes = pack_normalise_values(&p->normalise) *
                   pack_precision_bytes(p->normalise.precision);
    pack_normalise_table(&p->normalise, &table);
    for (uint64_t i = 0; i < n; i++)
        pack_normalise_apply(&p->normalise, &table,
                             (const uint8_t *)batch->data +
                                 (batch->indices ? batch->indices[i] : i) *
                                     p->sample_bytes,
                             out + i * bytes);
}

static void
test_pixels(void)
{
    static uint8_t data[BATCH * 3 * 20 * 18], want[sizeof data * 4];
    static const uint32_t indices[] = { 4, 0, 2 };
    struct pack_rng rng;
    int n_forms = 0, n_wrong = 0, n_missing = 0;
    pack_rng_seed(&rng, 3);
    for (int form = 0; form < 24; form++) {
        struct seen seen = { .want = want };
        /* 20x18 moves in groups of four, 7x9 does not */
        struct pack_consumer_params p =
            form % 2 ? make_params(&seen, 20, 18) : make_params(&seen, 7, 9);
        p.normalise.layout = form / 2 % 2 ? PACK_PIXEL_NHWC : PACK_PIXEL_NCHW;
        p.normalise.precision = (enum pack_precision)(form / 4 % 3);
        p.transfer = form / 12 ? PACK_TRANSFER_FLOAT32 : PACK_TRANSFER_UINT8;
        p.keep_output = true;
        struct pack_consumer *consumer;
        struct pack_error err;
        if (pack_consumer_open("cuda", &p, &consumer, &err) != PACK_OK) {
            note("%s", err.text);
            n_wrong++;
            continue;
        }
        enum pack_status status = PACK_OK;
        for (int i = 0; i < N_BATCHES && status == PACK_OK; i++) {
            for (size_t k = 0; k < sizeof data; k++)
                data[k] = (uint8_t)pack_rng_next(&rng);
            struct pack_batch batch = { .data = data,
                                        .n_samples = i == N_BATCHES - 1 ? 2 : BATCH };
            for (int again = 0; again < 2 && status == PACK_OK; again++) {
                batch.again = again;
                batch.indices = again && batch.n_samples == BATCH ? indices : NULL;
                batch.n_indices = batch.indices ? 3 : 0;
                seen.want_bytes = (batch.indices ? 3 : batch.n_samples) *
                                  pack_normalise_values(&p.normalise) *
                                  pack_precision_bytes(p.normalise.precision);
                host_result(&p, &batch, want);
                status = pack_consumer_take(consumer, &batch, &err);
            }
        }
        if (status == PACK_OK)
            status = pack_consumer_finish(consumer, &err);
        pack_consumer_close(consumer);
        n_forms++;
        n_missing += status != PACK_OK || seen.n_outputs != 2 * N_BATCHES;
        n_wrong += seen.n_wrong;
    }
    ok(n_forms == 24 && n_missing == 0 && n_wrong == 0,
       "layouts, precisions, transfers, echoed and reordered batches: all values equal "
       "the host's bit for bit");
}

/* Of a batch that is used in two parts all goes over the bus, with the first. */
static void
test_parts(void)
{
    static const uint8_t data[BATCH * 3 * 7 * 9];
    static const uint32_t indices[] = { 4, 0, 2, 1 };
    struct seen seen = { 0 };
    struct pack_consumer_params p = make_params(&seen, 7, 9);
    struct pack_consumer *consumer;
    struct pack_error err = { 0 };
    struct pack_batch batch = {
        .data = data, .n_samples = BATCH, .indices = indices, .n_indices = 1
    };
    enum pack_status status = pack_consumer_open("cuda", &p, &consumer, &err);
    if (!ok(status == PACK_OK, "a consumer is opened %s", err.text))
        return;
    status = pack_consumer_take(consumer, &batch, &err);
    batch.again = true;
    batch.indices = indices + 1;
    batch.n_indices = 3;
    if (status == PACK_OK)
        status = pack_consumer_take(consumer, &batch, &err);
    if (status == PACK_OK)
        status = pack_consumer_finish(consumer, &err);
    ok(status == PACK_OK && seen.n_steps == 2 && seen.n_samples == 4 &&
           seen.copy_bytes == BATCH * p.sample_bytes,
       "one sample and then three of %d are used, all are copied once: %llu bytes %s", BATCH,
       (unsigned long long)seen.copy_bytes, err.text);
    pack_consumer_close(consumer);
}

/* A batch of random samples; its last ones again, in another order. */
static enum pack_status
take_twice(struct pack_consumer *consumer, const struct pack_consumer_params *p, uint8_t *data,
           bool is_buffer, struct pack_rng *rng, uint64_t *want, int *n_want,
           struct pack_error *err)
{
    static uint8_t out[OVERLAP_BYTES * 4];
    uint32_t indices[BATCH - 1];
    for (size_t i = 0; i < OVERLAP_BYTES; i++)
        data[i] = (uint8_t)pack_rng_next(rng);
    struct pack_batch batch = { .data = data, .n_samples = BATCH, .is_buffer = is_buffer };
    enum pack_status status = PACK_OK;
    for (int again = 0; again < 2 && status == PACK_OK; again++) {
        batch.again = again;
        batch.indices = again ? indices : NULL;
        batch.n_indices = again ? BATCH - 1 : 0;
        for (int i = 0; i < BATCH - 1; i++)
            indices[i] = (uint32_t)pack_rng_below(rng, BATCH);
        host_result(p, &batch, out);
        want[(*n_want)++] = fake_sum(
            out, (again ? BATCH - 1 : BATCH) * 4 * pack_normalise_values(&p->normalise));
        status = pack_consumer_take(consumer, &batch, err);
        if (rng->s[0] % 2) /* not every batch is echoed */
            break;
    }
    memset(data, 0, OVERLAP_BYTES); /* the caller's from now on */
    memset(indices, 0, sizeof indices);
    return status;
}

/* Steps that overlap, none waited for by the test; the kernels' outputs in order. With
 * is_buffer batches lie in the consumer's own memory, else anywhere. */
static void
test_overlap(const char *how, bool is_buffer)
{
    enum { N = 40 };
    static uint8_t anywhere[OVERLAP_BYTES];
    uint64_t want[2 * N], got[2 * N];
    struct seen seen = { 0 };
    struct pack_reader_buffers buffers = { 0 };
    uint8_t *data = anywhere;
    struct pack_consumer_params p = make_params(&seen, 20, 18);
    struct pack_consumer *consumer;
    struct pack_error err = { 0 };
    struct pack_rng rng;
    int n = 0;
    pack_rng_seed(&rng, 5);
    p.step_ns = 300000;
    setenv("FAKE_CUDA_BANDWIDTH", "10000000", 1); /* a copy takes 540 us */
    enum pack_status status = pack_consumer_open("cuda", &p, &consumer, &err);
    if (status == PACK_OK)
        buffers = pack_consumer_buffers(consumer);
    if (is_buffer && buffers.allocate)
        data = buffers.allocate(buffers.context, OVERLAP_BYTES);
    for (int i = 0; i < N && status == PACK_OK && data; i++)
        status = take_twice(consumer, &p, data, is_buffer, &rng, want, &n, &err);
    if (is_buffer && buffers.release) /* as a reader does that is closed first */
        buffers.release(buffers.context, data);
    if (status == PACK_OK)
        status = pack_consumer_finish(consumer, &err);
    if (!ok(status == PACK_OK && n > N && seen.n_steps == (uint64_t)n,
            "%d overlapping steps, %s", n, how))
        note("%s", err.text);
    ok(is_buffer ? seen.pin_ns == 0 : seen.pin_ns > 0, "batches are %scopied to pinned memory",
       is_buffer ? "not " : "");
    ok(seen.wrong_times == 0, "their times add up");
    ok(fake_outputs(got, 2 * N) == n && memcmp(got, want, (size_t)n * sizeof *got) == 0,
       "no buffer is read before it is written, or written before it is read");
    pack_consumer_close(consumer);
    unsetenv("FAKE_CUDA_BANDWIDTH");
}

static void
nap(uint64_t ns)
{
    struct timespec t = { .tv_nsec = (long)ns };
    nanosleep(&t, NULL);
}

/* Feeds n batches with a pause before each. */
static enum pack_status
feed(const struct pack_consumer_params *p, int n, uint64_t pause_ns,
     struct pack_device_result *device, struct pack_error *err)
{
    static uint8_t data[BATCH * 3 * 40 * 40];
    struct pack_consumer *consumer;
    enum pack_status status = pack_consumer_open("cuda", p, &consumer, err);
    if (status != PACK_OK)
        return status;
    for (int i = 0; i < n && status == PACK_OK; i++) {
        struct pack_batch batch = { .data = data, .n_samples = BATCH };
        memset(data, i, sizeof data);
        nap(pause_ns);
        status = pack_consumer_take(consumer, &batch, err);
    }
    if (status == PACK_OK)
        status = pack_consumer_finish(consumer, err);
    if (device)
        pack_consumer_device(consumer, device);
    pack_consumer_close(consumer);
    return status;
}

/*
 * Feeds 25 batches with a pause before each; the share of time that the device was busy.
 * As other work on the machine disturbs a run now and then, it is repeated until it lies
 * in low..high, five times at most.
 */
static double
measure_busy(struct pack_consumer_params *p, struct seen *seen, uint64_t pause_ns,
             double low, double high, struct pack_device_result *device,
             enum pack_status *status, struct pack_error *err)
{
    double busy = 0;
    for (int i = 0; i < 5 && !(busy > low && busy < high); i++) {
        *seen = (struct seen){ 0 };
        *status = feed(p, 25, pause_ns, device, err);
        busy = (double)seen->busy_ns / (double)(seen->busy_ns + seen->starved_ns);
        if (*status != PACK_OK)
            break;
    }
    return busy;
}

static void
test_times(void)
{
    struct seen slow = { 0 }, fast = { 0 };
    struct pack_device_result device;
    struct pack_error err = { 0 };
    struct pack_consumer_params p = make_params(&slow, 40, 40);
    p.step_ns = 4000000;
    enum pack_status status;
    double busy = measure_busy(&p, &slow, 12000000, 0.15, 0.40, NULL, &status, &err);
    ok(status == PACK_OK && slow.n_steps == 25 && slow.n_samples == 25 * BATCH &&
           slow.wrong_times == 0,
       "every step is reported once, in order, without overlap");
    ok(busy > 0.15 && busy < 0.40,
       "4 ms of work every 12 ms: busy %.0f %%, a third and what waking up costs",
       busy * 100);
    p = make_params(&fast, 40, 40);
    p.step_ns = 12000000;
    busy = measure_busy(&p, &fast, 2000000, 0.98, 1.01, &device, &status, &err);
    ok(status == PACK_OK && fast.wrong_times == 0, "fed faster than it works");
    ok(busy > 0.98, "busy %.1f %%", busy * 100);
    ok(device.copy_bytes_per_s > 1e7, "a copy's time ends when it has ended");
    ok(fast.copy_bytes == 25 * BATCH * p.sample_bytes, "bytes on the bus are counted");
    ok(device.name[0] && device.pinned_bytes_per_s > 0 && device.copy_bytes_per_s > 0 &&
           device.normalise_bytes_per_s > 0 && device.memory_bytes_per_s > 0,
       "the device names itself and its speeds");
    note("%s, %s: pinned %.2f GB/s, batches %.2f GB/s", device.name, device.driver,
         device.pinned_bytes_per_s / 1e9, device.copy_bytes_per_s / 1e9);
}

static bool
about(double value, double expected)
{
    return value > expected * 0.98 && value < expected * 1.02;
}

/* The fake driver's durations are known, and so is all that is made of them. */
static void
test_numbers(void)
{
    enum { BYTES = BATCH * 3 * 40 * 40, N = 50 }; /* NVML is asked twice */
    struct seen seen = { 0 };
    struct pack_device_result device = { 0 };
    struct pack_error err = { 0 };
    struct pack_consumer_params p = make_params(&seen, 40, 40);
    double copy_ns = BYTES * 1e9 / 10e6 + 1000, rate = BYTES * 1e9 / copy_ns;
    double normalise_rate = 5 * BYTES * 1e9 / 20000; /* bytes read and floats written */
    p.step_ns = 1000000;
    uint64_t busy_ns = (N - 1) * (p.step_ns + 20000);
    setenv("FAKE_CUDA_BANDWIDTH", "10000000", 1);
    setenv("FAKE_CUDA_FIRST_NS", "20000000", 1); /* when the GPU is tied to the clock */
    enum pack_status status;
    for (int i = 0; i < 5; i++) { /* unless the machine is busy elsewhere */
        seen = (struct seen){ .normalise_ns = 20000, .copy_ns = (uint64_t)copy_ns };
        status = feed(&p, N, 6000000, &device, &err);
        if (status != PACK_OK || (seen.n_timed > N / 2 && seen.n_copy_waits > N / 2 &&
                                  is_near(seen.busy_ns, busy_ns, NEAR) &&
                                  about(device.pinned_bytes_per_s, rate) &&
                                  about(device.normalise_bytes_per_s, normalise_rate)))
            break;
    }
    unsetenv("FAKE_CUDA_BANDWIDTH");
    unsetenv("FAKE_CUDA_FIRST_NS");
    ok(status == PACK_OK && seen.wrong_times == 0,
       "no step begins before its samples are there");
    ok(seen.n_timed > N / 2, "copies and kernels are timed by themselves: %d of %d",
       (int)seen.n_timed, N);
    ok(is_near(seen.busy_ns, busy_ns, NEAR), "a step is its kernel and its computing");
    ok(seen.n_copy_waits > N / 2, "steps wait for copies: %d of %d",
       (int)seen.n_copy_waits, N);
    ok(about(device.pinned_bytes_per_s, rate), "the ceiling of copies");
    ok(device.copy_bytes_per_s > rate * 0.8 && device.copy_bytes_per_s < rate * 1.02,
       "the rate of copies");
    ok(about(device.normalise_bytes_per_s, normalise_rate),
       "the kernel reads bytes and writes floats");
    ok(device.memory_bytes_per_s == 128e9, "what the memory could do");
    is_number((int)device.memory_bytes, 1 << 30, "memory of the device");
    is_number((int)device.used_bytes, 3 * BYTES + 4 * BATCH * 4 + 4 * BYTES,
              "memory in use");
    ok(strcmp(device.driver, "CUDA 12.4, driver 550.0 (fake)") == 0, "'%s'",
       device.driver);
    ok(device.n_samples > 1 && fabs(device.utilisation - 0.42) < 1e-9 &&
           device.pcie_bytes_per_s == 1000 * 1024,
       "what NVML saw");
}

static void
test_choice(void)
{
    struct seen seen = { 0 };
    struct pack_device_result device;
    struct pack_error err = { 0 };
    struct pack_consumer_params p = make_params(&seen, 4, 4);
    p.gpu = "99";
    ok(feed(&p, 1, 0, NULL, &err) == PACK_ERR_NOT_FOUND, "GPU 99 is not there");
    note("%s", err.text);
    p.gpu = "GPU-";
    ok(feed(&p, 1, 0, NULL, &err) == PACK_ERR_NOT_FOUND, "nor is one without a UUID");
    if (!fake_live)
        return;
    static const struct {
        const char *gpu, *name;
    } cases[] = {
        { NULL, "Fake GPU 0" },
        { "1", "Fake GPU 1" },
        { "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f", "Fake GPU 1" },
        { "gpu-1011", "Fake GPU 1" },
        { "MIG-00010203", "Fake GPU 0" },
    };
    setenv("FAKE_CUDA_DEVICES", "2", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        p.gpu = cases[i].gpu;
        ok(feed(&p, 1, 0, &device, &err) == PACK_OK &&
               strcmp(device.name, cases[i].name) == 0,
           "--gpu %s is %s", cases[i].gpu ? cases[i].gpu : "(none)", cases[i].name);
    }
    setenv("FAKE_CUDA_DEVICES", "0", 1);
    ok(feed(&p, 1, 0, NULL, &err) == PACK_ERR_UNSUPPORTED, "a driver without a GPU");
    note("%s", err.text);
    unsetenv("FAKE_CUDA_DEVICES");
}

/* Every call of the driver fails once. */
static void
test_failures(void)
{
    struct seen seen = { 0 };
    struct pack_error err = { 0 };
    struct pack_consumer_params p = make_params(&seen, 4, 4);
    int n = 1, n_refused = 0, n_leaks = 0, n_silent = 0;
    alarm(600); /* who waits for what failed waits for good */
    for (bool failed = true; n < 2000; n++) {
        char text[16];
        snprintf(text, sizeof text, "%d", n);
        setenv("FAKE_CUDA_FAIL", text, 1);
        err.text[0] = '\0';
        failed = feed(&p, 6, 0, NULL, &err) != PACK_OK;
        n_refused += failed;
        n_silent += failed && !strstr(err.text, "on the GPU");
        n_leaks += fake_live() != 0;
        if (!failed && n > 300)
            break;
    }
    unsetenv("FAKE_CUDA_FAIL");
    is_number(fake_hazards(), 0, "no memory is given back while the GPU wants it");
    ok(n_refused > 100 && n_silent == 0, "each of %d calls that fails ends in a sentence",
       n_refused);
    is_number(n_leaks, 0, "and leaves nothing behind");
    alarm(0);

    setenv("FAKE_CUDA_MEMORY", "100", 1);
    ok(feed(&p, 1, 0, NULL, &err) == PACK_ERR_MEMORY && fake_live() == 0,
       "a GPU without memory left");
    note("%s", err.text);
    unsetenv("FAKE_CUDA_MEMORY");

    setenv("FAKE_CUDA_DIE_AFTER", "4", 1);
    ok(feed(&p, 9, 0, NULL, &err) == PACK_ERR_IO, "a GPU that fails in mid-run");
    note("%s", err.text);
    unsetenv("FAKE_CUDA_DIE_AFTER");

    setenv("FAKE_CUDA_HANG", "1", 1);
    p.stall_ns = 200000000;
    ok(feed(&p, 9, 0, NULL, &err) == PACK_ERR_IO && fake_live() == 0, "a GPU that hangs");
    note("%s", err.text);
    unsetenv("FAKE_CUDA_HANG");
}

int
main(void)
{
    struct seen seen = { 0 };
    struct pack_error err = { 0 };
    struct pack_consumer_params p = make_params(&seen, 4, 4);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (driver) {
        fake_live = (int (*)(void))dlsym(driver, "fake_cuda_live");
        fake_hazards = (int (*)(void))dlsym(driver, "fake_cuda_hazards");
        fake_outputs = (int (*)(uint64_t *, int))dlsym(driver, "fake_cuda_outputs");
        fake_sum = (uint64_t (*)(const void *, size_t))dlsym(driver, "fake_cuda_sum");
    }
    enum pack_status status = feed(&p, 1, 0, NULL, &err);
    if (status == PACK_ERR_UNSUPPORTED) {
        ok(err.param && strcmp(err.param, "consumer") == 0,
           "says that another consumer is to be used");
        skip("no GPU here: %s", err.text);
        return done();
    }
    if (!ok(status == PACK_OK, "opens"))
        note("%s", err.text);
    test_pixels();
    test_parts();
    test_times();
    test_choice();
    if (fake_live) {
        test_overlap("all work done as late as can be", false);
        test_overlap("out of pinned batches", true);
        setenv("FAKE_CUDA_EAGER", "1", 1);
        test_overlap("copies done at once, kernels late", false);
        test_overlap("out of pinned batches, copies done at once", true);
        unsetenv("FAKE_CUDA_EAGER");
        test_numbers();
        test_failures();
    }
    return done();
}
