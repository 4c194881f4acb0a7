/*
 * Words of data sets as they are distributed: VOC, Cityscapes, nnU-Net, CamVid, Carvana,
 * DeepGlobe, KITTI, ISIC, Oxford's pets.
 */
#include "libpack/source/mask_names.h"

#include <string.h>

static bool
is_one_of(const char *text, size_t n, const char *const *words)
{
    for (; *words; words++)
        if (strncasecmp(text, *words, n) == 0 && (*words)[n] == '\0')
            return true;
    return false;
}

/* Of folders that hold nothing else, and of a word among others in their names. */
static const char *const image_words[] = { "image", "images", "img", "imgs", NULL };
static const char *const mask_words[] = { "mask",       "masks",        "label",
                                          "labels",     "annotation",   "annotations",
                                          "annot",      "gt",           "groundtruth",
                                          "seg",        "segmentation", "segmentations",
                                          "labelmap",   "labelmaps",    "semantic",
                                          NULL };

static bool
is_of_images(const char *folder, size_t n)
{
    static const char *const words[] = { "jpegimages",  "imagestr", "imagests",
                                         "leftimg8bit", NULL };
    return is_one_of(folder, n, words) || is_one_of(folder, n, image_words);
}

static bool
is_of_masks(const char *folder, size_t n)
{
    static const char *const words[] = { "ground_truth",
                                         "label_map",
                                         "label_maps",
                                         "labelstr",
                                         "labelsts",
                                         "gtfine",
                                         "gtcoarse",
                                         "target",
                                         "targets",
                                         "segmentationclass",
                                         "segmentationobject",
                                         "segmentationclassaug",
                                         "trimaps",
                                         "semantic_rgb",
                                         "instance",
                                         "instances",
                                         NULL };
    return is_one_of(folder, n, words) || is_one_of(folder, n, mask_words);
}

/* Bytes behind the last separator in front of `end`; all where there is none. */
static size_t
last_word(const char *text, size_t end, const char *separators)
{
    size_t at = end;
    while (at > 0 && !strchr(separators, text[at - 1]))
        at--;
    return end - at;
}

static size_t
first_word(const struct pack_mask_text *text)
{
    size_t n = 0;
    while (n < text->n && !strchr("_-", text->at[n]))
        n++;
    return n;
}

/* Takes one of the words from the end or the beginning of several. */
static bool
strip_word(struct pack_mask_text *text, const char *const *words)
{
    size_t behind = last_word(text->at, text->n, "_-"), front = first_word(text);
    if (behind + 1 < text->n && is_one_of(text->at + text->n - behind, behind, words)) {
        text->n -= behind + 1;
        return true;
    }
    if (front + 1 < text->n && is_one_of(text->at, front, words)) {
        text->at += front + 1;
        text->n -= front + 1;
        return true;
    }
    return false;
}

static bool
is_digits(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return true;
}

/* CamVid's trainannot: a word of masks right behind the name of a split. */
static bool
strip_glued(struct pack_mask_text *text)
{
    static const char *const splits[] = { "train",      "training", "val",     "valid",
                                          "validation", "test",     "testing", NULL };
    for (size_t n = text->n; n > 0; n--)
        if (is_one_of(text->at, n, splits) &&
            is_one_of(text->at + n, text->n - n, mask_words)) {
            text->n = n;
            return true;
        }
    return false;
}

enum pack_mask_folder
pack_mask_folder(struct pack_mask_text folder, struct pack_mask_text *rest)
{
    bool of_masks = is_of_masks(folder.at, folder.n);
    *rest = folder;
    if (of_masks || is_of_images(folder.at, folder.n)) {
        rest->n = 0;
        return of_masks ? PACK_MASK_FOLDER_MASKS : PACK_MASK_FOLDER_IMAGES;
    }
    if (strip_word(rest, mask_words) || strip_glued(rest))
        return PACK_MASK_FOLDER_MASKS;
    if (!strip_word(rest, image_words))
        return PACK_MASK_FOLDER_PLAIN;
    if (is_digits(rest->at, rest->n)) /* KITTI's image_2: the left camera */
        rest->n = 0;
    return PACK_MASK_FOLDER_IMAGES;
}

bool
pack_mask_strip(struct pack_mask_text *stem, bool in_folder)
{
    static const char *const words[] = { "mask",  "masks",    "seg",      "segmentation",
                                         "gt",    "label",    "labels",   "groundtruth",
                                         "annot", "labelids", "annotation", NULL };
    static const char *const kinds[] = { "gtfine",  "gtcoarse",      "instanceids",
                                         "color",   "labeltrainids", "l",
                                         NULL };
    const char *text = stem->at;
    size_t end = stem->n, front = first_word(stem);
    while (end > 0 && is_digits(text + end - 1, 1))
        end--;
    end = end < stem->n && end > 0 && strchr("_-", text[end - 1]) ? end - 1 : stem->n;
    size_t n = last_word(text, end, "_-.");
    if (n + 1 < end && (is_one_of(text + end - n, n, words) ||
                        (in_folder && is_one_of(text + end - n, n, kinds)))) {
        stem->n = end - n - 1;
        return true;
    }
    if (front + 1 >= stem->n || !is_one_of(text, front, words))
        return false;
    stem->at += front + 1;
    stem->n -= front + 1;
    return true;
}

bool
pack_mask_strip_image(struct pack_mask_text *stem, bool in_folder)
{
    static const char *const words[] = { "image", "img", "leftimg8bit", "rgb", "sat", NULL };
    size_t n = last_word(stem->at, stem->n, "_-");
    const char *word = stem->at + stem->n - n;
    bool is_channel = in_folder && n == 4 && is_digits(word, n);
    if (n + 1 >= stem->n || (!is_channel && !is_one_of(word, n, words)))
        return false;
    stem->n -= n + 1;
    return true;
}
