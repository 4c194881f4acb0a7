/*
 * A filter in a plugin, for tests: a head of four bytes, then the bytes it was given, each
 * turned. Built twice: with ALONE it calls HDF5 and fails when two threads are in it.
 *
 * cd_values[0] says how it decodes: 0 well; 1 it fails; 2 one byte too many; 3 three times as
 * many as there are; 4 it crashes.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <H5PLextern.h>

enum { HEAD = 4 };

#ifdef ALONE
enum { ID = 278, TURN = 0xa5 };
static int n_inside;

static int
enter(void)
{
    const struct timespec nap = { .tv_nsec = 100000 };
    unsigned major, minor, release;
    int n = __atomic_add_fetch(&n_inside, 1, __ATOMIC_SEQ_CST);
    H5get_libversion(&major, &minor, &release);
    nanosleep(&nap, NULL);
    __atomic_sub_fetch(&n_inside, 1, __ATOMIC_SEQ_CST);
    return n == 1;
}
#else
enum { ID = 277, TURN = 0x5a };

static int
enter(void)
{
    return 1;
}
#endif

static size_t
filter(unsigned flags, size_t n_cd, const unsigned *cd, size_t size, size_t *capacity,
       void **buffer)
{
    int decodes = (flags & H5Z_FLAG_REVERSE) != 0, how = n_cd > 0 ? (int)cd[0] : 0;
    size_t made = decodes ? size - HEAD : size + HEAD;
    const unsigned char *from = (const unsigned char *)*buffer + (decodes ? HEAD : 0);
    if (decodes && how == 4)
        abort();
    if (!enter() || (decodes && (how == 1 || size < HEAD || memcmp(*buffer, "turn", HEAD) != 0)))
        return 0;
    unsigned char *to = calloc(3, made + HEAD);
    if (!to)
        return 0;
    if (!decodes)
        memcpy(to, "turn", HEAD);
    for (size_t i = 0, n = decodes ? made : size; i < n; i++)
        to[i + (decodes ? 0 : HEAD)] = from[i] ^ TURN;
    free(*buffer);
    *buffer = to;
    *capacity = 3 * (made + HEAD);
    return made + (decodes && how == 2) + (decodes && how == 3 ? 2 * made : 0);
}

static const H5Z_class2_t this_filter = {
    .version = H5Z_CLASS_T_VERS,
    .id = ID,
    .encoder_present = 1,
    .decoder_present = 1,
    .name = "turn",
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
