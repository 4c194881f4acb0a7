/* The memory that reader processes and their parent share: part of procs.c. */
#ifndef LIBPACK_PROCS_MEMORY_H
#define LIBPACK_PROCS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include <libpack/status.h>

/* Of struct pack_procs_params, which says what they mean; no defaults here. */
struct procs_memory_params {
    unsigned n_workers, prefetch;
    bool fresh;
    size_t slot_bytes, note_bytes, activity_bytes;
};

struct procs_memory {
    unsigned char *shared; /* NULL: not open */
    size_t shared_bytes, lane_bytes;
    size_t activity_stride, note_stride, slot_stride; /* on whole pages */
    size_t item_bytes;
    unsigned n_slots; /* of each lane */
    bool fresh;       /* slots hold notes only: each item has memory of its own */
};

/* A lane for each worker; one when there are none. PACK_ERR_LIMIT, PACK_ERR_MEMORY. */
enum pack_status pack_procs_memory_open(const struct procs_memory_params *params,
                                        struct procs_memory *memory,
                                        struct pack_error *err);
void pack_procs_memory_close(struct procs_memory *memory);

/* What a lane holds: the error that its worker ended with, which is longer than a message
 * should be (its parameter is a literal, which lies in a forked process where it lies in
 * this one); its activity; and of each slot note and data. */
struct pack_error *pack_procs_lane_error(const struct procs_memory *memory,
                                         unsigned lane);
void *pack_procs_lane_activity(const struct procs_memory *memory, unsigned lane);
void *pack_procs_slot_note(const struct procs_memory *memory, unsigned lane,
                           unsigned slot);
void *pack_procs_slot_data(const struct procs_memory *memory, unsigned lane,
                           unsigned slot);

/*
 * Memory of one item's own: a file without a name whose descriptor can be sent, and its
 * bytes, mapped (of file -1: those of this process alone). NULL and -1 where there is
 * none, and errno is set.
 */
int pack_procs_fresh_file(const struct procs_memory *memory);
void *pack_procs_fresh_map(const struct procs_memory *memory, int file);
void pack_procs_fresh_unmap(const struct procs_memory *memory, const void *data);
enum pack_status pack_procs_fresh_fail(const struct procs_memory *memory,
                                       struct pack_error *err);

#endif
