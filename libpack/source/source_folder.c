/*
 * A source is read before it is known whether it is flat: the images that lie in it
 * directly come first, then each subfolder is tried as a class. Until the classes of all
 * sources are known, labels are numbers of class folders.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/check.h"
#include "libpack/image/kind.h"
#include "libpack/source/source_walk.h"
#include "libpack/base/numbers.h"

/* A folder that stands for a class, in one source. */
struct class_folder {
    const char *name, *folder; /* of the class, and as stored */
    uint64_t n_images;
};

struct source_folder {
    dev_t dev;
    ino_t ino;
    bool is_flat;
};

/* All sources of a call. */
struct tree {
    struct pack_walk walk;
    struct source_folder *folders;
    struct class_folder *classes;
    size_t n_classes, capacity;
};

/* ------------------------------------------------------------------ classes */

/* What may stand behind the name of a split: nothing, a year as in COCO's train2017, or
 * what it is a folder of. */
static bool
ends_split_name(const char *rest)
{
    static const char *const things[] = { "", "set", "data", "images", "imgs", "img" };
    rest += strspn(rest, "-_ ");
    size_t n_digits = strspn(rest, "0123456789");
    if (n_digits >= 2 && n_digits <= 4 && rest[n_digits] == '\0')
        return true;
    for (size_t i = 0; i < sizeof things / sizeof things[0]; i++)
        if (strcasecmp(rest, things[i]) == 0)
            return true;
    return false;
}

static bool
is_split_name(const char *name)
{
    static const char *const splits[] = { "train",      "training", "val",    "valid",
                                          "validation", "test",     "testing" };
    for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++) {
        size_t n = strlen(splits[i]);
        if (strncasecmp(name, splits[i], n) == 0 && ends_split_name(name + n))
            return true;
    }
    return false;
}

/* Names train/ and val/ among the class folders from `first` on. */
static enum pack_status
refuse_splits(const struct tree *t, size_t first)
{
    const char *folder = t->walk.source->roots[t->walk.source->n_roots - 1].path;
    const char *train = NULL, *other = NULL;
    char root[PACK_NAME_TEXT_MAX];
    pack_name_text(folder, root);
    for (size_t i = first; i < t->n_classes; i++) {
        const char *name = t->classes[i].name;
        if (!is_split_name(name))
            continue;
        if (!train && strncasecmp(name, "train", 5) == 0)
            train = name;
        else if (!other)
            other = name;
    }
    return pack_fail_param(t->walk.err, PACK_ERR_ARGUMENT, "splits_are_classes",
                           "'%s' holds splits of a data set, not classes: '%s'%s%s%s",
                           root, train ? train : other, train && other ? " and '" : "",
                           train && other ? other : "", train && other ? "'" : "");
}

/* Whether most class folders of a source (from `first` on; of those with images, if
 * `only_with_images`) are named as splits of a data set. */
static bool
are_splits(const struct tree *t, size_t first, bool only_with_images)
{
    size_t n = 0, n_splits = 0;
    for (size_t i = first; i < t->n_classes; i++) {
        bool counts = !only_with_images || t->classes[i].n_images > 0;
        n += counts;
        n_splits += counts && is_split_name(t->classes[i].name);
    }
    return !t->walk.params->splits_are_classes && 2 * n_splits > n;
}

static enum pack_status
add_class(struct tree *t, const char *name)
{
    struct class_folder *classes =
        pack_grown(t->classes, t->n_classes, &t->capacity, sizeof *classes);
    if (!classes)
        return pack_fail_memory(t->walk.err, "names of classes");
    t->classes = classes;
    const char *folder = pack_walk_name(&t->walk, name);
    if (!folder)
        return pack_fail_memory(t->walk.err, "names of classes");
    classes[t->n_classes++] =
        (struct class_folder){ .name = folder + t->walk.path.size, .folder = folder };
    return PACK_OK;
}

/* The subfolders of an open source become classes. */
static enum pack_status
add_classes(struct tree *t, const struct pack_level *level)
{
    enum pack_status status = PACK_OK;
    for (size_t i = 0; status == PACK_OK && i < level->n_folders; i++)
        status = add_class(t, level->folders[i]);
    return status;
}

/* Takes the images of the classes from `first` on. */
static enum pack_status
walk_classes(struct tree *t, const struct pack_level *level, size_t first)
{
    enum pack_status status = PACK_OK;
    t->walk.by_content = t->walk.params->any_name;
    for (size_t i = first; status == PACK_OK && i < t->n_classes; i++) {
        uint64_t n_before = t->walk.source->n_records;
        t->walk.label = (int64_t)i;
        status = pack_walk_folder(&t->walk, level->folders[i - first], level);
        if (status == PACK_OK)
            status = pack_walk_sort(&t->walk);
        t->classes[i].n_images = t->walk.source->n_records - n_before;
    }
    return status;
}

/* ------------------------------------------------------------------ sources */

/* What was counted of the sources before. */
struct counts {
    uint64_t notes[PACK_NOTE_KINDS], unread[PACK_IMAGE_KINDS];
};

static struct counts
count_notes(const struct pack_source *source)
{
    struct counts counts;
    for (int i = 0; i < PACK_NOTE_KINDS; i++)
        counts.notes[i] = source->notes[i].count;
    for (int i = 0; i < PACK_IMAGE_KINDS; i++)
        counts.unread[i] = source->unread[i].count;
    return counts;
}

static enum pack_status
refuse_without_images(const struct tree *t, const struct counts *before)
{
    static const struct {
        enum pack_source_note_kind kind;
        const char *one, *many;
    } seen[] = {
        { PACK_NOTE_UNNAMED_IMAGE, "image by content only", "images by content only" },
        { PACK_NOTE_OTHER, "other file", "other files" },
        { PACK_NOTE_HIDDEN, "hidden file or folder", "hidden files or folders" },
        { PACK_NOTE_UNREADABLE, "file that may not be read", "files that may not be read" },
        { PACK_NOTE_BROKEN_LINK, "link to nowhere", "links to nowhere" },
        { PACK_NOTE_LOOP, "link to a folder it is in", "links to folders they are in" },
    };
    const struct pack_source *source = t->walk.source;
    char text[PACK_NAME_TEXT_MAX], what[768] = "", one[64], many[64];
    size_t at = 0;
    for (int i = 0; i < PACK_IMAGE_KINDS; i++) {
        uint64_t n = source->unread[i].count - before->unread[i];
        snprintf(one, sizeof one, "%s image, not read", pack_image_kind_name(i));
        snprintf(many, sizeof many, "%s images, not read", pack_image_kind_name(i));
        if (n && at < sizeof what / 2)
            at += (size_t)snprintf(what + at, sizeof what - at, "%s%s",
                                   at ? "; " : "; it holds ",
                                   pack_counted(n, one, many).text);
    }
    for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++) {
        uint64_t n = source->notes[seen[i].kind].count - before->notes[seen[i].kind];
        if (n)
            at += (size_t)snprintf(what + at, sizeof what - at, "%s%s",
                                   at ? ", " : "; it holds ",
                                   pack_counted(n, seen[i].one, seen[i].many).text);
    }
    bool has_unnamed = source->notes[PACK_NOTE_UNNAMED_IMAGE].count >
                       before->notes[PACK_NOTE_UNNAMED_IMAGE];
    return pack_fail_param(t->walk.err, PACK_ERR_NOT_FOUND,
                           has_unnamed ? "any_name" : NULL, "no images in '%s'%s",
                           pack_walk_shown(&t->walk, "", text), what);
}

/* Forgets the class folders from `first` on: the source is flat. */
static enum pack_status
drop_classes(struct tree *t, size_t first)
{
    enum pack_status status = PACK_OK;
    for (size_t i = first; status == PACK_OK && i < t->n_classes; i++)
        status = pack_source_note(t->walk.source, PACK_NOTE_FOLDER, t->classes[i].folder,
                                  t->walk.err);
    t->n_classes = first;
    return status;
}

/* Forgets the `n` images from `first` on, which lie beside class folders. */
static enum pack_status
drop_root_images(struct tree *t, uint64_t first, uint64_t n)
{
    struct pack_record *records = t->walk.source->records + first;
    enum pack_status status = PACK_OK;
    for (uint64_t i = 0; status == PACK_OK && i < n; i++)
        status = pack_source_note(t->walk.source, PACK_NOTE_ROOT_IMAGE, records[i].name,
                                  t->walk.err);
    t->walk.source->n_records -= n;
    t->walk.source->n_listed = t->walk.source->n_records;
    memmove(records, records + n, (t->walk.source->n_records - first) * sizeof *records);
    return status;
}

/* Whether all images below a source are taken, wherever they are. */
static bool
takes_all(const struct tree *t)
{
    return t->walk.params->no_labels || t->walk.params->label_from_folder;
}

/* Whether the class folders with images hold small copies of what lies beside them. */
static bool
are_thumbs(const struct tree *t, size_t first)
{
    for (size_t i = first; i < t->n_classes; i++)
        if (t->classes[i].n_images && !pack_walk_is_thumbs(t->classes[i].name))
            return false;
    return true;
}

/* Forgets the images from `first` on. */
static enum pack_status
drop_thumbs(struct tree *t, uint64_t first)
{
    struct pack_source *source = t->walk.source;
    enum pack_status status = PACK_OK;
    for (uint64_t i = first; status == PACK_OK && i < source->n_records; i++)
        status = pack_source_note(source, PACK_NOTE_THUMBNAIL, source->records[i].name,
                                  t->walk.err);
    source->n_listed = source->n_records = first;
    return status;
}

/* Tells a flat source from one of classes, by where its images are. */
static enum pack_status
sort_out(struct tree *t, struct pack_level *level, bool *is_flat)
{
    uint64_t first = t->walk.source->n_records;
    size_t first_class = t->n_classes;
    char text[PACK_NAME_TEXT_MAX];
    *is_flat = true;
    t->walk.by_content = true;
    t->walk.label = -1;
    enum pack_status status = pack_level_read(&t->walk, level);
    t->walk.unread = t->walk.source->unread;
    if (status == PACK_OK && takes_all(t)) {
        status = pack_walk_below(&t->walk, level);
        return status == PACK_OK ? pack_walk_sort(&t->walk) : status;
    }
    t->walk.n_segments = 0;
    uint64_t n_root = t->walk.source->n_records - first;
    if (status == PACK_OK)
        status = add_classes(t, level);
    if (status == PACK_OK && n_root == 0 && are_splits(t, first_class, false))
        return refuse_splits(t, first_class);
    if (status == PACK_OK)
        status = walk_classes(t, level, first_class);
    if (status != PACK_OK)
        return status;
    uint64_t n_below = t->walk.source->n_records - first - n_root;
    if (n_root && n_below && are_thumbs(t, first_class)) {
        t->n_classes = first_class;
        return drop_thumbs(t, first + n_root);
    }
    if (n_below == 0)
        return n_root ? drop_classes(t, first_class) : PACK_OK;
    if (n_root > n_below)
        return pack_fail_param(t->walk.err, PACK_ERR_ARGUMENT, "no_labels",
                               "'%s' holds %s itself and %" PRIu64
                               " in subfolders: neither flat nor one folder per class",
                               pack_walk_shown(&t->walk, "", text),
                               pack_counted(n_root, "image", "images").text, n_below);
    if (are_splits(t, first_class, true))
        return refuse_splits(t, first_class);
    *is_flat = false;
    return drop_root_images(t, first, n_root);
}

/* Images of formats that are not read are part of the data where those are that are. */
static enum pack_status
walk_source(struct tree *t, struct pack_level *level, bool *is_flat)
{
    struct pack_source *source = t->walk.source;
    struct pack_source_note here[PACK_IMAGE_KINDS] = { 0 };
    t->walk.unread = here;
    enum pack_status status = sort_out(t, level, is_flat);
    for (int i = 0; i < PACK_IMAGE_KINDS; i++)
        pack_source_move_note(&here[i], *is_flat ? &source->unread[i]
                                                 : &source->notes[PACK_NOTE_OTHER]);
    return status;
}

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
check_source(const struct tree *t, const char *const *folders, size_t at)
{
    char text[PACK_NAME_TEXT_MAX], other[PACK_NAME_TEXT_MAX];
    const struct source_folder *f = t->folders;
    pack_name_text(folders[at], text);
    if (f[at].is_flat && t->walk.params->n_classes && !takes_all(t))
        return pack_fail_param(t->walk.err, PACK_ERR_ARGUMENT, "label_from_folder",
                               "'%s' is a flat folder: no folder names give its images "
                               "a label among the %zu classes",
                               text, t->walk.params->n_classes);
    if (at > 0 && f[at].is_flat != f[0].is_flat)
        return pack_fail_param(
            t->walk.err, PACK_ERR_ARGUMENT, "no_labels",
            "of '%s' and '%s' one is flat and one has a folder per class",
            pack_name_text(folders[0], other), text);
    return PACK_OK;
}

static enum pack_status
check_repeated(const struct tree *t, const char *const *folders, size_t at)
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
enter_source(struct tree *t, const char *const *folders, size_t at, const char *prefix,
             struct pack_level *level)
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
take_source(struct tree *t, const char *const *folders, size_t at, const char *prefix)
{
    struct pack_level level = { 0 };
    uint64_t n_before = t->walk.source->n_records;
    struct counts before = count_notes(t->walk.source);
    enum pack_status status = enter_source(t, folders, at, prefix, &level);
    if (status == PACK_OK)
        status = walk_source(t, &level, &t->folders[at].is_flat);
    if (status == PACK_OK && t->walk.source->n_records == n_before)
        status = refuse_without_images(t, &before);
    if (status == PACK_OK)
        status = check_source(t, folders, at);
    pack_level_close(&level);
    return status;
}

/* ------------------------------------------------------------------- labels */

static enum pack_status
collect_classes(struct tree *t)
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
number_classes(struct tree *t, int64_t *numbers)
{
    struct pack_class_map map = { 0 };
    char text[PACK_NAME_TEXT_MAX];
    enum pack_status status = pack_class_map_init(&map, t->walk.source, t->walk.err);
    for (size_t i = 0; status == PACK_OK && i < t->n_classes; i++) {
        const struct class_folder *c = &t->classes[i];
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
label(struct tree *t)
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

/* The arguments without slashes at their ends, "/" staying what it is; NULL when there is
 * no memory. */
static char **
trimmed(const char *const *folders, size_t n)
{
    char **copies = calloc(n + 1, sizeof *copies);
    for (size_t i = 0; copies && i < n; i++) {
        size_t size = strlen(folders[i]);
        while (size > 1 && folders[i][size - 1] == '/')
            size--;
        if ((copies[i] = strndup(folders[i], size)))
            continue;
        while (i > 0)
            free(copies[--i]);
        free(copies);
        return NULL;
    }
    return copies;
}

static enum pack_status
take_sources(struct tree *t, const char *const *folders, size_t n)
{
    bool by_component = components_differ(folders, n);
    enum pack_status status = PACK_OK;
    for (size_t i = 0; status == PACK_OK && i < n; i++)
        status = take_source(t, folders, i,
                             n == 1         ? NULL
                             : by_component ? last_component(folders[i])
                                            : folders[i]);
    return status == PACK_OK ? label(t) : status;
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
    struct tree t = { .walk = { .params = params, .err = err } };
    char **names = NULL;
    bool are_files = false;
    enum pack_status status = check_open(folders, n_folders, params, source, err);
    if (status == PACK_OK)
        status = pack_source_are_files(folders, n_folders, &are_files, err);
    if (status != PACK_OK || are_files)
        return status == PACK_OK
                   ? pack_source_open_files(folders, n_folders, params, source, err)
                   : status;
    t.folders = calloc(n_folders, sizeof *t.folders);
    names = trimmed(folders, n_folders);
    if (!t.folders || !names)
        status = pack_fail_memory(err, "names of folders");
    if (status == PACK_OK)
        status = pack_source_new(&t.walk.source, err);
    if (status == PACK_OK)
        status = take_sources(&t, (const char *const *)names, n_folders);
    if (status == PACK_OK)
        *source = t.walk.source;
    else
        pack_source_close(t.walk.source);
    for (size_t i = 0; names && i < n_folders; i++)
        free(names[i]);
    free(names);
    free(t.folders);
    free(t.classes);
    free(t.walk.segments);
    pack_buf_done(&t.walk.path);
    return status;
}
