/* Orders that come from a file: recorded reads, and weights of samples. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/bench/bench_order.h"
#include "libpack/base/textfile.h"

enum { FILE_MAX = 1 << 30 };

/* Numbers between blanks, one after another. */
static enum pack_status
parse_weights(const char *text, size_t size, double **weights, size_t *n,
              struct pack_error *err)
{
    size_t capacity = 0, line = 1;
    for (const char *at = text;;) {
        for (; isspace((unsigned char)*at); at++)
            line += *at == '\n';
        if (at >= text + size)
            return *n ? PACK_OK : pack_fail(err, PACK_ERR_FORMAT, "no weights");
        char *end;
        double value = strtod(at, &end);
        if (end == at || (*end && !isspace((unsigned char)*end)))
            return pack_fail(err, PACK_ERR_FORMAT, "line %zu: '%.*s' is not a number",
                             line, (int)strcspn(at, " \t\r\n"), at);
        if (*n == capacity) {
            capacity = capacity ? 2 * capacity : 1024;
            double *more = realloc(*weights, capacity * sizeof *more);
            if (!more)
                return pack_fail_memory(err, "weights");
            *weights = more;
        }
        (*weights)[(*n)++] = value;
        at = end;
    }
}

enum pack_status
pack_bench_order_read(const struct pack_pattern *pattern, struct pack_bench_order *order,
                      struct pack_error *err)
{
    struct pack_buf text = { 0 };
    *order = (struct pack_bench_order){ 0 };
    enum pack_status status = pack_textfile_read(pattern->file, FILE_MAX, &text, err);
    const char *data = (const char *)text.data;
    if (status == PACK_OK) {
        status =
            pattern->kind == PACK_PATTERN_TRACE
                ? pack_trace_parse(data, text.size, &order->trace, err)
                : parse_weights(data, text.size, &order->weights, &order->n_weights, err);
        if (status != PACK_OK)
            pack_error_prefix(err, status, "'%s'", pattern->file);
    }
    pack_buf_done(&text);
    return status;
}

void
pack_bench_order_done(struct pack_bench_order *order)
{
    pack_trace_free(&order->trace);
    free(order->weights);
    *order = (struct pack_bench_order){ 0 };
}
