#include "libpack/base/copy.h"

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

/* AHEAD: how far in front of what is copied the source is asked for. */
enum { LINE = 64, AHEAD = 8 * LINE };

/* A line of each of STREAMS pages in turn: what fetches ahead in the processor stops at the
 * end of a page, and memory answers several at once. */
enum { STREAMS = 4, PAGE = 4096, STREAM_AHEAD = 2 * LINE, BLOCK = STREAMS * PAGE };

/* A line of the target, to an address that is a multiple of one. */
static inline void
stream_line(unsigned char *to, const unsigned char *from)
{
    __m128i part[4];
    for (int i = 0; i < 4; i++)
        part[i] = _mm_loadu_si128((const __m128i *)from + i);
    for (int i = 0; i < 4; i++)
        _mm_stream_si128((__m128i *)to + i, part[i]);
}

static void
stream_block(unsigned char *to, const unsigned char *from)
{
    for (size_t i = 0; i < PAGE; i += LINE) {
        for (size_t at = i; at < BLOCK; at += PAGE) {
            _mm_prefetch((const char *)from + at + STREAM_AHEAD, _MM_HINT_T0);
            stream_line(to + at, from + at);
        }
    }
}

void
pack_copy_past_cache(void *to, const void *from, size_t bytes)
{
    unsigned char *target = to;
    const unsigned char *source = from;
    size_t head = -(uintptr_t)target % LINE;
    head = head < bytes ? head : bytes;
    memcpy(target, source, head);
    size_t at = head;
    for (; bytes - at >= BLOCK; at += BLOCK)
        stream_block(target + at, source + at);
    for (; bytes - at >= AHEAD + LINE; at += LINE) {
        _mm_prefetch((const char *)source + at + AHEAD, _MM_HINT_T0);
        stream_line(target + at, source + at);
    }
    for (; bytes - at >= LINE; at += LINE)
        stream_line(target + at, source + at);
    memcpy(target + at, source + at, bytes - at);
    _mm_sfence();
}
#else
void
pack_copy_past_cache(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}
#endif
