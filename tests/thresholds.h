/* Whether something leaves the sizes where they were from which malloc() takes memory from
 * the system: those of readers forked later are this process', and are to be a fresh one's. */
#ifndef TESTS_THRESHOLDS_H
#define TESTS_THRESHOLDS_H

#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 33)
#define HAS_THRESHOLDS
#endif
#endif
#ifdef HAS_THRESHOLDS
/* Whether malloc() takes so much from the system, as it does until more was freed. */
static bool
goes_apart(size_t bytes)
{
    size_t before = mallinfo2().hblks;
    void *data = malloc(bytes); /* and keeps it: the process ends soon */
    return data && mallinfo2().hblks > before;
}

/* In a process of its own, what `fn` does (whether it could), then a block of so many bytes. */
static void
keeps_thresholds(bool (*fn)(void), size_t bytes, const char *what)
{
    enum { FAILED = 1, ANOTHER = 2 };
    int how = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(!goes_apart(bytes) ? ANOTHER : fn() && goes_apart(bytes) ? 0 : FAILED);
    if (child < 0 || waitpid(child, &how, 0) != child || !WIFEXITED(how))
        ok(false, "a process of its own");
    else if (WEXITSTATUS(how) == ANOTHER)
        skip("another malloc");
    else
        ok(WEXITSTATUS(how) == 0, "%s leaves the thresholds of malloc where they were", what);
}
#else
static void
keeps_thresholds(bool (*fn)(void), size_t bytes, const char *what)
{
    (void)fn;
    (void)bytes;
    skip("another malloc");
    note("%s", what);
}
#endif

#endif
