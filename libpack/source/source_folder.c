/*
 * Several sources, one behind the other: folders, image files, or both. Until the classes
 * of all of them are known, labels are numbers of class folders.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/check.h"
#include "libpack/source/list_survey.h"
#include "libpack/source/source_classes.h"
#include "libpack/source/source_masks.h"

/* The last component of a path without slashes at the end,
 * empty when it names nothing. */
static const char *
last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return !strcmp(name, ".") || !strcmp(name, "..") ? "" : name;
}

/* Whether what is in front of names tells `n` sources apart when it is their last
 * component. */
static bool
components_differ(const char *const *folders, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!*last_component(folders[i]))
            return false;
        for (size_t j = 0; j < i; j++)
            if (strcmp(last_component(folders[i]), last_component(folders[j])) == 0)
                return false;
    }
    return true;
}

/* Refuses what does not go with the sources before. */
static enum pack_status
check_source(const struct pack_tree *t, const char *const *folders, size_t at)
{
    char text[PACK_NAME_TEXT_MAX], other[PACK_NAME_TEXT_MAX];
    const struct pack_source_folder *f = t->folders;
    pack_name_text(folders[at], text);
    if (f[at].is_image && t->walk.params->n_classes && !pack_tree_takes_all(t))
        return pack_fail_param(t->walk.err, PACK_ERR_ARGUMENT, "label_from_folder",
                               "sources that are files have no labels among the %zu "
                               "classes",
                               t->walk.params->n_classes);
    if (f[at].is_flat && t->walk.params->n_classes && !pack_tree_takes_all(t))
        return pack_fail_param(t->walk.err, PACK_ERR_ARGUMENT, "label_from_folder",
                               "'%s' is a flat folder: no folder names give its images "
                               "a label among the %zu classes",
                               text, t->walk.params->n_classes);
    if (at > 0 && f[at].is_flat != f[0].is_flat && (f[at].is_image || f[0].is_image))
        return pack_fail_param(t->walk.err, PACK_ERR_ARGUMENT, "no_labels",
                               "'%s' has a folder per class, '%s' is an image in none of "
                               "them",
                               f[at].is_image ? pack_name_text(folders[0], other) : text,
                               f[at].is_image ? text : pack_name_text(folders[0], other));
    if (at > 0 && f[at].is_flat != f[0].is_flat)
        return pack_fail_param(
            t->walk.err, PACK_ERR_ARGUMENT, "no_labels",
            "of '%s' and '%s' one is flat and one has a folder per class",
            pack_name_text(folders[0], other), text);
    return PACK_OK;
}

static enum pack_status
check_repeated(const struct pack_tree *t, const char *const *folders, size_t at)
{
    char text[PACK_NAME_TEXT_MAX], other[PACK_NAME_TEXT_MAX];
    for (size_t i = 0; i < at; i++)
        if (t->folders[i].dev == t->folders[at].dev &&
            t->folders[i].ino == t->folders[at].ino)
            return pack_fail(
                t->walk.err, PACK_ERR_ARGUMENT, "'%s' and '%s' are the same folder",
                pack_name_text(folders[i], other), pack_name_text(folders[at], text));
    return PACK_OK;
}

/* Opens folder number `at`; names get `prefix` in front. */
static enum pack_status
enter_source(struct pack_tree *t, const char *const *folders, size_t at,
             const char *prefix, struct pack_level *level)
{
    enum pack_status status = PACK_OK;
    t->walk.path.size = 0;
    if (prefix)
        status = pack_buf_printf(&t->walk.path, t->walk.err, "%s/", prefix);
    if (status == PACK_OK)
        status = pack_source_add_root(t->walk.source, folders[at], t->walk.path.size,
                                      t->walk.err);
    if (status == PACK_OK)
        status = pack_level_open(&t->walk, folders[at], NULL, level);
    if (status != PACK_OK)
        return status;
    t->folders[at].dev = level->dev;
    t->folders[at].ino = level->ino;
    return check_repeated(t, folders, at);
}

static enum pack_status
take_source(struct pack_tree *t, const char *const *folders, size_t at,
            const char *prefix)
{
    struct pack_level level = { 0 };
    enum pack_status status = enter_source(t, folders, at, prefix, &level);
    if (status == PACK_OK)
        status = pack_tree_take(t, &level, &t->folders[at].is_flat);
    if (status == PACK_OK)
        status = check_source(t, folders, at);
    pack_level_close(&level);
    return status;
}

static enum pack_status
take_image(struct pack_tree *t, const char *const *sources, size_t at)
{
    enum pack_status status =
        pack_source_add_file(t->walk.source, sources[at], t->walk.err);
    t->folders[at].is_flat = t->folders[at].is_image = true;
    return status == PACK_OK ? check_source(t, sources, at) : status;
}

/* ------------------------------------------------------------------- labels */

static enum pack_status
collect_classes(struct pack_tree *t)
{
    const char **names = malloc(t->n_classes * sizeof *names);
    if (!names)
        return pack_fail_memory(t->walk.err, "names of classes");
    for (size_t i = 0; i < t->n_classes; i++)
        names[i] = t->classes[i].name;
    enum pack_status status =
        pack_source_sort_classes(t->walk.source, names, t->n_classes, t->walk.err);
    free(names);
    return status;
}

/* numbers[i] becomes the label of class folder i. */
static enum pack_status
number_classes(struct pack_tree *t, int64_t *numbers)
{
    struct pack_class_map map = { 0 };
    char text[PACK_NAME_TEXT_MAX];
    enum pack_status status = pack_class_map_init(&map, t->walk.source, t->walk.err);
    for (size_t i = 0; status == PACK_OK && i < t->n_classes; i++) {
        const struct pack_class_folder *c = &t->classes[i];
        numbers[i] = pack_class_map_find(&map, c->name);
        if (numbers[i] < 0 && c->n_images)
            status =
                pack_fail(t->walk.err, PACK_ERR_ARGUMENT,
                          "class folder '%s' is none of the %zu classes given",
                          pack_name_text(c->folder, text), t->walk.source->n_classes);
        else if (!c->n_images)
            status = pack_source_note(
                t->walk.source, numbers[i] < 0 ? PACK_NOTE_FOLDER : PACK_NOTE_EMPTY_CLASS,
                c->folder, t->walk.err);
    }
    pack_class_map_done(&map);
    return status;
}

/* Turns numbers of class folders into numbers of classes. */
static enum pack_status
label(struct pack_tree *t)
{
    const struct pack_source_params *p = t->walk.params;
    if (p->label_from_folder)
        return pack_source_label_by_folder(t->walk.source, p, t->walk.err);
    if (t->n_classes == 0)
        return PACK_OK;
    int64_t *numbers = malloc(t->n_classes * sizeof *numbers);
    if (!numbers)
        return pack_fail_memory(t->walk.err, "numbers of classes");
    enum pack_status status = p->n_classes
                                  ? pack_source_set_classes(t->walk.source, p->classes,
                                                            p->n_classes, t->walk.err)
                                  : collect_classes(t);
    if (status == PACK_OK)
        status = number_classes(t, numbers);
    for (uint64_t i = 0; status == PACK_OK && i < t->walk.source->n_records; i++)
        t->walk.source->records[i].label = numbers[t->walk.source->records[i].label];
    t->walk.source->has_labels = true;
    free(numbers);
    return status;
}

/* ---------------------------------------------------------------- what is given */

/* The sources of a call: those that are taken, without slashes at their ends, "/" staying
 * what it is. */
struct given {
    char **paths;
    enum pack_given *kinds;
    size_t n, n_images;
};

static void
given_done(struct given *g)
{
    for (size_t i = 0; g->paths && i < g->n; i++)
        free(g->paths[i]);
    free(g->paths);
    free(g->kinds);
}

/* Tells what the sources are, and leaves out what is neither image nor folder. */
static enum pack_status
sort_given(struct pack_tree *t, const char *const *sources, size_t n, struct given *g)
{
    enum pack_status status = PACK_OK;
    char text[PACK_NAME_TEXT_MAX];
    size_t missing = n;
    int errnum = 0;
    g->paths = calloc(n, sizeof *g->paths);
    g->kinds = calloc(n, sizeof *g->kinds);
    if (!g->paths || !g->kinds)
        return pack_fail_memory(t->walk.err, "names of folders");
    for (size_t i = 0; status == PACK_OK && i < n; i++) {
        enum pack_given kind = pack_source_given(sources[i], t->walk.params);
        size_t size = strlen(sources[i]);
        if (kind == PACK_GIVEN_NOTHING && missing == n) {
            missing = i;
            errnum = errno;
        }
        if (kind == PACK_GIVEN_OTHER || kind == PACK_GIVEN_BROKEN) {
            status = pack_source_note_given(t->walk.source, kind, sources[i],
                                            t->walk.err);
            continue;
        }
        while (size > 1 && sources[i][size - 1] == '/')
            size--;
        g->n_images += kind == PACK_GIVEN_IMAGE;
        g->kinds[g->n] = kind;
        g->paths[g->n] = strndup(sources[i], size);
        if (!g->paths[g->n++])
            status = pack_fail_memory(t->walk.err, "names of folders");
    }
    bool has_files = g->n < n || g->n_images > 0 ||
                     (missing < n && pack_survey_image_name(sources[missing]));
    return status == PACK_OK && missing < n && has_files
               ? pack_fail_errno(t->walk.err, errnum, "cannot open '%s'",
                                 pack_name_text(sources[missing], text))
               : status; /* a folder's reading says it */
}

static enum pack_status
take_sources(struct pack_tree *t, const struct given *g)
{
    const char *const *paths = (const char *const *)g->paths;
    bool by_component = g->n_images == 0 && components_differ(paths, g->n);
    enum pack_status status = PACK_OK;
    t->folders = calloc(g->n, sizeof *t->folders);
    if (!t->folders)
        return pack_fail_memory(t->walk.err, "names of folders");
    for (size_t i = 0; status == PACK_OK && i < g->n; i++)
        status = g->kinds[i] == PACK_GIVEN_IMAGE
                     ? take_image(t, paths, i)
                     : take_source(t, paths, i,
                                   g->n == 1      ? NULL
                                   : by_component ? last_component(paths[i])
                                                  : paths[i]);
    if (status == PACK_OK && g->n > 1 && t->walk.source->notes[PACK_NOTE_MASK].count == 0)
        status = pack_source_check_masks(t->walk.source, 0, t->walk.params,
                                         t->walk.err); /* images/ and masks/ as two */
    return status == PACK_OK ? label(t) : status;
}

static enum pack_status
refuse_all(const struct pack_tree *t, const char *source)
{
    char text[PACK_NAME_TEXT_MAX];
    return pack_fail_param(t->walk.err, PACK_ERR_NOT_FOUND, "list",
                           "'%s' is no image and no folder of images",
                           pack_name_text(source, text));
}

static enum pack_status
check_open(const char *const *folders, size_t n_folders,
           const struct pack_source_params *params, struct pack_source **source,
           struct pack_error *err)
{
    if (!folders || !params || !source)
        return pack_check_given(err, "folders", folders, "params", params, "source",
                                source, NULL);
    if (n_folders == 0)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "folders",
                               "no source folder given");
    enum pack_status status = pack_source_check_params(params, err);
    for (size_t i = 0; status == PACK_OK && i < n_folders; i++)
        if (!folders[i] || !*folders[i])
            status = pack_fail_param(err, PACK_ERR_ARGUMENT, "folders",
                                     "folder %zu of %zu has no name", i + 1, n_folders);
    return status;
}

enum pack_status
pack_source_open(const char *const *folders, size_t n_folders,
                 const struct pack_source_params *params, struct pack_source **source,
                 struct pack_error *err)
{
    struct pack_tree t = { .walk = { .params = params, .err = err } };
    struct given given = { 0 };
    enum pack_status status = check_open(folders, n_folders, params, source, err);
    if (status == PACK_OK)
        status = pack_source_new(params, &t.walk.source, err);
    if (status == PACK_OK)
        status = sort_given(&t, folders, n_folders, &given);
    if (status == PACK_OK)
        status = given.n ? take_sources(&t, &given) : refuse_all(&t, folders[0]);
    if (status == PACK_OK)
        *source = t.walk.source;
    else
        pack_source_close(t.walk.source);
    given_done(&given);
    free(t.folders);
    free(t.classes);
    free(t.walk.segments);
    pack_buf_done(&t.walk.path);
    return status;
}
