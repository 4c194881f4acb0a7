/*
 * Rows of cells, each a stretch of the file, from its beginning on: a hue for each of the
 * largest datasets, light where its first samples are and dark where its last, pale where
 * little of the stretch is data.
 */
#include "libpack/audit/report_map.h"

#include <stdio.h>
#include <string.h>

#include "libpack/base/markup.h"
#include "libpack/base/name.h"
#include "libpack/base/numbers.h"
#include "libpack/base/page.h"
#include "libpack/base/size.h"

enum { COLUMNS = 64, CELL = 11, LEFT = 84, TOP = 56, LINE_H = 22, SHADES = 12, PALES = 4 };

static const int hues[PACK_FILE_MAP_SETS] = { 212, 28, 140, 285, 350, 180, 52, 320 };

/* Which of the largest datasets, or PACK_FILE_MAP_SETS: another one. */
static int
rank_of(const struct pack_file_map *map, uint32_t set)
{
    int i = 0;
    while (i < PACK_FILE_MAP_SETS && map->largest[i].number != set)
        i++;
    return i;
}

/* What a cell looks like; cells that look alike are drawn as one. */
struct look {
    int rank, shade, pale;
};

static struct look
look_of(const struct pack_file_map *map, uint32_t i)
{
    const struct pack_file_map_cell *c = &map->cell[i];
    if (c->set == 0)
        return (struct look){ -1, 0, 0 };
    return (struct look){ rank_of(map, c->set), c->order * SHADES / (UINT16_MAX + 1),
                          c->data * PALES / (UINT16_MAX + 1) };
}

static void
put_colour(struct page *page, struct look look)
{
    int light = 78 - 48 * look.shade / (SHADES - 1);
    if (look.rank < 0)
        LINE(page, "class='no'");
    else if (look.rank == PACK_FILE_MAP_SETS)
        LINE(page, "fill='#888'");
    else
        LINE(page, "fill='hsl(%d,65%%,%d%%)'", hues[look.rank], light);
    if (look.rank >= 0 && look.pale < PALES - 1)
        LINE(page, " fill-opacity='%.2f'", 0.3 + 0.7 * look.pale / (PALES - 1));
}

static void
put_row(struct page *page, const struct pack_file_map *map, uint32_t row)
{
    uint32_t first = row * COLUMNS, end = first + COLUMNS;
    char offset[PACK_BYTES_TEXT_MAX];
    int y = TOP + (int)row * CELL;
    if (end > map->n_cells)
        end = map->n_cells;
    if (row % 8 == 0)
        LINE(page, "<text x='%d' y='%d' text-anchor='end'>%s</text>\n", LEFT - 8, y + CELL - 1,
             pack_bytes_format(first * map->cell_bytes, offset));
    for (uint32_t i = first, next; i < end; i = next) {
        struct look look = look_of(map, i), other;
        for (next = i + 1; next < end; next++) {
            other = look_of(map, next);
            if (memcmp(&look, &other, sizeof look) != 0)
                break;
        }
        LINE(page, "<rect x='%u' y='%d' width='%u' height='%d' ", LEFT + (i - first) * CELL, y,
             (next - i) * CELL, CELL - 1);
        put_colour(page, look);
        LINE(page, "/>\n");
    }
}

/* A dataset's first to last samples, or what one colour stands for. */
static void
put_key(struct page *page, int y, struct look look, bool is_range)
{
    for (int i = 0; i < 3; i++) {
        look.shade = is_range ? i * (SHADES - 1) / 2 : look.shade;
        LINE(page, "<rect x='%d' y='%d' width='%d' height='%d' ", LEFT + i * 16, y, 16, CELL);
        put_colour(page, look);
        LINE(page, "/>\n");
    }
    LINE(page, "<text x='%d' y='%d'>", LEFT + 60, y + 10);
}

static void
put_legend(struct page *page, const struct pack_file_map *map, int y)
{
    char name[PACK_NAME_TEXT_MAX], size[PACK_BYTES_TEXT_MAX];
    uint32_t n = 0;
    for (; n < PACK_FILE_MAP_SETS && map->largest[n].number; n++, y += LINE_H) {
        put_key(page, y, (struct look){ (int)n, 0, PALES - 1 }, true);
        LINE(page, "/");
        if (page->status == PACK_OK)
            page->status = pack_markup_text(pack_name_text(map->largest[n].path, name),
                                            page->text, page->err);
        LINE(page, ", %s%s</text>\n", pack_bytes_format(map->largest[n].bytes, size),
             n == 0 ? "; light: first samples, dark: last" : "");
    }
    if (map->n_sets > n) {
        put_key(page, y, (struct look){ PACK_FILE_MAP_SETS, 0, PALES - 1 }, false);
        LINE(page, "%s</text>\n",
             pack_counted(map->n_sets - n, "other dataset", "other datasets").text);
        y += LINE_H;
    }
    put_key(page, y, (struct look){ -1, 0, 0 }, false);
    LINE(page, "%s: metadata, or nothing</text>\n",
         pack_bytes_format(map->file_bytes > map->data_bytes ? map->file_bytes - map->data_bytes : 0,
                           size));
}

enum pack_status
pack_report_map_svg(const struct pack_file_map *map, const char *name, struct pack_buf *buf,
                    struct pack_error *err)
{
    struct page page = { buf, PACK_OK, err };
    uint32_t rows = (map->n_cells + COLUMNS - 1) / COLUMNS;
    int width = LEFT + COLUMNS * CELL + 20, below = TOP + (int)rows * CELL + 20;
    int height = below + (PACK_FILE_MAP_SETS + 2) * LINE_H;
    char text[PACK_NAME_TEXT_MAX], size[PACK_BYTES_TEXT_MAX], cell[PACK_BYTES_TEXT_MAX];
    LINE(&page,
         "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' width='%d' height='%d' "
         "font-family='sans-serif' font-size='13' class='map'>\n"
         "<style>.map{background:#fff}.map text{fill:#222}.map .no{fill:#e4e4e4}"
         "@media(prefers-color-scheme:dark){.map{background:#161616}.map text{fill:#ddd}"
         ".map .no{fill:#333}}</style>\n<text x='%d' y='22' font-size='16'>",
         width, height, width, height, LEFT);
    if (page.status == PACK_OK)
        page.status = pack_markup_text(pack_name_text(name, text), buf, err);
    LINE(&page, "</text>\n<text x='%d' y='42'>%s; a cell is %s of the file, from left to right</text>\n",
         LEFT, pack_bytes_format(map->file_bytes, size), pack_bytes_format(map->cell_bytes, cell));
    for (uint32_t i = 0; i < rows; i++)
        put_row(&page, map, i);
    put_legend(&page, map, below);
    LINE(&page, "</svg>\n");
    return page.status;
}
