/*
 * Segmentation masks hold a label for each pixel. They lie near the images they belong to,
 * and are called as these are:
 *
 *     images/train/1.jpg    masks/train/1.png     folders side by side, at any depth
 *     train/1.jpg           train_masks/1_mask.gif
 *     7f/images/7f.png      7f/masks/02.png       one image, and a mask for each thing in it
 *     1.jpg                 1_mask.png            or files side by side
 *     1.png                 1_L.png               the same, where the pixels say so
 *     photos/1.jpg          colours/1.png         likewise: mask_folders.c
 *
 * Taken for pictures, they would be samples among others, of a class called masks for one.
 * Names alone do not make masks, since classes may be called labels and img, and number their
 * images alike. Where images have one of the same name in a folder of masks, one of three is
 * to hold besides: beside the two folders there is none of another name; the file is called
 * a mask, too; or its pixels are like those of masks: one channel or a palette where the
 * image has colours, or few of these (mask_pixels.c).
 *
 * A name's key is what the two have in common: the path without such folders, ending and
 * extension. Of a file in a folder of masks that is called a mask, too, it may be the name
 * alone: ISIC2018_Task1_Training_GroundTruth/7_segmentation.png.
 */
#include "libpack/source/source_masks.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libpack/base/buf.h"
#include "libpack/base/checksum.h"
#include "libpack/base/name.h"
#include "libpack/base/numbers.h"
#include "libpack/source/mask_folders.h"
#include "libpack/source/mask_index.h"
#include "libpack/source/mask_names.h"
#include "libpack/source/mask_pixels.h"
#include "libpack/source/source_parts.h"

struct pair {
    struct pack_mask_pair of;
    bool is_called_so; /* the mask's file, not its folder alone */
};

/* The first of those that are to be looked into. */
struct pairs {
    struct pair list[PACK_MASK_PAIRS_MAX];
    size_t n;
};

struct search {
    struct pack_source *source;
    const struct pack_source_params *params;
    uint64_t first;  /* record to begin with */
    const char *dir; /* the folders in front of the name looked at last, */
    size_t dir_bytes;
    bool of_masks, of_images; /* whether one is of masks, or of images, */
    struct pack_buf key;      /* and what is left of them */
    size_t dir_key_bytes;
    struct pack_mask_index images; /* all that are no masks; some by two or three keys */
    uint64_t n_in_folders; /* images in folders of masks, */
    uint64_t n_paired;     /* and of these, such as belong to others; */
    uint64_t n_beside;     /* and such as lie beside theirs, */
    uint64_t n_doubtful;   /* or may do so */
    struct pack_mask_pair first_pair;
    struct pairs in_folders, doubtful;
    struct pack_error *err;
};

/* ------------------------------------------------------------------ names */

/* Classes that were given are no folders of masks, whatever they are called. */
static bool
is_class(const struct search *s, struct pack_mask_text folder)
{
    for (size_t i = 0; i < s->params->n_classes; i++)
        if (strncmp(s->params->classes[i], folder.at, folder.n) == 0 &&
            s->params->classes[i][folder.n] == '\0')
            return true;
    return false;
}

/* The kind of the folder whose name begins at `name`, and what is in common; false where
 * that is a file. */
static bool
find_folder(const struct search *s, const char *name, struct pack_mask_text *folder,
            enum pack_mask_folder *kind, struct pack_mask_text *rest)
{
    const char *slash = strchr(name, '/');
    if (!slash)
        return false;
    *folder = (struct pack_mask_text){ name, (size_t)(slash - name) };
    *kind = pack_mask_folder(*folder, rest);
    if (*kind == PACK_MASK_FOLDER_MASKS && is_class(s, *folder)) {
        *kind = PACK_MASK_FOLDER_PLAIN;
        *rest = *folder;
    }
    return true;
}

/* Takes the folders of a name apart: `n` bytes of it, the last being a slash. */
static enum pack_status
enter(struct search *s, const char *name, size_t n)
{
    struct pack_mask_text folder, rest;
    enum pack_mask_folder kind;
    enum pack_status status = PACK_OK;
    s->dir = name;
    s->dir_bytes = n;
    s->of_masks = s->of_images = false;
    s->key.size = 0;
    for (const char *at = name; status == PACK_OK && at < name + n; at += folder.n + 1) {
        if (!find_folder(s, at, &folder, &kind, &rest))
            break;
        s->of_masks |= kind == PACK_MASK_FOLDER_MASKS;
        s->of_images |= kind == PACK_MASK_FOLDER_IMAGES;
        if (rest.n)
            status = pack_buf_append(&s->key, rest.at, rest.n, s->err);
        if (status == PACK_OK && rest.n)
            status = pack_buf_append(&s->key, "/", 1, s->err);
    }
    s->dir_key_bytes = s->key.size;
    return status;
}

/* A name as it is looked at. */
struct look {
    struct pack_mask_text stem; /* without extension */
    bool in_folder, is_beside;  /* it may be a mask */
    bool is_doubtful;           /* or it may not: 1_L.png, which may be the left one */
    bool is_jpeg;
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
    look->stem.at = name + n;
    dot = strrchr(look->stem.at, '.');
    look->stem.n = dot && dot > look->stem.at ? (size_t)(dot - look->stem.at)
                                              : strlen(look->stem.at);
    look->in_folder = s->of_masks;
    struct pack_mask_text rest = look->stem;
    look->is_jpeg = dot && (!strcasecmp(dot, ".jpg") || !strcasecmp(dot, ".jpeg"));
    bool may_be = !s->of_masks && !look->is_jpeg;
    look->is_beside = may_be && pack_mask_strip(&rest, false);
    look->is_doubtful = may_be && !look->is_beside && pack_mask_strip(&rest, true);
    return status;
}

static enum pack_status
key_of(struct search *s, struct pack_mask_text stem, uint64_t *key)
{
    s->key.size = s->dir_key_bytes;
    enum pack_status status = pack_buf_append(&s->key, stem.at, stem.n, s->err);
    if (status == PACK_OK)
        *key = pack_checksum(s->key.data, s->key.size, 0);
    return status;
}

/* The key of a file's name alone, whatever folder it is in. */
static enum pack_status
key_of_name(struct search *s, struct pack_mask_text stem, uint64_t *key)
{
    s->key.size = s->dir_key_bytes;
    enum pack_status status = pack_buf_append(&s->key, "//", 2, s->err);
    if (status == PACK_OK)
        status = pack_buf_append(&s->key, stem.at, stem.n, s->err);
    if (status == PACK_OK)
        *key = pack_checksum((const uint8_t *)s->key.data + s->dir_key_bytes, stem.n + 2, 0);
    return status;
}

/* ------------------------------------------------------------------ pairs */

/* What no file is called: the only image of its folder. */
static const struct pack_mask_text any_stem = { "/", 1 };

/* Whether anything is called as masks are; most sources end here. */
static enum pack_status
find_candidates(struct search *s, bool *found)
{
    struct look look;
    enum pack_status status = PACK_OK;
    *found = false;
    for (uint64_t i = s->first; status == PACK_OK && i < s->source->n_records; i++) {
        status = look_at(s, i, &look);
        *found |= look.in_folder || look.is_beside || look.is_doubtful;
        s->n_in_folders += look.in_folder;
    }
    return status;
}

typedef enum pack_status (*key_fn)(struct search *s, struct pack_mask_text stem,
                                   uint64_t *key);

static enum pack_status
add_image(struct search *s, uint64_t index, struct pack_mask_text stem, key_fn key)
{
    uint64_t of = 0;
    enum pack_status status = key(s, stem, &of);
    return status == PACK_OK ? pack_mask_index_add(&s->images, of, index, s->err) : status;
}

static enum pack_status
collect_images(struct search *s)
{
    struct look look;
    enum pack_status status = PACK_OK;
    for (uint64_t i = s->first; status == PACK_OK && i < s->source->n_records; i++) {
        status = look_at(s, i, &look);
        if (status != PACK_OK || look.in_folder || look.is_beside)
            continue;
        status = add_image(s, i, look.stem, key_of);
        if (status == PACK_OK && s->n_in_folders)
            status = add_image(s, i, look.stem, key_of_name);
        if (status == PACK_OK && s->of_images && s->dir_key_bytes)
            status = add_image(s, i, any_stem, key_of);
        if (status == PACK_OK && pack_mask_strip_image(&look.stem, s->of_images))
            status = add_image(s, i, look.stem, key_of);
    }
    pack_mask_index_sort(&s->images);
    return status;
}

/* The only image of this name anywhere, for a mask that is called so. */
static enum pack_status
find_anywhere(struct search *s, const struct look *look, struct pair *pair, bool *found)
{
    struct pack_mask_text stem = look->stem;
    uint64_t key = 0;
    enum pack_status status = PACK_OK;
    while (status == PACK_OK && !*found && !look->is_jpeg && pack_mask_strip(&stem, true)) {
        status = key_of_name(s, stem, &key);
        if (status == PACK_OK)
            *found = pack_mask_index_find(&s->images, key, true, &pair->of.image);
        pair->is_called_so = true;
    }
    return status;
}

/* The image that what may be a mask belongs to, by its name, then by what is left of it
 * without the words of masks. */
static enum pack_status
find_own(struct search *s, const struct look *look, struct pair *pair, bool *found)
{
    struct pack_mask_text stem = look->stem;
    uint64_t key = 0;
    enum pack_status status = PACK_OK;
    pair->is_called_so = !look->in_folder && pack_mask_strip(&stem, look->is_doubtful);
    do {
        status = key_of(s, stem, &key);
        if (status == PACK_OK)
            *found = pack_mask_index_find(&s->images, key, false, &pair->of.image);
        if (status != PACK_OK || *found || !look->in_folder)
            return status;
        pair->is_called_so = pack_mask_strip(&stem, true);
    } while (pair->is_called_so);
    status = s->dir_key_bytes ? key_of(s, any_stem, &key) : PACK_OK;
    if (status == PACK_OK && s->dir_key_bytes)
        *found = pack_mask_index_find(&s->images, key, true, &pair->of.image);
    return status == PACK_OK && !*found ? find_anywhere(s, look, pair, found) : status;
}

static void
keep_pair(struct pairs *pairs, const struct pair *pair)
{
    if (pairs->n < PACK_MASK_PAIRS_MAX)
        pairs->list[pairs->n++] = *pair;
}

/* Counts what belongs to an image; what does so without doubt is called a mask, in a note. */
static enum pack_status
take_pair(struct search *s, const struct look *look, const struct pair *pair)
{
    if (look->is_doubtful) {
        keep_pair(&s->doubtful, pair);
        s->n_doubtful++;
        return PACK_OK;
    }
    if (s->n_paired + s->n_beside == 0)
        s->first_pair = pair->of;
    if (look->in_folder)
        keep_pair(&s->in_folders, pair);
    s->n_paired += look->in_folder;
    s->n_beside += look->is_beside;
    return pack_source_note(s->source, PACK_NOTE_MASK,
                            s->source->records[pair->of.mask].name, s->err);
}

static enum pack_status
find_pairs(struct search *s)
{
    struct look look;
    enum pack_status status = PACK_OK;
    for (uint64_t i = s->first; status == PACK_OK && i < s->source->n_records; i++) {
        struct pair pair = { .of.mask = i };
        bool found = false;
        status = look_at(s, i, &look);
        if (status == PACK_OK && (look.in_folder || look.is_beside || look.is_doubtful))
            status = find_own(s, &look, &pair, &found);
        if (status == PACK_OK && found)
            status = take_pair(s, &look, &pair);
    }
    return status;
}

/* ---------------------------------------------------------------- evidence */

/* The bytes of the folders that the names of a pair have in common. */
static size_t
common_bytes(const struct search *s, const struct pack_mask_pair *pair)
{
    const char *a = s->source->records[pair->mask].name;
    const char *b = s->source->records[pair->image].name;
    size_t n = 0;
    for (size_t i = 0; a[i] && a[i] == b[i]; i++)
        if (a[i] == '/')
            n = i + 1;
    return n;
}

/* Whether, where the two folders of a pair part, all with images are of images or of masks:
 * one of another name would make these classes. Images may lie beside a folder of masks,
 * too. */
static bool
is_alone(const struct search *s, const struct pack_mask_pair *pair)
{
    const char *parent = s->source->records[pair->image].name;
    size_t n = common_bytes(s, pair);
    struct pack_mask_text folder, rest;
    enum pack_mask_folder kind;
    if (find_folder(s, parent + n, &folder, &kind, &rest) &&
        kind != PACK_MASK_FOLDER_IMAGES)
        return false;
    for (uint64_t i = s->first; i < s->source->n_records; i++) {
        const char *name = s->source->records[i].name;
        if (strncmp(name, parent, n) == 0 &&
            find_folder(s, name + n, &folder, &kind, &rest) &&
            kind == PACK_MASK_FOLDER_PLAIN)
            return false;
    }
    return true;
}

/* How much a file looks like numbers rather than a picture: 2 with a palette or few bits, 1
 * with one channel, 0 with colours, -1 when it cannot be told. */
static int
flatness(const struct search *s, uint64_t index)
{
    static const unsigned char png[] = "\x89PNG\r\n\x1a\n";
    enum { DEPTH = 24, COLOR, HEAD_BYTES, GRAY = 0, PALETTE = 3 };
    unsigned char head[HEAD_BYTES] = { 0 };
    int fd;
    if (pack_source_open_watched(s->source, index, &s->params->watch, &fd, NULL) != PACK_OK)
        return -1;
    ssize_t n;
    do
        n = read(fd, head, sizeof head);
    while (n < 0 && errno == EINTR);
    close(fd);
    if (n < (ssize_t)sizeof head)
        return -1;
    if (memcmp(head, png, sizeof png - 1) != 0)
        return 0;
    return head[COLOR] == PALETTE || head[DEPTH] < 8 ? 2 : head[COLOR] == GRAY;
}

static bool
is_flatter(const struct search *s, const struct pack_mask_pair *pair)
{
    int image = flatness(s, pair->image);
    return image >= 0 && flatness(s, pair->mask) > image;
}

/* Whether the first pairs show, each, that one is the other's mask. */
static enum pack_status
are_proven(const struct search *s, bool *proven)
{
    struct pack_mask_palette palette = { 0 };
    enum pack_status status = PACK_OK;
    *proven = s->in_folders.n > 0;
    for (size_t i = 0; i < s->in_folders.n && status == PACK_OK && *proven; i++) {
        const struct pair *pair = &s->in_folders.list[i];
        if (!pair->is_called_so && !is_alone(s, &pair->of) && !is_flatter(s, &pair->of))
            status = pack_mask_pixels_fit(s->source, pair->of, &s->params->watch, &palette,
                                          proven, s->err);
    }
    return status;
}

/* The same of what is called so in one data set, and otherwise in others. */
static enum pack_status
is_doubt_over(const struct search *s, bool *proven)
{
    struct pack_mask_palette palette = { 0 };
    enum pack_status status = PACK_OK;
    *proven = true;
    for (size_t i = 0; i < s->doubtful.n && status == PACK_OK && *proven; i++)
        status = pack_mask_pixels_fit(s->source, s->doubtful.list[i].of, &s->params->watch,
                                      &palette, proven, s->err);
    return status;
}

/* ---------------------------------------------------------------- judgement */

/* The folder of images that the path of one begins with, or "". */
static void
folder_of_images(const struct search *s, char folder[PATH_MAX])
{
    const struct pack_record *record = &s->source->records[s->first_pair.image];
    size_t prefix = s->source->roots[record->root].prefix_bytes;
    size_t common = common_bytes(s, &s->first_pair);
    const char *slash = strchr(record->name + common, '/');
    pack_source_path(s->source, s->first_pair.image, folder, PATH_MAX);
    size_t rest = slash ? strlen(slash) : 0, n = strlen(folder);
    /* what is in front of it holds other images, it may be */
    bool is_all = slash && (common == 0 || common < prefix);
    folder[is_all && n >= rest ? n - rest : 0] = '\0';
}

static enum pack_status
refuse(const struct search *s, uint64_t n)
{
    char path[PATH_MAX], folder[PATH_MAX], mask[PACK_NAME_TEXT_MAX], image[PACK_NAME_TEXT_MAX];
    pack_source_path(s->source, s->first_pair.mask, path, sizeof path);
    pack_name_text(path, mask);
    pack_source_path(s->source, s->first_pair.image, path, sizeof path);
    pack_name_text(path, image);
    folder_of_images(s, folder);
    if (*folder)
        return pack_fail_param(s->err, PACK_ERR_ARGUMENT, "masks_are_classes",
                               "%s, such as '%s' for '%s': masks, a label for each pixel, "
                               "are not packed; pack '%s' alone",
                               pack_counted(n, "mask", "masks").text, mask, image,
                               pack_name_text(folder, path));
    return pack_fail_param(s->err, PACK_ERR_ARGUMENT, "masks",
                           "%s, such as '%s' for '%s': masks, a label for each pixel, are "
                           "not packed; pack a list of the images alone",
                           pack_counted(n, "mask", "masks").text, mask, image);
}

/* A few are no data set with masks, whatever they are. */
static bool
is_quarter(const struct search *s, uint64_t n)
{
    return n > 0 && 4 * n >= s->source->n_records - s->first;
}

/* What is refused for its name, and for what its pixels show besides. */
static enum pack_status
judge(struct search *s)
{
    uint64_t n = 0;
    bool proven = is_quarter(s, s->n_beside);
    enum pack_status status = PACK_OK;
    if (!proven && 2 * s->n_paired > s->n_in_folders)
        status = are_proven(s, &proven);
    if (status == PACK_OK && proven)
        return refuse(s, s->n_paired + s->n_beside);
    if (status == PACK_OK && is_quarter(s, s->n_doubtful))
        status = is_doubt_over(s, &proven);
    if (status == PACK_OK && proven) {
        s->first_pair = s->doubtful.list[0].of;
        return refuse(s, s->n_doubtful);
    }
    if (status != PACK_OK)
        return status;
    status = pack_mask_folders_find(s->source, s->first, s->params, &s->first_pair, &n,
                                    s->err);
    return status == PACK_OK && n ? refuse(s, n) : status;
}

enum pack_status
pack_source_check_masks(struct pack_source *source, uint64_t first,
                        const struct pack_source_params *params, struct pack_error *err)
{
    struct search s = { .source = source, .params = params, .first = first, .err = err };
    bool found;
    if (params->masks_are_classes)
        return PACK_OK;
    enum pack_status status = find_candidates(&s, &found);
    if (status == PACK_OK && found)
        status = collect_images(&s);
    if (status == PACK_OK && found)
        status = find_pairs(&s);
    if (status == PACK_OK && !params->no_labels)
        status = judge(&s);
    pack_mask_index_done(&s.images);
    pack_buf_done(&s.key);
    return status;
}
