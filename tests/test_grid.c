/* Chunk geometry against a table of cases, and walks against counting element by
 * element. */
#include "libpack/model/grid.h"
#include "libpack/base/rng.h"
#include "tests/tap.h"

static struct pack_grid
make(const char *extent, const char *chunk, uint64_t elem_size)
{
    struct pack_shape e, c;
    struct pack_grid grid;
    struct pack_error err = { 0 };
    if (pack_shape_parse(extent, &e, &err) || pack_shape_parse(chunk, &c, &err) ||
        pack_grid_init(&grid, &e, &c, elem_size, &err)) {
        note("%s", err.text);
        exit(2);
    }
    return grid;
}

static void
test_init(void)
{
    struct pack_grid g = make("202599x3x218x178", "100x3x217x178", 1);
    is_number((long long)g.n_chunks_total, 2026 * 2, "one row too few makes two chunks");
    is_number((long long)g.chunk_bytes, 100 * 3 * 217 * 178, "edge chunks count whole");
    is_number((long long)g.number_step[0], 2, "chunk numbers are row-major");
    g = make("5", "8", 2);
    is_number((long long)g.n_chunks_total, 1, "a chunk may be larger than the extent");
}

static void
test_refusals(void)
{
    static const struct {
        struct pack_shape extent, chunk;
        uint64_t elem_size;
        enum pack_status status;
        const char *sentence;
    } cases[] = {
        { { 1, { 4 } },
          { 2, { 4, 4 } },
          1,
          PACK_ERR_ARGUMENT,
          "chunk has 2 dimensions, dataset has 1" },
        { { 0, { 0 } },
          { 0, { 0 } },
          1,
          PACK_ERR_ARGUMENT,
          "dataset has 0 dimensions, not 1 to 32" },
        { { 33, { 0 } },
          { 33, { 0 } },
          1,
          PACK_ERR_ARGUMENT,
          "dataset has 33 dimensions, not 1 to 32" },
        { { 2, { 4, 4 } },
          { 2, { 4, 0 } },
          1,
          PACK_ERR_ARGUMENT,
          "chunk has no extent along axis 1" },
        { { 1, { 4 } }, { 1, { 4 } }, 0, PACK_ERR_ARGUMENT, "elements have no bytes" },
        { { 2, { UINT64_C(1) << 40, UINT64_C(1) << 30 } },
          { 2, { 1, 1 } },
          1,
          PACK_ERR_LIMIT,
          "dataset has more bytes than 64 bits can count" },
        { { 1, { UINT64_MAX } },
          { 1, { 2 } },
          1,
          PACK_ERR_LIMIT,
          "dataset has more bytes than 64 bits can count" },
        { { 1, { 1 } },
          { 1, { UINT64_C(1) << 62 } },
          8,
          PACK_ERR_LIMIT,
          "dataset has more bytes than 64 bits can count" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pack_grid grid;
        struct pack_error err = { 0 };
        enum pack_status status = pack_grid_init(&grid, &cases[i].extent, &cases[i].chunk,
                                                 cases[i].elem_size, &err);
        if (status != cases[i].status)
            note("status %s", pack_status_name(status));
        ok(status == cases[i].status && strcmp(err.text, cases[i].sentence) == 0,
           "refused: %s", cases[i].sentence);
    }
    struct pack_grid g = make("10x10", "4x4", 1);
    struct pack_error err = { 0 };
    struct pack_box box = { 2, { 0, 8 }, { 10, 3 } };
    pack_grid_check_box(&g, &box, &err);
    is_text(err.text, "box of 3 from 8 on is outside axis 1 of 10",
            "a box beyond the extent is refused");
    box.count[1] = UINT64_MAX;
    ok(pack_grid_check_box(&g, &box, NULL) == PACK_ERR_ARGUMENT,
       "a count that wraps around is refused");
}

static void
test_empty(void)
{
    struct pack_shape extent = { 2, { 0, 7 } }, chunk = { 2, { 4, 4 } };
    struct pack_grid g;
    ok(pack_grid_init(&g, &extent, &chunk, 1, NULL) == PACK_OK && g.n_chunks_total == 0,
       "an extent of zero has no chunks");
    g = make("10x10", "4x4", 1);
    struct pack_box box = { 2, { 3, 3 }, { 2, 0 } };
    struct pack_grid_cursor c;
    ok(!pack_grid_first(&c, &g, &box) && pack_grid_count(&g, &box) == 0,
       "an empty box touches no chunk");
}

/* Elements of a box in each chunk, counted one by one. */
static void
count_by_element(const struct pack_grid *g, const struct pack_box *box, uint64_t *counts)
{
    uint64_t at[PACK_RANK_MAX], coords[PACK_RANK_MAX];
    memcpy(at, box->start, sizeof at);
    for (int axis = 0; axis >= 0;) {
        for (int i = 0; i < g->rank; i++)
            coords[i] = at[i] / g->chunk[i];
        counts[pack_grid_number(g, coords)]++;
        for (axis = g->rank - 1; axis >= 0; axis--) {
            if (++at[axis] < box->start[axis] + box->count[axis])
                break;
            at[axis] = box->start[axis];
        }
    }
}

/* A cursor's part lies where it says, and has as many elements as it says. */
static bool
part_holds(const struct pack_grid_cursor *c)
{
    uint64_t n = 1, coords[PACK_RANK_MAX];
    struct pack_box whole;
    pack_grid_coords(c->grid, c->number, coords);
    pack_grid_chunk_box(c->grid, coords, &whole);
    for (int i = 0; i < c->grid->rank; i++) {
        uint64_t from = whole.start[i] + c->start[i];
        n *= c->count[i];
        if (coords[i] != c->coords[i] || from < c->box->start[i] ||
            c->start[i] + c->count[i] > whole.count[i] ||
            from + c->count[i] > c->box->start[i] + c->box->count[i])
            return false;
    }
    return n == c->n_elements;
}

static bool
walk_agrees(struct pack_rng *rng)
{
    struct pack_shape extent = { 0 }, chunk = { 0 };
    struct pack_grid g;
    struct pack_box box = { 0 };
    extent.rank = chunk.rank = box.rank = 1 + (int)pack_rng_below(rng, 4);
    for (int i = 0; i < extent.rank; i++) {
        extent.extent[i] = 1 + pack_rng_below(rng, 9);
        chunk.extent[i] = 1 + pack_rng_below(rng, 5);
        box.start[i] = pack_rng_below(rng, extent.extent[i]);
        box.count[i] = 1 + pack_rng_below(rng, extent.extent[i] - box.start[i]);
    }
    if (pack_grid_init(&g, &extent, &chunk, 1, NULL) ||
        pack_grid_check_box(&g, &box, NULL))
        return false;
    uint64_t want[6561] = { 0 }, touched = 0, last = 0;
    count_by_element(&g, &box, want);
    struct pack_grid_cursor c;
    for (bool more = pack_grid_first(&c, &g, &box); more; more = pack_grid_next(&c)) {
        if (want[c.number] != c.n_elements || (touched && c.number <= last) ||
            !part_holds(&c))
            return false;
        want[c.number] = 0;
        last = c.number;
        touched++;
    }
    for (uint64_t i = 0; i < g.n_chunks_total; i++)
        if (want[i])
            return false;
    return touched == pack_grid_count(&g, &box);
}

static void
test_edges(void)
{
    struct pack_grid g = make("10x8", "4x4", 1);
    uint64_t inner[] = { 1, 1 }, edge[] = { 2, 0 };
    ok(!pack_grid_is_edge(&g, inner) && pack_grid_is_edge(&g, edge),
       "edge chunks reach beyond the extent");
    struct pack_box box;
    pack_grid_chunk_box(&g, edge, &box);
    ok(box.start[0] == 8 && box.count[0] == 2 && box.count[1] == 4,
       "an edge chunk holds what is inside the extent");
}

int
main(void)
{
    test_init();
    test_refusals();
    test_empty();
    test_edges();
    struct pack_rng rng;
    pack_rng_seed(&rng, 1);
    int agreed = 0;
    for (int i = 0; i < 2000; i++)
        agreed += walk_agrees(&rng);
    is_number(agreed, 2000, "walks agree with counting element by element");
    return done();
}
