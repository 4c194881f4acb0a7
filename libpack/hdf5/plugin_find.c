/*
 * A plugin is a shared library with two functions: H5PLget_plugin_type() says that it is a
 * filter, H5PLget_plugin_info() gives the struct that HDF5 would register, with the function
 * that does the work.
 */
#include "libpack/hdf5/plugin_find.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "libpack/hdf5/filter.h"
#include "libpack/hdf5/hdf5_versions.h"

enum { PATH_BYTES_MAX = 4096, BZIP2 = 307, BLOSC = 32001 };

/* Not known to be good for several threads: sz and its successor keep their settings in
 * variables of the library, blosc locks itself, but for one function, and blosc2 gives back
 * what is everybody's when it cannot decode a chunk. */
static const uint32_t not_reentrant[] = { BLOSC, 32017, 32024, 32026 };

/* Some plugins use libm without saying so. */
static void
offer_libm(void)
{
    dlopen("libm.so.6", RTLD_LAZY | RTLD_GLOBAL);
}

/* Whether the library wants functions of HDF5's: symbols without a place come first in its
 * table, up to the one where the hash table begins. */
static bool
calls_hdf5(void *library)
{
    struct link_map *map = NULL;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    const uint32_t *hash = NULL;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0)
        return true;
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB)
            symbols = (const void *)d->d_un.d_ptr;
        else if (d->d_tag == DT_STRTAB)
            names = (const char *)d->d_un.d_ptr;
        else if (d->d_tag == DT_GNU_HASH)
            hash = (const void *)d->d_un.d_ptr;
    }
    if (!symbols || !names || !hash)
        return true;
    for (uint32_t i = 1; i < hash[1]; i++)
        if (symbols[i].st_shndx == SHN_UNDEF &&
            strncmp(names + symbols[i].st_name, "H5", 2) == 0)
            return true;
    return false;
}

static bool
is_reentrant(uint32_t id)
{
    for (size_t i = 0; i < sizeof not_reentrant / sizeof *not_reentrant; i++)
        if (id == not_reentrant[i])
            return false;
    return true;
}

/* The functions that c-blosc 1.16 and later have, of a library that is c-blosc, has it in it, or
 * is linked with it. */
static bool
find_blosc(void *library, struct pack_plugin_blosc *blosc)
{
    if (!library)
        return false;
    *(void **)&blosc->validate = dlsym(library, "blosc_cbuffer_validate");
    *(void **)&blosc->decompress =
        blosc->validate ? dlsym(library, "blosc_decompress_ctx") : NULL;
    return blosc->decompress != NULL;
}

/* Whether the file is a plugin that decodes the filter. */
static bool
load(const char *path, uint32_t id, struct pack_plugin *plugin)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        return false;
    H5PL_type_t (*type)(void);
    const void *(*info)(void);
    *(void **)&type = dlsym(library, "H5PLget_plugin_type");
    *(void **)&info = dlsym(library, "H5PLget_plugin_info");
    const H5Z_class2_t *filter = type && info && type() == H5PL_TYPE_FILTER ? info() : NULL;
    if (!filter || filter->version != H5Z_CLASS_T_VERS || filter->id != (H5Z_filter_t)id ||
        !filter->decoder_present || !filter->filter) {
        dlclose(library);
        return false;
    }
    *plugin = (struct pack_plugin){ .id = id,
                                    .call = *(void *const *)&filter->filter,
                                    .alone = !is_reentrant(id) || calls_hdf5(library) };
    if (id == BLOSC)
        find_blosc(library, &plugin->blosc);
    return true;
}

static bool
find_in_folder(const char *folder, uint32_t id, struct pack_plugin *plugin)
{
    char path[PATH_BYTES_MAX];
    DIR *dir = opendir(folder);
    bool found = false;
    if (!dir)
        return false;
    for (struct dirent *entry; !found && (entry = readdir(dir));) {
        int n = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (strncmp(entry->d_name, "lib", 3) == 0 && strstr(entry->d_name, ".so") &&
            n < (int)sizeof path)
            found = load(path, id, plugin);
    }
    closedir(dir);
    return found;
}

/* In HDF5's folders. */
static bool
find_plugin(uint32_t id, struct pack_plugin *plugin)
{
    char folder[PATH_BYTES_MAX];
    unsigned n = 0;
    if (H5PLsize(&n) < 0)
        return false;
    offer_libm();
    for (unsigned i = 0; i < n; i++) {
        ssize_t length = H5PLget(i, folder, sizeof folder);
        if (length > 0 && length < (ssize_t)sizeof folder && find_in_folder(folder, id, plugin))
            return true;
    }
    return false;
}

static bool
find_bzip2(struct pack_plugin *plugin)
{
    void *library = dlopen("libbz2.so.1.0", RTLD_NOW | RTLD_LOCAL);
    if (library)
        *(void **)&plugin->bunzip2 = dlsym(library, "BZ2_bzBuffToBuffDecompress");
    if (plugin->bunzip2)
        plugin->id = BZIP2;
    return plugin->bunzip2 != NULL;
}

/* A plugin; for blosc the library itself, too, and for bzip2 rather. */
static bool
find(uint32_t id, struct pack_plugin *plugin)
{
    unsigned allowed = 0;
    if (H5PLget_loading_state(&allowed) < 0 || !(allowed & H5PL_FILTER_PLUGIN))
        return false;
    if (id == BZIP2 && find_bzip2(plugin))
        return true;
    bool found = find_plugin(id, plugin);
    if (id != BLOSC || plugin->blosc.decompress)
        return found;
    if (find_blosc(dlopen("libblosc.so.1", RTLD_NOW | RTLD_LOCAL), &plugin->blosc))
        plugin->id = id, found = true;
    return found;
}

bool
pack_plugins_find(const struct pack_pipeline *pipeline, struct pack_plugins *plugins,
                  uint32_t *id)
{
    for (int i = 0; i < pipeline->n; i++) {
        const struct pack_filter *filter = &pipeline->filter[i];
        const struct pack_pipeline single = { .n = 1, .filter = { *filter } };
        plugins->filter[i] = (struct pack_plugin){ 0 };
        if (pack_pipeline_is_decoded(&single, NULL) ||
            (filter->n_cd <= PACK_FILTER_CD_MAX && find(filter->id, &plugins->filter[i])))
            continue;
        if (id)
            *id = filter->id;
        return false;
    }
    return true;
}
