/*
 * Which HDF5 a caller means. h5py's wheels load theirs for themselves alone, so that
 * RTLD_NEXT knows nothing of it: the object that holds the return address is asked, and
 * what it was linked with. A program that is linked with HDF5 has it next; and what is
 * left is looked for in all objects there are.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "record/record.h"

herr_t H5Dread(hid_t, hid_t, hid_t, hid_t, hid_t, void *);

enum { CALLERS_MAX = 64, LIBRARIES_MAX = 8 };

static struct {
    _Atomic(void *) address;
    const struct record_hdf5 *hdf5;
    bool is_libpack;
} callers[CALLERS_MAX];
static struct record_hdf5 libraries[LIBRARIES_MAX];
static size_t n_callers, n_libraries;
static atomic_int busy;

/* H5Dread by this handle, unless it is ours. */
static void *
read_of(void *handle)
{
    void *symbol = handle ? dlsym(handle, "H5Dread") : NULL;
    return symbol == (void *)H5Dread ? NULL : symbol;
}

static void *
handle_of_caller(void *address)
{
    Dl_info info;
    struct link_map *map = NULL;
    if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !map || !*map->l_name)
        return NULL;
    return dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
}

static bool
is_in_libpack(void *address)
{
    Dl_info info;
    const char *name = NULL;
    if (dladdr(address, &info) && info.dli_fname)
        name = strrchr(info.dli_fname, '/');
    return name && strncmp(name + 1, "libpack", strlen("libpack")) == 0;
}

/* The `wanted`th object that may be an HDF5. */
struct named {
    int wanted;
    char name[RECORD_NAME_MAX];
};

static int
look_into(struct dl_phdr_info *info, size_t size, void *context)
{
    struct named *named = context;
    (void)size;
    if (!info->dlpi_name || !strstr(info->dlpi_name, "hdf5") ||
        strlen(info->dlpi_name) >= sizeof named->name || named->wanted-- > 0)
        return 0;
    strcpy(named->name, info->dlpi_name);
    return 1;
}

/* The linker's lock is let go before dlopen() wants another one. */
static void *
handle_of_any(void)
{
    for (int i = 0;; i++) {
        struct named named = { .wanted = i };
        if (dl_iterate_phdr(look_into, &named) == 0)
            return NULL;
        void *handle = dlopen(named.name, RTLD_LAZY | RTLD_NOLOAD);
        if (read_of(handle))
            return handle;
    }
}

static void *
handle_of(void *address)
{
    void *handle = handle_of_caller(address);
    if (read_of(handle))
        return handle;
    if (read_of(RTLD_NEXT))
        return RTLD_NEXT;
    return handle_of_any();
}

/* Names and where their addresses go. */
static bool
fill(struct record_hdf5 *h, void *handle)
{
    const struct {
        const char *name;
        void *to;
    } functions[] = {
        { "H5get_libversion", &h->libversion },
        { "H5Iis_valid", &h->is_valid },
        { "H5Iget_type", &h->id_type },
        { "H5Iget_name", &h->id_name },
        { "H5Fget_name", &h->file_name },
        { "H5Dget_space", &h->dataset_space },
        { "H5Dget_create_plist", &h->dataset_plist },
        { "H5Dget_access_plist", &h->dataset_access },
        { "H5Iget_file_id", &h->file_of },
        { "H5Fget_access_plist", &h->file_access },
        { "H5Fget_vfd_handle", &h->file_handle },
        { "H5Fclose", &h->file_close },
        { "H5Pget_layout", &h->plist_layout },
        { "H5Pget_chunk_cache", &h->plist_chunk_cache },
        { "H5Pget_cache", &h->plist_cache },
        { "H5Pget_chunk", &h->plist_chunk },
        { "H5Pclose", &h->plist_close },
        { "H5Sclose", &h->space_close },
        { "H5Sget_simple_extent_ndims", &h->space_rank },
        { "H5Sget_simple_extent_dims", &h->space_extent },
        { "H5Sget_select_type", &h->select_type },
        { "H5Sis_regular_hyperslab", &h->is_regular },
        { "H5Sget_regular_hyperslab", &h->regular },
        { "H5Sget_select_hyper_nblocks", &h->n_blocks },
        { "H5Sget_select_hyper_blocklist", &h->blocks },
        { "H5Sget_select_elem_npoints", &h->n_points },
        { "H5Sget_select_elem_pointlist", &h->points },
        { "H5Sget_select_bounds", &h->bounds },
    };
    bool all = true;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dlsym(handle, functions[i].name);
        memcpy(functions[i].to, &symbol, sizeof symbol);
        all = all && symbol;
    }
    return all;
}

static void
fill_reading(struct record_hdf5 *h, void *handle)
{
    const struct {
        const char *name;
        void *to;
    } functions[] = {
        { "H5Dread", &h->read },
        { "H5Dread_multi", &h->read_multi },
        { "H5Dread_chunk", &h->read_chunk },
        { "H5Dread_chunk1", &h->read_chunk1 },
        { "H5Dread_chunk2", &h->read_chunk2 },
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dlsym(handle, functions[i].name);
        memcpy(functions[i].to, &symbol, sizeof symbol);
    }
}

/* Ids had 32 bits before 1.10. */
static bool
has_wide_ids(const struct record_hdf5 *h)
{
    unsigned major = 0, minor = 0, release = 0;
    return h->libversion(&major, &minor, &release) >= 0 &&
           (major > 1 || (major == 1 && minor >= 10));
}

static const struct record_hdf5 *
library_of(void *handle)
{
    void *read = read_of(handle), *known;
    for (size_t i = 0; i < n_libraries; i++) {
        memcpy(&known, &libraries[i].read, sizeof known);
        if (known == read)
            return &libraries[i];
    }
    if (n_libraries == LIBRARIES_MAX)
        return NULL;
    struct record_hdf5 *h = &libraries[n_libraries++];
    fill_reading(h, handle);
    h->is_known = fill(h, handle) && has_wide_ids(h);
    return h;
}

static const struct record_hdf5 *
find(void *address)
{
    const struct record_hdf5 *h = NULL;
    size_t i = 0;
    while (i < n_callers && callers[i].address != address)
        i++;
    if (i < n_callers)
        return callers[i].hdf5;
    void *handle = handle_of(address);
    if (handle)
        h = library_of(handle);
    if (h && i < CALLERS_MAX) {
        callers[i].hdf5 = h;
        callers[i].is_libpack = is_in_libpack(address);
        callers[i].address = address; /* what it says is there before it is */
        n_callers++;
    }
    return h;
}

const struct record_hdf5 *
record_hdf5(void *return_address)
{
    for (size_t i = 0; i < CALLERS_MAX; i++) {
        void *address = atomic_load_explicit(&callers[i].address, memory_order_acquire);
        if (!address)
            break;
        if (address == return_address)
            return callers[i].hdf5;
    }
    record_lock(&busy);
    const struct record_hdf5 *h = find(return_address);
    record_unlock(&busy);
    return h;
}

bool
record_is_of_libpack(void *return_address)
{
    for (size_t i = 0; i < CALLERS_MAX; i++) {
        void *address = atomic_load_explicit(&callers[i].address, memory_order_acquire);
        if (!address || address == return_address)
            return address && callers[i].is_libpack;
    }
    return false;
}
