/*
 * One mapping of anonymous memory, made before the workers are forked, holds all that is
 * large. Each worker has a lane of it, each part of a lane whole pages:
 *
 *     shared:  lane | lane | ...
 *     lane:    error, activity | slot | slot | ...
 *     slot:    note, data
 *
 * With `fresh`, slots hold notes only: each item is a file in memory that the worker makes
 * and fills, and whose descriptor travels to the parent.
 */
#include "libpack/bench/procs_memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libpack/base/size.h"

enum { PAGE = 4096 };

static bool
add_pages(uint64_t bytes, uint64_t *total)
{
    uint64_t rounded;
    return pack_size_add(bytes, PAGE - 1, &rounded) &&
           pack_size_add(*total, rounded / PAGE * PAGE, total);
}

/* Fills all sizes; false: more than can be. */
static bool
lay_out(const struct procs_memory_params *p, struct procs_memory *memory)
{
    uint64_t note = 0, slot = 0, activity = 0, lane = PAGE, slots, total;
    if (!add_pages(p->note_bytes, &note) ||
        !add_pages(p->fresh ? 0 : p->slot_bytes, &slot) ||
        !pack_size_add(slot, note, &slot) || !add_pages(p->activity_bytes, &activity) ||
        !pack_size_mul(slot, memory->n_slots, &slots) ||
        !pack_size_add(lane, activity, &lane) || !pack_size_add(lane, slots, &lane) ||
        !pack_size_mul(lane, p->n_workers ? p->n_workers : 1, &total) ||
        total > SIZE_MAX / 2)
        return false;
    memory->note_stride = (size_t)note;
    memory->slot_stride = (size_t)slot;
    memory->activity_stride = (size_t)activity;
    memory->lane_bytes = (size_t)lane;
    memory->shared_bytes = (size_t)total;
    return true;
}

enum pack_status
pack_procs_memory_open(const struct procs_memory_params *p,
                       struct procs_memory *memory, struct pack_error *err)
{
    *memory = (struct procs_memory){
        /* one for the note that the parent looks at while the worker goes on */
        .n_slots = p->prefetch + p->fresh,
        .item_bytes = p->slot_bytes ? p->slot_bytes : 1,
        .fresh = p->fresh,
    };
    if (!lay_out(p, memory))
        return pack_fail(err, PACK_ERR_LIMIT,
                         "batches of %zu bytes, %u for each of %u workers, do not fit "
                         "the address space",
                         p->slot_bytes, p->prefetch, p->n_workers);
    /* populated now, so that page faults are no part of what is measured */
    int sharing = p->n_workers ? MAP_SHARED : MAP_PRIVATE;
    void *shared = mmap(NULL, memory->shared_bytes, PROT_READ | PROT_WRITE,
                        sharing | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (shared == MAP_FAILED) {
        char text[PACK_BYTES_TEXT_MAX];
        return pack_fail_errno(err, errno, "cannot share %s with reader processes",
                               pack_bytes_format(memory->shared_bytes, text));
    }
    memory->shared = shared;
    return PACK_OK;
}

void
pack_procs_memory_close(struct procs_memory *memory)
{
    if (memory->shared)
        munmap(memory->shared, memory->shared_bytes);
    memory->shared = NULL;
}

/* ---------------------------------------------------------------- addresses */

static unsigned char *
lane_of(const struct procs_memory *memory, unsigned lane)
{
    return memory->shared + lane * memory->lane_bytes;
}

struct pack_error *
pack_procs_lane_error(const struct procs_memory *memory, unsigned lane)
{
    return (struct pack_error *)lane_of(memory, lane);
}

void *
pack_procs_lane_activity(const struct procs_memory *memory, unsigned lane)
{
    return lane_of(memory, lane) + PAGE;
}

void *
pack_procs_slot_note(const struct procs_memory *memory, unsigned lane, unsigned slot)
{
    return lane_of(memory, lane) + PAGE + memory->activity_stride +
           slot * memory->slot_stride;
}

void *
pack_procs_slot_data(const struct procs_memory *memory, unsigned lane, unsigned slot)
{
    return (unsigned char *)pack_procs_slot_note(memory, lane, slot) +
           memory->note_stride;
}

/* ------------------------------------------------------------ fresh memory */

int
pack_procs_fresh_file(const struct procs_memory *memory)
{
    int file = memfd_create("batch", MFD_CLOEXEC);
    if (file >= 0 && ftruncate(file, (off_t)memory->item_bytes) != 0) {
        int errnum = errno;
        close(file);
        errno = errnum;
        return -1;
    }
    return file;
}

void *
pack_procs_fresh_map(const struct procs_memory *memory, int file)
{
    int sharing = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void *data =
        mmap(NULL, memory->item_bytes, PROT_READ | PROT_WRITE, sharing, file, 0);
    return data == MAP_FAILED ? NULL : data;
}

void
pack_procs_fresh_unmap(const struct procs_memory *memory, const void *data)
{
    munmap((void *)data, memory->item_bytes);
}

enum pack_status
pack_procs_fresh_fail(const struct procs_memory *memory, struct pack_error *err)
{
    char text[PACK_BYTES_TEXT_MAX];
    return pack_fail_errno(err, errno, "cannot share a batch of %s",
                           pack_bytes_format(memory->item_bytes, text));
}
