/*
 * Segmentation masks hold a label for each pixel. They lie near the images they belong to,
 * and are called as these are:
 *
 *     images/train/1.jpg    masks/train/1.png     folders side by side, at any depth
 *     1.jpg                 1_mask.png            or files side by side
 *
 * Taken for pictures, they would be samples among others, of a class called masks for one.
 * A name alone does not make a mask, since a class may be called labels, too: only where
 * an image of the same name is there is it one. A name's key is what the two have in
 * common: the path without such folders, ending and extension.
 */
#include "libpack/source/source_masks.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/buf.h"
#include "libpack/base/checksum.h"
#include "libpack/base/name.h"
#include "libpack/base/numbers.h"

struct entry {
    uint64_t key, index;
};

struct search {
    struct pack_source *source;
    uint64_t first;  /* record to begin with */
    const char *dir; /* the folders in front of the name looked at last, */
    size_t dir_bytes;
    bool of_masks;       /* whether one is of masks, */
    struct pack_buf key; /* and what is left of them */
    size_t dir_key_bytes;
    struct entry *images; /* all that are no masks, by key */
    size_t n_images;
    uint64_t n_in_folders; /* images in folders of masks, */
    uint64_t n_paired;     /* and of these, such as belong to others; */
    uint64_t n_beside;     /* and such as lie beside theirs */
    uint64_t mask, image;  /* the first pair */
    struct pack_error *err;
};

/* ------------------------------------------------------------------ names */

static bool
is_one_of(const char *text, size_t n, const char *const *words)
{
    for (; *words; words++)
        if (strncasecmp(text, *words, n) == 0 && (*words)[n] == '\0')
            return true;
    return false;
}

static bool
is_of_images(const char *folder, size_t n)
{
    static const char *const words[] = { "image", "images",     "img",
                                         "imgs",  "jpegimages", NULL };
    return is_one_of(folder, n, words);
}

static bool
is_of_masks(const char *folder, size_t n)
{
    static const char *const words[] = { "mask",
                                         "masks",
                                         "label",
                                         "labels",
                                         "annotation",
                                         "annotations",
                                         "annot",
                                         "gt",
                                         "groundtruth",
                                         "ground_truth",
                                         "seg",
                                         "segmentation",
                                         "segmentations",
                                         "segmentationclass",
                                         "segmentationobject",
                                         "segmentationclassaug",
                                         "trimaps",
                                         NULL };
    return is_one_of(folder, n, words);
}

/* How many bytes at the end of a name without extension say that it is a mask:
 * "1_mask", "1-seg", "1_mask_2". */
static size_t
mask_ending(const char *stem, size_t n)
{
    static const char *const words[] = { "mask",  "masks",  "seg",      "segmentation",
                                         "gt",    "label",  "labels",   "groundtruth",
                                         "annot", "labelids", "annotation", NULL };
    size_t end = n, digits = n;
    while (digits > 0 && stem[digits - 1] >= '0' && stem[digits - 1] <= '9')
        digits--;
    if (digits < n && digits > 0 && strchr("_-", stem[digits - 1]))
        end = digits - 1;
    size_t at = end;
    while (at > 0 && !strchr("_-.", stem[at - 1]))
        at--;
    return at > 1 && is_one_of(stem + at, end - at, words) ? n - at + 1 : 0;
}

/* Takes the folders of a name apart: `n` bytes of it, the last being a slash. */
static enum pack_status
enter(struct search *s, const char *name, size_t n)
{
    enum pack_status status = PACK_OK;
    s->dir = name;
    s->dir_bytes = n;
    s->of_masks = false;
    s->key.size = 0;
    for (size_t at = 0, next; at < n && status == PACK_OK; at = next) {
        size_t bytes = (size_t)((const char *)memchr(name + at, '/', n - at) - (name + at));
        next = at + bytes + 1;
        bool of_masks = is_of_masks(name + at, bytes);
        s->of_masks |= of_masks;
        if (!of_masks && !is_of_images(name + at, bytes))
            status = pack_buf_append(&s->key, name + at, bytes + 1, s->err);
    }
    s->dir_key_bytes = s->key.size;
    return status;
}

/* A name as it is looked at. */
struct look {
    const char *stem;
    size_t stem_bytes; /* without extension and, for a mask, ending */
    bool in_folder, is_beside; /* it may be a mask */
};

/* Photographs are JPEG, masks are not: anna_mask.jpg is Anna in a mask. */
static enum pack_status
look_at(struct search *s, uint64_t index, struct look *look)
{
    const char *name = s->source->records[index].name;
    const char *slash = strrchr(name, '/'), *dot;
    size_t n = slash ? (size_t)(slash + 1 - name) : 0;
    enum pack_status status = PACK_OK;
    if (!s->dir || n != s->dir_bytes || memcmp(name, s->dir, n) != 0)
        status = enter(s, name, n);
    look->stem = name + n;
    dot = strrchr(look->stem, '.');
    look->stem_bytes = dot && dot > look->stem ? (size_t)(dot - look->stem) : strlen(look->stem);
    look->in_folder = s->of_masks;
    look->is_beside = false;
    if (!s->of_masks && dot && (!strcasecmp(dot, ".jpg") || !strcasecmp(dot, ".jpeg")))
        return status;
    size_t ending = mask_ending(look->stem, look->stem_bytes);
    look->stem_bytes -= ending;
    look->is_beside = ending && !s->of_masks;
    return status;
}

static enum pack_status
key_of(struct search *s, const struct look *look, uint64_t *key)
{
    s->key.size = s->dir_key_bytes;
    enum pack_status status = pack_buf_append(&s->key, look->stem, look->stem_bytes, s->err);
    if (status == PACK_OK)
        *key = pack_checksum(s->key.data, s->key.size, 0);
    return status;
}

/* ------------------------------------------------------------------ pairs */

static int
compare_entries(const void *a, const void *b)
{
    const struct entry *one = a, *two = b;
    if (one->key != two->key)
        return one->key < two->key ? -1 : 1;
    return one->index < two->index ? -1 : one->index > two->index;
}

/* Whether anything is called as masks are; most sources end here. */
static enum pack_status
find_candidates(struct search *s, bool *found)
{
    struct look look;
    enum pack_status status = PACK_OK;
    *found = false;
    for (uint64_t i = s->first; status == PACK_OK && i < s->source->n_records; i++) {
        status = look_at(s, i, &look);
        *found |= look.in_folder || look.is_beside;
        s->n_in_folders += look.in_folder;
    }
    return status;
}

static enum pack_status
collect_images(struct search *s)
{
    struct look look;
    enum pack_status status = PACK_OK;
    s->images = malloc((s->source->n_records - s->first) * sizeof *s->images);
    if (!s->images)
        return pack_fail_memory(s->err, "names of images");
    for (uint64_t i = s->first; status == PACK_OK && i < s->source->n_records; i++) {
        struct entry *image = &s->images[s->n_images];
        status = look_at(s, i, &look);
        if (status != PACK_OK || look.in_folder || look.is_beside)
            continue;
        image->index = i;
        status = key_of(s, &look, &image->key);
        s->n_images++;
    }
    qsort(s->images, s->n_images, sizeof *s->images, compare_entries);
    return status;
}

/* The first image of a key; NULL when there is none. */
static const struct entry *
find_image(const struct search *s, uint64_t key)
{
    size_t low = 0, high = s->n_images;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->images[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->n_images && s->images[low].key == key ? &s->images[low] : NULL;
}

/* Calls masks what belongs to an image, and counts it as a note. */
static enum pack_status
find_pairs(struct search *s)
{
    struct look look;
    uint64_t key = 0;
    enum pack_status status = PACK_OK;
    for (uint64_t i = s->first; status == PACK_OK && i < s->source->n_records; i++) {
        const struct entry *image = NULL;
        status = look_at(s, i, &look);
        if (status == PACK_OK && (look.in_folder || look.is_beside))
            status = key_of(s, &look, &key);
        if (status == PACK_OK && (look.in_folder || look.is_beside))
            image = find_image(s, key);
        if (!image)
            continue;
        if (s->n_paired + s->n_beside == 0) {
            s->mask = i;
            s->image = image->index;
        }
        s->n_paired += look.in_folder;
        s->n_beside += look.is_beside;
        status = pack_source_note(s->source, PACK_NOTE_MASK, s->source->records[i].name,
                                  s->err);
    }
    return status;
}

/* ---------------------------------------------------------------- judgement */

/* The folder of images that the path of one begins with, or "". */
static void
folder_of_images(const struct search *s, char folder[PATH_MAX])
{
    const struct pack_record *record = &s->source->records[s->image];
    size_t prefix = s->source->roots[record->root].prefix_bytes;
    const char *name = record->name, *at = name, *slash;
    pack_source_path(s->source, s->image, folder, PATH_MAX);
    for (; (slash = strchr(at, '/')); at = slash + 1)
        if (is_of_images(at, (size_t)(slash - at)))
            break;
    size_t rest = slash ? strlen(slash) : 0, n = strlen(folder);
    /* what is in front of it holds other images, it may be */
    bool is_all = slash && (at == name || (prefix && (size_t)(slash - name) < prefix));
    folder[is_all && n >= rest ? n - rest : 0] = '\0';
}

static enum pack_status
refuse(const struct search *s)
{
    char path[PATH_MAX], folder[PATH_MAX], mask[PACK_NAME_TEXT_MAX], image[PACK_NAME_TEXT_MAX];
    uint64_t n = s->n_paired + s->n_beside;
    pack_source_path(s->source, s->mask, path, sizeof path);
    pack_name_text(path, mask);
    pack_source_path(s->source, s->image, path, sizeof path);
    pack_name_text(path, image);
    folder_of_images(s, folder);
    if (*folder)
        return pack_fail_param(s->err, PACK_ERR_ARGUMENT, "no_labels",
                               "%s, such as '%s' for '%s': masks, a label for each pixel, "
                               "are not packed; pack '%s' alone",
                               pack_counted(n, "mask", "masks").text, mask, image,
                               pack_name_text(folder, path));
    return pack_fail_param(s->err, PACK_ERR_ARGUMENT, "masks",
                           "%s, such as '%s' for '%s': masks, a label for each pixel, are "
                           "not packed; pack a list of the images alone",
                           pack_counted(n, "mask", "masks").text, mask, image);
}

enum pack_status
pack_source_check_masks(struct pack_source *source, uint64_t first, bool takes_them,
                        struct pack_error *err)
{
    struct search s = { .source = source, .first = first, .err = err };
    bool found;
    enum pack_status status = find_candidates(&s, &found);
    if (status == PACK_OK && found)
        status = collect_images(&s);
    if (status == PACK_OK && found)
        status = find_pairs(&s);
    /* a few are no data set with masks, whatever they are */
    bool are_many = 2 * s.n_paired > s.n_in_folders ||
                    (s.n_beside && 4 * s.n_beside >= source->n_records - first);
    if (status == PACK_OK && are_many && !takes_them)
        status = refuse(&s);
    free(s.images);
    pack_buf_done(&s.key);
    return status;
}
