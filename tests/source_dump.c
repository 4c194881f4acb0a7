/*
 * Prints what a source lists, for tests in other languages: per record the label, a
 * blank, the name and a NUL; then the classes, each with "C " in front and a NUL behind.
 * Notes go to standard error.
 *
 *     source_dump [--no-labels] FOLDER...
 *     source_dump --list FILE
 */
#include <stdio.h>
#include <string.h>

#include <libpack/source.h>

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

int
main(int argc, char **argv)
{
    struct pack_source_params params = { .is_image = is_image };
    struct pack_source *source = NULL;
    struct pack_error err;
    enum pack_status status;
    params.no_labels = argc > 1 && strcmp(argv[1], "--no-labels") == 0;
    argv += 1 + params.no_labels;
    argc -= 1 + params.no_labels;
    if (argc == 2 && strcmp(argv[0], "--list") == 0)
        status = open_list(argv[1], &params, &source, &err);
    else
        status = pack_source_open((const char *const *)argv, (size_t)argc, &params,
                                  &source, &err);
    if (status != PACK_OK) {
        fprintf(stderr, "source_dump: %s\n", err.text);
        return 2;
    }
    size_t n_classes;
    const char *const *classes = pack_source_classes(source, &n_classes);
    for (uint64_t i = 0; i < pack_source_count(source); i++)
        printf("%lld %s%c", (long long)pack_source_label(source, i),
               pack_source_name(source, i), 0);
    for (size_t i = 0; i < n_classes; i++)
        printf("C %s%c", classes[i], 0);
    for (int i = 0; i < PACK_NOTE_KINDS; i++) {
        char text[PACK_SOURCE_NOTE_TEXT_MAX];
        if (pack_source_note_text(source, i, text))
            fprintf(stderr, "%s\n", text);
    }
    pack_source_close(source);
    return fflush(stdout) != 0;
}
