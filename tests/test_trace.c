/* Traces: what is read, and where it says that something is wrong. */
#include <libpack/pattern.h>
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

int
main(void)
{
    test_good();
    test_bad();
    return done();
}
