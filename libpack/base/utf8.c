/* The table of well-formed sequences is Table 3-7 of the Unicode standard. */
#include "libpack/base/utf8.h"

static bool
tail(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

size_t
pack_utf8_length(const char *text, size_t size)
{
    const unsigned char *s = (const unsigned char *)text;
    if (size == 0)
        return 0;
    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xc2 && s[0] <= 0xdf)
        return size >= 2 && tail(s[1]) ? 2 : 0;
    if (s[0] >= 0xe0 && s[0] <= 0xef) {
        unsigned char low = s[0] == 0xe0 ? 0xa0 : 0x80, high = s[0] == 0xed ? 0x9f : 0xbf;
        return size >= 3 && s[1] >= low && s[1] <= high && tail(s[2]) ? 3 : 0;
    }
    if (s[0] >= 0xf0 && s[0] <= 0xf4) {
        unsigned char low = s[0] == 0xf0 ? 0x90 : 0x80, high = s[0] == 0xf4 ? 0x8f : 0xbf;
        return size >= 4 && s[1] >= low && s[1] <= high && tail(s[2]) && tail(s[3]) ? 4
                                                                                    : 0;
    }
    return 0;
}

bool
pack_utf8_valid(const char *text, size_t size)
{
    for (size_t i = 0; i < size;) {
        size_t length = pack_utf8_length(text + i, size - i);
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}

size_t
pack_utf8_encode(uint32_t code, char *out)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    out[0] = (char)(code | (length == 2 ? 0xc0 : length == 3 ? 0xe0 : 0xf0));
    return length;
}
