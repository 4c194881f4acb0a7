/* The edges of sources: what is asked beyond their end, paths of any length, files that stay
 * open, labels at their limits, and what was added in other folders. */
#include "libpack/source/records.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/source/source_extend.h"
#include "libpack/source/source_parts.h"
#include "libpack/source/source_store.h"
#include "tests/tap.h"

static const char *const three[] = { "dog", "bird", "cat" };

/* The number that the next file would get: as many are open as before when it is the same. */
static int
next_file(void)
{
    int fd = open("/dev/null", O_RDONLY);
    close(fd);
    return fd;
}

static void
make(const char *path)
{
    char folder[256];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0777);
        *slash = '/';
    }
    int fd = open(path, O_WRONLY | O_CREAT, 0666);
    if (fd < 0 || write(fd, "x", 1) != 1)
        exit(2);
    close(fd);
}

static enum pack_status
open_list(const char *text, const char *name, const struct pack_source_params *params,
          struct pack_source **source, struct pack_error *err)
{
    FILE *file = fmemopen((void *)text, strlen(text), "r");
    *source = NULL;
    *err = (struct pack_error){ .text = "" };
    enum pack_status status = pack_source_open_list(file, name, params, source, err);
    fclose(file);
    return status;
}

/* ------------------------------------------------------------------ the lists */

static void
test_lists(void)
{
    static const struct {
        const char *what, *text;
        struct pack_source_params params;
        const char *name, *want; /* labels, or the sentence */
    } cases[] = {
        { "no label among given classes", "path,label\na,-1\nb,2\n",
          { .classes = three, .n_classes = 3 }, "l", "-1 2" },
        { "less than none", "path,label\na,-2\n", { .classes = three, .n_classes = 3 }, "l",
          "l: label '-2' of 'a' is no number of a class" },
        { "one class too many", "path,label\na,0\nb,3.0\n",
          { .classes = three, .n_classes = 3 }, "l",
          "l: label '3' of 'b' is no number of a class" },
        { "whole numbers that float64 has not all of", "path,label\na,1e15\nb,1e16\n", { 0 }, "l",
          "l: label '10000000000000000' of 'b' is beyond the whole numbers that are exact, 2^53; a "
          "column of another name than 'label' keeps such numbers as they are" },
        { "the folder above the current one has no name here", "a.jpg\n",
          { .label_from_folder = true, .list_root = ".." }, "l",
          "l: the path of 'a.jpg' names no folder to take a label from" },
        { "nor has the current one", "./a.jpg\n",
          { .label_from_folder = true, .list_root = "./" }, "l",
          "l: the path of './a.jpg' names no folder to take a label from" },
        { "nor has one that a path leads up from", "x/../a.jpg\n", { .label_from_folder = true },
          "l", "l: the path of 'x/../a.jpg' names no folder to take a label from" },
        { "a folder of two dots and more has one", "..x/a.jpg\n.y/b.jpg\n",
          { .label_from_folder = true }, "l", "0 1" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pack_source *s;
        struct pack_error err;
        char text[256] = "";
        size_t n = 0;
        open_list(cases[i].text, cases[i].name, &cases[i].params, &s, &err);
        for (uint64_t k = 0; k < pack_source_count(s); k++)
            n += (size_t)sprintf(text + n, "%s%lld", k ? " " : "",
                                 (long long)pack_source_label(s, k));
        is_text(s ? text : err.text, cases[i].want, cases[i].what);
        pack_source_close(s);
    }
}

/* What is said of files that are not there. */
static void
test_forms(void)
{
    static const struct {
        const char *text, *name, *want;
    } cases[] = {
        { "a.jpg\n", "l", "of its first 1 file none is in '.', where the paths start" },
        { "a.jpg\n", "/x/l", "of its first 1 file none is in '/x', where the paths start" },
        { "a\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0\nthere\n", "l",
          "of its first 16 files none is in '.', where the paths start; 14 rows name an image "
          "again, first '0'" },
        { "a\nb\n0\n1\n2\n3\n4\n5\n6\n7\n8\n9\nc\nd\ne\nthere\n", "l", "" },
        { "C:\\a.jpg\n", "l", "'C:\\\\a.jpg' is a path from the root" },
        { "C:/a.jpg\n", "l", "'C:/a.jpg' is a path from the root" },
        { "z:/a.jpg\n", "l", "'z:/a.jpg' is a path from the root" },
        { "\\\\server\\a.jpg\n", "l", "'\\\\\\\\server\\\\a.jpg' is a path from the root" },
        { "\\a.jpg\n", "l", "none is in '.', where" },
        { "C:a.jpg\n", "l", "none is in '.', where" },
        { "1:/a.jpg\n", "l", "none is in '.', where" },
        { "b\\c.jpg\n", "l", "none is in '.', where" },
        { "in\\there.jpg\nb\\c.jpg\n", "l", "backslashes in paths are slashes" },
        { "in/there.jpg\nin\\there.jpg\n", "l",
          "backslashes in paths are slashes; 1 row names an image again, first 'in/there.jpg'" },
        { "in/there.jpg\n.in/there.jpg\n../in/there.jpg\nin/.there.jpg\n", "l", "" },
        { "in\\there.jpg\nb\\there.jpg\n", "l", "" },
    };
    static const struct pack_source_params none = { 0 };
    make("there");
    make("in/there.jpg");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pack_source *s;
        struct pack_error err;
        if (i + 1 == sizeof cases / sizeof *cases)
            make("b\\there.jpg");
        open_list(cases[i].text, cases[i].name, &none, &s, &err);
        const char *form = s ? pack_source_list_form(s) : err.text;
        const char *behind = strstr(form, "no header");
        bool says = *cases[i].want ? strstr(form, cases[i].want) != NULL
                                   : behind && strcmp(behind, "no header") == 0;
        if (!ok(says, "list %zu: %s", i, *cases[i].want ? cases[i].want : "nothing is said"))
            note("got '%s'", form);
        pack_source_close(s);
    }
}

static void
test_listed_folders(void)
{
    static const struct pack_source_params none = { 0 };
    struct pack_source *s;
    struct pack_error err;
    char text[PACK_SOURCE_NOTE_TEXT_MAX] = "";
    make("found/a/1.jpg");
    make("found/b/2.jpg");
    open_list("found\nfound/b\nfound/b/2.jpg\nfound/a\nfound/a/1.jpg\n", "l", &none, &s, &err);
    pack_source_note_text(s, PACK_NOTE_LISTED_FOLDER, text);
    ok(pack_source_count(s) == 2 &&
           strcmp(text, "3 folders in the list ignored, first 'found'") == 0,
       "folders that find prints are counted, the first is named: %s%s", text, err.text);
    pack_source_close(s);
}

/* Comments between paths, with and without labels; what ends as an image is one. */
static void
test_comments(void)
{
    static const struct pack_source_params none = { 0 };
    static const struct {
        const char *list, *note;
        uint64_t count;
        int64_t label; /* of the last */
    } cases[] = {
        { "found/a/1.jpg 4\n# a remark\n#\nfound/b/2.jpg 7\n",
          "2 comments in the list ignored, first '# a remark'", 2, 7 },
        { "# made by hand\nfound/a/1.jpg\n \t# of b\nfound/b/2.jpg\n",
          "2 comments in the list ignored, first '# made by hand'", 2, -1 },
        { "#\tby hand\npath label\nfound/a/1.jpg 4\n# 3\nfound/b/2.jpg 5\n",
          "2 comments in the list ignored, first '#\\x09by hand'", 2, 5 },
        { "found/a/1.jpg\n#found/b/2.jpg\n# 3.jpg\n", "", 3, -1 },
        { "found/a/1.jpg,4\n# a.gif,3\n", "", 2, 3 }, /* a table: all rows count */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pack_source *s;
        struct pack_error err;
        char text[PACK_SOURCE_NOTE_TEXT_MAX] = "";
        open_list(cases[i].list, "l", &none, &s, &err);
        uint64_t n = s ? pack_source_count(s) : 0;
        if (s)
            pack_source_note_text(s, PACK_NOTE_COMMENT, text);
        ok(n == cases[i].count && strcmp(text, cases[i].note) == 0 &&
               pack_source_label(s, n - 1) == cases[i].label,
           "comments %zu: %llu rows, %s%s", i, (unsigned long long)n, text, err.text);
        pack_source_close(s);
    }
}

/* Every remark on what a source holds, of one thing and of several. */
static void
test_note_texts(void)
{
    static const struct {
        enum pack_source_note_kind kind;
        bool warns;
        const char *one, *many;
    } cases[] = {
        { PACK_NOTE_HIDDEN, false, "1 hidden file or folder ignored: 'a\\x0a'",
          "2 hidden files and folders ignored, first 'a\\x0a'" },
        { PACK_NOTE_OTHER, false, "1 file ignored that is no image: 'a\\x0a'",
          "2 files ignored that are no images, first 'a\\x0a'" },
        { PACK_NOTE_UNNAMED_IMAGE, true,
          "1 image ignored because its name does not end in .jpg, .png or the like: 'a\\x0a'",
          "2 images ignored because their names do not end in .jpg, .png or the like, first "
          "'a\\x0a'" },
        { PACK_NOTE_ROOT_IMAGE, true,
          "1 image ignored that lies beside the class folders: 'a\\x0a'",
          "2 images ignored that lie beside the class folders, first 'a\\x0a'" },
        { PACK_NOTE_FOLDER, false, "1 folder without images ignored: 'a\\x0a'",
          "2 folders without images ignored, first 'a\\x0a'" },
        { PACK_NOTE_EMPTY_CLASS, true, "1 class folder without images: 'a\\x0a'",
          "2 class folders without images, first 'a\\x0a'" },
        { PACK_NOTE_UNREADABLE, true, "1 file ignored that may not be read: 'a\\x0a'",
          "2 files ignored that may not be read, first 'a\\x0a'" },
        { PACK_NOTE_BROKEN_LINK, true, "1 link to nowhere ignored: 'a\\x0a'",
          "2 links to nowhere ignored, first 'a\\x0a'" },
        { PACK_NOTE_LOOP, true,
          "1 link not followed because it leads to a folder it is in: 'a\\x0a'",
          "2 links not followed because they lead to a folder they are in, first 'a\\x0a'" },
        { PACK_NOTE_LISTED_FOLDER, false, "1 folder in the list ignored: 'a\\x0a'",
          "2 folders in the list ignored, first 'a\\x0a'" },
        { PACK_NOTE_THUMBNAIL, false,
          "1 image ignored that lies in a folder of thumbnails: 'a\\x0a'",
          "2 images ignored that lie in folders of thumbnails, first 'a\\x0a'" },
        { PACK_NOTE_MASK, true,
          "1 image taken as a picture that looks like the mask of another: 'a\\x0a'",
          "2 images taken as pictures that look like masks of others, first 'a\\x0a'" },
        { PACK_NOTE_OTHER_SOURCE, true,
          "1 source ignored that is no image and no folder: 'a\\x0a'",
          "2 sources ignored that are no images and no folders, first 'a\\x0a'" },
        { PACK_NOTE_COMMENT, false, "1 comment in the list ignored: 'a\\x0a'",
          "2 comments in the list ignored, first 'a\\x0a'" },
    };
    char text[PACK_SOURCE_NOTE_TEXT_MAX], first[] = "a\n";
    int wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t n = 0; n < 3; n++) {
            struct pack_source s = { 0 };
            s.notes[cases[i].kind] = (struct pack_source_note){ n, first };
            const char *got = pack_source_note_text(&s, cases[i].kind, text);
            const char *want = n == 0 ? NULL : n == 1 ? cases[i].one : cases[i].many;
            bool right = want ? got == text && strcmp(got, want) == 0 : !got;
            if (!right)
                note("got '%s'", got ? got : "(nothing)");
            wrong += !right || pack_source_note_warns(cases[i].kind) != cases[i].warns;
        }
    ok(wrong == 0 && sizeof cases / sizeof *cases == PACK_NOTE_KINDS,
       "every remark has its words, and hints at a mistake or does not");
    struct pack_source s = { 0 };
    ok(!pack_source_note_text(NULL, PACK_NOTE_HIDDEN, text) &&
           !pack_source_note_text(&s, PACK_NOTE_KINDS, text) &&
           !pack_source_note_text(&s, (enum pack_source_note_kind)-1, text) &&
           !pack_source_note_warns(PACK_NOTE_KINDS),
       "there are no others");
}

/* ------------------------------------------------------------------ the files */

static void
test_beyond(void)
{
    static const struct pack_source_params none = { 0 };
    struct pack_source *s;
    struct pack_error err;
    char text[8] = "x";
    size_t n = 7;
    int fd = -1;
    open_list("path,label\na,4\nb,5\n", "l", &none, &s, &err);
    ok(pack_source_label(s, 1) == 5 && pack_source_label(s, 2) == -1 &&
           !pack_source_name(s, 2) && pack_source_path(s, 2, text, 8) == 0 && !*text,
       "behind the last image is none");
    ok(pack_source_open_file(s, 2, &fd, &err) == PACK_ERR_ARGUMENT && fd == -1, "%s", err.text);
    ok(!pack_source_classes(s, &n) && n == 0, "numbers have no names of classes");
    ok(pack_source_path(s, 0, NULL, 0) == 1 && pack_source_path(s, 0, text, 1) == 1 && !*text,
       "a path is as long as it is, however little fits");
    ok(pack_source_count(NULL) == 0 && pack_source_label(NULL, 0) == -1 &&
           !pack_source_has_labels(NULL) && !pack_source_list_form(NULL),
       "no source has no images");
    pack_source_close(s);
}

/* Opens a file under `depth` folders of 200 bytes: only so many are open afterwards. */
static void
test_deep(int depth)
{
    static const struct pack_source_params none = { .list_format = PACK_LIST_LINES };
    size_t size = (size_t)depth * 201 + 8;
    char name[201], *path = malloc(size), *at = path;
    memset(name, 'd', 200);
    name[200] = '\0';
    int folder = open(".", O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < depth; i++) {
        mkdirat(folder, name, 0777);
        int below = openat(folder, name, O_RDONLY | O_DIRECTORY);
        close(folder);
        folder = below;
        at += sprintf(at, "%s/", name);
    }
    strcpy(at, "a.jpg");
    close(openat(folder, "a.jpg", O_WRONLY | O_CREAT, 0666));
    close(folder);
    struct pack_source *s;
    struct pack_error err;
    int before = next_file(), fd = -1;
    open_list(path, "l", &none, &s, &err);
    enum pack_status status = pack_source_open_file(s, 0, &fd, &err);
    close(fd);
    ok(status == PACK_OK && next_file() == before,
       "a file of a path of %zu bytes is opened, and nothing else stays open", strlen(path));
    pack_source_close(s);
    strcpy(at, "b.jpg");
    open_list(path, "l", &none, &s, &err);
    status = pack_source_open_file(s, 0, &fd, &err);
    ok(status == PACK_ERR_NOT_FOUND && errno == ENOENT && next_file() == before,
       "nor where there is none");
    pack_source_close(s);
    free(path);
}

static void
test_long_names(void)
{
    static const struct pack_source_params none = { .list_format = PACK_LIST_LINES },
                                           table = { 0 };
    char name[2 * PATH_MAX];
    struct pack_source *s;
    struct pack_error err;
    int before = next_file(), fd = -1;
    for (int i = 0; i < 2; i++) { /* "/aaa...": its only slash is the root's */
        memset(name, 'a', sizeof name - 1);
        name[sizeof name - 1] = '\0';
        name[0] = i ? '/' : 'a';
        open_list(name, "l", &none, &s, &err);
        enum pack_status status = pack_source_open_file(s, 0, &fd, &err);
        ok(status == PACK_ERR_IO && errno == ENAMETOOLONG && next_file() == before,
           "a name that no system has: %s", err.text);
        pack_source_close(s);
    }
    mkdir("folder", 0777);
    open_list("path\nfolder\n", "l", &table, &s, &err);
    for (int i = 0; i < 3; i++)
        pack_source_open_file(s, 0, &fd, &err);
    ok(next_file() == before && strcmp(err.text, "is a folder") == 0,
       "what is no file does not stay open: %s", err.text);
    pack_source_close(s);
}

/* ------------------------------------------------------------------ the folders */

static enum pack_status
open_folder(const char *folder, const struct pack_source_params *params,
            struct pack_source **source, struct pack_error *err)
{
    *source = NULL;
    *err = (struct pack_error){ .text = "" };
    return pack_source_open((const char *const[]){ folder }, 1, params, source, err);
}

/* A link to a name that no file can have is neither there nor not there. */
static void
test_odd_links(void)
{
    static const struct pack_source_params none = { 0 };
    struct pack_source *s;
    struct pack_error err;
    char target[301];
    memset(target, 'a', 300);
    target[300] = '\0';
    make("links/c/1.jpg");
    if (symlink(target, "links/c/2.jpg") != 0)
        exit(2);
    ok(open_folder("links", &none, &s, &err) == PACK_OK && pack_source_count(s) == 2,
       "one that is called as an image is: opening it says why it is none");
    pack_source_close(s);
    if (symlink(target, "links/c/3") != 0)
        exit(2);
    open_folder("links", &none, &s, &err);
    is_text(err.text, "cannot follow 'links/c/3': File name too long", "any other is an error");
    pack_source_close(s);
}

static bool
stops_at_second(void *context)
{
    int *n = context;
    return ++*n >= 3;
}

static void
test_large_folder(void)
{
    int n_asked = 0;
    struct pack_source_params params = { .watch = { &n_asked, NULL, stops_at_second } };
    struct pack_source *s;
    struct pack_error err;
    char path[64];
    for (int i = 0; i < 4200; i++) {
        snprintf(path, sizeof path, "large/%d.jpg", i);
        if (i == 0)
            make(path);
        else if (link("large/0.jpg", path) != 0)
            exit(2);
    }
    open_folder("large", &params, &s, &err);
    ok(s && pack_source_count(s) == 4200 && n_asked == 2, "a folder of 4200 images asks twice");
    pack_source_close(s);
    n_asked = 1;
    ok(open_folder("large", &params, &s, &err) == PACK_ERR_INTERRUPTED && !s,
       "and ends within it: %s", err.text);
}

/* ---------------------------------------------------------------- additions */

struct entry {
    const char *name;
    uint32_t root;
};

/* A listing of folders "x", "y", ... with prefixes of their names, as walked. */
static struct pack_source *
walked(const char *const *roots, const struct entry *entries)
{
    struct pack_source *s = NULL;
    if (pack_source_new(NULL, &s, NULL) != PACK_OK)
        abort();
    for (; *roots; roots++)
        pack_source_add_root(s, *roots, strlen(*roots) + 1, NULL);
    for (; entries->name; entries++) {
        pack_source_add(s, entries->name, -1, NULL);
        s->records[s->n_records - 1].root = entries->root;
    }
    return s;
}

static void
test_additions(void)
{
    static const struct {
        const char *what, *was[4], *now[4];
        struct entry old[4], new[4];
        uint64_t n_added, n_left_out;
        enum pack_source_left_out why;
    } cases[] = {
        { "in the last folder", { "x", "y" }, { "x", "y" }, { { "x/1", 0 }, { "y/1", 1 } },
          { { "x/1", 0 }, { "y/1", 1 }, { "y/2", 1 } }, 1, 0, 0 },
        { "in the first folder", { "x", "y" }, { "x", "y" }, { { "x/1", 0 }, { "y/1", 1 } },
          { { "x/1", 0 }, { "x/2", 0 }, { "y/1", 1 } }, 0, 1, PACK_LEFT_OUT_NOT_LAST },
        { "behind an image that is gone", { "x", "y" }, { "x", "y" },
          { { "x/1", 0 }, { "y/1", 1 } }, { { "x/1", 0 }, { "x/2", 0 } }, 0, 1,
          PACK_LEFT_OUT_NOT_LAST },
        { "in a folder that was empty", { "x", "y" }, { "x", "y" }, { { "x/1", 0 } },
          { { "x/1", 0 }, { "y/0", 1 } }, 1, 0, 0 },
        { "in a new folder", { "x" }, { "x", "y" }, { { "x/1", 0 } },
          { { "x/1", 0 }, { "y/1", 1 } }, 0, 1, PACK_LEFT_OUT_FOLDER },
        { "with a folder less", { "x", "y" }, { "y" }, { { "x/1", 0 }, { "y/1", 1 } },
          { { "y/1", 0 }, { "y/2", 0 } }, 1, 0, 0 },
        { "in folders that changed places and became three", { "x", "y" }, { "z", "y", "x" },
          { { "x/1", 0 }, { "y/1", 1 } }, { { "y/1", 1 }, { "y/2", 1 }, { "x/3", 2 } }, 1, 1,
          PACK_LEFT_OUT_NOT_LAST },
        { "with another folder instead of the last", { "x", "y" }, { "x", "z" },
          { { "x/1", 0 }, { "y/1", 1 } }, { { "x/1", 0 }, { "z/1", 1 } }, 0, 1,
          PACK_LEFT_OUT_FOLDER },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pack_source *s = walked(cases[i].was, cases[i].old),
                           *now = walked(cases[i].now, cases[i].new);
        struct pack_source_additions a = { 0 };
        struct pack_error err = { .text = "" };
        pack_source_extend(s, now, &a, &err);
        char path[64] = "", want[64] = "";
        if (a.n_added) {
            pack_source_path(s, s->n_records - 1, path, sizeof path);
            snprintf(want, sizeof want, "%s", pack_source_name(s, s->n_records - 1));
        }
        ok(a.n_added == cases[i].n_added && a.n_left_out == cases[i].n_left_out &&
               a.why == cases[i].why && strcmp(path, want) == 0,
           "%s: %d added, %d left out, %d; '%s'%s", cases[i].what, (int)a.n_added,
           (int)a.n_left_out, (int)a.why, path, err.text);
        pack_source_close(s);
        pack_source_close(now);
    }
}

/* Images of before are looked for in the folder that is called so now, whatever its place
 * among the others, and not in one that has its place. */
static void
test_folders_of_before(void)
{
    static const struct {
        const char *what, *was[4], *now[4], *path; /* of y/1 */
        struct entry old[4], new[4];
    } cases[] = {
        { "folders that changed places", { "x", "y" }, { "y", "x" }, "y/1",
          { { "x/1", 0 }, { "y/1", 1 } }, { { "y/1", 0 }, { "x/1", 1 } } },
        { "folders that moved", { "x", "y" }, { "m/x", "m/y" }, "m/y/1",
          { { "x/1", 0 }, { "y/1", 1 }, { "y/2", 1 } }, { { "x/1", 0 }, { "y/1", 1 } } },
        { "folders that moved and changed places", { "x", "y" }, { "m/y", "n/x" }, "m/y/1",
          { { "x/1", 0 }, { "y/1", 1 } }, { { "y/1", 0 }, { "x/1", 1 } } },
        { "another folder in its place", { "x", "y" }, { "x", "z" }, "y/1",
          { { "x/1", 0 }, { "y/1", 1 } }, { { "x/1", 0 }, { "z/1", 1 } } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pack_source *s = walked(cases[i].was, cases[i].old),
                           *now = walked(cases[i].now, cases[i].new);
        struct pack_source_additions a = { 0 };
        struct pack_error err = { .text = "" };
        char path[64] = "";
        /* "m/x" and "m/y" as a call names them: by their last components */
        for (uint32_t k = 0; k < now->n_roots; k++)
            now->roots[k].prefix_bytes = 2;
        enum pack_status status = pack_source_extend(s, now, &a, &err);
        pack_source_path(s, 1, path, sizeof path);
        ok(status == PACK_OK && strcmp(path, cases[i].path) == 0, "%s: y/1 is '%s'%s",
           cases[i].what, path, err.text);
        pack_source_close(s);
        pack_source_close(now);
    }
}

/* A folder whose images had no prefix is not one of the same path whose images have. */
static void
test_other_prefix(void)
{
    static const char *const folders[] = { "x", "y", NULL };
    static const struct entry new[] = { { "x/1", 0 }, { "x/2", 0 }, { NULL, 0 } };
    struct pack_source *s = NULL, *now = walked(folders, new);
    struct pack_source_additions a = { 0 };
    struct pack_error err = { .text = "" };
    if (pack_source_new(NULL, &s, NULL) != PACK_OK || pack_source_add_root(s, "x", 0, NULL) != PACK_OK ||
        pack_source_add(s, "x/1", -1, NULL) != PACK_OK)
        abort();
    ok(pack_source_extend(s, now, &a, &err) == PACK_OK && a.n_added == 0 && a.n_left_out == 1 &&
           a.why == PACK_LEFT_OUT_FOLDER,
       "x/x/2.jpg is not x/2.jpg: %d added, %d left out%s", (int)a.n_added, (int)a.n_left_out,
       err.text);
    pack_source_close(s);
    pack_source_close(now);
}

/* Of a source that its limit cut, what lies behind is no addition, and what is new is none. */
static void
test_additions_behind_limit(void)
{
    static const char *const folder[] = { "x", NULL };
    static const struct entry old[] = { { "x/1", 0 }, { "x/2", 0 }, { NULL, 0 } };
    static const struct entry new[] = {
        { "x/0", 0 }, { "x/1", 0 }, { "x/2", 0 }, { "x/3", 0 }, { NULL, 0 }
    };
    struct pack_source *s = walked(folder, old), *now = walked(folder, new);
    struct pack_source_additions a = { 0 };
    struct pack_error err = { .text = "" };
    pack_source_limit(s, 1);
    ok(pack_source_extend(s, now, &a, &err) == PACK_OK && s->n_records == 1 &&
           a.n_added == 0 && a.n_left_out == 0,
       "beyond a limit nothing is added, and nothing told as left out: %d, %d%s",
       (int)a.n_added, (int)a.n_left_out, err.text);
    pack_source_close(s);
    pack_source_close(now);
}

/* Real numbers and texts of added rows are theirs. */
static void
test_added_cells(void)
{
    static const char first[] = "path,label,r,t\na,x,0.5,one\nb,,1.5,two\n";
    static const struct pack_source_params none = { 0 };
    struct pack_source *s, *now;
    struct pack_source_additions a;
    struct pack_error err;
    char text[256];
    snprintf(text, sizeof text, "%sc,x,2.5,three\nd,,-1e9,\n", first);
    open_list(first, "l", &none, &s, &err);
    open_list(text, "l", &none, &now, &err);
    ok(pack_source_extend(s, now, &a, &err) == PACK_OK && a.n_added == 2 &&
           pack_source_digest(s) == pack_source_digest(now) &&
           s->list->columns[0].floats[3] == -1e9 && s->records[3].label == -1,
       "columns of every type and images without label grow");
    pack_source_close(s);
    pack_source_close(now);
}

/* What cannot be another listing of the same images is said. */
static void
test_changed(void)
{
    static const char first[] = "path,label,n,r,t\na,x,1,0.5,one\nb,y,2,1.5,two\n";
    static const struct {
        const char *now, *says; /* NULL: it is the same */
    } cases[] = {
        { first, NULL },
        { "path,label,n,r,t\na,x,1,0.5,one\n", NULL },
        { "path,label,n,r,t\nb,y,2,1.5,two\na,x,1,0.5,one\n", NULL },
        { "path,label,n,r,t\na,y,1,0.5,one\nb,y,2,1.5,two\n", "'a' has another label" },
        { "path,label,n,r,t\na,x,1,0.5,one\nb,,2,1.5,two\n", "'b' has another label" },
        { "path,label,n,r,t\na,3,1,0.5,one\nb,4,2,1.5,two\n", "'a' has another label" },
        { "path,n,r,t\na,1,0.5,one\nb,2,1.5,two\n", "'a' has another label" },
        { "path,label,n,r,t\na,x,3,0.5,one\nb,y,2,1.5,two\n",
          "'a' has another value in column 'n'" },
        { "path,label,n,r,t\na,x,1,0.5,one\nb,y,2,1.25,two\n",
          "'b' has another value in column 'r'" },
        { "path,label,n,r,t\na,x,1,0.5,one\nb,y,2,1.5,three\n",
          "'b' has another value in column 't'" },
        { "path,label,n,r,t\na,x,1.25,0.5,one\nb,y,2,1.5,two\n",
          "'a' has another value in column 'n'" },
        { "path,label,n,r,t\na,x,1,0.5,one\nb,y,n/a,1.5,two\n",
          "'b' has another value in column 'n'" },
        { "path,label,n,r,t\na,x,1,0.5,one\nb,y,,1.5,two\n",
          "'b' has another value in column 'n'" },
        { "path,label,n,r,t\na,x,1,0.5,1\nb,y,2,1.5,2\n",
          "'a' has another value in column 't'" },
        { "path,label,n,r,t\na,x,1.0,0.5,one\nb,y,2,1.50,two\n", NULL },
        { "path,label,n,r\na,x,1,0.5\nb,y,2,1.5\n", "the columns are others" },
        { "path,label,n,r,u\na,x,1,0.5,one\nb,y,2,1.5,two\n", "the columns are others" },
        { "path,label,n,r,t,u\na,x,1,0.5,one,1\nb,y,2,1.5,two,2\n", "the columns are others" },
        { "path,label,r,n,t\na,x,0.5,1,one\nb,y,1.5,2,two\n", "the columns are others" },
        { "path,label,n,r,t\nc,x,1,0.5,one\n", "none of the images is the same" },
    };
    static const struct pack_source_params none = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pack_source *s, *now;
        struct pack_source_additions a;
        struct pack_error err;
        open_list(first, "l", &none, &s, &err);
        open_list(cases[i].now, "l", &none, &now, &err);
        err.text[0] = '\0';
        enum pack_status status = pack_source_extend(s, now, &a, &err);
        ok(cases[i].says ? status == PACK_ERR_CHANGED && strcmp(err.text, cases[i].says) == 0
                         : status == PACK_OK && a.n_added == 0 && a.n_left_out == 0 &&
                               pack_source_count(s) == 2,
           "listing %d: %s", (int)i, cases[i].says ? err.text : "nothing was changed");
        pack_source_close(s);
        pack_source_close(now);
    }
}

/* Classes that are given now have the numbers that they had when the run began. */
static void
test_given_numbers(void)
{
    static const char list[] = "path,label\na,x\nb,y\n", less[] = "path,label\na,x\n";
    static const char *const classes[] = { "x", "y", "z", "x", "z", "y" };
    static const struct {
        size_t first, n;
        const char *says;
    } cases[] = {
        { 0, 0, NULL },
        { 0, 2, NULL },
        { 1, 3, "class 'y' has another number" },
        { 0, 3, "class 'z' is new" },
        { 3, 3, "class 'z' is new" },
        { 0, 1, "class 'y' is not given" },
    };
    static const struct pack_source_params none = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pack_source *s, *now;
        struct pack_source_additions a;
        struct pack_error err = { 0 };
        struct pack_source_params given = { .classes = classes + cases[i].first,
                                            .n_classes = cases[i].n };
        open_list(list, "l", &none, &s, &err);
        open_list(cases[i].n == 1 ? less : list, "l", &given, &now, &err);
        enum pack_status status = pack_source_extend(s, now, &a, &err);
        ok(cases[i].says ? status == PACK_ERR_CHANGED && strcmp(err.text, cases[i].says) == 0
                         : status == PACK_OK && pack_source_count(s) == 2,
           "classes %d: %s", (int)i, cases[i].says ? err.text : "go on");
        pack_source_close(s);
        pack_source_close(now);
    }
}

/* Bytes that claim what was not there. */
static void
test_bad_bytes(void)
{
    static const struct {
        const char *what;
        unsigned char bytes[16];
        size_t size;
    } cases[] = {
        { "more of the name before than there was", { 0, 1, 1, 'a', 0 }, 5 },
        { "a name of more bytes than there are", { 0, 0, 9, 'a', 0 }, 5 },
        { "a folder that is not there", { 1, 0, 1, 'a', 0 }, 5 },
        { "a byte behind the last row", { 0, 0, 1, 'a', 0, 0 }, 6 },
        { "no label", { 0, 0, 1, 'a' }, 4 },
        { "a number that does not end",
          { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80 }, 11 },
        { "a NUL in a name", { 0, 0, 1, 0, 0 }, 5 },
    };
    static const struct pack_source_params none = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pack_source *s, *loaded = NULL;
        struct pack_error err;
        struct pack_buf head = { 0 };
        open_list("a\n", "l", &none, &s, &err);
        pack_source_store_head(s, &head, NULL);
        pack_source_load_head(head.data, head.size, &loaded, NULL);
        enum pack_status good =
            pack_source_load_rows(loaded, (unsigned char[]){ 0, 0, 1, 'a', 0 }, 5, 1, &err);
        enum pack_status bad =
            pack_source_load_rows(loaded, cases[i].bytes, cases[i].size, 1, &err);
        ok(good == PACK_OK && bad == PACK_ERR_FORMAT && loaded->n_records == 1 &&
               strcmp(err.text, "not a stored list of images") == 0,
           "%s is refused", cases[i].what);
        pack_source_close(loaded);
        pack_source_close(s);
        pack_buf_done(&head);
    }
}

static int
remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)ftw;
    return type == FTW_DP ? rmdir(path) : unlink(path);
}

int
main(void)
{
    char folder[] = "/tmp/test_source_edges.XXXXXX", command[128];
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 2;
    test_lists();
    test_forms();
    test_listed_folders();
    test_comments();
    test_note_texts();
    test_beyond();
    test_deep(45);
    test_deep(70);
    test_long_names();
    test_odd_links();
    test_large_folder();
    test_additions();
    test_folders_of_before();
    test_other_prefix();
    test_additions_behind_limit();
    test_added_cells();
    test_changed();
    test_given_numbers();
    test_bad_bytes();
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (chdir("/") != 0 || system(command) != 0)
        nftw(folder, remove_entry, 32, FTW_DEPTH | FTW_PHYS);
    return done();
}
