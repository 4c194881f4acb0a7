/* Weights of samples as text. */
#include "libpack/model/order_text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "libpack/base/numbers.h"

/* One number; false when there is none of 0 or more. */
static bool
parse_weight(const char *at, const char *end, const char **stop, double *weight)
{
    char *after;
    *weight = strtod(at, &after); /* the text ends in a NUL */
    *stop = after;
    return after != at && (after == end || isspace((unsigned char)*after)) &&
           *weight >= 0 && isfinite(*weight);
}

enum pack_status
pack_weights_parse(const char *text, size_t size, uint64_t n, double **weights,
                   struct pack_error *err)
{
    const char *at = text, *end = text + size, *line_start = text, *stop;
    uint64_t line = 1, found = 0;
    double weight, sum = 0;
    /* two bytes each: what a file claims is not allocated before it can be there */
    double *read = size / 2 + 1 >= n ? calloc(n ? n : 1, sizeof *read) : NULL;
    if (size / 2 + 1 >= n && !read)
        return pack_fail_memory(err, "weights");
    for (;; at = stop, found++) {
        for (; at < end && isspace((unsigned char)*at); at++)
            if (*at == '\n') {
                line++;
                line_start = at + 1;
            }
        if (at == end)
            break;
        bool good = parse_weight(at, end, &stop, &weight);
        if (!good || found == n) {
            free(read);
            return pack_fail(err, PACK_ERR_FORMAT, "line %llu, column %td: %s",
                             (unsigned long long)line, at - line_start + 1,
                             good ? "more weights than samples"
                                  : "not one weight of 0 or more");
        }
        if (read)
            read[found] = weight;
        sum += weight;
    }
    if (found != n) {
        free(read);
        return pack_fail(err, PACK_ERR_FORMAT, "it has %s for %s",
                         pack_counted(found, "weight", "weights").text,
                         pack_counted(n, "sample", "samples").text);
    }
    if (!(sum > 0 && isfinite(sum))) {
        free(read);
        return pack_fail(err, PACK_ERR_FORMAT, "its weights add up to %g", sum);
    }
    *weights = read;
    return PACK_OK;
}
