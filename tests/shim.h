/* What the shims that stand in front of the C library's calls share. */
#ifndef TESTS_SHIM_H
#define TESTS_SHIM_H

#include <fcntl.h>
#include <stdarg.h>
#include <sys/types.h>

/* Declares `mode`, the argument that open() has behind `last` when it makes a file. */
#define OPEN_MODE(flags, last)                                 \
    mode_t mode = 0;                                           \
    if ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE) { \
        va_list args;                                          \
        va_start(args, last);                                  \
        mode = va_arg(args, mode_t);                           \
        va_end(args);                                          \
    }

#endif
