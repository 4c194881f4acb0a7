/*
 * Plugins allocate what a chunk's header says, without a look at the dataset. Where sizes are:
 *
 *     blosc        version, its codec's, flags, type, then 4 bytes each, the lowest first:
 *                  decoded, block, stored
 *     lz4          8 bytes, the highest first: decoded; 4: block
 *     bitshuffle   the same, where it compresses; else there is no header
 *     blosc2       a frame of chunks: its header's size at 11, of all chunks decoded at 30 and of
 *                  one at 53, the highest byte first; then the only chunk, with blosc's header.
 *                  What else is in it, a table of chunks and a shape, is the plugin's to check
 *
 * After README_CHUNK_FORMAT of c-blosc, README_CFRAME_FORMAT of c-blosc2, and the sources of
 * the filters.
 */
#include "libpack/hdf5/filter_claims.h"

#include <stdbool.h>
#include <stdint.h>

enum { BLOSC_HEADER = 16, DIMENSIONS_MAX = 16 };

struct claim {
    uint64_t decoded, stored; /* bytes; 0: it does not say */
    unsigned doubled;         /* times that `decoded` may be twice as much */
};

static uint64_t
read_big(const unsigned char *at, int n)
{
    uint64_t value = 0;
    for (int i = 0; i < n; i++)
        value = value << 8 | at[i];
    return value;
}

static uint64_t
read_little(const unsigned char *at, int n)
{
    uint64_t value = 0;
    for (int i = n - 1; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

static uint64_t
max_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static struct claim
blosc_claim(const struct pack_filter *filter, struct pack_block in)
{
    (void)filter;
    return (struct claim){ .decoded = read_little(in.data + 4, 4),
                           .stored = read_little(in.data + 12, 4) };
}

static struct claim
lz4_claim(const struct pack_filter *filter, struct pack_block in)
{
    (void)filter;
    return (struct claim){ .decoded = read_big(in.data, 8) };
}

static struct claim
blosc2_claim(const struct pack_filter *filter, struct pack_block in)
{
    struct claim claim = { .decoded = read_big(in.data + 30, 8) };
    uint64_t chunk = read_big(in.data + 11, 4);
    claim.decoded = max_of(claim.decoded, read_big(in.data + 53, 4));
    if (chunk <= in.size - BLOSC_HEADER)
        claim.decoded = max_of(claim.decoded, read_little(in.data + chunk + 4, 4));
    if (filter->n_cd > 3) /* what it allocates where there is a shape */
        claim.decoded = max_of(claim.decoded, filter->cd[3]);
    if (filter->n_cd > 7)
        claim.doubled = filter->cd[7] < DIMENSIONS_MAX ? filter->cd[7] : DIMENSIONS_MAX;
    return claim;
}

/* Values of bitshuffle: two versions, size of an element, block, codec. */
static bool
bitshuffle_has_header(const struct pack_filter *filter)
{
    return filter->n_cd > 4 && (filter->cd[4] == 2 || filter->cd[4] == 3);
}

static const struct format {
    uint32_t id;
    size_t header_bytes;
    struct claim (*read)(const struct pack_filter *filter, struct pack_block in);
    bool (*has_header)(const struct pack_filter *filter); /* NULL: always */
} formats[] = {
    { 32001, BLOSC_HEADER, blosc_claim, NULL },
    { 32004, 12, lz4_claim, NULL },
    { 32008, 12, lz4_claim, bitshuffle_has_header },
    { 32026, 87, blosc2_claim, NULL },
};

static enum pack_status
check(const struct format *format, const struct pack_filter *filter, struct pack_block in,
      size_t most, struct pack_error *err)
{
    const char *name = pack_filter_name(filter->id);
    struct claim claim = { .stored = format->header_bytes };
    if (in.size >= format->header_bytes)
        claim = format->read(filter, in);
    if (claim.stored > in.size)
        return pack_fail(err, PACK_ERR_FORMAT,
                         "filter %u (%s) stored %llu bytes, of which %zu are there",
                         (unsigned)filter->id, name, (unsigned long long)claim.stored, in.size);
    if (claim.decoded >> claim.doubled > most)
        return pack_fail(err, PACK_ERR_FORMAT,
                         "filter %u (%s) says that it decodes to %llu bytes, of %zu at most",
                         (unsigned)filter->id, name, (unsigned long long)claim.decoded, most);
    return PACK_OK;
}

enum pack_status
pack_claims_check(const struct pack_filter *filter, struct pack_block in, size_t most,
                  struct pack_error *err)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].id == filter->id &&
            (!formats[i].has_header || formats[i].has_header(filter)))
            return check(&formats[i], filter, in, most, err);
    return PACK_OK;
}
