#include "libpack/bench/procs_message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

static bool
put_message(int fd, const struct procs_message *message, int flags)
{
    ssize_t put;
    do
        put = send(fd, message, sizeof *message, MSG_NOSIGNAL | flags);
    while (put < 0 && errno == EINTR);
    return put == (ssize_t)sizeof *message;
}

bool
pack_procs_send(int fd, enum procs_message_kind kind, uint64_t round, uint64_t item)
{
    const struct procs_message message = { kind, round, item };
    return put_message(fd, &message, 0);
}

bool
pack_procs_try_send(int fd, enum procs_message_kind kind, uint64_t round, uint64_t item)
{
    const struct procs_message message = { kind, round, item };
    return put_message(fd, &message, MSG_DONTWAIT);
}

/* False when the other side is gone. What it said before it went comes first, though a
 * reset may be reported before that. */
bool
pack_procs_receive(int fd, struct procs_message *message)
{
    ssize_t got;
    do
        got = recv(fd, message, sizeof *message, 0);
    while (got < 0 && (errno == EINTR || errno == ECONNRESET));
    return got == (ssize_t)sizeof *message;
}

/* Room for one descriptor beside a message. */
union passing {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
};

/* Likewise with a descriptor, which stays open here. */
bool
pack_procs_send_file(int fd, const struct procs_message *message, int file)
{
    union passing passing = { .bytes = { 0 } };
    struct iovec part = { .iov_base = (void *)message, .iov_len = sizeof *message };
    struct msghdr all = { .msg_iov = &part,
                          .msg_iovlen = 1,
                          .msg_control = passing.bytes,
                          .msg_controllen = sizeof passing.bytes };
    struct cmsghdr *header = CMSG_FIRSTHDR(&all);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof file);
    memcpy(CMSG_DATA(header), &file, sizeof file);
    ssize_t put;
    do
        put = sendmsg(fd, &all, MSG_NOSIGNAL);
    while (put < 0 && errno == EINTR);
    return put == (ssize_t)sizeof *message;
}

/* *file is -1 where none came along. */
bool
pack_procs_receive_file(int fd, struct procs_message *message, int *file)
{
    union passing passing;
    struct iovec part = { .iov_base = message, .iov_len = sizeof *message };
    struct msghdr all;
    ssize_t got;
    do {
        all = (struct msghdr){ .msg_iov = &part,
                               .msg_iovlen = 1,
                               .msg_control = passing.bytes,
                               .msg_controllen = sizeof passing.bytes };
        got = recvmsg(fd, &all, MSG_CMSG_CLOEXEC);
    } while (got < 0 && (errno == EINTR || errno == ECONNRESET));
    *file = -1;
    const struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&all) : NULL;
    if (header && header->cmsg_type == SCM_RIGHTS)
        memcpy(file, CMSG_DATA(header), sizeof *file);
    return got == (ssize_t)sizeof *message;
}
