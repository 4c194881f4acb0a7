#include "libpack/base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
pack_buf_init(struct pack_buf *buf, size_t max)
{
    *buf = (struct pack_buf){ .max = max };
}

void
pack_buf_done(struct pack_buf *buf)
{
    free(buf->data);
    *buf = (struct pack_buf){ .max = buf->max };
}

enum pack_status
pack_buf_reserve(struct pack_buf *buf, size_t more, struct pack_error *err)
{
    size_t max = buf->max ? buf->max : SIZE_MAX / 2;
    if (more > max || buf->size > max - more)
        return pack_fail(err, PACK_ERR_LIMIT, "more than %zu bytes", max);
    size_t need = buf->size + more;
    if (need <= buf->capacity)
        return PACK_OK;
    size_t capacity = buf->capacity < 256 ? 256 : buf->capacity;
    while (capacity < need)
        capacity += capacity / 2;
    unsigned char *data = realloc(buf->data, capacity);
    if (!data)
        return pack_fail(err, PACK_ERR_MEMORY, "out of memory: %zu bytes", capacity);
    buf->data = data;
    buf->capacity = capacity;
    return PACK_OK;
}

enum pack_status
pack_buf_append(struct pack_buf *buf, const void *data, size_t size,
                struct pack_error *err)
{
    enum pack_status status = pack_buf_reserve(buf, size, err);
    if (status == PACK_OK && size) {
        memcpy(buf->data + buf->size, data, size);
        buf->size += size;
    }
    return status;
}

enum pack_status
pack_buf_printf(struct pack_buf *buf, struct pack_error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0)
        return pack_fail(err, PACK_ERR_ARGUMENT, "cannot format '%s'", format);
    enum pack_status status = pack_buf_reserve(buf, (size_t)length + 1, err);
    if (status != PACK_OK)
        return status;
    va_start(args, format);
    vsnprintf((char *)buf->data + buf->size, (size_t)length + 1, format, args);
    va_end(args);
    buf->size += (size_t)length;
    return PACK_OK;
}
