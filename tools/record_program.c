#include "tools/record_program.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/base/buf.h"

static const char library[] = "libh5pack_record.so";

/* ----------------------------------------------------------------- library */

/* From the folder of this program: as it was built, and as it was installed. */
static const char *const beside[] = { "../record/.libs", "../../record/.libs",
                                      "../lib/h5pack", NULL };

static bool
is_file(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

enum pack_status
record_library(char **path, struct pack_error *err)
{
    char self[PATH_MAX], place[PATH_MAX + 64];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    *path = NULL;
    for (size_t i = 0; slash && !*path && beside[i]; i++) {
        *slash = '\0';
        snprintf(place, sizeof place, "%s/%s/%s", self, beside[i], library);
        if (is_file(place))
            *path = realpath(place, NULL);
    }
    snprintf(place, sizeof place, "%s/%s", RECORD_DIR, library);
    if (!*path && is_file(place))
        *path = realpath(place, NULL);
    if (!*path)
        return pack_fail(err, PACK_ERR_NOT_FOUND,
                         "the recorder '%s' is not there: it belongs into '%s'", library,
                         RECORD_DIR);
    if (!strpbrk(*path, " :\t\n"))
        return PACK_OK;
    enum pack_status status =
        pack_fail(err, PACK_ERR_UNSUPPORTED,
                  "the recorder cannot be preloaded from '%.300s': a blank or a colon is in "
                  "its name",
                  *path);
    free(*path);
    *path = NULL;
    return status;
}

/* ----------------------------------------------------------------- program */

/* As execvp() looks for it. */
static bool
find(const char *name, char *path, size_t size)
{
    const char *at = getenv("PATH");
    if (strchr(name, '/')) {
        snprintf(path, size, "%s", name);
        return access(path, F_OK) == 0;
    }
    for (at = at ? at : "/bin:/usr/bin"; *name; at++) {
        size_t n = strcspn(at, ":");
        snprintf(path, size, "%.*s/%s", n ? (int)n : 1, n ? at : ".", name);
        if (access(path, X_OK) == 0 && is_file(path))
            return true;
        at += n;
        if (!*at)
            break;
    }
    return false;
}

enum { FORM_OTHER, FORM_DYNAMIC, FORM_STATIC };

/* Whether a program of this system names a dynamic linker. */
static int
form_of(const char *path)
{
    ElfW(Ehdr) head;
    ElfW(Phdr) part;
    FILE *f = fopen(path, "rb");
    if (!f)
        return FORM_OTHER;
    int form = fread(&head, sizeof head, 1, f) == 1 &&
                       memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
                       head.e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64
                                                                      : ELFCLASS32) &&
                       head.e_phentsize == sizeof part
                   ? FORM_STATIC
                   : FORM_OTHER;
    if (form == FORM_STATIC && fseek(f, (long)head.e_phoff, SEEK_SET) == 0)
        for (int i = 0; i < head.e_phnum && fread(&part, sizeof part, 1, f) == 1; i++)
            if (part.p_type == PT_INTERP)
                form = FORM_DYNAMIC;
    fclose(f);
    return form;
}

enum pack_status
record_program_check(const char *name, struct pack_error *err)
{
    char path[PATH_MAX];
    struct stat s;
    if (!find(name, path, sizeof path) || stat(path, &s) != 0)
        return pack_fail(err, PACK_ERR_NOT_FOUND, "cannot run '%.200s': there is no such "
                                                  "program",
                         name);
    if (form_of(path) == FORM_STATIC)
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "cannot record '%.200s': it is linked statically, so that nothing "
                         "can be preloaded",
                         name);
    bool is_other = ((s.st_mode & S_ISUID) && s.st_uid != getuid()) ||
                    ((s.st_mode & S_ISGID) && s.st_gid != getgid());
    if (form_of(path) == FORM_DYNAMIC && is_other)
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "cannot record '%.200s': it runs with the rights of another user, "
                         "and nothing is preloaded into such",
                         name);
    return PACK_OK;
}
