/* Which release this is. */
#include <libpack/libpack.h>

#include "config.h"

const char *
pack_version(void)
{
    return PACKAGE_VERSION;
}
