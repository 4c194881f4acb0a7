/* A profile's terms, curves and text. */
#ifndef LIBPACK_PROFILE_TERMS_H
#define LIBPACK_PROFILE_TERMS_H

#include <stddef.h>

#include "libpack/base/buf.h"
#include <libpack/profile.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Appends the profile as one JSON object of schema "profile/2". */
enum pack_status pack_profile_print(const struct pack_profile *profile,
                                    struct pack_buf *buf, struct pack_error *err);

/* PACK_ERR_ARGUMENT for a profile that was neither read nor named: NULL, or a term that is
 * not positive. */
enum pack_status pack_profile_check(const struct pack_profile *profile,
                                    struct pack_error *err);

/* Gives *profile the processor's terms of `from`: all but storage, name and n_cpus. */
void pack_profile_take_processor(struct pack_profile *profile,
                                 const struct pack_profile *from);

/* The value of a curve at `bytes` > 0. */
double pack_profile_at(const struct pack_profile_curve *curve, double bytes);

/* One term of the profile with its unit and meaning, for reports and manuals; NULL behind
 * the last. Curves are left out. */
struct pack_profile_term {
    const char *key, *unit, *meaning;
    size_t offset; /* of the double in struct pack_profile */
};
const struct pack_profile_term *pack_profile_term(size_t i);

#ifdef __cplusplus
}
#endif
#endif
