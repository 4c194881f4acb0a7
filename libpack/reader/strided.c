/*
 * An axis is merged into the one inside it when, in both places, its steps are as long as
 * what the inner one covers: a sample that is a whole chunk is one run, a crop of rows has
 * one axis, of rows.
 *
 * Where axes come in another order, runs are single elements mostly: those are moved by
 * loops of their own.
 */
#include "libpack/reader/strided.h"

#include <string.h>

#include "libpack/base/copy.h"

/* Bytes from one index of each axis of the source to the next, in the target's order. */
static void
set_steps(int rank, uint64_t elem_size, const uint64_t *extent, const int *axes,
          uint64_t *steps)
{
    int place[PACK_RANK_MAX]; /* in the target, of each axis of the source */
    uint64_t step = elem_size;
    for (int i = 0; i < rank; i++)
        place[axes ? axes[i] : i] = i;
    for (int axis = rank - 1; axis >= 0; axis--) {
        steps[place[axis]] = step;
        step *= extent[place[axis]];
    }
}

void
pack_strided_set(struct pack_strided *s, int rank, const uint64_t *count,
                 uint64_t elem_size, struct pack_strided_place from,
                 struct pack_strided_place to)
{
    pack_strided_set_turned(s, rank, count, elem_size, from, NULL, to);
}

void
pack_strided_set_turned(struct pack_strided *s, int rank, const uint64_t *count,
                        uint64_t elem_size, struct pack_strided_place from,
                        const int *order, struct pack_strided_place to)
{
    uint64_t from_steps[PACK_RANK_MAX], to_step = elem_size; /* of the axis at hand */
    struct pack_strided axes = { .run_bytes = elem_size };   /* fastest first */
    uint64_t from_end = elem_size, to_end = elem_size; /* where the next row would lie */
    set_steps(rank, elem_size, from.extent, order, from_steps);
    for (int i = rank - 1; i >= 0; i--) {
        uint64_t from_step = from_steps[i];
        axes.from += from.start[i] * from_step;
        axes.to += to.start[i] * to_step;
        if (count[i] > 1) {
            bool together = from_step == from_end && to_step == to_end;
            if (together && axes.n_axes == 0) {
                axes.run_bytes *= count[i];
            } else if (together) {
                axes.count[axes.n_axes - 1] *= count[i];
            } else {
                axes.count[axes.n_axes] = count[i];
                axes.from_step[axes.n_axes] = from_step;
                axes.to_step[axes.n_axes] = to_step;
                axes.n_axes++;
            }
            from_end = from_step * count[i];
            to_end = to_step * count[i];
        }
        to_step *= to.extent[i];
    }
    *s = axes;
    for (int i = 0; i < axes.n_axes; i++) {
        s->count[i] = axes.count[axes.n_axes - 1 - i];
        s->from_step[i] = axes.from_step[axes.n_axes - 1 - i];
        s->to_step[i] = axes.to_step[axes.n_axes - 1 - i];
    }
}

uint64_t
pack_strided_span(const struct pack_strided *s, int axis)
{
    uint64_t span = s->run_bytes;
    for (int i = axis; i < s->n_axes; i++)
        span += (s->count[i] - 1) * s->from_step[i];
    return span;
}

uint64_t
pack_strided_runs(const struct pack_strided *s, int axis)
{
    uint64_t n = 1;
    for (int i = axis; i < s->n_axes; i++)
        n *= s->count[i];
    return n;
}

/* A row of single elements, whose size the compiler knows. */
#define COPY_ELEMENTS(size)                            \
    for (uint64_t i = 0; i < s->count[axis]; i++)      \
        memcpy(to + i * to_step, from + i * from_step, size)

/* False where runs are of another size. */
static bool
copy_elements(const struct pack_strided *s, int axis, const unsigned char *from,
              unsigned char *to)
{
    uint64_t from_step = s->from_step[axis], to_step = s->to_step[axis];
    switch (s->run_bytes) {
    case 1: COPY_ELEMENTS(1); return true;
    case 2: COPY_ELEMENTS(2); return true;
    case 3: COPY_ELEMENTS(3); return true;
    case 4: COPY_ELEMENTS(4); return true;
    case 8: COPY_ELEMENTS(8); return true;
    default: return false;
    }
}

void
pack_strided_copy(const struct pack_strided *s, int axis, const void *from, void *to)
{
    const unsigned char *source = from;
    unsigned char *target = to;
    if (axis + 1 == s->n_axes && !s->past_cache && copy_elements(s, axis, source, target))
        return;
    if (axis == s->n_axes) {
        if (s->past_cache)
            pack_copy_past_cache(target, source, s->run_bytes);
        else
            memcpy(target, source, s->run_bytes);
        return;
    }
    for (uint64_t i = 0; i < s->count[axis]; i++) {
        pack_strided_copy(s, axis + 1, source, target);
        source += s->from_step[axis];
        target += s->to_step[axis];
    }
}

/* What is done to each run in the target, element by element. */
typedef void (*run_fn)(unsigned char *run, size_t n, const unsigned char *element,
                       size_t elem_size);

static void
fill_run(unsigned char *run, size_t n, const unsigned char *element, size_t elem_size)
{
    const size_t bytes = n * elem_size;
    size_t same = 1, done = elem_size;
    while (same < elem_size && element[same] == element[0])
        same++;
    if (same == elem_size) {
        memset(run, element[0], bytes);
        return;
    }
    memcpy(run, element, n > 0 ? elem_size : 0);
    for (; done < bytes; done *= 2) /* what is there is copied behind itself */
        memcpy(run + done, run, done < bytes - done ? done : bytes - done);
}

static void
swap_run(unsigned char *run, size_t n, const unsigned char *element, size_t elem_size)
{
    (void)element;
    for (size_t i = 0; i < n; i++, run += elem_size)
        for (size_t a = 0, b = elem_size - 1; a < b; a++, b--) {
            unsigned char byte = run[a];
            run[a] = run[b];
            run[b] = byte;
        }
}

struct each_run {
    run_fn run;
    const unsigned char *element;
    size_t elem_size;
};

static void
visit_runs(const struct pack_strided *s, int axis, unsigned char *to,
           const struct each_run *each)
{
    if (axis == s->n_axes) {
        each->run(to, s->run_bytes / each->elem_size, each->element, each->elem_size);
        return;
    }
    for (uint64_t i = 0; i < s->count[axis]; i++)
        visit_runs(s, axis + 1, to + i * s->to_step[axis], each);
}

void
pack_strided_fill(const struct pack_strided *s, const void *element, size_t elem_size,
                  void *target)
{
    struct each_run each = { fill_run, element, elem_size };
    visit_runs(s, 0, (unsigned char *)target + s->to, &each);
}

void
pack_strided_swap(const struct pack_strided *s, size_t elem_size, void *target)
{
    struct each_run each = { swap_run, NULL, elem_size };
    visit_runs(s, 0, (unsigned char *)target + s->to, &each);
}
