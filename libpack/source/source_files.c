/* Sources that are files, as a shell makes of a folder of files, and the folders among
 * them. */
#include "libpack/source/source_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/source/list_survey.h"

/* The first bytes of a file; 0 where it cannot be read. */
static size_t
read_head(const char *path, unsigned char head[PACK_SOURCE_HEAD_BYTES])
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n;
    do
        n = read(fd, head, PACK_SOURCE_HEAD_BYTES);
    while (n < 0 && errno == EINTR);
    close(fd);
    return n > 0 ? (size_t)n : 0;
}

/* As in a flat folder: the name or the content says that it is an image. */
static bool
is_image(const char *path, const struct pack_source_params *params)
{
    unsigned char head[PACK_SOURCE_HEAD_BYTES];
    if (pack_survey_image_name(path))
        return true;
    size_t n = params->is_image ? read_head(path, head) : 0;
    return n > 0 && params->is_image(head, n);
}

enum pack_given
pack_source_given(const char *path, const struct pack_source_params *params)
{
    struct stat st;
    bool is_there = stat(path, &st) == 0;
    if (is_there && S_ISDIR(st.st_mode))
        return PACK_GIVEN_FOLDER;
    if (!is_there && (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode)))
        return PACK_GIVEN_NOTHING;
    return is_image(path, params) ? PACK_GIVEN_IMAGE
           : is_there             ? PACK_GIVEN_OTHER
                                  : PACK_GIVEN_BROKEN;
}

enum pack_status
pack_source_note_given(struct pack_source *source, enum pack_given given,
                       const char *path, struct pack_error *err)
{
    return pack_source_note(source,
                            given == PACK_GIVEN_BROKEN ? PACK_NOTE_BROKEN_LINK
                                                       : PACK_NOTE_OTHER_SOURCE,
                            path, err);
}

enum pack_status
pack_source_add_file(struct pack_source *source, const char *file, struct pack_error *err)
{
    const struct pack_source_root *last =
        source->n_roots ? &source->roots[source->n_roots - 1] : NULL;
    bool follows_file = last && last->prefix_bytes == 0 && strcmp(last->path, ".") == 0;
    enum pack_status status =
        follows_file ? PACK_OK : pack_source_add_root(source, ".", 0, err);
    if (status != PACK_OK)
        return status;
    const char *name = pack_arena_text(source->arena, file);
    return name ? pack_source_add(source, name, -1, err)
                : pack_fail_memory(err, "names of images");
}
