/* Whether files are still those that were opened: HDF5 gives zeros, or errors, for what
 * was cut off, and the old one for what was replaced. */
#include "libpack/hdf5/readset.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libpack/base/name.h"

/* As it was when it was opened, or as it is. */
static void
note(struct pack_readset *set, const char *file, const struct stat *seen)
{
    struct stat now;
    struct pack_readset_file *f = &set->files[set->n_files];
    if (seen)
        now = *seen;
    else if (stat(file, &now) != 0)
        return; /* a source that is missing, or a name that HDF5 takes otherwise */
    *f = (struct pack_readset_file){ .name = file,
                                     .device = (uint64_t)now.st_dev,
                                     .inode = (uint64_t)now.st_ino,
                                     .size_bytes = (uint64_t)now.st_size,
                                     .mtime_s = (int64_t)now.st_mtim.tv_sec,
                                     .mtime_ns = (int64_t)now.st_mtim.tv_nsec };
    set->n_files++;
}

enum pack_status
pack_readset_note_files(struct pack_readset *set, struct pack_error *err)
{
    size_t n = 2 * set->n_parts;
    for (size_t i = 0; i < set->n_parts; i++)
        n += set->parts[i].data->sources.n_sources;
    free(set->files);
    set->n_files = 0;
    set->files = calloc(n ? n : 1, sizeof *set->files);
    if (!set->files)
        return pack_fail_memory(err, "a set of files");
    for (size_t i = 0; i < set->n_parts; i++) {
        const struct pack_h5_dataset *d = set->parts[i].data;
        const struct pack_h5_sources *s = &d->sources;
        note(set, d->file, d->is_seen ? &d->seen : NULL);
        if (strcmp(d->data_file, d->file) != 0)
            note(set, d->data_file, NULL);
        for (size_t k = 0; k < s->n_sources; k++)
            note(set, s->sources[k].file, NULL);
    }
    return PACK_OK;
}

bool
pack_readset_is_changed(const struct pack_readset *set, char *text, size_t size)
{
    char name[PACK_NAME_TEXT_MAX];
    for (size_t i = 0; i < set->n_files; i++) {
        const struct pack_readset_file *f = &set->files[i];
        struct stat now;
        pack_name_text(f->name, name);
        if (stat(f->name, &now) != 0)
            snprintf(text, size, "'%s' is gone: %s", name, strerror(errno));
        else if ((uint64_t)now.st_ino != f->inode || (uint64_t)now.st_dev != f->device)
            snprintf(text, size, "'%s' was replaced by another file", name);
        else if ((uint64_t)now.st_size != f->size_bytes)
            snprintf(text, size, "'%s' had %" PRIu64 " bytes and has %" PRIu64 " now", name,
                     f->size_bytes, (uint64_t)now.st_size);
        else if ((int64_t)now.st_mtim.tv_sec != f->mtime_s ||
                 (int64_t)now.st_mtim.tv_nsec != f->mtime_ns)
            snprintf(text, size, "'%s' was written to", name);
        else
            continue;
        return true;
    }
    return false;
}
