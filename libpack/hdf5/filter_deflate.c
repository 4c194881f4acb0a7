/* Deflate, which HDF5 calls gzip: zlib, with the limit that HDF5 sets to its output. */
#include "libpack/hdf5/filter_parts.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct deflate_state {
    z_stream deflate, inflate;
    int level; /* of the initialised stream, -1: none */
    bool has_inflate;
};

/* What H5Z_filter_deflate allows for its output: more than that is a failure. */
static size_t
deflate_limit(size_t size)
{
    return (size_t)ceil((double)size * (double)1.001f) + 12;
}

static size_t
deflate_bound(size_t size)
{
    if (size > SIZE_MAX / 2)
        return 0;
    size_t own = compressBound(size), theirs = deflate_limit(size);
    return own > theirs ? own : theirs;
}

static uInt
at_most_uint(size_t size)
{
    return size > UINT_MAX ? UINT_MAX : (uInt)size;
}

static struct deflate_state *
deflate_of(void **state)
{
    if (*state)
        return *state;
    struct deflate_state *own = calloc(1, sizeof *own);
    if (own)
        own->level = -1;
    return *state = own;
}

static enum pack_status
deflate_start(struct deflate_state *own, int level, struct pack_error *err)
{
    if (own->level == level && deflateReset(&own->deflate) == Z_OK)
        return PACK_OK;
    if (own->level >= 0)
        deflateEnd(&own->deflate);
    own->level = -1;
    memset(&own->deflate, 0, sizeof own->deflate);
    if (deflateInit(&own->deflate, level) != Z_OK)
        return pack_fail_memory(err, "deflate");
    own->level = level;
    return PACK_OK;
}

static enum pack_status
inflate_start(struct deflate_state *own, struct pack_error *err)
{
    if (own->has_inflate) {
        inflateReset(&own->inflate);
        return PACK_OK;
    }
    memset(&own->inflate, 0, sizeof own->inflate);
    if (inflateInit(&own->inflate) != Z_OK)
        return pack_fail_memory(err, "inflate");
    own->has_inflate = true;
    return PACK_OK;
}

/* Feeds zlib's 32-bit counters until `run` says something other than Z_OK. */
static int
pump(z_stream *stream, struct pack_block in, struct pack_block_room to, bool encode,
     size_t *put)
{
    size_t in_left = in.size, room = to.capacity;
    int result;
    stream->next_in = (Bytef *)(uintptr_t)in.data; /* zlib does not write there */
    stream->avail_in = 0;
    stream->next_out = to.data;
    stream->avail_out = 0;
    do {
        if (stream->avail_in == 0) {
            stream->avail_in = at_most_uint(in_left);
            in_left -= stream->avail_in;
        }
        if (stream->avail_out == 0) {
            stream->avail_out = at_most_uint(room);
            room -= stream->avail_out;
        }
        result = encode ? deflate(stream, in_left ? Z_NO_FLUSH : Z_FINISH)
                        : inflate(stream, Z_SYNC_FLUSH);
    } while (result == Z_OK);
    *put = to.capacity - room - stream->avail_out;
    return result;
}

static enum pack_status
deflate_encode(void **state, const struct pack_filter *filter, struct pack_block in,
               struct pack_block_room to, struct pack_block *out, struct pack_error *err)
{
    if (filter->n_cd != 1 || filter->cd[0] > 9)
        return pack_fail(err, PACK_ERR_ARGUMENT, "gzip level is not 0 to 9");
    struct deflate_state *own = deflate_of(state);
    if (!own)
        return pack_fail_memory(err, "deflate");
    enum pack_status status = deflate_start(own, (int)filter->cd[0], err);
    if (status)
        return status;
    size_t size;
    to.capacity = deflate_limit(in.size);
    if (pump(&own->deflate, in, to, true, &size) != Z_STREAM_END)
        return pack_fail(err, PACK_ERR_LIMIT, "gzip makes %zu bytes larger than %zu",
                         in.size, to.capacity);
    *out = (struct pack_block){ to.data, size };
    return PACK_OK;
}

static enum pack_status
deflate_decode(void **state, const struct pack_filter *filter, struct pack_block in,
               struct pack_block_room to, struct pack_block *out, struct pack_error *err)
{
    (void)filter;
    struct deflate_state *own = deflate_of(state);
    if (!own)
        return pack_fail_memory(err, "inflate");
    enum pack_status status = inflate_start(own, err);
    if (status)
        return status;
    size_t size;
    int result = pump(&own->inflate, in, to, false, &size);
    if (result == Z_MEM_ERROR)
        return pack_fail_memory(err, "inflate");
    if (result == Z_BUF_ERROR && size == to.capacity)
        return pack_fail(err, PACK_ERR_FORMAT, "gzip data decodes to more than %zu bytes",
                         to.capacity);
    if (result != Z_STREAM_END)
        return pack_fail(err, PACK_ERR_FORMAT, "gzip data is damaged: %s",
                         result == Z_BUF_ERROR ? "it ends too early"
                         : own->inflate.msg    ? own->inflate.msg
                                               : "not a zlib stream");
    *out = (struct pack_block){ to.data, size };
    return PACK_OK;
}

static void
deflate_free(void *state)
{
    struct deflate_state *own = state;
    if (own->level >= 0)
        deflateEnd(&own->deflate);
    if (own->has_inflate)
        inflateEnd(&own->inflate);
    free(own);
}

const struct pack_filter_codec pack_filter_deflate = {
    .id = PACK_FILTER_DEFLATE,
    .bound = deflate_bound,
    .encode = deflate_encode,
    .decode = deflate_decode,
    .free_state = deflate_free,
};
