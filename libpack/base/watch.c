#include <libpack/status.h>

#include <stddef.h>

void
pack_watch_tell(const struct pack_watch *watch, const struct pack_progress *progress)
{
    if (watch && watch->progress && progress)
        watch->progress(watch->context, progress);
}

bool
pack_watch_stops(const struct pack_watch *watch)
{
    return watch && watch->stop && watch->stop(watch->context);
}

enum pack_status
pack_watch_check(const struct pack_watch *watch, struct pack_error *err)
{
    return pack_watch_stops(watch) ? pack_fail(err, PACK_ERR_INTERRUPTED, "interrupted")
                                   : PACK_OK;
}
