/* Status codes, the error record that carries one sentence from where it went wrong to
 * whoever speaks, and how a caller follows a long call and ends it. */
#ifndef LIBPACK_STATUS_H
#define LIBPACK_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What holds for all of libpack, unless a function's comment says otherwise:
 *
 * Arguments    are checked, whatever they are: pointers that are NULL, ranks, enums,
 *              counts, boxes, doubles. A function that returns a status answers
 *              PACK_ERR_ARGUMENT and names the parameter; one that returns a value
 *              answers 0, false, NULL, "unknown" or an empty text; one that returns
 *              nothing does nothing. Not checked is what cannot be: that a pointer which
 *              is not NULL leads to as much memory as its comment says.
 * Outputs      are written on success only.
 * Ownership    what _open or _new gives is released with _close or _free, what _read or
 *              _parse fills with memory with _done or _free; all of them accept NULL.
 *              Pointers handed in are borrowed until the call returns.
 * Threads      different objects at a time from different threads, one object from one
 *              thread. Functions without an object are safe from any thread.
 * Units        are in names; shapes and boxes count elements, sizes bytes.
 */
enum pack_status {
    PACK_OK = 0,
    PACK_ERR_ARGUMENT, /* the caller asked for something impossible */
    PACK_ERR_MEMORY,   /* an allocation failed, or a stated memory bound is too small */
    PACK_ERR_IO,       /* the operating system refused: open, read, write, sync, rename */
    PACK_ERR_FORMAT,   /* the bytes are damaged or are not what they claim to be */
    PACK_ERR_UNSUPPORTED, /* well-formed, but nothing here can read it */
    PACK_ERR_LIMIT,       /* larger than a limit that protects the user */
    PACK_ERR_EXISTS,      /* would overwrite something */
    PACK_ERR_NOT_FOUND,   /* a file, dataset or name that is not there */
    PACK_ERR_CHANGED,     /* an input changed while it was being used */
    PACK_ERR_MISMATCH,    /* a verification found a difference */
    PACK_ERR_INTERRUPTED  /* stopped on request (a signal, a cancelled pool) */
};

enum { PACK_ERROR_TEXT_MAX = 1024 };

/*
 * Owned by the caller, who may pass NULL where a text is of no use. `text` is one
 * sentence in lower case without a full stop; it is written only on failure; one that is
 * too long has "..." for its middle. `param` names the parameter (a member of the
 * parameter struct) that would have to be another for the call to succeed: a program
 * knows which of its options sets it, and adds that to the sentence.
 */
struct pack_error {
    enum pack_status status;
    const char *param; /* a literal; NULL: none in particular */
    char text[PACK_ERROR_TEXT_MAX];
};

/* A lower-case word for a status ("argument", "io"), "unknown" for what is none. */
const char *pack_status_name(enum pack_status status);

/* ---------------------------------------------------- for callbacks, to say why they fail */

/* Fills *err (when not NULL) with a printf-formatted sentence and returns `status`. Keeps
 * errno. A format of NULL gives an empty sentence, here and below. */
enum pack_status pack_fail(struct pack_error *err, enum pack_status status,
                           const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same, saying which parameter is at fault; `param` is a literal. */
enum pack_status pack_fail_param(struct pack_error *err, enum pack_status status,
                                 const char *param, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/*
 * As pack_fail with ": " and the text of `errnum` appended. ENOMEM becomes
 * PACK_ERR_MEMORY, ENOENT and ENOTDIR PACK_ERR_NOT_FOUND, EEXIST PACK_ERR_EXISTS, all
 * others PACK_ERR_IO.
 */
enum pack_status pack_fail_errno(struct pack_error *err, int errnum, const char *format,
                                 ...) __attribute__((format(printf, 3, 4)));

/* PACK_ERR_MEMORY with "out of memory: <what>". */
enum pack_status pack_fail_memory(struct pack_error *err, const char *what);

/* Puts "prefix: " in front of the sentence in *err (no-op when NULL). Returns err's
 * status, or `status` when err is NULL, so that a caller can end with `return
 * pack_error_prefix(...)`. */
enum pack_status pack_error_prefix(struct pack_error *err, enum pack_status status,
                                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "param: " in front of the sentence, and says that this parameter is at fault;
 * returns as pack_error_prefix. NULL names none, and changes nothing. */
enum pack_status pack_error_param(struct pack_error *err, enum pack_status status,
                                  const char *param);

/* ------------------------------------------------------------------ long calls */

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

/* For those who make long calls out of others: call `progress` or `stop`, where there is
 * one. `watch` may be NULL in the three functions below: nobody watches then. */
void pack_watch_tell(const struct pack_watch *watch,
                     const struct pack_progress *progress);
bool pack_watch_stops(const struct pack_watch *watch);
/* PACK_OK, or PACK_ERR_INTERRUPTED with "interrupted" when the watch stops the call. */
enum pack_status pack_watch_check(const struct pack_watch *watch, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
