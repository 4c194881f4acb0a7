/* Headers that lie anywhere in a file, read where they are: what a file too large for the
 * memory at hand would take is known before any more of it is read. */
#ifndef LIBPACK_PROBE_H
#define LIBPACK_PROBE_H

#include <libpack/image.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An encoded file of `size` bytes, anywhere. */
struct pack_image_reader {
    uint64_t size;
    /* How many of n bytes from `offset` on were read; fewer at the end and on failure. */
    size_t (*read_at)(void *context, void *to, size_t n, uint64_t offset);
    void *context;
    bool is_beginning; /* more of the file may follow, which is not at hand */
};

/* What lies in memory, a beginning at least; the bytes stay the caller's, and so does `reader`,
 * the context. */
struct pack_image_memory {
    struct pack_image_reader reader;
    const uint8_t *data;
};

void pack_image_memory_init(struct pack_image_memory *memory, const void *data, size_t size);

/* Whether a file that begins so has headers that need not be at its beginning (TIFF). */
bool pack_image_is_scattered(const void *head, size_t size);

/* What probing such a file takes, itself found without taking any. Errors as
 * pack_image_probe(). */
enum pack_status pack_image_probe_bytes(const struct pack_image_reader *reader,
                                        const struct pack_image_params *params,
                                        uint64_t *bytes, struct pack_error *err);

/* As pack_image_probe(), of such a file. */
enum pack_status pack_image_probe_at(const struct pack_image_reader *reader,
                                     const struct pack_image_params *params,
                                     struct pack_image_info *info,
                                     struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
