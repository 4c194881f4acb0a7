/* Reads and writes whole ranges of open files, in as many calls as that takes; opens files
 * that have no name. */
#ifndef LIBPACK_FD_H
#define LIBPACK_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* *got is less than `size` at the end of the file. False when a call failed, errno saying
 * why; signals are no failure. */
bool pack_fd_read_at(int fd, void *data, size_t size, uint64_t offset, size_t *got);

/* False likewise. */
bool pack_fd_write_at(int fd, const void *data, size_t size, uint64_t offset);

/* Time of change, to be compared only: beyond 2262 it wraps around. */
int64_t pack_fd_mtime_ns(const struct stat *st);

/* A new, empty file in the folder `dir` that has no name: nothing is left of it when its
 * last descriptor is closed, by kill -9 too. -1, errno saying why. */
int pack_fd_open_nameless(const char *dir);

#ifdef __cplusplus
}
#endif
#endif
