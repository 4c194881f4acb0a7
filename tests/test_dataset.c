/*
 * Which dataset an operand means, for all who open one. As `test_dataset make` it only
 * writes the files, for tests/datasets.sh, which asks the programs the same.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/advise/advise_file.h"
#include "libpack/hdf5/h5_parts.h"
#include "libpack/hdf5/readset.h"
#include "tests/tap.h"

/* ------------------------------------------------------------------------- files */

/* A dataset of uint8; rank 0: a single value. Groups on the way are made. */
static bool
put(hid_t file, const char *path, int rank, hsize_t n)
{
    const hsize_t extent[2] = { n, 3 };
    hid_t links = H5Pcreate(H5P_LINK_CREATE);
    hid_t space = rank ? H5Screate_simple(rank, extent, NULL) : H5Screate(H5S_SCALAR);
    H5Pset_create_intermediate_group(links, 1);
    hid_t set =
        H5Dcreate2(file, path, H5T_STD_U8LE, space, links, H5P_DEFAULT, H5P_DEFAULT);
    H5Sclose(space);
    H5Pclose(links);
    return set >= 0 && H5Dclose(set) >= 0;
}

/* NAME and its datasets, each "path" of 40 x 3, or "path=N" of N x 3, "path!" a value. */
static bool
make(const char *name, const char *datasets)
{
    char all[256], *save = NULL;
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    bool done = file >= 0;
    snprintf(all, sizeof all, "%s", datasets);
    for (char *at = strtok_r(all, " ", &save); at; at = strtok_r(NULL, " ", &save)) {
        size_t end = strcspn(at, "!=");
        char mark = at[end];
        at[end] = '\0';
        done = done && put(file, at, mark == '!' ? 0 : 2,
                           mark == '=' ? strtoull(at + end + 1, NULL, 10) : 40);
    }
    return file >= 0 && H5Fclose(file) >= 0 && done;
}

static bool
make_all(void)
{
    mkdir("col:", 0777);
    return make("images.h5", "a data images") && make("data.h5", "a data train/images") &&
           make("only.h5", "version! none=0 train/x") && make("several.h5", "a b/c d") &&
           make("values.h5", "version! none=0") && make("nothing.h5", "") &&
           make("col:/on.h5", "x") && make("x.h5", "a:/b c") &&
           make("other.h5", "images a/c");
}

/* ------------------------------------------------------------------------- tests */

static const struct {
    const char *operand, *path, *sentence;
} cases[] = {
    { "images.h5", "images", NULL },
    { "data.h5", "data", NULL },
    { "only.h5", "train/x", NULL },
    { "several.h5", NULL,
      "'several.h5' holds 3 datasets, none of them 'images' or 'data'; name one as "
      "FILE:/PATH: /a, /b/c, /d" },
    { "several.h5:/b/c", "b/c", NULL },
    { "several.h5://b/c", "b/c", NULL },
    { "several.h5:/b", NULL, "'several.h5': 'b' is a group, not a dataset" },
    { "several.h5:/e", NULL, "'several.h5': there is no dataset 'e'" },
    { "several.h5:/", NULL, "'several.h5': '/' is a group, not a dataset" },
    { "values.h5", NULL, "'values.h5' holds no dataset with samples" },
    { "values.h5:/none", NULL, "'values.h5:/none' is empty" },
    { "values.h5:/version", NULL,
      "'values.h5:/version' is a single value, not an array of samples" },
    { "nothing.h5", NULL, "'nothing.h5' holds no dataset with samples" },
    { "col:/on.h5", "x", NULL },
    { "col:/on.h5:/x", "x", NULL },
    { "x.h5:/a:/b", "a:/b", NULL },
};

/* The same from whoever opens it. */
static void
test_operand(size_t i)
{
    struct pack_error one = { 0 }, two = { 0 };
    struct pack_advise_file *file = NULL;
    struct pack_readset *set = NULL;
    const char *operand = cases[i].operand, *path = cases[i].path;
    bool opened = pack_advise_file_open(operand, &file, &one) == PACK_OK;
    bool is_set = pack_readset_open(&operand, 1, NULL, &set, &two) == PACK_OK;
    bool good = opened == (path != NULL) && is_set == opened;
    if (good && opened)
        good = strcmp(pack_advise_file_data(file)->path, path) == 0 &&
               strcmp(set->dataset, path) == 0;
    else if (good)
        good = strcmp(one.text, cases[i].sentence) == 0 && strcmp(two.text, one.text) == 0 &&
               one.status == two.status;
    ok(good, "%s: %s%s", operand, path ? "/" : cases[i].sentence, path ? path : "");
    if (!good)
        note("'%s' and '%s'", one.text, two.text);
    pack_advise_file_close(file);
    pack_readset_close(set);
}

static void
test_list(void)
{
    struct pack_readset *set = NULL;
    struct pack_error err = { 0 };
    const char *operand = "many.h5";
    char name[64];
    hid_t h5 = H5Fcreate(operand, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    for (int i = 0; i < 46; i++) {
        snprintf(name, sizeof name, "a_name_of_some_length/%02d", i);
        put(h5, name, 2, 4);
    }
    H5Fclose(h5);
    pack_readset_open(&operand, 1, NULL, &set, &err);
    size_t length = strlen(err.text);
    ok(!set && strncmp(err.text, "'many.h5' holds 46 datasets", 27) == 0 &&
           length > 5 && length < 600 && strcmp(err.text + length - 5, ", ...") == 0,
       "a list that is too long for a sentence ends after a whole name");
    if (length)
        note("%s", err.text);
}

/* A type may say that its elements take megabytes; buffers that measure are smaller. */
static void
test_large_elements(void)
{
    struct pack_advise_file *file = NULL;
    struct pack_error err = { 0 };
    const hsize_t n = 100;
    hid_t h5 = H5Fcreate("large.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t type = H5Tcopy(H5T_STD_I32LE), space = H5Screate_simple(1, &n, NULL);
    H5Tset_size(type, 2 << 20);
    hid_t set =
        H5Dcreate2(h5, "x", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (set >= 0)
        H5Dclose(set);
    H5Sclose(space);
    H5Tclose(type);
    H5Fclose(h5);
    h5 = H5Fopen("large.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    H5E_BEGIN_TRY
    {
        set = H5Dopen2(h5, "x", H5P_DEFAULT);
    }
    H5E_END_TRY
    bool is_read = set >= 0 && H5Dclose(set) >= 0; /* some versions refuse them themselves */
    H5Fclose(h5);
    enum pack_status status = pack_advise_file_open("large.h5", &file, &err);
    ok(is_read ? status == PACK_ERR_UNSUPPORTED && strcmp(err.text,
               "'large.h5:/x' has elements of 2097152 bytes: no numbers are so large") == 0
               : status != PACK_OK && strstr(err.text, "'large.h5") != NULL,
       "elements of megabytes are refused: %s", err.text);
    pack_advise_file_close(file);
}

static void
test_parts(void)
{
    struct pack_readset *set = NULL;
    struct pack_error err = { 0 };
    const char *same[] = { "images.h5", "other.h5:/images" };
    const char *different[] = { "other.h5:/images", "several.h5:/a" };
    const char *named[] = { "several.h5", "other.h5" };
    ok(pack_readset_open(same, 2, NULL, &set, &err) == PACK_OK &&
           set->extent.extent[0] == 80,
       "a dataset that was found and the same one by name are one set");
    pack_readset_close(set);
    set = NULL;
    ok(pack_readset_open(different, 2, NULL, &set, &err) == PACK_ERR_ARGUMENT &&
           strstr(err.text, "'images' and 'a' are different datasets"),
       "different datasets are not");
    ok(pack_readset_open(named, 1, "/b/c", &set, &err) == PACK_OK &&
           strcmp(set->dataset, "b/c") == 0,
       "a path given for all operands is that of each");
    pack_readset_close(set);
}

int
main(int argc, char **argv)
{
    (void)argv;
    pack_h5_quiet();
    if (argc > 1)
        return make_all() ? 0 : 1;
    char folder[] = "test_dataset.XXXXXX";
    if (!mkdtemp(folder) || chdir(folder) != 0 || !ok(make_all(), "files are written"))
        return done();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        test_operand(i);
    test_list();
    test_large_elements();
    test_parts();
    unlink("col:/on.h5");
    rmdir("col:");
    static const char *const files[] = { "images.h5", "data.h5",    "only.h5", "several.h5",
                                         "values.h5", "nothing.h5", "x.h5",    "many.h5",
                                         "other.h5",  "large.h5" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(files[i]);
    bool left = chdir("..") == 0 && rmdir(folder) == 0;
    ok(left, "and nothing is left behind");
    return done();
}
