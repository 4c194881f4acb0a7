#include "libpack/base/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>

enum pack_status
pack_check_given(struct pack_error *err, ...)
{
    const char *param, *missing = NULL;
    va_list args;
    va_start(args, err);
    while (!missing && (param = va_arg(args, const char *)) != NULL)
        if (!va_arg(args, const void *))
            missing = param;
    va_end(args);
    return missing ? pack_fail_param(err, PACK_ERR_ARGUMENT, missing, "%s is NULL", missing)
                   : PACK_OK;
}

enum pack_status
pack_check_choice(const char *param, int value, int n, struct pack_error *err)
{
    if (value >= 0 && value < n)
        return PACK_OK;
    return pack_fail_param(err, PACK_ERR_ARGUMENT, param, "%s %d does not exist", param,
                           value);
}

enum pack_status
pack_check_number(const char *param, double value, double min, double max,
                  struct pack_error *err)
{
    if (value >= min && value <= max)
        return PACK_OK;
    return pack_fail_param(err, PACK_ERR_ARGUMENT, param, "%s of %g is not from %g to %g",
                           param, value, min, max);
}

enum pack_status
pack_check_count(const char *param, uint64_t value, uint64_t max, struct pack_error *err)
{
    if (value <= max)
        return PACK_OK;
    return pack_fail_param(err, PACK_ERR_ARGUMENT, param,
                           "%s of %" PRIu64 " is over the limit of %" PRIu64, param, value,
                           max);
}
