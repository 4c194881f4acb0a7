/* The small parts of the base layer: numbers, checksums, buffers, UTF-8. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libpack/base/buf.h"
#include "libpack/base/checksum.h"
#include "libpack/base/copy.h"
#include "libpack/base/clock.h"
#include "libpack/base/fd.h"
#include "libpack/base/mapped.h"
#include "libpack/base/numbers.h"
#include "libpack/base/page.h"
#include "libpack/base/rng.h"
#include "libpack/base/sort.h"
#include "libpack/base/system.h"
#include "libpack/base/textfile.h"
#include "libpack/base/utf8.h"
#include <libpack/libpack.h>

#include "config.h"
#include "tests/tap.h"

static void
test_rng(void)
{
    struct pack_rng a, b;
    pack_rng_seed(&a, 1);
    pack_rng_seed(&b, 1);
    bool same = true;
    for (int i = 0; i < 1000; i++)
        same = same && pack_rng_next(&a) == pack_rng_next(&b);
    ok(same, "one seed gives one sequence");
    /* first outputs of the reference implementation for the state 1, 2, 3, 4 */
    struct pack_rng known = { { 1, 2, 3, 4 } };
    ok(pack_rng_next(&known) == 11520 && pack_rng_next(&known) == 0 &&
           pack_rng_next(&known) == UINT64_C(1509978240) &&
           pack_rng_next(&known) == UINT64_C(1215971899390074240),
       "the sequence is that of xoshiro256**");
    unsigned count[7] = { 0 };
    for (int i = 0; i < 70000; i++)
        count[pack_rng_below(&a, 7)]++;
    bool even = true;
    for (int i = 0; i < 7; i++)
        even = even && count[i] > 9600 && count[i] < 10400;
    ok(even, "numbers below 7 are spread evenly (5 sigma is 463)");
    double sum = 0;
    for (int i = 0; i < 10000; i++)
        sum += pack_rng_unit(&a);
    ok(sum > 4850 && sum < 5150, "unit numbers have mean 1/2");
    ok(pack_rng_mix(1, 2) != pack_rng_mix(2, 1), "mixing tells its arguments apart");
}

static void
test_sort(void)
{
    double few[] = { 3, -1, 2 }, even[] = { 8, 1, 4, 2 }, one[] = { 5 };
    uint64_t far[] = { UINT64_MAX, 0, UINT64_C(1) << 33, 7, UINT64_C(1) << 31 };
    pack_sort_doubles(few, 3);
    ok(few[0] == -1 && few[1] == 2 && few[2] == 3, "the least number comes first");
    ok(pack_sort_median(even, 4) == 3 && pack_sort_median(one, 1) == 5 &&
           pack_sort_median(few, 3) == 2,
       "a median is the one in the middle, or the mean of two");
    pack_sort_doubles(NULL, 0);
    pack_sort_u64(NULL, 0);
    ok(pack_sort_median(NULL, 0) == 0, "and 0 of nothing");
    pack_sort_u64(far, 5);
    ok(far[0] == 0 && far[1] == 7 && far[2] == UINT64_C(1) << 31 &&
           far[3] == UINT64_C(1) << 33 && far[4] == UINT64_MAX,
       "numbers of 64 bits are in order however far apart");
    ok(pack_sort_place(far, 5, 0) == 0 && pack_sort_place(far, 5, 7) == 1 &&
           pack_sort_place(far, 5, 8) == 2 && pack_sort_place(far, 4, UINT64_MAX) == 4 &&
           pack_sort_place(NULL, 0, 1) == 0,
       "each has its place, that of an equal one where there is one");
}

static void
test_checksum(void)
{
    unsigned char data[200];
    struct pack_rng rng;
    pack_rng_seed(&rng, 2);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)pack_rng_next(&rng);
    int missed = 0;
    for (size_t size = 1; size <= sizeof data; size += 13) {
        uint64_t before = pack_checksum(data, size, 0);
        for (size_t i = 0; i < size; i++)
            for (int bit = 0; bit < 8; bit++) {
                data[i] ^= (unsigned char)(1 << bit);
                missed += pack_checksum(data, size, 0) == before;
                data[i] ^= (unsigned char)(1 << bit);
            }
    }
    is_number(missed, 0, "every flipped bit changes the checksum");
    ok(pack_checksum(data, 0, 0) != pack_checksum(data, 0, 1), "the seed counts");
    unsigned char zeros[64] = { 0 };
    ok(pack_checksum(zeros, 31, 0) != pack_checksum(zeros, 32, 0), "the length counts");
    ok(pack_checksum("h5pack", 6, 0) == UINT64_C(0xd7adbffcfce4f7e9),
       "the value is fixed for ever");
}

/* Whether `bytes` from `start` on are copied, and no more. */
static bool
is_copied(const unsigned char *from, unsigned char *to, unsigned char *want, size_t start,
          size_t bytes)
{
    size_t size = start + bytes + 256;
    memset(to, 0, size);
    memset(want, 0, size);
    memcpy(want + start, from + start % 5, bytes);
    pack_copy_past_cache(to + start, from + start % 5, bytes);
    return memcmp(to, want, size) == 0;
}

/* Every start and length around the lines of a cache, and what lies on either side; lengths
 * around the four pages that are copied at once. */
static void
test_copy(void)
{
    enum { BLOCK = 16384, SIZE = 3 * BLOCK + 1024 };
    static unsigned char from[SIZE], to[SIZE], want[SIZE];
    int n_bad = 0;
    for (int i = 0; i < SIZE; i++)
        from[i] = (unsigned char)(i * 7 + i / 256 + 1);
    for (size_t start = 64; start < 130; start++)
        for (size_t bytes = 0; bytes <= 1792; bytes += bytes < 140 ? 1 : 61)
            n_bad += !is_copied(from, to, want, start, bytes);
    for (size_t start = 64; start < 130; start += 5)
        for (size_t bytes = BLOCK - 70; bytes <= 3 * BLOCK; bytes += bytes % BLOCK < 70 ? 7 : 997)
            n_bad += !is_copied(from, to, want, start, bytes);
    is_number((uint64_t)n_bad, 0, "copying past the cache is copying");
}

/* A mapping of three pages of 7, of a file that now has one. */
static unsigned char *
map_cut_file(size_t *page)
{
    char name[] = "test_base.XXXXXX";
    int fd = mkstemp(name);
    *page = (size_t)sysconf(_SC_PAGESIZE);
    unlink(name);
    unsigned char *mapping = MAP_FAILED;
    if (ftruncate(fd, (off_t)*page * 3) == 0)
        mapping = mmap(NULL, *page * 3, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapping == MAP_FAILED)
        return NULL;
    memset(mapping, 7, *page * 3);
    if (ftruncate(fd, (off_t)*page) != 0)
        return NULL;
    close(fd);
    return mapping;
}

struct summing {
    const volatile unsigned char *from;
    size_t size, at;
    unsigned sum;
};

static void
sum_up(void *argument)
{
    struct summing *s = argument;
    for (s->at = 0; s->at < s->size; s->at++)
        s->sum += s->from[s->at];
}

static void
end_with_7(int number)
{
    (void)number;
    _exit(7);
}

/* Of a process that fails again and again. */
static const struct rlimit seconds = { 5, 5 };

static void
end_with_8(int number)
{
    (void)number;
    _exit(8);
}

/* How a process ends that reads the last page of `mapping`, while another is being read or
 * none; 7: the handler that was there before. */
static int
fail_elsewhere(const unsigned char *mapping, size_t page, const unsigned char *other,
               bool has_handler)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        struct summing s = { .from = mapping + 2 * page, .size = 1 };
        setrlimit(RLIMIT_CPU, &seconds);
        signal(SIGBUS, has_handler ? end_with_7 : SIG_DFL);
        pack_mapped_begin();
        if (other)
            pack_mapped_read(other, 3 * page, sum_up, &s);
        else
            sum_up(&s);
        _exit(0);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Who comes later than pack_mapped_begin(), and how. */
static struct sigaction later_before;
static int n_later;

static void
later_hand_on(int number, siginfo_t *info, void *context)
{
    n_later++;
    later_before.sa_sigaction(number, info, context);
}

/* As Python's faulthandler does. */
static void
later_put_back(int number, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    if (++n_later > 2)
        _exit(9);
    sigaction(number, &later_before, NULL);
    raise(number);
}

/* Another page is there when it comes back. */
static void
later_mend(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    long page = sysconf(_SC_PAGESIZE);
    n_later++;
    mmap((void *)((uintptr_t)info->si_addr & ~((uintptr_t)page - 1)), (size_t)page, PROT_READ,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* As one that was switched off: it comes back, and nothing is mended. */
static void
later_nothing(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    (void)context;
    n_later++;
}

/* What another thread reads, and whether that failed as it should. */
static struct summing beside;
static bool is_beside_gone;

static void *
read_beside(void *is_ours)
{
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL); /* else it is the handler's */
    if (is_ours)
        is_beside_gone = !pack_mapped_read((const void *)beside.from, beside.size, sum_up, &beside);
    else
        sum_up(&beside);
    return NULL;
}

static void
run_beside(bool *is_ours)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, read_beside, is_ours) == 0)
        pthread_join(thread, NULL);
}

/* Other threads read before it comes back, and once more when we are on top again: last what is
 * no reading. */
static void
later_wait(int number, siginfo_t *info, void *context)
{
    static int n_gone;
    bool yes = true;
    (void)number;
    (void)info;
    (void)context;
    if (n_later++ > 0)
        _exit(4 + n_gone);
    for (int i = 0; i < 2; i++) {
        is_beside_gone = false;
        run_beside(&yes);
        n_gone += is_beside_gone;
        pack_mapped_begin();
    }
    run_beside(NULL);
    _exit(9);
}

static void
end_with_7_and_later(int number)
{
    (void)number;
    _exit(7 + n_later);
}

/* How a process ends that reads the last page of `mapping` where somebody came later, and then
 * pack_mapped_begin() again, and so many pack_mapped_end(): 8
 * where pages of `other` are no longer caught. `later` NULL: SIG_DFL. */
static int
fail_later(const unsigned char *mapping, const unsigned char *other, size_t page,
           void (*later)(int, siginfo_t *, void *), bool has_handler, int n_ends)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        struct sigaction action = { .sa_sigaction = later, .sa_flags = later ? SA_SIGINFO : 0 };
        struct summing s = { .from = mapping + 2 * page, .size = 1 },
                       gone = { .from = other, .size = 3 * page };
        beside = gone;
        setrlimit(RLIMIT_CPU, &seconds);
        signal(SIGBUS, has_handler ? end_with_7_and_later : SIG_DFL);
        pack_mapped_begin();
        sigaction(SIGBUS, &action, &later_before);
        for (int i = 0; i < 2; i++)
            pack_mapped_begin();
        if (pack_mapped_read(other, 3 * page, sum_up, &gone))
            _exit(8);
        while (n_ends-- > 0)
            pack_mapped_end();
        sum_up(&s);
        _exit(pack_mapped_read(other, 3 * page, sum_up, &gone) ? 8 : n_later);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Whoever comes later is asked before those who were there before. */
static void
test_mapped_later(const unsigned char *mapping, const unsigned char *other, size_t page,
                  bool is_valgrind)
{
    is_number((uint64_t)fail_later(mapping, other, page, later_hand_on, true, 0), 8,
              "who hands on to us gets what is no read, once, and then who was before him");
    is_number((uint64_t)fail_later(mapping, other, page, later_hand_on, true, 3), 8,
              "also when we are gone");
    is_number((uint64_t)fail_later(mapping, other, page, later_wait, true, 0), 6,
              "meanwhile what others of our threads read is not his");
    int end = fail_later(mapping, other, page, later_put_back, false, 0);
    ok(end == -SIGBUS || (is_valgrind && end < 0), "one who puts us back ends the process, by %d",
       -end);
    if (is_valgrind) /* which ends it, mended or not */
        skip("valgrind goes on behind no page that was gone");
    else
        is_number((uint64_t)fail_later(mapping, other, page, later_mend, true, 0), 1,
                  "behind one who comes back what is read is caught as before");
    for (int n_ends = 0; n_ends < 2; n_ends++) {
        end = fail_later(mapping, other, page, later_nothing, true, n_ends);
        ok(end == -SIGBUS || (is_valgrind && end < 0 && end != -SIGXCPU && end != -SIGKILL),
           "one who mends nothing does not keep the process from its end, by %d", -end);
    }
    end = fail_later(mapping, other, page, NULL, true, 0);
    ok(end == -SIGBUS || (is_valgrind && end < 0 && end != -SIGXCPU && end != -SIGKILL),
       "nor does one who takes the handler away, by %d", -end);
}

static sigjmp_buf jumped;

static void
jump_out(int number)
{
    (void)number;
    siglongjmp(jumped, 1);
}

static void
test_mapped(void)
{
    size_t page;
    unsigned char *mapping = map_cut_file(&page), *other = map_cut_file(&page);
    struct sigaction before, after;
    if (!mapping || !other) {
        ok(false, "files are mapped");
        return;
    }
    struct summing first = { .from = mapping, .size = page },
                   all = { .from = mapping, .size = 3 * page };
    sigaction(SIGBUS, NULL, &before);
    pack_mapped_begin();
    pack_mapped_begin();
    pack_mapped_end();
    int n = 0;
    for (int i = 0; i < 3; i++) {
        n += !pack_mapped_read(mapping, 3 * page, sum_up, &all) && all.at == page;
        n += pack_mapped_read(mapping, 3 * page, sum_up, &first) && first.at == page;
    }
    is_number((uint64_t)n, 6, "what a page is gone of is told from what is there");
    is_number(first.sum, 3 * 7 * page, "and what is there is read");
    pack_mapped_end();
    sigaction(SIGBUS, NULL, &after);
    ok(after.sa_handler == before.sa_handler, "the signal is whose it was");
    is_number((uint64_t)fail_elsewhere(mapping, page, NULL, true), 7,
              "who caught it before gets what is no read");
    is_number((uint64_t)fail_elsewhere(mapping, page, other, true), 7,
              "and what another mapping's read does elsewhere");
    int end = fail_elsewhere(mapping, page, NULL, false);
    const char *preload = getenv("LD_PRELOAD");
    bool is_valgrind = preload && strstr(preload, "vgpreload"); /* which says SIGSEGV */
    ok(end == -SIGBUS || (is_valgrind && end < 0), "nobody: it ends the process, by %d", -end);
    test_mapped_later(mapping, other, page, is_valgrind);
    for (int i = 0; i < 20; i++) {
        pack_mapped_begin();
        signal(SIGBUS, i % 2 ? end_with_7 : end_with_8); /* as one who comes later, and stays */
        pack_mapped_begin();
        n += !pack_mapped_read(mapping, 3 * page, sum_up, &all);
        pack_mapped_end();
        pack_mapped_end();
        sigaction(SIGBUS, NULL, &after);
        n += after.sa_handler == (i % 2 ? end_with_7 : end_with_8);
    }
    is_number((uint64_t)n, 6 + 40, "who came later is below us while we read, and there again then");
    signal(SIGBUS, jump_out);
    pack_mapped_begin();
    if (sigsetjmp(jumped, 1) == 0)
        sum_up(&all);
    pack_mapped_end();
    sigaction(SIGBUS, NULL, &after);
    ok(after.sa_handler == jump_out, "who jumps out of it has it back when we are gone");
    sigaction(SIGBUS, &before, NULL);
    munmap(mapping, 3 * page);
    munmap(other, 3 * page);
}

static void
test_buf(void)
{
    struct pack_buf buf;
    struct pack_error err;
    pack_buf_init(&buf, 1000);
    for (int i = 0; i < 100; i++)
        pack_buf_append(&buf, "0123456789", 10, &err);
    ok(buf.size == 1000 && memcmp(buf.data + 990, "0123456789", 10) == 0,
       "a buffer grows up to its maximum");
    ok(pack_buf_append(&buf, "x", 1, &err) == PACK_ERR_LIMIT && buf.size == 1000,
       "and no further: %s", err.text);
    pack_buf_done(&buf);
    pack_buf_init(&buf, 0);
    pack_buf_printf(&buf, &err, "%d and ", 1);
    pack_buf_printf(&buf, &err, "%s", "two");
    is_text((const char *)buf.data, "1 and two", "formatted text is appended");
    pack_buf_done(&buf);
}

/* A path may be longer than a sentence can be. */
static void
test_long_sentences(void)
{
    static char path[3001];
    struct pack_error err;
    memset(path, 'p', sizeof path - 1);
    memcpy(path, "/begin/", 7);
    memcpy(path + sizeof path - 6, "/end", 5);
    (void)pack_fail_errno(&err, ENOSPC, "cannot write '%s'", path);
    ok(strncmp(err.text, "cannot write '/begin/p", 22) == 0 && strstr(err.text, "p...p") &&
           strstr(err.text, "p/end': No space left on device"),
       "a path of any length leaves the reason and its own ends: %s",
       err.text + strlen(err.text) - 40);
    (void)pack_error_prefix(&err, err.status, "'%s'", path);
    ok(strncmp(err.text, "'/begin/", 8) == 0 &&
           strstr(err.text, "p/end': No space left on device"),
       "also behind another one");
    is_number((long long)strlen(err.text), PACK_ERROR_TEXT_MAX - 1, "it fills what there is");
}

/* Every character is encoded and known again; of other sequences of bytes none is. */
static void
test_all_utf8(void)
{
    static const unsigned char tails[] = { 0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f,
                                           0xa0, 0xbf, 0xc0, 0xff };
    enum { N_TAILS = sizeof tails };
    uint32_t wrong = 0, n_valid = 0;
    for (uint32_t code = 0; code < 0x110000; code++) {
        char text[4];
        size_t n = pack_utf8_encode(code, text), want = code < 0x80      ? 1
                                                        : code < 0x800   ? 2
                                                        : code < 0x10000 ? 3
                                                                         : 4;
        bool is_half = code >= 0xd800 && code < 0xe000;
        wrong += n != want || pack_utf8_length(text, n) != (is_half ? 0 : n);
        wrong += n > 1 && pack_utf8_length(text, n - 1) != 0;
    }
    is_number(wrong, 0, "each character has its length");
    for (uint32_t first = 0x80; first < 0x100; first++)
        for (uint32_t i = 0; i < N_TAILS * N_TAILS * N_TAILS; i++) {
            const unsigned char text[] = { (unsigned char)first, tails[i % N_TAILS],
                                           tails[i / N_TAILS % N_TAILS],
                                           tails[i / N_TAILS / N_TAILS] };
            size_t n = pack_utf8_length((const char *)text, 4);
            uint32_t code = n == 2   ? (text[0] & 0x1fu) << 6
                            : n == 3 ? (text[0] & 0x0fu) << 12 | (text[1] & 0x3fu) << 6
                                     : (text[0] & 0x07u) << 18 | (text[1] & 0x3fu) << 12 |
                                           (text[2] & 0x3fu) << 6;
            char again[4];
            if (n == 0)
                continue;
            n_valid++;
            code |= text[n - 1] & 0x3fu;
            wrong += n == 1 || pack_utf8_encode(code, again) != n || memcmp(again, text, n) != 0;
        }
    /* 30 first bytes with 6 tails, 16 with 6 x 6 less those that are half or too short, 5
     * likewise; whatever follows */
    is_number(n_valid, 30 * 6 * 100 + (14 * 36 + 2 * 6 + 4 * 6) * 10 + 3 * 216 + 4 * 36 + 2 * 36,
              "of other bytes none is a character");
    is_number(wrong, 0, "and those that are come back");
}

static void
test_utf8(void)
{
    static const char *const good[] = {
        "", "abc", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"
    };
    static const char *const bad[] = {
        "\x80", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
        "\xc3", "\xe2\x82", "a\xff"
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ok(pack_utf8_valid(good[i], strlen(good[i])), "UTF-8 number %zu is valid", i);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ok(!pack_utf8_valid(bad[i], strlen(bad[i])), "bad UTF-8 number %zu is not", i);
    char text[4];
    ok(pack_utf8_encode(0x1f600, text) == 4 && memcmp(text, "\xf0\x9f\x98\x80", 4) == 0,
       "U+1F600 is encoded");
    test_all_utf8();
}

static void
test_textfile(void)
{
    struct pack_buf text = { 0 };
    struct pack_error err = { 0 };
    FILE *file = fopen("test_base.text", "w");
    for (int i = 0; file && i < 10000; i++)
        fputc('a' + i % 26, file);
    if (!file || fclose(file) != 0)
        exit(2);
    ok(pack_textfile_read("test_base.text", 10000, &text, &err) == PACK_OK &&
           text.size == 10000 && text.data[9999] == 'a' + 9999 % 26 &&
           text.data[10000] == '\0',
       "a file that just fits is read whole, with a NUL behind");
    pack_buf_done(&text);
    ok(pack_textfile_read("test_base.text", 9999, &text, &err) == PACK_ERR_LIMIT &&
           !text.data && strncmp(err.text, "'test_base.text': ", 18) == 0,
       "one byte more is too much: %s", err.text);
    static const char *const marked[][2] = {
        { "\xef\xbb\xbf" "1\r\n", "1\r\n" }, { "\xef\xbb\xbf", "" },
        { "\xef\xbb", "\xef\xbb" }, { "a\xef\xbb\xbf", "a\xef\xbb\xbf" },
    };
    for (size_t i = 0; i < sizeof marked / sizeof *marked; i++) {
        file = fopen("test_base.text", "w");
        if (!file || fputs(marked[i][0], file) < 0 || fclose(file) != 0)
            exit(2);
        ok(pack_textfile_read("test_base.text", 10, &text, &err) == PACK_OK &&
               strcmp((char *)text.data, marked[i][1]) == 0 &&
               text.size == strlen(marked[i][1]),
           "a byte order mark is left out at the beginning only: %zu", i);
        pack_buf_done(&text);
    }
    ok(pack_textfile_read("nowhere", 1, &text, &err) == PACK_ERR_NOT_FOUND,
       "one that is not there: %s", err.text);
    pack_textfile_read(".", 100, &text, &err);
    is_text(err.text, "cannot read '.': Is a directory", "path and reason are given");
    remove("test_base.text");
}

static void
test_numbers(void)
{
    char text[PACK_SHORT_MAX];
    is_text(pack_counted(1, "batch", "batches").text, "1 batch", "one batch");
    is_text(pack_counted(0, "batch", "batches").text, "0 batches", "no batches");
    is_text(pack_counted(21, "entry", "entries").text, "21 entries", "21 entries");
    is_text(pack_dimensions(1).text, "1 dimension", "one dimension");
    is_text(pack_figure(0.9644).text, "0.964", "three digits");
    is_text(pack_figure(999.6).text, "1000", "no exponent from a thousand on");
    is_text(pack_figure(11459).text, "11459", "all of what is larger");
    is_text(pack_short_bytes(999, text), "999", "bytes below 1000 are told one by one");
    is_text(pack_short_bytes(1000, text), "1.0K", "from there on in powers of 1024");
    is_text(pack_short_bytes(3e18, text), "2.6E", "up to exbibytes");
    is_text(pack_short_thousands(9949, text), "9.9K", "thousands are of 1000");
    is_text(pack_short_thousands(9950, text), "10K", "and round up");
    is_text(pack_short_count(0.00001, text), "0", "next to nothing is nothing");
    is_text(pack_short_count(12.345, text), "12.3", "counts have three digits");
    is_text(pack_short_count(999999999999999, text), "999999999999999", "large ones have all");
    is_text(pack_short_count(1e15, text), "1e+15", "and those too long for that do not");
    static const struct {
        double number;
        const char *bytes, *thousands, *count, *rate;
    } shown[] = {
        { 0, "0", "0", "0", "0.00" },
        { 0.00009, "0", "0", "0", "0.00" },
        { 0.0001, "0", "0", "0.0001", "0.00" },
        { 0.456, "0", "0", "0.46", "0.46" },
        { 1, "1", "1", "1", "1.00" },
        { 1.2345, "1", "1", "1.23", "1.23" },
        { 10, "10", "10", "10", "10.0" },
        { 99.94, "100", "100", "99.9", "99.9" },
        { 100, "100", "100", "100", "100" },
        { 999.4, "999", "999", "999", "999" },
        { 999.5, "1.0K", "1.0K", "1000", "1000" },
        { 2048, "2.0K", "2.0K", "2048", "2048" },
        { 10188, "9.9K", "10K", "10188", "10188" },
        { 10189, "10K", "10K", "10189", "10189" },
        { 1048576, "1.0M", "1.0M", "1048576", "1049K" },
        { 9999400, "9.5M", "10M", "9999400", "9999K" },
        { 9999500, "9.5M", "10M", "9999500", "10M" },
        { 1e9, "954M", "1.0G", "1000000000", "1e+03M" },
        { 1e12, "931G", "1.0T", "1000000000000", "1e+06M" },
        { 1e14, "91T", "100T", "100000000000000", "1e+08M" },
    };
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        is_text(pack_short_bytes(shown[i].number, text), shown[i].bytes, "as bytes");
        is_text(pack_short_thousands(shown[i].number, text), shown[i].thousands,
                "as thousands");
        is_text(pack_short_count(shown[i].number, text), shown[i].count, "as a count");
        is_text(pack_short_rate(shown[i].number, text), shown[i].rate, "as a rate");
    }
    is_text(pack_short_rate(99999.4, text), "99999", "rates have five digits");
    is_text(pack_short_rate(123456, text), "123K", "or are in thousands");
    is_text(pack_short_rate(12345678, text), "12.3M", "or in millions");
}

/* A report keeps its first failure, and breaks lines at blanks. */
static void
test_page(void)
{
    struct pack_buf text = { 0 };
    struct pack_error err = { 0 };
    struct page page = { &text, PACK_OK, &err };
    char word[101];
    memset(word, 'w', 100);
    word[100] = '\0';
    pack_page_wrap(&page, "LEAD  ", "a b", 6);
    is_text((char *)text.data, "LEAD  a b\n", "what fits stays in one line");
    text.size = 0;
    pack_page_wrap(&page, "1234567890123456789012345678901234567890123456789012345678901234567 ",
                   "abcdefghijk l m", 3);
    is_text((char *)text.data,
            "1234567890123456789012345678901234567890123456789012345678901234567 "
            "abcdefghijk\n   l m\n",
            "a line has 79 columns, the next one is indented");
    text.size = 0;
    pack_page_wrap(&page, "", word, 2);
    ok(text.size == 101, "a word longer than a line stands in one of its own");
    const struct pack_option_word options[] = { { "echo", "--echo" }, { NULL, NULL } };
    char command[64], cut[8];
    is_text(pack_option_text(options, "set {echo} 2 or {w0} {", command, sizeof command),
            "set --echo 2 or w0 {", "parameters in braces become options, where there are");
    is_text(pack_option_text(NULL, "{echo} 2", command, sizeof command), "echo 2",
            "else they go by their names");
    is_text(pack_option_text(options, "a {echo} 2", cut, sizeof cut), "a --ech",
            "no further than there is room");
    text.max = 120;
    LINE(&page, "%100s", "x");
    LINE(&page, "%s", "y");
    ok(page.status == PACK_ERR_LIMIT && text.size == 101,
       "after a failure nothing is written any more");
    pack_buf_done(&text);
}

static int n_interrupted; /* this many reads and writes fail or are short, in turns */

static bool
is_interrupted(size_t *size)
{
    if (n_interrupted <= 0)
        return false;
    *size = *size > 1 ? *size / 2 : *size;
    errno = EINTR;
    return n_interrupted-- % 2 == 0;
}

ssize_t
pwrite(int fd, const void *data, size_t size, off_t at)
{
    return is_interrupted(&size) ? -1 : syscall(SYS_pwrite64, fd, data, size, at);
}

ssize_t
pread(int fd, void *data, size_t size, off_t at)
{
    return is_interrupted(&size) ? -1 : syscall(SYS_pread64, fd, data, size, at);
}

/* Times are compared, whatever the year. */
static void
test_mtime(void)
{
    struct stat a = { .st_mtim = { .tv_sec = INT64_C(17000000000), .tv_nsec = 5 } }, b = a;
    ok(pack_fd_mtime_ns(&a) == pack_fd_mtime_ns(&b), "a time in 2508 is itself");
    b.st_mtim.tv_nsec++;
    ok(pack_fd_mtime_ns(&a) != pack_fd_mtime_ns(&b), "and no other");
    a.st_mtim = (struct timespec){ .tv_sec = -1, .tv_nsec = 1 };
    is_number(pack_fd_mtime_ns(&a), -999999999, "times before 1970 are, too");
}

static void
test_fd(void)
{
    char bytes[8] = "";
    size_t got = 99;
    FILE *file = tmpfile();
    int fd = fileno(file), ends[2];
    ok(pack_fd_write_at(fd, "abcdef", 6, 3) && pack_fd_read_at(fd, bytes, 4, 4, &got) &&
           got == 4 && memcmp(bytes, "bcde", 4) == 0,
       "bytes are written and read in their place");
    ok(pack_fd_read_at(fd, bytes, 8, 6, &got) && got == 3 && memcmp(bytes, "def", 3) == 0,
       "the end of a file is no failure: %zu bytes", got);
    n_interrupted = 4;
    ok(pack_fd_write_at(fd, "uvwxyz", 6, 3) && n_interrupted == 0,
       "writes that are interrupted or short go on");
    n_interrupted = 4;
    ok(pack_fd_read_at(fd, bytes, 6, 3, &got) && got == 6 && n_interrupted == 0 &&
           memcmp(bytes, "uvwxyz", 6) == 0,
       "and reads");
    n_interrupted = 0;
    bool piped = pipe(ends) == 0;
    ok(piped && !pack_fd_read_at(ends[0], bytes, 1, 0, &got) &&
           !pack_fd_write_at(ends[1], bytes, 1, 0),
       "what has no places fails");
    close(ends[0]);
    close(ends[1]);
    fclose(file);
}

static void
put_group(const char *root, const char *file, const char *text)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", root, file);
    FILE *f = fopen(path, "w");
    if (f) {
        fputs(text, f);
        fclose(f);
    }
}

/* A made-up group, and the one in it. */
static void
test_groups(void)
{
    static const char *const files[] = {
        "memory.max", "memory.current", "memory.stat", "in/memory.max",
        "in/memory.current", "in/memory.limit_in_bytes", "in/memory.usage_in_bytes",
        "in/memory.stat"
    };
    char root[512], path[600];
    const char *dir = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/h5pack-test-groups-%d", dir ? dir : "/tmp",
             (int)getpid());
    snprintf(path, sizeof path, "%s/in", root);
    mkdir(root, 0700);
    mkdir(path, 0700);
    ok(pack_system_group_bytes(root, "/in", false, true) == UINT64_MAX,
       "where no limit is, none is told");
    put_group(root, "in/memory.max", "max\n");
    put_group(root, "memory.max", "1000\n");
    put_group(root, "memory.current", "700\n");
    put_group(root, "memory.stat", "anon 500\nfile 190\ninactive_file 150\n");
    ok(pack_system_group_bytes(root, "/in", false, false) == 1000 &&
           pack_system_group_bytes(root, "/in", false, true) == 450 &&
           pack_system_group_bytes(root, "/", false, true) == 450,
       "what is left of a group's memory: its limit less what is used, but for file pages");
    put_group(root, "in/memory.max", "400\n");
    put_group(root, "in/memory.current", "500\n");
    ok(pack_system_group_bytes(root, "/in", false, false) == 400 &&
           pack_system_group_bytes(root, "/in", false, true) == 0,
       "the least of all levels, and never less than nothing");
    put_group(root, "in/memory.limit_in_bytes", "900\n");
    put_group(root, "in/memory.usage_in_bytes", "300\n");
    put_group(root, "in/memory.stat", "inactive_file 1\ntotal_inactive_file 50\n");
    ok(pack_system_group_bytes(root, "/in", true, false) == 900 &&
           pack_system_group_bytes(root, "/in", true, true) == 650,
       "likewise in the first version, whose own cache is not that of the groups within");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", root, files[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/in", root);
    rmdir(path);
    rmdir(root);
}

int
main(void)
{
    test_groups();
    test_numbers();
    test_page();
    test_textfile();
    test_fd();
    test_mtime();
    test_rng();
    test_sort();
    test_checksum();
    test_copy();
    test_mapped();
    test_buf();
    test_long_sentences();
    test_utf8();
    uint64_t before = pack_clock_ns();
    ok(pack_clock_ns() >= before, "time does not go back");
    is_text(pack_version(), PACKAGE_VERSION, "the library knows its release");
    return done();
}
