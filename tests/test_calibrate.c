/* What calibrations have in common, and what of them goes with another storage. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/advise/calibrate_parts.h"
#include "libpack/base/fd.h"
#include "libpack/model/profile_terms.h"
#include "tests/tap.h"

static void
test_fastest(void)
{
    double seven[] = { 70, 20, 60, 10, 50, 30, 40 }, two[] = { 4, 3 }, three[] = { 3, 1, 2 };
    ok(pack_lab_fastest(seven, 7) == 20, "of seven times, the mean of the fastest three");
    ok(pack_lab_fastest(two, 2) == 3 && pack_lab_fastest(three, 3) == 1,
       "of two or three, the fastest");
    ok(pack_lab_positive(0.02) == 0.02 && pack_lab_positive(0.01) == 0.01 &&
           pack_lab_positive(-5) == 0.01,
       "what noise makes negative is next to nothing");
}

/* Every term of a profile, numbered from a value on. */
static void
number_terms(struct pack_profile *profile, double from)
{
    const struct pack_profile_term *term;
    for (size_t i = 0; (term = pack_profile_term(i)) != NULL; i++)
        *(double *)((char *)profile + term->offset) = from + (double)i;
}

static void
test_take(void)
{
    struct pack_profile storage, processor;
    const struct pack_profile_term *term;
    size_t n_storage = 0;
    bool right = true;
    (void)pack_profile_named("nfs", &storage, NULL);
    (void)pack_profile_named("nvme", &processor, NULL);
    number_terms(&storage, 1000);
    number_terms(&processor, 2000);
    storage.n_cpus = 3;
    processor.n_cpus = 5;
    processor.is_measured = true;
    processor.copy = (struct pack_profile_curve){ 1, { 10 }, { 77 } };
    pack_profile_take_processor(&storage, &processor);
    for (size_t i = 0; (term = pack_profile_term(i)) != NULL; i++) {
        double value = *(const double *)((const char *)&storage + term->offset);
        bool is_storage = strcmp(term->key, "latency_ns") == 0 || strstr(term->key, "per_s");
        n_storage += is_storage;
        right = right && value == (is_storage ? 1000 : 2000) + (double)i;
    }
    ok(right && n_storage == 4, "storage keeps its four terms, all others are the processor's");
    ok(storage.n_cpus == 3 && !storage.is_measured && strcmp(storage.name, "nfs") == 0,
       "the profile keeps its name, and what it was");
    ok(storage.copy.n == 1 && pack_profile_at(&storage.copy, 10) == 77, "curves come along");
}

static const char folder[] = "test_calibrate.dir";

/* Files in the folder, by name. */
static int
n_names(void)
{
    int n = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;)
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (dir)
        closedir(dir);
    return dir ? n : -1;
}

static void
test_nameless(void)
{
    struct stat st;
    char text[4] = "";
    int fd = pack_fd_open_nameless(folder);
    ok(fd >= 0 && n_names() == 0 && fstat(fd, &st) == 0 && st.st_nlink == 0,
       "a file without a name is in a folder, which lists none");
    ok(write(fd, "abc", 3) == 3 && pread(fd, text, 3, 0) == 3 && strcmp(text, "abc") == 0,
       "it can be written and read");
    close(fd);
    errno = 0;
    ok(pack_fd_open_nameless("test_calibrate.none") == -1 && errno == ENOENT,
       "where there is no folder the system says so");
}

struct seen {
    int n_told, n_names;
};

static void
on_progress(void *context, const struct pack_progress *progress)
{
    struct seen *seen = context;
    (void)progress;
    seen->n_told++;
    seen->n_names += n_names();
}

static bool
is_stopped(void *context)
{
    return ((struct seen *)context)->n_told > 0;
}

/* After the first step the scratch file holds all that it ever will. */
static void
test_leaves_nothing(void)
{
    struct seen seen = { 0, 0 };
    struct pack_calibrate_params params = { .dir = folder,
                                            .size_bytes = 2 * PACK_LAB_BUFFER,
                                            .watch = { &seen, on_progress, is_stopped } };
    struct pack_calibration result;
    struct pack_error err;
    ok(pack_calibrate(&params, &result, &err) == PACK_ERR_INTERRUPTED && seen.n_told == 1,
       "a calibration is stopped after its first step");
    ok(seen.n_names == 0, "its scratch file had no name that a kill could leave");
    params.dir = "test_calibrate.none";
    ok(pack_calibrate(&params, &result, &err) == PACK_ERR_NOT_FOUND &&
           strstr(err.text, "cannot write in 'test_calibrate.none'") != NULL,
       "a folder that is not there is named");
}

int
main(void)
{
    mkdir(folder, 0700);
    test_nameless();
    test_leaves_nothing();
    rmdir(folder);
    test_fastest();
    test_take();
    return done();
}
