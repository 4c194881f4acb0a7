/* Signals that end a program in its own time. */
#include "tools/cli.h"

#include <time.h>

volatile sig_atomic_t cli_signal;

static int deadly = 2; /* which signal ends the program at once */

static void
on_signal(int number)
{
    static volatile sig_atomic_t n_signals;
    static struct timespec last;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double since = (double)(now.tv_sec - last.tv_sec) +
                   (double)(now.tv_nsec - last.tv_nsec) / 1e9;
    if (n_signals > 0 && since < 1)
        return;
    last = now;
    if (++n_signals == 1)
        cli_signal = number;
    if (n_signals >= deadly) {
        signal(number, SIG_DFL);
        raise(number); /* delivered when this returns */
    }
}

void
cli_outlast_signals(int n)
{
    deadly = n;
}

void
cli_catch_signals(void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction action = { .sa_handler = on_signal }, before;
        /* one that is ignored, as under nohup, stays ignored */
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is a write error, told by cli_exit */
    signal(SIGXFSZ, SIG_IGN); /* as is a file size limit */
}
