/* Chrome's trace format: one process, a track for the trainer, the consumer, its copies
 * and each worker; times in microseconds. */
#include <inttypes.h>

#include "libpack/json.h"
#include "libpack/report_bench.h"

enum { TRACK_TRAINER = 1, TRACK_STEPS, TRACK_COPIES, TRACK_NORMALISE, TRACK_WORKERS };

static const struct {
    const char *name;
    unsigned track;
} kinds[] = {
    [PACK_EVENT_READ] = { "read batch", TRACK_WORKERS },
    [PACK_EVENT_WAIT] = { "wait for batch", TRACK_TRAINER },
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

static void
put_event(struct pack_json *json, const struct pack_bench_event *e)
{
    pack_json_object(json, NULL);
    pack_json_text(json, "ph", "X");
    pack_json_text(json, "name", kinds[e->kind].name);
    pack_json_u64(json, "pid", 1);
    pack_json_u64(json, "tid", kinds[e->kind].track + e->lane);
    pack_json_double(json, "ts", (double)e->begin_ns / 1e3);
    pack_json_double(json, "dur", (double)(e->end_ns - e->begin_ns) / 1e3);
    pack_json_object(json, "args");
    pack_json_u64(json, "number", e->number);
    if (e->kind == PACK_EVENT_READ) {
        pack_json_u64(json, "file_reads", e->loads);
        pack_json_double(json, "storage_us", (double)e->storage_ns / 1e3);
        pack_json_double(json, "decode_us", (double)e->decode_ns / 1e3);
    }
    pack_json_close(json);
    pack_json_close(json);
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
    pack_json_array(&json, "traceEvents");
    put_track(&json, TRACK_TRAINER, "training loop");
    put_track(&json, TRACK_STEPS, r->consumer);
    put_track(&json, TRACK_COPIES, "copies");
    put_track(&json, TRACK_NORMALISE, "normalise kernel");
    for (uint64_t i = 0; i < (r->n_workers ? r->n_workers : 1); i++)
        put_track(&json, TRACK_WORKERS + (unsigned)i, r->n_workers ? "worker" : "reader");
    for (size_t i = 0; i < r->n_events; i++)
        put_event(&json, &r->events[i]);
    pack_json_close(&json);
    pack_json_close(&json);
    return pack_json_end(&json, err);
}
