/* Outputs that a program is asked for beside its report. */
#include "tools/cli.h"

#include <string.h>
#include <sys/stat.h>

#include "libpack/base/outfile.h"

/* By any name; one that is not there yet is another's only by its name. */
static bool
is_one_file(const char *a, const char *b)
{
    struct stat one, two;
    if (stat(a, &one) != 0 || stat(b, &two) != 0)
        return strcmp(a, b) == 0;
    return one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

enum pack_status
cli_check_output(const char *path, bool force, const char *const *others, size_t n_others,
                 struct pack_error *err)
{
    for (size_t i = 0; path && i < n_others; i++)
        if (others[i] && is_one_file(path, others[i]))
            return pack_fail(err, PACK_ERR_ARGUMENT,
                             "cannot write '%s': this run needs '%s' as it is", path,
                             others[i]);
    return pack_outfile_check(path, force, err);
}
