/* Only what a codec's own probe_at() reads is read; see image_tiff_walk.c. */
#include "libpack/image/probe.h"

#include <string.h>

#include "libpack/image/image_parts.h"

enum { SIGNATURE_BYTES = 16 };

static const struct pack_image_params default_params;

static size_t
read_memory(void *context, void *to, size_t n, uint64_t offset)
{
    const struct pack_image_memory *memory = context;
    uint64_t left = offset < memory->reader.size ? memory->reader.size - offset : 0;
    size_t bytes = n < left ? n : (size_t)left;
    if (bytes)
        memcpy(to, memory->data + offset, bytes);
    return bytes;
}

void
pack_image_memory_init(struct pack_image_memory *memory, const void *data, size_t size)
{
    *memory = (struct pack_image_memory){
        .reader = { .size = size,
                    .read_at = read_memory,
                    .context = memory,
                    .is_beginning = true },
        .data = data,
    };
}

bool
pack_image_is_scattered(const void *head, size_t size)
{
    const struct pack_image_codec *codec = pack_image_codec_of(head, size);
    return codec && codec->probe_at;
}

/* NULL: of no format that is probed so. */
static const struct pack_image_codec *
codec_at(const struct pack_image_reader *reader, struct pack_error *err)
{
    uint8_t head[SIGNATURE_BYTES];
    size_t got = reader->read_at(reader->context, head, sizeof head, 0);
    const struct pack_image_codec *codec = pack_image_codec_of(head, got);
    if (codec && codec->probe_at)
        return codec;
    pack_fail(err, PACK_ERR_UNSUPPORTED, "not an image whose headers lie anywhere");
    return NULL;
}

enum pack_status
pack_image_probe_bytes(const struct pack_image_reader *reader,
                       const struct pack_image_params *params, uint64_t *bytes,
                       struct pack_error *err)
{
    const struct pack_image_codec *codec = codec_at(reader, err);
    return codec ? codec->probe_bytes(reader, params ? params : &default_params,
                                      bytes, err)
                 : PACK_ERR_UNSUPPORTED;
}

enum pack_status
pack_image_probe_at(const struct pack_image_reader *reader,
                    const struct pack_image_params *params, struct pack_image_info *info,
                    struct pack_error *err)
{
    const struct pack_image_codec *codec = codec_at(reader, err);
    if (!codec)
        return PACK_ERR_UNSUPPORTED;
    struct pack_image_info found = { .format = codec->format, .orientation = 1 };
    enum pack_status status =
        codec->probe_at(reader, params ? params : &default_params, &found, err);
    if (status == PACK_OK)
        *info = found;
    return status;
}
