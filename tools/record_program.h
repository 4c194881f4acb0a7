/* The program that is to be recorded, and the library that does it, before either runs. */
#ifndef TOOLS_RECORD_PROGRAM_H
#define TOOLS_RECORD_PROGRAM_H

#include <libpack/status.h>

/* Where the recorder lies: beside this program as it was built or installed. For free().
 * PACK_ERR_NOT_FOUND; PACK_ERR_UNSUPPORTED for a place that LD_PRELOAD cannot name. */
enum pack_status record_library(char **path, struct pack_error *err);

/* Whether the system would preload a library into a program: PACK_ERR_NOT_FOUND where there
 * is none of that name, PACK_ERR_UNSUPPORTED for one without a dynamic linker or with the
 * rights of another user. What is no program of this system is for execvp() to say. */
enum pack_status record_program_check(const char *name, struct pack_error *err);

#endif
