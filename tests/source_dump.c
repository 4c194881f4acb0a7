/*
 * Prints what a source lists, for tests in other languages: per record the label, a
 * blank, the name and a NUL; then the classes, each with "C " in front and a NUL behind.
 * Notes go to standard error.
 *
 *     source_dump [OPTION...] FOLDER...
 *     source_dump [OPTION...] --list FILE
 *
 *     --no-labels  --label-from-folder  --any-name  --splits  --no-header  --lines  --null
 *     --path-column C  --label-column C  --root FOLDER  --class NAME (again for each)
 *     --all   what else there is as well, texts that end in NUL: "P " and each path to
 *             open, "L 1" where there are labels, "F " and the form of a list, "K ", a
 *             column's type, a blank and its name, "V " and each value; "U " and how many
 *             images of a format not read there are, its name, the first. A listing that
 *             comes back otherwise than it was stored ends in status 3.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/source/records.h"
#include "libpack/source/source_store.h"

enum { CLASSES_MAX = 64 };

static const char *classes[CLASSES_MAX];

static bool
is_image(const void *head, size_t size)
{
    return size >= 3 && memcmp(head, "\xff\xd8\xff", 3) == 0;
}

static enum pack_status
open_list(const char *name, const struct pack_source_params *params,
          struct pack_source **source, struct pack_error *err)
{
    FILE *file = fopen(name, "r");
    if (!file)
        return pack_fail(err, PACK_ERR_IO, "cannot open '%s'", name);
    enum pack_status status = pack_source_open_list(file, name, params, source, err);
    fclose(file);
    return status;
}

/* Takes the options in front; the number of arguments that they are. */
static int
parse(char **argv, struct pack_source_params *p, bool *all, const char **list)
{
    int n = 0;
    for (; argv[n] && strncmp(argv[n], "--", 2) == 0; n++) {
        const char *name = argv[n] + 2;
        const char **value = !strcmp(name, "path-column")    ? &p->path_column
                             : !strcmp(name, "label-column") ? &p->label_column
                             : !strcmp(name, "root")         ? &p->list_root
                             : !strcmp(name, "list")         ? list
                             : !strcmp(name, "class")        ? &classes[p->n_classes++]
                                                             : NULL;
        bool *flag = !strcmp(name, "no-labels")           ? &p->no_labels
                     : !strcmp(name, "label-from-folder") ? &p->label_from_folder
                     : !strcmp(name, "any-name")          ? &p->any_name
                     : !strcmp(name, "splits")            ? &p->splits_are_classes
                     : !strcmp(name, "no-header")         ? &p->no_header
                                                          : all;
        if (value)
            *value = argv[++n];
        else if (!strcmp(name, "lines") || !strcmp(name, "null"))
            p->list_format = *name == 'l' ? PACK_LIST_LINES : PACK_LIST_NULL;
        else
            *flag = true;
        if (!argv[n] || p->n_classes == CLASSES_MAX)
            exit(4);
    }
    p->classes = p->n_classes ? classes : NULL;
    return n;
}

static void
print_columns(const struct pack_list *list)
{
    static const char *const kinds[] = { "int64", "float64", "string" };
    printf("F %s%c", list->taken, 0);
    for (int i = 0; i < list->n_columns; i++) {
        const struct pack_column *c = &list->columns[i];
        printf("K %s %s%c", kinds[c->kind], c->name, 0);
        for (uint64_t row = 0; row < list->n_rows; row++)
            if (c->kind == PACK_COLUMN_INT64)
                printf("V %lld%c", (long long)c->integers[row], 0);
            else if (c->kind == PACK_COLUMN_STRING)
                printf("V %s%c", c->strings[row], 0);
            else if (isnan(c->floats[row]))
                printf("V nan%c", 0);
            else
                printf("V %.17g%c", c->floats[row], 0);
    }
}

static void
print_all(const struct pack_source *source)
{
    for (uint64_t i = 0; i < pack_source_count(source); i++) {
        char path[4096];
        if (pack_source_path(source, i, path, sizeof path) != strlen(path))
            exit(4);
        printf("P %s%c", path, 0);
    }
    printf("L %d%c", pack_source_has_labels(source), 0);
    if (source->list)
        print_columns(source->list);
    for (int i = 0; i < PACK_IMAGE_KINDS; i++)
        if (source->unread[i].count)
            printf("U %llu %s %s%c", (unsigned long long)source->unread[i].count,
                   pack_image_kind_name(i), source->unread[i].first, 0);
}

/* Whether it is the same once it has been stored and loaded. */
static bool
comes_back(const struct pack_source *source)
{
    struct pack_buf head = { 0 }, rows = { 0 };
    struct pack_source *copy = NULL;
    uint64_t next = 0;
    bool same =
        pack_source_store_head(source, &head, NULL) == PACK_OK &&
        pack_source_store_rows(source, NULL, 0, SIZE_MAX, &rows, &next, NULL) == PACK_OK &&
        pack_source_load_head(head.data, head.size, &copy, NULL) == PACK_OK &&
        pack_source_load_rows(copy, rows.data, rows.size, next, NULL) == PACK_OK &&
        pack_source_digest(copy) == pack_source_digest(source) &&
        copy->has_labels == source->has_labels && copy->n_roots == source->n_roots;
    for (uint32_t i = 0; same && i < source->n_roots; i++)
        same = strcmp(copy->roots[i].path, source->roots[i].path) == 0 &&
               copy->roots[i].prefix_bytes == source->roots[i].prefix_bytes;
    for (uint64_t i = 0; same && i < source->n_records; i++)
        same = copy->records[i].root == source->records[i].root;
    pack_buf_done(&head);
    pack_buf_done(&rows);
    pack_source_close(copy);
    return same;
}

int
main(int argc, char **argv)
{
    struct pack_source_params params = { .is_image = is_image };
    struct pack_source *source = NULL;
    struct pack_error err;
    const char *list = NULL;
    bool all = false;
    int n = 1 + parse(argv + 1, &params, &all, &list);
    enum pack_status status =
        list ? open_list(list, &params, &source, &err)
             : pack_source_open((const char *const *)argv + n, (size_t)(argc - n), &params,
                                &source, &err);
    if (status != PACK_OK) {
        fprintf(stderr, "source_dump: %s\n", err.text);
        return 2;
    }
    size_t n_classes;
    const char *const *names = pack_source_classes(source, &n_classes);
    for (uint64_t i = 0; i < pack_source_count(source); i++)
        printf("%lld %s%c", (long long)pack_source_label(source, i),
               pack_source_name(source, i), 0);
    for (size_t i = 0; i < n_classes; i++)
        printf("C %s%c", names[i], 0);
    if (all)
        print_all(source);
    for (int i = 0; i < PACK_NOTE_KINDS; i++) {
        char text[PACK_SOURCE_NOTE_TEXT_MAX];
        if (pack_source_note_text(source, i, text))
            fprintf(stderr, "%s\n", text);
    }
    bool same = !all || comes_back(source);
    pack_source_close(source);
    return !same ? 3 : fflush(stdout) != 0;
}
