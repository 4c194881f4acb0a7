/* Every byte in every scale and type is found and turned back, its neighbours are not. */
#include <math.h>

#include "libpack/rechunk/narrow.h"
#include "tests/tap.h"

static void
store(uint64_t bits, const struct pack_type *type, unsigned char *to)
{
    for (uint32_t i = 0; i < type->bytes; i++)
        to[type->order == PACK_ORDER_BIG ? type->bytes - 1 - i : i] =
            (unsigned char)(bits >> 8 * i);
}

static void
test_type(struct pack_type type)
{
    static struct pack_narrow narrow;
    char name[PACK_TYPE_TEXT_MAX];
    bool is_made = pack_narrow_init(&narrow, &type), good = is_made, near = is_made;
    int top = type.bytes == 1 && type.is_signed ? 128 : 256;
    for (int s = 0; s < narrow.n_scales; s++)
        for (int k = 0; k < top; k++) {
            unsigned char element[8], byte = 0;
            narrow.scale = (enum pack_narrow_scale)s;
            store(narrow.bits[s][k], &type, element);
            good &= pack_narrow_scan(&narrow, narrow.scale, element, 1) == 1;
            pack_narrow_put(&narrow, element, 1, &byte);
            good &= byte == k;
            if (type.class_id != PACK_TYPE_FLOAT)
                continue;
            store(narrow.bits[s][k] + 1, &type, element);
            near &= pack_narrow_scan(&narrow, narrow.scale, element, 1) == 0;
        }
    ok(good, "%s: every byte is one", pack_type_format(&type, name));
    ok(near, "%s: its neighbours are none", name);
}

static void
test_rounding(void)
{
    static struct pack_narrow narrow;
    const struct pack_type single = { .class_id = PACK_TYPE_FLOAT, .bytes = 4, .is_ieee = true };
    bool quotient = pack_narrow_init(&narrow, &single), product = quotient;
    for (int k = 0; k < 256; k++) {
        volatile float q = (float)k / 255.0f, part = 1.0f / 255.0f, p = (float)k * part;
        uint32_t bits;
        memcpy(&bits, (const void *)&q, sizeof bits);
        quotient &= bits == narrow.bits[PACK_NARROW_QUOTIENT][k];
        memcpy(&bits, (const void *)&p, sizeof bits);
        product &= bits == narrow.bits[PACK_NARROW_PRODUCT][k];
    }
    ok(quotient, "k/255 is that of single precision");
    ok(product, "k*(1/255) is that of single precision");
}

static void
test_half(void)
{
    static struct pack_narrow narrow;
    const struct pack_type half = { .class_id = PACK_TYPE_FLOAT, .bytes = 2, .is_ieee = true };
    bool good = pack_narrow_init(&narrow, &half);
    static const struct {
        int k;
        uint64_t same, quotient;
    } known[] = { { 0, 0, 0 }, { 1, 0x3c00, 0x1c04 }, { 2, 0x4000, 0x2004 }, { 3, 0x4200, 0x2206 },
                  { 128, 0x5800, 0x3804 }, { 255, 0x5bf8, 0x3c00 } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        good &= narrow.bits[PACK_NARROW_SAME][known[i].k] == known[i].same &&
                narrow.bits[PACK_NARROW_QUOTIENT][known[i].k] == known[i].quotient;
    ok(good, "half precision is as NumPy has it");
}

static void
test_text(void)
{
    static struct pack_narrow narrow;
    const struct pack_type types[] = {
        { .class_id = PACK_TYPE_INTEGER, .bytes = 1, .is_signed = true },
        { .class_id = PACK_TYPE_INTEGER, .bytes = 8, .is_signed = true, .order = PACK_ORDER_BIG },
        { .class_id = PACK_TYPE_INTEGER, .bytes = 8 },
        { .class_id = PACK_TYPE_FLOAT, .bytes = 2, .is_ieee = true, .order = PACK_ORDER_BIG },
    };
    static const uint64_t bits[] = { 0x80, (uint64_t)INT64_MIN, UINT64_MAX, 0x8000 };
    static const char *const texts[] = { "-128", "-9223372036854775808",
                                         "18446744073709551615", "-0" };
    char text[PACK_NARROW_TEXT_MAX];
    unsigned char element[8];
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        pack_narrow_init(&narrow, &types[i]);
        store(bits[i], &types[i], element);
        ok(strcmp(pack_narrow_text(&narrow, element, text), texts[i]) == 0, "%s", texts[i]);
    }
}

int
main(void)
{
    static const uint32_t bytes[] = { 1, 2, 4, 8 };
    struct pack_narrow narrow;
    for (int order = PACK_ORDER_LITTLE; order <= PACK_ORDER_BIG; order++)
        for (int i = 0; i < 4; i++) {
            struct pack_type type = { .class_id = PACK_TYPE_INTEGER,
                                      .bytes = bytes[i],
                                      .order = (enum pack_type_order)order };
            test_type(type);
            type.is_signed = true;
            test_type(type);
            type.class_id = PACK_TYPE_FLOAT;
            if (bytes[i] > 1)
                test_type(type);
        }
    test_rounding();
    test_half();
    test_text();
    ok(!pack_narrow_init(&narrow, &(struct pack_type){ .class_id = PACK_TYPE_FLOAT, .bytes = 16 }) &&
           !pack_narrow_init(&narrow, &(struct pack_type){ .class_id = PACK_TYPE_STRING, .bytes = 4 }),
       "other types are refused");
    return done();
}
