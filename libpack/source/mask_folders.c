/*
 * photos/1.jpg and colours/1.png, of which the folders' names tell nothing. Classes may
 * number their images alike, one may be of drawings, and both may have as many: what they
 * have not is the same size in each pair, and a few colours that all drawings share.
 */
#include "libpack/source/mask_folders.h"

#include <string.h>

#include "libpack/base/checksum.h"
#include "libpack/source/mask_index.h"
#include "libpack/source/mask_names.h"

enum { MASKS_MIN = 3 };

/* A folder, by the first of its images' names. */
struct folder {
    struct pack_mask_text name;
    uint64_t n;
    bool is_png; /* all of them */
};

/* Whether a record's name begins with the folder's. */
static bool
is_in(const struct folder *folder, const char *name)
{
    return strncmp(name, folder->name.at, folder->name.n) == 0 &&
           name[folder->name.n] == '/';
}

static bool
is_png(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && strcasecmp(dot, ".png") == 0;
}

static bool
is_class(const struct pack_source_params *params, const struct folder *folder)
{
    for (size_t i = 0; i < params->n_classes; i++)
        if (strncmp(params->classes[i], folder->name.at, folder->name.n) == 0 &&
            params->classes[i][folder->name.n] == '\0')
            return true;
    return false;
}

/* False unless all images are in two folders. */
static bool
find_two(const struct pack_source *source, uint64_t first, struct folder folders[2])
{
    int n = 0, k;
    for (uint64_t i = first; i < source->n_records; i++) {
        const char *name = source->records[i].name, *slash = strchr(name, '/');
        for (k = 0; k < n && !is_in(&folders[k], name); k++)
            ;
        if (!slash || k == 2)
            return false;
        if (k == n)
            folders[n++] = (struct folder){ { name, (size_t)(slash - name) }, 0, true };
        folders[k].n++;
        folders[k].is_png &= is_png(name);
    }
    return n == 2;
}

static uint64_t
key_of(struct pack_mask_text name)
{
    return pack_checksum(name.at, name.n, 0);
}

/* What is behind the folder in a name: path and file, without extension. */
static struct pack_mask_text
rest_of(const struct folder *folder, const char *name)
{
    const char *rest = name + folder->name.n + 1, *slash = strrchr(rest, '/');
    const char *file = slash ? slash + 1 : rest, *dot = strrchr(file, '.');
    const char *end = dot && dot > file ? dot : file + strlen(file);
    return (struct pack_mask_text){ rest, (size_t)(end - rest) };
}

static enum pack_status
collect(const struct pack_source *source, uint64_t first, const struct folder *folder,
        struct pack_mask_index *images, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (uint64_t i = first; status == PACK_OK && i < source->n_records; i++)
        if (is_in(folder, source->records[i].name))
            status = pack_mask_index_add(
                images, key_of(rest_of(folder, source->records[i].name)), i, err);
    pack_mask_index_sort(images);
    return status;
}

/* The image that a mask is called as, also without words such as "_L" behind its name; only
 * those at its end, since what is in front belongs to the path. */
static bool
find_own(const struct pack_mask_index *images, struct pack_mask_text rest, uint64_t *own)
{
    struct pack_mask_text stem = rest;
    bool found = pack_mask_index_find(images, key_of(rest), false, own);
    while (!found && pack_mask_strip(&stem, true) && stem.at == rest.at)
        found = pack_mask_index_find(images, key_of(stem), false, own);
    return found;
}

/* The pairs that are looked into, spread over all; false when a mask has no image. */
static bool
pair_up(const struct pack_source *source, uint64_t first, const struct folder *masks,
        const struct pack_mask_index *images, struct pack_mask_pair pairs[PACK_MASK_PAIRS_MAX],
        size_t *n)
{
    uint64_t n_met = 0, own;
    *n = 0;
    for (uint64_t i = first; i < source->n_records; i++) {
        const char *name = source->records[i].name;
        if (!is_in(masks, name))
            continue;
        if (!find_own(images, rest_of(masks, name), &own))
            return false;
        if (n_met++ * PACK_MASK_PAIRS_MAX >= *n * masks->n && *n < PACK_MASK_PAIRS_MAX)
            pairs[(*n)++] = (struct pack_mask_pair){ i, own };
    }
    return true;
}

static enum pack_status
are_masks(const struct pack_source *source, uint64_t first,
          const struct pack_source_params *params, const struct folder *masks,
          const struct folder *images, struct pack_mask_pair *pair, bool *found,
          struct pack_error *err)
{
    struct pack_mask_pair pairs[PACK_MASK_PAIRS_MAX];
    struct pack_mask_palette palette = { 0 };
    struct pack_mask_index index = { 0 };
    size_t n = 0;
    *found = false;
    if (!masks->is_png || masks->n < MASKS_MIN || masks->n > images->n ||
        is_class(params, masks))
        return PACK_OK;
    enum pack_status status = collect(source, first, images, &index, err);
    *found = status == PACK_OK && pair_up(source, first, masks, &index, pairs, &n);
    pack_mask_index_done(&index);
    for (size_t i = 0; status == PACK_OK && *found && i < n; i++)
        status = pack_mask_pixels_fit(source, pairs[i], &params->watch, &palette, found, err);
    if (status == PACK_OK && *found)
        *pair = pairs[0];
    return status;
}

enum pack_status
pack_mask_folders_find(const struct pack_source *source, uint64_t first,
                       const struct pack_source_params *params,
                       struct pack_mask_pair *pair, uint64_t *n, struct pack_error *err)
{
    struct folder folders[2];
    enum pack_status status = PACK_OK;
    bool found = false;
    *n = 0;
    if (!find_two(source, first, folders))
        return PACK_OK;
    for (int i = 0; i < 2 && status == PACK_OK && !found; i++) {
        status = are_masks(source, first, params, &folders[i], &folders[!i], pair, &found,
                           err);
        *n = found ? folders[i].n : 0;
    }
    return status;
}
