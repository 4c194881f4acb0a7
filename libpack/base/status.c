/* One sentence per failure: whoever knows first writes it, callers pass it on. */
#include <libpack/status.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static enum pack_status
fill(struct pack_error *err, enum pack_status status, const char *format, va_list args)
{
    if (err) {
        int saved = errno;
        err->status = status;
        err->param = NULL;
        err->text[0] = '\0';
        if (format)
            vsnprintf(err->text, sizeof err->text, format, args);
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
    va_list args;
    va_start(args, format);
    fill(err, status, format, args);
    va_end(args);
    char reason[128];
    /* strerror_r is the GNU variant under _GNU_SOURCE: it returns the text */
    const char *text = strerror_r(errnum, reason, sizeof reason);
    size_t used = strlen(err->text);
    snprintf(err->text + used, sizeof err->text - used, ": %s", text);
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
    char old[PACK_ERROR_TEXT_MAX];
    memcpy(old, err->text, sizeof old);
    va_list args;
    va_start(args, format);
    err->text[0] = '\0';
    if (format)
        vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    size_t used = strlen(err->text);
    snprintf(err->text + used, sizeof err->text - used, ": %.*s", (int)sizeof err->text,
             old);
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
