/* Status codes, and the error record that carries one sentence from where it went wrong
 * to whoever speaks. */
#ifndef LIBPACK_STATUS_H
#define LIBPACK_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

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
 * sentence in lower case without a full stop; it is written only on failure, and cut at
 * the array's end. `param` names the parameter (a member of the parameter struct) that
 * would have to be another for the call to succeed: a program knows which of its options
 * sets it, and adds that to the sentence.
 */
struct pack_error {
    enum pack_status status;
    const char *param; /* a literal; NULL: none in particular */
    char text[PACK_ERROR_TEXT_MAX];
};

/* Fills *err (when not NULL) with a printf-formatted sentence and returns `status`. Keeps
 * errno. */
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
 * returns as pack_error_prefix. */
enum pack_status pack_error_param(struct pack_error *err, enum pack_status status,
                                  const char *param);

/* A lower-case word for a status ("argument", "io"); never NULL. */
const char *pack_status_name(enum pack_status status);

#ifdef __cplusplus
}
#endif
#endif
