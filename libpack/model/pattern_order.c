/*
 * The orders of an epoch. Those that can be are functions of the position: a permutation
 * that is computed, a hash of the position. The others are drawn sample by sample. Block
 * shuffles have a file of their own.
 */
#include "libpack/model/pattern_order.h"
#include "libpack/base/size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t
min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* -------------------------------------------------- sequential and shuffle */

static uint64_t
identity_at(struct pack_order *order, uint64_t position)
{
    (void)order;
    return position;
}

static void
shuffle_start(struct pack_order *order, uint64_t seed)
{
    pack_permutation_init(&order->permutation, order->n_samples, seed);
}

static uint64_t
shuffle_at(struct pack_order *order, uint64_t position)
{
    return pack_permutation_at(&order->permutation, position);
}

static void
shuffle_range(struct pack_order *order, uint64_t first, size_t count, uint64_t *samples)
{
    pack_permutation_range(&order->permutation, first, count, samples);
}

/* ------------------------------------------------------------------ buffer */

static enum pack_status
buffer_open(struct pack_order *order, const struct pack_pattern *pattern,
            struct pack_error *err)
{
    uint64_t bytes;
    order->buffer_size = min_u64(
        pattern->buffer_samples ? pattern->buffer_samples : 10000, order->n_samples);
    if (pack_size_mul(order->buffer_size, sizeof order->buffer[0], &bytes))
        order->buffer = malloc(bytes);
    return order->buffer ? PACK_OK : pack_fail_memory(err, "shuffle buffer");
}

static void
buffer_start(struct pack_order *order, uint64_t seed)
{
    pack_rng_seed(&order->rng, seed);
    for (uint64_t i = 0; i < order->buffer_size; i++)
        order->buffer[i] = i;
    order->n_buffered = order->next_sample = order->buffer_size;
}

static uint64_t
buffer_next(struct pack_order *order)
{
    uint64_t draw = pack_rng_below(&order->rng, order->n_buffered);
    uint64_t sample = order->buffer[draw];
    if (order->next_sample < order->n_samples)
        order->buffer[draw] = order->next_sample++;
    else
        order->buffer[draw] = order->buffer[--order->n_buffered];
    return sample;
}

/* -------------------------------------------------------------- with draws */

static enum pack_status
draws_open(struct pack_order *order, const struct pack_pattern *pattern,
           struct pack_error *err)
{
    (void)err;
    if (pattern->draws)
        order->length = pattern->draws;
    return PACK_OK;
}

static void
draws_start(struct pack_order *order, uint64_t seed)
{
    order->seed = seed;
}

static uint64_t
replacement_at(struct pack_order *order, uint64_t position)
{
    return pack_order_below(pack_order_word(order->seed, position), order->n_samples);
}

static enum pack_status
check_weights(const double *weights, uint64_t n, double *sum, struct pack_error *err)
{
    if (!weights)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "weights",
                               "pattern weighted has no weights");
    *sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (!(weights[i] >= 0) || !isfinite(weights[i]))
            return pack_fail_param(err, PACK_ERR_ARGUMENT, "weights",
                                   "weight %llu is %g, not a number of 0 or more",
                                   (unsigned long long)i, weights[i]);
        *sum += weights[i];
    }
    if (!(*sum > 0) || !isfinite(*sum))
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "weights", "weights add up to %g",
                               *sum);
    return PACK_OK;
}

/*
 * Vose's construction of Walker's table: scaled to a mean of 1, each sample below 1 gives
 * the rest of its column to one above. `stack` holds those below from the front, those
 * above from the back.
 */
static void
make_alias(struct pack_order *order, const double *weights, double sum, uint64_t *stack)
{
    uint64_t n = order->n_samples, n_below = 0, above = n, heaviest = 0;
    for (uint64_t i = 0; i < n; i++) {
        order->keep[i] = weights[i] / sum * (double)n;
        order->alias[i] = i;
        heaviest = weights[i] > weights[heaviest] ? i : heaviest;
        if (order->keep[i] < 1)
            stack[n_below++] = i;
        else
            stack[--above] = i;
    }
    while (n_below > 0 && above < n) {
        uint64_t low = stack[--n_below], high = stack[above];
        order->alias[low] = high;
        order->keep[high] -= 1 - order->keep[low];
        if (order->keep[high] < 1) {
            stack[n_below++] = high;
            above++;
        }
    }
    /* rounding leaves a few columns just below 1, which nobody fills up */
    while (n_below > 0)
        order->alias[stack[--n_below]] = heaviest;
}

static enum pack_status
weighted_open(struct pack_order *order, const struct pack_pattern *pattern,
              struct pack_error *err)
{
    double sum = 0;
    uint64_t n = order->n_samples, bytes;
    enum pack_status status = check_weights(pattern->weights, n, &sum, err);
    if (status)
        return status;
    if (!pack_size_mul(n, sizeof(uint64_t), &bytes))
        return pack_fail_memory(err, "table of weights");
    uint64_t *stack = malloc(bytes);
    order->keep = malloc(bytes);
    order->alias = malloc(bytes);
    if (stack && order->keep && order->alias)
        make_alias(order, pattern->weights, sum, stack);
    else
        status = pack_fail_memory(err, "table of weights");
    free(stack);
    return status ? status : draws_open(order, pattern, err);
}

static uint64_t
weighted_at(struct pack_order *order, uint64_t position)
{
    uint64_t word = pack_order_word(order->seed, position);
    uint64_t column = pack_order_below(word, order->n_samples);
    double coin = (double)(pack_order_word(word, position) >> 11) * 0x1p-53;
    return coin < order->keep[column] ? column : order->alias[column];
}

/* ------------------------------------------------------------------ tables */

static const struct pack_order_ops kinds[] = {
    [PACK_PATTERN_SEQUENTIAL] = { .at = identity_at },
    [PACK_PATTERN_SHUFFLE] = { NULL, shuffle_start, shuffle_at, shuffle_range, NULL },
    [PACK_PATTERN_BUFFER] = { buffer_open, buffer_start, NULL, NULL, buffer_next },
    [PACK_PATTERN_REPLACEMENT] = { draws_open, draws_start, replacement_at, NULL, NULL },
    [PACK_PATTERN_WEIGHTED] = { weighted_open, draws_start, weighted_at, NULL, NULL },
    [PACK_PATTERN_TRACE] = { .at = identity_at },
};

static const struct pack_order_ops *
ops_of(const struct pack_pattern *pattern)
{
    if (pattern->kind != PACK_PATTERN_BLOCK)
        return &kinds[pattern->kind];
    return pattern->slide   ? &pack_order_slide
           : pattern->local ? &pack_order_local
                            : &pack_order_refill;
}

enum pack_status
pack_order_open(struct pack_order *order, const struct pack_pattern *pattern,
                struct pack_error *err)
{
    order->ops = ops_of(pattern);
    order->n_samples = order->length =
        pattern->subset ? pattern->n_subset : pattern->n_samples;
    return order->ops->open ? order->ops->open(order, pattern, err) : PACK_OK;
}

uint64_t
pack_order_bytes(const struct pack_order *order)
{
    uint64_t n = 0; /* of things that are there, so that it fits */
    if (order->buffer)
        n += order->buffer_size * sizeof *order->buffer;
    if (order->keep)
        n += order->n_samples * (sizeof *order->keep + sizeof *order->alias);
    if (order->held)
        n += order->pool_chunks * sizeof *order->held;
    if (order->groups.first)
        n += 2 * (order->n_chunks + 1) * sizeof *order->groups.first;
    if (order->groups.member)
        n += order->n_samples * sizeof *order->groups.member;
    return n;
}

void
pack_order_close(struct pack_order *order)
{
    pack_order_groups_done(&order->groups);
    free(order->held);
    free(order->buffer);
    free(order->keep);
    free(order->alias);
}

void
pack_order_start(struct pack_order *order, uint64_t seed)
{
    if (order->ops->start)
        order->ops->start(order, seed);
}
