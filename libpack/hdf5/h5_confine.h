/* Takes from this process what reading a file never needs. */
#ifndef LIBPACK_H5_CONFINE_H
#define LIBPACK_H5_CONFINE_H

#include <stdbool.h>

/*
 * From now on this process and its threads cannot start programs or processes, talk to others
 * by sockets or signals, look into them, open files for writing, or change names, owners and
 * modes of files: such calls of the system fail with EPERM. What is open stays so, threads and
 * plugins can be started. False: this system or machine has no such filter, and nothing has
 * changed.
 */
bool pack_h5_confine(void);

#endif
