#include "tools/sweep.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static enum pack_status
parse_key(const char *text, struct sweep_key *key, struct pack_error *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1] || strncmp(text, "sweep=", 6) == 0)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--sweep: '%.80s' is not OPTION=VALUE,VALUE,...", text);
    key->name = strdup(text);
    key->value = calloc(strlen(text), sizeof *key->value);
    if (!key->name || !key->value)
        return pack_fail_memory(err, "a sweep");
    key->name[equals - text] = '\0';
    const char between = strchr(equals, ';') ? ';' : ',';
    for (char *at = key->name + (equals - text) + 1, *next; at; at = next) {
        next = strchr(at, between);
        if (next)
            *next++ = '\0';
        key->value[key->n++] = at;
    }
    return PACK_OK;
}

enum pack_status
sweep_open(const struct cli_texts *texts, struct sweep *sweep, struct pack_error *err)
{
    *sweep = (struct sweep){ .n_runs = 1 };
    if (texts->n > SWEEP_KEYS_MAX)
        return pack_fail(err, PACK_ERR_ARGUMENT, "more than %d --sweep", SWEEP_KEYS_MAX);
    for (size_t i = 0; i < texts->n; i++) {
        enum pack_status status = parse_key(texts->text[i], &sweep->key[i], err);
        if (status != PACK_OK)
            return status;
        sweep->n_keys++;
        for (size_t k = 0; k < i; k++)
            if (strcmp(sweep->key[k].name, sweep->key[i].name) == 0)
                return pack_fail(err, PACK_ERR_ARGUMENT,
                                 "--sweep: '%.80s' is given twice; one has all values",
                                 sweep->key[i].name);
        if (sweep->key[i].n > SWEEP_RUNS_MAX / sweep->n_runs)
            return pack_fail(err, PACK_ERR_LIMIT, "--sweep makes more than %d runs",
                             SWEEP_RUNS_MAX);
        sweep->n_runs *= sweep->key[i].n;
    }
    return PACK_OK;
}

void
sweep_close(struct sweep *sweep)
{
    for (size_t i = 0; i < SWEEP_KEYS_MAX; i++) {
        free(sweep->key[i].name);
        free(sweep->key[i].value);
    }
}

const char *
sweep_value(const struct sweep *sweep, size_t run, size_t key)
{
    for (size_t i = sweep->n_keys - 1; i > key; i--)
        run /= sweep->key[i].n;
    return sweep->key[key].value[run % sweep->key[key].n];
}

/* In the child: options go behind those given, so that they win, and before "--". */
static bool
call(const struct sweep *sweep, size_t run, const struct sweep_job *job, sweep_fn fn,
     void *figures)
{
    size_t n = 0, n_common = 0;
    while (job->common[n_common])
        n_common++;
    char **words =
        calloc((size_t)job->argc + n_common + sweep->n_keys + 1, sizeof *words);
    bool made = words != NULL;
    int i = 0;
    for (; made && i < job->argc && strcmp(job->argv[i], "--") != 0; i++) {
        if (strcmp(job->argv[i], "--sweep") == 0)
            i++;
        else if (strncmp(job->argv[i], "--sweep=", 8) != 0)
            words[n++] = job->argv[i];
    }
    for (size_t k = 0; made && k < n_common; k++)
        words[n++] = job->common[k];
    for (size_t k = 0; made && k < sweep->n_keys; k++)
        made = asprintf(&words[n++], "--%s=%s", sweep->key[k].name,
                        sweep_value(sweep, run, k)) > 0;
    for (; made && i < job->argc; i++)
        words[n++] = job->argv[i];
    return made && fn((int)n, words, figures);
}

enum pack_status
sweep_check(const struct sweep *sweep, const struct sweep_job *job,
            struct pack_error *err)
{
    int how = -1;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        bool good = true;
        for (size_t run = 0; good && run < sweep->n_runs; run++)
            good = call(sweep, run, job, job->check, NULL);
        _exit(good ? 0 : CLI_FAILED);
    }
    if (pid < 0)
        return pack_fail_errno(err, errno, "cannot check a sweep");
    while (waitpid(pid, &how, 0) < 0 && errno == EINTR)
        ;
    return how == 0 ? PACK_OK
                    : pack_fail(err, PACK_ERR_ARGUMENT, "nothing of the sweep was run");
}

enum pack_status
sweep_run(const struct sweep *sweep, size_t run, const struct sweep_job *job,
          void *figures, struct pack_error *err)
{
    const size_t size = job->figures_bytes;
    int fd[2], how = 0;
    ssize_t got;
    if (pipe(fd) != 0)
        return pack_fail_errno(err, errno, "cannot start a run");
    fflush(stdout);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* no run goes on alone */
        if (getppid() != parent)
            _exit(CLI_FAILED);
        close(fd[0]);
        bool done = call(sweep, run, job, job->fn, figures);
        done = done && write(fd[1], figures, size) == (ssize_t)size;
        _exit(done ? 0 : CLI_FAILED);
    }
    int errnum = errno;
    close(fd[1]);
    while ((got = pid < 0 ? -1 : read(fd[0], figures, size)) < 0 && pid > 0 &&
           errno == EINTR)
        if (cli_signal) /* one that was sent to this process alone */
            kill(pid, cli_signal);
    close(fd[0]);
    while (pid > 0 && waitpid(pid, &how, 0) < 0 && errno == EINTR)
        ;
    if (pid < 0)
        return pack_fail_errno(err, errnum, "cannot start a run");
    if (got != (ssize_t)size && WIFSIGNALED(how))
        return pack_fail(err, PACK_ERR_IO, "run %zu of %zu was ended by signal %d (%s)",
                         run + 1, sweep->n_runs, WTERMSIG(how), strsignal(WTERMSIG(how)));
    if (got != (ssize_t)size)
        return pack_fail(err, PACK_ERR_IO, "run %zu of %zu failed", run + 1,
                         sweep->n_runs);
    return PACK_OK;
}
