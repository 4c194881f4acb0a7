/* The stream of samples: a file that changes while it is read; what does not fit in memory
 * or is over a limit; what is held is given back, whatever becomes of an image. */
#include "libpack/convert/samples.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/convert/sample_chain.h"
#include "libpack/convert/sample_memory.h"
#include "tests/lease.h"
#include "tests/tap.h"

static struct pack_source *source;
static int n_over_memory; /* samples that memory_bytes did not hold */
static uint64_t need_bytes; /* of the last of them */

/* Counts the samples of each outcome; *reason is the last that was not ready. */
static uint64_t
stream_with(struct pack_samples_params params, int n[PACK_SAMPLE_FAILED + 1],
            char reason[PACK_SAMPLE_REASON_MAX])
{
    struct pack_samples *samples;
    struct pack_pool *pool;
    const struct pack_sample *sample;
    if (pack_samples_new(&params, &samples, NULL) != PACK_OK)
        abort();
    struct pack_pool_lane lane = pack_samples_lane(samples);
    if (pack_pool_new(2, &lane, 1, &pool, NULL) != PACK_OK)
        abort();
    memset(n, 0, (PACK_SAMPLE_FAILED + 1) * sizeof *n);
    n_over_memory = 0;
    pack_samples_start(samples, pool, 0);
    while ((sample = pack_samples_next(samples))) {
        n[sample->outcome]++;
        n_over_memory += sample->over_memory;
        need_bytes = sample->over_memory ? sample->need_bytes : need_bytes;
        if (sample->outcome != PACK_SAMPLE_READY)
            memcpy(reason, sample->reason, sizeof sample->reason);
    }
    uint64_t peak = pack_samples_peak_bytes(samples);
    pack_pool_free(pool);
    pack_samples_free(samples);
    return peak;
}

static void
stream(int n[PACK_SAMPLE_FAILED + 1], char reason[PACK_SAMPLE_REASON_MAX])
{
    struct pack_samples_params params = { .source = source,
                                          .n_threads = 2,
                                          .memory_bytes = 4 << 20 };
    stream_with(params, n, reason);
}

static atomic_bool finished;

/* Gives the file another time of change, as fast as it can. */
static void *
touch(void *unused)
{
    for (long i = 0; !atomic_load(&finished); i++) {
        struct timespec times[2] = { { 0, 0 }, { 1000000 + i, 0 } };
        utimensat(AT_FDCWD, "flat/000.jpg", times, 0);
    }
    return unused;
}

static void
test_changing(void)
{
    int n[PACK_SAMPLE_FAILED + 1], rejected = 0, failed = 0;
    char reason[PACK_SAMPLE_REASON_MAX] = "";
    pthread_t thread;
    stream(n, reason);
    is_number(n[PACK_SAMPLE_READY], 200, "200 links to one image are ready");
    pthread_create(&thread, NULL, touch, NULL);
    for (int i = 0; i < 100 && rejected + failed == 0; i++) { /* until they meet */
        stream(n, reason);
        rejected += n[PACK_SAMPLE_REJECTED];
        failed += n[PACK_SAMPLE_FAILED];
    }
    atomic_store(&finished, true);
    pthread_join(thread, NULL);
    ok(rejected == 0 && failed > 0 &&
           strcmp(reason, "changed while it was being read") == 0,
       "a file that changes while it is read is no reject but a failure: %d", failed);
}

/* A copy of the image with segments behind its first marker, cut after `keep` bytes. */
static void
make_variant(const char *name, int n_segments, size_t keep)
{
    static uint8_t image[1 << 20], segment[65537] = { 0xff, 0xef, 0xff, 0xff };
    FILE *from = fopen("flat/000.jpg", "rb"), *to = fopen(name, "wb");
    size_t size = from && to ? fread(image, 1, sizeof image, from) : 0;
    if (size < 2)
        exit(99);
    fwrite(image, 1, 2, to);
    for (int i = 0; i < n_segments; i++)
        fwrite(segment, 1, sizeof segment, to);
    fwrite(image + 2, 1, (size < keep ? size : keep) - 2, to);
    fclose(from);
    fclose(to);
}

static struct pack_source *
open_folder(const char *folder)
{
    struct pack_source_params params = { 0 };
    struct pack_source *opened = NULL;
    if (pack_source_open(&folder, 1, &params, &opened, NULL) != PACK_OK)
        exit(99);
    return opened;
}

static void
test_memory(void)
{
    struct pack_samples_params params = { .source = source,
                                          .n_threads = 2,
                                          .memory_bytes = 1 << 20 };
    char reason[PACK_SAMPLE_REASON_MAX] = "";
    int n[PACK_SAMPLE_FAILED + 1];
    stream_with(params, n, reason);
    ok(n[PACK_SAMPLE_FAILED] == 200 && n_over_memory == 200 &&
           need_bytes > pack_sample_budget_bytes(1 << 20, 2) &&
           strstr(reason, " of memory"),
       "images that do not fit in memory fail: %s", reason);
    while (pack_sample_budget_bytes(params.memory_bytes, 2) < need_bytes)
        params.memory_bytes++;
    uint64_t peak = stream_with(params, n, reason);
    ok(n[PACK_SAMPLE_READY] == 200, "with the least that they fit in they are ready");
    ok(peak > 0 && peak <= params.memory_bytes, "and it is kept: %llu bytes",
       (unsigned long long)peak);
    params.memory_bytes -= 8;
    stream_with(params, n, reason);
    is_number(n_over_memory, 200, "with less they are not");
    params.memory_bytes = 1 << 20;
    params.headers_only = true;
    stream_with(params, n, reason);
    is_number(n_over_memory, 200, "headers tell already");
    params.max_file_bytes = 1000;
    stream_with(params, n, reason);
    ok(n[PACK_SAMPLE_REJECTED] == 200 && n_over_memory == 0 &&
           strstr(reason, " is over the limit of 1000"),
       "a file over a limit is rejected, whatever the memory: %s", reason);
}

/* Files that end on each of the ways on which memory is held, many of each; the memory is
 * for one at a time, so that what is not given back ends the stream: the alarm ends us. */
static void
test_given_back(void)
{
    struct pack_samples_params params = { .n_threads = 2, .memory_bytes = 2 << 20 };
    char name[64], reason[PACK_SAMPLE_REASON_MAX];
    int n[PACK_SAMPLE_FAILED + 1];
    mkdir("ways", 0777);
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "ways/%d-late-header.jpg", i);
        make_variant(name, 2, SIZE_MAX);
        snprintf(name, sizeof name, "ways/%d-no-header.jpg", i);
        make_variant(name, 2, 2);
        snprintf(name, sizeof name, "ways/%d-cut.jpg", i);
        make_variant(name, 0, 2000);
        snprintf(name, sizeof name, "ways/%d-whole.jpg", i);
        make_variant(name, 0, SIZE_MAX);
    }
    params.source = open_folder("ways");
    alarm(120);
    uint64_t peak = stream_with(params, n, reason);
    alarm(0);
    ok(n[PACK_SAMPLE_READY] == 16 && n[PACK_SAMPLE_REJECTED] == 16,
       "images of every kind go through memory for one");
    ok(peak < 2 << 20, "which holds one at a time: %llu bytes", (unsigned long long)peak);
    params.headers_only = true;
    alarm(120);
    stream_with(params, n, reason);
    alarm(0);
    is_number(n[PACK_SAMPLE_READY], 24, "and so do their headers");
    pack_source_close((struct pack_source *)params.source);
}

static bool
stops_at_third(void *context)
{
    int *n = context;
    return ++*n >= 3;
}

/* Whether the third sample fails because the watch ended the waiting for it; then the
 * others are dropped, without any more waiting. */
static bool
is_interrupted(struct pack_samples_params params)
{
    struct pack_samples *samples;
    struct pack_pool *pool;
    const struct pack_sample *sample = NULL;
    if (pack_samples_new(&params, &samples, NULL) != PACK_OK)
        abort();
    struct pack_pool_lane lane = pack_samples_lane(samples);
    if (pack_pool_new(2, &lane, 1, &pool, NULL) != PACK_OK)
        abort();
    pack_samples_start(samples, pool, 0);
    for (int i = 0; i < 3; i++)
        sample = pack_samples_next(samples);
    bool good = sample && sample->outcome == PACK_SAMPLE_FAILED &&
                sample->status == PACK_ERR_INTERRUPTED;
    pack_samples_end(samples);
    pack_pool_free(pool);
    pack_samples_free(samples);
    return good;
}

/* A file on which another program has a lease, and does not let go. */
static void
test_lease(void)
{
    int n_asked = 0;
    struct pack_samples_params params = {
        .n_threads = 2,
        .memory_bytes = 8 << 20,
        .watch = { .context = &n_asked, .stop = stops_at_third },
    };
    mkdir("leased", 0777);
    for (int i = 0; i < 8; i++) {
        char name[64];
        snprintf(name, sizeof name, "leased/%d.jpg", i);
        make_variant(name, 0, SIZE_MAX);
    }
    params.source = open_folder("leased");
    pid_t holder = lease_hold("leased/2.jpg", 40000);
    if (holder < 0) {
        skip("no file can be leased here");
    } else {
        bool good = is_interrupted(params);
        ok(lease_drop(holder) && good && n_asked >= 3,
           "a file that is waited for is not when the watch ends that");
    }
    pack_source_close((struct pack_source *)params.source);
}

int
main(void)
{
    char folder[] = "/tmp/h5pack-test.XXXXXX";
    const char *build = getenv("top_builddir"), *flat = "flat";
    char command[4096];
    struct pack_source_params params = { 0 };
    snprintf(command, sizeof command,
             "set -e; '%s/tests/render_samples' made 1 3 200; mkdir flat; "
             "mv made/*/* flat/000.jpg; i=1; while [ $i -lt 200 ]; do "
             "ln flat/000.jpg flat/$i.jpg; i=$((i + 1)); done",
             build ? build : ".");
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 99;
    if (system(command) != 0) {
        printf("1..0 # SKIP no images can be rendered\n");
        return 0;
    }
    if (pack_source_open(&flat, 1, &params, &source, NULL) != PACK_OK)
        return 99;
    test_changing();
    test_memory();
    test_given_back();
    test_lease();
    pack_source_close(source);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (chdir("/") != 0 || system(command) != 0)
        note("'%s' stays", folder);
    return done();
}
