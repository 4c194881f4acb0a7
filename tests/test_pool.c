/* The pool gives results back in order, keeps its bounds,
 * and ends cleanly at any moment. */
#include "libpack/base/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "libpack/base/rng.h"
#include "tests/tap.h"

struct item {
    int number, lane, result;
    bool taken;
};

static atomic_int running, most_running;

static void
square(void *argument, unsigned worker, void *context)
{
    struct item *item = argument;
    int now = atomic_fetch_add(&running, 1) + 1, most = atomic_load(&most_running);
    while (now > most && !atomic_compare_exchange_weak(&most_running, &most, now))
        ;
    usleep((unsigned)(item->number * 7919 % 300)); /* finish out of order */
    item->result = item->number * item->number + *(int *)context;
    (void)worker;
    atomic_fetch_sub(&running, 1);
}

static void
test_order(unsigned n_threads)
{
    enum { N = 400 };
    static struct item items[N];
    int offset = 3;
    struct pack_pool_lane lane = { .work = square,
                                   .context = &offset,
                                   .in_flight_max = 16 };
    struct pack_pool *pool;
    struct pack_error err;
    memset(items, 0, sizeof items);
    atomic_store(&most_running, 0);
    pack_pool_new(n_threads, &lane, 1, &pool, &err);
    int submitted = 0, taken = 0;
    bool ordered = true, right = true;
    while (taken < N) {
        while (submitted < N && pack_pool_has_room(pool, 0)) {
            items[submitted].number = submitted;
            pack_pool_submit(pool, 0, &items[submitted++]);
        }
        ordered = ordered && submitted - taken <= 16;
        struct item *item = pack_pool_next(pool, 0);
        ordered = ordered && item == &items[taken];
        right = right && item->result == taken * taken + 3;
        taken++;
    }
    ok(ordered, "%u threads: results come in order, at most 16 in flight", n_threads);
    ok(right, "%u threads: every item was worked on", n_threads);
    ok(atomic_load(&most_running) <= (int)n_threads, "%u threads: no more run",
       n_threads);
    ok(!pack_pool_next(pool, 0) && !pack_pool_try_next(pool, 0),
       "an empty lane gives NULL");
    pack_pool_free(pool);
}

static void
test_lanes(void)
{
    static struct item first[64], second[64];
    int zero = 0;
    struct pack_pool_lane lanes[2] = { { square, &zero, 8 }, { square, &zero, 4 } };
    struct pack_pool *pool;
    pack_pool_new(3, lanes, 2, &pool, NULL);
    int submitted = 0, moved = 0, finished = 0;
    bool ordered = true;
    while (finished < 64) {
        while (submitted < 64 && pack_pool_has_room(pool, 0)) {
            first[submitted].number = submitted;
            pack_pool_submit(pool, 0, &first[submitted++]);
        }
        if (moved < 64 && pack_pool_has_room(pool, 1)) {
            struct item *item = pack_pool_next(pool, 0);
            ordered = ordered && item->number == moved;
            second[moved].number = item->result;
            pack_pool_submit(pool, 1, &second[moved++]);
        } else {
            struct item *item = pack_pool_next(pool, 1);
            ordered = ordered && item == &second[finished] &&
                      item->result == finished * finished * finished * finished;
            finished++;
        }
    }
    ok(ordered, "two lanes make a pipeline that keeps order");
    pack_pool_free(pool);
    pack_pool_new(2, lanes, 2, &pool, NULL);
    for (int i = 0; i < 8; i++)
        pack_pool_submit(pool, 0, &first[i]);
    pack_pool_free(pool);
    ok(true, "a pool is freed with work in flight");
    pack_pool_free(NULL);
    struct pack_error err;
    ok(pack_pool_new(0, lanes, 2, &pool, &err) == PACK_ERR_ARGUMENT, "no threads: %s",
       err.text);
}

static struct pack_budget *budget;
static atomic_ullong held, most_held;

static void *
hold(void *argument)
{
    struct pack_rng rng;
    pack_rng_seed(&rng, (uintptr_t)argument);
    for (int i = 0; i < 200; i++) {
        uint64_t bytes = i % 50 == 0 ? 5000 : 1 + pack_rng_below(&rng, 400);
        pack_budget_take(budget, bytes);
        unsigned long long now = atomic_fetch_add(&held, bytes) + bytes;
        if (now > 1000 && now != 5000)
            atomic_store(&most_held, now); /* over the limit without being alone */
        sched_yield();
        atomic_fetch_sub(&held, bytes);
        pack_budget_give(budget, bytes);
    }
    return NULL;
}

static void
test_budget(void)
{
    pthread_t threads[6];
    pack_budget_new(1000, &budget, NULL);
    for (uintptr_t i = 0; i < 6; i++)
        pthread_create(&threads[i], NULL, hold, (void *)i);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    is_number((long long)atomic_load(&most_held), 0,
              "1000 bytes are never exceeded but by a giant alone");
    is_number((long long)pack_budget_peak(budget), 5000, "the peak is the giant's");
    pack_budget_free(budget);
}

static atomic_int task, served[3];

/* Asks for the share of its number; notes how many were served before it. */
static void *
ask(void *argument)
{
    static const uint64_t shares[] = { 600, 800, 300 };
    static atomic_int n_served;
    uintptr_t number = (uintptr_t)argument;
    atomic_store(&task, gettid());
    pack_budget_take(budget, shares[number]);
    atomic_store(&served[number], atomic_fetch_add(&n_served, 1) + 1);
    if (number > 0)
        pack_budget_give(budget, shares[number]);
    return NULL;
}

/* Until the thread that was started last waits, or is through; the first never waits. */
static void
let_it_ask(uintptr_t number)
{
    char path[64], state = 0;
    while (!atomic_load(&task))
        sched_yield();
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", atomic_load(&task));
    while ((state != 'S' || number == 0) && !atomic_load(&served[number])) {
        FILE *file = fopen(path, "r");
        if (!file || fscanf(file, "%*d %*s %c", &state) != 1)
            state = 'S';
        if (file)
            fclose(file);
    }
}

/* 600 of 1000 are held and 800 wait: 300 would fit, and still come after them. Beside 800
 * they do not fit, so that one is through with its share before the other gets it. */
static void
test_budget_order(void)
{
    pthread_t threads[3];
    pack_budget_new(1000, &budget, NULL);
    for (uintptr_t i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, ask, (void *)i);
        let_it_ask(i);
        atomic_store(&task, 0);
    }
    bool waits = !atomic_load(&served[1]) && !atomic_load(&served[2]);
    pthread_join(threads[0], NULL);
    pack_budget_give(budget, 600);
    pthread_join(threads[1], NULL);
    pthread_join(threads[2], NULL);
    ok(waits && served[0] == 1 && served[1] == 2 && served[2] == 3,
       "small requests do not overtake a large one that waits");
    pack_budget_free(budget);
}

enum { SHARES = 5, ROUNDS = 200 };
static pthread_barrier_t all_hold;

static void *
hold_with_all(void *argument)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&all_hold);
        pack_budget_take(budget, 1000 / SHARES);
        pthread_barrier_wait(&all_hold);
        pack_budget_give(budget, 1000 / SHARES);
    }
    return argument;
}

/* Nobody gives before all have taken: whoever is woken before its turn has to be woken again
 * by the one whose turn it was. */
static void
test_budget_held_by_all(void)
{
    pthread_t threads[SHARES];
    pack_budget_new(1000, &budget, NULL);
    pthread_barrier_init(&all_hold, NULL, SHARES + 1);
    for (int i = 0; i < SHARES; i++)
        pthread_create(&threads[i], NULL, hold_with_all, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        pack_budget_take(budget, 1000);
        pthread_barrier_wait(&all_hold);
        for (int k = 0; k < i % 50; k++)
            sched_yield(); /* some wait already, or all, or none */
        pack_budget_give(budget, 1000);
        pthread_barrier_wait(&all_hold);
    }
    for (int i = 0; i < SHARES; i++)
        pthread_join(threads[i], NULL);
    is_number((long long)pack_budget_peak(budget), 1000,
              "those that fit together hold it together, in whatever order they are woken");
    pthread_barrier_destroy(&all_hold);
    pack_budget_free(budget);
}

static void
count_polls(void *context)
{
    int *n = context;
    ++*n;
}

static void
wait_for_polls(void *item, unsigned worker, void *context)
{
    atomic_bool *go_on = context;
    (void)item, (void)worker;
    while (!atomic_load(go_on))
        usleep(1000);
}

struct polled {
    int n;
    atomic_bool *go_on;
};

static void
poll_thrice(void *context)
{
    struct polled *polled = context;
    if (++polled->n == 3)
        atomic_store(polled->go_on, true);
}

/* Who waits is asked now and then whether it still wants to. */
static void
test_polling(void)
{
    static atomic_bool go_on;
    struct polled polled = { 0, &go_on };
    struct pack_pool_lane lane = { wait_for_polls, &go_on, 2 };
    struct pack_pool *pool;
    int item = 0, n = 0;
    pack_pool_new(1, &lane, 1, &pool, NULL);
    pack_pool_submit(pool, 0, &item);
    ok(pack_pool_next_polling(pool, 0, poll_thrice, &polled) == &item && polled.n >= 3,
       "who waits for an item is called meanwhile");
    ok(!pack_pool_next_polling(pool, 0, count_polls, &n) && n == 0,
       "and not where there is nothing to wait for");
    pack_pool_free(pool);
}

static atomic_int n_polls;

static void
count_polled(void *context)
{
    (void)context;
    n_polls++;
}

/* An item is done once the caller was polled as often as it says. */
static void
wait_for_n_polls(void *item, unsigned worker, void *context)
{
    (void)worker, (void)context;
    while (n_polls < *(int *)item)
        usleep(1000);
}

/* Polls until the first of some items is taken from a pool with room for nine. */
static int
polls_until_first(int *items, int n)
{
    struct pack_pool_lane lane = { wait_for_n_polls, NULL, 9 };
    struct pack_pool *pool;
    n_polls = 0;
    pack_pool_new(4, &lane, 1, &pool, NULL);
    for (int i = 0; i < n; i++)
        pack_pool_submit(pool, 0, &items[i]);
    bool first = pack_pool_next_polling(pool, 0, count_polled, NULL) == &items[0];
    int polls = n_polls;
    n_polls = 1000;
    pack_pool_free(pool);
    return first ? polls : -1;
}

/* Being woken costs the caller and the worker whose processor it takes. */
static void
test_together(void)
{
    ok(polls_until_first((int[]){ 1, 0, 4, 999 }, 4) >= 4,
       "who waits is woken for a third of what may be in flight at once");
    ok(polls_until_first((int[]){ 1, 4 }, 2) >= 4, "or for all, where that is less");
    ok(polls_until_first((int[]){ 4, 0, 1, 999 }, 4) >= 4, "the first of them included");
}

int
main(void)
{
    test_order(1);
    test_order(4);
    test_lanes();
    test_budget();
    test_budget_order();
    test_budget_held_by_all();
    test_polling();
    test_together();
    ok(pack_pool_default_threads() >= 1, "there is a processor");
    return done();
}
