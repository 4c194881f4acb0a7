/* Shuffle: all first bytes of the elements, all second bytes, and so on, which packs
 * better. A remainder stays at the end. */
#include "libpack/hdf5/filter_parts.h"

#include <string.h>

static size_t
shuffle_bound(size_t size)
{
    return size;
}

/* 0: this block stays as it is. */
static size_t
shuffle_width(const struct pack_filter *filter, size_t size)
{
    size_t width = filter->cd[0];
    return width > 1 && size / width > 1 ? width : 0;
}

static enum pack_status
shuffle(const struct pack_filter *filter, struct pack_block in, struct pack_block_room to,
        bool encode, struct pack_block *out, struct pack_error *err)
{
    if (filter->n_cd != 1 || filter->cd[0] == 0)
        return pack_fail(err, PACK_ERR_ARGUMENT, "shuffle without an element size");
    if (in.size > to.capacity)
        return pack_fail(err, PACK_ERR_FORMAT,
                         "%zu bytes to shuffle, at most %zu expected", in.size,
                         to.capacity);
    *out = in;
    size_t width = shuffle_width(filter, in.size);
    if (width == 0)
        return PACK_OK;
    size_t n = in.size / width;
    for (size_t k = 0; k < width && encode; k++)
        for (size_t i = 0; i < n; i++)
            to.data[k * n + i] = in.data[i * width + k];
    for (size_t k = 0; k < width && !encode; k++)
        for (size_t i = 0; i < n; i++)
            to.data[i * width + k] = in.data[k * n + i];
    memcpy(to.data + n * width, in.data + n * width, in.size - n * width);
    *out = (struct pack_block){ to.data, in.size };
    return PACK_OK;
}

static enum pack_status
shuffle_encode(void **state, const struct pack_filter *filter, struct pack_block in,
               struct pack_block_room to, struct pack_block *out, struct pack_error *err)
{
    (void)state;
    return shuffle(filter, in, to, true, out, err);
}

static enum pack_status
shuffle_decode(void **state, const struct pack_filter *filter, struct pack_block in,
               struct pack_block_room to, struct pack_block *out, struct pack_error *err)
{
    (void)state;
    return shuffle(filter, in, to, false, out, err);
}

const struct pack_filter_codec pack_filter_shuffle = {
    .id = PACK_FILTER_SHUFFLE,
    .bound = shuffle_bound,
    .encode = shuffle_encode,
    .decode = shuffle_decode,
};
