/*
 * A source is read before it is known whether it is flat: the images that lie in it
 * directly come first, then each subfolder is tried as a class.
 */
#include "libpack/source/source_classes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/numbers.h"
#include "libpack/image/kind.h"
#include "libpack/source/mask_names.h"
#include "libpack/source/source_masks.h"

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
refuse_splits(const struct pack_tree *t, size_t first)
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
are_splits(const struct pack_tree *t, size_t first, bool only_with_images)
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
add_class(struct pack_tree *t, const char *name)
{
    struct pack_class_folder *classes =
        pack_grown(t->classes, t->n_classes, &t->capacity, sizeof *classes);
    if (!classes)
        return pack_fail_memory(t->walk.err, "names of classes");
    t->classes = classes;
    const char *folder = pack_walk_name(&t->walk, name);
    if (!folder)
        return pack_fail_memory(t->walk.err, "names of classes");
    classes[t->n_classes++] =
        (struct pack_class_folder){ .name = folder + t->walk.path.size,
                                    .folder = folder };
    return PACK_OK;
}

/* The subfolders of an open source become classes. */
static enum pack_status
add_classes(struct pack_tree *t, const struct pack_level *level)
{
    enum pack_status status = PACK_OK;
    for (size_t i = 0; status == PACK_OK && i < level->n_folders; i++)
        status = add_class(t, level->folders[i]);
    return status;
}

static uint64_t
count_unread(const struct pack_walk *walk)
{
    uint64_t n = 0;
    for (int i = 0; i < PACK_IMAGE_KINDS; i++)
        n += walk->unread[i].count;
    return n;
}

/* Takes the images of the classes from `first` on. */
static enum pack_status
walk_classes(struct pack_tree *t, const struct pack_level *level, size_t first)
{
    enum pack_status status = PACK_OK;
    t->walk.by_content = t->walk.params->any_name;
    for (size_t i = first; status == PACK_OK && i < t->n_classes; i++) {
        uint64_t n_before = t->walk.source->n_records;
        uint64_t n_unread = count_unread(&t->walk);
        t->walk.label = (int64_t)i;
        status = pack_walk_folder(&t->walk, level->folders[i - first], level);
        if (status == PACK_OK)
            status = pack_walk_sort(&t->walk);
        t->classes[i].n_images = t->walk.source->n_records - n_before;
        t->classes[i].n_unread = count_unread(&t->walk) - n_unread;
    }
    return status;
}

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
refuse_without_images(const struct pack_tree *t, const struct counts *before)
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
drop_classes(struct pack_tree *t, size_t first)
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
drop_root_images(struct pack_tree *t, uint64_t first, uint64_t n)
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

bool
pack_tree_takes_all(const struct pack_tree *t)
{
    return t->walk.params->no_labels || t->walk.params->label_from_folder;
}

/* Whether the class folders with images hold small copies of what lies beside them. */
static bool
are_thumbs(const struct pack_tree *t, size_t first)
{
    for (size_t i = first; i < t->n_classes; i++)
        if (t->classes[i].n_images && !pack_walk_is_thumbs(t->classes[i].name))
            return false;
    return true;
}

/* Forgets the images from `first` on. */
static enum pack_status
drop_thumbs(struct pack_tree *t, uint64_t first)
{
    struct pack_source *source = t->walk.source;
    enum pack_status status = PACK_OK;
    for (uint64_t i = first; status == PACK_OK && i < source->n_records; i++)
        status = pack_source_note(source, PACK_NOTE_THUMBNAIL, source->records[i].name,
                                  t->walk.err);
    source->n_listed = source->n_records = first;
    return status;
}

static enum pack_status
check_masks(const struct pack_tree *t, uint64_t first)
{
    return pack_source_check_masks(t->walk.source, first, t->walk.params, t->walk.err);
}

/* Masks in a format that is not read: Carvana's train_masks/ are GIF, beside train/. */
static enum pack_status
refuse_unread_masks(const struct pack_tree *t, const struct pack_class_folder *masks,
                    const struct pack_class_folder *images)
{
    char text[PACK_NAME_TEXT_MAX], other[PACK_NAME_TEXT_MAX];
    return pack_fail_param(
        t->walk.err, PACK_ERR_ARGUMENT, "masks_are_classes",
        "%s in '%s', of a format that is not read, for those in '%s': masks, a label for "
        "each pixel, are not packed; pack '%s' alone",
        pack_counted(masks->n_unread, "image", "images").text,
        pack_walk_shown(&t->walk, masks->name, text),
        pack_walk_shown(&t->walk, images->name, other), other);
}

static enum pack_status
check_unread_masks(const struct pack_tree *t, size_t first)
{
    const struct pack_class_folder *c = t->classes;
    struct pack_mask_text masks, images;
    for (size_t i = first; i < t->n_classes && !t->walk.params->masks_are_classes; i++) {
        struct pack_mask_text name = { c[i].name, strlen(c[i].name) };
        if (c[i].n_images || !c[i].n_unread ||
            pack_mask_folder(name, &masks) != PACK_MASK_FOLDER_MASKS)
            continue;
        for (size_t k = first; k < t->n_classes; k++) {
            name = (struct pack_mask_text){ c[k].name, strlen(c[k].name) };
            if (c[k].n_images && pack_mask_folder(name, &images) != PACK_MASK_FOLDER_MASKS &&
                images.n == masks.n && memcmp(images.at, masks.at, masks.n) == 0)
                return refuse_unread_masks(t, &c[i], &c[k]);
        }
    }
    return PACK_OK;
}

/* Tells a flat source from one of classes, by where its images are. */
static enum pack_status
sort_out(struct pack_tree *t, struct pack_level *level, bool *is_flat)
{
    uint64_t first = t->walk.source->n_records;
    size_t first_class = t->n_classes;
    char text[PACK_NAME_TEXT_MAX];
    *is_flat = true;
    t->walk.by_content = true;
    t->walk.label = -1;
    enum pack_status status = pack_level_read(&t->walk, level);
    t->walk.unread = t->walk.source->unread;
    if (status == PACK_OK && pack_tree_takes_all(t)) {
        status = pack_walk_below(&t->walk, level);
        if (status == PACK_OK)
            status = pack_walk_sort(&t->walk);
        return status == PACK_OK ? check_masks(t, first) : status;
    }
    t->walk.n_segments = 0;
    uint64_t n_root = t->walk.source->n_records - first;
    if (status == PACK_OK)
        status = add_classes(t, level);
    if (status == PACK_OK && n_root == 0 && are_splits(t, first_class, false))
        return refuse_splits(t, first_class);
    if (status == PACK_OK)
        status = walk_classes(t, level, first_class);
    if (status == PACK_OK)
        status = check_masks(t, first);
    if (status == PACK_OK)
        status = check_unread_masks(t, first_class);
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
    t->walk.source->is_by_class = true;
    return drop_root_images(t, first, n_root);
}

/* Images of formats that are not read are part of the data where those are that are. */
static enum pack_status
walk_source(struct pack_tree *t, struct pack_level *level, bool *is_flat)
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

enum pack_status
pack_tree_take(struct pack_tree *t, struct pack_level *level, bool *is_flat)
{
    uint64_t n_before = t->walk.source->n_records;
    struct counts before = count_notes(t->walk.source);
    enum pack_status status = walk_source(t, level, is_flat);
    if (status == PACK_OK && t->walk.source->n_records == n_before)
        status = refuse_without_images(t, &before);
    return status;
}
