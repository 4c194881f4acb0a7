/* The heat map: a cell per chunk size and cache size, darker for more hits, or for more
 * samples/s where hardly anything is ever hit. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/advise/report_advise.h"

enum { CELL_W = 64, CELL_H = 40, LEFT = 110, TOP = 60, BELOW = 110 };

struct drawing {
    struct pack_buf *buf;
    struct pack_error *err;
    enum pack_status status;
};

__attribute__((format(printf, 2, 3))) static void
draw(struct drawing *d, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (d->status == PACK_OK)
        d->status = pack_buf_append(d->buf, text, strlen(text), d->err);
}

/* How dark a cell is, 0 to 1, and what it says. */
static void
draw_cell(struct drawing *d, int x, int y, double share, const char *text)
{
    /* white to a deep blue */
    int red = (int)(255 - 225 * share), green = (int)(255 - 175 * share),
        blue = (int)(255 - 100 * share);
    draw(d,
         "<rect x='%d' y='%d' width='%d' height='%d' fill='rgb(%d,%d,%d)' "
         "stroke='#ccc'/>\n<text x='%d' y='%d' text-anchor='middle' fill='%s'>%s</text>\n",
         x, y, CELL_W, CELL_H, red, green, blue, x + CELL_W / 2, y + CELL_H / 2 + 5,
         share > 0.5 ? "#fff" : "#222", text);
}

static void
draw_row(struct drawing *d, const struct pack_advise_map *map, int i, int y)
{
    bool has_hits = pack_advise_map_has_hits(map);
    double most = 1;
    char text[32];
    for (int k = 0; k < map->n_caches; k++)
        for (int j = 0; j < map->n_chunks; j++)
            most = fmax(most, map->rate[k][j]);
    for (int j = 0; j < map->n_chunks; j++) {
        if (has_hits)
            snprintf(text, sizeof text, "%.0f %%", 100 * map->hit_rate[i][j]);
        else
            snprintf(text, sizeof text, "%.3gK", map->rate[i][j] / 1e3);
        draw_cell(d, LEFT + j * CELL_W, y,
                  has_hits ? map->hit_rate[i][j] : map->rate[i][j] / most, text);
    }
}

/* Where a value lies on an axis whose cells stand for values[i], by logarithm. */
static double
place(const uint64_t *values, int n, double value)
{
    if (value <= (double)values[0])
        return 0;
    for (int i = 1; i < n; i++)
        if (value <= (double)values[i])
            return i - 1 +
                   log(value / (double)values[i - 1]) /
                       log((double)values[i] / (double)values[i - 1]);
    return n - 1;
}

static void
draw_mark(struct drawing *d, const struct pack_advise_map *map,
          const struct pack_advise_outcome *o, const char *name, const char *colour)
{
    if (o->config.chunk.rank == 0)
        return;
    double x =
        place(map->samples_per_chunk, map->n_chunks, (double)o->config.chunk.extent[0]);
    double y = place(map->cache_bytes, map->n_caches,
                     fmax(1, (double)o->config.cache.size_bytes));
    double cx = LEFT + (x + 0.5) * CELL_W, cy = TOP + (map->n_caches - 0.5 - y) * CELL_H;
    draw(d,
         "<circle cx='%.1f' cy='%.1f' r='9' fill='none' stroke='%s' stroke-width='3'>"
         "<title>%s: %.4g samples/s</title></circle>\n",
         cx, cy, colour, name, o->rate);
}

static void
draw_legend(struct drawing *d, const struct pack_advise_result *result, int y)
{
    draw(d,
         "<circle cx='%d' cy='%d' r='7' fill='none' stroke='#d62728' "
         "stroke-width='3'/><text x='%d' y='%d'>recommended</text>\n",
         LEFT + 8, y, LEFT + 22, y + 5);
    if (result->has_now)
        draw(d,
             "<circle cx='%d' cy='%d' r='7' fill='none' stroke='#ff9900' "
             "stroke-width='3'/><text x='%d' y='%d'>today</text>\n",
             LEFT + 148, y, LEFT + 162, y + 5);
}

enum pack_status
pack_report_advise_svg(const struct pack_report_advise *r, struct pack_buf *buf,
                       struct pack_error *err)
{
    const struct pack_advise_map *map = &r->result->map;
    struct drawing d = { .buf = buf, .err = err };
    char size[PACK_BYTES_TEXT_MAX];
    int width = LEFT + map->n_chunks * CELL_W + 30;
    int height = TOP + map->n_caches * CELL_H + BELOW;
    width = width < 480 ? 480 : width;
    draw(&d,
         "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' width='%d' "
         "height='%d' "
         "font-family='sans-serif' font-size='13'>\n<rect width='100%%' height='100%%' "
         "fill='#fff'/>\n<text x='%d' y='24' font-size='16'>%s</text>\n"
         "<text x='%d' y='44' fill='#555'>pattern %s, HDF5 %s</text>\n",
         width, height, width, height, LEFT,
         pack_advise_map_has_hits(map) ? "Chunk cache hit rate"
                                       : "Samples/s of later epochs",
         LEFT, pack_pattern_name(r->params->reading.pattern.kind), r->hdf5_version);
    for (int i = 0; i < map->n_caches; i++) {
        int y = TOP + (map->n_caches - 1 - i) * CELL_H;
        draw(&d, "<text x='%d' y='%d' text-anchor='end'>%s</text>\n", LEFT - 8,
             y + CELL_H / 2 + 5, pack_bytes_format(map->cache_bytes[i], size));
        draw_row(&d, map, i, y);
    }
    int below = TOP + map->n_caches * CELL_H;
    for (int j = 0; j < map->n_chunks; j++)
        draw(&d, "<text x='%d' y='%d' text-anchor='middle'>%llu</text>\n",
             LEFT + j * CELL_W + CELL_W / 2, below + 20,
             (unsigned long long)map->samples_per_chunk[j]);
    draw(&d, "<text x='%d' y='%d'>samples per chunk; rows: cache of one worker</text>\n",
         LEFT, below + 45);
    draw_mark(&d, map, &r->result->rows[0], "recommended", "#d62728");
    if (r->result->has_now)
        draw_mark(&d, map, &r->result->now, "today", "#ff9900");
    draw_legend(&d, r->result, below + 75);
    draw(&d, "</svg>\n");
    return d.status;
}
