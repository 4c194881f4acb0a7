/*
 * Preloaded into a program under test, makes HDF5 behave as it does on hostile files when
 * it is asked for a dataset's size:
 *
 *     HOSTILE=crash   a wild pointer
 *     HOSTILE=abort   the C library finds a damaged heap, and says so on standard error
 *     HOSTILE=hang    never comes back, and each second of its processor's time counts for
 *                     twenty, so that those who wait for it need not wait as long
 *     HOSTILE=exit    ends the program
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint64_t H5Dget_storage_size(int64_t dataset);
int H5Dget_num_chunks(int64_t dataset, int64_t space, uint64_t *n);

static int
is_asked(const char *what)
{
    const char *how = getenv("HOSTILE");
    return how && strcmp(how, what) == 0;
}

/* Clocks of other processes have negative numbers. */
int
clock_gettime(clockid_t clock, struct timespec *t)
{
    int status = (int)syscall(SYS_clock_gettime, clock, t);
    if (status == 0 && clock < 0 && is_asked("hang")) {
        int64_t ns = 20 * ((int64_t)t->tv_sec * 1000000000 + t->tv_nsec);
        t->tv_sec = ns / 1000000000;
        t->tv_nsec = ns % 1000000000;
    }
    return status;
}

static void
fail(void)
{
    static const char last_words[] = "malloc(): corrupted top size\n";
    if (is_asked("crash"))
        raise(SIGSEGV);
    if (is_asked("abort")) {
        if (write(STDERR_FILENO, last_words, sizeof last_words - 1) < 0)
            _exit(9);
        abort();
    }
    while (is_asked("hang"))
        continue;
    _exit(3);
}

/* The first is asked of datasets without chunks, the second of those with them. */
uint64_t
H5Dget_storage_size(int64_t dataset)
{
    (void)dataset;
    fail();
    return 0;
}

int
H5Dget_num_chunks(int64_t dataset, int64_t space, uint64_t *n)
{
    (void)dataset, (void)space, (void)n;
    fail();
    return -1;
}
