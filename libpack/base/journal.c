/*
 *     file:    header record*
 *     header:  magic[16]  u32 order  u32 size  u64 checksum  identity[size] padding
 *     record:  u32 type   u32 size   u64 checksum            payload[size]  padding
 *
 * in the byte order of the machine (`order` tells), padded with zeros to 8 bytes. A
 * checksum covers the words before it, the payload, and the offset in the file, so that
 * neither a torn tail nor what an older journal left behind can pass for a record.
 * Reading stops at the first record that is not whole, and appending goes on there.
 */
#include "libpack/base/journal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/base/checksum.h"
#include "libpack/base/fd.h"

enum { BUFFER_BYTES = 1 << 16, ORDER_WORD = 0x01020304, ALIGN = 8 };

static const char magic[] = "h5pack journal 2";

struct header {
    char magic[sizeof magic - 1];
    uint32_t order, size;
    uint64_t checksum;
};

struct record {
    uint32_t type, size;
    uint64_t checksum;
};

struct pack_journal {
    int fd;
    const char *name;
    uint64_t end;            /* offset in the file where `buffer` goes */
    size_t used;             /* bytes in buffer */
    unsigned char *buffer;   /* BUFFER_BYTES */
    enum pack_status failed; /* the first failure, in `error` */
    struct pack_error error;
};

static size_t
padded(size_t size)
{
    return (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static uint64_t
record_checksum(const struct record *record, const void *payload, uint64_t offset)
{
    uint32_t words[2] = { record->type, record->size };
    return pack_checksum(payload, record->size,
                         pack_checksum(words, sizeof words, offset));
}

static uint64_t
header_checksum(const struct header *header, const void *identity)
{
    uint32_t words[2] = { header->order, header->size };
    return pack_checksum(identity, header->size, pack_checksum(words, sizeof words, 0));
}

bool
pack_journal_may_be(int fd)
{
    static const char zeros[sizeof magic];
    char head[sizeof magic - 2]; /* without the version */
    ssize_t n;
    do
        n = pread(fd, head, sizeof head, 0);
    while (n < 0 && errno == EINTR);
    return n <= 0 || memcmp(head, magic, (size_t)n) == 0 ||
           memcmp(head, zeros, (size_t)n) == 0;
}

/* Keeps the first failure, and reports it. */
static enum pack_status
fail_errno(struct pack_journal *journal, const char *what, int errnum,
           struct pack_error *err)
{
    journal->failed =
        pack_fail_errno(&journal->error, errnum, "cannot %s '%s'", what, journal->name);
    return pack_fail(err, journal->failed, "%s", journal->error.text);
}

enum pack_status
pack_journal_flush(struct pack_journal *journal, struct pack_error *err)
{
    if (journal->failed)
        return pack_fail(err, journal->failed, "%s", journal->error.text);
    if (!pack_fd_write_at(journal->fd, journal->buffer, journal->used, journal->end))
        return fail_errno(journal, "write", errno, err);
    journal->end += journal->used;
    journal->used = 0;
    return PACK_OK;
}

/* Copies into the buffer, which goes to the file whenever it is full. */
static enum pack_status
put_bytes(struct pack_journal *journal, const void *data, size_t size,
          struct pack_error *err)
{
    const unsigned char *at = data;
    while (size > 0) {
        size_t room = BUFFER_BYTES - journal->used, n = size < room ? size : room;
        memcpy(journal->buffer + journal->used, at, n);
        journal->used += n;
        at += n;
        size -= n;
        enum pack_status status =
            journal->used == BUFFER_BYTES ? pack_journal_flush(journal, err) : PACK_OK;
        if (status)
            return status;
    }
    return PACK_OK;
}

static enum pack_status
put_padded(struct pack_journal *journal, const void *head, size_t head_size,
           const void *payload, size_t size, struct pack_error *err)
{
    static const unsigned char zeros[ALIGN] = { 0 };
    enum pack_status status = put_bytes(journal, head, head_size, err);
    if (!status)
        status = put_bytes(journal, payload, size, err);
    if (!status)
        status = put_bytes(journal, zeros, padded(size) - size, err);
    return status;
}

enum pack_status
pack_journal_append(struct pack_journal *journal, uint32_t type, const void *payload,
                    size_t size, struct pack_error *err)
{
    if (journal->failed)
        return pack_fail(err, journal->failed, "%s", journal->error.text);
    if (size > PACK_JOURNAL_RECORD_MAX)
        return pack_fail(err, PACK_ERR_ARGUMENT, "a journal record of %zu bytes", size);
    struct record record = { .type = type, .size = (uint32_t)size };
    record.checksum = record_checksum(&record, payload, journal->end + journal->used);
    return put_padded(journal, &record, sizeof record, payload, size, err);
}

enum pack_status
pack_journal_sync(struct pack_journal *journal, struct pack_error *err)
{
    enum pack_status status = pack_journal_flush(journal, err);
    if (!status && fsync(journal->fd) != 0)
        status = fail_errno(journal, "sync", errno, err);
    return status;
}

static void
journal_free(struct pack_journal *journal)
{
    if (journal)
        free(journal->buffer);
    free(journal);
}

enum pack_status
pack_journal_close(struct pack_journal *journal, struct pack_error *err)
{
    enum pack_status status = journal ? pack_journal_flush(journal, err) : PACK_OK;
    journal_free(journal);
    return status;
}

static enum pack_status
journal_new(const struct pack_journal_params *params, struct pack_journal **out,
            struct pack_error *err)
{
    struct pack_journal *journal = calloc(1, sizeof *journal);
    if (journal)
        journal->buffer = malloc(BUFFER_BYTES);
    if (!journal || !journal->buffer) {
        journal_free(journal);
        return pack_fail_memory(err, "journal");
    }
    journal->fd = params->fd;
    journal->name = params->name;
    *out = journal;
    return PACK_OK;
}

enum pack_status
pack_journal_create(const struct pack_journal_params *params, struct pack_journal **out,
                    struct pack_error *err)
{
    size_t size = params->identity_size;
    if (size > PACK_JOURNAL_RECORD_MAX)
        return pack_fail(err, PACK_ERR_ARGUMENT, "a journal identity of %zu bytes", size);
    struct pack_journal *journal = NULL;
    enum pack_status status = journal_new(params, &journal, err);
    if (status)
        return status;
    struct header header = { .order = ORDER_WORD, .size = (uint32_t)size };
    memcpy(header.magic, magic, sizeof header.magic);
    header.checksum = header_checksum(&header, params->identity);
    if (ftruncate(params->fd, 0) != 0)
        status = fail_errno(journal, "truncate", errno, err);
    if (!status)
        status =
            put_padded(journal, &header, sizeof header, params->identity, size, err);
    if (!status)
        status = pack_journal_flush(journal, err);
    if (status)
        journal_free(journal);
    else
        *out = journal;
    return status;
}

/* ------------------------------------------------------------------ reading
 *
 * A window on the file: `size` bytes of it from `offset` on, of which `at` are consumed.
 * Both stay multiples of ALIGN until the last bytes of the file, so that payloads are
 * aligned as the allocation is.
 */
struct window {
    const struct pack_journal_params *params;
    unsigned char *data;
    size_t at, size, capacity;
    uint64_t offset, file_bytes;
};

static enum pack_status
window_init(struct window *window, const struct pack_journal_params *params,
            struct pack_error *err)
{
    struct stat st;
    *window = (struct window){ .params = params };
    if (fstat(params->fd, &st) != 0)
        return pack_fail_errno(err, errno, "cannot stat '%s'", params->name);
    window->file_bytes = (uint64_t)st.st_size;
    return PACK_OK;
}

/* Makes `want` bytes available at data + at, or what the file still has of them: what a
 * record claims to hold is never allocated on its word. */
static enum pack_status
window_need(struct window *window, uint64_t wanted, bool *enough, struct pack_error *err)
{
    uint64_t left = window->file_bytes - window->offset - window->at;
    size_t want = (size_t)(wanted < left ? wanted : left);
    if (window->size - window->at < want && window->at > 0) {
        memmove(window->data, window->data + window->at, window->size - window->at);
        window->offset += window->at;
        window->size -= window->at;
        window->at = 0;
    }
    if (window->capacity < want) {
        size_t capacity = want < BUFFER_BYTES ? BUFFER_BYTES : want;
        unsigned char *grown = realloc(window->data, capacity);
        if (!grown)
            return pack_fail_memory(err, "journal");
        window->data = grown;
        window->capacity = capacity;
    }
    while (window->size - window->at < want) {
        ssize_t got = pread(window->params->fd, window->data + window->size,
                            window->capacity - window->size,
                            (off_t)(window->offset + window->size));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return pack_fail_errno(err, errno, "cannot read '%s'", window->params->name);
        if (got == 0)
            break;
        window->size += (size_t)got;
    }
    *enough = window->size - window->at >= wanted;
    return PACK_OK;
}

/* *whole is false when the file ends before the header does. */
static enum pack_status
read_header(struct window *window, bool *whole, struct pack_error *err)
{
    const struct pack_journal_params *params = window->params;
    struct header header = { 0 };
    enum pack_status status = window_need(window, sizeof header, whole, err);
    if (status)
        return status;
    size_t have = window->size < sizeof header ? window->size : sizeof header;
    if (have > 0)
        memcpy(&header, window->data, have);
    size_t told = have < sizeof header.magic ? have : sizeof header.magic;
    static const char lost[sizeof header.magic]; /* by a disk that kept what follows */
    if (memcmp(header.magic, lost, sizeof lost) == 0)
        *whole = false;
    else if (memcmp(header.magic, magic, told) != 0 ||
        (*whole && (header.order != ORDER_WORD || header.size > PACK_JOURNAL_RECORD_MAX)))
        return pack_fail(err, PACK_ERR_FORMAT, "'%s' is not a journal of this program",
                         params->name);
    if (!*whole)
        return PACK_OK;
    window->at = sizeof header;
    status = window_need(window, padded(header.size), whole, err);
    if (status || !*whole)
        return status;
    const unsigned char *stored = window->data + window->at;
    if (header.checksum != header_checksum(&header, stored))
        *whole = false;
    else if (header.size != params->identity_size ||
             memcmp(stored, params->identity, header.size) != 0)
        return pack_fail(err, PACK_ERR_CHANGED,
                         "'%s' belongs to a run with other options or other sources",
                         params->name);
    window->at += padded(header.size);
    return PACK_OK;
}

/* Stops in front of the first record that is not whole or that fn does not take. */
static enum pack_status
read_records(struct window *window, pack_journal_record_fn fn, void *context,
             struct pack_error *err)
{
    for (;;) {
        struct record record;
        bool whole;
        enum pack_status status = window_need(window, sizeof record, &whole, err);
        if (status || !whole)
            return status;
        memcpy(&record, window->data + window->at, sizeof record);
        size_t total = sizeof record + padded(record.size);
        status = window_need(window, total, &whole, err);
        if (status || !whole)
            return status;
        const unsigned char *payload = window->data + window->at + sizeof record;
        if (record.checksum !=
            record_checksum(&record, payload, window->offset + window->at))
            return PACK_OK;
        status = fn(context, record.type, payload, record.size, err);
        if (status == PACK_ERR_MISMATCH)
            return PACK_OK;
        if (status)
            return status;
        window->at += total;
    }
}

enum pack_status
pack_journal_read(const struct pack_journal_params *params, pack_journal_record_fn record,
                  void *context, struct pack_error *err)
{
    struct window window;
    bool whole = false;
    enum pack_status status = window_init(&window, params, err);
    if (!status)
        status = read_header(&window, &whole, err);
    if (!status && whole)
        status = read_records(&window, record, context, err);
    free(window.data);
    return status;
}

enum pack_status
pack_journal_resume(const struct pack_journal_params *params,
                    pack_journal_record_fn record, void *context,
                    struct pack_journal **out, struct pack_error *err)
{
    struct window window;
    struct pack_journal *journal = NULL;
    bool whole = false;
    enum pack_status status = window_init(&window, params, err);
    if (!status)
        status = read_header(&window, &whole, err);
    if (status || !whole) {
        free(window.data);
        return status ? status : pack_journal_create(params, out, err);
    }
    status = read_records(&window, record, context, err);
    if (!status)
        status = journal_new(params, &journal, err);
    if (!status) {
        journal->end = window.offset + window.at;
        if (ftruncate(params->fd, (off_t)journal->end) != 0)
            status = fail_errno(journal, "truncate", errno, err);
    }
    free(window.data);
    if (status)
        journal_free(journal);
    else
        *out = journal;
    return status;
}
