/* One sentence per failure: whoever knows first writes it, callers pass it on. */
#include <libpack/status.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SENTENCE_MAX = 3 * 4096 }; /* two paths of any length, and words */

/* Of a sentence that is too long, the middle goes: its end says why it failed, and what is
 * long in it is a path. */
static void
keep(const char *sentence, struct pack_error *err)
{
    enum { HALF = (PACK_ERROR_TEXT_MAX - 4) / 2 };
    size_t n = strlen(sentence);
    if (n < sizeof err->text)
        memcpy(err->text, sentence, n + 1);
    else
        snprintf(err->text, sizeof err->text, "%.*s...%s", HALF, sentence,
                 sentence + n - HALF);
}

/* Adds ": " and what went wrong. */
static void
append(const char *why, struct pack_error *err)
{
    char sentence[2 * PACK_ERROR_TEXT_MAX + 2];
    snprintf(sentence, sizeof sentence, "%s: %.*s", err->text, PACK_ERROR_TEXT_MAX - 1,
             why);
    keep(sentence, err);
}

static enum pack_status
fill(struct pack_error *err, enum pack_status status, const char *format, va_list args)
{
    if (err) {
        char sentence[SENTENCE_MAX];
        int saved = errno;
        err->status = status;
        err->param = NULL;
        sentence[0] = '\0';
        if (format)
            vsnprintf(sentence, sizeof sentence, format, args);
        keep(sentence, err);
        errno = saved;
    }
    return status;
}

enum pack_status
pack_fail(struct pack_error *err, enum pack_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(err, status, format, args);
    va_end(args);
    return status;
}

enum pack_status
pack_fail_param(struct pack_error *err, enum pack_status status, const char *param,
                const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(err, status, format, args);
    va_end(args);
    if (err)
        err->param = param;
    return status;
}

static enum pack_status
status_of_errno(int errnum)
{
    switch (errnum) {
    case ENOMEM: return PACK_ERR_MEMORY;
    case ENOENT:
    case ENOTDIR: return PACK_ERR_NOT_FOUND;
    case EEXIST: return PACK_ERR_EXISTS;
    default: return PACK_ERR_IO;
    }
}

enum pack_status
pack_fail_errno(struct pack_error *err, int errnum, const char *format, ...)
{
    enum pack_status status = status_of_errno(errnum);
    if (!err)
        return status;
    char reason[128];
    /* strerror_r is the GNU variant under _GNU_SOURCE: it returns the text */
    const char *text = strerror_r(errnum, reason, sizeof reason);
    va_list args;
    va_start(args, format);
    fill(err, status, format, args);
    va_end(args);
    append(text, err);
    return status;
}

enum pack_status
pack_fail_memory(struct pack_error *err, const char *what)
{
    return pack_fail(err, PACK_ERR_MEMORY, "out of memory: %s", what ? what : "?");
}

enum pack_status
pack_error_prefix(struct pack_error *err, enum pack_status status, const char *format,
                  ...)
{
    if (!err)
        return status;
    char old[PACK_ERROR_TEXT_MAX], sentence[SENTENCE_MAX];
    memcpy(old, err->text, sizeof old);
    sentence[0] = '\0';
    va_list args;
    va_start(args, format);
    if (format)
        vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    keep(sentence, err);
    append(old, err);
    return err->status;
}

enum pack_status
pack_error_param(struct pack_error *err, enum pack_status status, const char *param)
{
    if (!param)
        return err ? err->status : status;
    status = pack_error_prefix(err, status, "%s", param);
    if (err)
        err->param = param;
    return status;
}

const char *
pack_status_name(enum pack_status status)
{
    static const char *const names[] = {
        "ok",    "argument", "memory",    "io",      "format",   "unsupported",
        "limit", "exists",   "not found", "changed", "mismatch", "interrupted",
    };
    size_t i = (size_t)status;
    return i < sizeof names / sizeof names[0] ? names[i] : "unknown";
}
