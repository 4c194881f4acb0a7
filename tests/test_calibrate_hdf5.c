/* The terms of HDF5 that a calibration finds are those of cost.h, and in its sense: reads
 * here are counted by the simulator and take as long as pack_cost_estimate says for a profile,
 * which comes out of the measurements again. Linked with -Wl,--wrap (Makefile.am). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/advise/calibrate_parts.h"
#include "libpack/hdf5/h5_probe.h"
#include "libpack/model/cost.h"
#include "libpack/model/profile_terms.h"
#include "tests/tap.h"

uint64_t __wrap_pack_clock_cpu_ns(void);
enum pack_status __wrap_pack_probe_create(const char *path,
                                          const struct pack_probe_layout *layout,
                                          pack_probe_fill_fn fill, void *context,
                                          struct pack_error *err);
enum pack_status __wrap_pack_probe_open(const char *path,
                                        const struct pack_cache_params *cache,
                                        struct pack_h5_count *count,
                                        struct pack_probe **probe, struct pack_error *err);
void __wrap_pack_probe_close(struct pack_probe *probe);
enum pack_status __wrap_pack_probe_reopen(struct pack_probe *probe, struct pack_error *err);
enum pack_status __wrap_pack_probe_read(struct pack_probe *probe,
                                        const struct pack_box *boxes, size_t n_boxes,
                                        void *out, struct pack_error *err);

static struct {
    struct pack_profile profile; /* that of this machine */
    struct pack_probe_layout layout;
    double now_ns;
    int n_open, n_reads, fail_at; /* the read that fails; 0: none */
} world;

struct pack_probe {
    struct pack_cachesim *sim;
    uint64_t n_slots;
};

uint64_t
__wrap_pack_clock_cpu_ns(void)
{
    return (uint64_t)world.now_ns;
}

enum pack_status
__wrap_pack_probe_create(const char *path, const struct pack_probe_layout *layout,
                         pack_probe_fill_fn fill, void *context, struct pack_error *err)
{
    (void)path, (void)fill, (void)context, (void)err;
    world.layout = *layout;
    return PACK_OK;
}

enum pack_status
__wrap_pack_probe_open(const char *path, const struct pack_cache_params *cache,
                       struct pack_h5_count *count, struct pack_probe **probe,
                       struct pack_error *err)
{
    struct pack_cachesim_params params = { .cache = *cache };
    struct pack_grid grid;
    (void)path, (void)count;
    *probe = calloc(1, sizeof **probe);
    (*probe)->n_slots = cache->n_slots;
    world.n_open++;
    enum pack_status status =
        pack_grid_init(&grid, &world.layout.extent, &world.layout.chunk, 1, err);
    return status == PACK_OK ? pack_cachesim_new(&grid, &params, &(*probe)->sim, err)
                             : status;
}

void
__wrap_pack_probe_close(struct pack_probe *probe)
{
    if (!probe)
        return;
    world.n_open--;
    pack_cachesim_free(probe->sim);
    free(probe);
}

enum pack_status
__wrap_pack_probe_reopen(struct pack_probe *probe, struct pack_error *err)
{
    (void)err;
    struct pack_cost_work work = { .n_opens = 1, .n_slots = probe->n_slots };
    struct pack_cost cost;
    pack_cost_estimate(&world.profile, &work, 1, &cost);
    world.now_ns += cost.cpu_ns;
    return PACK_OK;
}

/* Rows of a box in one chunk; where it takes whole rows of several, fewer than chunks. */
static double
runs_of(const struct pack_box *box)
{
    double n = 1;
    int j = box->rank - 1;
    while (j > 0 && box->count[j] == world.layout.extent.extent[j])
        j--;
    for (int i = 0; i < j; i++)
        n *= (double)box->count[i];
    return n;
}

static double
bytes_of(const struct pack_box *box)
{
    double n = 1;
    for (int i = 0; i < box->rank; i++)
        n *= (double)box->count[i];
    return n;
}

enum pack_status
__wrap_pack_probe_read(struct pack_probe *probe, const struct pack_box *boxes,
                       size_t n_boxes, void *out, struct pack_error *err)
{
    struct pack_cost cost;
    double chunk_bytes = (double)pack_cachesim_grid(probe->sim)->chunk_bytes;
    struct pack_cost_work work = { .n_reads = 1,
                                   .n_boxes = (double)n_boxes,
                                   .rank = boxes->rank,
                                   .chunk_bytes = (uint64_t)chunk_bytes,
                                   .stored_bytes = chunk_bytes,
                                   .page_cache_rate = 1 };
    (void)out;
    if (++world.n_reads == world.fail_at)
        return pack_fail(err, PACK_ERR_IO, "read %d fails", world.n_reads);
    for (size_t i = 0; i < n_boxes; i++) {
        work.n_runs += runs_of(&boxes[i]);
        work.n_elems += n_boxes > 1 ? bytes_of(&boxes[i]) : 0;
    }
    enum pack_status status =
        n_boxes == 1 ? pack_cachesim_read(probe->sim, boxes, err)
                     : pack_cachesim_read_boxes(probe->sim, boxes, n_boxes, err);
    pack_cachesim_take(probe->sim, &work.counts);
    work.held_bytes = (double)pack_cachesim_entries(probe->sim) * chunk_bytes;
    pack_cost_estimate(&world.profile, &work, 1, &cost);
    world.now_ns += cost.cpu_ns;
    return status;
}

/* ------------------------------------------------------------------------------- tests */

static enum pack_status
calibrate(struct pack_profile *found, struct pack_error *err)
{
    static const struct pack_calibrate_params params = { .seed = 1 };
    struct pack_lab lab = { .params = &params,
                            .n_rounds = PACK_LAB_QUICK_ROUNDS,
                            .n_chunks = 40000,
                            .profile = found };
    pack_rng_seed(&lab.rng, 1);
    *found = world.profile;
    found->call_ns = found->chunk_ns = found->far_ns = found->run_ns = found->miss_ns = -1;
    found->piece_ns = found->walk_ns = found->walk_far_ns = found->box_ns = -1;
    found->elem_ns = found->elem_axis_ns = found->open_ns = found->slot_ns = -1;
    return pack_lab_hdf5(&lab, err);
}

static void
is_found(double found, double is, double tolerance, const char *profile, const char *term)
{
    ok(fabs(found - is) <= tolerance * is, "%s: %s is found", profile, term);
    if (fabs(found - is) > tolerance * is)
        note("%g instead of %g", found, is);
}

static void
test_terms(const char *name)
{
    const struct pack_profile *is = &world.profile;
    struct pack_profile p;
    struct pack_error err = { .text = "" };
    ok(calibrate(&p, &err) == PACK_OK && world.n_open == 0, "%s: measured %s", name, err.text);
    is_found(p.call_ns, is->call_ns, 0.01, name, "a call");
    is_found(p.far_ns, is->far_ns, 0.05, name, "a chunk far away");
    is_found(p.miss_ns, is->miss_ns, 0.02, name, "a miss");
    is_found(p.chunk_ns, is->chunk_ns, 0.02, name, "a further chunk");
    is_found(p.box_ns, is->box_ns, 0.02, name, "a further box");
    is_found(p.elem_ns, is->elem_ns, 0.02, name, "an element");
    is_found(p.elem_axis_ns, is->elem_axis_ns, 0.02, name, "an axis of an element");
    is_found(p.run_ns, is->run_ns, 0.02, name, "a further run");
    is_found(p.piece_ns, is->piece_ns, 0.02, name, "a further piece past the cache");
    is_found(p.walk_ns, is->walk_ns, 0.05, name, "a step of the walk");
    is_found(p.walk_far_ns, is->walk_far_ns, 0.05, name, "a step far away");
    is_found(p.open_ns, is->open_ns, 0.01, name, "opening");
    is_found(p.slot_ns, is->slot_ns, 0.01, name, "a slot of it");
}

/* Whichever read fails, the calibration does, with its sentence, and closes what it opened. */
static void
test_failures(void)
{
    int n_reads = world.n_reads, n_wrong = 0;
    for (int at = 1; at < n_reads; at = 3 * at + 1) {
        struct pack_profile p;
        struct pack_error err = { .text = "" };
        char want[40];
        world.n_reads = 0;
        world.fail_at = at;
        snprintf(want, sizeof want, "read %d fails", at);
        n_wrong += calibrate(&p, &err) != PACK_ERR_IO || strcmp(err.text, want) != 0 ||
                   world.n_open != 0 || world.n_reads != at;
    }
    ok(n_wrong == 0, "a read that fails ends it");
}

int
main(void)
{
    struct pack_profile *p = &world.profile;
    (void)pack_profile_named("nvme", p, NULL);
    p->copy = (struct pack_profile_curve){ 2, { 1 << 17, 1 << 26 }, { 0.04, 0.2 } };
    p->page = (struct pack_profile_curve){ 2, { 512, 1 << 20 }, { 300, 200000 } };
    p->call_ns = 1100, p->chunk_ns = 310, p->far_ns = 240, p->run_ns = 23;
    p->miss_ns = 900, p->piece_ns = 270, p->walk_ns = 3, p->walk_far_ns = 17;
    p->box_ns = 450, p->elem_ns = 21, p->elem_axis_ns = 7;
    p->open_ns = 52000, p->slot_ns = 1.5;
    test_terms("a machine");
    world.n_reads = 0;
    p->call_ns = 400, p->chunk_ns = 90, p->far_ns = 700, p->run_ns = 61;
    p->miss_ns = 2300, p->piece_ns = 800, p->walk_ns = 6, p->walk_far_ns = 9;
    p->box_ns = 120, p->elem_ns = 65, p->elem_axis_ns = 30;
    p->open_ns = 17000, p->slot_ns = 4;
    test_terms("another");
    test_failures();
    return done();
}
