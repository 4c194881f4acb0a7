/* The stream of samples: a file that changes while it is read. */
#include "libpack/convert/samples.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"

static struct pack_source *source;

/* Counts the samples of each outcome; *reason is the last that was not ready. */
static void
stream(int n[PACK_SAMPLE_FAILED + 1], char reason[PACK_SAMPLE_REASON_MAX])
{
    struct pack_samples_params params = { .source = source,
                                          .n_threads = 2,
                                          .memory_bytes = 1 << 20 };
    struct pack_samples *samples;
    struct pack_pool *pool;
    const struct pack_sample *sample;
    if (pack_samples_new(&params, &samples, NULL) != PACK_OK)
        abort();
    struct pack_pool_lane lane = pack_samples_lane(samples);
    if (pack_pool_new(2, &lane, 1, &pool, NULL) != PACK_OK)
        abort();
    memset(n, 0, (PACK_SAMPLE_FAILED + 1) * sizeof *n);
    pack_samples_start(samples, pool, 0);
    while ((sample = pack_samples_next(samples))) {
        n[sample->outcome]++;
        if (sample->outcome != PACK_SAMPLE_READY)
            memcpy(reason, sample->reason, sizeof sample->reason);
    }
    pack_pool_free(pool);
    pack_samples_free(samples);
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
    pack_source_close(source);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (chdir("/") != 0 || system(command) != 0)
        note("'%s' stays", folder);
    return done();
}
