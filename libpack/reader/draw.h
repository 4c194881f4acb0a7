/* The batches of a pattern, and the chunks that each visits. */
#ifndef LIBPACK_DRAW_H
#define LIBPACK_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/pattern.h>
#include <libpack/status.h>
#include "libpack/reader/plan.h"
#include "libpack/reader/rowmap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A part of a sample: what it has of one chunk. */
struct pack_piece {
    uint64_t number; /* of the chunk */
    uint32_t sample; /* in the batch */
};

/* A chunk in a batch. */
struct pack_visit {
    uint64_t number;
    uint32_t first, n; /* its pieces */
    uint32_t run_end;  /* set by whoever deals visits out: a thread takes so many */
    bool is_coded;     /* set by whoever plans: only then is there a step */
    struct pack_plan_step step;
};

/* One batch; made for the draw that fills it in. */
struct pack_drawn {
    uint64_t epoch, number, position;
    size_t n_samples, n_pieces, n_visits;
    uint64_t *samples;         /* their numbers */
    uint64_t *starts;          /* of their boxes, an entry for each axis */
    struct pack_piece *pieces; /* by chunk, then sample */
    struct pack_visit *visits; /* by chunk */
};

/* Goes through the batches of a number of epochs. */
struct pack_draw {
    const struct pack_rowmap *rows; /* borrowed */
    const struct pack_grid *grid;   /* of all rows */
    struct pack_pattern pattern;
    struct pack_pattern_iter *iter;
    uint64_t count[PACK_RANK_MAX]; /* the shape of every sample */
    bool whole_rows; /* boxes are as the pattern's along axis 0, and whole along others */
    uint64_t end_epoch;
    uint64_t batch;      /* samples of one, at most those of an epoch */
    uint64_t pieces_max; /* of one */
};

/*
 * pattern->extent is that of all rows. position: of pattern->epoch, where it starts, a
 * multiple of the batch. Errors as pack_pattern_new(); PACK_ERR_ARGUMENT for a position
 * that is none, PACK_ERR_UNSUPPORTED for a trace of several shapes, PACK_ERR_LIMIT for a
 * batch of 2^32 pieces.
 */
enum pack_status pack_draw_init(struct pack_draw *draw,
                                const struct pack_pattern *pattern,
                                const struct pack_rowmap *rows, uint64_t position,
                                uint64_t n_epochs, struct pack_error *err);
/*
 * The samples of `leader`, batch by batch, of another dataset that is as long along axis 0:
 * of each box, all that lies at its indexes of that axis. PACK_ERR_LIMIT likewise.
 */
enum pack_status pack_draw_follow(struct pack_draw *draw, const struct pack_draw *leader,
                                  const struct pack_rowmap *rows, uint64_t position,
                                  struct pack_error *err);
void pack_draw_done(struct pack_draw *draw); /* zeroed storage is fine */

/* Memory of one batch without its data. PACK_ERR_MEMORY. */
uint64_t pack_draw_bytes(const struct pack_draw *draw);
enum pack_status pack_drawn_init(struct pack_drawn *drawn, const struct pack_draw *draw,
                                 struct pack_error *err);
void pack_drawn_done(struct pack_drawn *drawn); /* zeroed storage is fine */

/* The next batch; false behind the last one. */
bool pack_draw_next(struct pack_draw *draw, struct pack_drawn *drawn);

#ifdef __cplusplus
}
#endif
#endif
