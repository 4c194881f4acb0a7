/*
 * LZF, as h5py writes it: decoded only. A stream of instructions, each a byte:
 *
 *     000lllll            copy the next l + 1 bytes
 *     llloooooo oooooooo  copy l + 2 bytes from o + 1 bytes back (l 1 to 6), which may
 *                         overlap what is being written; l 7: a byte in between adds to l
 *
 * After liblzf 3.6 (Marc Lehmann) and the format that it describes.
 */
#include "libpack/hdf5/filter_parts.h"

#include <string.h>

/* h5py stores what does not get smaller as it is, and says so in the mask. */
static size_t
lzf_bound(size_t size)
{
    return size;
}

/* Copies from `back` bytes before `to`, byte by byte where the two overlap. */
static void
repeat(unsigned char *to, size_t back, size_t n)
{
    if (back >= n) {
        memcpy(to, to - back, n);
        return;
    }
    for (const unsigned char *from = to - back; n > 0; n--)
        *to++ = *from++;
}

/* The bytes decoded; SIZE_MAX when the stream ends within an instruction, copies from in
 * front of its output, or makes more than there is room for. */
static size_t
decode_stream(struct pack_block in, struct pack_block_room to)
{
    size_t at = 0, put = 0;
    while (at < in.size) {
        size_t op = in.data[at++], n = op >> 5, back;
        if (n == 0) {
            n = op + 1;
            if (n > in.size - at || n > to.capacity - put)
                return SIZE_MAX;
            memcpy(to.data + put, in.data + at, n);
            at += n;
        } else {
            if (n == 7 && at < in.size)
                n += in.data[at++];
            if (at == in.size)
                return SIZE_MAX;
            back = ((op & 0x1f) << 8) + in.data[at++] + 1;
            n += 2;
            if (back > put || n > to.capacity - put)
                return SIZE_MAX;
            repeat(to.data + put, back, n);
        }
        put += n;
    }
    return put;
}

static enum pack_status
lzf_decode(void **state, const struct pack_filter *filter, struct pack_block in,
           struct pack_block_room to, struct pack_block *out, struct pack_error *err)
{
    (void)state, (void)filter;
    size_t size = decode_stream(in, to);
    if (size == SIZE_MAX)
        return pack_fail(err, PACK_ERR_FORMAT, "lzf data is damaged");
    *out = (struct pack_block){ to.data, size };
    return PACK_OK;
}

const struct pack_filter_codec pack_filter_lzf = {
    .id = PACK_FILTER_LZF,
    .bound = lzf_bound,
    .decode = lzf_decode,
};
