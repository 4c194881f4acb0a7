/* Lists: what is read from good ones, as text, and the sentence for each bad one. */
#include <errno.h>
#include <unistd.h>

#include "libpack/source/list.h"
#include "libpack/source/list_rows.h"
#include "libpack/base/name.h"
#include "tests/tap.h"

#define BYTES(text) text, sizeof text - 1

static const struct pack_list_params any_form = { 0 };

static FILE *
file_of(const void *bytes, size_t size)
{
    FILE *f = tmpfile();
    if (!f || fwrite(bytes, 1, size, f) != size)
        exit(2);
    rewind(f);
    return f;
}

/* " name=kind[a|b]", kinds int, float and text. */
static void
print_column(FILE *out, const struct pack_column *c, uint64_t n)
{
    static const char *const kinds[] = { "int", "float", "text" };
    char text[PACK_NAME_TEXT_MAX];
    fprintf(out, " %s=%s[", c->name, kinds[c->kind]);
    for (uint64_t i = 0; i < n; i++) {
        if (i)
            putc('|', out);
        switch (c->kind) {
        case PACK_COLUMN_INT64: fprintf(out, "%lld", (long long)c->integers[i]); break;
        case PACK_COLUMN_FLOAT64: fprintf(out, "%.17g", c->floats[i]); break;
        case PACK_COLUMN_STRING: fputs(pack_name_text(c->strings[i], text), out); break;
        }
    }
    putc(']', out);
}

static void
print_list(const struct pack_list *list, char *text, size_t size)
{
    FILE *out = fmemopen(text, size, "w");
    fprintf(out, "%llu", (unsigned long long)list->n_rows);
    print_column(out, &list->path, list->n_rows);
    if (list->label)
        print_column(out, list->label, list->n_rows);
    for (int i = 0; i < list->n_columns; i++)
        print_column(out, &list->columns[i], list->n_rows);
    fclose(out);
}

struct good {
    const char *what, *name;
    enum pack_list_format format;
    const char *bytes;
    size_t size;
    const char *want;
};

static const struct good good[] = {
    { "TSV", "l", 0, BYTES("path\tlabel\nb.jpg\t2\na.jpg\t1\n"),
      "2 path=text[b.jpg|a.jpg] label=int[2|1]" },
    { "CSV", "l", 0, BYTES("label,path\n2,b.jpg\n1,a.jpg\n"),
      "2 path=text[b.jpg|a.jpg] label=int[2|1]" },
    { "no newline at the end", "l", 0, BYTES("path,x\na,1\nb,2"),
      "2 path=text[a|b] x=int[1|2]" },
    { "CRLF in TSV", "l", 0, BYTES("path\tx\r\na\tu\r\nb\tv\r\n"),
      "2 path=text[a|b] x=text[u|v]" },
    { "CRLF in CSV, the last one cut", "l", 0, BYTES("path,x\r\na,u\r\nb,\"v\"\r"),
      "2 path=text[a|b] x=text[u|v]" },
    { "byte order mark", "l", 0, BYTES("\xef\xbb\xbfpath,x\na,1\n"),
      "1 path=text[a] x=int[1]" },
    { "empty lines", "l", 0, BYTES("\n\r\npath,x\n\na,1\n\n\nb,2\n\n"),
      "2 path=text[a|b] x=int[1|2]" },
    { "quotes as in RFC 4180", "l", 0,
      BYTES("\"path\",\"x\"\n\"a,\"\"b\"\"\nc.jpg\",\"\"\n\"d\r\ne\",5\" disk\n"),
      "2 path=text[a,\"b\"\\x0ac.jpg|d\\x0d\\x0ae] x=text[|5\" disk]" },
    { "quotes of TSV, where they are in their places", "l", 0,
      BYTES("path\tx\n\"a\"\t\"b\n\" c\"\t\"d\te\"\"f\"\n\"g\"h\t\"\"\r\ni\t\"\n"),
      "4 path=text[a| c|\"g\"h|i] x=text[\"b|d\\x09e\"f||\"]" },
    { "and ends of lines in them", "l", 0,
      BYTES("path\tx\ty\na\t\"one\n\ttwo \"\"2\"\"\n\"\t\"3\n4\n\"\nb\tu\tv\n"),
      "2 path=text[a|b] x=text[one\\x0a\\x09two \"2\"\\x0a|u] y=text[3\\x0a4\\x0a|v]" },
    { "in TSV of CRLF", "l", 0, BYTES("path\tx\r\na\t\"one\r\ntwo\"\r\nb\tu\r\n"),
      "2 path=text[a|b] x=text[one\\x0d\\x0atwo|u]" },
    { "but where a quote has no other", "l", 0,
      BYTES("path\tx\na\t\"one\nb\t\"two\n\nc\t\"three\" 3\nd\t\"four\n"),
      "4 path=text[a|b|c|d] x=text[\"one|\"two|\"three\" 3|\"four]" },
    { "also behind one that has", "l", 0,
      BYTES("path\tx\ty\na\t\"1\n2\"\t\"3\nb\t4\t\"5 \"6\n"),
      "2 path=text[a|b] x=text[1\\x0a2|4] y=text[\"3|\"5 \"6]" },
    { "which a list of rejects has not", "l", 0, BYTES("path\treason\n\"a.jpg\"\tgone\n"),
      "1 path=text[\"a.jpg\"]" },
    { "one column without commas", "l", 0, BYTES("path\na,b.jpg\n \"c\"\n"),
      "2 path=text[a,b.jpg| \"c\"]" },
    { "one column, name ending in .csv", "x/L.CSV", 0, BYTES("path\n\"a,b.jpg\"\n"),
      "1 path=text[a,b.jpg]" },
    { "one quoted column", "l", 0, BYTES("\"path\"\n\"a,b.jpg\"\n"),
      "1 path=text[a,b.jpg]" },
    { "paths that are not UTF-8", "l", 0, BYTES("path\t\xc3\xa9\n\xff.jpg\t1\n"),
      "1 path=text[\\xff.jpg] \xc3\xa9=int[1]" },
    { "range of int64", "l", 0,
      BYTES("path,x\na,9223372036854775807\nb,-9223372036854775808\nc,0\n"),
      "3 path=text[a|b|c] x=int[9223372036854775807|-9223372036854775808|0]" },
    { "beyond int64: text, nothing lost", "l", 0,
      BYTES("path,x,y\na,9223372036854775808,-9223372036854775809\nb,1,2\n"),
      "2 path=text[a|b] x=text[9223372036854775808|1] y=text[-9223372036854775809|2]" },
    { "leading zeros: text", "l", 0, BYTES("path,x,y\na,007,1\nb,8,01.5\n"),
      "2 path=text[a|b] x=text[007|8] y=text[1|01.5]" },
    { "floats", "l", 0,
      BYTES(
          "path,x\na,1\nb,-0.5\nc,1e3\nd,.5\ne,5.\nf,+2\ng,-0\nh,NaN\ni,-Inf\nj,1E-2\n"),
      "10 path=text[a|b|c|d|e|f|g|h|i|j] "
      "x=float[1|-0.5|1000|0.5|5|2|-0|nan|-inf|0.01]" },
    { "empty cells among numbers", "l", 0, BYTES("path,x,y\na,,1.5\nb,3,\n"),
      "2 path=text[a|b] x=float[nan|3] y=float[1.5|nan]" },
    { "empty cells only", "l", 0, BYTES("path,x\na,\nb,\n"),
      "2 path=text[a|b] x=text[|]" },
    { "integers that float64 cannot hold", "l", 0,
      BYTES("path,x\na,9007199254740993\nb,\n"),
      "2 path=text[a|b] x=text[9007199254740993|]" },
    { "no numbers", "l", 0, BYTES("path,x,y,z,u,v\na,0x1,1e,.,-,1e999\nb,1,1,1,1,1\n"),
      "2 path=text[a|b] x=text[0x1|1] y=text[1e|1] z=text[.|1] u=text[-|1] "
      "v=text[1e999|1]" },
    { "integers, then text", "l", 0, BYTES("path,x\na,1\nb,-2\nc,z\nd,4\n"),
      "4 path=text[a|b|c|d] x=text[1|-2|z|4]" },
    { "numbers as paths", "l", 0, BYTES("path\tlabel\n1\tx\n2\ty\n"),
      "2 path=text[1|2] label=text[x|y]" },
    { "CelebA's attributes", "list_attr_celeba.txt", 0,
      BYTES("2\n5_o_Clock_Shadow Arched_Eyebrows \n"
            "000001.jpg -1  1\n000002.jpg  1 -1\n"),
      "2 path=text[000001.jpg|000002.jpg] 5_o_Clock_Shadow=int[-1|1] "
      "Arched_Eyebrows=int[1|-1]" },
    { "CelebA's boxes", "list_bbox_celeba.txt", 0,
      BYTES("1\r\nimage_id x_1 y_1 width height\r\n000001.jpg    95  71 226 313\r\n"),
      "1 image_id=text[000001.jpg] x_1=int[95] y_1=int[71] width=int[226] height=int[313]" },
    { "Excel's hint of the separator", "l", 0,
      BYTES("\xef\xbb\xbfsep=;\r\npath;x\r\na;1,5\r\n"), "1 path=text[a] x=text[1,5]" },
    { "a file that is called as such a hint", "l", 0, BYTES("sep=;\tx.jpg\n"),
      "1 path=text[x.jpg] label=text[sep=;]" },
    { "a JSON array on several lines", "l", 0,
      BYTES("\n[ {\"path\": \"a\", \"x\": [1, {\"]\": \"\\\"\"}], \"y\": 1} ,\n"
            "{\"y\": 2,\n\"path\": \"b\\u00e9\"}\n]\n"),
      "2 path=text[a|b\xc3\xa9] y=int[1|2]" },
    { "a JSON array of cells, numbers and words", "l", 0,
      BYTES("[[\"a.jpg\",true],[\"b.jpg\",null],[\"c.jpg\",2.5]]"),
      "3 path=text[a.jpg|b.jpg|c.jpg] label=float[1|nan|2.5]" },
    { "JSON objects of several lines", "l", 0,
      BYTES("{\n\"path\": \"a\",\n\"x\": 1}\n{\"x\": 2, \"path\":\n\"b\"}{\"path\": \"c\"}\n\n"),
      "3 path=text[a|b|c] x=float[1|2|nan]" },
    { "StyleGAN's, with what is behind it", "l", 0,
      BYTES("{ \"labels\" : [ [\"a.png\", 1], [\"b.png\", 0] ] , \"x\": "),
      "2 path=text[a.png|b.png] label=int[1|0]" },
    { "a JSON object", "l", 0, BYTES("{\"a,\\\".jpg\" : \"x\" , \"b:.jpg\":\"y\"}"),
      "2 path=text[a,\".jpg|b:.jpg] label=text[x|y]" },
    { "lines", "-", PACK_LIST_LINES, BYTES("path\na b,c\td.jpg\n\n\"e\"\r\nf"),
      "4 path=text[path|a b,c\\x09d.jpg|\"e\"|f]" },
    { "paths that end in NUL", "-", PACK_LIST_NULL, BYTES("a\nb\r\0\xef\xbb\xbf\0c"),
      "3 path=text[a\\x0ab\\x0d|\xef\xbb\xbf|c]" },
};

static void
test_good(void)
{
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        const struct good *g = &good[i];
        struct pack_list *list = NULL;
        struct pack_error err = { .text = "" };
        char text[4096];
        FILE *f = file_of(g->bytes, g->size);
        struct pack_list_params params = { .format = g->format };
        enum pack_status status = pack_list_read(f, g->name, &params, &list, &err);
        if (status == PACK_OK)
            print_list(list, text, sizeof text);
        is_text(status == PACK_OK ? text : err.text, g->want, g->what);
        pack_list_free(list);
        fclose(f);
    }
}

struct bad {
    enum pack_status status;
    const char *bytes;
    size_t size;
    const char *want;
};

static const struct bad bad[] = {
    { PACK_ERR_NOT_FOUND, BYTES(""), "list 'l' is empty" },
    { PACK_ERR_NOT_FOUND, BYTES("\xef\xbb\xbf\n\n"), "list 'l' is empty" },
    { PACK_ERR_NOT_FOUND, BYTES("path,label\n\n"), "list 'l' names no images" },
    { PACK_ERR_ARGUMENT, BYTES("picture,x\nb,1\n"),
      "'l': no column of it is known to be the path, it starts with 'picture,x'" },
    { PACK_ERR_NOT_FOUND, BYTES("path;label\n"), "list 'l' names no images" },
    { PACK_ERR_FORMAT, BYTES("path,\xff\na,1\n"),
      "l:1: column 2, '\\xff', cannot name a dataset: it is '.', "
      "has a '/' or is not UTF-8" },
    { PACK_ERR_FORMAT, BYTES("path,x\na,1\nb\n"), "l:3: 1 cell where the header has 2" },
    { PACK_ERR_FORMAT, BYTES("path\tx\na\t\"b\nc\td\te\n"),
      "l:3: 3 cells where the header has 2" },
    { PACK_ERR_FORMAT, BYTES("path\tx\na\t\"b\n1\"\nc\td\te\n"),
      "l:4: 3 cells where the header has 2" },
    { PACK_ERR_FORMAT, BYTES("path\tx\n\na\t1\t2\n"),
      "l:3: 3 cells where the header has 2" },
    { PACK_ERR_FORMAT, BYTES("x,path\n1,\n"), "l:2: column 2: the path is empty" },
    { PACK_ERR_FORMAT, BYTES("path,x\n\"a\nb\",1\nc,\"d\n\n"),
      "l:4: column 2: the quote is not closed" },
    { PACK_ERR_FORMAT, BYTES("path,x\n\"a\"b,1\n"),
      "l:2: column 1: text behind the closing quote" },
    { PACK_ERR_FORMAT, BYTES("path,x\na\0b,1\n"),
      "l:2: a NUL byte (the list is to be UTF-8 text)" },
    { PACK_ERR_FORMAT, BYTES("path,label\na.jpg,1\nhttps://x.org/b.jpg,2\n"),
      "l:3: 'https://x.org/b.jpg' is an address, not a file: the images are to be on this "
      "machine, and their paths in the list" },
    { PACK_ERR_FORMAT, BYTES("s3://x/b.jpg\n"),
      "l:1: 's3://x/b.jpg' is an address, not a file: the images are to be on this machine, "
      "and their paths in the list" },
    { PACK_ERR_FORMAT, BYTES("{\"images\": [{\"id\": 1, \"file_name\": \"http://x/a.jpg\"}]}"),
      "'l': 'http://x/a.jpg' is an address, not a file: the images are to be on this machine, "
      "and their paths in the list" },
    { PACK_ERR_FORMAT, BYTES("sep=;\r\npath;x\r\na\r\n"), "l:3: 1 cell where the header has 2" },
    { PACK_ERR_FORMAT, BYTES("path,x,y,x\n"), "l:1: columns 2 and 4 are both 'x'" },
    { PACK_ERR_FORMAT, BYTES("path,path\n"), "l:1: columns 1 and 2 are both 'path'" },
    { PACK_ERR_FORMAT, BYTES("path,,x\na,,1\nb,2,3\n"),
      "l:3: column 2 has no name, but a value here" },
    { PACK_ERR_FORMAT, BYTES("path,labels\na,1\n"),
      "l:1: column 2 has the name of a dataset that h5pack writes, 'labels'; rename it" },
    { PACK_ERR_FORMAT, BYTES("path,a/b\na,1\n"),
      "l:1: column 2, 'a/b', cannot name a dataset: it is '.', "
      "has a '/' or is not UTF-8" },
    { PACK_ERR_FORMAT, BYTES("path,.\na,1\n"),
      "l:1: column 2, '.', cannot name a dataset: it is '.', has a '/' or is not UTF-8" },
    { PACK_ERR_FORMAT, BYTES("3\nx y\na 1 2\nb 3 4\n"),
      "list 'l' has 2 rows, its first line says 3" },
    { PACK_ERR_FORMAT, BYTES("1\nx y\na 1 2\nb 3 4\n"),
      "list 'l' has 2 rows, its first line says 1" },
    { PACK_ERR_FORMAT, BYTES("1\nx y\na 1 2 3\n"),
      "l:3: 4 cells where the header has 3" },
    { PACK_ERR_ARGUMENT, BYTES("1 2\n3 4\n"),
      "'l': no column of it is known to be the path, it starts with '1 2'" },
    { PACK_ERR_ARGUMENT, BYTES("a.jpg 1\nb.jpg\n"),
      "'l': no column of it is known to be the path, it starts with 'a.jpg 1'" },
    { PACK_ERR_NOT_FOUND, BYTES("0\nx y\n"), "list 'l' names no images" },
    { PACK_ERR_FORMAT, BYTES("[{\"path\":\"a\"}\n{\"path\":\"b\"}]"),
      "l:2: element 1: expected a comma or the end behind it" },
    { PACK_ERR_FORMAT, BYTES("[{\"path\":\"a\"},\n]"),
      "l:2: element 2: a comma needs a value behind it" },
    { PACK_ERR_FORMAT, BYTES("[{\"path\":\"a\",\"x\":1},{\"path\":\"b\",\"y\":1}]"),
      "l:1: element 2: 'y' is no key of the first object, which is to have all keys "
      "(null where it has no value)" },
    { PACK_ERR_FORMAT, BYTES("[{\"path\":\"a\"},\n[\"b\"]]"),
      "l:2: element 2: is no JSON object" },
    { PACK_ERR_FORMAT, BYTES("[{\"path\":\"a\"}]\n[]"),
      "l:2: unexpected text behind the list" },
    { PACK_ERR_FORMAT, BYTES("[[\"a.jpg\",1],\n[\"b.jpg\",2]"),
      "l:2: element 2: ends too early" },
    { PACK_ERR_FORMAT, BYTES("[[\"a.jpg\",1],\n[\"b.jpg\""),
      "l:2: element 2: ends too early" },
    { PACK_ERR_FORMAT, BYTES("{\n\"path\": \"a\"}\n{\n\"path\": \"b\"\n"),
      "l:5: element 2: ends too early" },
    { PACK_ERR_FORMAT, BYTES("[[\"a.jpg\",1],3]"),
      "l:1: element 2: is no path, and no array of path and label" },
    { PACK_ERR_FORMAT, BYTES("[[\"a.jpg\",1],[]]"),
      "l:1: element 2: is no path, and no array of path and label" },
    { PACK_ERR_FORMAT, BYTES("[[\"a.jpg\",1],[\"b.jpg\",2,3]]"),
      "l:1: element 2: 3 cells where the first line has 2" },
    { PACK_ERR_FORMAT, BYTES("[[\"a.jpg\",1],[\"b.jpg\",[0,1]]]"),
      "l:1: element 2: value 2 is an array or object: an image has one label, a number or a "
      "text" },
    { PACK_ERR_FORMAT, BYTES("[[\"a.jpg\",1],[null,1]]"),
      "l:1: element 2: column 1: the path is empty" },
    { PACK_ERR_FORMAT, BYTES("{\"labels\":[[\"a.jpg\",1]]"), "l:1: ends too early" },
    { PACK_ERR_FORMAT, BYTES("{\"a.jpg\":1,\"b.jpg\" 2}"),
      "l:1: element 2: expected a key in double quotes, and ':'" },
    { PACK_ERR_FORMAT, BYTES("{\"a.jpg\":1,b:2}"),
      "l:1: element 2: expected a key in double quotes, and ':'" },
};

static void
test_bad(void)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct pack_list *list = NULL;
        struct pack_error err = { .text = "nothing wrong" };
        FILE *f = file_of(bad[i].bytes, bad[i].size);
        enum pack_status status = pack_list_read(f, "l", &any_form, &list, &err);
        ok(status == bad[i].status && !list, "refused as %s",
           pack_status_name(bad[i].status));
        is_text(err.text, bad[i].want, "in these words");
        pack_list_free(list);
        fclose(f);
    }
}

/* A header and a row of `n` cells, each with `size` bytes. */
static FILE *
wide_list(int n, int size, char separator)
{
    FILE *f = tmpfile();
    for (int row = 0; row < 2; row++)
        for (int i = 0; i < n; i++) {
            if (row == 0 && i)
                fprintf(f, "c%d", i);
            else if (row == 0)
                fputs("path", f);
            for (int k = 0; row == 1 && k < size; k++)
                putc('a' + i % 26, f);
            putc(i + 1 < n ? separator : '\n', f);
        }
    rewind(f);
    return f;
}

static void
test_limits(void)
{
    static const struct {
        int n, size;
        const char *want;
    } cases[] = {
        { PACK_LIST_COLUMNS_MAX, 1, "" },
        { PACK_LIST_COLUMNS_MAX + 1, 1, "l:1: more than 4096 columns" },
        { 4, 4200, "" },
        { 1, PACK_LIST_ROW_MAX, "" },
        { 1, PACK_LIST_ROW_MAX + 1, "l:2: a row of more than 1048576 bytes" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (const char *separator = "\t,"; *separator; separator++) {
            struct pack_list *list = NULL;
            struct pack_error err = { .text = "" };
            FILE *f = wide_list(cases[i].n, cases[i].size, *separator);
            pack_list_read(f, "l", &any_form, &list, &err);
            is_text(err.text, cases[i].want, "limits of columns and rows");
            ok(!list || strlen(list->path.strings[0]) == (size_t)cases[i].size,
               "%d cells of %d bytes", cases[i].n, cases[i].size);
            pack_list_free(list);
            fclose(f);
        }
}

/* More rows than any first allocation holds, with a type that changes at the last one. */
static void
test_long_list(void)
{
    enum { ROWS = 100000 };
    struct pack_list *list = NULL;
    FILE *f = tmpfile();
    int wrong = 0;
    fputs("path,x,y,z\n", f);
    for (int i = 0; i < ROWS; i++)
        fprintf(f, "d/%d.jpg,%d,%s,%d\n", i, i - 50000, i + 1 < ROWS ? "7" : "x", i);
    rewind(f);
    pack_list_read(f, "l", &any_form, &list, NULL);
    for (int i = 0; list && i < ROWS; i++) {
        char path[32];
        snprintf(path, sizeof path, "d/%d.jpg", i);
        wrong += strcmp(list->path.strings[i], path) != 0 ||
                 list->columns[0].integers[i] != i - 50000 ||
                 strcmp(list->columns[1].strings[i], i + 1 < ROWS ? "7" : "x") != 0 ||
                 list->columns[2].integers[i] != i;
    }
    ok(list && wrong == 0, "%d rows, one column turning into text at the last", ROWS);
    pack_list_free(list);
    fclose(f);
}

/* All in one line, of several heads' size. */
static void
test_long_array(const char *begin, const char *format, const char *end)
{
    enum { ROWS = 200000 };
    struct pack_list *list = NULL;
    struct pack_error err = { .text = "" };
    FILE *f = tmpfile();
    int wrong = 0;
    fputs(begin, f);
    for (int i = 0; i < ROWS; i++) {
        fputs(i ? "," : "", f);
        fprintf(f, format, i, i % 1000);
    }
    fputs(end, f);
    rewind(f);
    pack_list_read(f, "l", &any_form, &list, &err);
    for (int i = 0; list && i < ROWS; i++) {
        char path[32];
        snprintf(path, sizeof path, "d/%d.jpg", i);
        wrong += strcmp(list->path.strings[i], path) != 0 ||
                 list->label->integers[i] != i % 1000;
    }
    ok(list && list->n_rows == ROWS && wrong == 0, "%d rows like %s%s", ROWS, begin,
       format);
    note("%s", err.text);
    pack_list_free(list);
    fclose(f);
}

static void
test_unreadable(void)
{
    struct pack_list *list = NULL;
    struct pack_error err;
    FILE *f = fopen("/", "r");
    ok(f && pack_list_read(f, "/", &any_form, &list, &err) == PACK_ERR_IO && !list,
       "a folder is no list: %s", err.text);
    if (f)
        fclose(f);
}

/* An endless list of one column whose reading fails once *cookie calls have gone well. */
static ssize_t
read_until_failure(void *cookie, char *bytes, size_t size)
{
    int *n_good = cookie;
    if ((*n_good)-- == 0) {
        errno = EIO;
        return -1;
    }
    memcpy(bytes, "path\n", 5);
    for (size_t i = 5; i < size; i++)
        bytes[i] = i % 8 ? 'x' : '\n';
    return (ssize_t)size;
}

static void
test_failing_reads(void)
{
    for (int n = 0; n < 100; n += n < 3 ? 1 : 48) {
        int n_good = n;
        struct pack_list *list = NULL;
        struct pack_error err;
        cookie_io_functions_t io = { .read = read_until_failure };
        FILE *f = fopencookie(&n_good, "r", io);
        ok(pack_list_read(f, "l", &any_form, &list, &err) == PACK_ERR_IO && !list,
           "a list that cannot be read after %d good reads is refused", n);
        is_text(err.text, "cannot read 'l': Input/output error", "in these words");
        pack_list_free(list);
        fclose(f);
    }
}

/* ------------------------------------------------------------------ the watch */

struct watched {
    int n_asked, n_told;
};

static void
on_listing(void *context, const struct pack_progress *progress)
{
    struct watched *w = context;
    w->n_told += strcmp(progress->stage, "listing") == 0;
}

static bool
stops_at_third(void *context)
{
    struct watched *w = context;
    return ++w->n_asked >= 3;
}

/* An endless document: the head once, then `more` again and again. */
struct endless {
    const char *head, *more;
    size_t at;
};

static ssize_t
read_endless(void *cookie, char *bytes, size_t size)
{
    struct endless *e = cookie;
    size_t head = strlen(e->head), more = strlen(e->more);
    for (size_t i = 0; i < size; i++, e->at++)
        bytes[i] = e->at < head ? e->head[e->at] : e->more[(e->at - head) % more];
    return (ssize_t)size;
}

static void
test_watch(void)
{
    static const struct {
        const char *what, *head, *more;
        bool tells;
    } cases[] = {
        { "a list", "path,x\n", "a.jpg,1\n", true },
        { "JSON lines", "", "{\"path\": \"a.jpg\"}\n", true },
        { "COCO's images", "{\"categories\": [], \"images\": [",
          "{\"id\": 7, \"file_name\": \"a.jpg\"}, ", true },
        { "COCO's annotations", "{\"categories\": [], \"images\": [], \"annotations\": [",
          "{\"id\": 7, \"image_id\": 1, \"category_id\": 1}, ", true },
        { "what COCO has besides", "{\"categories\": [], \"images\": [], \"other\": [",
          "{\"id\": 7}, ", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct watched w = { 0 };
        struct pack_watch watch = { &w, on_listing, stops_at_third };
        struct pack_list_params params = { .watch = &watch };
        struct endless e = { cases[i].head, cases[i].more, 0 };
        struct pack_list *list = NULL;
        struct pack_error err = { .text = "" };
        FILE *f = fopencookie(&e, "r", (cookie_io_functions_t){ .read = read_endless });
        alarm(120);
        ok(pack_list_read(f, "l", &params, &list, &err) == PACK_ERR_INTERRUPTED && !list,
           "%s: reading ends when the watch says so: %s", cases[i].what, err.text);
        alarm(0);
        ok(w.n_asked >= 3 && (w.n_told > 0) == cases[i].tells,
           "and tells how far it is: %d times", w.n_told);
        fclose(f);
    }
}

int
main(void)
{
    test_good();
    test_bad();
    test_limits();
    test_long_list();
    test_long_array("[", "{\"path\": \"d\\/%d.jpg\", \"label\": %d}", "]");
    test_long_array("{\"labels\": [", "[\"d/%d.jpg\", %d]", "]}");
    test_long_array("{", "\"d/%d.jpg\": %d", "}");
    test_unreadable();
    test_failing_reads();
    test_watch();
    return done();
}
