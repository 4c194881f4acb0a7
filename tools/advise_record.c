/*
 * Each process of the program writes a file of its own into a folder (record/record_file.c);
 * when the program has ended they become one trace, and are removed when it is written, except what
 * is not all in it. Standard output is the program's: what is said here goes to standard error.
 */
#include "tools/advise_record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libpack/base/name.h"
#include "libpack/base/numbers.h"
#include "libpack/base/outfile.h"
#include "libpack/hdf5/superblock.h"
#include "libpack/model/trace_merge.h"
#include "libpack/model/trace_survey.h"
#include "tools/cli.h"
#include "tools/record_program.h"

/* ----------------------------------------------------------------- running */

static volatile sig_atomic_t child; /* 0: not yet, or no more */

/* The terminal sends its signals to the program as well. */
static void
hand_on(int number, siginfo_t *info, void *context)
{
    int kept = errno;
    (void)context;
    bool is_sent = info->si_code <= 0; /* by a process */
    if (child > 0 && (is_sent || (number != SIGINT && number != SIGQUIT)))
        kill((pid_t)child, number);
    errno = kept;
}

static const int handed_on[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
enum { N_HANDED_ON = sizeof handed_on / sizeof *handed_on };

/* One that is ignored is so in the program, too. */
static void
catch_signals(void)
{
    struct sigaction action = { .sa_sigaction = hand_on, .sa_flags = SA_SIGINFO }, now;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < N_HANDED_ON; i++)
        if (sigaction(handed_on[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaction(handed_on[i], &action, NULL);
}

/* In the child: returns only if it cannot. */
static void
become(char **command, const char *library, const char *folder)
{
    const char *others = getenv("LD_PRELOAD");
    char *preload = NULL;
    bool has_others = others && *others;
    if (asprintf(&preload, "%s%s%s", library, has_others ? ":" : "",
                 has_others ? others : "") < 0)
        return;
    if (setenv("LD_PRELOAD", preload, 1) == 0 &&
        setenv("H5PACK_RECORD_DIR", folder, 1) == 0)
        execvp(command[0], command);
}

/* The program's process; its end of `failed` is closed when it has begun, else it holds
 * why not. */
static enum pack_status
start(char **command, const char *library, const char *folder, int failed[2],
      struct pack_error *err)
{
    sigset_t all, before;
    if (pipe2(failed, O_CLOEXEC) != 0)
        return pack_fail_errno(err, errno, "cannot start '%.200s'", command[0]);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        become(command, library, folder);
        ssize_t n = write(failed[1], &errno, sizeof errno);
        _exit(n > 0 ? 126 : 127);
    }
    child = pid > 0 ? pid : 0;
    int why = errno;
    catch_signals();
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(failed[1]);
    if (pid > 0)
        return PACK_OK;
    close(failed[0]);
    return pack_fail_errno(err, why, "cannot start '%.200s'", command[0]);
}

static enum pack_status
run(char **command, const char *library, const char *folder, int *exit_status,
    struct pack_error *err)
{
    int failed[2], how = 0, why = 0;
    enum pack_status status = start(command, library, folder, failed, err);
    if (status != PACK_OK)
        return status;
    ssize_t n;
    while ((n = read(failed[0], &why, sizeof why)) < 0 && errno == EINTR) {
    }
    close(failed[0]);
    while (waitpid((pid_t)child, &how, 0) < 0 && errno == EINTR) {
    }
    child = 0;
    if (n == sizeof why)
        return pack_fail_errno(err, why, "cannot run '%.200s'", command[0]);
    *exit_status = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
    return PACK_OK;
}

/* ------------------------------------------------------------------ pieces */

struct pieces {
    char folder[200];
    struct pack_trace_piece *pieces;
    char (*names)[NAME_MAX + 1]; /* of their files */
    size_t n;
    bool is_kept; /* there is no trace of them */
};

static const char whole[] = "recorded.trace"; /* the trace, if it stays there */

static enum pack_status
make_folder(struct pieces *p, struct pack_error *err)
{
    const char *dir = getenv("TMPDIR");
    char *real = realpath(dir && *dir ? dir : "/tmp", NULL);
    int n = snprintf(p->folder, sizeof p->folder, "%s/h5advise-XXXXXX",
                     real ? real : "/tmp");
    free(real);
    bool good = n < (int)sizeof p->folder && mkdtemp(p->folder);
    if (!good)
        p->folder[0] = '\0';
    return good ? PACK_OK
                : pack_fail_errno(err, n < (int)sizeof p->folder ? errno : ENAMETOOLONG,
                                  "cannot make a folder for what is recorded");
}

/* A file that is empty, or cannot be read, is nothing that was recorded. */
static enum pack_status
map(int folder, const char *name, struct pack_trace_piece *piece, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    struct stat s;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    *piece = (struct pack_trace_piece){ .text = "" };
    if (fd < 0)
        return PACK_OK;
    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size > 0) {
        void *text = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (text != MAP_FAILED)
            *piece = (struct pack_trace_piece){ text, (size_t)s.st_size, false };
        else
            status = pack_fail_errno(err, errno, "cannot map '%.200s'", name);
    }
    close(fd);
    return status;
}

static bool
make_room(struct pieces *p)
{
    struct pack_trace_piece *pieces = realloc(p->pieces, (p->n + 1) * sizeof *pieces);
    if (pieces)
        p->pieces = pieces;
    void *names = realloc(p->names, (p->n + 1) * sizeof *p->names);
    if (names)
        p->names = names;
    return pieces && names;
}

static enum pack_status
map_all(struct pieces *p, struct pack_error *err)
{
    DIR *dir = opendir(p->folder);
    struct dirent *entry;
    enum pack_status status = PACK_OK;
    if (!dir)
        return pack_fail_errno(err, errno, "cannot read '%s'", p->folder);
    while (status == PACK_OK && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        if (!make_room(p)) {
            status = pack_fail_memory(err, "trace");
        } else {
            snprintf(p->names[p->n], sizeof *p->names, "%s", entry->d_name);
            status = map(dirfd(dir), entry->d_name, &p->pieces[p->n++], err);
        }
    }
    closedir(dir);
    return status;
}

static bool
is_damaged(const struct pieces *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->pieces[i].is_damaged && strcmp(p->names[i], name) == 0)
            return true;
    return false;
}

static void
remove_all(const struct pieces *p)
{
    DIR *dir = opendir(p->folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, whole) != 0 &&
            !is_damaged(p, entry->d_name))
            unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    rmdir(p->folder);
}

static void
done(struct pieces *p)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->pieces[i].size > 0)
            munmap((void *)(uintptr_t)p->pieces[i].text, p->pieces[i].size);
    if (p->folder[0] && !p->is_kept)
        remove_all(p);
    free(p->pieces);
    free(p->names);
}

/* ------------------------------------------------------------------ saying */

static enum pack_status
say_next(const char *trace, const char *file, const char *dataset, struct pack_error *err)
{
    struct pack_buf text = { 0 }, name = { 0 };
    enum pack_status status = pack_buf_printf(&name, err, "%s:/%s", file,
                                              dataset + strspn(dataset, "/"));
    if (status == PACK_OK)
        status = pack_name_word((char *)name.data, &text, err);
    if (status == PACK_OK)
        status = pack_buf_printf(&text, err, " --pattern ");
    name.size = 0;
    if (status == PACK_OK)
        status = pack_buf_printf(&name, err, "trace:%s", trace);
    if (status == PACK_OK)
        status = pack_name_word((char *)name.data, &text, err);
    if (status == PACK_OK)
        cli_say("next: h5advise %s", (char *)text.data);
    pack_buf_done(&text);
    pack_buf_done(&name);
    return status;
}

/* How many reads of what, by how many. */
static enum pack_status
say(const char *trace, const struct pack_buf *text, struct pack_error *err)
{
    enum { LINES = 10 };
    struct pack_trace_survey s = { 0 };
    uint64_t n = 0;
    enum pack_status status = pack_trace_survey((char *)text->data, text->size, &s, err);
    if (status == PACK_OK)
        status = pack_trace_survey_processes(&s, &n, err);
    if (status == PACK_OK)
        cli_say("recorded %s in '%s':", pack_counted(n, "process", "processes").text,
                trace);
    for (size_t i = 0; status == PACK_OK && i < s.n_parts && i < LINES; i++) {
        const struct pack_trace_part *part = &s.parts[i];
        cli_say("%s of '%s' in '%s' by %s",
                pack_counted(part->n_reads, "read", "reads").text,
                s.head.datasets.names[part->dataset], s.head.files.names[part->file],
                pack_counted(part->n_processes, "process", "processes").text);
    }
    if (status == PACK_OK && s.n_parts > LINES)
        cli_say("and of %s more",
                pack_counted(s.n_parts - LINES, "dataset", "datasets").text);
    if (status == PACK_OK && s.head.n_around)
        cli_say("%s of so many pieces that the block around them is recorded",
                pack_counted(s.head.n_around, "read", "reads").text);
    if (status == PACK_OK)
        status = say_next(trace, s.head.files.names[s.parts[0].file],
                          s.head.datasets.names[s.parts[0].dataset], err);
    pack_trace_survey_done(&s);
    return status;
}

/* --force replaces an older trace, not the data that is being read. */
static enum pack_status
check_trace(const char *trace, bool force, struct pack_error *err)
{
    int fd = force ? open(trace, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    struct pack_superblock superblock;
    struct stat s;
    if (fd < 0)
        return pack_outfile_check(trace, force, err);
    bool is_hdf5 = fstat(fd, &s) == 0 && S_ISREG(s.st_mode) &&
                   pack_superblock_find(fd, (uint64_t)s.st_size, &superblock);
    close(fd);
    return is_hdf5 ? pack_fail(err, PACK_ERR_EXISTS,
                               "'%.200s' is an HDF5 file, which a trace does not replace", trace)
                   : pack_outfile_check(trace, force, err);
}

/* Without a trace there is what each process wrote: each is a trace of its own. */
static enum pack_status
keep(struct pieces *p, enum pack_status status, struct pack_error *err)
{
    struct pack_error why = *err;
    p->is_kept = true;
    return pack_fail(err, status, "%s; what each process read is in '%s'", why.text, p->folder);
}

/* Where it cannot be written it stays in the folder for temporary files: nobody runs a
 * training once more for it. */
static enum pack_status
put(const char *trace, bool force, struct pieces *p, const struct pack_buf *text,
    struct pack_error *err)
{
    enum pack_status status = check_trace(trace, force, err); /* made meanwhile */
    if (status == PACK_OK)
        status = pack_outfile_write(trace, force, text->data, text->size, err);
    if (status == PACK_OK)
        return PACK_OK;
    char kept[sizeof p->folder + sizeof whole + 1];
    struct pack_error why = *err;
    snprintf(kept, sizeof kept, "%s/%s", p->folder, whole);
    if (pack_outfile_write(kept, false, text->data, text->size, NULL) != PACK_OK)
        return keep(p, status, err);
    return pack_fail(err, status, "%s; what was recorded is in '%s'", why.text, kept);
}

static enum pack_status
write_trace(const char *trace, bool force, struct pieces *p, const char *command,
            struct pack_error *err)
{
    struct pack_buf text = { 0 };
    size_t n_damaged = 0, n_stopped = 0, n_empty = 0;
    enum pack_status status = map_all(p, err);
    if (status == PACK_OK)
        status = pack_trace_merge(p->pieces, p->n, &text, &n_damaged, &n_stopped, err);
    if (status != PACK_OK)
        status = keep(p, status, err);
    for (size_t i = 0; i < p->n; i++) /* there was no room for a first line */
        n_empty += p->pieces[i].size == 0;
    n_stopped += n_empty;
    if (status == PACK_OK && text.size == 0 && n_stopped > 0)
        status = pack_fail(err, PACK_ERR_IO,
                           "nothing could be recorded of '%.200s': no room in the folder for "
                           "temporary files (TMPDIR names another); '%.200s' is not written",
                           command, trace);
    else if (status == PACK_OK && text.size == 0)
        status = pack_fail(err, PACK_ERR_NOT_FOUND,
                           "nothing was recorded: '%.200s' read no dataset of HDF5 through "
                           "a shared library; '%.200s' is not written",
                           command, trace);
    if (status == PACK_OK)
        status = put(trace, force, p, &text, err);
    if (status == PACK_OK)
        status = say(trace, &text, err);
    if (n_damaged > 0)
        cli_complain("of %s only the beginning could be read; all that was written is in '%s'",
                     pack_counted(n_damaged, "process", "processes").text, p->folder);
    if (n_stopped > 0 && text.size > 0)
        cli_complain("%s could not be recorded to the end: no room in the folder for "
                     "temporary files (TMPDIR names another)",
                     pack_counted(n_stopped, "process", "processes").text);
    pack_buf_done(&text);
    return status;
}

enum pack_status
advise_record(const char *trace, bool force, char **command, int *exit_status,
              struct pack_error *err)
{
    struct pieces pieces = { .folder = "" };
    char *library = NULL;
    enum pack_status status = check_trace(trace, force, err);
    if (status == PACK_OK)
        status = record_library(&library, err);
    if (status == PACK_OK)
        status = record_program_check(command[0], err);
    if (status == PACK_OK)
        status = make_folder(&pieces, err);
    if (status == PACK_OK)
        status = run(command, library, pieces.folder, exit_status, err);
    if (status == PACK_OK)
        status = write_trace(trace, force, &pieces, command[0], err);
    done(&pieces);
    free(library);
    return status;
}
