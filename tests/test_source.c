/* Sources: trees built in a temporary folder, and what is listed, noted or refused. */
#include "libpack/source/records.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/lease.h"
#include "tests/tap.h"

/* ---------------------------------------------------------------- the trees */

static char work[] = "/tmp/test_source.XXXXXX";
static bool hide_types; /* readdir() tells no types, as on some file systems */
static const char *vanishing; /* a file that is gone once readdir() has told of it */

struct dirent *
readdir(DIR *dir)
{
    static struct dirent *(*real)(DIR *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "readdir");
    struct dirent *e = real(dir);
    if (e && hide_types)
        e->d_type = DT_UNKNOWN;
    if (e && vanishing && strcmp(e->d_name, vanishing) == 0)
        unlinkat(dirfd(dir), vanishing, 0);
    return e;
}

/* Creates `path`: a folder when it ends in '/', a link when it holds " -> ", a JPEG file
 * by content when it ends in '=' (which is dropped), a named pipe when it ends in '|',
 * else a file of text. Folders above are made as needed. */
static void
make(const char *path)
{
    char text[PATH_MAX], *target;
    snprintf(text, sizeof text, "%s", path);
    for (char *slash = strchr(text, '/'); slash; slash = strchr(slash + 1, '/')) {
        if ((target = strstr(text, " -> ")) && slash > target)
            break;
        *slash = '\0';
        mkdir(text, 0777);
        *slash = '/';
    }
    size_t n = strlen(text);
    if (text[n - 1] == '/')
        return;
    if ((target = strstr(text, " -> "))) {
        *target = '\0';
        if (symlink(target + 4, text) != 0)
            exit(2);
        return;
    }
    char kind = text[n - 1];
    if (kind == '=' || kind == '|')
        text[n - 1] = '\0';
    if (kind == '|') {
        if (mkfifo(text, 0666) != 0)
            exit(2);
        return;
    }
    FILE *f = fopen(text, "w");
    if (!f)
        exit(2);
    fputs(kind == '=' ? "\xff\xd8\xff\xe0 image" : "text", f);
    fclose(f);
}

static int
remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)ftw;
    return type == FTW_DP ? rmdir(path) : unlink(path);
}

static void
remove_tree(const char *path)
{
    nftw(path, remove_entry, 32, FTW_DEPTH | FTW_PHYS);
}

static bool
is_jpeg(const void *head, size_t size)
{
    return size >= 3 && memcmp(head, "\xff\xd8\xff", 3) == 0;
}

/* ----------------------------------------------------------- what came of it */

/* "cat/1.jpg=0 ... [cat dog] 2 hidden", or the sentence of the failure. */
static void
print_source(const struct pack_source *s, char *text, size_t size)
{
    static const char *const notes[] = { "hidden",     "other",  "unnamed",
                                         "root",       "folder", "empty",
                                         "unreadable", "broken", "loop",
                                         "listed",     "thumbs", "mask",
                                         "source" };
    FILE *out = fmemopen(text, size, "w");
    for (uint64_t i = 0; i < s->n_records; i++) {
        fputs(s->records[i].name, out);
        if (s->has_labels)
            fprintf(out, "=%lld", (long long)s->records[i].label);
        putc(' ', out);
    }
    for (size_t i = 0; i < s->n_classes; i++)
        fprintf(out, "%c%s%s", i ? ' ' : '[', s->class_names[i],
                i + 1 < s->n_classes ? "" : "]");
    for (int i = 0; i < PACK_NOTE_KINDS; i++)
        if (s->notes[i].count)
            fprintf(out, " %llu %s(%s)", (unsigned long long)s->notes[i].count, notes[i],
                    s->notes[i].first);
    fclose(out);
}

static struct pack_source *
open_folders(const char *const *folders, const struct pack_source_params *params,
             char *text, size_t size)
{
    struct pack_source_params p = params ? *params : (struct pack_source_params){ 0 };
    struct pack_source *source = NULL;
    struct pack_error err;
    size_t n = 0;
    while (folders[n])
        n++;
    if (!p.is_image)
        p.is_image = is_jpeg;
    if (pack_source_open(folders, n, &p, &source, &err) == PACK_OK)
        print_source(source, text, size);
    else
        snprintf(text, size, "%s%s%s", err.text, err.param ? "; " : "",
                 err.param ? err.param : "");
    return source;
}

/* ------------------------------------------------------------------ folders */

struct tree {
    const char *what;
    const char *entries[16]; /* for make() */
    const char *sources[6];  /* none: "." */
    struct pack_source_params params;
    const char *want;
};

static const char *const cat_dog[] = { "dog", "bird", "cat" };
static const char *const twice[] = { "a", "b", "a" };

static const struct tree trees[] = {
    { .what = "class folders; extensions in any case; other files ignored",
      .entries = { "dog/b.JPG", "dog/a.jpeg", "cat/x.Webp", "cat/notes.txt", "cat/jpg",
                   "README" },
      .want = "cat/x.Webp=0 dog/a.jpeg=1 dog/b.JPG=1 [cat dog] 3 other(README)" },
    { .what = "folders sort by whole path, files before those of deeper folders",
      .entries = { "c/b/1.png", "c/a/1.png", "c/a-b/1.png", "c/z.png", "c/a/b/1.png" },
      .want = "c/z.png=0 c/a/1.png=0 c/a-b/1.png=0 c/a/b/1.png=0 c/b/1.png=0 [c]" },
    { .what = "names with a leading dot are ignored and counted",
      .entries = { "c/1.jpg", "c/.2.jpg", "c/.git/3.jpg", ".hidden/4.jpg", ".x" },
      .want = "c/1.jpg=0 [c] 4 hidden(.hidden)" },
    { .what = "an empty class keeps its number",
      .entries = { "a/1.jpg", "b/", "c/d/", "d/1.jpg" },
      .want = "a/1.jpg=0 d/1.jpg=3 [a b c d] 2 empty(b)" },
    { .what = "content does not count in class folders, but is noticed",
      .entries = { "a/1.jpg", "a/2=", "a/3.dat=", "a/4" },
      .want = "a/1.jpg=0 [a] 1 other(a/4) 2 unnamed(a/2)" },
    { .what = "content counts when any name will do",
      .entries = { "a/1.jpg", "a/2=", "a/3.dat=", "a/4" },
      .params = { .any_name = true },
      .want = "a/1.jpg=0 a/2=0 a/3.dat=0 [a] 1 other(a/4)" },
    { .what = "a flat folder has no labels, and content counts",
      .entries = { "b.jpg", "a=", "c.txt", "d.gif=", "e.png", ".f.jpg" },
      .want = "a b.jpg d.gif e.png  1 hidden(.f.jpg) 1 other(c.txt)" },
    { .what = "folders without images do not make a flat folder one of classes",
      .entries = { "b.jpg", "notes/readme", "empty/" },
      .want = "b.jpg  1 other(notes/readme) 2 folder(empty)" },
    { .what = "few images beside class folders are ignored, as ImageFolder does",
      .entries = { "sample.jpg", "a/1.jpg", "a/2.jpg", "b/1.jpg" },
      .want = "a/1.jpg=0 a/2.jpg=0 b/1.jpg=1 [a b] 1 root(sample.jpg)" },
    { .what = "as many, too",
      .entries = { "sample.jpg", "a/1.jpg" },
      .want = "a/1.jpg=0 [a] 1 root(sample.jpg)" },
    { .what = "more are refused",
      .entries = { "1.jpg", "2.jpg", "x/1.jpg" },
      .want = "'.' holds 2 images itself and 1 in subfolders: neither flat nor one "
              "folder per class; no_labels" },
    { .what = "small copies beside images are no class",
      .entries = { "1.jpg", "2.jpg", "Thumbs/1.jpg", "Thumbs/2.jpg", "@eaDir/1.jpg/1.jpg",
                   "x/" },
      .want = "1.jpg 2.jpg  3 thumbs(@eaDir/1.jpg/1.jpg)" },
    { .what = "a class may be called thumbs",
      .entries = { "a/1.jpg", "thumbs/1.jpg", "1.jpg" },
      .want = "a/1.jpg=0 thumbs/1.jpg=1 [a thumbs] 1 root(1.jpg)" },
    { .what = "so may all of them",
      .entries = { "thumbs/1.jpg" },
      .want = "thumbs/1.jpg=0 [thumbs]" },
    { .what = "without labels, no small copies either",
      .entries = { "a/1.jpg", "a/thumbs/1.jpg", "a/thumbs/b/1.jpg", "a/b/2.jpg",
                   "c/thumbs/1.jpg" },
      .params = { .no_labels = true },
      .want = "a/1.jpg a/b/2.jpg c/thumbs/1.jpg  2 thumbs(a/thumbs/1.jpg)" },
    { .what = "those of one folder are not in the next",
      .entries = { "a/1.jpg", "a/thumbs/1.jpg", "b/2.jpg" },
      .sources = { "a", "b" },
      .params = { .no_labels = true },
      .want = "a/1.jpg b/2.jpg  1 thumbs(a/thumbs/1.jpg)" },
    { .what = "years and things belong to the names of splits",
      .entries = { "train2017/1.jpg", "val_images/1.jpg" },
      .want = "'.' holds splits of a data set, not classes: 'train2017' and "
              "'val_images'; splits_are_classes" },
    { .what = "other ends do not",
      .entries = { "trainers/1.jpg", "valley/1.jpg", "test12345/1.jpg" },
      .want = "test12345/1.jpg=0 trainers/1.jpg=1 valley/1.jpg=2 [test12345 trainers "
              "valley]" },
    { .what = "without labels everything below is taken, in the same order",
      .entries = { "z.jpg", "a/b/1=", "a/2.jpg", "a-b/1.jpg" },
      .params = { .no_labels = true },
      .want = "z.jpg a/2.jpg a-b/1.jpg a/b/1 " },
    { .what = "links to folders are classes, links to files are files",
      .entries = { "s/b -> ../t", "t/1.jpg", "s/a/1.jpg -> ../../t/1.jpg",
                   "s/a/2.jpg -> nowhere", "s/a/3 -> nowhere", "s/a/4 -> 4",
                   "s/a/5.jpg -> 5.jpg" },
      .sources = { "s" },
      .want = "a/1.jpg=0 a/2.jpg=0 a/5.jpg=0 b/1.jpg=1 [a b] 2 broken(a/3)" },
    { .what = "links that lead back up are not followed",
      .entries = { "a/1.jpg", "a/up -> ..", "a/self -> .", "a/b/2.jpg",
                   "a/b/top -> ../../a", "all -> ." },
      .want = "a/1.jpg=0 a/b/2.jpg=0 [a all] 1 empty(all) 4 loop(a/b/top)" },
    { .what = "pipes and folders that are called images",
      .entries = { "a/1.jpg|", "a/2|", "a/3.jpg/4.jpg" },
      .want = "a/1.jpg=0 a/3.jpg/4.jpg=0 [a] 1 other(a/2)" },
    { .what = "no images at all",
      .entries = { "a/1.txt", "a/2=", "b/", ".c" },
      .want = "no images in '.'; it holds 1 image by content only, 1 other file, 1 "
              "hidden file or folder; any_name" },
    { .what = "an empty folder",
      .entries = { "s/" },
      .sources = { "s/" },
      .want = "no images in 's'" },
    { .what = "no folder",
      .sources = { "nothing" },
      .want = "cannot read folder 'nothing': No such file or directory" },
    { .what = "files are sources in the order given, by name or by content",
      .entries = { "b/2.jpg", "b/1.JPG", "a/x=", "a/notes.txt" },
      .sources = { "b/2.jpg", "a/x", "b/1.JPG", "a/notes.txt" },
      .want = "b/2.jpg a/x b/1.JPG  1 source(a/notes.txt)" },
    { .what = "a text file beside a folder is ignored",
      .entries = { "b/2.jpg", "c.txt" },
      .sources = { "c.txt", "b" },
      .want = "2.jpg  1 source(c.txt)" },
    { .what = "and beside folders of classes, which keep their labels",
      .entries = { "a/x/1.jpg", "b/y/2.jpg", "c.txt" },
      .sources = { "a", "c.txt", "b" },
      .want = "a/x/1.jpg=0 b/y/2.jpg=1 [x y] 1 source(c.txt)" },
    { .what = "image files and flat folders are taken in the order given",
      .entries = { "p/a/2.jpg", "p/a/1.jpg", "p/c.jpg", "p/b.jpg", "p/d/3.jpg" },
      .sources = { "p/a/", "p/c.jpg", "p/b.jpg", "p/d" },
      .want = "p/a/1.jpg p/a/2.jpg p/c.jpg p/b.jpg p/d/3.jpg " },
    { .what = "with the folders that they are in as classes",
      .entries = { "p/a/1.jpg", "p/c.jpg", "p/d/3.jpg" },
      .sources = { "p/c.jpg", "p/a", "p/d" },
      .params = { .label_from_folder = true },
      .want = "p/c.jpg=2 p/a/1.jpg=0 p/d/3.jpg=1 [a d p]" },
    { .what = "an image file behind a folder of classes",
      .entries = { "t/cat/1.jpg", "c.jpg" },
      .sources = { "t", "c.jpg" },
      .want = "'t' has a folder per class, 'c.jpg' is an image in none of them; no_labels" },
    { .what = "an image file in front of one",
      .entries = { "t/cat/1.jpg", "c.jpg" },
      .sources = { "c.jpg", "t" },
      .want = "'t' has a folder per class, 'c.jpg' is an image in none of them; no_labels" },
    { .what = "both without labels",
      .entries = { "t/cat/1.jpg", "c.jpg" },
      .sources = { "c.jpg", "t" },
      .params = { .no_labels = true },
      .want = "c.jpg t/cat/1.jpg " },
    { .what = "an image that is not there, beside one that is",
      .entries = { "a.jpg" },
      .sources = { "a.jpg", "*.png" },
      .want = "cannot open '*.png': No such file or directory" },
    { .what = "a folder that is not there, beside a file",
      .entries = { "a.jpg" },
      .sources = { "a.jpg", "b" },
      .want = "cannot open 'b': No such file or directory" },
    { .what = "links to nowhere as sources",
      .entries = { "a.jpg", "b.jpg -> gone", "c -> gone" },
      .sources = { "a.jpg", "b.jpg", "c" },
      .want = "a.jpg b.jpg  1 broken(c)" },
    { .what = "a file that is no image",
      .entries = { "c.csv" },
      .sources = { "c.csv" },
      .want = "'c.csv' is no image and no folder of images; list" },
    { .what = "a file among folders with given classes",
      .entries = { "cat/2.jpg", "b/1.jpg" },
      .sources = { "cat/2.jpg", "b" },
      .params = { .classes = cat_dog, .n_classes = 3 },
      .want = "sources that are files have no labels among the 3 classes; "
              "label_from_folder" },
    { .what = "files with given classes",
      .entries = { "cat/2.jpg" },
      .sources = { "cat/2.jpg" },
      .params = { .classes = cat_dog, .n_classes = 3 },
      .want = "sources that are files have no labels among the 3 classes; "
              "label_from_folder" },

    { .what = "the folders of files are classes",
      .entries = { "b/2.jpg", "b/1.jpg", "a/x/3.jpg" },
      .sources = { "b/2.jpg", "a/x/3.jpg", "b/1.jpg" },
      .params = { .label_from_folder = true },
      .want = "b/2.jpg=0 a/x/3.jpg=1 b/1.jpg=0 [b x]" },
    { .what = "several flat folders are classes",
      .entries = { "p/b/2.jpg", "p/a/1.jpg" },
      .sources = { "p/b/", "p/a" },
      .params = { .label_from_folder = true },
      .want = "b/2.jpg=1 a/1.jpg=0 [a b]" },
    { .what = "the innermost folder is the class",
      .entries = { "s/2019/cat/1.jpg", "s/2020/cat/1.jpg", "s/2020/dog/1.jpg", "s/7.jpg" },
      .sources = { "s" },
      .params = { .label_from_folder = true },
      .want = "7.jpg=2 2019/cat/1.jpg=0 2020/cat/1.jpg=0 2020/dog/1.jpg=1 [cat dog s]" },
    { .what = "folders are among the classes given",
      .entries = { "s/dog/1.jpg", "s/cat/1.jpg" },
      .sources = { "s" },
      .params = { .label_from_folder = true, .classes = cat_dog, .n_classes = 3 },
      .want = "cat/1.jpg=2 dog/1.jpg=0 [dog bird cat]" },
    { .what = "or are not",
      .entries = { "s/eel/1.jpg" },
      .sources = { "s" },
      .params = { .label_from_folder = true, .classes = cat_dog, .n_classes = 3 },
      .want = "folder 'eel' of 'eel/1.jpg' is none of the 3 classes given" },
    { .what = "a path without a folder gives no class",
      .entries = { "1.jpg" },
      .params = { .label_from_folder = true },
      .want = "the path of '1.jpg' names no folder to take a label from; "
              "list" },

    { .what = "train and val are no classes",
      .entries = { "Train/a/1.jpg", "VAL/a/1.jpg", "labels/x.txt" },
      .want = "'.' holds splits of a data set, not classes: 'Train' and 'VAL'; "
              "splits_are_classes" },
    { .what = "nor is train alone, among folders without images",
      .entries = { "s/train/a/1.jpg", "s/x/", "s/y/" },
      .sources = { "s" },
      .want = "'s' holds splits of a data set, not classes: 'train'; "
              "splits_are_classes" },
    { .what = "unless told so",
      .entries = { "train/a/1.jpg", "val/a/1.jpg" },
      .params = { .splits_are_classes = true },
      .want = "train/a/1.jpg=0 val/a/1.jpg=1 [train val]" },
    { .what = "a flat folder may have an empty one called test in it",
      .entries = { "1.jpg", "test/" },
      .want = "1.jpg  1 folder(test)" },
    { .what = "an image beside train and val changes nothing",
      .entries = { "1.jpg", "train/a/1.jpg", "val/a/1.jpg" },
      .want = "'.' holds splits of a data set, not classes: 'train' and 'val'; "
              "splits_are_classes" },
    { .what = "a train among vehicles is a class",
      .entries = { "train/1.jpg", "bus/1.jpg" },
      .want = "bus/1.jpg=0 train/1.jpg=1 [bus train]" },

    { .what = "classes of several folders are united, names tell the folders apart",
      .entries = { "x/2019/dog/1.jpg", "x/2019/cat/1.jpg", "2018/eel/1.jpg",
                   "2018/dog/1.jpg" },
      .sources = { "x/2019//", "2018" },
      .want = "2019/cat/1.jpg=0 2019/dog/1.jpg=1 2018/dog/1.jpg=1 2018/eel/1.jpg=2 "
              "[cat dog eel]" },
    { .what = "whole arguments tell them apart where last components do not",
      .entries = { "a/train/dog/1.jpg", "b/train/cat/1.jpg" },
      .sources = { "a/train", "b/train/" },
      .want = "a/train/dog/1.jpg=1 b/train/cat/1.jpg=0 [cat dog]" },
    { .what = "two flat folders",
      .entries = { "b/1.jpg", "a/1=" },
      .sources = { "b", "a" },
      .want = "b/1.jpg a/1 " },
    { .what = "flat and classed folders do not mix",
      .entries = { "a/1.jpg", "b/c/1.jpg" },
      .sources = { "a", "b" },
      .want = "of 'a' and 'b' one is flat and one has a folder per class; "
              "no_labels" },
    { .what = "one of several folders without images",
      .entries = { "a/c/1.jpg", "b/" },
      .sources = { "a", "b" },
      .want = "no images in 'b'" },
    { .what = "where one has no name of its own, names keep the whole of all sources",
      .entries = { "a/x/1.jpg", "d/b/x/2.jpg" },
      .sources = { "a/.", "d/b" },
      .want = "a/./x/1.jpg=0 d/b/x/2.jpg=0 [x]" },
    { .what = "the same folder twice",
      .entries = { "a/c/1.jpg", "b -> a" },
      .sources = { "a", "b" },
      .want = "'a' and 'b' are the same folder" },

    { .what = "given classes number the class folders",
      .entries = { "cat/1.jpg", "dog/1.jpg", "notes/x.txt" },
      .params = { .classes = cat_dog, .n_classes = 3 },
      .want =
          "cat/1.jpg=2 dog/1.jpg=0 [dog bird cat] 1 other(notes/x.txt) 1 folder(notes)" },
    { .what = "a class folder that is not among them",
      .entries = { "cat/1.jpg", "eel/1.jpg" },
      .params = { .classes = cat_dog, .n_classes = 3 },
      .want = "class folder 'eel' is none of the 3 classes given" },
    { .what = "given classes with a flat folder",
      .entries = { "1.jpg" },
      .params = { .classes = cat_dog, .n_classes = 3 },
      .want = "'.' is a flat folder: no folder names give its images a label among the 3 "
              "classes; label_from_folder" },
    { .what = "given classes with a name twice",
      .entries = { "a/1.jpg" },
      .params = { .classes = twice, .n_classes = 3 },
      .want = "class 'a' is named twice among the classes" },
};

static void
test_trees(void)
{
    static const char *const here[] = { ".", NULL };
    for (size_t i = 0; i < sizeof trees / sizeof trees[0]; i++) {
        const struct tree *t = &trees[i];
        char text[4096];
        mkdir("tree", 0777);
        if (chdir("tree") != 0)
            exit(2);
        for (int k = 0; t->entries[k]; k++)
            make(t->entries[k]);
        for (hide_types = false;; hide_types = true) {
            struct pack_source *s = open_folders(t->sources[0] ? t->sources : here,
                                                 &t->params, text, sizeof text);
            is_text(text, t->want, t->what);
            pack_source_close(s);
            if (hide_types)
                break;
        }
        hide_types = false;
        if (chdir("..") != 0)
            exit(2);
        remove_tree("tree");
    }
    struct pack_error err;
    struct pack_source *s = NULL;
    struct pack_source_params p = { 0 };
    ok(pack_source_open(NULL, 0, &p, &s, &err) == PACK_ERR_ARGUMENT, "no folders: %s",
       err.text);
}

static void
test_notes(void)
{
    static const char *const here[] = { ".", NULL };
    char text[PACK_SOURCE_NOTE_TEXT_MAX + 4096];
    mkdir("tree", 0777);
    if (chdir("tree") != 0)
        exit(2);
    make("a/1.jpg");
    make("a/.x\n");
    struct pack_source *s = open_folders(here, NULL, text, sizeof text);
    is_text(pack_source_note_text(s, PACK_NOTE_HIDDEN, text),
            "1 hidden file or folder ignored: 'a/.x\\x0a'", "one hidden file is named");
    ok(!pack_source_note_text(s, PACK_NOTE_LOOP, text), "nothing to say is no text");
    pack_source_close(s);
    make("a/.b");
    make("c/");
    s = open_folders(here, NULL, text, sizeof text);
    is_text(pack_source_note_text(s, PACK_NOTE_HIDDEN, text),
            "2 hidden files and folders ignored, first 'a/.b'",
            "the first of two is named");
    is_text(pack_source_note_text(s, PACK_NOTE_EMPTY_CLASS, text),
            "1 class folder without images: 'c'", "an empty class is named");
    ok(pack_source_note_warns(PACK_NOTE_EMPTY_CLASS) &&
           !pack_source_note_warns(PACK_NOTE_HIDDEN),
       "empty classes hint at a mistake, hidden files do not");
    pack_source_close(s);
    if (chdir("..") != 0)
        exit(2);
    remove_tree("tree");
}

/* ------------------------------------------------------------- deep and long */

/* Goes down `depth` folders of 200 bytes each, with an image in the last one. */
static void
make_deep(const char *root, int depth, const char *image)
{
    char name[201];
    memset(name, 'd', 200);
    name[200] = '\0';
    mkdir(root, 0777);
    int fd = open(root, O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < depth; i++) {
        mkdirat(fd, name, 0777);
        int below = openat(fd, name, O_RDONLY | O_DIRECTORY);
        close(fd);
        fd = below;
    }
    int file = openat(fd, image, O_WRONLY | O_CREAT, 0666);
    if (file < 0 || write(file, "deep", 4) != 4)
        exit(2);
    close(file);
    close(fd);
}

static void
remove_deep(const char *root)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    if (system(command) != 0)
        note("cannot remove %s", root);
}

static void
test_deep(void)
{
    static const char *const folders[] = { "deep", NULL };
    static char text[1 << 17];
    char content[8] = "";
    int fd = -1;
    make_deep("deep", 40, "image.jpg");
    struct pack_source *s = open_folders(folders, NULL, text, sizeof text);
    ok(s && s->n_records == 1 && strlen(s->records[0].name) == 40 * 201 + 9,
       "a name of 8 KB is listed");
    ok(s && pack_source_path(s, 0, text, 10) == 5 + 40 * 201 + 9 && strlen(text) == 9,
       "its path is cut to the space there is");
    ok(s && pack_source_open_file(s, 0, &fd, NULL) == PACK_OK &&
           read(fd, content, 4) == 4 && !strcmp(content, "deep"),
       "and opened");
    close(fd);
    pack_source_close(s);
    remove_deep("deep");

    for (size_t size = PATH_MAX - 1; size <= PATH_MAX + 1; size++) { /* with NUL at its end */
        char image[PATH_MAX];
        snprintf(image, sizeof image, "%0*d.jpg", (int)(size - 5 - 20 * 201 - 4), 0);
        make_deep("deep", 20, image);
        s = open_folders(folders, NULL, text, sizeof text);
        fd = -1;
        ok(s && pack_source_path(s, 0, text, sizeof text) == size &&
               pack_source_open_file(s, 0, &fd, NULL) == PACK_OK,
           "a path of %zu bytes is opened", size);
        close(fd);
        pack_source_close(s);
        remove_deep("deep");
    }

    make_deep("deep", PACK_SOURCE_DEPTH_MAX - 1, "image.jpg");
    s = open_folders(folders, NULL, text, sizeof text);
    ok(s && s->n_records == 1, "%d folders inside one another are read",
       PACK_SOURCE_DEPTH_MAX);
    pack_source_close(s);
    remove_deep("deep");
    make_deep("deep", PACK_SOURCE_DEPTH_MAX, "image.jpg");
    s = open_folders(folders, NULL, text, sizeof text);
    ok(!s && strstr(text, "is more than 256 folders deep"), "one more is refused: %s",
       text);
    pack_source_close(s);
    remove_deep("deep");
}

/* -------------------------------------------------------------- permissions */

/* Runs `test` as a user who is not root; its status counts as one sentence. */
static void
as_nobody(int (*test)(void), const char *what)
{
    int status = 1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        bool dropped = getuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0);
        _exit(dropped ? test() : 1);
    }
    waitpid(child, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s", what);
}

static int
listing_is(const char *folder, const char *want)
{
    const char *const folders[] = { folder, NULL };
    char text[4096];
    struct pack_source *s = open_folders(folders, NULL, text, sizeof text);
    pack_source_close(s);
    if (strcmp(text, want) != 0)
        note("got '%s'", text);
    return strcmp(text, want) != 0;
}

static int
closed_folder(void)
{
    return listing_is("closed", "cannot read folder 'closed/b/c': Permission denied");
}

static int
closed_link(void)
{
    return listing_is("linked", "cannot follow 'linked/a/link': Permission denied");
}

static int
closed_files(void)
{
    struct pack_source_params params = { .is_image = is_jpeg };
    const char *folder = "files";
    struct pack_source *s = NULL;
    struct pack_error err = { .text = "" };
    int fd, wrong = listing_is("files", "1.jpg  1 unreadable(2)");
    if (pack_source_open(&folder, 1, &params, &s, &err) != PACK_OK)
        return 1;
    wrong |= pack_source_open_file(s, 0, &fd, &err) != PACK_ERR_IO ||
             strcmp(err.text, "cannot be opened: Permission denied") != 0;
    pack_source_close(s);
    return wrong;
}

static void
test_permissions(void)
{
    make("closed/a/1.jpg");
    make("closed/b/c/1.jpg");
    make("linked/a/1.jpg");
    make("linked/a/link -> ../../closed/b/c/1.jpg");
    make("files/1.jpg");
    make("files/2=");
    chmod("closed/b/c", 0);
    chmod("files/1.jpg", 0);
    chmod("files/2", 0);
    chmod(work, 0755);
    as_nobody(closed_folder, "a folder that may not be read is an error that names it");
    as_nobody(closed_link, "so is a link that cannot be followed");
    as_nobody(closed_files, "a file that may not be read is listed if named as an image");
    chmod("closed/b/c", 0700);
    remove_tree("closed");
    remove_tree("linked");
    remove_tree("files");
}

/* Files without image extension are looked into, unless they are gone by then. */
static void
test_vanishing(void)
{
    static const char *const names[] = { "note", "picture.gif" };
    char path[64], want[64];
    make("flat/1.jpg=");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "flat/%s", names[i]);
        snprintf(want, sizeof want, "1.jpg  1 other(%s)", names[i]);
        make(path);
        vanishing = names[i];
        ok(listing_is("flat", want) == 0 && access(path, F_OK) != 0,
           "a folder is listed of which %s vanishes meanwhile", path);
        vanishing = NULL;
    }
    remove_tree("flat");
}

/* -------------------------------------------------------------------- lists */

static struct pack_source *
open_list(const char *bytes, const char *name, const struct pack_source_params *params,
          char *text, size_t size)
{
    struct pack_source_params p = params ? *params : (struct pack_source_params){ 0 };
    struct pack_source *source = NULL;
    struct pack_error err;
    FILE *f = fmemopen((void *)bytes, strlen(bytes), "r");
    if (pack_source_open_list(f, name, &p, &source, &err) == PACK_OK)
        print_source(source, text, size);
    else
        snprintf(text, size, "%s", err.text);
    fclose(f);
    return source;
}

static const struct {
    const char *what, *bytes;
    struct pack_source_params params;
    const char *want;
} lists[] = {
    { "a list without labels", "path\nb.jpg\na.jpg\n", { 0 }, "b.jpg a.jpg " },
    { "whole numbers are labels as they are",
      "path,label\na,7\nb,-1\nc,7\n",
      { 0 },
      "a=7 b=-1 c=7 " },
    { "an empty cell is no label", "path,label\na,7\nb,\n", { 0 }, "a=7 b=-1 " },
    { "numbers as pandas writes them beside empty cells",
      "path,label\na,1.0\nb,\nc,0.0\n",
      { 0 },
      "a=1 b=-1 c=0 " },
    { "other labels are classes, sorted",
      "path,label\na,dog\nb,\nc,cat\nd,dog\n",
      { 0 },
      "a=1 b=-1 c=0 d=1 [cat dog]" },
    { "empty labels only", "path,label\na,\nb,\n", { 0 }, "a b " },
    { "fractions are no labels",
      "path,label\na,1\nb,0.25\n",
      { 0 },
      "l.csv: label '0.25' of 'b' is no whole number; a column of another name than "
      "'label' "
      "keeps such numbers as they are" },
    { "nor is infinity",
      "path,label\na,inf\n",
      { 0 },
      "l.csv: label 'inf' of 'a' is no whole number; a column of another name than "
      "'label' "
      "keeps such numbers as they are" },
    { "given classes number the labels",
      "path,label\na,dog\nb,cat\nc,\n",
      { .classes = cat_dog, .n_classes = 3 },
      "a=0 b=2 c=-1 [dog bird cat]" },
    { "labels may be numbers of given classes",
      "path,label\na,2\nb,0\n",
      { .classes = cat_dog, .n_classes = 3 },
      "a=2 b=0 [dog bird cat]" },
    { "unless classes are called so",
      "path,label\na,2\nb,1\n",
      { .classes = (const char *const[]){ "2", "1" }, .n_classes = 2 },
      "a=0 b=1 [2 1]" },
    { "a label that is no given class",
      "path,label\na,dog\nb,eel\n",
      { .classes = cat_dog, .n_classes = 3 },
      "l.csv: label 'eel' of 'b' is none of the classes given" },
    { "a number that is none of a given class",
      "path,label\na,3\n",
      { .classes = cat_dog, .n_classes = 3 },
      "l.csv: label '3' of 'a' is no number of a class" },
    { "given classes without labels",
      "path\na\n",
      { .classes = cat_dog, .n_classes = 3 },
      "l.csv: the list has no labels for the classes given" },
    { "the folder in a path is the class",
      "b/x/2.jpg\n./x/./1.jpg\nc/3.jpg\n/d/e/4.jpg\n",
      { .label_from_folder = true },
      "b/x/2.jpg=2 ./x/./1.jpg=2 c/3.jpg=0 /d/e/4.jpg=1 [c e x]" },
    { "or that where paths start",
      "2.jpg\n./1.jpg\nc/3.jpg\n",
      { .label_from_folder = true, .list_root = "y/z//" },
      "2.jpg=1 ./1.jpg=1 c/3.jpg=0 [c z]" },
    { "a column of labels counts less",
      "path,label\nb/2.jpg,cat\n",
      { .label_from_folder = true },
      "b/2.jpg=0 [b]" },
    { "folders of which one begins as the other are two",
      "cats/1.jpg\ncat/2.jpg\ncat/3.jpg\n",
      { .label_from_folder = true },
      "cats/1.jpg=1 cat/2.jpg=0 cat/3.jpg=0 [cat cats]" },
    { "there is no folder above all",
      "/1.jpg\n",
      { .label_from_folder = true, .list_root = "y/z" },
      "l.csv: the path of '/1.jpg' names no folder to take a label from" },
    { "labels without a header",
      "a.jpg 1\nb.jpg 0\n",
      { 0 },
      "a.jpg=1 b.jpg=0 " },
    { "names without a header, numbers of given classes",
      "a.jpg dog\nb.jpg cat\n",
      { .classes = cat_dog, .n_classes = 3 },
      "a.jpg=0 b.jpg=2 [dog bird cat]" },
    { "an error of the list",
      "path,label\na\n",
      { 0 },
      "l.csv:2: 1 cell where the header has 2" },
    { "paths one per line",
      "a b.jpg\nc.jpg",
      { .list_format = PACK_LIST_LINES },
      "a b.jpg c.jpg " },
};

static void
test_lists(void)
{
    char text[4096];
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct pack_source *s =
            open_list(lists[i].bytes, "l.csv", &lists[i].params, text, sizeof text);
        is_text(text, lists[i].want, lists[i].what);
        pack_source_close(s);
    }
}

static void
test_list_paths(void)
{
    static const struct {
        const char *name, *root, *want, *absolute;
    } cases[] = {
        { "l.csv", NULL, "a.jpg", "/b.jpg" },
        { "x/l.csv", NULL, "x/a.jpg", "/b.jpg" },
        { "/l.csv", NULL, "/a.jpg", "/b.jpg" },
        { "x/l.csv", "y", "y/a.jpg", "/b.jpg" },
        { "x/l.csv", "y//", "y//a.jpg", "/b.jpg" },
        { "x/l.csv", ".", "a.jpg", "/b.jpg" },
    };
    char text[4096];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pack_source_params p = { .list_root = cases[i].root };
        struct pack_source *s =
            open_list("path\na.jpg\n/b.jpg\n", cases[i].name, &p, text, sizeof text);
        pack_source_path(s, 0, text, sizeof text);
        is_text(text, cases[i].want,
                "a path starts from the root, else the list's folder");
        pack_source_path(s, 1, text, sizeof text);
        is_text(text, cases[i].absolute, "or is absolute");
        pack_source_close(s);
    }
}

/* ------------------------------------------------------ opening, order, digest */

static void
test_open_file(void)
{
    static const struct {
        const char *name;
        enum pack_status status;
        int errnum;
        const char *want;
    } cases[] = {
        { "good.jpg", PACK_OK, 0, "" },
        { "none.jpg", PACK_ERR_NOT_FOUND, ENOENT,
          "cannot be opened: No such file or directory" },
        { "folder", PACK_ERR_FORMAT, 0, "is a folder" },
        { "pipe", PACK_ERR_FORMAT, 0, "is not a regular file" },
    };
    char text[4096];
    make("good.jpg=");
    make("folder/");
    make("pipe|");
    struct pack_source_params p = { 0 };
    struct pack_source *s =
        open_list("path\ngood.jpg\nnone.jpg\nfolder\npipe\n", "l", &p, text, sizeof text);
    for (uint64_t i = 0; i < 4; i++) {
        struct pack_error err = { .text = "" };
        int fd = -1;
        errno = ESTALE; /* of something before */
        enum pack_status status = pack_source_open_file(s, i, &fd, &err);
        int errnum = status == PACK_OK ? 0 : errno;
        ok(status == cases[i].status && (fd >= 0) == (status == PACK_OK) &&
               errnum == cases[i].errnum,
           "opening %s", cases[i].name);
        is_text(err.text, cases[i].want, "says");
        if (fd >= 0)
            close(fd);
    }
    pack_source_close(s);
    unlink("good.jpg");
    unlink("pipe");
    rmdir("folder");
}

static bool
stops_at_third(void *context)
{
    int *n = context;
    return ++*n >= 3;
}

static void
test_lease(void)
{
    char text[4096];
    struct pack_source_params p = { .list_format = PACK_LIST_LINES };
    struct pack_error err = { .text = "" };
    int fd = -1, n_asked = 0;
    struct pack_watch watch = { .context = &n_asked, .stop = stops_at_third };
    make("leased.jpg=");
    pid_t holder = lease_hold("leased.jpg", 200);
    if (holder < 0) {
        skip("no file can be leased here");
        skip("no file can be leased here");
        unlink("leased.jpg");
        return;
    }
    struct pack_source *s = open_list("leased.jpg\n", "l", &p, text, sizeof text);
    ok(pack_source_open_file(s, 0, &fd, &err) == PACK_OK,
       "a file on which another has a lease is waited for: %s", err.text);
    close(fd);
    waitpid(holder, NULL, 0);
    holder = lease_hold("leased.jpg", 40000);
    fd = -1;
    enum pack_status status = pack_source_open_watched(s, 0, &watch, &fd, &err);
    ok(lease_drop(holder) && status == PACK_ERR_INTERRUPTED && fd == -1 && n_asked >= 3,
       "until the watch ends that: %s", err.text);
    pack_source_close(s);
    unlink("leased.jpg");
}

/* The same of a file that is looked into to see whether it is an image. */
static void
test_leased_listing(void)
{
    const char *folder = "flat";
    int n_asked = 0;
    struct pack_source_params p = { .is_image = is_jpeg,
                                    .watch = { .context = &n_asked,
                                               .stop = stops_at_third } };
    struct pack_source *s = NULL;
    struct pack_error err = { .text = "" };
    make("flat/leased=");
    pid_t holder = lease_hold("flat/leased", 200);
    if (holder < 0) {
        skip("no file can be leased here");
        skip("no file can be leased here");
        remove_tree("flat");
        return;
    }
    ok(listing_is("flat", "leased ") == 0,
       "a file that may be an image is waited for where another has a lease on it");
    waitpid(holder, NULL, 0);
    holder = lease_hold("flat/leased", 40000);
    enum pack_status status = pack_source_open(&folder, 1, &p, &s, &err);
    ok(lease_drop(holder) && status == PACK_ERR_INTERRUPTED && !s,
       "until the watch ends the listing: %s", err.text);
    remove_tree("flat");
}

static const char ten[] = "path,label,x\na,0,0\nb,1,1\nc,2,2\nd,3,3\ne,4,4\nf,5,5\n"
                          "g,6,6\nh,7,7\ni,8,8\nj,9,9\n";

static void
test_shuffle(void)
{
    char text[4096], again[4096];
    struct pack_source *s = open_list(ten, "l", NULL, text, sizeof text);
    ok(pack_source_row(s, 3) == 3 && !s->source_index, "unshuffled rows are in order");
    ok(pack_source_shuffle(s, 1, NULL) == PACK_OK && s->source_index, "shuffled");
    print_source(s, text, sizeof text);
    is_text(text, "d=3 g=6 b=1 f=5 a=0 j=9 c=2 i=8 e=4 h=7 ",
            "the order of seed 1 is the same everywhere");
    bool seen[10] = { false }, right = true;
    for (uint64_t i = 0; i < 10; i++) {
        uint64_t row = pack_source_row(s, i);
        right = right && row < 10 && !seen[row] &&
                s->records[i].label == s->list->columns[0].integers[row];
        seen[row % 10] = true;
    }
    ok(right, "source_index is a permutation that leads from records to rows");
    pack_source_limit(s, 3);
    ok(s->n_records == 3 && s->n_listed == 10, "a limit leaves the first three of it");
    pack_source_limit(s, 100);
    ok(s->n_records == 3, "a larger limit changes nothing");
    pack_source_close(s);
    s = open_list(ten, "l", NULL, text, sizeof text);
    pack_source_shuffle(s, 2, NULL);
    print_source(s, again, sizeof again);
    pack_source_shuffle(s, 3, NULL);
    ok(strcmp(again, text) != 0 &&
           s->list->columns[0].integers[s->source_index[4]] == s->records[4].label,
       "other seeds, other orders; twice composes");
    pack_source_close(s);
}

static void
test_digest(void)
{
    static const char *const variants[] = {
        "path,label,x\na,0,0\nb,1,1\n",   "path,label,x\na,0,0\nb,1,2\n",
        "path,label,x\na,0,0\nb,2,1\n",   "path,label,x\na,0,0\nc,1,1\n",
        "path,label,y\na,0,0\nb,1,1\n",   "path,label,x\nb,1,1\na,0,0\n",
        "path,label,x\na,0,0\nb,1,1.5\n", "path,label,x\na,0,0\nb,1,z\n",
        "path,label,x\na,0,0\nb,c,1\n",   "path,label,x\na,0,0\nb,d,1\n",
        "path,label\na,0\nb,1\n",         "path,label,x\na,0,0\nb,1,1\nc,1,1\n",
        "path,label,x\na,0,0.5\nb,1,1\n", "path,label,x\na,0,0.5\nb,1,1.5\n",
    };
    enum { N = sizeof variants / sizeof variants[0] };
    uint64_t digest[N + 1];
    char text[4096];
    int equal = 0;
    struct pack_source *s;
    for (int i = 0; i < N; i++) {
        s = open_list(variants[i], "l", NULL, text, sizeof text);
        digest[i] = pack_source_digest(s);
        pack_source_close(s);
    }
    s = open_list(variants[0], "elsewhere/l", NULL, text, sizeof text);
    ok(pack_source_digest(s) == digest[0],
       "where the files are does not change the digest");
    pack_source_shuffle(s, 1, NULL);
    digest[N] = pack_source_digest(s);
    pack_source_close(s);
    for (int i = 0; i <= N; i++)
        for (int j = 0; j < i; j++)
            equal += digest[i] == digest[j];
    is_number(equal, 0, "names, labels, classes, columns, number and order do");
}

/* ----------------------------------------------------------------- progress */

struct listing {
    int calls;
    uint64_t n;
};

static void
count_calls(void *context, const struct pack_progress *progress)
{
    struct listing *listing = context;
    listing->calls++;
    listing->n = progress->done;
}

static bool
is_at_ten(void *context)
{
    const struct listing *listing = context;
    return listing->n >= 10;
}

static void
test_progress(void)
{
    static const char *const folders[] = { "s", NULL };
    char text[4096], path[64];
    struct listing listing = { 0 };
    for (int i = 0; i < 20; i++) {
        snprintf(path, sizeof path, "s/%02d/1.jpg", i);
        make(path);
    }
    struct pack_source_params p = { .watch = { &listing, count_calls, is_at_ten } };
    struct pack_source *s = open_folders(folders, &p, text, sizeof text);
    is_text(text, "interrupted", "a listing ends when asked to");
    is_number(listing.calls, 12, "which it asks at each folder");
    pack_source_close(s);
    remove_tree("s");
}

int
main(void)
{
    if (!mkdtemp(work) || chdir(work) != 0)
        return 2;
    test_trees();
    test_notes();
    test_deep();
    test_permissions();
    test_vanishing();
    test_lists();
    test_list_paths();
    test_open_file();
    test_lease();
    test_leased_listing();
    test_shuffle();
    test_digest();
    test_progress();
    if (chdir("/") == 0)
        rmdir(work);
    return done();
}
