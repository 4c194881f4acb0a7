/*
 * Lets the n-th call fail that the library makes to others, for every n: allocations, calls
 * of the system, calls of HDF5. Each time what is tried must succeed with the same product,
 * or fail with a sentence and leave nothing behind: no memory, no descriptor, no identifier
 * of HDF5, no file under the final name but a whole one.
 *
 * The calls are taken over by their names; who makes one is told from the return address:
 * only what is linked into the program counts, not what libraries do for themselves. Memory
 * is not watched with a sanitizer, which has its own allocator.
 */
#ifndef TESTS_STRIKES_H
#define TESTS_STRIKES_H

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/base/checksum.h"
#include "libpack/hdf5/h5_parts.h"
#include "tests/tap.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STRIKES_MEMORY 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define STRIKES_MEMORY 0
#endif
#endif
#ifndef STRIKES_MEMORY
#define STRIKES_MEMORY 1
#endif

enum strike_kind { STRIKE_MEMORY, STRIKE_SYSTEM, STRIKE_HDF5, STRIKE_KINDS };

extern char __executable_start, etext; /* of the linker */

/* What HDF5 has allocated itself it may lose when a call fails that it relies on; asked by
 * the leak sanitizer, where there is one. */
const char *__lsan_default_suppressions(void);
const char *
__lsan_default_suppressions(void)
{
    return "leak:libhdf5\n";
}

/* Shared with child processes, whose calls count, too. */
static struct strikes {
    atomic_bool armed;
    enum strike_kind kind;
    atomic_long n, at; /* calls so far; the one that fails, 0: none */
    const char *_Atomic hit; /* the call that failed */
} *strikes;

__attribute__((constructor, unused)) static void
strikes_begin(void)
{
    void *shared = mmap(NULL, sizeof *strikes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    strikes = shared == MAP_FAILED ? NULL : shared;
}

/* Counts a call of our own code; whether it is to fail. */
__attribute__((unused)) static bool
strikes_now(enum strike_kind kind, const char *name, const void *from)
{
    bool ours = (const char *)from >= &__executable_start && (const char *)from < &etext;
    if (!ours || !strikes || !atomic_load(&strikes->armed) ||
        strikes->kind != kind ||
        atomic_fetch_add(&strikes->n, 1) + 1 != atomic_load(&strikes->at))
        return false;
    atomic_store(&strikes->hit, name);
    return true;
}

#define STRIKES(kind, name) strikes_now(kind, name, __builtin_return_address(0))

/* ------------------------------------------------------------------ memory */

/* What our own code holds: addresses, and how many. */
enum { HELD_SLOTS = 1 << 16 };
static struct {
    pthread_mutex_t lock;
    void *slot[HELD_SLOTS];
    long n;
} held = { .lock = PTHREAD_MUTEX_INITIALIZER };

#if STRIKES_MEMORY
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void __libc_free(void *old);

static size_t
held_slot(const void *address)
{
    return ((uintptr_t)address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 48;
}

static void *
hold(void *address, const void *from)
{
    bool ours = (const char *)from >= &__executable_start && (const char *)from < &etext;
    if (!address || !ours || !strikes || !atomic_load(&strikes->armed))
        return address;
    pthread_mutex_lock(&held.lock);
    size_t i = held_slot(address);
    while (held.slot[i] && held.slot[i] != (void *)&held)
        i = (i + 1) % HELD_SLOTS;
    held.slot[i] = address;
    held.n++;
    pthread_mutex_unlock(&held.lock);
    return address;
}

static void
let_go(const void *address)
{
    if (!address || held.n == 0)
        return;
    pthread_mutex_lock(&held.lock);
    for (size_t i = held_slot(address); held.slot[i]; i = (i + 1) % HELD_SLOTS)
        if (held.slot[i] == address) {
            held.slot[i] = &held; /* was in use */
            held.n--;
            break;
        }
    pthread_mutex_unlock(&held.lock);
}

static void *
fail_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

void *
malloc(size_t size)
{
    return STRIKES(STRIKE_MEMORY, "malloc")
               ? fail_memory()
               : hold(__libc_malloc(size), __builtin_return_address(0));
}

void *
calloc(size_t n, size_t size)
{
    return STRIKES(STRIKE_MEMORY, "calloc")
               ? fail_memory()
               : hold(__libc_calloc(n, size), __builtin_return_address(0));
}

void *
realloc(void *old, size_t size)
{
    if (STRIKES(STRIKE_MEMORY, "realloc"))
        return fail_memory();
    uintptr_t was = (uintptr_t)old;
    void *now = __libc_realloc(old, size);
    if (now)
        let_go((void *)was);
    return hold(now, __builtin_return_address(0));
}

void
free(void *old)
{
    let_go(old);
    __libc_free(old);
}

static char *
copy_string(const char *text, size_t n)
{
    char *copy = __libc_malloc(n + 1);
    if (copy) {
        memcpy(copy, text, n);
        copy[n] = '\0';
    }
    return copy;
}

char *
strdup(const char *text)
{
    return STRIKES(STRIKE_MEMORY, "strdup")
               ? fail_memory()
               : hold(copy_string(text, strlen(text)), __builtin_return_address(0));
}

char *
strndup(const char *text, size_t size)
{
    return STRIKES(STRIKE_MEMORY, "strndup")
               ? fail_memory()
               : hold(copy_string(text, strnlen(text, size)), __builtin_return_address(0));
}
#endif

/* ------------------------------------------------------------------ others */

/* The function that is behind the one here. */
#define NEXT(type, name, parameters)                                                      \
    static type(*next) parameters;                                                        \
    if (!next)                                                                            \
        *(void **)&next = dlsym(RTLD_NEXT, #name)

/* A call of the system that fails as a disk does. */
#define STRIKE_SYSTEM_CALL(type, name, parameters, arguments)                             \
    type name parameters                                                                  \
    {                                                                                     \
        NEXT(type, name, parameters);                                                     \
        if (STRIKES(STRIKE_SYSTEM, #name)) {                                              \
            errno = EIO;                                                                  \
            return (type)-1;                                                              \
        }                                                                                 \
        return next arguments;                                                            \
    }

STRIKE_SYSTEM_CALL(int, fstat, (int fd, struct stat *st), (fd, st))
STRIKE_SYSTEM_CALL(int, stat, (const char *path, struct stat *st), (path, st))
STRIKE_SYSTEM_CALL(int, lstat, (const char *path, struct stat *st), (path, st))
STRIKE_SYSTEM_CALL(ssize_t, pread, (int fd, void *data, size_t size, off_t at),
                   (fd, data, size, at))
STRIKE_SYSTEM_CALL(ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at),
                   (fd, data, size, at))
STRIKE_SYSTEM_CALL(ssize_t, read, (int fd, void *data, size_t size), (fd, data, size))
STRIKE_SYSTEM_CALL(ssize_t, write, (int fd, const void *data, size_t size),
                   (fd, data, size))
STRIKE_SYSTEM_CALL(int, ftruncate, (int fd, off_t size), (fd, size))
STRIKE_SYSTEM_CALL(int, fsync, (int fd), (fd))
STRIKE_SYSTEM_CALL(int, fdatasync, (int fd), (fd))
STRIKE_SYSTEM_CALL(int, rename, (const char *from, const char *to), (from, to))
STRIKE_SYSTEM_CALL(int, renameat2,
                   (int a, const char *from, int b, const char *to, unsigned int flags),
                   (a, from, b, to, flags))
STRIKE_SYSTEM_CALL(int, unlink, (const char *path), (path))

int
open(const char *path, int how, ...)
{
    NEXT(int, open, (const char *, int, ...));
    va_list args;
    va_start(args, how);
    unsigned mode = how & (O_CREAT | O_TMPFILE) ? va_arg(args, unsigned) : 0;
    va_end(args);
    if (STRIKES(STRIKE_SYSTEM, "open")) {
        errno = EIO;
        return -1;
    }
    return next(path, how, mode);
}

FILE *
fopen(const char *path, const char *how)
{
    NEXT(FILE *, fopen, (const char *, const char *));
    if (STRIKES(STRIKE_SYSTEM, "fopen")) {
        errno = EIO;
        return NULL;
    }
    return next(path, how);
}

DIR *
opendir(const char *path)
{
    NEXT(DIR *, opendir, (const char *));
    if (STRIKES(STRIKE_SYSTEM, "opendir")) {
        errno = EIO;
        return NULL;
    }
    return next(path);
}

/* Identifiers that our own code has; HDF5 does not tell. */
static atomic_long n_identifiers;

__attribute__((unused)) static bool
strikes_ours(const void *from)
{
    return (const char *)from >= &__executable_start && (const char *)from < &etext &&
           strikes && atomic_load(&strikes->armed);
}

#define OURS strikes_ours(__builtin_return_address(0))

/* Of HDF5; one that closes has closed. */
#define STRIKE_HDF5_CALL(type, name, parameters, arguments)                               \
    type name parameters                                                                  \
    {                                                                                     \
        NEXT(type, name, parameters);                                                     \
        return STRIKES(STRIKE_HDF5, #name) ? -1 : next arguments;                         \
    }
#define STRIKE_HDF5_OPEN(name, parameters, arguments)                                     \
    hid_t name parameters                                                                 \
    {                                                                                     \
        NEXT(hid_t, name, parameters);                                                    \
        hid_t id = STRIKES(STRIKE_HDF5, #name) ? -1 : next arguments;                     \
        if (id >= 0 && OURS)                                                              \
            atomic_fetch_add(&n_identifiers, 1);                                          \
        return id;                                                                        \
    }
#define CLOSE(name, strikes_here)                                                         \
    herr_t name(hid_t id)                                                                 \
    {                                                                                     \
        NEXT(herr_t, name, (hid_t));                                                      \
        bool ours = OURS, failed = strikes_here;                                          \
        herr_t result = next(id);                                                         \
        if (result >= 0 && ours)                                                          \
            atomic_fetch_sub(&n_identifiers, 1);                                          \
        return failed ? -1 : result;                                                      \
    }
#define STRIKE_HDF5_CLOSE(name) CLOSE(name, STRIKES(STRIKE_HDF5, #name))

STRIKE_HDF5_CLOSE(H5Dclose)
STRIKE_HDF5_CLOSE(H5Fclose)
STRIKE_HDF5_CLOSE(H5Gclose)
CLOSE(H5Aclose, false)
CLOSE(H5Oclose, false)
CLOSE(H5Pclose, false)
CLOSE(H5Sclose, false)
CLOSE(H5Tclose, false)
STRIKE_HDF5_OPEN(H5Pget_virtual_vspace, (hid_t a, size_t b), (a, b))
STRIKE_HDF5_OPEN(H5Pget_virtual_srcspace, (hid_t a, size_t b), (a, b))
STRIKE_HDF5_OPEN(H5Tget_native_type, (hid_t a, H5T_direction_t b), (a, b))
STRIKE_HDF5_CALL(herr_t, H5Dread, (hid_t a, hid_t b, hid_t c, hid_t d, hid_t e, void *f),
                 (a, b, c, d, e, f))
STRIKE_HDF5_CALL(herr_t, H5Dwrite,
                 (hid_t a, hid_t b, hid_t c, hid_t d, hid_t e, const void *f),
                 (a, b, c, d, e, f))
STRIKE_HDF5_OPEN(H5Dopen2, (hid_t a, const char *b, hid_t c), (a, b, c))
STRIKE_HDF5_OPEN(H5Dcreate2,
                 (hid_t a, const char *b, hid_t c, hid_t d, hid_t e, hid_t f, hid_t g),
                 (a, b, c, d, e, f, g))
STRIKE_HDF5_CALL(herr_t, H5Dset_extent, (hid_t a, const hsize_t b[]), (a, b))
STRIKE_HDF5_OPEN(H5Dget_space, (hid_t a), (a))
STRIKE_HDF5_OPEN(H5Dget_type, (hid_t a), (a))
STRIKE_HDF5_OPEN(H5Dget_create_plist, (hid_t a), (a))
STRIKE_HDF5_OPEN(H5Dget_access_plist, (hid_t a), (a))
STRIKE_HDF5_OPEN(H5Fopen, (const char *a, unsigned b, hid_t c), (a, b, c))
STRIKE_HDF5_OPEN(H5Fcreate, (const char *a, unsigned b, hid_t c, hid_t d),
                 (a, b, c, d))
STRIKE_HDF5_OPEN(H5Fget_create_plist, (hid_t a), (a))
STRIKE_HDF5_OPEN(H5Screate_simple, (int a, const hsize_t b[], const hsize_t c[]),
                 (a, b, c))
STRIKE_HDF5_OPEN(H5Screate, (H5S_class_t a), (a))
STRIKE_HDF5_CALL(int, H5Sget_simple_extent_dims, (hid_t a, hsize_t b[], hsize_t c[]),
                 (a, b, c))
STRIKE_HDF5_CALL(herr_t, H5Sselect_hyperslab,
                 (hid_t a, H5S_seloper_t b, const hsize_t c[], const hsize_t d[],
                  const hsize_t e[], const hsize_t f[]),
                 (a, b, c, d, e, f))
STRIKE_HDF5_OPEN(H5Tcopy, (hid_t a), (a))
STRIKE_HDF5_OPEN(H5Pcreate, (hid_t a), (a))
STRIKE_HDF5_CALL(herr_t, H5Pset_chunk, (hid_t a, int b, const hsize_t c[]), (a, b, c))
STRIKE_HDF5_CALL(int, H5Pget_chunk, (hid_t a, int b, hsize_t c[]), (a, b, c))
STRIKE_HDF5_CALL(int, H5Pget_nfilters, (hid_t a), (a))
STRIKE_HDF5_OPEN(H5Oopen, (hid_t a, const char *b, hid_t c), (a, b, c))
STRIKE_HDF5_OPEN(H5Gcreate2, (hid_t a, const char *b, hid_t c, hid_t d, hid_t e),
                 (a, b, c, d, e))
STRIKE_HDF5_OPEN(H5Acreate2,
                 (hid_t a, const char *b, hid_t c, hid_t d, hid_t e, hid_t f),
                 (a, b, c, d, e, f))
STRIKE_HDF5_OPEN(H5Aopen, (hid_t a, const char *b, hid_t c), (a, b, c))
STRIKE_HDF5_OPEN(H5Aopen_by_name,
                 (hid_t a, const char *b, const char *c, hid_t d, hid_t e),
                 (a, b, c, d, e))
STRIKE_HDF5_OPEN(H5Aget_type, (hid_t a), (a))
STRIKE_HDF5_OPEN(H5Aget_space, (hid_t a), (a))
STRIKE_HDF5_CALL(herr_t, H5Aread, (hid_t a, hid_t b, void *c), (a, b, c))
STRIKE_HDF5_CALL(herr_t, H5Awrite, (hid_t a, hid_t b, const void *c), (a, b, c))

/* ----------------------------------------------------------------- trying */

/* What is tried. run() says with strike_say() what it got. */
struct strike_case {
    const char *what;
    void (*prepare)(void); /* unless NULL: the state that it starts from */
    enum pack_status (*run)(struct pack_error *err);
    const char *file;   /* unless NULL: what it makes */
    bool is_part;       /* it may stay when it is not whole */
    bool is_vague;      /* that memory ran out may be told as something else */
    unsigned forgiving; /* bit i: calls of this kind may fail and change the product only */
    int stride;         /* every so manyth call is tried; 0: all */
    const char *(*after)(enum pack_status status); /* unless NULL: what is wrong then */
};

static char strike_product[1 << 14];

__attribute__((format(printf, 1, 2), unused)) static void
strike_say(const char *format, ...)
{
    size_t used = strlen(strike_product);
    va_list args;
    va_start(args, format);
    vsnprintf(strike_product + used, sizeof strike_product - used, format, args);
    va_end(args);
}

/* A checksum of what is too long to be said. */
__attribute__((unused)) static void
strike_sum(const char *what, const void *data, size_t size)
{
    strike_say("%s %016llx\n", what, (unsigned long long)pack_checksum(data, size, 0));
}

/* What is held of each kind, by the process. */
struct strike_holds {
    long memory, descriptors, identifiers;
};

static struct strike_holds
strike_count(void)
{
    struct strike_holds holds = { .memory = held.n,
                                  .identifiers = atomic_load(&n_identifiers) };
    for (int fd = 0; fd < 256; fd++)
        holds.descriptors += fcntl(fd, F_GETFD) >= 0;
    return holds;
}

/* The checksum of a file; 0: there is none. */
static uint64_t
strike_file(const char *path)
{
    uint64_t sum = 1;
    unsigned char block[4096];
    size_t n;
    FILE *f = path ? fopen(path, "rb") : NULL;
    if (!f)
        return 0;
    while ((n = fread(block, 1, sizeof block, f)) > 0)
        sum = pack_checksum(block, n, sum);
    fclose(f);
    return sum;
}

/* Runs once, the n-th call of a kind failing; whether there was one. */
static bool
strike_run(const struct strike_case *c, enum strike_kind kind, long n,
           struct pack_error *err, enum pack_status *status)
{
    if (c->prepare)
        c->prepare();
    strike_product[0] = '\0';
    strikes->kind = kind;
    atomic_store(&strikes->n, 0);
    atomic_store(&strikes->at, n);
    atomic_store(&strikes->hit, NULL);
    if (err)
        *err = (struct pack_error){ 0 };
    atomic_store(&strikes->armed, true);
    *status = c->run(err);
    atomic_store(&strikes->armed, false);
    return atomic_load(&strikes->hit) != NULL;
}

/* What is wrong with how it ended; NULL: nothing. */
static const char *
strike_judge(const struct strike_case *c, enum strike_kind kind, enum pack_status status,
             const struct pack_error *err, const char *product, uint64_t file)
{
    uint64_t made = strike_file(c->file);
    if (status == PACK_OK && !(c->forgiving & 1u << kind) &&
        strcmp(strike_product, product) != 0)
        return "succeeds with something else";
    if (c->file && made != file && (status == PACK_OK || (made != 0 && !c->is_part)))
        return "leaves another file";
    if (status != PACK_OK && err && err->text[0] == '\0')
        return "says nothing";
    if (status != PACK_OK && err && kind == STRIKE_MEMORY && !c->is_vague &&
        !strstr(err->text, "memory"))
        return "does not say that memory ran out";
    if (status == PACK_ERR_MEMORY && kind == STRIKE_SYSTEM)
        return "says that memory ran out";
    if (status != PACK_OK && err && kind == STRIKE_SYSTEM && !strchr(err->text, '\''))
        return "names no file";
    return NULL;
}

/* Whether memory that fails here fails. */
static bool
strikes_reach_memory(void)
{
    strikes->kind = STRIKE_MEMORY;
    atomic_store(&strikes->n, 0);
    atomic_store(&strikes->at, 1);
    atomic_store(&strikes->armed, true);
    void *(*volatile allocate)(size_t) = malloc;
    void *memory = allocate(1);
    atomic_store(&strikes->armed, false);
    bool reached = !memory;
    free(memory);
    return STRIKES_MEMORY && reached;
}

/* Every call of a kind fails in turn, with somewhere to put the error and without. */
static void
strike_all(const struct strike_case *c, enum strike_kind kind)
{
    static const char *const kinds[] = { "memory", "the system", "HDF5" };
    static char product[sizeof strike_product];
    enum pack_status status;
    struct pack_error err = { 0 };
    long n = 0;
    int wrong = 0, fatal = 0;
    if (kind == STRIKE_MEMORY && !strikes_reach_memory()) {
        skip("%s: a sanitizer or valgrind has its own allocator", c->what);
        return;
    }
    int stride = c->stride ? c->stride : 1;
    strike_run(c, kind, 0, &err, &status);
    strike_run(c, kind, 0, &err, &status); /* what is made once is there */
    strcpy(product, strike_product);
    uint64_t file = strike_file(c->file);
    struct strike_holds before = strike_count();
    bool good = status == PACK_OK;
    if (!good)
        note("%s, undisturbed: %s", c->what, err.text);
    for (n = 0; good; n++) {
        struct pack_error *to = n % 2 ? NULL : &err;
        err.text[0] = '\0';
        if (!strike_run(c, kind, n / 2 * stride + 1, to, &status))
            break;
        struct strike_holds now = strike_count();
        const char *why = strike_judge(c, kind, status, to, product, file);
        if (!why && memcmp(&now, &before, sizeof now) != 0)
            why = now.memory != before.memory             ? "keeps memory"
                  : now.descriptors != before.descriptors ? "keeps a descriptor open"
                                                          : "keeps an identifier of HDF5";
        if (!why && c->after)
            why = c->after(status);
        before = strike_count();
        fatal += status != PACK_OK;
        if (why && wrong++ < 6)
            note("%s, call %ld (%s) of %s fails: %s; status %d, %s\n%s", c->what,
                 n / 2 * stride + 1,
                 strikes->hit, kinds[kind], why, status, err.text,
                 status == PACK_OK ? strike_product : "");
    }
    ok(good && wrong == 0, "%s: any call of %s fails, %ld of them, %d times fatal", c->what,
       kinds[kind], n / 2, fatal);
}

#endif
