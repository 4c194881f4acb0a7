/* Memory runs out at every allocation of a listing in turn: each time there is the sentence
 * that says so, and nothing stays behind, neither memory nor files.
 * What the C library asks for on its own behalf is source_faults.sh's. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/source/records.h"
#include "libpack/source/source_extend.h"
#include "libpack/source/source_parts.h"
#include "libpack/source/source_store.h"
#include "tests/tap.h"

/* ------------------------------------------------------------- the allocator */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t n, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
void __real_free(void *p);

enum { SLOTS = 1 << 14 };

/* What has been asked for since start(): a table of what is not yet given back. */
static struct {
    bool counts;
    unsigned n, fail_at; /* calls, and which of them fails; 0: none */
    size_t n_live;
    void *live[SLOTS];
} memory;

static size_t
slot_of(const void *p)
{
    size_t at = ((uintptr_t)p >> 4) * 0x9e3779b97f4a7c15u >> 40 & (SLOTS - 1);
    while (memory.live[at] && memory.live[at] != p)
        at = (at + 1) & (SLOTS - 1);
    return at;
}

static bool
fails(void)
{
    if (!memory.counts || ++memory.n != memory.fail_at)
        return false;
    errno = ENOMEM;
    return true;
}

static void *
taken(void *p)
{
    if (!p || !memory.counts)
        return p;
    if (2 * memory.n_live++ > SLOTS)
        abort();
    memory.live[slot_of(p)] = p;
    return p;
}

static void
given_back(void *p)
{
    size_t at = slot_of(p);
    if (!p || !memory.live[at])
        return;
    memory.n_live--;
    memory.live[at] = NULL;
    while (memory.live[at = (at + 1) & (SLOTS - 1)]) { /* what collided with it moves up */
        void *other = memory.live[at];
        memory.live[at] = NULL;
        memory.live[slot_of(other)] = other;
    }
}

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);
void __wrap_free(void *p);

void *
__wrap_malloc(size_t size)
{
    return fails() ? NULL : taken(__real_malloc(size));
}

void *
__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : taken(__real_calloc(n, size));
}

void *
__wrap_reallocarray(void *old, size_t n, size_t size)
{
    if (fails())
        return NULL;
    given_back(old);
    return taken(__real_reallocarray(old, n, size));
}

void *
__wrap_realloc(void *old, size_t size)
{
    return __wrap_reallocarray(old, 1, size);
}

char *
__wrap_strdup(const char *text)
{
    return fails() ? NULL : taken(__real_strdup(text));
}

char *
__wrap_strndup(const char *text, size_t size)
{
    return fails() ? NULL : taken(__real_strndup(text, size));
}

void
__wrap_free(void *p)
{
    given_back(p);
    __real_free(p);
}

/* The number that the next file would get: as many are open as before when it is the same. */
static int
next_file(void)
{
    int fd = open("/dev/null", O_RDONLY);
    close(fd);
    return fd;
}

/* ------------------------------------------------------------------ the work */

struct work {
    const char *what;
    enum pack_status (*run)(const struct work *work, struct pack_source **made,
                            struct pack_error *err);
    struct pack_source_params params;
    const char *sources[6]; /* folders and files, or */
    const char *list;       /* a list, or a function that writes one */
    void (*write)(FILE *file);
    const char *list_name;
};

static bool
is_jpeg(const void *head, size_t size)
{
    return size >= 3 && memcmp(head, "\xff\xd8\xff", 3) == 0;
}

static enum pack_status
run_folders(const struct work *w, struct pack_source **made, struct pack_error *err)
{
    struct pack_source_params params = w->params;
    size_t n = 0;
    params.is_image = is_jpeg;
    while (w->sources[n])
        n++;
    return pack_source_open(w->sources, n, &params, made, err);
}

static FILE *
file_of(const struct work *w)
{
    FILE *file = tmpfile();
    if (!file)
        exit(2);
    if (w->write)
        w->write(file);
    else
        fputs(w->list, file);
    rewind(file);
    return file;
}

/* (The file is opened before memory runs out.) */
static enum pack_status
run_list(const struct work *w, struct pack_source **made, struct pack_error *err)
{
    bool counts = memory.counts;
    memory.counts = false;
    FILE *file = file_of(w);
    memory.counts = counts;
    enum pack_status status = pack_source_open_list(
        file, w->list_name ? w->list_name : "some/list.csv", &w->params, made, err);
    memory.counts = false;
    fclose(file);
    return status;
}

/* Undisturbed; the caller closes it. */
static struct pack_source *
listed(const struct work *w)
{
    struct pack_source *source = NULL;
    struct pack_error err;
    bool counts = memory.counts;
    memory.counts = false;
    if (run_list(w, &source, &err) != PACK_OK) {
        printf("Bail out! %s\n", err.text);
        exit(2);
    }
    memory.counts = counts;
    return source;
}

static enum pack_status
run_shuffle(const struct work *w, struct pack_source **made, struct pack_error *err)
{
    *made = listed(w);
    return pack_source_shuffle(*made, 5, err);
}

static enum pack_status
load(const struct pack_buf *head, const struct pack_buf *rows, uint64_t n,
     struct pack_source **made, struct pack_error *err)
{
    enum pack_status status = pack_source_load_head(head->data, head->size, made, err);
    return status == PACK_OK
               ? pack_source_load_rows(*made, rows->data, rows->size, n, err)
               : status;
}

/* Stored, shuffled as it is, and loaded. */
static enum pack_status
run_copy(const struct work *w, struct pack_source **made, struct pack_error *err)
{
    struct pack_source *source = listed(w);
    struct pack_buf head = { 0 }, rows = { 0 };
    uint64_t *place = NULL, next = 0;
    bool counts = memory.counts;
    memory.counts = false;
    pack_source_shuffle(source, 5, NULL);
    memory.counts = counts;
    enum pack_status status = pack_source_places(source, &place, err);
    if (status == PACK_OK)
        status = pack_source_store_head(source, &head, err);
    if (status == PACK_OK)
        status =
            pack_source_store_rows(source, place, 0, SIZE_MAX, &rows, &next, err);
    if (status == PACK_OK)
        status = load(&head, &rows, next, made, err);
    free(place);
    pack_buf_done(&head);
    pack_buf_done(&rows);
    pack_source_close(source);
    return status;
}

/* What came since is appended: the same list, and 100 rows more. */
static enum pack_status
run_extend(const struct work *w, struct pack_source **made, struct pack_error *err)
{
    struct pack_source_additions additions;
    struct work shorter = *w;
    char *text = __real_strdup(w->list), *end = text;
    for (int i = 0; i < 201; i++)
        end = strchr(end, '\n') + 1;
    *end = '\0';
    shorter.list = text;
    *made = listed(&shorter);
    struct pack_source *now = listed(w);
    enum pack_status status = pack_source_extend(*made, now, &additions, err);
    if (status == PACK_OK && additions.n_added != 100)
        status = PACK_ERR_CHANGED;
    pack_source_close(now);
    __real_free(text);
    return status;
}

/* ---------------------------------------------------------------- the sources */

static void
write_coco(FILE *f)
{
    fputs("{\"images\": [", f);
    for (int i = 0; i < 80; i++)
        fprintf(f, "%s{\"id\": %d, \"file_name\": \"a/%d.jpg\"}", i ? ", " : "", 7 * i, i);
    fputs("], \"annotations\": [", f);
    for (int i = 0; i < 600; i++)
        fprintf(f, "%s{\"image_id\": %d, \"category_id\": %d}", i ? ", " : "", 7 * i, i % 70);
    fputs("], \"categories\": [", f);
    for (int i = 0; i < 70; i++)
        fprintf(f, "%s{\"id\": %d, \"name\": \"class %d\"}", i ? ", " : "", 69 - i, i);
    fputs("]}", f);
}

static void
write_json(FILE *f)
{
    for (int i = 0; i < 70; i++)
        fprintf(f, "{\"path\": \"a/%d.jpg\", \"label\": \"%c\", \"x\": %d.5}\n", i, 'a' + i % 3, i);
}

static const char *const classes[] = { "dog", "cat", "bird" };
static char long_table[20000];

static const struct work works[] = {
    { .what = "class folders", .run = run_folders, .sources = { "tree" } },
    { .what = "class folders with classes given",
      .run = run_folders,
      .sources = { "tree" },
      .params = { .classes = classes, .n_classes = 3 } },
    { .what = "all images below", .run = run_folders, .sources = { "tree" },
      .params = { .no_labels = true } },
    { .what = "the folders' names as classes", .run = run_folders, .sources = { "tree" },
      .params = { .label_from_folder = true } },
    { .what = "with classes given", .run = run_folders, .sources = { "tree/dog", "tree/bird" },
      .params = { .label_from_folder = true, .classes = classes, .n_classes = 3 } },
    { .what = "a flat folder", .run = run_folders, .sources = { "flat" } },
    { .what = "flat folders and files", .run = run_folders,
      .sources = { "flat", "flat/2", "gone", "tree/dog/1.jpg", "tree/bird" } },
    { .what = "two folders", .run = run_folders, .sources = { "tree/cat", "flat" },
      .params = { .no_labels = true } },
    { .what = "images beside masks", .run = run_folders, .sources = { "masks" },
      .params = { .no_labels = true } },
    { .what = "paths", .run = run_list, .list = "a/1.jpg\nb 2.jpg\na/1.jpg\n" },
    { .what = "paths of Windows", .run = run_list, .list = "tree\\cat\\1.jpg\nx\\2.jpg\n",
      .list_name = "list" },
    { .what = "paths from the root", .run = run_list, .list = "/x/1.jpg\n",
      .list_name = "/list" },
    { .what = "what find prints", .run = run_list, .list = "tree\ntree/cat\ntree/cat/1.jpg\n",
      .list_name = "list" },
    { .what = "paths and labels", .run = run_list, .list = "a.jpg cat\nb c.jpg dog\n" },
    { .what = "with classes given", .run = run_list, .list = "a.jpg cat\nb c.jpg dog\n",
      .params = { .classes = classes, .n_classes = 3 } },
    { .what = "paths whose folders are classes", .run = run_list,
      .list = "cat/1.jpg\ncat/2.jpg\ndog/1.jpg\n", .params = { .label_from_folder = true } },
    { .what = "names that hold tabs or not", .run = run_list, .list = "a\tb.jpg\nc\td.jpg\n" },
    { .what = "columns of which one is there", .run = run_list, .list = "x gone\ny tree\n",
      .list_name = "list" },
    { .what = "a table", .run = run_list, .list = long_table },
    { .what = "CelebA's", .run = run_list, .list = "2\nx y\na.jpg 1 -1\nb.jpg -1 0.5\n" },
    { .what = "rejects", .run = run_list, .list = "path\treason\na\\\\b.jpg\tx\n" },
    { .what = "JSON lines", .run = run_list, .write = write_json },
    { .what = "an object of labels", .run = run_list, .list = "{\"a.jpg\": 1, \"b.jpg\": 2}" },
    { .what = "COCO's", .run = run_list, .write = write_coco },
    { .what = "a random order", .run = run_shuffle, .list = long_table },
    { .what = "a listing stored and loaded", .run = run_copy, .list = long_table },
    { .what = "additions", .run = run_extend, .list = long_table },
};

static void
make(const char *path, const char *text)
{
    char folder[256];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0777);
        *slash = '/';
    }
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        exit(2);
}

static void
make_sources(void)
{
    char path[64];
    int n = sprintf(long_table, "path,label,whole,real,words\n");
    for (int i = 0; i < 300; i++)
        n += sprintf(long_table + n, "a/%d.jpg,%s,%d,%d.5,\"w, %d\"\n", i,
                     i % 3 ? "cat" : "dog", i * i, i, i % 9);
    for (int i = 0; i < 70; i++) {
        snprintf(path, sizeof path, "tree/%s/%d.jpg", classes[i % 3], i / 3);
        make(path, "x");
    }
    make("tree/cat/a/b/1.jpg", "x");
    make("tree/cat/a-b/1.jpg", "x");
    make("tree/.hidden", "x");
    make("tree/dog/read me", "x");
    make("flat/1.jpg", "x");
    make("flat/thumbs/1.jpg", "x");
    make("flat/2", "\xff\xd8\xff");
    make("flat/3.gif", "GIF89a");
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "masks/images/%d.jpg", i);
        make(path, "x");
        snprintf(path, sizeof path, "masks/masks/%d.png", i);
        make(path, "x");
    }
    if (symlink("nowhere", "gone") != 0)
        exit(2);
}

/* ------------------------------------------------------------------ the tests */

static enum pack_status
try(const struct work *w, unsigned fail_at, struct pack_source **made,
    struct pack_error *err)
{
    *made = NULL;
    *err = (struct pack_error){ .text = "" };
    memory.n = 0;
    memory.fail_at = fail_at;
    memory.counts = true;
    enum pack_status status = w->run(w, made, err);
    memory.counts = false;
    return status;
}

/* "out of memory: " and what for, perhaps behind the place in a list. */
static bool
says_so(const char *text)
{
    const char *words = strstr(text, "out of memory: ");
    return words && words[15] && (words == text || words[-2] == ':');
}

static void
test_work(const struct work *w)
{
    struct pack_source *made;
    struct pack_error err;
    unsigned n_fatal = 0, n_bad = 0, n = 1;
    int files = next_file();
    if (try(w, 0, &made, &err) != PACK_OK) {
        ok(false, "%s: %s", w->what, err.text);
        return;
    }
    uint64_t n_images = made->n_records;
    unsigned n_calls = memory.n;
    pack_source_close(made);
    bool is_clean = memory.n_live == 0 && next_file() == files;
    for (; n <= n_calls; n++) {
        enum pack_status status = try(w, n, &made, &err);
        bool is_fatal = status == PACK_ERR_MEMORY &&
                        says_so(err.text);
        pack_source_close(made);
        if (!is_fatal || memory.n_live > 0 || next_file() != files) {
            if (n_bad++ < 3)
                note("allocation %u: %s, '%s', %zu left, file %d of %d", n,
                     pack_status_name(status), err.text, memory.n_live, next_file(), files);
            memset(memory.live, 0, sizeof memory.live);
            memory.n_live = 0;
            files = next_file();
        }
        n_fatal += is_fatal;
    }
    ok(is_clean && n_bad == 0 && n_fatal == n_calls && n_fatal > 0,
       "%s, %d images: %u allocations fail in turn", w->what, (int)n_images, n_calls);
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
    char folder[] = "/tmp/test_source_memory.XXXXXX";
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 2;
    make_sources();
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        test_work(&works[i]);
    if (chdir("/") == 0)
        nftw(folder, remove_entry, 32, FTW_DEPTH | FTW_PHYS);
    return done();
}
