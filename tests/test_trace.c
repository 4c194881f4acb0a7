/* Traces and weights: what is read, and where it says that something is wrong. */
#include "libpack/model/order_text.h"
#include "tests/tap.h"

static void
test_good(void)
{
    static const char text[] = "# h5py, 2 axes\n\n17\t0\t1\t4096\r\n"
                               "0\t18446744073709551614\t2\t1\n#\n5\t6\t7\t8";
    struct pack_trace trace;
    struct pack_error err;
    if (!ok(pack_trace_parse(text, sizeof text - 1, &trace, &err) == PACK_OK,
            "comments, empty lines and both line ends are fine")) {
        note("%s", err.text);
        return;
    }
    ok(trace.n_boxes == 3 && trace.boxes[0].rank == 2 && trace.boxes[0].start[0] == 17 &&
           trace.boxes[0].count[1] == 4096 && trace.boxes[2].start[1] == 6 &&
           trace.boxes[2].count[0] == 7,
       "starts come first, then counts");
    pack_trace_free(&trace);
}

static void
test_bad(void)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        { "", "the trace holds no reads" },
        { "# nothing\n\r\n", "the trace holds no reads" },
        { "1\t2\n\n3\n", "line 3, column 2: as many counts as starts are expected" },
        { "1\t2\n1\t1\t1\t1\n",
          "line 2, column 8: another number of dimensions than in the first read" },
        { "1 2\n", "line 1, column 2: a tab is expected here" },
        { "1\t2\t\n", "line 1, column 5: a number is expected here" },
        { "-1\t2\n", "line 1, column 1: a number is expected here" },
        { "1\t2.5\n", "line 1, column 4: a tab is expected here" },
        { "3\t18446744073709551616\n",
          "line 1, column 3: a number of more than 64 bits" },
        { "7\t8\n3\t0\n", "line 2, column 3: a count of 0" },
        { "18446744073709551615\t1\n",
          "line 1, column 22: start and count add up to more than 64 bits" },
        { "1\t2\r3", "line 1, column 4: a tab is expected here" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pack_trace trace;
        struct pack_error err = { .text = "" };
        pack_trace_parse(cases[i].text, strlen(cases[i].text), &trace, &err);
        is_text(err.text, cases[i].sentence, "refused");
    }
    char wide[200] = "";
    for (int i = 0; i < 66; i++)
        strcat(wide, i ? "\t1" : "1");
    struct pack_trace trace;
    struct pack_error err;
    pack_trace_parse(wide, strlen(wide), &trace, &err);
    is_text(err.text, "line 1, column 129: more than 32 starts and 32 counts",
            "33 dimensions are too many");
}

/* The last element, the first one behind it, and numbers that wrap around. */
static void
test_inside(void)
{
    const struct pack_shape extent = { 2, { 10, 4 } };
    static const struct {
        struct pack_box box;
        const char *sentence;
    } cases[] = {
        { { 2, { 9, 0 }, { 1, 4 } }, NULL },
        { { 2, { 0, 3 }, { 10, 1 } }, NULL },
        { { 2, { 9, 0 }, { 2, 4 } },
          "read 2 of the trace goes beyond the dataset's 10 along axis 0" },
        { { 2, { 0, 3 }, { 1, 2 } },
          "read 2 of the trace goes beyond the dataset's 4 along axis 1" },
        { { 2, { UINT64_MAX, 0 }, { 2, 1 } },
          "read 2 of the trace goes beyond the dataset's 10 along axis 0" },
        { { 2, { 10, 0 }, { 0, 4 } }, "read 2 of the trace has a count of 0 along axis 0" },
        { { 1, { 0 }, { 1 } },
          "read 2 of the trace has 1 dimension, the dataset has 2" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pack_box boxes[] = { { 2, { 0 }, { 1, 1 } }, cases[i].box };
        struct pack_error err = { .text = "" };
        enum pack_status status = pack_trace_check(boxes, 2, &extent, &err);
        bool good = (status == PACK_OK) == !cases[i].sentence;
        ok(good && (!cases[i].sentence || strcmp(err.text, cases[i].sentence) == 0),
           "%s", cases[i].sentence ? cases[i].sentence : "a box up to the edge is inside");
    }
}

static void
test_weights(void)
{
    static const struct {
        const char *text, *sentence; /* NULL: 1, 0 and 2.5 */
    } cases[] = {
        { "1\n0\n2.5\n", NULL },
        { "1 0\t2.5", NULL },
        { "\r\n1\r\n0\r\n\r\n25e-1\r\n", NULL },
        { "", "it has 0 weights for 3 samples" },
        { "1\n2\n", "it has 2 weights for 3 samples" },
        { "1\n2\n3\n 4\n", "line 4, column 2: more weights than samples" },
        { "1\n2\n3\nfour\n", "line 4, column 1: not one weight of 0 or more" },
        { "1\n-2\n3\n", "line 2, column 1: not one weight of 0 or more" },
        { "1\n2 3,\n", "line 2, column 3: not one weight of 0 or more" },
        { "nan 1 1", "line 1, column 1: not one weight of 0 or more" },
        { "1 inf 1", "line 1, column 3: not one weight of 0 or more" },
        { "0 0 0", "its weights add up to 0" },
        { "1e308 1e308 1", "its weights add up to inf" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double *weights = NULL;
        struct pack_error err = { .text = "" };
        enum pack_status status =
            pack_weights_parse(cases[i].text, strlen(cases[i].text), 3, &weights, &err);
        if (cases[i].sentence)
            is_text(err.text, cases[i].sentence, cases[i].sentence);
        else
            ok(status == PACK_OK && weights[0] == 1 && weights[1] == 0 && weights[2] == 2.5,
               "weights are apart by blanks or line ends");
        free(weights);
    }
}

int
main(void)
{
    test_good();
    test_bad();
    test_inside();
    test_weights();
    return done();
}
