/*
 * Which dataset an operand means, for all who open one. As `test_dataset make` it only
 * writes the files, for tests/datasets.sh, which asks the programs the same.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/advise/advise_file.h"
#include "libpack/hdf5/h5_boxes.h"
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
      "'several.h5' holds 3 datasets, none of them 'images' or 'data': /a, /b/c, /d" },
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
    bool opened = pack_advise_file_open(operand, NULL, &file, &one) == PACK_OK;
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
    enum pack_status status = pack_advise_file_open("large.h5", NULL, &file, &err);
    ok(is_read ? status == PACK_ERR_UNSUPPORTED && strcmp(err.text,
               "'large.h5:/x' has elements of 2097152 bytes: no numbers are so large") == 0
               : status != PACK_OK && strstr(err.text, "'large.h5") != NULL,
       "elements of megabytes are refused: %s", err.text);
    pack_advise_file_close(file);
}

/* A file with a dataset x without chunks. */
static void
make_bytes(const char *name, const hsize_t extent[2], const void *data)
{
    hid_t h5 = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, extent, NULL);
    hid_t set =
        H5Dcreate2(h5, "x", H5T_STD_U8LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    H5Dclose(set);
    H5Sclose(space);
    H5Fclose(h5);
}

/* One of several chunk shapes and codecs after the others, and by itself. */
static void
test_remembered(void)
{
    enum { ROWS = 512, WIDTH = 1024 };
    static const char *const codecs[] = { "gzip:4", "zstd:3", "gzip:9" };
    static unsigned char data[ROWS][WIDTH];
    const hsize_t extent[2] = { ROWS, WIDTH };
    struct pack_profile profile;
    struct pack_advise_file *file = NULL;
    double rates[4][3] = { { 0 } };
    uint32_t state = 1;
    for (size_t y = 0; y < ROWS; y++) /* the further, the less it compresses */
        for (size_t x = 0; x < WIDTH; x++) {
            state = state * 1103515245 + 12345;
            data[y][x] = (unsigned char)((state >> 16) % (1 + y / 3));
        }
    make_bytes("pieces.h5", extent, data);
    bool done = pack_profile_named("nvme", &profile, NULL) == PACK_OK &&
                pack_advise_file_open("pieces.h5", NULL, &file, NULL) == PACK_OK;
    if (done)
        pack_advise_file_use(file, NULL, &profile);
    int n_same = 0;
    for (int i = 0; done && i < 4; i++) {
        const struct pack_shape chunk = { 2, { (uint64_t)ROWS >> i, WIDTH } };
        for (int k = 0; done && k < 3; k++) {
            struct pack_advise_file *fresh = NULL;
            double rate = 0, decode_ns;
            done = pack_advise_file_open("pieces.h5", NULL, &fresh, NULL) == PACK_OK;
            if (!done)
                break;
            pack_advise_file_use(fresh, NULL, &profile);
            done = pack_advise_file_measure(fresh, &chunk, codecs[k], &rate, &decode_ns,
                                            NULL) == PACK_OK &&
                   pack_advise_file_measure(file, &chunk, codecs[k], &rates[i][k],
                                            &decode_ns, NULL) == PACK_OK;
            n_same += rate == rates[i][k];
            pack_advise_file_close(fresh);
        }
    }
    pack_advise_file_close(file);
    bool differ = true;
    for (int i = 3; i < 12; i++) /* the largest are cut to those of half their size */
        for (int k = 3; k < i; k++)
            differ = differ && rates[i / 3][i % 3] != rates[k / 3][k % 3];
    for (int k = 0; k < 3; k++) /* of which small ones reach further */
        differ = differ && rates[3][k] > rates[1][k];
    ok(done && differ,
       "each size of chunks and each codec stores another part of the data");
    is_number(n_same, 12, "and the same ones whatever was asked before");
}

/* Only an eighth compresses to nothing less: that large chunks begin with it says little. */
static void
test_spread(void)
{
    enum { ROWS = 512, WIDTH = 4096 };
    static unsigned char data[ROWS][WIDTH];
    const hsize_t extent[2] = { ROWS, WIDTH };
    struct pack_profile profile;
    struct pack_advise_file *file = NULL;
    double rates[4] = { 0 }, decode_ns;
    uint32_t state = 1;
    for (size_t y = 0; y < ROWS / 8; y++)
        for (size_t x = 0; x < WIDTH; x++) {
            state = state * 1103515245 + 12345;
            data[y][x] = (unsigned char)(state >> 16);
        }
    make_bytes("spread.h5", extent, data);
    bool done = pack_profile_named("nvme", &profile, NULL) == PACK_OK &&
                pack_advise_file_open("spread.h5", NULL, &file, NULL) == PACK_OK;
    if (done)
        pack_advise_file_use(file, NULL, &profile);
    for (int i = 0; done && i < 4; i++) {
        const struct pack_shape chunk = { 2, { (uint64_t)ROWS >> i, WIDTH } };
        done = pack_advise_file_measure(file, &chunk, "zstd:3", &rates[i], &decode_ns,
                                        NULL) == PACK_OK;
    }
    pack_advise_file_close(file);
    ok(done && rates[0] > 0.2 && rates[0] < 0.3 && rates[1] == rates[0] &&
           rates[2] == rates[0] && rates[3] == rates[0],
       "pieces of large chunks are from all of the data, and the same ones: %g, %g, %g, %g",
       rates[0], rates[1], rates[2], rates[3]);
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
    ok(set->n_parts == 2 && set->parts[1].first == 40 && pack_readset_find(set, 0) == 0 &&
           pack_readset_find(set, 39) == 0 && pack_readset_find(set, 40) == 1 &&
           pack_readset_find(set, 79) == 1 && set->sample_bytes == 3,
       "whose samples are in one file or the other");
    pack_readset_close(set);
    set = NULL;
    ok(pack_readset_open(different, 2, NULL, &set, &err) == PACK_ERR_ARGUMENT &&
           strstr(err.text, "'images' and 'a' are different datasets"),
       "different datasets are not");
    ok(pack_readset_open(different, 1, "b/c", &set, &err) == PACK_ERR_ARGUMENT && err.param &&
           strcmp(err.param, "dataset") == 0,
       "nor is one with two names: %s", err.text);
    ok(pack_readset_open(named, 1, "/b/c", &set, &err) == PACK_OK &&
           strcmp(set->dataset, "b/c") == 0,
       "a path given for all operands is that of each");
    pack_readset_close(set);
}

/* NAME with a dataset images of two dimensions, 4 x `width`, of a type. */
static void
make_images(const char *name, hid_t type, hsize_t width, bool is_filtered)
{
    const hsize_t extent[2] = { 4, width }, chunk[2] = { 1, width };
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, extent, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    if (is_filtered) { /* a filter that nobody has, which is no obstacle to making it */
        H5Pset_chunk(list, 2, chunk);
        H5Pset_filter(list, 32001, H5Z_FLAG_OPTIONAL, 0, NULL);
    }
    H5Dclose(H5Dcreate2(file, "images", type, space, H5P_DEFAULT, list, H5P_DEFAULT));
    H5Pclose(list);
    H5Sclose(space);
    H5Fclose(file);
}

/* What cannot be read as samples, alone or behind images of 4 x 3 bytes. */
static void
test_elements(void)
{
    static const char *const names[] = { "bytes.h5", "odd.h5" };
    struct pack_error err = { 0 };
    struct pack_readset *set = NULL;
    hid_t text = H5Tcopy(H5T_C_S1), list = H5Tvlen_create(H5T_STD_U8LE),
          pair = H5Tcreate(H5T_COMPOUND, 2), five = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, H5T_VARIABLE);
    H5Tset_size(five, 5);
    H5Tinsert(pair, "a", 0, H5T_STD_U8LE);
    H5Tinsert(pair, "b", 1, H5T_STD_U8LE);
    const struct {
        hid_t type;
        hsize_t width;
        const char *alone, *behind;
    } cases[] = {
        { H5T_STD_U8LE, 3, NULL, NULL },
        { H5T_STD_I8LE, 3, NULL, NULL }, /* as large, and integers, too */
        { H5T_STD_U8LE, 5, NULL,
          "'bytes.h5' and 'odd.h5' are not parts of one dataset: samples of 1x3 x 1 bytes "
          "and of 1x5 x 1 bytes" },
        { H5T_STD_U16LE, 3, NULL,
          "'bytes.h5' and 'odd.h5' are not parts of one dataset: samples of 1x3 x 1 bytes "
          "and of 1x3 x 2 bytes" },
        { H5T_STD_B8LE, 3, NULL,
          "'bytes.h5' and 'odd.h5' are not parts of one dataset: samples of 1x3 x 1 bytes "
          "and of 1x3 x 1 bytes" },
        { five, 3, NULL,
          "'bytes.h5' and 'odd.h5' are not parts of one dataset: samples of 1x3 x 1 bytes "
          "and of 1x3 x 5 bytes" },
        { text, 3, "'odd.h5:/images' holds elements of type ", NULL },
        { list, 3, "'odd.h5:/images' holds elements of type ", NULL },
        { pair, 3, "'odd.h5:/images' holds elements of type ", NULL },
    };
    make_images(names[0], H5T_STD_U8LE, 3, false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pack_error two = { 0 };
        make_images(names[1], cases[i].type, cases[i].width, false);
        err = two;
        bool alone = pack_readset_open(&names[1], 1, NULL, &set, &err) == PACK_OK;
        if (alone)
            pack_readset_close(set);
        bool behind = pack_readset_open(names, 2, NULL, &set, &two) == PACK_OK;
        if (behind)
            pack_readset_close(set);
        const char *want = cases[i].alone ? cases[i].alone : "";
        const char *want_two = cases[i].behind ? cases[i].behind : want;
        bool right = alone == !cases[i].alone && behind == (!cases[i].alone && !cases[i].behind) &&
                     strncmp(err.text, want, strlen(want)) == 0 &&
                     (alone || strstr(err.text, "; only numbers, bits, texts of fixed size and "
                                                "opaque values can be read")) &&
                     strncmp(two.text, want_two, strlen(want_two)) == 0;
        ok(right, "elements of case %d: '%s', '%s'", (int)i, err.text, two.text);
    }
    make_images(names[1], H5T_STD_U8LE, 3, true);
    ok(pack_readset_open(&names[1], 1, NULL, &set, &err) == PACK_OK &&
           pack_readset_check_filters(set, &err) == PACK_ERR_UNSUPPORTED &&
           strstr(err.text, "'odd.h5:/images' cannot be decoded here: it "),
       "a filter that is not there is named: %s", err.text);
    pack_readset_close(set);
    H5Tclose(text);
    H5Tclose(list);
    H5Tclose(pair);
    H5Tclose(five);
    unlink(names[0]);
    unlink(names[1]);
}

/* ------------------------------------------------------------------------- boxes */

enum { ROWS = 7, COLUMNS = 5, MANY_CHUNKS = 100000 };

/* 7 x 5 numbers of two bytes in chunks of 3 x 2, the number 10 * row + column in each. */
static void
make_boxes(void)
{
    const hsize_t extent[2] = { ROWS, COLUMNS }, chunk[2] = { 3, 2 };
    uint16_t data[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        data[i] = (uint16_t)(i / COLUMNS * 10 + i % COLUMNS);
    hid_t file = H5Fcreate("boxes.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, extent, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(list, 2, chunk);
    H5Pset_fletcher32(list);
    hid_t set = H5Dcreate2(file, "x", H5T_STD_U16LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    H5Dwrite(set, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    H5Dclose(set);
    H5Pclose(list);
    H5Sclose(space);
    H5Fclose(file);
}

/* Reads boxes, up to three, given as start and count; the rest are of no rows. */
static enum pack_status
read_boxes(struct pack_h5_boxes *r, const uint64_t boxes[3][4], uint16_t *out,
           struct pack_error *err)
{
    struct pack_box box[3];
    size_t n = 0;
    for (; n < 3 && boxes[n][2]; n++)
        box[n] = (struct pack_box){ .rank = 2,
                                    .start = { boxes[n][0], boxes[n][1] },
                                    .count = { boxes[n][2], boxes[n][3] } };
    return pack_h5_boxes_read(r, box, n, out, NULL, err);
}

static void
test_boxes(bool reopens)
{
    static const struct {
        uint64_t boxes[3][4];
        const char *says; /* NULL: it is read */
    } cases[] = {
        { { { 0, 0, 7, 5 } }, NULL },
        { { { 6, 4, 1, 1 } }, NULL },
        { { { 2, 1, 3, 3 } }, NULL },
        { { { 0, 0, 1, 5 }, { 2, 0, 2, 5 }, { 6, 0, 1, 5 } }, NULL },
        { { { 0, 1, 2, 2 }, { 5, 1, 1, 2 } }, NULL },
        { { { 0, 0, 8, 5 } }, "box ends at 0+8 on axis 0 of 'boxes.h5:/x', which has 7" },
        { { { 6, 0, 2, 5 } }, "box ends at 6+2 on axis 0 of 'boxes.h5:/x', which has 7" },
        { { { 8, 0, 1, 5 } }, "box ends at 8+1 on axis 0 of 'boxes.h5:/x', which has 7" },
        { { { 1, 3, 1, 3 } }, "box ends at 3+3 on axis 1 of 'boxes.h5:/x', which has 5" },
        { { { 0, 0, 1, 5 }, { 6, 0, 3, 5 } },
          "box ends at 6+3 on axis 0 of 'boxes.h5:/x', which has 7" },
        { { { 1, 0, UINT64_MAX, 5 } },
          "box ends at 1+18446744073709551615 on axis 0 of 'boxes.h5:/x', which has 7" },
        { { { 3, 2, 4, 1 } }, NULL },
    };
    struct pack_h5_boxes_params how = { .file = "boxes.h5", .dataset = "//x",
                                        .reopen = reopens };
    struct pack_h5_boxes *r = NULL;
    struct pack_error err = { .text = "" };
    if (!ok(pack_h5_boxes_open(&how, &r, &err) == PACK_OK &&
                pack_h5_boxes_extent(r)->rank == 2 &&
                pack_h5_boxes_extent(r)->extent[0] == ROWS &&
                pack_h5_boxes_extent(r)->extent[1] == COLUMNS &&
                pack_h5_boxes_element_bytes(r) == 2,
            "a dataset is opened for boxes%s %s", reopens ? ", anew for each read" : "",
            err.text))
        return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint16_t got[ROWS * COLUMNS + 1];
        memset(got, 0xee, sizeof got);
        err.text[0] = '\0';
        enum pack_status status = read_boxes(r, cases[i].boxes, got, &err);
        size_t n = 0, wrong = 0;
        for (int b = 0; b < 3 && !cases[i].says; b++)
            for (uint64_t y = 0; y < cases[i].boxes[b][2]; y++)
                for (uint64_t x = 0; x < cases[i].boxes[b][3]; x++)
                    wrong += got[n++] != (cases[i].boxes[b][0] + y) * 10 +
                                             cases[i].boxes[b][1] + x;
        ok(cases[i].says ? status == PACK_ERR_ARGUMENT && strcmp(err.text, cases[i].says) == 0
                         : status == PACK_OK && wrong == 0 && got[n] == 0xeeee,
           "boxes %d: %s", (int)i, cases[i].says ? err.text : "what is in them");
    }
    struct pack_box flat = { .rank = 1, .count = { 1 } };
    uint16_t got;
    ok(pack_h5_boxes_read(r, &flat, 1, &got, NULL, &err) == PACK_ERR_ARGUMENT &&
           strcmp(err.text, "box has 1 dimension, 'boxes.h5:/x' has 2") == 0,
       "a box of another rank is refused: %s", err.text);
    pack_h5_boxes_close(r);
}

/* What HDF5 cannot read is told with the chunk that it is in. */
static void
test_bad_chunk(void)
{
    static const uint64_t good[3][4] = { { 0, 0, 7, 2 } }, bad[3][4] = { { 4, 3, 1, 1 } };
    struct pack_h5_boxes_params how = { .file = "boxes.h5", .dataset = "x" };
    struct pack_h5_boxes *r = NULL;
    struct pack_error err = { .text = "" };
    uint16_t got[ROWS * COLUMNS];
    const hsize_t offset[2] = { 3, 2 };
    haddr_t address = 0;
    hsize_t size;
    unsigned mask;
    hid_t file = H5Fopen("boxes.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t set = H5Dopen2(file, "x", H5P_DEFAULT);
    H5Dget_chunk_info_by_coord(set, offset, &mask, &address, &size);
    H5Dclose(set);
    H5Fclose(file);
    FILE *f = fopen("boxes.h5", "r+b");
    if (!f || fseek(f, (long)address, SEEK_SET) != 0 || fputc(0x55, f) == EOF ||
        fclose(f) != 0)
        abort();
    ok(pack_h5_boxes_open(&how, &r, &err) == PACK_OK &&
           read_boxes(r, good, got, &err) == PACK_OK,
       "chunks beside a damaged one are read %s", err.text);
    ok(read_boxes(r, bad, got, &err) == PACK_ERR_FORMAT &&
           strncmp(err.text, "cannot read 'boxes.h5:/x', chunk (1,1): damaged: ", 49) == 0,
       "that one is named: %s", err.text);
    pack_h5_boxes_close(r);
    how.dataset = "y";
    r = NULL;
    ok(pack_h5_boxes_open(&how, &r, &err) == PACK_ERR_NOT_FOUND && !r &&
           strcmp(err.text, "'boxes.h5' has no dataset 'y'") == 0,
       "so is a dataset that is not there: %s", err.text);
    unlink("boxes.h5");
}

/* Metadata that reads of single elements, one in each part of a large index, get from the file;
 * -1: not read. */
static int64_t
index_reads(const char *name, bool is_walked)
{
    struct pack_h5_count count = { 0 };
    struct pack_h5_boxes_params how = {
        .file = name, .dataset = "x", .count = &count, .walk_index = is_walked
    };
    struct pack_h5_boxes *r = NULL;
    bool good = pack_h5_boxes_open(&how, &r, NULL) == PACK_OK;
    count.metadata.file_reads = 0;
    for (uint64_t i = 0; good && i < MANY_CHUNKS; i += 40) {
        struct pack_box box = { 1, { i * 7919 % MANY_CHUNKS }, { 1 } };
        unsigned char got;
        good = pack_h5_boxes_read(r, &box, 1, &got, NULL, NULL) == PACK_OK;
    }
    pack_h5_boxes_close(r);
    return good ? (int64_t)count.metadata.file_reads : -1;
}

/* An index that was walked lies in memory, also where it is larger than the library's cache of
 * metadata is at first. */
static void
test_walk(void)
{
    const char *name = "index.h5";
    hsize_t extent = MANY_CHUNKS, chunk = 1;
    hid_t space = H5Screate_simple(1, &extent, NULL), creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 1, &chunk);
    H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t set = H5Dcreate2(file, "x", H5T_NATIVE_UCHAR, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Dclose(set);
    H5Fclose(file);
    H5Pclose(creation);
    H5Sclose(space);
    int64_t plain = index_reads(name, false), walked = index_reads(name, true);
    ok(plain > MANY_CHUNKS / 64 && walked == 0,
       "an index that was walked is not read again (%d reads, else %d)", (int)walked, (int)plain);
    unlink(name);
}

/* Files that are others when a run is over are told, each way. */
static void
test_changes(void)
{
    const char *name = "data.h5";
    struct pack_readset *set = NULL;
    struct stat st;
    char text[600] = "", want[128];
    if (!ok(pack_readset_open(&name, 1, "data", &set, NULL) == PACK_OK &&
                !pack_readset_is_changed(set, text, sizeof text) && stat(name, &st) == 0,
            "a file that was only opened is as it was"))
        return;
    const struct timespec later[2] = { st.st_mtim, { st.st_mtim.tv_sec, st.st_mtim.tv_nsec ^ 1 } },
                          next[2] = { st.st_mtim, { st.st_mtim.tv_sec + 1, st.st_mtim.tv_nsec } },
                          as_was[2] = { st.st_mtim, st.st_mtim };
    utimensat(AT_FDCWD, name, later, 0);
    ok(pack_readset_is_changed(set, text, sizeof text), "a nanosecond is seen");
    is_text(text, "'data.h5' was written to", "as it was told");
    utimensat(AT_FDCWD, name, next, 0);
    ok(pack_readset_is_changed(set, text, sizeof text), "so is a second");
    utimensat(AT_FDCWD, name, as_was, 0);
    ok(!pack_readset_is_changed(set, text, sizeof text), "with its time it is as it was");
    bool cut = truncate(name, st.st_size + 1) == 0;
    snprintf(want, sizeof want, "'data.h5' had %lld bytes and has %lld now",
             (long long)st.st_size, (long long)st.st_size + 1);
    ok(cut && pack_readset_is_changed(set, text, sizeof text), "a byte more is seen");
    is_text(text, want, "with both sizes");
    bool moved = rename(name, "moved.h5") == 0;
    ok(moved && pack_readset_is_changed(set, text, sizeof text), "so is that it is gone");
    is_text(text, "'data.h5' is gone: No such file or directory", "with the reason");
    ok(make(name, "a data train/images") && pack_readset_is_changed(set, text, sizeof text),
       "and another file");
    is_text(text, "'data.h5' was replaced by another file", "under its name");
    unlink("moved.h5");
    pack_readset_close(set);
}

/* Facts that a child has sent are taken where they go together, and read anew where not. */
static void
test_known(void)
{
    struct pack_h5_dataset *d = NULL;
    struct pack_facts *real = malloc(sizeof *real), *lies = malloc(sizeof *lies);
    enum { N_LIES = 8 };
    size_t n_taken = 0, n_mended = 0;
    if (!real || !lies || pack_h5_dataset_open("boxes.h5", "x", &d, NULL) != PACK_OK) {
        ok(false, "boxes.h5 is opened");
        free(real);
        free(lies);
        return;
    }
    *real = d->facts;
    pack_h5_dataset_close(d);
    for (int i = 0; i <= N_LIES; i++) {
        struct pack_error err = { .text = "" };
        *lies = *real;
        lies->file_bytes = 12345; /* by which they are known */
        lies->chunk.rank -= i == 1;
        lies->n_chunks.rank += i == 2;
        lies->chunk.extent[1] = i == 3 ? 0 : lies->chunk.extent[1];
        lies->chunk.extent[0] += i == 4 ? 10 : 0;
        lies->n_chunks_total += i == 5;
        lies->type.bytes = i == 6 ? 0 : lies->type.bytes;
        lies->n_elements += i == 7;
        lies->n_chunks_stored = i == 8 ? UINT64_MAX : lies->n_chunks_stored;
        if (pack_h5_dataset_open_known("boxes.h5", "x", lies, &d, &err) != PACK_OK) {
            note("%d: %s", i, err.text);
            continue;
        }
        n_taken += i == 0 && d->facts.file_bytes == 12345;
        n_mended += i > 0 && d->facts.file_bytes == real->file_bytes &&
                    pack_shape_equal(&d->facts.chunk, &real->chunk);
        pack_h5_dataset_close(d);
    }
    ok(n_taken == 1, "facts that are known are not read again");
    ok(n_mended == N_LIES, "%zu of %d that do not go together are", n_mended, N_LIES);
    free(real);
    free(lies);
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
    test_remembered();
    test_spread();
    test_parts();
    test_elements();
    test_walk();
    test_changes();
    make_boxes();
    test_boxes(false);
    test_boxes(true);
    test_known();
    test_bad_chunk();
    unlink("col:/on.h5");
    rmdir("col:");
    static const char *const files[] = { "images.h5",  "data.h5",   "only.h5",
                                         "several.h5", "values.h5", "nothing.h5",
                                         "x.h5",       "many.h5",   "other.h5",
                                         "large.h5",   "pieces.h5",
                                         "spread.h5" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(files[i]);
    bool left = chdir("..") == 0 && rmdir(folder) == 0;
    ok(left, "and nothing is left behind");
    return done();
}
