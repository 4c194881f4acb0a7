/* A listing stored and loaded again is the same, whatever its columns; damaged bytes are
 * refused; what was added to a source is told from what was there. */
#include <stdlib.h>
#include <sys/resource.h>

#include "libpack/base/rng.h"
#include "libpack/source/source_extend.h"
#include "libpack/source/source_parts.h"
#include "libpack/source/source_store.h"
#include "tests/tap.h"

static struct pack_source *
listed(const char *text)
{
    struct pack_source_params params = { 0 };
    struct pack_source *source = NULL;
    struct pack_error err;
    FILE *file = fmemopen((void *)text, strlen(text), "r");
    if (pack_source_open_list(file, "some/list.csv", &params, &source, &err) != PACK_OK)
        note("%s", err.text);
    fclose(file);
    return source;
}

/* A list of `n` images with columns of every type, their values far apart. */
static struct pack_source *
made_up(unsigned n)
{
    struct pack_buf text = { 0 };
    struct pack_rng rng;
    pack_rng_seed(&rng, n);
    pack_buf_printf(&text, NULL, "path,label,whole,real,words\n");
    for (unsigned i = 0; i < n; i++)
        pack_buf_printf(&text, NULL, "a/%u/%x.jpg,%s,%lld,%.17g,\"%x \xff \xc3\xa4\"\n",
                        i / 10, i * 2654435761u, i % 3 ? "cat" : "dog",
                        (long long)pack_rng_next(&rng), 1e300 / (i + 1) - 0.5,
                        (unsigned)pack_rng_below(&rng, 100));
    struct pack_source *source = listed((char *)text.data);
    pack_buf_done(&text);
    return source;
}

/* Stores in pieces of about `piece` bytes and loads again. */
static struct pack_source *
copied(const struct pack_source *source, size_t piece, size_t *bytes)
{
    struct pack_buf buf = { 0 };
    struct pack_source *copy = NULL;
    uint64_t *place = NULL, first = 0;
    bool good = pack_source_places(source, &place, NULL) == PACK_OK &&
                pack_source_store_head(source, &buf, NULL) == PACK_OK &&
                pack_source_load_head(buf.data, buf.size, &copy, NULL) == PACK_OK;
    *bytes = buf.size;
    while (good && first < source->n_listed) {
        uint64_t next = 0;
        buf.size = 0;
        good = pack_source_store_rows(source, place, first, piece, &buf, &next, NULL) ==
                   PACK_OK &&
               next > first &&
               pack_source_load_rows(copy, buf.data, buf.size, next - first, NULL) ==
                   PACK_OK;
        first = next;
        *bytes += buf.size;
    }
    free(place);
    pack_buf_done(&buf);
    if (!good) {
        pack_source_close(copy);
        return NULL;
    }
    return copy;
}

static void
test_round_trip(void)
{
    static const size_t pieces[] = { 1, 100, 1 << 20 };
    struct pack_source *source = made_up(500);
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct pack_source *copy = copied(source, pieces[i], &bytes);
        ok(copy && pack_source_digest(copy) == pack_source_digest(source) &&
               copy->has_labels && copy->n_classes == 2 && copy->list->n_columns == 3 &&
               strcmp(copy->roots[0].path, "some") == 0,
           "a list comes back as it was, in pieces of %zu: %zu bytes", pieces[i], bytes);
        pack_source_close(copy);
    }
    pack_source_shuffle(source, 17, NULL);
    pack_source_limit(source, 100);
    struct pack_source *copy = copied(source, 1000, &bytes);
    ok(copy && copy->n_records == 500 && !copy->source_index,
       "a shuffled one as it was listed");
    pack_source_shuffle(copy, 17, NULL);
    pack_source_limit(copy, 100);
    ok(pack_source_digest(copy) == pack_source_digest(source),
       "with its seed and limit it has the same order");
    pack_source_close(copy);
    pack_source_close(source);

    struct pack_buf text = { 0 };
    for (int i = 0; i < 100000; i++)
        pack_buf_printf(&text, NULL, "%sn%08d/n%08d_%d.JPEG,%d\n",
                        i ? "" : "path,label\n", i / 1000, i / 1000, i * 37, i / 1000);
    source = listed((char *)text.data);
    copy = copied(source, 1 << 16, &bytes);
    ok(copy && pack_source_digest(copy) == pack_source_digest(source) && bytes < 1300000,
       "100000 names of a data set take %zu bytes", bytes);
    pack_source_close(copy);
    pack_source_close(source);
    pack_buf_done(&text);
}

/* Bytes changed or cut off: refused, or other rows, but never more than was stored. */
static void
test_damage(void)
{
    struct pack_source *source = made_up(40);
    struct pack_buf head = { 0 }, rows = { 0 };
    struct pack_rng rng;
    uint64_t next;
    int refused = 0, taken = 0, wrong = 0;
    pack_rng_seed(&rng, 1);
    pack_source_store_head(source, &head, NULL);
    pack_source_store_rows(source, NULL, 0, SIZE_MAX, &rows, &next, NULL);
    for (int i = 0; i < 4000; i++) {
        struct pack_buf h = { 0 }, r = { 0 };
        pack_buf_append(&h, head.data, head.size, NULL);
        pack_buf_append(&r, rows.data, rows.size, NULL);
        struct pack_buf *hit = i % 4 ? &r : &h;
        hit->data[pack_rng_below(&rng, hit->size)] = (unsigned char)pack_rng_next(&rng);
        if (i % 3 == 0)
            hit->size = pack_rng_below(&rng, hit->size);
        struct pack_source *loaded = NULL;
        if (pack_source_load_head(h.data, h.size, &loaded, NULL) != PACK_OK) {
            refused++;
        } else if (pack_source_load_rows(loaded, r.data, r.size, next, NULL) != PACK_OK) {
            refused++;
            wrong += loaded->n_records != 0 || loaded->n_listed != 0;
        } else {
            taken++;
            wrong += loaded->n_records != next;
            for (uint64_t k = 0; k < loaded->n_records; k++)
                wrong += loaded->records[k].root >= loaded->n_roots ||
                         (loaded->n_classes > 0 &&
                          loaded->records[k].label >= (int64_t)loaded->n_classes);
        }
        pack_source_close(loaded);
        pack_buf_done(&h);
        pack_buf_done(&r);
    }
    ok(refused > 1000 && taken > 100 && wrong == 0,
       "damaged bytes: %d refused, %d taken, nothing half", refused, taken);
    pack_buf_done(&head);
    pack_buf_done(&rows);
    pack_source_close(source);
}

/* What the bytes claim is bounded by how many they are, and by the head. */
static void
test_claims(void)
{
    static const unsigned char many[] = {
        1, 1, 0, 0, 1, '.', 0xff, 0xff, 0xff, 0xff, 0x0f
    };
    struct pack_source *two = listed("path,label\na,x\nb,y\n"), *loaded = NULL;
    struct pack_source *three = listed("path,label\na,x\nb,y\nc,z\n");
    struct pack_buf head = { 0 }, rows = { 0 };
    struct rlimit old, small;
    uint64_t next;
    getrlimit(RLIMIT_DATA, &old);
    small = (struct rlimit){ UINT64_C(1) << 30, old.rlim_max };
    setrlimit(RLIMIT_DATA, &small);
    enum pack_status status = pack_source_load_head(many, sizeof many, &loaded, NULL);
    setrlimit(RLIMIT_DATA, &old);
    ok(status == PACK_ERR_FORMAT, "4 billion classes in 11 bytes are not believed");
    struct pack_source *columns = listed("path,n\na,1\n");
    pack_source_store_head(columns, &head, NULL);
    bool fine = pack_source_load_head(head.data, head.size, &loaded, NULL) == PACK_OK;
    for (int i = 0; i < 2 && fine; i++) /* no row twice frees no column twice */
        fine = pack_source_load_rows(loaded, "", 0, 0, NULL) == PACK_OK;
    ok(fine && loaded->n_records == 0, "pieces without rows hold nothing");
    pack_source_close(loaded);
    pack_source_close(columns);
    head.size = 0;
    pack_source_store_head(two, &head, NULL);
    pack_source_store_rows(three, NULL, 0, SIZE_MAX, &rows, &next, NULL);
    ok(pack_source_load_head(head.data, head.size, &loaded, NULL) == PACK_OK &&
           pack_source_load_rows(loaded, rows.data, rows.size, next, NULL) ==
               PACK_ERR_FORMAT &&
           loaded->n_records == 0,
       "nor is the third of two classes");
    pack_source_close(loaded);
    pack_source_close(two);
    pack_source_close(three);
    pack_buf_done(&head);
    pack_buf_done(&rows);
}

/* ------------------------------------------------------------------ additions */

#define HEADER "path,label,n\n"
#define FIRST  HEADER "a.jpg,cat,1\nb.jpg,dog,2\nc.jpg,cat,3\n"

static void
test_extend(void)
{
    static const struct {
        const char *what, *now;
        enum pack_status status;
        uint64_t n_added, n_left_out;
        enum pack_source_left_out why;
    } cases[] = {
        { "the same rows", FIRST, PACK_OK, 0, 0, 0 },
        { "rows that are gone", HEADER "b.jpg,dog,2\n", PACK_OK, 0, 0, 0 },
        { "rows at the end", FIRST "d.jpg,dog,4\ne.jpg,cat,5\n", PACK_OK, 2, 0, 0 },
        { "rows behind one that is gone",
          HEADER "a.jpg,cat,1\nb.jpg,dog,2\nd.jpg,dog,4\n", PACK_OK, 1, 0, 0 },
        { "a row without label", FIRST "d.jpg,,4\n", PACK_OK, 1, 0, 0 },
        { "a row between", HEADER "a.jpg,cat,1\nx.jpg,dog,9\nb.jpg,dog,2\nc.jpg,cat,3\n",
          PACK_OK, 0, 1, PACK_LEFT_OUT_NOT_LAST },
        { "a new class", FIRST "d.jpg,ape,4\ne.jpg,cat,5\n", PACK_OK, 1, 1,
          PACK_LEFT_OUT_CLASS },
        { "a column that is no longer whole numbers", FIRST "d.jpg,dog,0.5\n", PACK_OK, 0,
          1, PACK_LEFT_OUT_COLUMN },
        { "another label", HEADER "a.jpg,dog,1\nb.jpg,dog,2\nc.jpg,cat,3\n",
          PACK_ERR_CHANGED, 0, 0, 0 },
        { "another value", HEADER "a.jpg,cat,1\nb.jpg,dog,8\nc.jpg,cat,3\n",
          PACK_ERR_CHANGED, 0, 0, 0 },
        { "another column", "path,label,m\na.jpg,cat,1\nb.jpg,dog,2\n", PACK_ERR_CHANGED,
          0, 0, 0 },
        { "no label", "path,n\na.jpg,1\nb.jpg,2\n", PACK_ERR_CHANGED, 0, 0, 0 },
        { "other images", HEADER "x.jpg,cat,1\n", PACK_ERR_CHANGED, 0, 0, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pack_source *source = listed(FIRST), *now = listed(cases[i].now);
        struct pack_source_additions a = { 0 };
        struct pack_error err = { 0 };
        enum pack_status status = pack_source_extend(source, now, &a, &err);
        ok(status == cases[i].status && a.n_added == cases[i].n_added &&
               a.n_left_out == cases[i].n_left_out && a.why == cases[i].why &&
               source->n_records == 3 + a.n_added &&
               source->list->n_rows == 3 + a.n_added,
           "%s: %d added, %d left out%s%s", cases[i].what, (int)a.n_added,
           (int)a.n_left_out, status ? ", " : "", err.text);
        pack_source_close(source);
        pack_source_close(now);
    }
}

static void
test_extended(void)
{
    struct pack_source *source = listed(FIRST), *now = listed(FIRST "d.jpg,dog,-4\n"),
                       *again = listed(FIRST "d.jpg,dog,-4\ne.jpg,cat,5\n");
    struct pack_source_additions a;
    ok(pack_source_extend(source, now, &a, NULL) == PACK_OK &&
           pack_source_digest(source) == pack_source_digest(now),
       "what was added makes the list that there is now");
    pack_source_close(now);
    ok(pack_source_extend(source, again, &a, NULL) == PACK_OK && a.n_added == 1 &&
           pack_source_digest(source) == pack_source_digest(again),
       "and the next addition the next");
    pack_source_close(again);
    pack_source_close(source);

    source = listed(FIRST);
    now = listed(FIRST "d.jpg,dog,4\n");
    pack_source_shuffle(source, 5, NULL);
    pack_source_shuffle(now, 6, NULL);
    ok(pack_source_extend(source, now, &a, NULL) == PACK_OK && a.n_added == 0 &&
           a.n_left_out == 1 && a.why == PACK_LEFT_OUT_SHUFFLED &&
           strcmp(a.first, "d.jpg") == 0,
       "nothing is added to a random order");
    pack_source_close(source);
    source = listed(FIRST);
    pack_source_limit(source, 2);
    ok(pack_source_extend(source, now, &a, NULL) == PACK_OK && a.n_added == 0 &&
           a.n_left_out == 0 && source->n_records == 2,
       "and nothing is missing where a limit was reached");
    pack_source_close(source);
    pack_source_close(now);

    source = listed(HEADER "a.jpg,cat,1\na.jpg,dog,2\nb.jpg,cat,3\n");
    now = listed(HEADER "b.jpg,cat,3\na.jpg,dog,2\n");
    ok(pack_source_extend(source, now, &a, NULL) == PACK_OK && a.n_left_out == 0,
       "an image that a list has twice, with two labels, is not compared");
    pack_source_close(source);
    pack_source_close(now);
}

/* A source as it was walked: `names` in order, of classes a and a-b, that are folders of
 * their own or, with --label-from-folder, the innermost ones. */
static struct pack_source *
walked(const char *const *names, bool is_by_class)
{
    static const char *const classes[] = { "a", "a-b" };
    struct pack_source *source = NULL;
    if (pack_source_new(NULL, &source, NULL) != PACK_OK ||
        pack_source_add_root(source, "photos", 0, NULL) != PACK_OK ||
        pack_source_set_classes(source, classes, 2, NULL) != PACK_OK)
        abort();
    source->has_labels = true;
    source->is_by_class = is_by_class;
    for (; *names; names++)
        if (pack_source_add(source, *names, strncmp(*names, "a-b", 3) == 0, NULL) != PACK_OK)
            abort();
    return source;
}

/* What is listed behind the last image is told by class first where folders are classes:
 * whole paths have a-b/ in front of a/x/. */
static void
test_extended_classes(void)
{
    static const struct {
        const char *was[3], *now[3];
        bool is_by_class;
        uint64_t n_added;
    } cases[] = {
        { { "a-b/1.jpg" }, { "a/x/1.jpg", "a-b/1.jpg" }, true, 0 },
        { { "a-b/1.jpg" }, { "a-b/1.jpg", "a/x/1.jpg" }, true, 0 },
        { { "a/x/1.jpg" }, { "a/x/1.jpg", "a-b/1.jpg" }, true, 1 },
        { { "a-b/1.jpg" }, { "a-b/1.jpg", "a-b/x/1.jpg" }, true, 1 },
        { { "a-b/1.jpg" }, { "a-b/1.jpg", "a/x/1.jpg" }, false, 1 },
        /* the last one is gone, and what came would be in front of it */
        { { "a/1.jpg", "a/x/1.jpg" }, { "a/1.jpg", "a-b/1.jpg" }, false, 0 },
        { { "a-b/1.jpg" }, { "a/1.jpg", "a-b/1.jpg" }, false, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pack_source *source = walked(cases[i].was, false);
        struct pack_source *now = walked(cases[i].now, cases[i].is_by_class);
        struct pack_source_additions a = { 0 };
        ok(pack_source_extend(source, now, &a, NULL) == PACK_OK &&
               a.n_added == cases[i].n_added && a.n_left_out == 1 - a.n_added,
           "'%s' and '%s' behind '%s', %s: %d added", cases[i].now[0], cases[i].now[1],
           cases[i].was[1] ? cases[i].was[1] : cases[i].was[0],
           cases[i].is_by_class ? "by class" : "by path", (int)a.n_added);
        pack_source_close(source);
        pack_source_close(now);
    }
}

int
main(void)
{
    test_round_trip();
    test_damage();
    test_claims();
    test_extend();
    test_extended();
    test_extended_classes();
    return done();
}
