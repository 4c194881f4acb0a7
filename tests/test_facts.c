/*
 * Facts: what is said of a dataset is what it was created with; files are opened, listed
 * and refused in words; the shared files hold what their manifest says.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_parts.h"
#include "libpack/hdf5/h5_read.h"
#include "tests/tap.h"

static const char path[] = "test_facts.tmp.h5";

/* ---------------------------------------------------------------- own files */

static hid_t
put(hid_t file, const char *name, hid_t type, int rank, const hsize_t *dims,
    const hsize_t *most, hid_t dcpl)
{
    hid_t space = rank ? H5Screate_simple(rank, dims, most) : H5Screate(H5S_SCALAR);
    hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    H5Sclose(space);
    return set;
}

static void
put_text(hid_t object, const char *name, const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text) + 1);
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, text);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

/* `n` texts of three letters. */
static void
put_names(hid_t object, const char *name, hsize_t n)
{
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &n, NULL);
    H5Tset_size(type, 3);
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, "catdog");
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

static void
put_labels(hid_t object)
{
    const char *labels[] = { "N", NULL, "width" };
    hsize_t n = 3;
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &n, NULL);
    H5Tset_size(type, H5T_VARIABLE);
    hid_t attribute =
        H5Acreate2(object, "DIMENSION_LABELS", type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, labels);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

static void
put_mean(hid_t object)
{
    float mean[] = { 1.5f, 2.5f };
    hsize_t n = 2;
    hid_t space = H5Screate_simple(1, &n, NULL);
    hid_t attribute =
        H5Acreate2(object, "mean", H5T_IEEE_F32BE, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, H5T_NATIVE_FLOAT, mean);
    H5Aclose(attribute);
    H5Sclose(space);
}

static void
create(void)
{
    hsize_t dims[] = { 10, 7, 5 }, most[] = { H5S_UNLIMITED, 7, 20 },
            chunk[] = { 4, 7, 2 };
    hid_t fcpl = H5Pcreate(H5P_FILE_CREATE), fapl = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_userblock(fcpl, 512);
    H5Pset_libver_bounds(fapl, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, fcpl, fapl);
    H5Pclose(fapl);
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(dcpl, 3, chunk);
    H5Pset_shuffle(dcpl);
    H5Pset_deflate(dcpl, 7);
    const unsigned cd[] = { 1, 2, 3 };
    H5Pset_filter(dcpl, 32001, H5Z_FLAG_OPTIONAL, 3, cd);
    const int16_t minus = -1;
    H5Pset_fill_value(dcpl, H5T_NATIVE_INT16, &minus);
    H5Pset_fill_time(dcpl, H5D_FILL_TIME_ALLOC);
    hid_t set = put(file, "chunked", H5T_STD_I16BE, 3, dims, most, dcpl);
    put_text(set, "CLASS", "IMAGE");
    put_text(set, "INTERLACE_MODE", "INTERLACE_PIXEL");
    put_labels(set);
    put_mean(set);
    H5Dclose(set);
    H5Pclose(dcpl);
    hid_t group = H5Gcreate2(file, "a", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    set = put(group, "plain", H5T_IEEE_F64LE, 2, dims, NULL, H5P_DEFAULT);
    double values[70] = { 0 };
    H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(set);
    H5Dclose(put(group, "scalar", H5T_STD_U8LE, 0, NULL, NULL, H5P_DEFAULT));
    hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, H5T_VARIABLE);
    H5Dclose(put(group, "texts", text, 1, dims, NULL, H5P_DEFAULT));
    H5Tclose(text);
    hid_t compact = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_layout(compact, H5D_COMPACT);
    H5Dclose(put(file, "compact", H5T_STD_I32LE, 1, dims, NULL, compact));
    H5Pclose(compact);
    H5Lcreate_hard(file, "/", group, "loop", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/nowhere", file, "dangling", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/a/plain", file, "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("none.h5", "/x", file, "external", H5P_DEFAULT, H5P_DEFAULT);
    put_text(file, "h5pack_schema", "1");
    put_names(file, "one", 1);
    put_names(file, "two", 2);
    H5Gclose(group);
    H5Fclose(file);
    H5Pclose(fcpl);
}

/* Room is made for one text: a file that has more of them there is refused. */
static void
test_text_attributes(int64_t file)
{
    struct pack_error err = { .text = "" };
    char *text = NULL;
    ok(pack_h5_read_attr_text(file, "/", "one", &text, &err) == PACK_OK &&
           strcmp(text, "cat") == 0,
       "an attribute of one text is read: %s", err.text);
    free(text);
    text = NULL;
    ok(pack_h5_read_attr_text(file, "/", "two", &text, &err) == PACK_ERR_FORMAT && !text &&
           strcmp(err.text, "attribute two is not a scalar") == 0,
       "one of two texts is refused: %s", err.text);
    free(text);
}

/* --------------------------------------------------------------- whole lists */

enum { BIG = 3 }; /* entries of the lists below */

/* A list of BIG texts of `width` letters, or of any length for 0. */
static void
put_texts(hid_t file, const char *name, size_t width)
{
    static const char *const any[BIG] = { "a", "", "three words here" };
    const hsize_t n = BIG;
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, width ? width : H5T_VARIABLE);
    hid_t set = put(file, name, type, 1, &n, NULL, H5P_DEFAULT);
    H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT,
             width ? (const void *)"abc\0\0\0xyz" : (const void *)any);
    H5Dclose(set);
    H5Tclose(type);
}

/* Attributes of n numbers of a type. */
static void
put_numbers(hid_t file, const char *name, hid_t type, hsize_t n)
{
    static const int64_t values[4] = { -5, 70000, 3, 4 };
    hid_t space = H5Screate_simple(1, &n, NULL);
    hid_t attribute = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, H5T_NATIVE_INT64, values);
    H5Aclose(attribute);
    H5Sclose(space);
}

static void
make_lists(const char *name)
{
    static const int64_t values[BIG] = { -2, 40000, INT64_C(1) << 40 };
    const hsize_t n = BIG, none = 0, two[2] = { BIG, 1 };
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t set = put(file, "integers", H5T_STD_I64BE, 1, &n, NULL, H5P_DEFAULT);
    H5Dwrite(set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(set);
    H5Dclose(put(file, "none", H5T_STD_I8LE, 1, &none, NULL, H5P_DEFAULT));
    H5Dclose(put(file, "floats", H5T_IEEE_F64LE, 1, &n, NULL, H5P_DEFAULT));
    H5Dclose(put(file, "table", H5T_STD_I8LE, 2, two, NULL, H5P_DEFAULT));
    H5Dclose(put(file, "value", H5T_STD_I8LE, 0, NULL, NULL, H5P_DEFAULT));
    put_texts(file, "fixed", 3);
    put_texts(file, "variable", 0);
    put_text(file, "words", "a few words");
    put_numbers(file, "pair", H5T_STD_I64LE, 2);
    put_numbers(file, "short", H5T_STD_I32BE, 2);
    put_numbers(file, "three", H5T_STD_I64LE, 3);
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    const char *text = "of any length";
    H5Tset_size(type, H5T_VARIABLE);
    hid_t attribute = H5Acreate2(file, "variable", type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, &text);
    H5Aclose(attribute);
    attribute = H5Acreate2(file, "real", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
    H5Fclose(file);
}

/* Reads a list as integers and as texts: what is said of it, NULL where it is read. */
static void
test_list(int64_t file, const char *name, uint64_t n_max, const char *as_integers,
          const char *as_texts)
{
    struct pack_error one = { .text = "" }, two = { .text = "" };
    int64_t *integers = NULL;
    char **texts = NULL;
    uint64_t n = 77, n_texts = 77;
    enum pack_status status[] = { pack_h5_read_integers(file, name, n_max, &integers, &n, &one),
                                  pack_h5_read_texts(file, name, n_max, &texts, &n_texts,
                                                     &two) };
    bool right = !status[0] == !as_integers && !status[1] == !as_texts &&
                 strcmp(one.text, as_integers ? as_integers : "") == 0 &&
                 strcmp(two.text, as_texts ? as_texts : "") == 0 &&
                 (status[0] ? n == 77 && !integers : n <= BIG && integers) &&
                 (status[1] ? n_texts == 77 && !texts : n_texts == BIG && texts);
    ok(right, "'%s' as integers: %s; as texts: %s", name,
       as_integers ? as_integers : "as they are", as_texts ? as_texts : "as they are");
    if (!right)
        note("%s; %s", one.text, two.text);
    free(integers);
    pack_h5_texts_free(texts, n_texts);
}

static void
test_values(int64_t file)
{
    int64_t *integers = NULL;
    char **texts = NULL;
    uint64_t n = 0;
    bool good = pack_h5_read_integers(file, "integers", BIG, &integers, &n, NULL) == PACK_OK;
    ok(good && n == BIG && integers[0] == -2 && integers[1] == 40000 &&
           integers[2] == INT64_C(1) << 40,
       "integers of another byte order are read");
    free(integers);
    integers = NULL;
    ok(pack_h5_read_integers(file, "none", 0, &integers, &n, NULL) == PACK_OK && n == 0,
       "also none of them");
    free(integers);
    good = pack_h5_read_texts(file, "fixed", BIG, &texts, &n, NULL) == PACK_OK;
    ok(good && n == BIG && strcmp(texts[0], "abc") == 0 && strcmp(texts[1], "") == 0 &&
           strcmp(texts[2], "xyz") == 0,
       "texts end where their width does");
    pack_h5_texts_free(texts, n);
    texts = NULL;
    good = pack_h5_read_texts(file, "variable", BIG, &texts, &n, NULL) == PACK_OK;
    ok(good && n == BIG && strcmp(texts[0], "a") == 0 && strcmp(texts[1], "") == 0 &&
           strcmp(texts[2], "three words here") == 0,
       "or where they do themselves");
    pack_h5_texts_free(texts, n);
}

static void
test_attributes(int64_t file)
{
    static const struct {
        const char *name, *as_text, *as_pair;
    } cases[] = {
        { "words", NULL, "attribute words is not of 2 integers" },
        { "pair", "attribute pair is not a scalar", NULL },
        { "short", "attribute short is not a scalar", NULL },
        { "three", "attribute three is not a scalar", "attribute three is not of 2 integers" },
        { "variable", "attribute variable is not a text of fixed length",
          "attribute variable is not of 2 integers" },
        { "real", "attribute real is not a text of fixed length",
          "attribute real is not of 2 integers" },
        { "nothing", "no attribute nothing", "no attribute nothing" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pack_error one = { .text = "" }, two = { .text = "" };
        char *text = NULL;
        int64_t pair[3] = { 0, 0, 77 };
        enum pack_status as_text =
            pack_h5_read_attr_text(file, "/", cases[i].name, &text, &one);
        enum pack_status as_pair =
            pack_h5_read_attr_integers(file, "/", cases[i].name, 2, pair, &two);
        bool right = !as_text == !cases[i].as_text && !as_pair == !cases[i].as_pair &&
                     strcmp(one.text, cases[i].as_text ? cases[i].as_text : "") == 0 &&
                     strcmp(two.text, cases[i].as_pair ? cases[i].as_pair : "") == 0 &&
                     (as_text || strcmp(text, "a few words") == 0) &&
                     (as_pair || (pair[0] == -5 && pair[1] == 70000)) && pair[2] == 77;
        ok(right, "attribute %s: %s; %s", cases[i].name,
           cases[i].as_text ? cases[i].as_text : "a text",
           cases[i].as_pair ? cases[i].as_pair : "two integers");
        if (!right)
            note("%s; %s", one.text, two.text);
        free(text);
    }
}

static void
test_lists(void)
{
    static const char name[] = "test_facts.lists.h5";
    int64_t file = -1;
    make_lists(name);
    if (!ok(pack_h5_open(name, NULL, &file, NULL) == PACK_OK, "a file of lists is opened"))
        return;
    test_values(file);
    test_list(file, "integers", BIG, NULL, "'integers' is not of texts");
    test_list(file, "integers", BIG - 1, "'integers' has 3 entries, more than 2",
              "'integers' has 3 entries, more than 2");
    test_list(file, "floats", BIG, "'floats' is not of integers", "'floats' is not of texts");
    test_list(file, "fixed", BIG, "'fixed' is not of integers", NULL);
    test_list(file, "variable", BIG, "'variable' is not of integers", NULL);
    test_list(file, "table", BIG, "'table' is not one-dimensional",
              "'table' is not one-dimensional");
    test_list(file, "value", BIG, "'value' is not one-dimensional",
              "'value' is not one-dimensional");
    test_list(file, "nothing", BIG, "no dataset 'nothing'", "no dataset 'nothing'");
    test_attributes(file);
    pack_h5_close(file);
    unlink(name);
}

/* Five of ten places for chunks of two, of a type, with or without filters. */
static void
put_half(hid_t file, const char *name, hid_t type, bool is_packed, const void *values)
{
    const hsize_t n = 20, chunk = 2, half = 10, none = 0;
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(dcpl, 1, &chunk);
    if (is_packed)
        H5Pset_deflate(dcpl, 1);
    hid_t set = put(file, name, type, 1, &n, NULL, dcpl), space = H5Dget_space(set);
    hid_t memory = H5Screate_simple(1, &half, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &none, NULL, &half, NULL);
    H5Dwrite(set, type, memory, space, H5P_DEFAULT, values);
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(set);
    H5Pclose(dcpl);
}

/* Chunks that are stored are those that HDF5 counts, with their bytes; unless they are not
 * asked for. */
static void
test_stored(void)
{
    static const char name[] = "test_facts.stored.h5";
    static const short numbers[10] = { 1, 2, 3 };
    static const char *const texts[10] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j" };
    static const char *const sets[] = { "numbers", "packed", "texts" };
    hid_t made = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, H5T_VARIABLE);
    put_half(made, "numbers", H5T_NATIVE_SHORT, false, numbers);
    put_half(made, "packed", H5T_NATIVE_SHORT, true, numbers);
    put_half(made, "texts", text, false, texts);
    H5Tclose(text);
    H5Fclose(made);
    int64_t file = -1;
    ok(pack_h5_open(name, NULL, &file, NULL) == PACK_OK, "a file with holes is opened");
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct pack_facts facts, header;
        hid_t set = H5Dopen2(file, sets[i], H5P_DEFAULT);
        bool good = pack_facts_read(file, sets[i], &facts, NULL) == PACK_OK &&
                    pack_facts_read_header(file, sets[i], &header, NULL) == PACK_OK;
        ok(good && facts.n_chunks_stored == 5 && facts.stored_bytes > 0 &&
               facts.stored_bytes == H5Dget_storage_size(set),
           "%s: half of the chunks are stored, in %llu bytes", sets[i],
           (unsigned long long)facts.stored_bytes);
        header.n_chunks_stored -= UINT64_MAX - 5;
        header.stored_bytes -= UINT64_MAX - facts.stored_bytes;
        ok(good && memcmp(&header, &facts, sizeof facts) == 0,
           "which the header alone does not tell, but all else");
        H5Dclose(set);
    }
    pack_h5_close(file);
    unlink(name);
}

static void
test_chunked(int64_t file)
{
    struct pack_facts facts;
    struct pack_error err = { .text = "" };
    char text[PACK_PIPELINE_TEXT_MAX], shape[PACK_SHAPE_TEXT_MAX];
    ok(pack_facts_read(file, "chunked", &facts, &err) == PACK_OK,
       "a chunked dataset is described %s", err.text);
    is_text(pack_type_format(&facts.type, text), ">int16", "its type");
    is_text(pack_shape_format(&facts.extent, shape), "10x7x5", "its extent");
    ok(facts.max_extent.extent[0] == UINT64_MAX && facts.max_extent.extent[2] == 20,
       "its maximum");
    ok(facts.n_elements == 350 && facts.logical_bytes == 700, "its size");
    is_text(pack_shape_format(&facts.chunk, shape), "4x7x2", "its chunk");
    is_text(pack_shape_format(&facts.n_chunks, shape), "3x1x3", "its grid");
    ok(facts.chunk_bytes == 112 && facts.n_chunks_total == 9 &&
           facts.n_chunks_stored == 0 && facts.stored_bytes == 0,
       "its chunks");
    is_text(pack_pipeline_format(&facts.pipeline, text), "shuffle+gzip:7+blosc",
            "its filters");
    ok(facts.pipeline.filter[2].n_cd == 3 && facts.pipeline.filter[2].cd[2] == 3 &&
           facts.pipeline.filter[0].cd[0] == 2,
       "their parameters");
    is_text(pack_layout_name(facts.layout), "chunked", "its layout");
    is_text(pack_index_name(facts.index), "B-tree v1", "its index");
    ok(facts.fill == PACK_FILL_USER && !facts.fill_is_zero &&
           facts.fill_time == PACK_FILL_ALLOC &&
           facts.alloc_time == PACK_ALLOC_INCREMENTAL,
       "its fill value");
    is_text(facts.class_name, "IMAGE", "CLASS");
    is_text(facts.interlace_mode, "INTERLACE_PIXEL", "INTERLACE_MODE");
    is_text(facts.image_subclass, "", "an attribute that is absent");
    ok(facts.n_labels == 3 && strcmp(facts.label[2], "width") == 0 &&
           facts.label[1][0] == '\0',
       "DIMENSION_LABELS");
    ok(facts.n_mean == 2 && facts.mean[1] == 2.5 && facts.n_std == 0, "mean");
    ok(facts.user_block_bytes == 512 && facts.superblock_version == 0 &&
           facts.file_bytes > 512 && !facts.has_page_strategy,
       "the file");
    is_text(facts.h5pack_schema, "1", "h5pack_schema");
}

static void
test_others(int64_t file)
{
    struct pack_facts facts;
    struct pack_error err = { .text = "" };
    char text[PACK_TYPE_TEXT_MAX];
    ok(pack_facts_read(file, "/a/plain", &facts, &err) == PACK_OK &&
           facts.layout == PACK_LAYOUT_CONTIGUOUS && facts.stored_bytes == 560 &&
           facts.contiguous_address > 512 && facts.contiguous_address != UINT64_MAX &&
           facts.fill_is_zero && facts.index == PACK_INDEX_NONE,
       "a contiguous dataset %s", err.text);
    ok(pack_facts_read(file, "soft", &facts, NULL) == PACK_OK && facts.n_elements == 70,
       "through a soft link");
    ok(pack_facts_read(file, "a/scalar", &facts, NULL) == PACK_OK &&
           facts.space == PACK_SPACE_SCALAR && facts.n_elements == 1 &&
           facts.contiguous_address == UINT64_MAX,
       "a scalar without storage");
    ok(pack_facts_read(file, "a/texts", &facts, NULL) == PACK_OK &&
           facts.type.is_variable,
       "texts");
    is_text(pack_type_format(&facts.type, text), "variable-length string", "their type");
    ok(!facts.type.is_bool, "which are no truth values");
    ok(pack_facts_read(file, "compact", &facts, NULL) == PACK_OK &&
           facts.layout == PACK_LAYOUT_COMPACT,
       "a compact dataset");
    static const struct {
        const char *path;
        enum pack_status status;
    } bad[] = {
        { "", PACK_ERR_ARGUMENT },          { "none", PACK_ERR_NOT_FOUND },
        { "none/none", PACK_ERR_NOT_FOUND }, { "compact/x", PACK_ERR_NOT_FOUND },
        { "dangling", PACK_ERR_NOT_FOUND },  { "external", PACK_ERR_NOT_FOUND },
        { "/", PACK_ERR_ARGUMENT },          { "a", PACK_ERR_ARGUMENT },
        { "a//", PACK_ERR_ARGUMENT },        { ".", PACK_ERR_ARGUMENT },
        { "./none", PACK_ERR_NOT_FOUND },    { "a/..", PACK_ERR_NOT_FOUND },
        { "a/x.", PACK_ERR_NOT_FOUND },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        enum pack_status status = pack_facts_read(file, bad[i].path, &facts, &err);
        ok(status == bad[i].status && !pack_h5_is_dataset(file, bad[i].path), "'%s': %s",
           bad[i].path, err.text);
    }
    (void)pack_facts_read(file, "dangling/x", &facts, &err);
    is_text(err.text, "'dangling' is a link to '/nowhere', which is not there",
            "what a link misses is said");
    (void)pack_facts_read(file, "external", &facts, &err);
    is_text(err.text, "'external' is an external link to '/x' in 'none.h5', which is not there",
            "in another file too");
    (void)pack_facts_read(file, "soft/none", &facts, &err);
    is_text(err.text, "there is no dataset 'soft/none'",
            "behind a link that leads somewhere, the dataset is what is missing");
    ok(pack_h5_is_dataset(file, "a/loop/a/plain"), "a dataset is one, round a loop too");
    ok(pack_h5_is_dataset(file, "./a/.//plain") && pack_h5_is_dataset(file, "/./a/plain"),
       "by way of groups themselves too");
}

/* h5py's truth values are told from other enums. */
static void
test_bools(void)
{
    static const char name[] = "test_facts.bools.h5";
    static const struct {
        const char *path, *members[3];
        bool is_wide, is_turned, is_bool;
    } cases[] = {
        { "bool", { "FALSE", "TRUE" }, .is_bool = true },
        { "words", { "NO", "YES" }, .is_bool = false },
        { "one", { "FALSE" }, .is_bool = false },
        { "three", { "FALSE", "TRUE", "MAYBE" }, .is_bool = false },
        { "turned", { "FALSE", "TRUE" }, .is_turned = true },
        { "wide", { "FALSE", "TRUE" }, .is_wide = true },
    };
    const hsize_t dims[] = { 4 };
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pack_facts facts = { .type.is_bool = !cases[i].is_bool };
        hid_t type = H5Tenum_create(cases[i].is_wide ? H5T_STD_I16LE : H5T_STD_I8LE);
        for (int16_t k = 0; k < 3 && cases[i].members[k]; k++) {
            int16_t value = cases[i].is_turned ? 1 - k : k; /* little-endian, of either size */
            H5Tenum_insert(type, cases[i].members[k], &value);
        }
        H5Dclose(put(file, cases[i].path, type, 1, dims, NULL, H5P_DEFAULT));
        H5Tclose(type);
        ok(pack_facts_read(file, cases[i].path, &facts, NULL) == PACK_OK &&
               facts.type.is_bool == cases[i].is_bool,
           "an enum, %s, is %struth value", cases[i].path, cases[i].is_bool ? "a " : "no ");
    }
    H5Fclose(file);
    unlink(name);
}

/* Fill values, when they are written, and when room is made for them. */
static void
test_fills(void)
{
    static const char name[] = "test_facts.fills.h5";
    static const struct {
        H5D_fill_time_t time;
        enum pack_fill_time want;
    } times[] = { { H5D_FILL_TIME_IFSET, PACK_FILL_IFSET },
                  { H5D_FILL_TIME_ALLOC, PACK_FILL_ALLOC },
                  { H5D_FILL_TIME_NEVER, PACK_FILL_NEVER } };
    static const struct {
        H5D_alloc_time_t time;
        enum pack_alloc_time want;
    } allocs[] = { { H5D_ALLOC_TIME_EARLY, PACK_ALLOC_EARLY },
                   { H5D_ALLOC_TIME_LATE, PACK_ALLOC_LATE },
                   { H5D_ALLOC_TIME_INCR, PACK_ALLOC_INCREMENTAL } };
    static const enum pack_fill_value fills[] = { PACK_FILL_DEFAULT, PACK_FILL_USER, PACK_FILL_USER };
    const hsize_t dims[] = { 4 };
    const int32_t value[] = { 0, 0, 256 };
    int wrong = 0;
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    for (int i = 0; i < 27; i++) {
        int fill = i % 3, time = i / 3 % 3, alloc = i / 9;
        struct pack_facts facts;
        char set_name[8];
        snprintf(set_name, sizeof set_name, "%d", i);
        hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_chunk(dcpl, 1, dims);
        if (fill)
            H5Pset_fill_value(dcpl, H5T_NATIVE_INT32, &value[fill]);
        H5Pset_fill_time(dcpl, times[time].time);
        H5Pset_alloc_time(dcpl, allocs[alloc].time);
        H5Dclose(put(file, set_name, H5T_STD_I32LE, 1, dims, NULL, dcpl));
        H5Pclose(dcpl);
        bool read = pack_facts_read(file, set_name, &facts, NULL) == PACK_OK;
        bool is_zero = times[time].want != PACK_FILL_NEVER && fill != 2;
        wrong += !read || facts.fill != fills[fill] || facts.fill_time != times[time].want ||
                 facts.alloc_time != allocs[alloc].want || facts.fill_is_zero != is_zero;
    }
    H5Fclose(file);
    unlink(name);
    is_number(wrong, 0, "fill values and when they are written are told");
}

/* An attribute of `n` values of a type; NULL data: not written. */
static void
put_values(hid_t object, const char *name, hid_t type, hsize_t n, const void *data)
{
    hid_t space = H5Screate_simple(1, &n, NULL);
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (data)
        H5Awrite(attribute, type, data);
    H5Aclose(attribute);
    H5Sclose(space);
}

/* Attributes that are longer, more, or others than expected; spaces of nothing and of more
 * than can be counted. */
static void
test_odd_facts(void)
{
    static const char name[] = "test_facts.odd.h5";
    static double numbers[17] = { 1, 2 };
    static const int32_t whole[3] = { -1, 2, 3 };
    char many[9][2], long_text[101];
    const hsize_t dims[] = { 4 }, huge[] = { UINT64_C(1) << 40, UINT64_C(1) << 40 };
    const hsize_t small[] = { 1, 1 };
    struct pack_facts facts;
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t letter = H5Tcopy(H5T_C_S1);
    H5Tset_size(letter, 2);
    memset(long_text, 'x', 100);
    long_text[100] = '\0';
    for (int i = 0; i < 9; i++)
        memcpy(many[i], (char[]){ (char)('a' + i), '\0' }, 2);
    hid_t set = put(file, "x", H5T_STD_U8LE, 1, dims, NULL, H5P_DEFAULT);
    put_text(set, "CLASS", long_text);
    put_values(set, "IMAGE_SUBCLASS", H5T_STD_I32LE, 3, whole);
    put_values(set, "DIMENSION_LABELS", letter, 9, many);
    put_values(set, "mean", H5T_IEEE_F64LE, 17, numbers);
    put_values(set, "std", H5T_STD_I32LE, 3, whole);
    H5Dclose(set);
    ok(pack_facts_read(file, "x", &facts, NULL) == PACK_OK &&
           strlen(facts.class_name) == PACK_FACTS_TEXT_MAX - 1 &&
           strncmp(facts.class_name, long_text, PACK_FACTS_TEXT_MAX - 1) == 0 &&
           facts.image_subclass[0] == '\0',
       "a text that is too long is cut, numbers are none");
    ok(facts.n_labels == PACK_FACTS_LABELS_MAX && strcmp(facts.label[0], "a") == 0 &&
           strcmp(facts.label[PACK_FACTS_LABELS_MAX - 1], "h") == 0,
       "of more labels than there is room for the first are taken");
    ok(facts.n_mean == 0 && facts.n_std == 3 && facts.std[0] == -1 && facts.std[2] == 3,
       "more numbers than channels are none; whole numbers are numbers");
    set = put(file, "y", H5T_IEEE_F32BE, 1, dims, NULL, H5P_DEFAULT);
    put_values(set, "mean", H5T_IEEE_F64LE, 16, numbers);
    put_values(set, "std", letter, 2, many);
    H5Dclose(set);
    ok(pack_facts_read(file, "y", &facts, NULL) == PACK_OK && facts.n_mean == 16 &&
           facts.mean[1] == 2 && facts.n_std == 0,
       "as many as channels are taken, texts are no numbers");
    hid_t none = H5Screate(H5S_NULL);
    H5Dclose(H5Dcreate2(file, "null", H5T_STD_U8LE, none, H5P_DEFAULT, H5P_DEFAULT,
                        H5P_DEFAULT));
    H5Sclose(none);
    ok(pack_facts_read(file, "null", &facts, NULL) == PACK_OK &&
           facts.space == PACK_SPACE_NULL && facts.n_elements == 0 && facts.logical_bytes == 0,
       "a null space has nothing");
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(dcpl, 2, small);
    set = put(file, "huge", H5T_STD_U16LE, 2, huge, NULL, dcpl);
    H5Pclose(dcpl);
    if (set < 0) {
        skip("this HDF5 makes no datasets of 2^80 elements");
    } else {
        H5Dclose(set);
        ok(pack_facts_read(file, "huge", &facts, NULL) == PACK_OK &&
               facts.n_elements == UINT64_MAX && facts.logical_bytes == UINT64_MAX &&
               facts.n_chunks_total == UINT64_MAX && facts.n_chunks.extent[0] == huge[0] &&
               facts.chunk_bytes == 2,
           "what cannot be counted is as much as can");
    }
    H5Tclose(letter);
    H5Fclose(file);
    unlink(name);
}

static enum pack_status
append(void *context, const char *name, struct pack_error *err)
{
    (void)err;
    strcat(strcat(context, name), " ");
    return PACK_OK;
}

static enum pack_status
refuse(void *context, const char *name, struct pack_error *err)
{
    (void)context;
    return pack_fail(err, PACK_ERR_LIMIT, "stopped at %s", name);
}

static void
test_listing(int64_t file)
{
    char names[200] = "";
    struct pack_error err;
    ok(pack_h5_datasets(file, append, names, &err) == PACK_OK, "datasets are listed");
    is_text(names, "a/plain a/scalar a/texts chunked compact ",
            "each once, in order, without following soft links or loops");
    ok(pack_h5_datasets(file, refuse, NULL, &err) == PACK_ERR_LIMIT, "%s", err.text);
}

static void
expect_no_open(const char *name, enum pack_status want)
{
    struct pack_error err = { .text = "(opened)" };
    struct pack_error too;
    struct pack_h5_count count = { 0 };
    int64_t file = -1;
    ok(pack_h5_open(name, NULL, &file, &err) == want, "%s", err.text);
    ok(pack_h5_open(name, &count, &file, &too) == want && strcmp(err.text, too.text) == 0,
       "with the counting driver too: %s", too.text);
}

static void
test_open(void)
{
    int64_t file = -1;
    struct pack_error err = { .text = "" };
    expect_no_open("none.h5", PACK_ERR_NOT_FOUND);
    expect_no_open("/", PACK_ERR_ARGUMENT);
    expect_no_open("/dev/null", PACK_ERR_ARGUMENT);
    FILE *f = fopen("test_facts.tmp.txt", "w");
    fputs("hello", f);
    fclose(f);
    expect_no_open("test_facts.tmp.txt", PACK_ERR_FORMAT);
    unlink("test_facts.tmp.txt");
    struct stat status;
    stat(path, &status);
    ok(truncate(path, status.st_size / 2) == 0, "a file is cut");
    expect_no_open(path, PACK_ERR_FORMAT);
    create();
    unsetenv("HDF5_USE_FILE_LOCKING");
    int fd = open(path, O_RDWR);
    struct pack_h5_count count = { 0 };
    err.text[0] = '\0';
    flock(fd, LOCK_EX);
    expect_no_open(path, PACK_ERR_FORMAT);
    close(fd);
    ok(pack_h5_open(path, &count, &file, &err) == PACK_OK && count.n_open == 1,
       "a file opens through the counting driver %s", err.text);
    pack_h5_close(file);
    is_number(count.n_open, 0, "and closes");
}

static void
test_zstd(void)
{
    struct pack_error err = { .text = "" };
    ok(pack_h5_register_zstd(&err) == PACK_OK && pack_h5_register_zstd(&err) == PACK_OK &&
           H5Zfilter_avail(32015) > 0,
       "the zstd filter registers, more than once");
    const char *name = shared_path("data/h5/h5ex_d_zstd.h5");
    static uint8_t data[2 * 512 * 1024];
    if (!name) {
        skip("no shared HDF5 files here");
        return;
    }
    int64_t file;
    ok(pack_h5_open(name, NULL, &file, &err) == PACK_OK, "%s", name);
    hid_t set = H5Dopen2(file, "DS1", H5P_DEFAULT);
    int wrong = H5Dread(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0;
    for (size_t i = 0; i < sizeof data; i++)
        wrong += data[i] != i % 256;
    ok(wrong == 0, "what the registered plugin wrote is read");
    H5Dclose(set);
    pack_h5_close(file);
}

/* A dataset that needs a filter nobody has, read all the same. */
static void
test_missing_filter(void)
{
    uint8_t data[4];
    struct pack_facts facts;
    struct pack_error err = { .text = "" };
    hsize_t dims[] = { 4 }, origin[] = { 0 };
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(dcpl, 1, dims);
    H5Pset_filter(dcpl, 32026, H5Z_FLAG_OPTIONAL, 0, NULL);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t set = put(file, "x", H5T_STD_U8LE, 1, dims, NULL, dcpl);
    H5Dwrite_chunk(set, H5P_DEFAULT, 0, origin, 4, "abcd");
    bool failed = H5Dread(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0;
    ok(failed &&
           pack_h5_fail_read(&err, set, "cannot read '%s'", "x") == PACK_ERR_UNSUPPORTED,
       "a missing filter is named: %s", err.text);
    is_text(err.text, "cannot read 'x': needs filter 32026 (blosc2): import hdf5plugin",
            "with its package");
    ok(pack_facts_read(file, "x", &facts, NULL) == PACK_OK && !facts.filters_available,
       "and facts know before");
    H5Dclose(set);
    H5Pclose(dcpl);
    H5Fclose(file);
}

/* ------------------------------------------------------------- shared files */

struct census {
    int64_t file;
    int datasets, layouts[4], deflate, shuffle, fletcher32;
};

static enum pack_status
take(void *context, const char *name, struct pack_error *err)
{
    struct census *census = context;
    struct pack_facts facts;
    (void)err;
    census->datasets++;
    if (pack_facts_read(census->file, name, &facts, NULL) != PACK_OK)
        return PACK_OK;
    census->layouts[facts.layout]++;
    for (int i = 0; i < facts.pipeline.n; i++) {
        census->deflate += facts.pipeline.filter[i].id == PACK_FILTER_DEFLATE;
        census->shuffle += facts.pipeline.filter[i].id == PACK_FILTER_SHUFFLE;
        census->fletcher32 += facts.pipeline.filter[i].id == PACK_FILTER_FLETCHER32;
    }
    return PACK_OK;
}

/* The number behind "name=" in a list like "chunked=1,compact=2". */
static int
number_of(const char *list, const char *name)
{
    const char *at = strstr(list, name);
    return at ? atoi(at + strlen(name) + 1) : 0;
}

/* In a child: 0 when what the file holds is what the manifest's columns say. */
static int
check_file(const char *name, char *const *column, bool must_agree)
{
    struct rlimit cpu = { 3, 3 };
    struct census census = { 0 };
    struct pack_error err;
    setrlimit(RLIMIT_CPU, &cpu);
    if (pack_h5_open(name, NULL, &census.file, &err) != PACK_OK)
        return must_agree;
    pack_h5_datasets(census.file, take, &census, &err);
    return must_agree &&
           (census.datasets != atoi(column[10]) ||
            census.layouts[PACK_LAYOUT_COMPACT] != number_of(column[11], "compact") ||
            census.layouts[PACK_LAYOUT_CONTIGUOUS] !=
                number_of(column[11], "contiguous") ||
            census.layouts[PACK_LAYOUT_CHUNKED] != number_of(column[11], "chunked") ||
            census.layouts[PACK_LAYOUT_VIRTUAL] != number_of(column[11], "virtual") ||
            census.deflate != number_of(column[12], "deflate") ||
            census.shuffle != number_of(column[12], "shuffle") ||
            census.fletcher32 != number_of(column[12], "fletcher32"));
}

static void
test_shared(void)
{
    const char *manifest_path = shared_path("data/h5/MANIFEST.tsv");
    FILE *manifest = manifest_path ? fopen(manifest_path, "r") : NULL;
    char line[8192];
    int n_valid = 0, n_wrong = 0, n_crashed = 0, n_other = 0;
    if (!manifest) {
        skip("no shared HDF5 files here");
        return;
    }
    while (fgets(line, sizeof line, manifest)) {
        char *column[20] = { NULL }, *rest = line, name[8400];
        for (int i = 0; i < 20 && rest; i++)
            column[i] = strsep(&rest, "\t");
        if (!column[12] || strcmp(column[0], "file") == 0)
            continue;
        bool must_agree = strcmp(column[5], "valid") == 0;
        const char *file = shared_path("data/h5/MANIFEST.tsv");
        snprintf(name, sizeof name, "%.*s%s",
                 (int)(strlen(file) - strlen("MANIFEST.tsv")), file, column[0]);
        fflush(stdout);
        pid_t child = fork();
        int status = -1;
        if (child == 0) {
            int null = open("/dev/null", O_WRONLY); /* malloc's last words */
            dup2(null, 2);
            _exit(check_file(name, column, must_agree));
        }
        waitpid(child, &status, 0);
        bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (must_agree && !good)
            note("%s", column[0]);
        n_valid += must_agree;
        n_wrong += must_agree && !good;
        n_crashed += !must_agree && !WIFEXITED(status);
        n_other += !must_agree;
    }
    fclose(manifest);
    ok(n_valid > 0 && n_wrong == 0,
       "%d valid shared files hold what the manifest says; of %d others, "
       "HDF5 crashed on %d",
       n_valid, n_other, n_crashed);
}

/* HDF5 does not look whether a dataset is larger than it may become. */
static void
test_beyond_most(void)
{
    static const hsize_t dims[2] = { 40961, 3 }, most[2] = { 40963, 5 }, chunk[2] = { 64, 3 };
    static const uint64_t extents[4] = { 40961, 3, 40963, 5 }, larger = 40964;
    static uint8_t bytes[1 << 16];
    struct pack_facts facts;
    struct pack_error err = { .text = "" };
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(dcpl, 2, chunk);
    H5Dclose(put(file, "x", H5T_STD_U8LE, 2, dims, most, dcpl));
    H5Pclose(dcpl);
    H5Fclose(file);
    bool good = pack_dataset_facts(path, "x", &facts, &err) == PACK_OK;
    int fd = open(path, O_RDWR);
    ssize_t size = pread(fd, bytes, sizeof bytes, 0);
    uint8_t *at = size > 0 ? memmem(bytes, (size_t)size, extents, sizeof extents) : NULL;
    good = good && at && pwrite(fd, &larger, sizeof larger, at - bytes) == sizeof larger;
    close(fd);
    ok(good && pack_dataset_facts(path, "x", &facts, &err) == PACK_ERR_FORMAT &&
           strstr(err.text, path),
       "a dataset beyond its largest extents is damaged: %s", err.text);
}

int
main(void)
{
    int64_t file;
    struct pack_error err = { .text = "" };
    pack_h5_quiet();
    create();
    if (pack_h5_open(path, NULL, &file, &err) != PACK_OK) {
        printf("Bail out! %s\n", err.text);
        return 99;
    }
    test_chunked(file);
    test_others(file);
    test_listing(file);
    test_text_attributes(file);
    pack_h5_close(file);
    test_open();
    test_zstd();
    test_missing_filter();
    test_stored();
    test_lists();
    test_bools();
    test_fills();
    test_odd_facts();
    test_beyond_most();
    unlink(path);
    test_shared();
    return done();
}
