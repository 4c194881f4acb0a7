/* Brings a file to the disk while it is being written, so that the sync at its end finds
 * little to do and little of it waits in memory. */
#ifndef LIBPACK_WRITEBACK_H
#define LIBPACK_WRITEBACK_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PACK_WRITEBACK_BEGIN = 4 << 20, /* bytes that the system is asked for at a time */
    PACK_WRITEBACK_HOLD = 32 << 20  /* and that may be on their way before we wait */
};

/* Zeroed by the caller, one per file. */
struct pack_writeback {
    uint64_t begun, done; /* the system was asked for what is below, and had it below */
    bool refused;         /* by the system or the file system: it is left to them */
};

/*
 * The file has been written up to `end`, more or less in order. Nothing is promised by
 * this: only a sync makes data durable. False when the disk did not take what was written
 * before, errno saying why; a later sync need not say it again. Where there is no such
 * call nothing happens.
 */
bool pack_writeback(struct pack_writeback *writeback, int fd, uint64_t end);

#ifdef __cplusplus
}
#endif
#endif
