/* Whose data is in which stretch of a file: by hand, and of files that HDF5 wrote. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libpack/base/markup.h"
#include "libpack/hdf5/file_map.h"
#include "tests/made_h5.h"
#include "tests/tap.h"

static const char path[] = "test_file_map.tmp.h5";
enum { CELLS = PACK_FILE_MAP_CELLS, FULL = UINT16_MAX };

static struct pack_file_map map;

static struct pack_file_mapper *
open_mapper(uint64_t file_bytes)
{
    struct pack_file_mapper *mapper = NULL;
    pack_file_mapper_open(file_bytes, &mapper, NULL);
    return mapper;
}

static bool
is_cell(uint32_t i, uint32_t set, double data, double order)
{
    const struct pack_file_map_cell *c = &map.cell[i];
    bool good = c->set == set && abs((int)c->data - (int)(data * FULL)) < 3 &&
                abs((int)c->order - (int)(order * FULL)) < 3;
    if (!good)
        note("cell %u: set %u, data %.3f, order %.3f", i, c->set, c->data / (double)FULL,
             c->order / (double)FULL);
    return good;
}

/* Ten bytes a cell, but for the last, of three. */
static void
test_cells(void)
{
    struct pack_file_mapper *mapper = open_mapper(10 * CELLS - 7);
    pack_file_mapper_add(mapper, 5, 20, 0.25);  /* half of 0, all of 1, half of 2 */
    pack_file_mapper_add(mapper, 25, 3, 1);     /* a bit of 2 */
    pack_file_mapper_add(mapper, 10 * CELLS - 12, 100, 0.5); /* beyond the end */
    pack_file_mapper_add(mapper, 10 * CELLS, 10, 1);
    pack_file_mapper_add(mapper, UINT64_MAX - 1, UINT64_MAX, 1);
    pack_file_mapper_add(mapper, 100, 0, 1);
    pack_file_mapper_end_set(mapper, "first");
    pack_file_mapper_add(mapper, 0, 4, 0);
    pack_file_mapper_add(mapper, 28, 2, 0.5);
    pack_file_mapper_add(mapper, 40, 30, 0);
    pack_file_mapper_end_set(mapper, "second");
    pack_file_mapper_end_set(mapper, "empty");
    pack_file_mapper_map(mapper, &map);
    pack_file_mapper_close(mapper);
    is_number(map.n_cells, CELLS, "as many cells as there are");
    is_number((long long)map.cell_bytes, 10, "of ten bytes");
    is_number(map.n_sets, 2, "two datasets have data");
    is_number((long long)map.data_bytes, 20 + 3 + 5 + 4 + 2 + 30, "so much of it");
    ok(is_cell(0, 1, 0.9, 0.25) && is_cell(1, 1, 1, 0.25), "the one with more of it has a cell");
    ok(is_cell(2, 1, 1, (5 * 0.25 + 3) / 8), "places of what is in one are averaged");
    ok(is_cell(3, 0, 0, 0) && is_cell(10, 0, 0, 0), "nobody's are nobody's");
    ok(is_cell(4, 2, 1, 0) && is_cell(6, 2, 1, 0) && is_cell(7, 0, 0, 0), "the other one's");
    ok(is_cell(CELLS - 2, 1, 0.2, 0.5) && is_cell(CELLS - 1, 1, 1, 0.5),
       "the last is shorter, and what reaches beyond it is cut");
    ok(map.largest[0].number == 2 && map.largest[0].bytes == 36 &&
           strcmp(map.largest[0].path, "second") == 0 && map.largest[1].number == 1 &&
           map.largest[1].bytes == 28 && map.largest[2].number == 0,
       "the largest comes first");
}

static void
test_small(void)
{
    struct pack_file_mapper *mapper = open_mapper(100);
    pack_file_mapper_add(mapper, 99, 1, 1);
    pack_file_mapper_end_set(mapper, "x");
    pack_file_mapper_map(mapper, &map);
    pack_file_mapper_close(mapper);
    ok(map.n_cells == 100 && map.cell_bytes == 1 && is_cell(99, 1, 1, 1),
       "a small file has a cell a byte");
    mapper = open_mapper(0);
    pack_file_mapper_add(mapper, 0, 1, 1);
    pack_file_mapper_end_set(mapper, "x");
    pack_file_mapper_map(mapper, &map);
    pack_file_mapper_close(mapper);
    ok(map.n_cells == 0 && map.n_sets == 0, "an empty one none");
    mapper = open_mapper(INT64_MAX); /* as large as a file can be */
    pack_file_mapper_add(mapper, INT64_MAX - 2, UINT64_MAX, 1);
    pack_file_mapper_map(mapper, &map);
    pack_file_mapper_close(mapper);
    ok(map.n_cells == CELLS && map.cell_bytes == (UINT64_C(1) << 63) / CELLS,
       "the largest that there can be, too");
}

/* Of a dozen, those with most. */
static void
test_largest(void)
{
    struct pack_file_mapper *mapper = open_mapper(1 << 20);
    char name[16];
    bool good = true;
    for (unsigned i = 0; i < 12; i++) {
        unsigned bytes = 100 + i * 5 % 12;
        snprintf(name, sizeof name, "%u", bytes);
        pack_file_mapper_add(mapper, 1000 * i, bytes, 0);
        pack_file_mapper_end_set(mapper, name);
    }
    pack_file_mapper_map(mapper, &map);
    pack_file_mapper_close(mapper);
    for (unsigned i = 0; i < PACK_FILE_MAP_SETS; i++)
        good = good && map.largest[i].bytes == 111 - i && map.largest[i].number > 0 &&
               (unsigned)atoi(map.largest[i].path) == 111 - i;
    ok(good && map.n_sets == 12, "eight of twelve are named, by size");
}

/* Against what HDF5 says of the addresses. */
static void
test_file(const struct made *made)
{
    struct pack_error err = { .text = "" };
    struct pack_facts facts;
    uint64_t inside = 0;
    made_write(made, path);
    enum pack_status status = pack_file_map_make(path, NULL, &map, &err);
    pack_dataset_facts(path, "x", &facts, NULL);
    for (uint32_t i = 0; i < map.n_cells; i++)
        inside += map.cell[i].set == 1;
    double cells = (double)facts.stored_bytes / (double)map.cell_bytes;
    ok(status == PACK_OK && map.n_sets == 1 && map.data_bytes == facts.stored_bytes &&
           strcmp(map.largest[0].path, "x") == 0 && inside + 1 >= (uint64_t)cells &&
           inside <= (uint64_t)cells + 2 * facts.n_chunks_total + 2,
       "%s: %llu of %u cells are of its %llu bytes %s", made->name,
       (unsigned long long)inside, map.n_cells, (unsigned long long)facts.stored_bytes,
       err.text);
    if (facts.layout == PACK_LAYOUT_CONTIGUOUS) {
        uint32_t first = (uint32_t)(facts.contiguous_address / map.cell_bytes);
        uint64_t end = facts.contiguous_address + facts.stored_bytes;
        uint32_t last = (uint32_t)((end - 1) / map.cell_bytes);
        ok(map.cell[first].set == 1 && (first == 0 || map.cell[first - 1].set == 0) &&
               map.cell[last].set == 1 && map.cell[first].order < FULL / 100 &&
               map.cell[last].order > FULL - FULL / 100,
           "from its first sample to its last");
    }
}

static void
test_markup(void)
{
    struct pack_buf text = { 0 };
    pack_markup_text("a<b>&\"c\"'d'\n\x01\xff \xc3\xbc", &text, NULL);
    pack_buf_append(&text, "", 1, NULL);
    is_text((const char *)text.data,
            "a&lt;b&gt;&amp;&quot;c&quot;&#39;d&#39;\n\\x01\\xff \xc3\xbc",
            "text is text in a page");
    pack_buf_done(&text);
}

int
main(void)
{
    static const struct made files[] = {
        { .name = "in one piece", .type = "i16", .rank = 2, .dims = { 960, 50 } },
        { .name = "in chunks", .type = "i16", .rank = 2, .dims = { 960, 50 }, .chunk = { 80, 50 } },
        { .name = "filtered", .type = "i16", .rank = 2, .dims = { 960, 50 },
          .chunk = { 80, 50 }, .pipeline = "gzip:4" },
        { .name = "half of it", .type = "i16", .rank = 2, .dims = { 960, 50 },
          .chunk = { 80, 50 }, .sparse = true },
    };
    pack_h5_quiet();
    test_cells();
    test_small();
    test_largest();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        test_file(&files[i]);
    struct pack_error err = { .text = "" };
    ok(pack_file_map_make("no.h5", NULL, &map, &err) == PACK_ERR_NOT_FOUND, "%s", err.text);
    FILE *file = fopen(path, "w");
    fputs("this is no HDF5 file", file);
    fclose(file);
    ok(pack_file_map_make(path, NULL, &map, &err) == PACK_ERR_FORMAT, "%s", err.text);
    test_markup();
    unlink(path);
    return done();
}
