/* Spans of a run, for traces and pictures: as many as there is room for. */
#include <stdlib.h>

#include "libpack/bench/bench_parts.h"

enum pack_status
pack_bench_events_open(struct pack_bench_result *result, struct pack_error *err)
{
    result->events.event = malloc(PACK_BENCH_EVENTS_MAX * sizeof *result->events.event);
    return result->events.event ? PACK_OK : pack_fail_memory(err, "events");
}

/* Adds an event whose times are the clock's. */
static void
add(struct pack_bench_result *r, uint64_t start_ns, struct pack_bench_event event)
{
    if (event.begin_ns < start_ns || event.end_ns <= event.begin_ns)
        return;
    if (r->events.n == PACK_BENCH_EVENTS_MAX) {
        r->events.cut = true;
        return;
    }
    event.begin_ns -= start_ns;
    event.end_ns -= start_ns;
    r->events.event[r->events.n++] = event;
}

void
pack_bench_record_batch(struct pack_bench_result *r, uint64_t start_ns,
                        const struct pack_procs_item *item, uint64_t wait_begin_ns,
                        uint64_t taken_ns)
{
    const struct bench_note *note = item->note;
    const struct pack_read_cost *a = &note->work.read, *b = &note->work.with;
    struct pack_bench_event event = { .lane = item->worker, .number = item->number };
    if (!r->events.event)
        return;
    event.kind = PACK_EVENT_IDLE;
    event.begin_ns = note->begin_ns - note->work.idle_ns;
    event.end_ns = note->begin_ns;
    add(r, start_ns, event);
    event.kind = PACK_EVENT_HAND_OVER;
    event.begin_ns = note->end_ns;
    event.end_ns = taken_ns;
    add(r, start_ns, event);
    event.kind = PACK_EVENT_READ;
    event.begin_ns = note->begin_ns;
    event.end_ns = note->end_ns;
    event.loads = a->file_reads;
    event.call_ns = a->call_ns + b->call_ns;
    event.storage_ns = a->storage_ns + a->metadata_ns + b->storage_ns + b->metadata_ns;
    event.decode_ns = a->decode_ns + b->decode_ns;
    event.delay_ns = note->work.delay_ns;
    add(r, start_ns, event);
    add(r, start_ns,
        (struct pack_bench_event){ .kind = PACK_EVENT_WAIT,
                                   .begin_ns = wait_begin_ns,
                                   .end_ns = taken_ns,
                                   .number = item->number });
}

void
pack_bench_record_take(struct pack_bench_result *r, uint64_t start_ns, uint64_t number,
                       uint64_t begin_ns, uint64_t end_ns)
{
    if (r->events.event)
        add(r, start_ns,
            (struct pack_bench_event){ .kind = PACK_EVENT_TAKE,
                                       .begin_ns = begin_ns,
                                       .end_ns = end_ns,
                                       .number = number });
}

void
pack_bench_record_step(struct pack_bench_result *r, uint64_t start_ns,
                       const struct pack_step *step)
{
    const struct {
        enum pack_event_kind kind;
        uint64_t begin_ns, length_ns;
    } spans[] = {
        { PACK_EVENT_PIN, step->pin_begin_ns, step->pin_ns },
        { PACK_EVENT_COPY, step->copy_begin_ns, step->copy_ns },
        { PACK_EVENT_NORMALISE, step->begin_ns, step->normalise_ns },
        { PACK_EVENT_STEP, step->begin_ns, step->end_ns - step->begin_ns },
    };
    if (!r->events.event)
        return;
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
        add(r, start_ns,
            (struct pack_bench_event){ .kind = spans[i].kind,
                                       .begin_ns = spans[i].begin_ns,
                                       .end_ns = spans[i].begin_ns + spans[i].length_ns,
                                       .number = step->number });
}
