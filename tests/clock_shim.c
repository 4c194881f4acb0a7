/*
 * Clocks that run CLOCK_TIMES as fast, and pauses that are as much shorter: what measures
 * for seconds is through in tenths of one, on a machine that looks as much slower. The time
 * of day stays as it is, and so does what other processes have used of a processor.
 *
 * Preloaded into a program under test (hurried() of tap.sh), or part of a test that says
 * itself how fast.
 */
#include "tests/clock_shim.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int clock_times = 1;

__attribute__((constructor)) static void
ask(void)
{
    const char *times = getenv("CLOCK_TIMES");
    if (times && atoi(times) > 0)
        clock_times = atoi(times);
}

static int
is_faster(clockid_t clock)
{
    return clock == CLOCK_MONOTONIC || clock == CLOCK_PROCESS_CPUTIME_ID ||
           clock == CLOCK_THREAD_CPUTIME_ID;
}

static struct timespec
scaled(const struct timespec *t, int times, int parts)
{
    int64_t ns = ((int64_t)t->tv_sec * 1000000000 + t->tv_nsec) * times / parts;
    return (struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
}

int
clock_gettime(clockid_t clock, struct timespec *t)
{
    static __typeof__(&clock_gettime) real;
    if (!real)
        real = REAL(clock_gettime);
    int status = real(clock, t);
    if (status == 0 && is_faster(clock))
        *t = scaled(t, clock_times, 1);
    return status;
}

int
clock_nanosleep(clockid_t clock, int flags, const struct timespec *t,
                struct timespec *left)
{
    const struct timespec sooner = scaled(t, 1, is_faster(clock) ? clock_times : 1);
    return REAL(clock_nanosleep)(clock, flags, &sooner, left);
}

int
nanosleep(const struct timespec *t, struct timespec *left)
{
    const struct timespec sooner = scaled(t, 1, clock_times);
    return REAL(nanosleep)(&sooner, left);
}
