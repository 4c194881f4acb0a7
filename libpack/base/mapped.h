/* Reading of mapped files, whose pages may be gone. */
#ifndef LIBPACK_MAPPED_H
#define LIBPACK_MAPPED_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * From the first pack_mapped_begin() to the last pack_mapped_end(), in any thread, SIGBUS is
 * caught, which a process gets for a page of a mapping that a shorter file no longer has, or
 * that storage cannot give. What is no read of pack_mapped_read() goes to whoever caught it
 * before. Who begins to catch it later without handing it on has it for himself until the next
 * pack_mapped_begin(), and what is no read from then on; while he is asked, what other threads
 * read is caught as before. Where nobody of them mends it the process ends, as it would without us.
 */
void pack_mapped_begin(void);
void pack_mapped_end(void);

/*
 * work(argument), which reads the mapping of `bytes` at `begin`. False where a page was gone:
 * it ended there, and has to leave things so that this does no harm: no lock held, no memory
 * that only it knows. Between begin and end, in threads that do not block SIGBUS; not from
 * within itself.
 */
bool pack_mapped_read(const void *begin, size_t bytes, void (*work)(void *), void *argument);

#ifdef __cplusplus
}
#endif
#endif
