/*
 * A process's file: a trace of its own in H5PACK_RECORD_DIR, mapped, so that what is
 * written is there whatever becomes of the process. It grows in steps; behind what is
 * written come zeros. Some bytes are always left for the line that says why no more follows.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "record/record.h"

enum { STEP = 1 << 20, LAST_LINE = 64, PAGE = 1 << 16, NUMBER_MAX = 21 };

/* Time of reads that is not written yet; it is after every so many reads, first after each. */
enum { SPENT = 8, SPENT_READS = 64 };

/* Datasets of a file whose cache is written. */
enum { CACHES_MAX = 64, MILLION = 1000000 };

struct spent {
    size_t file, dataset;
    uint64_t n_reads, ns, most;
};

struct names {
    char **given; /* as HDF5 has them */
    size_t n, last;
};

static char folder[RECORD_NAME_MAX];
static atomic_int lock;

/* Of the process `pid`, which a child that was forked is not. */
static struct {
    pid_t pid;
    bool is_stopped;
    char path[RECORD_NAME_MAX + 64];
    char *map;
    size_t map_begin, map_size; /* in the file */
    size_t size;                /* written */
    struct names files, datasets;
    struct spent spent[SPENT]; /* the oldest first */
    size_t n_spent;
    pid_t parent;
    uint64_t ran_ns, ran[2], parent_ran[2]; /* when schedstats were looked at, and what they said */
    uint64_t *cached; /* of each file, a bit for each dataset whose cache is known */
    size_t n_cached;
} own;

__attribute__((constructor)) static void
remember_folder(void)
{
    const char *dir = getenv("H5PACK_RECORD_DIR");
    if (dir && *dir == '/' && strlen(dir) < sizeof folder)
        strcpy(folder, dir);
}

bool
record_is_on(void)
{
    return folder[0] != '\0';
}

/* A lock that a process holds which this one was forked from is nobody's any more. */
void
record_lock(atomic_int *word)
{
    int pid = (int)getpid();
    for (;;) {
        int holder = 0;
        if (atomic_compare_exchange_strong(word, &holder, pid) ||
            (holder != pid && atomic_compare_exchange_strong(word, &holder, pid)))
            return;
        sched_yield();
    }
}

void
record_unlock(atomic_int *word)
{
    atomic_store(word, 0);
}

uint64_t
record_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---------------------------------------------------------------- the file */

/* Whether a file may be so large: the system ends a process that tries beyond its limit. */
static bool
is_allowed(size_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           size <= limit.rlim_cur;
}

static int
grow(int fd, size_t begin, size_t size)
{
    if (!is_allowed(begin + size))
        return EFBIG;
    int failed;
    do /* a signal of the program's is no reason to stop */
        failed = posix_fallocate(fd, (off_t)begin, (off_t)size);
    while (failed == EINTR);
    if (failed)
        return failed;
    char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)begin);
    if (map == MAP_FAILED)
        return errno;
    if (own.map)
        munmap(own.map, own.map_size);
    own.map = map;
    own.map_begin = begin;
    own.map_size = size;
    return 0;
}

static void
put(const char *text, size_t size)
{
    memcpy(own.map + (own.size - own.map_begin), text, size);
    own.size += size;
}

/* For good: the program goes on without being recorded. */
static void
stop(int why)
{
    char line[LAST_LINE];
    own.is_stopped = true;
    if (!own.map)
        return;
    put(line, (size_t)snprintf(line, sizeof line, "# stopped\t%d\n", why));
    munmap(own.map, own.map_size);
    own.map = NULL;
}

/* Room for so many bytes and a last line. */
static bool
make_room(size_t size)
{
    if (own.map && own.size + size + LAST_LINE <= own.map_begin + own.map_size)
        return true;
    int flags = own.map ? O_RDWR | O_CLOEXEC : O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL;
    int fd = open(own.path, flags, 0600);
    int failed = fd < 0 ? errno : grow(fd, own.size & ~((size_t)PAGE - 1), STEP);
    if (fd >= 0)
        close(fd);
    if (failed)
        stop(failed);
    return !failed;
}

static bool
begin(pid_t pid)
{
    static const char head[] = "# h5pack-trace 2\n";
    memset(&own, 0, sizeof own); /* what a parent had is the parent's */
    own.pid = pid;
    snprintf(own.path, sizeof own.path, "%s/%lld-%llu.trace", folder, (long long)pid,
             (unsigned long long)record_now_ns());
    if (!make_room(sizeof head - 1))
        return false;
    put(head, sizeof head - 1);
    return true;
}

/* ------------------------------------------------------------------ names */

/* With what would end a line, or part it, escaped. */
static size_t
escape(const char *name, char *out)
{
    static const char plain[] = "\\\t\n\r", letters[] = "\\tnr";
    size_t n = 0;
    for (; *name; name++) {
        const char *at = strchr(plain, *name);
        if (at)
            out[n++] = '\\';
        out[n++] = at ? letters[at - plain] : *name;
    }
    return n;
}

static bool
add(struct names *names, const char *kind, const char *given, const char *name)
{
    char line[2 * RECORD_NAME_MAX + 64];
    size_t n = (size_t)snprintf(line, 64, "# %s\t%zu\t", kind, names->n);
    char **more = realloc(names->given, (names->n + 1) * sizeof *more);
    if (!more)
        return false;
    names->given = more;
    more[names->n] = strdup(given);
    n += escape(name, line + n);
    line[n++] = '\n';
    if (!more[names->n] || !make_room(n))
        return false;
    put(line, n);
    names->last = names->n++;
    return true;
}

/* Whether a name is among these, of which it is the last one then. */
static bool
is_known(struct names *names, const char *given)
{
    if (names->n > 0 && strcmp(names->given[names->last], given) == 0)
        return true;
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->given[i], given) == 0) {
            names->last = i;
            return true;
        }
    return false;
}

static bool
place_dataset(const char *name)
{
    return is_known(&own.datasets, name) || add(&own.datasets, "dataset", name, name);
}

/* With its whole path, which may be known. */
static bool
place_file(const char *given, const char *whole)
{
    char real[RECORD_NAME_MAX];
    if (is_known(&own.files, given))
        return true;
    const char *name = realpath(whole ? whole : given, real);
    return add(&own.files, "file", given, name ? name : given);
}

bool
record_knows(const char *file)
{
    record_lock(&lock);
    bool found = own.pid == getpid() && is_known(&own.files, file);
    record_unlock(&lock);
    return found;
}

/* ------------------------------------------------------------------ lines */

static char *
put_number(char *at, uint64_t n, char end)
{
    char digits[NUMBER_MAX];
    int k = 0;
    do
        digits[k++] = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    while (k > 0)
        *at++ = digits[--k];
    *at++ = end;
    return at;
}

static void
put_spent(struct spent *s)
{
    char line[LAST_LINE + 5 * NUMBER_MAX] = "# spent\t";
    char *at = line + strlen(line);
    at = put_number(at, s->file, '\t');
    at = put_number(at, s->dataset, '\t');
    at = put_number(at, s->n_reads, '\t');
    at = put_number(at, s->ns, '\t');
    at = put_number(at, (uint64_t)own.pid, '\n');
    if (make_room((size_t)(at - line)))
        put(line, (size_t)(at - line));
    s->n_reads = s->ns = 0;
}

/* How long the first thread of a process has been on a processor, and has waited for one; false: that
 * cannot be told. */
static bool
find_ran(pid_t pid, uint64_t ran[2])
{
    char text[LAST_LINE], *end;
    snprintf(text, sizeof text, "/proc/%lld/schedstat", (long long)pid);
    int fd = open(text, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    ran[0] = strtoull(text, &end, 10);
    ran[1] = strtoull(end, NULL, 10);
    return n > 0;
}

/* "# ran", this process, time since it was looked at last, how much of that it was on a processor
 * and waited for one, the process that started it, how much that was on one: what the training
 * itself takes. */
static void
put_ran(void)
{
    char line[LAST_LINE + 6 * NUMBER_MAX] = "# ran\t";
    char *at = line + strlen(line);
    pid_t parent = getppid();
    uint64_t now = record_now_ns(), ran[2], parent_ran[2];
    bool can_tell = find_ran(own.pid, ran) && find_ran(parent, parent_ran);
    if (can_tell && parent == own.parent) {
        at = put_number(at, (uint64_t)own.pid, '\t');
        at = put_number(at, now - own.ran_ns, '\t');
        at = put_number(at, ran[0] - own.ran[0], '\t');
        at = put_number(at, ran[1] - own.ran[1], '\t');
        at = put_number(at, (uint64_t)parent, '\t');
        at = put_number(at, parent_ran[0] - own.parent_ran[0], '\n');
        if (make_room((size_t)(at - line)))
            put(line, (size_t)(at - line));
    }
    own.parent = can_tell ? parent : 0;
    own.ran_ns = now;
    memcpy(own.ran, ran, sizeof ran);
    memcpy(own.parent_ran, parent_ran, sizeof parent_ran);
}

/* The one of what is being read. */
static struct spent *
find_spent(void)
{
    for (size_t i = 0; i < own.n_spent; i++)
        if (own.spent[i].file == own.files.last &&
            own.spent[i].dataset == own.datasets.last)
            return &own.spent[i];
    if (own.n_spent == SPENT) {
        if (own.spent[0].n_reads > 0)
            put_spent(&own.spent[0]);
        memmove(own.spent, own.spent + 1, --own.n_spent * sizeof *own.spent);
    }
    own.spent[own.n_spent] = (struct spent){ own.files.last, own.datasets.last, 0, 0, 1 };
    return &own.spent[own.n_spent++];
}

static void
spend(uint64_t ns)
{
    struct spent *s = find_spent();
    s->ns += ns;
    if (++s->n_reads < s->most)
        return;
    s->most = s->most < SPENT_READS ? 2 * s->most : s->most;
    put_spent(s);
    if (!own.is_stopped)
        put_ran();
}

/* Whether what is being read is read for the first time. */
static bool
is_first(void)
{
    size_t file = own.files.last, bit = own.datasets.last, n = own.files.n;
    if (file >= own.n_cached) {
        uint64_t *more = realloc(own.cached, n * sizeof *more);
        if (!more)
            return false;
        memset(more + own.n_cached, 0, (n - own.n_cached) * sizeof *more);
        own.cached = more;
        own.n_cached = n;
    }
    if (bit >= CACHES_MAX || (own.cached[file] >> bit & 1))
        return false;
    own.cached[file] |= UINT64_C(1) << bit;
    return true;
}

static void
put_lines(const struct record_boxes *b)
{
    char line[(2 * RECORD_RANK_MAX + 4) * NUMBER_MAX];
    size_t width = 2 * (size_t)b->rank;
    uint64_t time = record_now_ns();
    for (size_t i = 0; i < b->n; i++) {
        char *at = line;
        for (size_t k = 0; k < width; k++)
            at = put_number(at, b->numbers[i * width + k], '\t');
        at = put_number(at, own.files.last, '\t');
        at = put_number(at, own.datasets.last, '\t');
        at = put_number(at, (uint64_t)own.pid, '\t');
        at = put_number(at, time, '\n');
        if (!make_room((size_t)(at - line)))
            return;
        put(line, (size_t)(at - line));
    }
    static const char around[] = "# around\t1\n";
    if (b->is_around && make_room(sizeof around - 1))
        put(around, sizeof around - 1);
}

bool
record_put(const char *file, const char *real, const char *dataset,
           const struct record_boxes *boxes, uint64_t took_ns)
{
    pid_t pid = getpid();
    bool first = false;
    record_lock(&lock);
    bool good = own.pid == pid ? !own.is_stopped : begin(pid);
    if (good && place_file(file, real) && place_dataset(dataset)) {
        first = is_first();
        put_lines(boxes);
        if (!own.is_stopped)
            spend(took_ns);
    }
    record_unlock(&lock);
    return first;
}

/* "# cache", file, dataset, process, slots, bytes, w0, version. Digits of w0 are written here, as
 * the program's locale may have a comma. */
static void
put_cache(const struct record_cache *c)
{
    char line[LAST_LINE + 12 * NUMBER_MAX] = "# cache\t";
    char *at = line + strlen(line);
    uint64_t w0 = (uint64_t)(c->w0 * MILLION + 0.5);
    at = put_number(at, own.files.last, '\t');
    at = put_number(at, own.datasets.last, '\t');
    at = put_number(at, (uint64_t)own.pid, '\t');
    at = put_number(at, c->n_slots, '\t');
    at = put_number(at, c->size_bytes, '\t');
    at = put_number(at, w0 / MILLION, '.');
    for (uint64_t unit = MILLION / 10; unit > 0; unit /= 10)
        *at++ = (char)('0' + w0 / unit % 10);
    *at++ = '\t';
    at = put_number(at, c->version[0], '.');
    at = put_number(at, c->version[1], '.');
    at = put_number(at, c->version[2], '\n');
    if (make_room((size_t)(at - line)))
        put(line, (size_t)(at - line));
}

void
record_put_cache(const char *file, const char *dataset, const struct record_cache *cache)
{
    record_lock(&lock);
    if (own.pid == getpid() && !own.is_stopped && place_file(file, NULL) &&
        place_dataset(dataset))
        put_cache(cache);
    record_unlock(&lock);
}
