/* What h5pack's command line says, and the parameters it stands for. */
#ifndef TOOLS_PACK_ARGS_H
#define TOOLS_PACK_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/convert.h>
#include <libpack/status.h>

/* As they were given; --help says what each means. */
struct pack_args {
    const char *scale16, *output, *list, *classes, *rejects, *background, *chunk, *compress;
    struct pack_shape size, crop; /* rank 0: not given */
    const char *path_column, *label_column; /* of the list */
    bool no_header, label_from_folder;
    bool nul, no_labels, any_name, splits_are_classes, masks_are_classes, shuffle;
    uint64_t seed, limit;
    bool draft, gray, no_orientation, strict;
    uint64_t max_pixels, max_file, shorter;
    int fit, resample, layout, goal, libver, on_error;
    bool fletcher32;
    uint64_t threads, memory;
    bool gone_are_rejects, force, resume, dry_run, verify, json, quiet;
    char **folders; /* the operands */
    size_t n_folders;
};

/* As cli_parse(): NULL when the program is to end with *exit_status. */
const struct pack_args *pack_args_parse(int argc, char **argv, int *exit_status);
void pack_args_free(void);

/* PACK_ERR_ARGUMENT for words that do not go together. */
enum pack_status pack_args_check(const struct pack_args *args, struct pack_error *err);

/* What decides the content of the file. A seed that was not given is drawn. */
enum pack_status pack_args_options(const struct pack_args *args,
                                   struct pack_convert_options *options,
                                   struct pack_error *err);

#endif
