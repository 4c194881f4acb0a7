/* Another program that holds a lease on a file, as file servers do. */
#ifndef TESTS_LEASE_H
#define TESTS_LEASE_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t lease_is_asked_back;

static void
lease_on_ask(int number)
{
    (void)number;
    lease_is_asked_back = 1;
}

/* Lets go `reluctance_ms` after it is asked to. Returns it; -1 where there are no leases. */
static pid_t
lease_hold(const char *name, long reluctance_ms)
{
    int ends[2];
    char held = 0;
    fflush(stdout);
    if (pipe(ends) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        struct timespec nap = { .tv_nsec = 1000000 };
        struct timespec reluctance = { reluctance_ms / 1000,
                                       reluctance_ms % 1000 * 1000000 };
        int fd = open(name, O_RDWR);
        signal(SIGIO, lease_on_ask);
        held = fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
        if (write(ends[1], &held, 1) != 1 || !held)
            _exit(1);
        for (int i = 0; i < 20000 && !lease_is_asked_back; i++)
            nanosleep(&nap, NULL);
        nanosleep(&reluctance, NULL);
        fcntl(fd, F_SETLEASE, F_UNLCK);
        _exit(0);
    }
    close(ends[1]);
    bool is_held = read(ends[0], &held, 1) == 1 && held;
    close(ends[0]);
    if (!is_held)
        waitpid(child, NULL, 0);
    return is_held ? child : -1;
}

/* Ends it; whether it held the lease up to now. */
static inline bool
lease_drop(pid_t holder)
{
    bool held = waitpid(holder, NULL, WNOHANG) == 0;
    if (held) {
        kill(holder, SIGKILL);
        waitpid(holder, NULL, 0);
    }
    return held;
}

#endif
