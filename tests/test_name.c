/* Names: order as Python has it, a stored form that is UTF-8 and reversible, one line for
 * messages. */
#include "libpack/base/name.h"
#include "libpack/base/rng.h"
#include "libpack/base/utf8.h"
#include "tests/tap.h"

static void
test_order(void)
{
    /* ascending; U+10FFFF sorts above U+FFxx, and a stray byte as U+DC80 to U+DCFF
     * between */
    static const char *const sorted[] = { "",
                                          "-",
                                          "/",
                                          "A",
                                          "a",
                                          "a\x7f",
                                          "a\xc2\x80",
                                          "a\xc3\xa9",
                                          "a\xe2\x82\xac",
                                          "a\xed\x9f\xbf",
                                          "a\x80",
                                          "a\xc3",
                                          "a\xc3z",
                                          "a\xe2\x82",
                                          "a\xed\xa0\x80",
                                          "a\xee\x80\x80",
                                          "a\xef\xbc\xa1",
                                          "a\xf0\x9f\x98\x80",
                                          "a\xf4\x8f\xbf\xbf",
                                          "b",
                                          "b\x80",
                                          "b\x80\x80",
                                          "b\xf8" };
    int n = sizeof sorted / sizeof sorted[0], wrong = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            int got = pack_name_compare(sorted[i], sorted[j]);
            if ((got > 0) - (got < 0) != (i > j) - (i < j)) {
                note("wrong order of entries %d and %d", i, j);
                wrong++;
            }
        }
    is_number(wrong, 0, "names sort by code point, stray bytes as U+DC80 to U+DCFF");
}

static void
test_forms(void)
{
    static const struct {
        const char *name, *stored, *text;
    } cases[] = {
        { "cat/1.jpg", "cat/1.jpg", "cat/1.jpg" },
        { "a\\b", "a\\\\b", "a\\\\b" },
        { "a\\xff", "a\\\\xff", "a\\\\xff" },
        { "\xff", "\\xff", "\\xff" },
        { "\xc3\xa9\xc3", "\xc3\xa9\\xc3", "\xc3\xa9\\xc3" },
        { "new\nline\t", "new\nline\t", "new\\x0aline\\x09" },
        { "\xc2\x9b", "\xc2\x9b", "\\xc2\\x9b" },
        { "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
        { "\xed\xa0\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char stored[64], back[64], text[PACK_NAME_TEXT_MAX];
        size_t size = pack_name_escape(cases[i].name, stored);
        is_text(stored, cases[i].stored, "stored form");
        ok(size == strlen(stored) && size == pack_name_escape(cases[i].name, NULL),
           "its length is known without writing it");
        ok(pack_name_unescape(stored, back, NULL) == PACK_OK, "it is reversible");
        is_text(back, cases[i].name, "and gives the name");
        is_text(pack_name_text(cases[i].name, text), cases[i].text, "form for messages");
    }
    char upper[16];
    ok(pack_name_unescape("\\xAF\\xfA\\x5C", upper, NULL) == PACK_OK &&
           strcmp(upper, "\xaf\xfa\\") == 0,
       "hex digits may be large letters");
    static const char *const bad[] = { "\\x@1", "\\x1`", "\\xG0", "\\X41", "\\",    "a\\n",  "\\x",  "\\x4",
                                       "\\x4g", "\\x00", "\\xg1" };
    struct pack_error err;
    char out[16];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ok(pack_name_unescape(bad[i], out, &err) == PACK_ERR_FORMAT, "%s", err.text);
}

/* Random names of few different bytes, so that pairs share beginnings. */
static void
random_name(struct pack_rng *rng, char *name)
{
    static const char bytes[] = "a\\x8\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xed\xff";
    size_t n = pack_rng_below(rng, 12);
    for (size_t i = 0; i < n; i++)
        name[i] = bytes[pack_rng_below(rng, sizeof bytes - 1)];
    name[n] = '\0';
}

static void
test_laws(void)
{
    struct pack_rng rng;
    pack_rng_seed(&rng, 1);
    int bad_form = 0, bad_order = 0, equal_forms = 0;
    for (int i = 0; i < 200000; i++) {
        char a[16], b[16], c[16], form_a[64], form_b[64], back[64];
        random_name(&rng, a);
        random_name(&rng, b);
        random_name(&rng, c);
        size_t size = pack_name_escape(a, form_a);
        pack_name_escape(b, form_b);
        bad_form += !pack_utf8_valid(form_a, size) ||
                    pack_name_unescape(form_a, back, NULL) != PACK_OK || strcmp(back, a);
        equal_forms += (strcmp(form_a, form_b) == 0) != (strcmp(a, b) == 0);
        int ab = pack_name_compare(a, b), bc = pack_name_compare(b, c);
        bad_order += ab != -pack_name_compare(b, a) || (ab == 0) != (strcmp(a, b) == 0) ||
                     (ab < 0 && bc < 0 && pack_name_compare(a, c) >= 0);
    }
    is_number(bad_form, 0, "stored forms of random names are UTF-8 and come back");
    is_number(equal_forms, 0, "different names have different forms");
    is_number(bad_order, 0, "the order is antisymmetric and transitive");
}

static void
test_long_text(void)
{
    char name[5001], text[PACK_NAME_TEXT_MAX];
    for (int i = 0; i < 5000; i += 2)
        memcpy(name + i, "\xc3\xa9", 2);
    name[5000] = '\0';
    memcpy(name + 4996, ".jpg", 4);
    pack_name_text(name, text);
    ok(strlen(text) < sizeof text && pack_utf8_valid(text, strlen(text)) &&
           strstr(text, "...") && !strcmp(text + strlen(text) - 4, ".jpg"),
       "a long name is shown by its beginning and its end, in whole characters");
    name[255] = '\0';
    name[254] = 'e';
    is_text(pack_name_text(name, text), name, "255 bytes are shown whole");
    enum { HALF = (PACK_NAME_TEXT_MAX - 4) / 2 };
    int wrong = 0;
    for (size_t size = PACK_NAME_TEXT_MAX - 3; size < PACK_NAME_TEXT_MAX + 9; size++) {
        char want[PACK_NAME_TEXT_MAX + sizeof name];
        for (size_t i = 0; i < size; i++)
            name[i] = (char)('a' + i % 23);
        name[size] = '\0';
        snprintf(want, sizeof want, "%s", name);
        if (size >= PACK_NAME_TEXT_MAX)
            snprintf(want, sizeof want, "%.*s...%s", HALF, name, name + size - HALF);
        wrong += strcmp(pack_name_text(name, text), want) != 0;
    }
    is_number(wrong, 0, "what does not fit is cut in its middle, and nothing else is");
}

static void
test_words(void)
{
    static const char *const cases[][2] = {
        { "photos/a-1_b.h5", "photos/a-1_b.h5" },
        { "two words", "'two words'" },
        { "it's", "'it'\\''s'" },
        { "#1", "'#1'" },
        { "$HOME", "'$HOME'" },
        { "", "''" },
        { "-x.h5", "./-x.h5" },
        { "-a b", "'./-a b'" },
        { "a\nb", "$'a\\012b'" },
        { "-\033it's \\ \x7f", "$'./-\\033it\\'s \\\\ \\177'" },
        { "\xff-\xc3\xa4.h5", "$'\\377-\\303\\244.h5'" },
        { "\xc3\xa4 b", "'\xc3\xa4 b'" },
    };
    struct pack_buf buf = { 0 };
    int wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buf.size = 0;
        if (pack_name_word(cases[i][0], &buf, NULL) != PACK_OK ||
            buf.size != strlen(cases[i][1]) || memcmp(buf.data, cases[i][1], buf.size)) {
            note("%s: %.*s", cases[i][0], (int)buf.size, (const char *)buf.data);
            wrong++;
        }
    }
    is_number(wrong, 0, "a name is one word of a shell");
    pack_buf_done(&buf);
}

static void
test_literals(void)
{
    static const struct {
        const char *text;
        char quote;
        const char *want;
    } cases[] = {
        { "it's \"\\", '\'', "'it\\'s \"\\\\'" },
        { "it's \"\\", '"', "\"it's \\\"\\\\\"" },
        { "a\n\x7f", '\'', "'a\\012\\177'" },
        { "\xff\xc3\xa4", '\'', "'\\udcff\xc3\xa4'" },
        { "\xff\xc3\xa4", '"', "\"\\377\xc3\xa4\"" },
        { "", '\'', "''" },
    };
    struct pack_buf buf = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buf.size = 0;
        ok(pack_name_literal(cases[i].text, cases[i].quote, &buf, NULL) == PACK_OK &&
               buf.size == strlen(cases[i].want) &&
               memcmp(buf.data, cases[i].want, buf.size) == 0,
           "a literal: %s", cases[i].want);
    }
    pack_buf_done(&buf);
}

int
main(void)
{
    test_words();
    test_literals();
    test_order();
    test_forms();
    test_laws();
    test_long_text();
    return done();
}
