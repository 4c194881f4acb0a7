#include "libpack/base/mapped.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

struct reading {
    sigjmp_buf back;
    uintptr_t begin;
    size_t bytes;
};

static _Thread_local struct reading *volatile reading; /* of this thread, or none */

/* Of the process, as a signal's handler is. */
static pthread_mutex_t bus_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned bus_users;
static bool bus_caught; /* once: whoever came later goes on to us, and we to whom was before */
static struct sigaction bus_before; /* whose SIGBUS it was */

/* Whose reading it is goes on behind it; others' is theirs, which without a handler means to
 * fail again, and to end. */
static void
catch_bus(int number, siginfo_t *info, void *context)
{
    struct reading *r = reading;
    if (r && (uintptr_t)info->si_addr - r->begin < r->bytes) {
        pthread_sigmask(SIG_SETMASK, &((ucontext_t *)context)->uc_sigmask, NULL);
        siglongjmp(r->back, 1);
    }
    if (bus_before.sa_flags & SA_SIGINFO)
        bus_before.sa_sigaction(number, info, context);
    else if (bus_before.sa_handler == SIG_DFL || bus_before.sa_handler == SIG_IGN)
        signal(number, SIG_DFL);
    else
        bus_before.sa_handler(number);
}

static bool
is_ours(void)
{
    struct sigaction now;
    return sigaction(SIGBUS, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
           now.sa_sigaction == catch_bus;
}

void
pack_mapped_begin(void)
{
    struct sigaction action = { .sa_sigaction = catch_bus,
                                .sa_flags = SA_SIGINFO | SA_ONSTACK };
    sigemptyset(&action.sa_mask);
    pthread_mutex_lock(&bus_lock);
    bus_users++;
    if (!bus_caught)
        bus_caught = sigaction(SIGBUS, &action, &bus_before) == 0;
    pthread_mutex_unlock(&bus_lock);
}

/* Where somebody came later, who may go on to us, we stay. */
void
pack_mapped_end(void)
{
    pthread_mutex_lock(&bus_lock);
    if (--bus_users == 0 && is_ours())
        bus_caught = sigaction(SIGBUS, &bus_before, NULL) != 0;
    pthread_mutex_unlock(&bus_lock);
}

bool
pack_mapped_read(const void *begin, size_t bytes, void (*work)(void *), void *argument)
{
    struct reading here = { .begin = (uintptr_t)begin, .bytes = bytes };
    bool is_there = sigsetjmp(here.back, 0) == 0;
    if (is_there) {
        reading = &here;
        work(argument);
    }
    reading = NULL;
    return is_there;
}
