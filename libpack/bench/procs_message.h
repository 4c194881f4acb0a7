/* What reader processes and their parent say to each other. Not for use outside libpack. */
#ifndef LIBPACK_PROCS_MESSAGE_H
#define LIBPACK_PROCS_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

enum procs_message_kind {
    PROCS_BEGIN = 1,
    PROCS_CREDIT, /* its item: how many slots are free again */
    PROCS_OPENED,
    PROCS_READY,
    PROCS_FAILED
};

struct procs_message {
    uint64_t kind, round, item;
};

/* Over a socket that keeps messages apart. False when the other side is gone. */
bool pack_procs_send(int fd, enum procs_message_kind kind, uint64_t round, uint64_t item);
bool pack_procs_receive(int fd, struct procs_message *message);
/* Likewise, but false too where the socket holds all the messages that it can. */
bool pack_procs_try_send(int fd, enum procs_message_kind kind, uint64_t round,
                         uint64_t item);

/* Likewise with a descriptor: that of the sender stays open; the receiver closes its own,
 * which is -1 where none came along. */
bool pack_procs_send_file(int fd, const struct procs_message *message, int file);
bool pack_procs_receive_file(int fd, struct procs_message *message, int *file);

#endif
