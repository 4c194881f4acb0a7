/*
 * Folders are read depth first, each through a descriptor relative to the one above, so
 * that PATH_MAX is no limit. What one folder contributes is a segment of the records,
 * sorted by name. ImageFolder sorts folders by whole path, where "a-b" comes between "a"
 * and "a/b"; so segments are put in order once all are there, which seldom moves
 * anything.
 */
#include "libpack/source/source_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/image/kind.h"

/* ----------------------------------------------------------------- messages */

char *
pack_walk_name(struct pack_walk *w, const char *entry)
{
    size_t size = strlen(entry) + 1;
    char *name = pack_arena_bytes(w->source->arena, w->path.size + size);
    if (name) {
        if (w->path.size)
            memcpy(name, w->path.data, w->path.size);
        memcpy(name + w->path.size, entry, size);
    }
    return name;
}

const char *
pack_walk_shown(const struct pack_walk *w, const char *entry,
                char text[PACK_NAME_TEXT_MAX])
{
    const struct pack_source_root *root = &w->source->roots[w->source->n_roots - 1];
    char path[2 * PATH_MAX];
    size_t size = w->path.size - root->prefix_bytes;
    const char *folder = size ? (const char *)w->path.data + root->prefix_bytes : "";
    if (size && !*entry)
        size--; /* the slash */
    snprintf(path, sizeof path, "%s%s%.*s%s", root->path, size || *entry ? "/" : "",
             (int)(size > PATH_MAX ? PATH_MAX : size), folder, entry);
    return pack_name_text(path, text);
}

static enum pack_status
fail_at(const struct pack_walk *w, const char *what, const char *entry)
{
    char text[PACK_NAME_TEXT_MAX];
    int saved = errno;
    return pack_fail_errno(w->err, saved, "cannot %s '%s'", what,
                           pack_walk_shown(w, entry, text));
}

static enum pack_status
note_in(struct pack_walk *w, struct pack_source_note *note, const char *entry)
{
    size_t used = w->path.size;
    enum pack_status status = pack_buf_append(&w->path, entry, strlen(entry) + 1, w->err);
    if (status == PACK_OK)
        status = pack_source_add_note(note, (char *)w->path.data, w->err);
    w->path.size = used;
    return status;
}

static enum pack_status
note(struct pack_walk *w, enum pack_source_note_kind kind, const char *entry)
{
    return note_in(w, &w->source->notes[kind], entry);
}

static enum pack_status
report_progress(const struct pack_walk *w)
{
    pack_watch_tell(&w->params->watch,
                    &(struct pack_progress){ .stage = "listing",
                                             .unit = "images",
                                             .done = w->source->n_records });
    return pack_watch_check(&w->params->watch, w->err);
}

/* ------------------------------------------------------------------ entries */

/* torchvision.datasets.folder.IMG_EXTENSIONS */
static bool
has_image_extension(const char *name)
{
    static const char *const extensions[] = { ".jpg", ".jpeg", ".png",  ".ppm", ".bmp",
                                              ".pgm", ".tif",  ".tiff", ".webp" };
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof extensions / sizeof extensions[0]; i++)
        if (strcasecmp(dot, extensions[i]) == 0)
            return true;
    return false;
}

enum entry { ENTRY_FILE, ENTRY_FOLDER, ENTRY_OTHER, ENTRY_BROKEN };

static enum pack_status
classify(const struct pack_walk *w, const struct pack_level *level,
         const struct dirent *e, enum entry *entry)
{
    struct stat st;
    switch (e->d_type) {
    case DT_DIR: *entry = ENTRY_FOLDER; return PACK_OK;
    case DT_REG: *entry = ENTRY_FILE; return PACK_OK;
    case DT_LNK:
    case DT_UNKNOWN: break;
    default: *entry = ENTRY_OTHER; return PACK_OK;
    }
    if (fstatat(dirfd(level->dir), e->d_name, &st, 0) == 0)
        *entry = S_ISDIR(st.st_mode)   ? ENTRY_FOLDER
                 : S_ISREG(st.st_mode) ? ENTRY_FILE
                                       : ENTRY_OTHER;
    else if (errno == ENOENT || errno == ELOOP || errno == ENOTDIR)
        *entry = ENTRY_BROKEN;
    else if (has_image_extension(e->d_name))
        *entry = ENTRY_OTHER; /* opening it will say why */
    else
        return fail_at(w, "follow", e->d_name);
    return PACK_OK;
}

static ssize_t
read_head(int fd, void *head, size_t size)
{
    ssize_t n;
    do
        n = read(fd, head, size);
    while (n < 0 && errno == EINTR);
    return n;
}

/* Of a file that cannot be looked into: one that is gone since the folder was read is none,
 * one that may not be read is noted. */
static enum pack_status
fail_probe(const struct pack_walk *w, const char *name, enum pack_source_note_kind *kind)
{
    int saved = errno;
    *kind = saved == ENOENT ? PACK_NOTE_OTHER : PACK_NOTE_UNREADABLE;
    if (saved == EAGAIN && pack_watch_stops(&w->params->watch))
        return pack_watch_check(&w->params->watch, w->err);
    errno = saved;
    return saved == ENOENT || saved == EACCES || saved == EPERM ? PACK_OK
                                                                : fail_at(w, "open", name);
}

/* Looks into a file without image extension; PACK_NOTE_UNNAMED_IMAGE when it is one,
 * *unread when it is one of a format that is not read. */
static enum pack_status
probe(const struct pack_walk *w, const struct pack_level *level, const char *name,
      enum pack_source_note_kind *kind, int *unread)
{
    char head[PACK_SOURCE_HEAD_BYTES];
    int fd = pack_source_open_entry(dirfd(level->dir), name, &w->params->watch);
    *unread = 0;
    if (fd < 0)
        return fail_probe(w, name, kind);
    ssize_t n = read_head(fd, head, sizeof head);
    enum pack_status status = n < 0 ? fail_at(w, "read", name) : PACK_OK;
    close(fd);
    *kind = n > 0 && w->params->is_image(head, (size_t)n) ? PACK_NOTE_UNNAMED_IMAGE
                                                          : PACK_NOTE_OTHER;
    *unread = n > 0 && *kind == PACK_NOTE_OTHER ? pack_image_kind(head, (size_t)n) : 0;
    return status;
}

static enum pack_status
add_image(struct pack_walk *w, const char *name)
{
    if (w->in_thumbs)
        return note(w, PACK_NOTE_THUMBNAIL, name);
    const char *stored = pack_walk_name(w, name);
    if (!stored)
        return pack_fail_memory(w->err, "names of images");
    if (w->source->n_records % 4096 == 4095) {
        enum pack_status status = report_progress(w);
        if (status != PACK_OK)
            return status;
    }
    return pack_source_add(w->source, stored, w->label, w->err);
}

/* A file: an image, or why it is ignored. */
static enum pack_status
take_file(struct pack_walk *w, const struct pack_level *level, const char *name,
          enum entry entry)
{
    enum pack_source_note_kind kind = PACK_NOTE_OTHER;
    enum pack_status status = PACK_OK;
    int unread = entry == ENTRY_FILE ? pack_image_kind_of_name(name) : 0;
    if (has_image_extension(name))
        return add_image(w, name);
    if (entry == ENTRY_BROKEN)
        kind = PACK_NOTE_BROKEN_LINK;
    else if (entry == ENTRY_FILE && w->params->is_image &&
             (w->by_content || w->n_probes++ < PACK_SOURCE_PROBES_MAX))
        status = probe(w, level, name, &kind, &unread);
    if (status != PACK_OK)
        return status;
    if (w->by_content && kind == PACK_NOTE_UNNAMED_IMAGE)
        return add_image(w, name);
    if (kind == PACK_NOTE_OTHER && pack_image_kind_is_photo(unread) && !w->in_thumbs)
        return note_in(w, &w->unread[unread], name);
    return note(w, kind, name);
}

static enum pack_status
take_entry(struct pack_walk *w, struct pack_level *level, const struct dirent *e)
{
    enum entry entry;
    if (e->d_name[0] == '.') {
        bool is_link_to_folder = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
        return is_link_to_folder ? PACK_OK : note(w, PACK_NOTE_HIDDEN, e->d_name);
    }
    enum pack_status status = classify(w, level, e, &entry);
    if (status != PACK_OK)
        return status;
    if (entry != ENTRY_FOLDER)
        return take_file(w, level, e->d_name, entry);
    char **folders =
        pack_grown(level->folders, level->n_folders, &level->capacity, sizeof *folders);
    if (!folders)
        return pack_fail_memory(w->err, "names of folders");
    level->folders = folders;
    if (!(folders[level->n_folders] = strdup(e->d_name)))
        return pack_fail_memory(w->err, "names of folders");
    level->n_folders++;
    return PACK_OK;
}

/* ------------------------------------------------------------------ folders */

bool
pack_walk_is_thumbs(const char *name)
{
    static const char *const thumbs[] = { "thumbs", "thumb", "thumbnails", "thumbnail",
                                          "@eaDir" };
    for (size_t i = 0; i < sizeof thumbs / sizeof thumbs[0]; i++)
        if (strcasecmp(name, thumbs[i]) == 0)
            return true;
    return false;
}

static int
compare_texts(const void *a, const void *b)
{
    return pack_name_compare(*(const char *const *)a, *(const char *const *)b);
}

/* Names that have `skip` bytes in common. */
static int
compare_records(const void *a, const void *b, void *skip)
{
    const struct pack_record *ra = a, *rb = b;
    return pack_name_compare(ra->name + *(const size_t *)skip,
                             rb->name + *(const size_t *)skip);
}

/* Sorts the records from `first` on, all of the folder being read, and keeps them as a
 * segment. */
static enum pack_status
add_segment(struct pack_walk *w, uint64_t first)
{
    uint64_t n = w->source->n_records - first;
    if (n == 0)
        return PACK_OK;
    qsort_r(w->source->records + first, n, sizeof(struct pack_record), compare_records,
            &w->path.size);
    struct pack_segment *segments =
        pack_grown(w->segments, w->n_segments, &w->capacity, sizeof *segments);
    if (!segments)
        return pack_fail_memory(w->err, "names of folders");
    w->segments = segments;
    char *folder = pack_walk_name(w, "");
    if (!folder)
        return pack_fail_memory(w->err, "names of folders");
    if (w->path.size)
        folder[w->path.size - 1] = '\0'; /* a slash would sort behind "a-b" */
    segments[w->n_segments++] = (struct pack_segment){ folder, first, n };
    return PACK_OK;
}

void
pack_level_close(struct pack_level *level)
{
    if (level->dir)
        closedir(level->dir);
    for (size_t i = 0; i < level->n_folders; i++)
        free(level->folders[i]);
    free(level->folders);
}

enum pack_status
pack_level_open(const struct pack_walk *w, const char *name, const struct pack_level *up,
                struct pack_level *level)
{
    struct stat st;
    *level = (struct pack_level){ .up = up, .depth = up ? up->depth + 1 : 1 };
    int fd = openat(up ? dirfd(up->dir) : AT_FDCWD, name,
                    O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return fail_at(w, "read folder", "");
    if (fstat(fd, &st) != 0 || !(level->dir = fdopendir(fd))) {
        enum pack_status status = fail_at(w, "read folder", "");
        close(fd);
        return status;
    }
    level->dev = st.st_dev;
    level->ino = st.st_ino;
    return PACK_OK;
}

enum pack_status
pack_level_read(struct pack_walk *w, struct pack_level *level)
{
    uint64_t first = w->source->n_records;
    enum pack_status status = report_progress(w);
    while (status == PACK_OK) {
        errno = 0;
        const struct dirent *e = readdir(level->dir);
        if (!e && errno)
            return fail_at(w, "read folder", "");
        if (!e)
            break;
        status = take_entry(w, level, e);
    }
    level->has_images = w->source->n_records > first;
    if (status == PACK_OK)
        status = add_segment(w, first);
    if (status == PACK_OK && level->n_folders)
        qsort(level->folders, level->n_folders, sizeof *level->folders, compare_texts);
    return status;
}

static bool
is_loop(const struct pack_level *level)
{
    for (const struct pack_level *l = level->up; l; l = l->up)
        if (l->dev == level->dev && l->ino == level->ino)
            return true;
    return false;
}

enum pack_status
pack_walk_below(struct pack_walk *w, const struct pack_level *level)
{
    enum pack_status status = PACK_OK;
    bool in_thumbs = w->in_thumbs;
    bool takes_all = w->params->no_labels || w->params->label_from_folder;
    for (size_t i = 0; status == PACK_OK && i < level->n_folders; i++) {
        bool is_thumbs = takes_all && level->has_images &&
                         pack_walk_is_thumbs(level->folders[i]);
        w->in_thumbs = in_thumbs || is_thumbs;
        status = pack_walk_folder(w, level->folders[i], level);
    }
    w->in_thumbs = in_thumbs;
    return status;
}

enum pack_status
pack_walk_folder(struct pack_walk *w, const char *name, const struct pack_level *up)
{
    struct pack_level level = { 0 };
    char text[PACK_NAME_TEXT_MAX];
    size_t used = w->path.size;
    enum pack_status status = pack_buf_append(&w->path, name, strlen(name), w->err);
    if (status == PACK_OK)
        status = pack_buf_append(&w->path, "/", 1, w->err);
    if (status == PACK_OK)
        status = pack_level_open(w, name, up, &level);
    if (status != PACK_OK)
        goto out;
    if (is_loop(&level)) {
        w->path.size = used;
        status = note(w, PACK_NOTE_LOOP, name);
        goto out;
    }
    if (level.depth > PACK_SOURCE_DEPTH_MAX) {
        status =
            pack_fail(w->err, PACK_ERR_LIMIT,
                      "'%s' is more than %d folders deep; do links lead in a circle?",
                      pack_walk_shown(w, "", text), PACK_SOURCE_DEPTH_MAX);
        goto out;
    }
    status = pack_level_read(w, &level);
    if (status == PACK_OK)
        status = pack_walk_below(w, &level);
out:
    pack_level_close(&level);
    w->path.size = used;
    return status;
}

static int
compare_segments(const void *a, const void *b)
{
    return pack_name_compare(((const struct pack_segment *)a)->folder,
                             ((const struct pack_segment *)b)->folder);
}

enum pack_status
pack_walk_sort(struct pack_walk *w)
{
    size_t n = w->n_segments, sorted = 1;
    const struct pack_segment *s = w->segments;
    struct pack_record *records = w->source->records;
    w->n_segments = 0;
    while (sorted < n && compare_segments(&s[sorted - 1], &s[sorted]) < 0)
        sorted++;
    if (sorted >= n)
        return PACK_OK;
    uint64_t first = s[0].first, at = 0, n_records = w->source->n_records - first;
    struct pack_record *ordered = reallocarray(NULL, n_records, sizeof *ordered);
    if (!ordered)
        return pack_fail_memory(w->err, "the order of the images");
    qsort(w->segments, n, sizeof *s, compare_segments);
    for (size_t i = 0; i < n; at += s[i++].n)
        memcpy(ordered + at, records + s[i].first, s[i].n * sizeof *ordered);
    memcpy(records + first, ordered, n_records * sizeof *ordered);
    free(ordered);
    return PACK_OK;
}
