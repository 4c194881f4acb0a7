/* Reads COCO's annotations as a list: images with the first category of each. */
#ifndef LIBPACK_LIST_COCO_H
#define LIBPACK_LIST_COCO_H

#include "libpack/source/list_rows.h"
#include "libpack/source/records.h"

/*
 * Fills `list` (zeroed) from the head and what follows it in `file`: a JSON object with
 * `images` (id, file_name), `annotations` (image_id, category_id) and `categories` (id,
 * name), in any order; what else is in it is passed over. Classes are the categories in
 * the order of their ids. Images without annotations have no label; without `annotations`
 * none has. Column `image_id` is kept. list->taken says what was read.
 *
 * Memory: that of the list and, while it is read, up to 150 bytes for each image that is
 * listed or annotated; none for the annotations themselves.
 *
 * PACK_ERR_FORMAT for what is no such object, for annotations that do not name one
 * category each (captions, panoptic segments), and for ids that come twice.
 */
enum pack_status pack_coco_read(FILE *file, const char *name,
                                const struct pack_list_head *head,
                                const struct pack_list_params *params,
                                struct pack_list *list, struct pack_error *err);

#endif
