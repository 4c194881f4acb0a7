/* The sum that cost.h states, term by term. */
#include "libpack/model/profile_terms.h"
#include "libpack/model/cost.h"

#include <math.h>

/* What stays in a core's own cache. */
static const double near_bytes = 1 << 20;

double
pack_cost_far_part(double bytes)
{
    return bytes <= near_bytes ? 0 : 1 - near_bytes / bytes;
}

/* What HDF5 1.10.8 makes of a v1 B-tree's entry in memory (H5D_btree_key_t, src/H5Dbtree.c),
 * how much of such trees a processor's last cache holds beside all else, and how many keys of
 * a full node a search looks at. Of 2.6, 8, 28, 73 and 280 MB, 0, 0, 1.3, 4 and 6.5 us were
 * measured, which this gives within 1 us. */
static const double key_bytes = 280, near_index_bytes = 24 << 20, probes = 6;

/* Where chunks are searched for in a tree that leaves the processor's caches. */
static double
search_ns(const struct pack_profile *p, const struct pack_cost_work *w)
{
    double bytes = w->n_searched * key_bytes;
    return bytes <= near_index_bytes ? 0 : probes * p->far_ns * (1 - near_index_bytes / bytes);
}

static double
positive(double x)
{
    return x > 0 ? x : 0;
}

/* Where the selections in file and memory differ in shape, H5D__chunk_io_init (src/H5Dchunk.c
 * of 1.10.8) calls H5D__chunk_mem_cb for each element, which works out coordinates along
 * each axis. */
static double
elem_ns(const struct pack_profile *p, int rank)
{
    return positive(p->elem_ns + (rank - 2) * p->elem_axis_ns);
}

static double
call_ns(const struct pack_profile *p, const struct pack_cost_work *w)
{
    double reads = (double)w->n_reads;
    double ns = reads * p->call_ns +
                positive((double)w->counts.requests - reads) * p->chunk_ns +
                positive(w->n_boxes - reads) * p->box_ns +
                w->n_elems * elem_ns(p, w->rank ? w->rank : 2) +
                (double)w->n_opens * (p->open_ns + (double)w->n_slots * p->slot_ns);
    return ns + (double)w->counts.hits * p->far_ns * pack_cost_far_part(w->held_bytes);
}

/* What more it takes to put bytes where the processor's cache does not hold them: the system
 * does it in passing, a copy by the processor fetches what it overwrites, as if it came from
 * there. */
static double
deliver_ns(const struct pack_profile *p, double read, double copied, double batch_bytes)
{
    double fetch = positive(p->copy.value[p->copy.n - 1] - p->copy.value[0]);
    return (read * p->place_ns + copied * fetch) * pack_cost_far_part(batch_bytes);
}

/* Bytes that go through the cache are copied out of it; those that pass it are not. */
static double
copy_ns(const struct pack_profile *p, const struct pack_cost_work *w)
{
    const struct pack_cache_counts *c = &w->counts;
    if (c->requests == 0)
        return 0;
    double bytes = (double)c->wanted_bytes / (double)c->requests;
    double loaded = (double)(c->loads + c->fills), hits = (double)c->hits;
    double copied = fmin((loaded + hits) * bytes, (double)c->wanted_bytes);
    double ns = loaded * bytes * pack_profile_at(&p->copy, (double)w->chunk_bytes) +
                hits * bytes * pack_profile_at(&p->copy, fmax(w->held_bytes, 1));
    return ns + positive(w->n_runs - (double)c->requests) * p->run_ns +
           deliver_ns(p, (double)c->wanted_bytes - copied, copied, w->batch_bytes);
}

/* What one request of `bytes` waits for storage. */
static double
wait_ns(const struct pack_profile *p, double bytes, double readers, bool is_sequential)
{
    double own = bytes / p->stream_bytes_per_s * 1e9;
    double device = readers * bytes / p->max_bytes_per_s * 1e9;
    double rate = readers / p->max_reads_per_s * 1e9;
    return is_sequential ? fmax(own, device)
                         : fmax(own + p->latency_ns, fmax(device, rate));
}

/* Whole chunks, read into the cache. */
static void
load_ns(const struct pack_profile *p, const struct pack_cost_work *w, double readers,
        struct pack_cost *cost)
{
    double n = (double)w->counts.loads, bytes = fmax(w->stored_bytes, 1);
    double far = pack_profile_at(&p->copy, p->copy.bytes[p->copy.n - 1]);
    double near = pack_profile_at(&p->copy, fmax(w->range_bytes, 1));
    double page = pack_profile_at(&p->page, bytes);
    if (n == 0)
        return;
    cost->page_ns += n * (p->miss_ns + search_ns(p, w) + page);
    cost->page_ns +=
        n * (double)w->chunk_bytes * p->place_ns * pack_cost_far_part(w->held_bytes);
    /* of the reading itself no more than the part by which memory is slower than caches */
    if (near < far)
        cost->page_ns -= fmin(n, w->n_again) * fmin(bytes * (far - near), page * (1 - near / far));
    cost->storage_ns += n * wait_ns(p, bytes, readers, w->is_sequential);
}

/* Pieces of chunks, read past the cache. */
static void
direct_ns(const struct pack_profile *p, const struct pack_cost_work *w, double readers,
          struct pack_cost *cost)
{
    static const double ahead_bytes = 128 << 10; /* a window, filled with what lies behind */
    const struct pack_cache_counts *c = &w->counts;
    double pieces = positive((double)c->file_reads - (double)c->loads);
    double visits = fmin((double)c->bypass_visits, pieces);
    double bytes = (double)c->file_read_bytes - (double)c->loads * w->stored_bytes;
    if (visits == 0)
        return;
    double span = w->visit_bytes > 0 ? w->visit_bytes
                  : w->chunk_bytes   ? (double)w->chunk_bytes
                                     : bytes / visits;
    double requests = fmin(pieces, visits * ceil(span / ahead_bytes));
    double each = requests < pieces ? fmin(ahead_bytes, 2 * span) : positive(bytes) / requests;
    if (pieces <= visits) {
        requests = visits;
        each = positive(bytes) / visits;
    }
    cost->page_ns +=
        visits * (p->miss_ns + search_ns(p, w) +
                  pack_profile_at(&p->page, fmax(bytes / visits, 1)));
    cost->page_ns += (pieces - visits) * p->piece_ns;
    cost->storage_ns +=
        requests * wait_ns(p, fmax(each, positive(bytes) / requests), readers, w->is_sequential);
}

void
pack_cost_estimate(const struct pack_profile *p, const struct pack_cost_work *w,
                   uint64_t readers, struct pack_cost *cost)
{
    double entries = w->chunk_bytes ? w->held_bytes / (double)w->chunk_bytes : 0;
    double far = pack_cost_far_part(entries * PACK_COST_ENTRY_BYTES);
    *cost = (struct pack_cost){
        .call_ns = call_ns(p, w),
        .copy_ns = copy_ns(p, w),
        .decode_ns = (double)w->counts.decodes * (double)w->chunk_bytes * w->decode_ns,
        .walk_ns = (double)w->counts.walk_steps *
                   (p->walk_ns + far * positive(p->walk_far_ns - p->walk_ns)),
        .touch_ns = w->touched_bytes * p->touch_ns,
    };
    load_ns(p, w, (double)readers, cost);
    direct_ns(p, w, (double)readers, cost);
    cost->storage_ns *= 1 - w->page_cache_rate;
    cost->cpu_ns = cost->call_ns + cost->copy_ns + cost->page_ns + cost->decode_ns +
                   cost->walk_ns + cost->touch_ns;
    cost->total_ns = cost->cpu_ns + cost->storage_ns;
}

/* Reads of so many bytes together. */
static void
read_ns(const struct pack_profile *p, double n, double bytes, double readers,
        bool is_sequential, struct pack_cost *cost)
{
    if (n <= 0)
        return;
    cost->page_ns += n * pack_profile_at(&p->page, fmax(bytes / n, 1));
    cost->storage_ns += n * wait_ns(p, bytes / n, readers, is_sequential);
}

void
pack_cost_reader(const struct pack_profile *p, const struct pack_cost_reader_work *w,
                 uint64_t n_threads, struct pack_cost *cost)
{
    /* of a call of HDF5: measured side by side, with samples of 4 bytes in batches of 1 to
     * 1000 */
    static const double visit = 0.2, hand_over = 8;
    /* likewise, with chunks of one channel, of a column, of an image */
    static const double short_run = 0.0005, run = 0.005;
    double readers = (double)n_threads, used = w->n_loads + w->n_hits;
    *cost = (struct pack_cost){ .call_ns = p->call_ns * (visit * w->n_visits +
                                                         hand_over * w->n_batches),
                                .decode_ns = w->n_loads * w->chunk_bytes * w->decode_ns };
    if (used > 0)
        cost->copy_ns = w->copy_bytes / used *
                        (w->n_loads * pack_profile_at(&p->copy, fmax(w->chunk_bytes, 1)) +
                         w->n_hits * pack_profile_at(&p->copy, fmax(w->held_bytes, 1)));
    cost->copy_ns += deliver_ns(p, w->read_bytes, w->copy_bytes, w->batch_bytes);
    cost->copy_ns += p->call_ns * (short_run * w->n_short_runs + run * w->n_runs);
    read_ns(p, w->n_reads, w->read_bytes, readers, w->is_sequential, cost);
    read_ns(p, w->n_loads, w->load_bytes, readers, w->is_sequential, cost);
    cost->storage_ns *= 1 - w->page_cache_rate;
    cost->cpu_ns = cost->call_ns + cost->copy_ns + cost->page_ns + cost->decode_ns;
    cost->total_ns = cost->cpu_ns + cost->storage_ns;
}

double
pack_cost_reader_most(const struct pack_profile *p, const struct pack_cost_reader_work *w)
{
    static const double plan = 0.75; /* of a call, likewise: 0.5 to 1.2 */
    return w->n_visits > 0 ? 1e9 / (plan * p->call_ns * w->n_visits) : HUGE_VAL;
}

void
pack_cost_add(struct pack_cost *sum, const struct pack_cost *part, double times)
{
    sum->call_ns += times * part->call_ns;
    sum->copy_ns += times * part->copy_ns;
    sum->page_ns += times * part->page_ns;
    sum->storage_ns += times * part->storage_ns;
    sum->decode_ns += times * part->decode_ns;
    sum->walk_ns += times * part->walk_ns;
    sum->touch_ns += times * part->touch_ns;
    sum->cpu_ns += times * part->cpu_ns;
    sum->total_ns += times * part->total_ns;
}

double
pack_cost_rate(const struct pack_profile *profile, const struct pack_cost *cost,
               double n_samples, uint64_t workers)
{
    double own = (double)workers / cost->total_ns;
    double shared = (double)profile->n_cpus / cost->cpu_ns;
    return n_samples * 1e9 * fmin(own, shared);
}

double
pack_cost_page_cache_rate(enum pack_cost_order order, double file_bytes, double ram_bytes)
{
    if (ram_bytes >= file_bytes)
        return 1;
    double f = positive(ram_bytes) / file_bytes;
    switch (order) {
    case PACK_COST_PERMUTED: return f + (1 - f) * log1p(-f);
    case PACK_COST_INDEPENDENT: return f;
    default: return 0;
    }
}

/* What does not compress lies there as it is, and is copied. Of what does, decoding takes as
 * long as there is to decode, until all of it is short matches and literals: measured with
 * noise of 2 to 128 values, normal noise, random walks, runs and gradients with noise. */
static double
part_of(double stored_rate, double least, double slope)
{
    static const double as_it_is = 0.1; /* gzip's 0.4 of 4 ns, zstd's 0.08 of 1 */
    if (stored_rate >= 1)
        return as_it_is;
    return stored_rate <= 0 ? 1 : fmin(1, least + slope * stored_rate);
}

double
pack_cost_decode_ns(const struct pack_profile *profile,
                    const struct pack_pipeline *pipeline, double stored_rate)
{
    double ns = 0, zstd = part_of(stored_rate, 0.1, 4.5) * profile->zstd_decode_ns;
    for (int i = 0; i < pipeline->n; i++) {
        switch (pipeline->filter[i].id) {
        case PACK_FILTER_DEFLATE:
            ns += part_of(stored_rate, 0.4, 1) * profile->gzip_decode_ns;
            break;
        case PACK_FILTER_SHUFFLE: ns += profile->shuffle_decode_ns; break;
        case PACK_FILTER_FLETCHER32: ns += profile->fletcher32_decode_ns; break;
        default: ns += zstd;
        }
    }
    return ns;
}
