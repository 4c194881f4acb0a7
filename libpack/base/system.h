/* What the operating system knows: the page cache of a file, bytes that came from
 * storage, processor time. */
#ifndef LIBPACK_SYSTEM_H
#define LIBPACK_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Asks the system to forget a file's pages, after writing out those that are dirty.
 * Needs no special rights, but is no more than a request: see pack_system_resident. */
enum pack_status pack_system_drop(const char *path, struct pack_error *err);
enum pack_status pack_system_drop_fd(int fd, struct pack_error *err);

/* The same of pages that are on the disk: the others stay. */
void pack_system_forget_fd(int fd);

/* Tells the system that a file will be read soon, so that it may begin. */
void pack_system_want_fd(int fd);

/* Bytes of a file that are in the page cache, counted in pages with mincore(2);
 * PACK_ERR_UNSUPPORTED where the system does not tell: Linux answers "all of it" to a user
 * who neither owns the file nor may write to it. */
enum pack_status pack_system_resident(const char *path, uint64_t *bytes,
                                      struct pack_error *err);

/* Likewise, of an open file; false where it does not tell. */
bool pack_system_resident_fd(int fd, uint64_t *bytes);
/* Bytes of a file. */
enum pack_status pack_system_size(const char *path, uint64_t *bytes,
                                  struct pack_error *err);

/* Bytes that storage has delivered to this process so far (/proc/self/io); false where
 * the system does not tell. Pages that were in the cache do not count; readahead does. */
bool pack_system_storage_bytes(uint64_t *bytes);

/* What this process, all of its threads, has used so far; storage as above, in blocks of
 * 512 bytes. Cheap enough for each batch. */
struct pack_system_usage {
    uint64_t user_ns, system_ns, storage_bytes;
};
void pack_system_usage(struct pack_system_usage *usage);

/* Memory of the machine that programs and page cache can have (MemAvailable of
 * /proc/meminfo), no more than what its control groups leave it; false where the system
 * does not tell. */
bool pack_system_memory_bytes(uint64_t *bytes);

/* Memory that programs and page cache can have at most: the machine's, or what the control
 * groups of this process leave of it (memory.max, memory.limit_in_bytes). */
uint64_t pack_system_ram_bytes(void);

/* Of a control group and those above it, in their file system at root, the least limit; or
 * the least that is left of one, where file pages not used lately count as free.
 * UINT64_MAX: there is none. */
uint64_t pack_system_group_bytes(const char *root, const char *group, bool is_v1,
                                 bool left);

/* Time of all processors together since the system started; false where it does not
 * tell. */
struct pack_system_cpu {
    uint64_t user_ns, system_ns, iowait_ns, idle_ns;
};
bool pack_system_cpu(struct pack_system_cpu *cpu);

#ifdef __cplusplus
}
#endif
#endif
