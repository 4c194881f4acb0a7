/* From which number on a rule finds something: the rule's own, or another that was asked for. */
#ifndef LIBPACK_THRESHOLDS_H
#define LIBPACK_THRESHOLDS_H

#include <stddef.h>

#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PACK_THRESHOLDS_MAX = 64 };

/* Zeroed: each rule has its own. */
struct pack_thresholds {
    size_t n;
    struct {
        int code;
        const char *name; /* of the table of rules */
        double value;
    } set[PACK_THRESHOLDS_MAX];
};

/* What holds for a rule, which has a threshold of this name. `thresholds` may be NULL. */
double pack_threshold(const struct pack_thresholds *thresholds, int code,
                      const char *name);

/*
 * Adds what "RULE=VALUE" or "RULE.NAME=VALUE" says, RULE as pack_rule_find() takes it; without
 * a name it is the rule's first. VALUE is a number that is not negative, with K, M, G (or KiB,
 * ...) behind it where it counts bytes. The last of several for one holds. PACK_ERR_ARGUMENT;
 * PACK_ERR_LIMIT for more than PACK_THRESHOLDS_MAX.
 */
enum pack_status pack_thresholds_parse(const char *text,
                                       struct pack_thresholds *thresholds,
                                       struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
