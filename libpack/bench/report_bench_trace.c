/*
 * Chrome's trace format: one process; a track for the training loop, the consumer, its
 * copies and each worker; times in microseconds. A worker's batch is one span with its
 * stages inside, one behind the other, each as long as all its turns together:
 *
 *     batch 17 ├──────────────────────────────────────────────┤
 *              ├ read ───────────────────────────┤ assembly ──┤
 *              ├ storage ──┤ decode ──┤
 *
 * Batches that wait to be taken overlap, so they are asynchronous spans.
 */
#include <inttypes.h>

#include "libpack/base/json.h"
#include "libpack/bench/report_bench.h"

enum { TRACK_TRAINER = 1, TRACK_STEPS, TRACK_COPIES, TRACK_NORMALISE, TRACK_WORKERS };

static const struct {
    const char *name;
    unsigned track;
} kinds[] = {
    [PACK_EVENT_READ] = { "batch", TRACK_WORKERS },
    [PACK_EVENT_IDLE] = { "wait for buffer", TRACK_WORKERS },
    [PACK_EVENT_HAND_OVER] = { "hand over", TRACK_WORKERS },
    [PACK_EVENT_WAIT] = { "wait for batch", TRACK_TRAINER },
    [PACK_EVENT_TAKE] = { "give to consumer", TRACK_TRAINER },
    [PACK_EVENT_PIN] = { "copy to pinned memory", TRACK_TRAINER },
    [PACK_EVENT_COPY] = { "copy to device", TRACK_COPIES },
    [PACK_EVENT_NORMALISE] = { "normalise", TRACK_NORMALISE },
    [PACK_EVENT_STEP] = { "step", TRACK_STEPS },
};

static void
put_track(struct pack_json *json, unsigned track, const char *name)
{
    pack_json_object(json, NULL);
    pack_json_text(json, "ph", "M");
    pack_json_text(json, "name", "thread_name");
    pack_json_u64(json, "pid", 1);
    pack_json_u64(json, "tid", track);
    pack_json_object(json, "args");
    pack_json_text(json, "name", name);
    pack_json_close(json);
    pack_json_close(json);
}

/* What all phases have. */
static void
begin_phase(struct pack_json *json, const char *phase, const char *name, unsigned track,
            uint64_t at_ns)
{
    pack_json_object(json, NULL);
    pack_json_text(json, "ph", phase);
    pack_json_text(json, "name", name);
    pack_json_u64(json, "pid", 1);
    pack_json_u64(json, "tid", track);
    pack_json_double(json, "ts", (double)at_ns / 1e3);
}

static void
put_stage(struct pack_json *json, const char *name, unsigned track, uint64_t begin_ns,
          uint64_t end_ns)
{
    if (end_ns <= begin_ns)
        return;
    begin_phase(json, "X", name, track, begin_ns);
    pack_json_double(json, "dur", (double)(end_ns - begin_ns) / 1e3);
    pack_json_close(json);
}

static uint64_t
least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void
put_stages(struct pack_json *json, const struct pack_bench_event *e, unsigned track)
{
    uint64_t call_end = least(e->begin_ns + e->call_ns, e->end_ns);
    uint64_t storage_end = least(e->begin_ns + e->storage_ns, call_end);
    put_stage(json, "read", track, e->begin_ns, call_end);
    put_stage(json, "storage", track, e->begin_ns, storage_end);
    put_stage(json, "decode", track, storage_end,
              least(storage_end + e->decode_ns, call_end));
    uint64_t delay_ns = least(e->delay_ns, e->end_ns - call_end);
    put_stage(json, "assembly", track, call_end, e->end_ns - delay_ns);
    put_stage(json, "delay", track, e->end_ns - delay_ns, e->end_ns);
}

/* A pair of an asynchronous span. */
static void
put_overlapping(struct pack_json *json, const struct pack_bench_event *e, size_t id)
{
    for (int end = 0; end < 2; end++) {
        begin_phase(json, end ? "e" : "b", kinds[e->kind].name,
                    kinds[e->kind].track + e->lane, end ? e->end_ns : e->begin_ns);
        pack_json_text(json, "cat", "batch");
        pack_json_u64(json, "id", id);
        pack_json_close(json);
    }
}

static void
put_event(struct pack_json *json, const struct pack_bench_event *e, size_t id)
{
    unsigned track = kinds[e->kind].track + e->lane;
    if (e->kind == PACK_EVENT_HAND_OVER) {
        put_overlapping(json, e, id);
        return;
    }
    begin_phase(json, "X", kinds[e->kind].name, track, e->begin_ns);
    pack_json_double(json, "dur", (double)(e->end_ns - e->begin_ns) / 1e3);
    pack_json_object(json, "args");
    pack_json_u64(json, "number", e->number);
    if (e->kind == PACK_EVENT_READ)
        pack_json_u64(json, "file_reads", e->loads);
    pack_json_close(json);
    pack_json_close(json);
    if (e->kind == PACK_EVENT_READ)
        put_stages(json, e, track);
}

enum pack_status
pack_report_bench_trace(const struct pack_bench_report *report, struct pack_buf *text,
                        struct pack_error *err)
{
    const struct pack_bench_result *r = report->result;
    struct pack_json json;
    pack_json_begin(&json, text);
    pack_json_object(&json, NULL);
    pack_json_text(&json, "displayTimeUnit", "ms");
    pack_json_object(&json, "otherData");
    pack_json_bool(&json, "cut", r->events.cut);
    pack_json_close(&json);
    pack_json_array(&json, "traceEvents");
    put_track(&json, TRACK_TRAINER, "training loop");
    put_track(&json, TRACK_STEPS, r->setup.consumer);
    put_track(&json, TRACK_COPIES, "copies");
    put_track(&json, TRACK_NORMALISE, "normalise kernel");
    for (uint64_t i = 0; i < pack_bench_lanes(r); i++)
        put_track(&json, TRACK_WORKERS + (unsigned)i,
                  r->setup.n_workers && !r->setup.threads.n ? "worker" : "reader");
    for (size_t i = 0; i < r->events.n; i++)
        put_event(&json, &r->events.event[i], i);
    pack_json_close(&json);
    pack_json_close(&json);
    return pack_json_end(&json, err);
}
