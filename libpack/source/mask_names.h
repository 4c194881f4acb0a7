/* What the names of segmentation masks have of their own, and what of the images'. */
#ifndef LIBPACK_MASK_NAMES_H
#define LIBPACK_MASK_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* A part of a name. */
struct pack_mask_text {
    const char *at;
    size_t n;
};

enum pack_mask_folder {
    PACK_MASK_FOLDER_PLAIN = 0,
    PACK_MASK_FOLDER_IMAGES,
    PACK_MASK_FOLDER_MASKS
};

/* What a folder is called as; *rest is what the two have in common then: nothing of "masks"
 * and "images", "train" of "train_masks" and "train_images", all of a plain name. */
enum pack_mask_folder pack_mask_folder(struct pack_mask_text folder,
                                       struct pack_mask_text *rest);

/* Takes from a file's name without extension one of the words that say that it is a mask:
 * "1" of "1_mask", "1-seg", "1_mask_2" and "mask_1"; `in_folder` of masks also such as say
 * of which kind. False when there is none, or nothing else. */
bool pack_mask_strip(struct pack_mask_text *stem, bool in_folder);

/* The same of what tells images from their masks: "1" of "1_leftImg8bit" and "1_sat";
 * `in_folder` of images also "1_0000", nnU-Net's number of a channel. */
bool pack_mask_strip_image(struct pack_mask_text *stem, bool in_folder);

#endif
