/* Every rule by its code: what it is called, how bad it is, and why. */
#ifndef LIBPACK_RULES_H
#define LIBPACK_RULES_H

#include <stddef.h>

#include "libpack/findings/severity.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A code is three digits, "H5A102" in print: 100 on for layouts, 200 on for caches, 300 on
 * for reading, 400 on for types and filters, 500 on for the file, 600 on for contents. */
enum { PACK_RULE_THRESHOLDS_MAX = 2 };

/* A number that decides, in its unit: "bytes", "chunks", "factor", "rate" (0 to 1), ... */
struct pack_rule_threshold {
    const char *name; /* NULL: there is none, nor behind it */
    double value;
    const char *what; /* "of a chunk, at most": found where it is so */
};

struct pack_rule {
    int code;
    const char *id;
    enum pack_finding_severity severity;
    const char *title; /* a line, lower case */
    const char *why;   /* some sentences, with an example */
    struct pack_rule_threshold threshold[PACK_RULE_THRESHOLDS_MAX];
};

/* The i-th, by code; NULL behind the last. */
const struct pack_rule *pack_rule_at(size_t i);
const struct pack_rule *pack_rule_of(int code); /* NULL: there is none */
/* "H5A102", "h5a102", "102" or "chunk-overhang"; NULL: none is called so. */
const struct pack_rule *pack_rule_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
