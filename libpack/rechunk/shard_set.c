/*
 * A name alone proves nothing: someone may have made a file of that name. What is removed is
 * labelled as the part that its name says.
 */
#include "libpack/rechunk/shard_set.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/base/journal.h"
#include "libpack/base/outfile.h"
#include "libpack/hdf5/clone.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_guard.h"
#include "libpack/hdf5/h5_read.h"

/* --------------------------------------------------------------------- labels */

void
pack_shard_label_format(const struct pack_shard_label *label, char text[PACK_SHARD_LABEL_MAX])
{
    snprintf(text, PACK_SHARD_LABEL_MAX, "part %zu of %zu of set %016" PRIx64, label->part,
             label->n, label->set);
}

bool
pack_shard_label_parse(const char *text, struct pack_shard_label *label)
{
    char again[PACK_SHARD_LABEL_MAX];
    struct pack_shard_label read = { .part = 0 };
    if (sscanf(text, "part %5zu of %5zu of set %16" SCNx64, &read.part, &read.n, &read.set) !=
        3)
        return false;
    pack_shard_label_format(&read, again);
    if (strcmp(text, again) != 0 || read.part < 1 || read.part > read.n ||
        read.n > PACK_SHARDS_MAX)
        return false;
    *label = read;
    return true;
}

static enum pack_status
read_label(const char *path, struct pack_shard_label *label, struct pack_error *err)
{
    int64_t file = -1;
    char *text = NULL;
    enum pack_status status = pack_h5_open(path, NULL, &file, err);
    if (status != PACK_OK)
        return status;
    *label = (struct pack_shard_label){ .part = 0 };
    if (pack_h5_read_attr_text(file, "/", PACK_CLONE_LABEL, &text, NULL) == PACK_OK)
        pack_shard_label_parse(text, label);
    free(text);
    pack_h5_close(file);
    return PACK_OK;
}

static enum pack_status
try_label(void *path, struct pack_h5_guard *guard, struct pack_error *err)
{
    struct pack_shard_label label;
    pack_h5_guard_note(guard, "looking whether it is a shard");
    return read_label(path, &label, err);
}

enum pack_status
pack_shard_label_read(const char *path, struct pack_shard_label *label, struct pack_error *err)
{
    enum pack_status status = pack_h5_guard_try(path, NULL, try_label, (void *)path, err);
    return status == PACK_OK ? read_label(path, label, err) : status;
}

/* -------------------------------------------------------------------- joining */

/* Of which two files are of two sets, or the same part; NULL: neither. */
static enum pack_status
check_pair(const char *const *files, const struct pack_shard_label *labels, size_t i, size_t k,
           struct pack_error *err)
{
    const struct pack_shard_label *a = &labels[i], *b = &labels[k];
    if (a->part == 0 && b->part == 0)
        return PACK_OK;
    if (a->part == 0 || b->part == 0) {
        size_t in = a->part ? i : k, out = a->part ? k : i;
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "'%.300s' is part %zu of %zu of a set of shards, '%.300s' is none of a "
                         "set: join the set by itself first",
                         files[in], labels[in].part, labels[in].n, files[out]);
    }
    if (a->set != b->set)
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "'%.300s' is part %zu of %zu of one set of shards, '%.300s' part %zu of "
                         "%zu of another: join each set by itself first",
                         files[i], a->part, a->n, files[k], b->part, b->n);
    if (a->part == b->part)
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "'%.300s' and '%.300s' are both part %zu of %zu of one set of shards",
                         files[i], files[k], a->part, a->n);
    return PACK_OK;
}

enum pack_status
pack_shard_set_check(const char *const *files, size_t n, size_t *n_absent,
                     struct pack_error *err)
{
    struct pack_shard_label *labels = calloc(n, sizeof *labels);
    enum pack_status status = labels ? PACK_OK : pack_fail_memory(err, "a list of shards");
    for (size_t i = 0; i < n && status == PACK_OK; i++) {
        status = pack_shard_label_read(files[i], &labels[i], err);
        for (size_t k = 0; k < i && status == PACK_OK; k++)
            status = check_pair(files, labels, k, i, err);
    }
    *n_absent = status == PACK_OK && n > 0 && labels[0].part > 0 ? labels[0].n - n : 0;
    free(labels);
    return status;
}

/* ---------------------------------------------------------------------- names */

/* "-00001-of-00008" stands in front of the ending, or where there is none at the end. */
enum { NUMBER_MAX = 48 };

static void
format_number(size_t i, size_t n, char text[NUMBER_MAX])
{
    snprintf(text, NUMBER_MAX, "-%05zu-of-%05zu", i, n);
}

/* Of a path: the name without folders, and its ending. */
static const char *
find_ending(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    const char *dot = strrchr(*name, '.');
    return dot && dot > *name ? dot : *name + strlen(*name);
}

enum pack_status
pack_shard_name(const char *output, size_t i, size_t n, char **path, char **name,
                struct pack_error *err)
{
    char number[NUMBER_MAX];
    const char *base, *ending = find_ending(output, &base);
    if (strchr(base, '%'))
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "output",
                               "'%s': HDF5 takes the %% in names of shards for a pattern",
                               output);
    format_number(i, n, number);
    if (asprintf(path, "%.*s%s%s", (int)(ending - output), output, number, ending) < 0)
        *path = NULL;
    *name = *path ? strdup(*path + (base - output)) : NULL;
    return *name ? PACK_OK : pack_fail_memory(err, "a name");
}

/* Which shard of `output` a name without folders is; false: none. */
static bool
read_name(const char *output, const char *name, size_t *i, size_t *n)
{
    const char *base, *ending = find_ending(output, &base);
    size_t stem = (size_t)(ending - base);
    char number[NUMBER_MAX];
    if (strncmp(name, base, stem) != 0 || sscanf(name + stem, "-%5zu-of-%5zu", i, n) != 2)
        return false;
    format_number(*i, *n, number);
    return strncmp(name + stem, number, strlen(number)) == 0 &&
           strcmp(name + stem + strlen(number), ending) == 0;
}

/* ----------------------------------------------------------- those of earlier sets */

static enum pack_status
add(struct pack_shard_earlier **list, size_t *n, const char *folder, const char *name,
    struct pack_error *err)
{
    struct pack_shard_earlier one = { .path = NULL };
    struct pack_shard_earlier *more = realloc(*list, (*n + 1) * sizeof *more);
    if (!more)
        return pack_fail_memory(err, "a list of shards");
    *list = more;
    if (asprintf(&one.path, "%s%s", folder, name) < 0)
        return pack_fail_memory(err, "a name");
    (*list)[(*n)++] = one;
    return PACK_OK;
}

static int
compare(const void *a, const void *b)
{
    return strcmp(((const struct pack_shard_earlier *)a)->path,
                  ((const struct pack_shard_earlier *)b)->path);
}

/* All that have such names, behind which stands `behind`; a folder that cannot be listed shows
 * none. */
static enum pack_status
list_names(const char *output, size_t n, const char *behind, struct pack_shard_earlier **list,
           size_t *n_list, struct pack_error *err)
{
    const char *slash = strrchr(output, '/');
    char *folder = slash ? strndup(output, (size_t)(slash + 1 - output)) : strdup("");
    enum pack_status status = folder ? PACK_OK : pack_fail_memory(err, "a name");
    DIR *dir = folder ? opendir(slash ? folder : ".") : NULL;
    size_t part, of;
    for (struct dirent *entry; dir && status == PACK_OK && (entry = readdir(dir));) {
        size_t length = strlen(entry->d_name), rest = strlen(behind);
        if (length < rest || strcmp(entry->d_name + length - rest, behind) != 0)
            continue;
        entry->d_name[length - rest] = '\0';
        if (read_name(output, entry->d_name, &part, &of) && of != n)
            status = add(list, n_list, folder, entry->d_name, err);
    }
    if (dir)
        closedir(dir);
    free(folder);
    if (*n_list > 0)
        qsort(*list, *n_list, sizeof **list, compare);
    return status;
}

/* NULL: it can be removed. */
static const char *
why_left(const char *output, const char *path, const struct pack_shard_label *input)
{
    const char *slash = strrchr(path, '/');
    struct pack_shard_label label = { .part = 0 };
    size_t i, n;
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return "it is no regular file";
    if (!read_name(output, slash ? slash + 1 : path, &i, &n) ||
        pack_shard_label_read(path, &label, NULL) != PACK_OK || label.part != i + 1 ||
        label.n != n)
        return "nothing in it says that it is that shard";
    return input->part > 0 && input->set == label.set ? "the file that is split is of its set"
                                                      : NULL;
}

enum pack_status
pack_shard_earlier_find(const char *output, size_t n, const char *input, bool force,
                        struct pack_shard_earlier **earlier, size_t *n_earlier,
                        struct pack_error *err)
{
    struct pack_shard_label label = { .part = 0 };
    enum pack_status status = list_names(output, n, "", earlier, n_earlier, err);
    if (status == PACK_OK && *n_earlier > 0)
        status = pack_shard_label_read(input, &label, err);
    for (size_t i = 0; i < *n_earlier && status == PACK_OK; i++) {
        struct pack_shard_earlier *one = &(*earlier)[i];
        one->why = why_left(output, one->path, &label);
        if (!one->why && !force)
            one->why = "it is removed with force only";
        one->is_removed = !one->why;
    }
    return status;
}

void
pack_shard_earlier_remove(struct pack_shard_earlier *earlier, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (earlier[i].is_removed && unlink(earlier[i].path) != 0 && errno != ENOENT) {
            earlier[i].is_removed = false;
            earlier[i].why = "it cannot be removed";
        }
}

void
pack_shard_leftovers_remove(const char *output, size_t n)
{
    static const struct pack_outfile_params params = { .journal = true, .resume = true };
    struct pack_shard_earlier *list = NULL;
    size_t n_list = 0;
    enum pack_status status = list_names(output, n, ".part", &list, &n_list, NULL);
    if (status == PACK_OK) /* whose part is gone already, too */
        list_names(output, n, ".part.journal", &list, &n_list, NULL);
    for (size_t i = 0; i < n_list; i++) {
        struct pack_outfile *out = NULL;
        if (pack_outfile_open(list[i].path, &params, &out, NULL) != PACK_OK)
            out = NULL; /* someone is at it, or it is no run's */
        if (out && !pack_outfile_is_published(out) &&
            pack_journal_may_be(pack_outfile_journal_fd(out)))
            pack_outfile_discard(out);
        else
            pack_outfile_abandon(out);
        free(list[i].path);
    }
    free(list);
}
