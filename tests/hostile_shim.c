/*
 * Preloaded into a program under test, makes HDF5 behave as it does on hostile files when
 * it is asked for a dataset's size:
 *
 *     HOSTILE=crash   a wild pointer
 *     HOSTILE=abort   the C library finds a damaged heap, and says so on standard error
 *     HOSTILE=hang    never comes back
 *     HOSTILE=exit    ends the program
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t H5Dget_storage_size(int64_t dataset);

uint64_t
H5Dget_storage_size(int64_t dataset)
{
    const char *how = getenv("HOSTILE");
    static const char last_words[] = "malloc(): corrupted top size\n";
    (void)dataset;
    if (how && strcmp(how, "crash") == 0)
        raise(SIGSEGV);
    if (how && strcmp(how, "abort") == 0) {
        if (write(STDERR_FILENO, last_words, sizeof last_words - 1) < 0)
            _exit(9);
        abort();
    }
    while (how && strcmp(how, "hang") == 0)
        continue;
    _exit(3);
}
