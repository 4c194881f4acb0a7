/* Runs a program's job once for each combination of option values, each in a process of
 * its own. */
#ifndef TOOLS_SWEEP_H
#define TOOLS_SWEEP_H

#include <stddef.h>

#include <libpack/status.h>
#include "tools/cli.h"

enum { SWEEP_KEYS_MAX = 6, SWEEP_RUNS_MAX = 4096 };

struct sweep_key {
    char *name;   /* of the option, without dashes */
    char **value; /* n of them, in the block of `name` */
    size_t n;
};

struct sweep {
    struct sweep_key key[SWEEP_KEYS_MAX];
    size_t n_keys, n_runs;
};

/* Reads "OPTION=VALUE,VALUE,..." texts, or, for values that hold commas themselves,
 * "OPTION=VALUE;VALUE;...". PACK_ERR_ARGUMENT, _LIMIT, _MEMORY. sweep_close
 * releases in any case. */
enum pack_status sweep_open(const struct cli_texts *texts, struct sweep *sweep,
                            struct pack_error *err);
void sweep_close(struct sweep *sweep);

/* The value of a key in a run, runs counting from 0; the last key changes fastest. */
const char *sweep_value(const struct sweep *sweep, size_t run, size_t key);

/* What every run does, and what is checked before: `fn` and `check` get the command line
 * without --sweep, the words of `common` and the run's own options added in front; false
 * says that it failed. `check` has no figures. */
typedef bool (*sweep_fn)(int argc, char **argv, void *figures);
struct sweep_job {
    int argc;
    char **argv;
    char *const *common; /* ended by NULL */
    sweep_fn fn, check;
    size_t figures_bytes; /* that it fills, 4096 at most */
};

/* Checks all combinations in a child process, which says itself what is wrong with the
 * first bad one. PACK_ERR_ARGUMENT. */
enum pack_status sweep_check(const struct sweep *sweep, const struct sweep_job *job,
                             struct pack_error *err);

/* Runs one combination in a child process; its figures come back. PACK_ERR_IO when it
 * died or failed. */
enum pack_status sweep_run(const struct sweep *sweep, size_t run,
                           const struct sweep_job *job, void *figures,
                           struct pack_error *err);

#endif
