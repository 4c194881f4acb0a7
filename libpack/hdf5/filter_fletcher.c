/* Fletcher32: a checksum behind the bytes. */
#include "libpack/hdf5/filter_parts.h"

#include <string.h>

enum { FLETCHER_BYTES = 4 };

static size_t
fletcher_bound(size_t size)
{
    return size <= SIZE_MAX - FLETCHER_BYTES ? size + FLETCHER_BYTES : 0;
}

/* The end-around carry of one's complement addition. */
static uint32_t
fold(uint32_t sum)
{
    return (sum & 0xffff) + (sum >> 16);
}

/*
 * Fletcher's checksum over big-endian 16-bit words as H5_checksum_fletcher32 computes it:
 * sums are folded every 360 words, before they can overflow 32 bits.
 */
static uint32_t
fletcher32(const unsigned char *data, size_t size)
{
    uint32_t a = 0, b = 0;
    size_t words = size / 2;
    while (words > 0) {
        size_t run = words < 360 ? words : 360;
        words -= run;
        for (; run > 0; run--, data += 2) {
            a += (uint32_t)data[0] << 8 | data[1];
            b += a;
        }
        a = fold(a);
        b = fold(b);
    }
    if (size % 2) {
        a += (uint32_t)*data << 8;
        b += a;
        a = fold(a);
        b = fold(b);
    }
    return fold(b) << 16 | fold(a);
}

static enum pack_status
fletcher_encode(void **state, const struct pack_filter *filter, struct pack_block in,
                struct pack_block_room to, struct pack_block *out, struct pack_error *err)
{
    (void)state, (void)filter, (void)err;
    uint32_t sum = fletcher32(in.data, in.size);
    memcpy(to.data, in.data, in.size);
    for (int i = 0; i < FLETCHER_BYTES; i++)
        to.data[in.size + (size_t)i] = (unsigned char)(sum >> (8 * i));
    *out = (struct pack_block){ to.data, in.size + FLETCHER_BYTES };
    return PACK_OK;
}

/* HDF5 also accepts what its release 1.6.2 wrote on little-endian machines: the bytes of
 * each half of the sum exchanged. */
static enum pack_status
fletcher_decode(void **state, const struct pack_filter *filter, struct pack_block in,
                struct pack_block_room to, struct pack_block *out, struct pack_error *err)
{
    (void)state, (void)filter, (void)to;
    if (in.size < FLETCHER_BYTES)
        return pack_fail(err, PACK_ERR_FORMAT, "too short for its checksum");
    size_t size = in.size - FLETCHER_BYTES;
    const unsigned char *tail = in.data + size;
    uint32_t stored = (uint32_t)tail[0] | (uint32_t)tail[1] << 8 |
                      (uint32_t)tail[2] << 16 | (uint32_t)tail[3] << 24;
    uint32_t sum = fletcher32(in.data, size);
    uint32_t swapped = (sum & 0x00ff00ff) << 8 | (sum & 0xff00ff00) >> 8;
    if (stored != sum && stored != swapped)
        return pack_fail(err, PACK_ERR_FORMAT,
                         "fletcher32 checksum is %08x, should be %08x", stored, sum);
    *out = (struct pack_block){ in.data, size };
    return PACK_OK;
}

const struct pack_filter_codec pack_filter_fletcher = {
    .id = PACK_FILTER_FLETCHER32,
    .bound = fletcher_bound,
    .encode = fletcher_encode,
    .decode = fletcher_decode,
};
