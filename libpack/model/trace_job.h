/* The training job that a trace is of: workers, each with its own reads, and epochs. */
#ifndef LIBPACK_TRACE_JOB_H
#define LIBPACK_TRACE_JOB_H

#include <libpack/pattern.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PACK_TRACE_AS_RECORDED = -1 };

struct pack_trace_job {
    uint64_t workers;  /* that were at work at the same time; 0: nothing tells */
    uint64_t epochs;   /* passes in which nothing is read twice, all but equally long */
    bool workers_end;  /* no process reads in two of several epochs */
    bool is_replayed;  /* the workers asked for are those recorded */
    uint64_t n_beside; /* reads left out: of processes that only looked in */
    uint64_t n_uneven; /* reads left out, so that epochs are equally long */
    double box_ns;     /* from one box of a worker to its next, on the average; 0: unknown */
    double read_ns;    /* of these, reading it, or waiting for other workers' reads; 0: unknown */
    double busy, delayed; /* parts of a worker's time on a processor, and waiting for one */
    uint64_t parents;     /* processes that started the workers, and train; 0: all these unknown */
    double parent_busy;   /* part of the time that one of them is on a processor */
};

/*
 * Finds out what the processes of a trace were, and puts its boxes in such an order that
 * a pattern of kind trace with that many `workers` (PACK_TRACE_AS_RECORDED: those found)
 * and that batch gives each worker what one process read, in its order: worker k of n
 * reads batches k, k + n, ... Where one worker read less than the others, its last turns,
 * and what is left of all that is no whole batch, hold reads of others. With another
 * number of workers boxes stay in the order of time.
 *
 * A process that made less than a tenth of the reads of the busiest is no worker (it took
 * a look at the shape, or a mean), and its reads are left out. Processes of different
 * epochs, or where there is but one, which did not read at the same time, can be one
 * worker after another: a DataLoader starts new ones for each epoch.
 *
 * An epoch ends where a box is read again. If the parts that this makes are, but for the
 * last, within a tenth of each other, they are epochs, each of which is cut to the length
 * of the shortest; a last one that is shorter than that is left out. Else the whole trace
 * is one epoch.
 *
 * box_ns is the time from the first read to the last that each worker's process made in each
 * epoch, over the boxes behind those of the first read: between epochs it waits for the others.
 * Within one as well, since batches are taken from workers in turn: all that a worker does beside
 * reading is what the one of them does that does least, as it waits for none (each epoch's, where
 * they are started anew). Of a trace that does not say whose reads took what, the mean.
 *
 * busy, delayed and parent_busy are of the first threads of processes.
 *
 * trace->boxes and n_boxes are changed, processes and times_ns freed; epoch e is the e-th
 * part of n_boxes / epochs. PACK_ERR_MEMORY.
 */
enum pack_status pack_trace_job(struct pack_trace *trace, int64_t workers, uint64_t batch,
                                struct pack_trace_job *job, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
