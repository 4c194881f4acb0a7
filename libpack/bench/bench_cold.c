/*
 * Reading as if for the first time: the pages of every file that a run reads are dropped
 * from the page cache, and what stayed is counted. Sources of a virtual dataset are dropped
 * too, but they may have sources of their own, and external files are not known by name:
 * such data are never seen to be cold.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "libpack/bench/bench_parts.h"

/* The least that is known of any file counts for all. */
static void
doubt(struct pack_bench_epoch *epoch, enum pack_bench_cold cold)
{
    if (cold < epoch->pages.cold)
        epoch->pages.cold = cold;
}

static enum pack_status
drop(int fd, struct pack_bench_epoch *epoch, struct pack_error *err)
{
    uint64_t resident = 0;
    enum pack_status status = pack_system_drop_fd(fd, err);
    if (status != PACK_OK)
        return status;
    if (!pack_system_resident_fd(fd, &resident))
        doubt(epoch, PACK_COLD_ASSUMED);
    epoch->pages.resident_bytes += resident;
    return PACK_OK;
}

static enum pack_status
drop_file(const char *file, struct pack_bench_epoch *epoch, struct pack_error *err)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return pack_fail_errno(err, errno, "cannot open '%s'", file);
    enum pack_status status = drop(fd, epoch, err);
    close(fd);
    return status == PACK_OK ? PACK_OK : pack_error_prefix(err, status, "'%s'", file);
}

static enum pack_status
drop_set(const struct pack_readset *set, struct pack_bench_epoch *epoch,
         struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < set->n_parts && status == PACK_OK; i++) {
        const struct pack_h5_dataset *d = set->parts[i].data;
        status = drop_file(d->data_file, epoch, err);
        for (size_t k = 0; k < d->sources.n_sources && status == PACK_OK; k++)
            if (!d->sources.sources[k].is_missing)
                status = drop_file(d->sources.sources[k].file, epoch, err);
        if (d->facts.n_external > 0)
            doubt(epoch, PACK_COLD_PARTLY);
        if (d->facts.layout == PACK_LAYOUT_VIRTUAL)
            doubt(epoch, PACK_COLD_ASSUMED);
    }
    return status;
}

/* Images that cannot be opened are skipped by the engine too. */
static enum pack_status
drop_images(const struct pack_source *source, struct pack_bench_epoch *epoch,
            struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (uint64_t i = 0; i < pack_source_count(source) && status == PACK_OK; i++) {
        char path[512];
        int fd;
        if (pack_source_open_file(source, i, &fd, NULL) != PACK_OK)
            continue;
        status = drop(fd, epoch, err);
        close(fd);
        if (status != PACK_OK) {
            pack_source_path(source, i, path, sizeof path);
            pack_error_prefix(err, status, "'%s'", path);
        }
    }
    return status;
}

enum pack_status
pack_bench_go_cold(const struct pack_bench_params *params, struct pack_bench_epoch *epoch,
                   struct pack_error *err)
{
    epoch->pages.cold = PACK_COLD_CHECKED;
    return params->set ? drop_set(params->set, epoch, err)
                       : drop_images(params->images.source, epoch, err);
}
