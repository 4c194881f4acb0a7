/* JSON: what is written reads back; what is not JSON is refused with line and column. */
#include "libpack/base/json.h"
#include "tests/tap.h"

static void
test_write(void)
{
    struct pack_buf buf = { 0 };
    struct pack_json json;
    struct pack_error err;
    pack_json_begin(&json, &buf);
    pack_json_object(&json, NULL);
    pack_json_text(&json, "text", "a \"quote\", a \\, a\nline, \xc3\xa9, \xff");
    pack_json_double(&json, "third", 1.0 / 3);
    pack_json_double(&json, "tenth", 0.1);
    pack_json_double(&json, "nan", 0.0 / 0.0);
    pack_json_u64(&json, "most", UINT64_MAX);
    pack_json_i64(&json, "least", INT64_MIN);
    pack_json_array(&json, "empty");
    pack_json_close(&json);
    pack_json_array(&json, "list");
    pack_json_bool(&json, NULL, true);
    pack_json_null(&json, NULL);
    pack_json_close(&json);
    pack_json_close(&json);
    ok(pack_json_end(&json, &err) == PACK_OK, "a document is written");
    pack_buf_append(&buf, "", 1, NULL);
    is_text((const char *)buf.data,
            "{\n  \"text\": \"a \\\"quote\\\", a \\\\, a\\u000aline, \xc3\xa9, "
            "\xef\xbf\xbd\",\n"
            "  \"third\": 0.3333333333333333,\n  \"tenth\": 0.1,\n  \"nan\": null,\n"
            "  \"most\": 18446744073709551615,\n  \"least\": -9223372036854775808,\n"
            "  \"empty\": [],\n  \"list\": [\n    true,\n    null\n  ]\n}\n",
            "with its text as expected");
    struct pack_json_doc *doc;
    const struct pack_json_value *root;
    ok(pack_json_parse((const char *)buf.data, buf.size - 1, &doc, &root, &err) ==
           PACK_OK,
       "and read back");
    ok(pack_json_find(root, "third")->number == 1.0 / 3, "doubles survive bit for bit");
    const struct pack_json_value *least = pack_json_find(root, "least");
    ok(least->is_integer && least->integer == INT64_MIN, "integers are exact");
    ok(pack_json_find(root, "list")->n == 2 && !pack_json_find(root, "none"),
       "members are found");
    pack_json_free(doc);
    pack_buf_done(&buf);
}

static void
test_read(void)
{
    static const char *const good[] = {
        "null",       " [ ] ",    "{}",
        "-0",         "1e5",      "\"\\u00e9\\ud83d\\ude00\"",
        "[1,[2,[]]]", "{\"\":0}", "0.5E-3",
        "[\"\\\"\"]",
    };
    static const char *const bad[] = {
        "",       "[",   "[1,]",  "{\"a\"}", "{\"a\":1,}", "{a:1}",       "01",
        "1.",     "+1",  ".5",    "1e999",   "\"",         "\"\\x\"",     "\"\\ud800\"",
        "\"\n\"", "nul", "[1 2]", "1 2",     "\"\xff\"",   "\"\\u0000\"", "\"\\",
    };
    struct pack_json_doc *doc;
    const struct pack_json_value *root;
    struct pack_error err;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        bool read =
            pack_json_parse(good[i], strlen(good[i]), &doc, &root, &err) == PACK_OK;
        ok(read, "%s is JSON", good[i]);
        if (read)
            pack_json_free(doc);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ok(pack_json_parse(bad[i], strlen(bad[i]), &doc, &root, &err) == PACK_ERR_FORMAT,
           "bad document %zu: %s", i, err.text);
    char deep[200];
    memset(deep, '[', sizeof deep);
    ok(pack_json_parse(deep, sizeof deep, &doc, &root, &err) == PACK_ERR_FORMAT,
       "200 open brackets: %s", err.text);
    pack_json_parse("{\n \"a\": ?}", 10, &doc, &root, &err);
    is_text(err.text, "line 2, column 7: not a number", "errors give line and column");
    const char text[] = "\"\\u00e9\\ud83d\\ude00\\n\"";
    pack_json_parse(text, strlen(text), &doc, &root, &err);
    is_text(root->text, "\xc3\xa9\xf0\x9f\x98\x80\n", "escapes are decoded");
    pack_json_free(doc);
}

int
main(void)
{
    test_write();
    test_read();
    return done();
}
