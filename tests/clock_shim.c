/*
 * Clocks that run CLOCK_TIMES as fast, and pauses that are as much shorter: what measures
 * for seconds is through in tenths of one, on a machine that looks as much slower. The time
 * of day stays as it is, and so does what other processes have used of a processor, unless
 * CLOCK_OF_OTHERS_TIMES says how many times as much that shall be.
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
static int clock_of_others_times = 1;

static void
ask_for(const char *name, int *times)
{
    const char *text = getenv(name);
    if (text && atoi(text) > 0)
        *times = atoi(text);
}

__attribute__((constructor)) static void
ask(void)
{
    ask_for("CLOCK_TIMES", &clock_times);
    ask_for("CLOCK_OF_OTHERS_TIMES", &clock_of_others_times);
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
    else if (status == 0 && clock < 0) /* those of other processes */
        *t = scaled(t, clock_of_others_times, 1);
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
