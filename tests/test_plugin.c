/*
 * The zstd filter registered by the program and loaded as a plugin, alone, together and
 * in either order. With arguments, `write FILE` and `read FILE` do one half with the
 * program's own filter; test_plugin.sh lets others do the other half.
 */
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_parts.h"
#include "tests/tap.h"

enum { HEIGHT = 100, WIDTH = 90 };

static const char path[] = "test_plugin.tmp.h5";

static uint16_t
value(int y, int x)
{
    return (uint16_t)(y * 7 + x * 3);
}

static bool
write_file(const char *name)
{
    hsize_t dims[] = { HEIGHT, WIDTH }, chunk[] = { 30, 40 };
    const unsigned level = 5;
    uint16_t data[HEIGHT * WIDTH];
    for (int i = 0; i < HEIGHT * WIDTH; i++)
        data[i] = value(i / WIDTH, i % WIDTH);
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, dims, NULL);
    H5Pset_chunk(dcpl, 2, chunk);
    H5Pset_shuffle(dcpl);
    H5Pset_filter(dcpl, PACK_FILTER_ZSTD, 0, 1, &level);
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t set =
        H5Dcreate2(file, "x", H5T_STD_U16LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    bool good = set >= 0 && H5Dwrite(set, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL,
                                     H5P_DEFAULT, data) >= 0;
    if (set >= 0)
        good &= H5Dclose(set) >= 0;
    good &= H5Fclose(file) >= 0;
    H5Sclose(space);
    H5Pclose(dcpl);
    return good;
}

static bool
read_file(const char *name)
{
    uint16_t data[HEIGHT * WIDTH];
    hid_t file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t set = file < 0 ? -1 : H5Dopen2(file, "x", H5P_DEFAULT);
    bool good = set >= 0 && H5Dget_storage_size(set) < sizeof data &&
                H5Dread(set, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    for (int i = 0; good && i < HEIGHT * WIDTH; i++)
        good = data[i] == value(i / WIDTH, i % WIDTH);
    if (set >= 0)
        H5Dclose(set);
    if (file >= 0)
        H5Fclose(file);
    return good;
}

/* Each in a fresh process: what HDF5 has loaded stays loaded. */
static bool
in_child(bool (*test)(void), const char *plugins)
{
    fflush(stdout);
    pid_t child = fork();
    int status = -1;
    if (child == 0) {
        setenv("HDF5_PLUGIN_PATH", plugins, 1);
        pack_h5_quiet();
        _exit(test() ? 0 : 1);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool
neither(void)
{
    return H5Zfilter_avail(PACK_FILTER_ZSTD) == 0 && !read_file(path) &&
           !write_file(path);
}

static bool
program_only(void)
{
    return pack_h5_register_zstd(NULL) == PACK_OK && write_file(path) && read_file(path);
}

static bool
plugin_only(void)
{
    return read_file(path) && write_file(path) && read_file(path);
}

static bool
plugin_then_program(void)
{
    return H5Zfilter_avail(PACK_FILTER_ZSTD) > 0 && read_file(path) && program_only() &&
           plugin_only();
}

static bool
program_then_plugin(void)
{
    return program_only() && H5Zunregister(PACK_FILTER_ZSTD) >= 0 && plugin_only() &&
           program_only();
}

int
main(int argc, char **argv)
{
    char plugins[4096];
    const char *top = getenv("top_builddir");
    if (argc == 3) {
        pack_h5_quiet();
        bool writes = strcmp(argv[1], "write") == 0;
        return pack_h5_register_zstd(NULL) != PACK_OK ||
               !(writes ? write_file(argv[2]) : read_file(argv[2]));
    }
    snprintf(plugins, sizeof plugins, "%s/.libs", top ? top : ".");
    ok(in_child(program_only, "/nonexistent"),
       "the program's own filter writes and reads");
    snprintf(plugins + strlen(plugins), 32, "/libh5pack_zstd.so");
    if (access(plugins, R_OK) == 0) {
        *strrchr(plugins, '/') = '\0';
        ok(in_child(plugin_only, plugins), "so does the plugin");
        ok(in_child(plugin_then_program, plugins), "and both, the plugin first");
        ok(in_child(program_then_plugin, plugins), "and both, the program's first");
    } else {
        skip("the plugin was not built");
    }
    ok(in_child(neither, "/nonexistent"), "linking libpack alone registers nothing");
    unlink(path);
    return done();
}
