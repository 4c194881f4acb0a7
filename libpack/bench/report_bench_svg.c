/*
 * One picture of the run: how busy the consumer was over time, and below it a row for the
 * consumer and each worker in which work is drawn dark. Time is cut into N_COLUMNS
 * slices, so that the file stays small however long the run was.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "libpack/bench/report_bench.h"
#include "libpack/base/numbers.h"

enum { N_COLUMNS = 400, ROWS_MAX = 32, WIDTH = 800, LEFT = 90, TOP = 60, GRAPH = 120 };
enum { ROW = 16, GAP = 30 };

struct picture {
    struct pack_buf *text;
    enum pack_status status;
    struct pack_error *err;
    uint64_t span_ns;
    double busy[N_COLUMNS];           /* of the consumer, 0 to 1 */
    double work[ROWS_MAX][N_COLUMNS]; /* of each worker */
    unsigned n_rows;
};

#define PUT(picture, ...)                                                    \
    ((picture)->status =                                                     \
         (picture)->status == PACK_OK                                        \
             ? pack_buf_printf((picture)->text, (picture)->err, __VA_ARGS__) \
             : (picture)->status)

/* Adds the share of each slice that a span covers. */
static void
cover(const struct picture *p, double *columns, uint64_t begin_ns, uint64_t end_ns)
{
    double slice = (double)p->span_ns / N_COLUMNS;
    int first = (int)((double)begin_ns / slice);
    for (int i = first; i < N_COLUMNS && (double)i * slice < (double)end_ns; i++) {
        double low = (double)i * slice, high = low + slice;
        if (low < (double)begin_ns)
            low = (double)begin_ns;
        if (high > (double)end_ns)
            high = (double)end_ns;
        if (high > low)
            columns[i] += (high - low) / slice;
    }
}

static void
collect(struct picture *p, const struct pack_bench_result *r)
{
    for (size_t i = 0; i < r->events.n; i++)
        if (r->events.event[i].end_ns > p->span_ns)
            p->span_ns = r->events.event[i].end_ns;
    if (p->span_ns == 0)
        p->span_ns = 1;
    for (size_t i = 0; i < r->events.n; i++) {
        const struct pack_bench_event *e = &r->events.event[i];
        if (e->kind == PACK_EVENT_STEP)
            cover(p, p->busy, e->begin_ns, e->end_ns);
        else if (e->kind == PACK_EVENT_READ && e->lane < ROWS_MAX)
            cover(p, p->work[e->lane], e->begin_ns, e->end_ns);
    }
    p->n_rows = (unsigned)pack_bench_lanes(r);
    if (p->n_rows > ROWS_MAX)
        p->n_rows = ROWS_MAX;
}

static double
clamp(double v)
{
    return v < 0 ? 0 : v > 1 ? 1 : v;
}

static void
put_graph(struct picture *p)
{
    PUT(p, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#f4f4f4\"/>\n",
        LEFT, TOP, WIDTH, GRAPH);
    PUT(p, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">100 %%</text>\n", LEFT - 6,
        TOP + 10);
    PUT(p, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">busy</text>\n", LEFT - 6,
        TOP + GRAPH / 2);
    PUT(p, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">0</text>\n", LEFT - 6,
        TOP + GRAPH);
    PUT(p, "<path fill=\"#3b6ea5\" d=\"M%d %d", LEFT, TOP + GRAPH);
    for (int i = 0; i < N_COLUMNS; i++) {
        double y = TOP + GRAPH * (1 - clamp(p->busy[i]));
        PUT(p, "L%d %.1fL%d %.1f", LEFT + i * WIDTH / N_COLUMNS, y,
            LEFT + (i + 1) * WIDTH / N_COLUMNS, y);
    }
    PUT(p, "L%d %dZ\"/>\n", LEFT + WIDTH, TOP + GRAPH);
}

/* Neighbouring slices of one shade become one rectangle. */
static void
put_row(struct picture *p, const char *name, unsigned number, const double *columns,
        int y)
{
    PUT(p, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s %u</text>\n", LEFT - 6, y + 12,
        name, number);
    for (int i = 0; i < N_COLUMNS;) {
        int shade = (int)(clamp(columns[i]) * 4 + 0.5), first = i;
        while (i < N_COLUMNS && (int)(clamp(columns[i]) * 4 + 0.5) == shade)
            i++;
        if (shade > 0)
            PUT(p,
                "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#c06a2c\" "
                "fill-opacity=\"%.2f\"/>\n",
                LEFT + first * WIDTH / N_COLUMNS, y, (i - first) * WIDTH / N_COLUMNS,
                ROW - 3, shade / 4.0);
    }
}

static void
put_picture(struct picture *p, const struct pack_bench_result *r)
{
    int rows_top = TOP + GRAPH + GAP, height = rows_top + (int)p->n_rows * ROW + GAP;
    PUT(p,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
        "height=\"%d\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
        LEFT + WIDTH + 30, height, LEFT + WIDTH + 30, height);
    PUT(p,
        "<text x=\"%d\" y=\"24\" font-size=\"16\">%s: busy %.1f %%, limited by "
        "%s</text>\n",
        LEFT, r->setup.consumer, 100 * r->steps.busy_rate,
        pack_limit_name(r->verdict.limit));
    PUT(p,
        "<text x=\"%d\" y=\"44\">%.1f samples/s, %s of %" PRIu64 ", %s</text>\n",
        LEFT, pack_bench_rate(r), pack_counted(r->total.n_batches, "batch", "batches").text,
        r->setup.batch,
        r->setup.threads.n ? pack_counted(r->setup.threads.n, "thread", "threads").text
                           : pack_counted(r->setup.n_workers, "worker", "workers").text);
    put_graph(p);
    for (unsigned i = 0; i < p->n_rows; i++)
        put_row(p, r->setup.n_workers && !r->setup.threads.n ? "worker" : "reader", i,
                p->work[i],
                rows_top + (int)i * ROW);
    PUT(p, "<text x=\"%d\" y=\"%d\">0 s</text>\n", LEFT, height - 10);
    PUT(p, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.2f s</text>\n</svg>\n",
        LEFT + WIDTH, height - 10, (double)p->span_ns / 1e9);
}

enum pack_status
pack_report_bench_svg(const struct pack_bench_report *report, struct pack_buf *text,
                      struct pack_error *err)
{
    struct picture *p = calloc(1, sizeof *p);
    if (!p)
        return pack_fail_memory(err, "a picture");
    p->text = text;
    p->err = err;
    collect(p, report->result);
    put_picture(p, report->result);
    enum pack_status status = p->status;
    free(p);
    return status;
}
