/*
 * A plugin that says to be blosc, for tests: blosc's header, then the bytes, each turned. As
 * real ones it has c-blosc in it, whose function without a lock decodes what the header's
 * first byte says to be of its version, 2.
 *
 * cd_values[0] says how it encodes: 0 well; 1 as another version, which only the plugin's own
 * function decodes; 2 the header says two gigabytes; 3 it says that more was stored; 4 that
 * there is less, which neither decodes whole.
 *
 * What happened is counted in blosc_n_called (the plugin's own function, decoding) and
 * blosc_n_decoded (c-blosc's). With blosc_meets, the latter waits until two threads were in
 * it at the same time, and fails when none comes.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <H5PLextern.h>

enum { ID = 32001, HEAD = 16, TURN = 0x3c, VERSION = 2, N_NAPS = 20000 };

int blosc_n_called, blosc_n_decoded, blosc_meets, blosc_met;
static int n_inside;

int blosc_cbuffer_validate(const void *stored, size_t stored_bytes, size_t *bytes);
int blosc_decompress_ctx(const void *stored, void *to, size_t to_bytes, int n_threads);

static void
put_number(unsigned char *at, size_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

static size_t
get_number(const unsigned char *at)
{
    return at[0] | at[1] << 8 | at[2] << 16 | (size_t)at[3] << 24;
}

static void
turn(const unsigned char *from, unsigned char *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from[i] ^ TURN;
}

/* Until another thread has come, for at most 20 seconds. */
static int
meet(void)
{
    const struct timespec nap = { .tv_nsec = 1000000 };
    if (__atomic_add_fetch(&n_inside, 1, __ATOMIC_SEQ_CST) > 1)
        __atomic_store_n(&blosc_met, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < N_NAPS && !__atomic_load_n(&blosc_met, __ATOMIC_SEQ_CST); i++)
        nanosleep(&nap, NULL);
    __atomic_sub_fetch(&n_inside, 1, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&blosc_met, __ATOMIC_SEQ_CST);
}

int
blosc_cbuffer_validate(const void *stored, size_t stored_bytes, size_t *bytes)
{
    const unsigned char *head = stored;
    if (stored_bytes < HEAD || get_number(head + 12) != stored_bytes)
        return -1;
    *bytes = get_number(head + 4);
    return 0;
}

int
blosc_decompress_ctx(const void *stored, void *to, size_t to_bytes, int n_threads)
{
    const unsigned char *head = stored;
    size_t n = get_number(head + 4);
    __atomic_add_fetch(&blosc_n_decoded, 1, __ATOMIC_SEQ_CST);
    if (head[0] != VERSION || n > to_bytes || n_threads != 1 || (blosc_meets && !meet()))
        return -1;
    turn(head + HEAD, to, n);
    return (int)n;
}

static size_t
filter(unsigned flags, size_t n_cd, const unsigned *cd, size_t size, size_t *capacity,
       void **buffer)
{
    int decodes = (flags & H5Z_FLAG_REVERSE) != 0, how = n_cd > 0 ? (int)cd[0] : 0;
    size_t made = decodes ? size - HEAD : size + HEAD;
    unsigned char *to = size < HEAD ? NULL : malloc(made);
    if (!to)
        return 0;
    if (decodes) {
        __atomic_add_fetch(&blosc_n_called, 1, __ATOMIC_SEQ_CST);
        turn((const unsigned char *)*buffer + HEAD, to, made);
    } else {
        memset(to, 0, HEAD);
        to[0] = how == 1 ? VERSION + 1 : VERSION;
        put_number(to + 4, how == 2 ? 0x7fffffff : how == 4 ? size - 1 : size);
        put_number(to + 12, how == 3 ? made + 1 : made);
        turn(*buffer, to + HEAD, size);
    }
    free(*buffer);
    *buffer = to;
    *capacity = made;
    return made;
}

static const H5Z_class2_t this_filter = {
    .version = H5Z_CLASS_T_VERS,
    .id = ID,
    .encoder_present = 1,
    .decoder_present = 1,
    .name = "fake blosc",
    .filter = filter,
};

H5PL_type_t
H5PLget_plugin_type(void)
{
    return H5PL_TYPE_FILTER;
}

const void *
H5PLget_plugin_info(void)
{
    return &this_filter;
}
