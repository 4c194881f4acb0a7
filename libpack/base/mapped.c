#include "libpack/base/mapped.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <ucontext.h>

struct reading {
    sigjmp_buf back;
    uintptr_t begin;
    size_t bytes;
};

static _Thread_local struct reading *volatile reading; /* of this thread, or none */

/* What this thread failed at last that is no reading of ours, and how often on end. */
static _Thread_local volatile uintptr_t failed_at;
static _Thread_local volatile unsigned n_failed;

/*
 * Of the process, as a signal's handler is. Whose it was stand below us, the last one on top; one
 * of them that came later than we did may hand on to us, and then goes on below himself:
 *
 *     signal ──▶ we ──▶ who came later ──▶ we ──▶ who was before
 */
enum { OTHERS_MAX = 8 };
static pthread_mutex_t bus_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned bus_users;
static struct sigaction bus_others[OTHERS_MAX];
static atomic_uint bus_n_others; /* 0: we have never come, or gone */

static bool
is_same(const struct sigaction *a, const struct sigaction *b)
{
    bool has_info = a->sa_flags & SA_SIGINFO;
    return has_info == !!(b->sa_flags & SA_SIGINFO) &&
           (has_info ? a->sa_sigaction == b->sa_sigaction
                     : a->sa_handler == b->sa_handler);
}

/* Without a handler: to fail again, and to end. */
static void
call(const struct sigaction *other, int number, siginfo_t *info, void *context)
{
    if (other->sa_flags & SA_SIGINFO)
        other->sa_sigaction(number, info, context);
    else if (other->sa_handler == SIG_DFL || other->sa_handler == SIG_IGN)
        signal(number, SIG_DFL);
    else
        other->sa_handler(number);
}

/* Whether those whom it was handed on to come back, again and again, and mend nothing: one that
 * is switched off does, or whom the system would have called once. */
static bool
is_in_vain(const siginfo_t *info)
{
    enum { TIMES = 1000 };
    uintptr_t at = (uintptr_t)info->si_addr;
    if (info->si_code <= 0) /* somebody sent it */
        return false;
    n_failed = at == failed_at ? n_failed + 1 : 0;
    failed_at = at;
    return n_failed > TIMES;
}

static struct reading *
find_reading(const siginfo_t *info)
{
    struct reading *r = reading;
    return r && (uintptr_t)info->si_addr - r->begin < r->bytes ? r : NULL;
}

/* Whose reading it is goes on behind it. */
static void
leave(struct reading *r, const void *context)
{
    pthread_sigmask(SIG_SETMASK, &((const ucontext_t *)context)->uc_sigmask, NULL);
    siglongjmp(r->back, 1);
}

static void catch_meanwhile(int number, siginfo_t *info, void *context);
static const struct sigaction meanwhile = { .sa_sigaction = catch_meanwhile,
                                            .sa_flags = SA_SIGINFO | SA_ONSTACK };

/* In place of one who came later, while he is asked, whose is what no thread reads. When he has
 * been, it is to fail once more. */
static void
catch_meanwhile(int number, siginfo_t *info, void *context)
{
    struct reading *r = find_reading(info);
    unsigned n = atomic_load(&bus_n_others);
    struct sigaction now;
    if (r)
        leave(r, context);
    if (sigaction(number, NULL, &now) == 0 && is_same(&now, &meanwhile))
        call(&bus_others[n], number, info, context);
}

/* Who came later finds things as if we had not come once more: what he thinks was there before
 * him, which is us, he may call, or put back. If he does neither, and comes back, we stay. */
static void
hand_on(int number, siginfo_t *info, void *context)
{
    unsigned n = atomic_load(&bus_n_others);
    struct sigaction top, now, other = bus_others[n > 0 ? n - 1 : 0];
    if (is_in_vain(info)) {
        signal(number, SIG_DFL);
        return;
    }
    if (n < 2) {
        call(&other, number, info, context);
        return;
    }
    atomic_store(&bus_n_others, n - 1);
    sigaction(number, &meanwhile, &top);
    call(&other, number, info, context);
    if (sigaction(number, NULL, &now) == 0 &&
        (is_same(&now, &meanwhile) || is_same(&now, &other)) &&
        sigaction(number, &top, NULL) == 0)
        atomic_store(&bus_n_others, n);
}

/* What is no reading of ours is others'. */
static void
catch_bus(int number, siginfo_t *info, void *context)
{
    struct reading *r = find_reading(info);
    if (r)
        leave(r, context);
    hand_on(number, info, context);
}

static const struct sigaction ours = { .sa_sigaction = catch_bus,
                                       .sa_flags = SA_SIGINFO | SA_ONSTACK };

/* On top of the others, each of whom is there once. False: there are too many. */
static bool
note_other(const struct sigaction *other)
{
    unsigned n = atomic_load(&bus_n_others), i = 0;
    while (i < n && !is_same(&bus_others[i], other))
        i++;
    if (i == OTHERS_MAX)
        return false;
    for (; i + 1 < n; i++)
        bus_others[i] = bus_others[i + 1];
    bus_others[i] = *other;
    atomic_store(&bus_n_others, i + 1);
    return true;
}

void
pack_mapped_begin(void)
{
    struct sigaction now;
    pthread_mutex_lock(&bus_lock);
    bus_users++;
    if (sigaction(SIGBUS, NULL, &now) == 0 && !is_same(&now, &ours) &&
        note_other(is_same(&now, &meanwhile) ? &bus_others[atomic_load(&bus_n_others)] : &now))
        sigaction(SIGBUS, &ours, NULL);
    pthread_mutex_unlock(&bus_lock);
}

/* Where somebody came later, who may go on to us, we stay; who has jumped out has it back. */
void
pack_mapped_end(void)
{
    struct sigaction now;
    pthread_mutex_lock(&bus_lock);
    unsigned n = atomic_load(&bus_n_others);
    if (--bus_users == 0 && sigaction(SIGBUS, NULL, &now) == 0) {
        if (is_same(&now, &meanwhile))
            sigaction(SIGBUS, &bus_others[n], NULL);
        else if (n > 0 && is_same(&now, &ours) && sigaction(SIGBUS, &bus_others[n - 1], NULL) == 0)
            atomic_store(&bus_n_others, n - 1);
    }
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
