/* JSON: what is written reads back; what is not JSON is refused with line and column. */
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/json.h"
#include "tests/tap.h"

/* A locale of the system's, made in a folder of its own, whose numbers have a comma. */
static bool
enter_comma_locale(void)
{
    const char *work = getenv("work") ? getenv("work") : "/tmp";
    char dir[256], command[600];
    snprintf(dir, sizeof dir, "%s/json-locale-XXXXXX", work);
    if (!mkdtemp(dir))
        return false;
    snprintf(command, sizeof command,
             "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' >/dev/null 2>&1", dir);
    setenv("LOCPATH", dir, 1);
    bool made = system(command) == 0 && setlocale(LC_NUMERIC, "de_DE.UTF-8");
    snprintf(command, sizeof command, "rm -r '%s'", dir);
    return system(command) == 0 && made && strcmp(localeconv()->decimal_point, ",") == 0;
}

static void
test_locale(void)
{
    struct pack_buf buf = { 0 };
    struct pack_json json;
    struct pack_json_doc *doc;
    const struct pack_json_value *root;
    if (!enter_comma_locale()) {
        skip("no locale with a comma in numbers can be made here");
        return;
    }
    pack_json_begin(&json, &buf);
    pack_json_array(&json, NULL);
    pack_json_double(&json, NULL, 0.5);
    pack_json_close(&json);
    pack_json_end(&json, NULL);
    ok(pack_json_parse((const char *)buf.data, buf.size, &doc, &root, NULL) == PACK_OK &&
           root->first->number == 0.5 && memmem(buf.data, buf.size, "0.5", 3),
       "numbers have a point where the caller's have a comma");
    ok(strcmp(localeconv()->decimal_point, ",") == 0, "and the caller's keep it");
    setlocale(LC_NUMERIC, "C");
    pack_json_free(doc);
    pack_buf_done(&buf);
}

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
    const char ends[] = "\"\\ud800\\udc00\\udbff\\udfff\"";
    ok(pack_json_parse(ends, strlen(ends), &doc, &root, &err) == PACK_OK &&
           strcmp(root->text, "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf") == 0,
       "so are the first and the last pair of surrogates");
    pack_json_free(doc);
}

static void
test_integers(void)
{
    static const struct {
        const char *text;
        bool is_integer, is_natural;
        int64_t integer;
        uint64_t natural;
    } cases[] = {
        { "0", true, true, 0, 0 },
        { "-0", true, true, 0, 0 },
        { "-1", true, false, -1, 0 },
        { "9007199254740993", true, true, 9007199254740993, 9007199254740993 },
        { "9223372036854775807", true, true, INT64_MAX, INT64_MAX },
        { "9223372036854775808", false, true, 0, UINT64_C(1) << 63 },
        { "18446744073709551615", false, true, 0, UINT64_MAX },
        { "18446744073709551616", false, false, 0, 0 },
        { "-9223372036854775808", true, false, INT64_MIN, 0 },
        { "-9223372036854775809", false, false, 0, 0 },
        { "-18446744073709551615", false, false, 0, 0 },
        { "1.0", false, false, 0, 0 },
        { "1e3", false, false, 0, 0 },
    };
    struct pack_json_doc *doc;
    const struct pack_json_value *v;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (pack_json_parse(cases[i].text, strlen(cases[i].text), &doc, &v, NULL) !=
            PACK_OK) {
            ok(false, "%s is a number", cases[i].text);
            continue;
        }
        ok(v->is_integer == cases[i].is_integer && v->is_natural == cases[i].is_natural &&
               (!v->is_integer || v->integer == cases[i].integer) &&
               (!v->is_natural || v->natural == cases[i].natural) &&
               v->number == strtod(cases[i].text, NULL),
           "%s is exact where 64 bits hold it, and known where they do not",
           cases[i].text);
        pack_json_free(doc);
    }
}

static void
is_refused(const char *text, const char *sentence, const char *name)
{
    struct pack_json_doc *doc = NULL;
    const struct pack_json_value *root;
    struct pack_error err = { 0 };
    enum pack_status status = pack_json_parse(text, strlen(text), &doc, &root, &err);
    is_text(status == PACK_OK ? "accepted" : err.text, sentence, name);
    if (status == PACK_OK)
        pack_json_free(doc);
}

static void
test_keys(void)
{
    struct pack_json_doc *doc;
    const struct pack_json_value *root;
    struct pack_buf many = { 0 };
    struct pack_error err;
    is_refused("{\"a\": 1, \"b\": 2, \"a\": 3}",
               "line 1, column 18: the same key a second time", "a key twice is refused");
    is_refused("{\"a\": 1, \"\\u0061\": 3}",
               "line 1, column 10: the same key a second time",
               "also when it is spelled otherwise");
    is_refused("{\"b\": [{\"a\": 1}], \"c\": {\"b\": 1, \"c\": {}, \"b\": 0}}",
               "line 1, column 42: the same key a second time",
               "also deep inside, behind objects that have ended");
    const char *apart = "{\"a\": {\"a\": [{\"a\": 1}, {\"a\": 2}]}, \"ab\": 0, \"\": 1}";
    ok(pack_json_parse(apart, strlen(apart), &doc, &root, &err) == PACK_OK &&
           root->n == 3 && root->first->first->n == 2 &&
           pack_json_find(root, "")->natural == 1,
       "the same key in several objects is fine");
    pack_json_free(doc);
    for (int n = PACK_JSON_KEYS_MAX; n <= PACK_JSON_KEYS_MAX + 1; n++) {
        many.size = 0;
        for (int i = 0; i < n; i++)
            pack_buf_printf(&many, NULL, "%s\"k%d\": 0", i ? ", " : "{", i);
        pack_buf_printf(&many, NULL, "}");
        enum pack_status status =
            pack_json_parse((const char *)many.data, many.size, &doc, &root, &err);
        ok(status == (n > PACK_JSON_KEYS_MAX ? PACK_ERR_LIMIT : PACK_OK),
           "an object of %d keys, %d being the limit", n, PACK_JSON_KEYS_MAX);
        if (status == PACK_OK)
            pack_json_free(doc);
    }
    pack_buf_done(&many);
}

static void
test_bounds(void)
{
    struct pack_json_doc *doc;
    const struct pack_json_value *root;
    struct pack_error err;
    char deep[2 * PACK_JSON_DEPTH_MAX + 2];
    for (int depth = PACK_JSON_DEPTH_MAX; depth <= PACK_JSON_DEPTH_MAX + 1; depth++) {
        memset(deep, '[', (size_t)depth);
        memset(deep + depth, ']', (size_t)depth);
        enum pack_status status =
            pack_json_parse(deep, 2 * (size_t)depth, &doc, &root, &err);
        ok(status == (depth > PACK_JSON_DEPTH_MAX ? PACK_ERR_FORMAT : PACK_OK),
           "%d arrays inside one another, %d being the limit", depth,
           PACK_JSON_DEPTH_MAX);
        if (status == PACK_OK)
            pack_json_free(doc);
    }
    ok(pack_json_parse("1", (size_t)PACK_JSON_SIZE_MAX + 1, &doc, &root, &err) ==
           PACK_ERR_LIMIT,
       "a document that is too large is refused before it is looked at");
    is_refused("\"\\ud800 \"", "line 1, column 8: half of a surrogate pair, which is no character",
               "half a surrogate pair is refused");
    is_refused("\"\\udc00\\ud800\"", "line 1, column 8: half of a surrogate pair, which is no character",
               "a pair the wrong way round is refused");
    is_refused("\"\\ud800\\u0041\"", "line 1, column 14: half of a surrogate pair, which is no character",
               "as is a half with another character");
    is_refused("\"\\u0000\"", "line 1, column 8: \\u0000, which no text here may hold",
               "a NUL is refused by its name");
    is_refused("\"\\u00g0\"", "line 1, column 4: broken \\u escape", "no hexadecimal digits");
    is_refused("\"\xc3\"", "line 1, column 2: string is not UTF-8",
               "half a character is refused");
    is_refused("\"\xed\xa0\x80\"", "line 1, column 2: string is not UTF-8",
               "an encoded surrogate is refused");

    const char whole[] = "{\"a\": [1, -2.5e3, \"\\u00e9\\n\", true, null], \"b\": {}}";
    int accepted = 0;
    for (size_t size = 0; size < sizeof whole - 1; size++) {
        /* its own block, so that a look behind the end is seen */
        char *cut = malloc(size ? size : 1);
        memcpy(cut, whole, size);
        if (pack_json_parse(cut, size, &doc, &root, &err) == PACK_OK)
            accepted++;
        free(cut);
    }
    ok(accepted == 0, "a document that is cut off anywhere is refused");
}

struct sum {
    uint64_t total;
    int begun, ended, stop_at;
};

static enum pack_status
add(void *context, enum pack_json_part part, const struct pack_json_value *value,
    struct pack_error *err)
{
    struct sum *sum = context;
    sum->begun += part == PACK_JSON_BEGIN;
    sum->ended += part == PACK_JSON_END;
    if (part == PACK_JSON_SCALAR)
        sum->total += value->natural;
    if (sum->stop_at && --sum->stop_at == 0)
        return pack_fail(err, PACK_ERR_INTERRUPTED, "enough");
    return PACK_OK;
}

static void
test_events(void)
{
    enum { N = PACK_JSON_VALUES_MAX + 10 };
    struct pack_buf list = { 0 };
    struct pack_json_doc *doc;
    const struct pack_json_value *root;
    struct sum sum = { 0 };
    for (int i = 0; i < N; i++)
        pack_buf_append(&list, i ? ",7" : "[7", 2, NULL);
    pack_buf_append(&list, "]", 1, NULL);
    ok(pack_json_read((const char *)list.data, list.size, add, &sum, NULL) == PACK_OK &&
           sum.total == UINT64_C(7) * N && sum.begun == 1 && sum.ended == 1,
       "a list of %d numbers streams through", N);
    ok(pack_json_parse((const char *)list.data, list.size, &doc, &root, NULL) ==
           PACK_ERR_LIMIT,
       "and is more than a tree takes");
    pack_buf_done(&list);
    struct pack_error err = { 0 };
    sum = (struct sum){ .stop_at = 3 };
    ok(pack_json_read("[1, 2, 4, 8]", 12, add, &sum, &err) == PACK_ERR_INTERRUPTED &&
           sum.total == 3 && strcmp(err.text, "enough") == 0,
       "who is handed the values may end the reading");
}

/* ------------------------------------------------------------------ streams */

/* Events as text: "{a:[1 ]} ", or the sentence of the failure. */
static enum pack_status
print_event(void *context, enum pack_json_part part, const struct pack_json_value *value,
            struct pack_error *err)
{
    struct pack_buf *buf = context;
    bool is_object = value->kind == PACK_JSON_OBJECT;
    if (part == PACK_JSON_END)
        return pack_buf_printf(buf, err, is_object ? "}" : "]");
    if (value->key)
        pack_buf_printf(buf, NULL, "%s:", value->key);
    if (part == PACK_JSON_BEGIN)
        return pack_buf_printf(buf, err, is_object ? "{" : "[");
    if (value->kind == PACK_JSON_TEXT)
        return pack_buf_printf(buf, err, "'%zu %.3s' ", strlen(value->text), value->text);
    return pack_buf_printf(buf, err, "%d %.17g ", value->kind, value->number);
}

static bool
passes_over_x(void *context, const struct pack_json_value *value)
{
    (void)context;
    return value->key && strcmp(value->key, "x") == 0;
}

/* Hands out `n_at_once` bytes of a text at a time. */
struct drip {
    const char *text;
    size_t size, at, n_at_once;
    int errnum; /* at the end */
};

static ssize_t
read_drip(void *cookie, char *bytes, size_t size)
{
    struct drip *d = cookie;
    size_t n = d->size - d->at;
    n = n < d->n_at_once ? n : d->n_at_once;
    n = n < size ? n : size;
    memcpy(bytes, d->text + d->at, n);
    d->at += n;
    errno = d->errnum;
    return n == 0 && d->errnum ? -1 : (ssize_t)n;
}

/* Reads a text of which `n_head` bytes come as head, the others in drips. */
static void
stream(const char *text, size_t size, size_t n_head, size_t n_at_once, bool passes,
       struct pack_buf *events)
{
    struct drip drip = { text, size, n_head, n_at_once, 0 };
    cookie_io_functions_t io = { .read = read_drip };
    struct pack_error err;
    FILE *f = fopencookie(&drip, "r", io);
    setvbuf(f, NULL, _IONBF, 0);
    char *head = malloc(n_head ? n_head : 1); /* exactly as much */
    memcpy(head, text, n_head);
    struct pack_json_stream s = { .file = f,
                                  .head = head,
                                  .head_bytes = n_head,
                                  .passes_over = passes ? passes_over_x : NULL };
    events->size = 0;
    if (pack_json_read_stream(&s, print_event, events, &err) != PACK_OK) {
        events->size = 0;
        pack_buf_printf(events, NULL, "%s", err.text);
    }
    free(head);
    fclose(f);
}

static void
test_stream_pieces(void)
{
    static const char *const texts[] = {
        (" {\"a\": [1, -2.5e3, true, null], \"x\": {\"y\": \"\\u00e9\\\\\\\"]\", \"z\": [[]]},\n"
        " \"b\": \"\\ud83d\\ude00 caf\xc3\xa9\"}\n "),
        "[1,\n[2],\n \"a\nb\"]",
        "{\"a\": 1,\n\n \"a\": 2}",
        "[1, 2",
        "[\"abc",
        "[12x]",
        "[1] 2",
    };
    struct pack_buf whole = { 0 }, pieces = { 0 };
    int wrong = 0;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        size_t size = strlen(texts[i]);
        struct pack_error err;
        whole.size = 0;
        if (pack_json_read(texts[i], size, print_event, &whole, &err) != PACK_OK) {
            whole.size = 0;
            pack_buf_printf(&whole, NULL, "%.8s", err.text); /* "line 3, ..." */
        }
        for (size_t n_head = 0; n_head <= size; n_head++)
            for (size_t n = 1; n < 5; n++) {
                stream(texts[i], size, n_head, n, false, &pieces);
                wrong += strncmp((char *)pieces.data, (char *)whole.data, whole.size) != 0;
            }
    }
    ok(wrong == 0, "a document in pieces, wherever they are cut, is read as one in memory");
    stream(texts[0], strlen(texts[0]), 3, 2, true, &pieces);
    is_text((char *)pieces.data, "{a:[2 1 2 -2500 1 0 0 0 ]x:{}b:'10 \xf0\x9f\x98' }",
            "what is passed over is closed without events");
    pack_buf_done(&whole);
    pack_buf_done(&pieces);
}

/* A text and an array longer than any window; errors behind them name the right line. */
static void
test_stream_long(void)
{
    struct pack_buf text = { 0 }, events = { 0 };
    pack_buf_printf(&text, NULL, "{\"t\": \"");
    for (int i = 0; i < 100000; i++)
        pack_buf_printf(&text, NULL, "0123456789");
    pack_buf_printf(&text, NULL, "\",\n\"x\": [");
    for (int i = 0; i < 200000; i++)
        pack_buf_printf(&text, NULL, "[%d, \"]\\\"\"],\n", i);
    size_t good = text.size;
    pack_buf_printf(&text, NULL, "0], \"u\": 7}");
    stream((char *)text.data, text.size, 10, 1 << 16, true, &events);
    is_text((char *)events.data, "{t:'1000000 012' x:[]u:2 7 }",
            "texts and arrays longer than the window are read");
    text.size = good;
    pack_buf_printf(&text, NULL, "0], \"u\": 7x}");
    stream((char *)text.data, text.size, 10, 1 << 16, false, &events);
    is_text((char *)events.data, "line 200002, column 11: expected ',' or '}'",
            "an error behind them is where it says");
    pack_buf_done(&text);
    pack_buf_done(&events);
}

static void
test_stream_failing(void)
{
    struct drip drip = { "[1, 2, ", 7, 0, 7, EIO };
    cookie_io_functions_t io = { .read = read_drip };
    struct pack_json_stream s = { .file = fopencookie(&drip, "r", io), .head = "" };
    struct pack_buf events = { 0 };
    struct pack_error err;
    ok(pack_json_read_stream(&s, print_event, &events, &err) == PACK_ERR_IO,
       "a read that fails ends a stream");
    is_text(err.text, "cannot read JSON: Input/output error", "in these words");
    fclose(s.file);
    pack_buf_done(&events);
}

int
main(void)
{
    test_write();
    test_read();
    test_integers();
    test_keys();
    test_bounds();
    test_events();
    test_stream_pieces();
    test_stream_long();
    test_stream_failing();
    test_locale();
    return done();
}
