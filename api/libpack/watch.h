/* How a caller follows a long call, and ends it. */
#ifndef LIBPACK_WATCH_H
#define LIBPACK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where a call stands. Texts are valid during the call of `progress`. */
struct pack_progress {
    const char *stage;    /* what is being done, for a person: "packing", "simulating" */
    const char *unit;     /* of done and total: "images", "settings" */
    uint64_t done, total; /* total 0: not known; done starts again with each stage */
    uint64_t bytes;       /* that went through in this stage; 0: not counted */
    const char *note;     /* what else there is to say, "hits 98 %"; NULL: nothing */
};

/*
 * Zeroed: nobody watches and nothing ends the call. Every long call takes one in its
 * parameters, which it copies or borrows until it returns.
 *
 * progress: called now and then, some thousand times a second at most for work that is
 *           this fast; a caller who draws it draws less often
 * stop:     asked between pieces of work that take some milliseconds, and while waiting.
 *           From the first true on the call ends what it is at and returns
 *           PACK_ERR_INTERRUPTED; `stop` is to go on answering true.
 *
 * Both run on the thread that made the call, one at a time, and never in a process that
 * the call forked. They must not call the library on the objects of the call. To end a
 * call from a signal handler or another thread, let `stop` look at a flag that is set
 * there (volatile sig_atomic_t, or atomic).
 */
struct pack_watch {
    void *context; /* handed to both */
    void (*progress)(void *context, const struct pack_progress *progress);
    bool (*stop)(void *context);
};

/* For those who make long calls out of others. `watch` may be NULL. */
void pack_watch_tell(const struct pack_watch *watch,
                     const struct pack_progress *progress);
bool pack_watch_stops(const struct pack_watch *watch);
/* PACK_OK, or PACK_ERR_INTERRUPTED with "interrupted" when the watch stops the call. */
enum pack_status pack_watch_check(const struct pack_watch *watch, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
