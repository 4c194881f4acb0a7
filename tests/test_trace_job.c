/* Traces of several processes: names, surveys, the job they are of, and merging. */
#include <math.h>
#include <stdlib.h>

#include "libpack/advise/training.h"
#include "libpack/model/trace_job.h"
#include "libpack/model/trace_merge.h"
#include "libpack/model/trace_survey.h"
#include "tests/tap.h"

#define HEAD  "# h5pack-trace 2\n# file\t0\t/d/a.h5\n# dataset\t0\t/x\n"
#define NAMES HEAD "# file\t1\t/e/a.h5\n# dataset\t1\tlabels\n"

static void
test_names(void)
{
    static const char text[] = NAMES "1\t1\t0\t1\t7\t50\n" /* later in time */
                                     "2\t3\t1\t1\t0\t0\t7\t20\n\n"
                                     "# around\t2\n"
                                     "4\t5\t1\t1\t0\t0\t8\t10\n"
                                     "6\t7\t1\t1\t1\t0\t8\t10\n"
                                     "2\t3\t1\t1\t0\t0\t8\t30\r\n"
                                     "3\t3\t1\t1\t0\t0\t8\t30\n";
    struct pack_trace trace = { 0 };
    struct pack_error err = { .text = "" };
    if (!ok(pack_trace_parse(text, sizeof text - 1, &trace, &err) == PACK_OK,
            "a trace of the second form")) {
        note("%s", err.text);
        return;
    }
    ok(trace.n_boxes == 4 && strcmp(trace.file, "/d/a.h5") == 0 &&
           strcmp(trace.dataset, "/x") == 0,
       "the dataset most read is taken");
    ok(trace.boxes[0].start[0] == 4 && trace.times_ns[0] == 10 &&
           trace.processes[0] == 8 && trace.boxes[1].start[1] == 3 &&
           trace.processes[1] == 7 && trace.boxes[3].start[0] == 3,
       "in the order of time, boxes of one read as they stand");
    pack_trace_free(&trace);
    struct pack_trace_survey s = { 0 };
    const struct pack_trace_part *part = NULL;
    uint64_t n = 0;
    pack_trace_survey(text, sizeof text - 1, &s, NULL);
    ok(s.n_parts == 3 && s.parts[0].n_reads == 3 && s.parts[0].n_boxes == 4 &&
           s.parts[0].n_processes == 2 && s.head.n_around == 2,
       "boxes of one process at one time are one read");
    pack_trace_survey_processes(&s, &n, NULL);
    ok(n == 2, "two processes in all");
    ok(pack_trace_survey_find(&s, "/e/a.h5", "x", &part, NULL) == PACK_OK &&
           part->file == 1,
       "a file by its whole name");
    ok(pack_trace_survey_find(&s, "other/a.h5", "/labels", &part, NULL) == PACK_OK &&
           part->dataset == 1,
       "a dataset of another file, with a slash or without");
    pack_trace_survey_find(&s, NULL, "/y", &part, &err);
    is_text(err.text,
            "the trace has no reads of '/y'; it has of '/x' (3), '/labels' (1), "
            "'/x' (1)",
            "what was read instead is named");
    pack_trace_survey_done(&s);
}

/* Of each of many files two datasets, in turns; of the last file one read more. */
static void
test_many(void)
{
    enum { FILES = 3000 };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fputs("# h5pack-trace 2\n# dataset\t0\t/x\n# dataset\t1\t/y\n", out);
    for (int i = 0; i < FILES; i++)
        fprintf(out, "# file\t%d\t/d/%d.h5\n", i, i);
    for (int i = 0; i <= 4 * FILES; i++) {
        int file = i < 4 * FILES ? i / 2 % FILES : FILES - 1;
        fprintf(out, "%d\t1\t%d\t%d\t7\t%d\n", i, file, i % 2, i);
    }
    fclose(out);
    struct pack_trace_survey s = { 0 };
    struct pack_error err = { .text = "" };
    const struct pack_trace_part *part = NULL;
    bool good = pack_trace_survey(text, size, &s, &err) == PACK_OK && s.n_parts == 2 * FILES &&
                s.parts[0].file == FILES - 1 && s.parts[0].dataset == 0 && s.parts[0].n_reads == 3;
    for (size_t i = 1; i < s.n_parts; i++)
        good = good && s.parts[i].n_reads == 2;
    ok(good && pack_trace_survey_find(&s, "/d/1234.h5", "y", &part, &err) == PACK_OK &&
           part->file == 1234 && part->dataset == 1,
       "a trace of very many datasets%s%s", err.text[0] ? ": " : "", err.text);
    pack_trace_survey_done(&s);
    free(text);
}

static void
test_bad(void)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        { "# h5pack-trace 3\n1\t1\n",
          "line 1, column 16: a trace of a form that is not known: 2 is" },
        { "# h5pack-trace 21\n",
          "line 1, column 17: a trace of a form that is not known: 2 is" },
        { HEAD, "the trace holds no reads" },
        { HEAD "1\t1\n",
          "line 4, column 4: starts, as many counts, file, dataset, process "
          "and time are expected" },
        { HEAD "1\t1\t0\t0\t7\n", "line 4, column 10: starts, as many counts, file, "
                                  "dataset, process and time are expected" },
        { HEAD "1\t1\t1\t0\t7\t8\n", "line 4, column 5: a file that has no name so far" },
        { HEAD "1\t1\t0\t1\t7\t8\n",
          "line 4, column 7: a dataset that has no name so far" },
        { HEAD "1\t0\t0\t0\t7\t8\n", "line 4, column 3: a count of 0" },
        { HEAD "1\t1\t0\t0\t7\t8\n1\t1\t1\t1\t0\t0\t7\t8\n",
          "line 5, column 16: another number of dimensions than in the first read" },
        { HEAD "# file\t2\tb\n", "line 4, column 8: 1 is expected here" },
        { HEAD "# file\t1 b\n", "line 4, column 9: a tab is expected here" },
        { HEAD "# file\t1\t\n", "line 4, column 10: a name is expected here" },
        { HEAD "# file\t1\ta\\x\n",
          "line 4, column 12: \\\\, \\t, \\n or \\r is expected here" },
        { HEAD "# file\t1\ta\\",
          "line 4, column 12: \\\\, \\t, \\n or \\r is expected here" },
        { HEAD "# around\tx\n", "line 4, column 10: a number is expected here" },
        { HEAD "# spent\t0\t1\t2\t3\n",
          "line 4, column 16: times of what has no name so far" },
        { HEAD "# spent\t0\t0\t2\n", "line 4, column 14: a tab is expected here" },
        { HEAD "# spent\t0\t0\t2\tx\n", "line 4, column 15: a number is expected here" },
        { HEAD "# spent\t0\t0\t2\t3\tx\n", "line 4, column 17: a number is expected here" },
        { HEAD "# ran\t7\t2\t3\t4\t5\n", "line 4, column 16: a tab is expected here" },
        { HEAD "# ran\t7\t2\t3\t4\t5\tx\n", "line 4, column 17: a number is expected here" },
        { HEAD "# cache\t0\t1\t7\t521\t9\t0.75\t2.0\n",
          "line 4, column 21: a cache of what has no name so far" },
        { HEAD "# cache\t1\t0\t7\t521\t9\t0.75\t2.0\n",
          "line 4, column 21: a cache of what has no name so far" },
        { HEAD "# cache\t0\t0\t7\t521\n", "line 4, column 18: a tab is expected here" },
        { HEAD "# cache\t0\t0\t7\t521\t9\tx\n", "line 4, column 21: a number is expected here" },
        { HEAD "# cache\t0\t0\t7\t521\t9\t1.000001\t2.0\n",
          "line 4, column 29: a number from 0 to 1 is expected here" },
        { HEAD "# cache\t0\t0\t7\t521\t9\t0.5\n", "line 4, column 24: a tab is expected here" },
        { HEAD "# cache\t0\t0\t7\t521\t9\t0.5\t\n",
          "line 4, column 25: a version of HDF5 is expected here" },
        { HEAD "# cache\t0\t0\t7\t521\t9\t0.5\t2.0x\n",
          "line 4, column 29: a version of HDF5 is expected here" },
        { HEAD "# cache\t0\t0\t7\t521\t9\t0.5\t1.10.1234567890123\n",
          "line 4, column 40: a version of HDF5 is expected here" },
        { HEAD "1\t1\t0\t0\t-7\t8\n", "line 4, column 9: a number is expected here" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pack_trace trace;
        struct pack_error err = { .text = "" };
        pack_trace_parse(cases[i].text, strlen(cases[i].text), &trace, &err);
        is_text(err.text, cases[i].sentence, "refused");
    }
    static const char nul[] = HEAD "# file\t1\ta\0b\n";
    struct pack_trace trace;
    struct pack_error err = { .text = "" };
    pack_trace_parse(nul, sizeof nul - 1, &trace, &err);
    is_text(err.text, "line 4, column 11: a name with a NUL", "refused");
    static const char killed[] = HEAD "1\t1\t0\t0\t7\t8\n2\t1\t0\t0\t7\t9\n3\t1\t0\t0\t7\0\0\0";
    static const char holes[] = HEAD "1\t1\t0\t0\t7\t8\n2\t1\t\0\0\0\0\0\t7\t9\n\0\0";
    static const char bare[] = "1\t1\n\0\0";
    ok(pack_trace_parse(killed, sizeof killed - 1, &trace, &err) == PACK_OK &&
           trace.n_boxes == 2 && trace.boxes[1].start[0] == 2,
       "zeros end what was recorded, without the line before them that is half of one");
    pack_trace_free(&trace);
    ok(pack_trace_parse(holes, sizeof holes - 1, &trace, &err) == PACK_OK && trace.n_boxes == 1,
       "or without one that has holes");
    pack_trace_free(&trace);
    pack_trace_parse(holes, sizeof holes - 3, &trace, &err);
    is_text(err.text, "line 5, column 5: a number is expected here", "holes alone are damage");
    pack_trace_parse(bare, sizeof bare - 1, &trace, &err);
    is_text(err.text, "line 2, column 1: a number is expected here", "as zeros are where nobody records");
    struct pack_buf text = { 0 };
    pack_buf_printf(&text, NULL, "# h5pack-trace 2\n");
    pack_trace_put_name(&text, "file", 0, "a\\b\tc\nd\re", NULL);
    pack_buf_printf(&text, NULL, "# dataset\t0\tx\n1\t1\t0\t0\t7\t8\n");
    ok(pack_trace_parse((char *)text.data, text.size, &trace, &err) == PACK_OK,
       "a strange name is written so that it can be read");
    is_text(trace.file, "a\\b\tc\nd\re", "and is the same");
    pack_trace_free(&trace);
    pack_buf_done(&text);
}

/* ------------------------------------------------------------------- jobs */

/* "7:3 8:4" are reads of rows 3 and 4 by the processes 7 and 8, one after another. */
static struct pack_trace
trace_of(const char *reads)
{
    struct pack_buf text = { 0 };
    struct pack_trace trace = { 0 };
    struct pack_error err;
    int process, row, n, time = 0;
    pack_buf_printf(&text, NULL, HEAD);
    for (; sscanf(reads, "%d:%d%n", &process, &row, &n) == 2; reads += n)
        pack_buf_printf(&text, NULL, "%d\t1\t0\t0\t%d\t%d\n", row, process, ++time);
    if (pack_trace_parse((char *)text.data, text.size, &trace, &err) != PACK_OK)
        note("%s", err.text);
    pack_buf_done(&text);
    return trace;
}

/* The rows as they come, "1 2 | 3 4" with a bar between epochs. */
static void
is_job(const char *reads, int64_t workers, uint64_t batch, const char *expected,
       const struct pack_trace_job *job, const char *what)
{
    struct pack_trace trace = trace_of(reads);
    struct pack_trace_job found;
    char text[400] = "";
    size_t at = 0;
    pack_trace_job(&trace, workers, batch, &found, NULL);
    for (size_t i = 0; i < trace.n_boxes; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s%d", i ? " " : "",
                               i && i % (trace.n_boxes / found.epochs) == 0 ? "| " : "",
                               (int)trace.boxes[i].start[0]);
    is_text(text, expected, what);
    if (!ok(found.workers == job->workers && found.epochs == job->epochs &&
                found.workers_end == job->workers_end &&
                found.is_replayed == job->is_replayed &&
                found.n_beside == job->n_beside && found.n_uneven == job->n_uneven,
            "%s: what it is", what))
        note("%d workers, %d epochs, end %d, replayed %d, beside %d, uneven %d",
             (int)found.workers, (int)found.epochs, found.workers_end, found.is_replayed,
             (int)found.n_beside, (int)found.n_uneven);
    pack_trace_free(&trace);
}

static void
test_jobs(void)
{
    const int64_t same = PACK_TRACE_AS_RECORDED;
    is_job("7:1 8:5 7:2 7:3 8:6 8:7 7:4 8:8", same, 2, "1 2 5 6 3 4 7 8",
           &(struct pack_trace_job){ .workers = 2, .epochs = 1, .is_replayed = true },
           "each worker has its own reads, in its order");
    is_job("7:1 8:5 7:2 7:3 8:6 8:7 7:4 8:8", 3, 2, "1 5 2 3 6 7 4 8",
           &(struct pack_trace_job){ .workers = 2, .epochs = 1 },
           "other workers share them as they came");
    is_job("7:1 8:5 7:2 8:6 7:6 8:2 7:5 8:1", same, 1, "1 5 2 6 | 6 2 5 1",
           &(struct pack_trace_job){ .workers = 2, .epochs = 2, .is_replayed = true },
           "a pass in which nothing is read twice is an epoch");
    is_job("7:1 8:5 7:2 8:6 10:6 9:2 10:5 9:1", same, 1, "1 5 2 6 | 6 2 5 1",
           &(struct pack_trace_job){
               .workers = 2, .epochs = 2, .workers_end = true, .is_replayed = true },
           "workers that an epoch starts take the places of those before");
    is_job("7:1 7:2 8:5 8:6 10:1 9:2 10:5 9:6", same, 1, "1 5 2 6 | 1 2 5 6",
           &(struct pack_trace_job){
               .workers = 2, .epochs = 2, .workers_end = true, .is_replayed = true },
           "two of one epoch are two, also one after the other");
    is_job("7:1 7:2 8:5 8:6", same, 1, "1 2 5 6",
           &(struct pack_trace_job){ .workers = 1, .epochs = 1, .is_replayed = true },
           "where there is one epoch, who comes later can be the same worker");
    is_job("7:1 7:2 7:3 7:1 7:2", same, 1, "1 2 3",
           &(struct pack_trace_job){
               .workers = 1, .epochs = 1, .is_replayed = true, .n_uneven = 2 },
           "an epoch that was cut short is left out");
    is_job("7:1 7:2 7:1 7:3 7:3 7:4 7:5 7:6", same, 1, "1 2 1 3 3 4 5 6",
           &(struct pack_trace_job){ .workers = 1, .epochs = 1, .is_replayed = true },
           "draws with replacement are one epoch");
    is_job("7:1 7:2 7:3 7:4 7:1 7:1 7:2 7:3 7:4", same, 1, "1 2 3 4 1 1 2 3 4",
           &(struct pack_trace_job){ .workers = 1, .epochs = 1, .is_replayed = true },
           "also where but one part is shorter");
    is_job("7:1 8:2 9:5 7:10 9:6 9:7 8:3 8:4 8:8", same, 1, "1 2 5 10 3 6 4 8 7",
           &(struct pack_trace_job){ .workers = 3, .epochs = 1, .is_replayed = true },
           "of those that have most left");
    is_job(
        "9:50 7:1 8:11 7:2 8:12 7:3 8:13 7:4 8:14 7:5 8:15 7:6 8:16 7:7 8:17 7:8 8:18 "
        "7:9 8:19 7:10 8:20 7:21 8:31 7:22 8:32 7:23 8:33 7:24 8:34 7:25 8:35 7:26 8:36 "
        "7:27 8:37 7:28 8:38 7:29 8:39 7:30 8:40",
        same, 20,
        "1 2 3 4 5 6 7 8 9 10 21 22 23 24 25 26 27 28 29 30 11 12 13 14 15 16 17 18 19 "
        "20 31 32 33 34 35 36 37 38 39 40",
        &(struct pack_trace_job){
            .workers = 2, .epochs = 1, .is_replayed = true, .n_beside = 1 },
        "who only looked in is no worker");
    is_job("7:1 8:5 7:2 7:3 7:4", same, 1, "1 5 2 3 4",
           &(struct pack_trace_job){ .workers = 2, .epochs = 1, .is_replayed = true },
           "who has read all of his is given what others read");
    struct pack_trace bare = { 0 };
    struct pack_trace_job job;
    pack_trace_parse("5\t1\n4\t1\n", 8, &bare, NULL);
    ok(pack_trace_job(&bare, same, 1, &job, NULL) == PACK_OK && job.workers == 0 &&
           job.epochs == 1 && bare.n_boxes == 2 && bare.boxes[0].start[0] == 5,
       "a bare trace says nothing of workers, and stays as it is");
    pack_trace_free(&bare);
}

/* Two workers: 7 reads at 100, two boxes at 300, at 400; 8 at 100 and 160. Another looked in. */
static void
test_times(void)
{
    static const char text[] = HEAD "1\t1\t0\t0\t7\t100\n2\t1\t0\t0\t8\t100\n"
                                    "3\t1\t0\t0\t8\t160\n4\t1\t0\t0\t7\t300\n"
                                    "5\t1\t0\t0\t7\t300\n6\t1\t0\t0\t7\t400\n"
                                    "# spent\t0\t0\t2\t50\n# spent\t0\t0\t2\t30\n";
    struct pack_trace trace = { 0 };
    struct pack_trace_job job;
    pack_trace_parse(text, sizeof text - 1, &trace, NULL);
    ok(trace.n_boxes == 6 && fabs(trace.read_ns - 80.0 / 4 * 5 / 6) < 1e-9,
       "what a box took: that of a read, of which there are 5 with 6 boxes");
    pack_trace_job(&trace, PACK_TRACE_AS_RECORDED, 1, &job, NULL);
    ok(fabs(job.box_ns - (300.0 + 60) / 4) < 1e-9 &&
           fabs(job.read_ns - 80.0 / 4 * 5 / 6) < 1e-9,
       "from box to box, over both workers: %g, of which %g are read", job.box_ns,
       job.read_ns);
    pack_trace_free(&trace);
    static const char epochs[] = HEAD "1\t1\t0\t0\t7\t100\n2\t1\t0\t0\t7\t110\n"
                                      "2\t1\t0\t0\t7\t900\n1\t1\t0\t0\t7\t930\n"
                                      "# spent\t0\t0\t4\t20\n";
    pack_trace_parse(epochs, sizeof epochs - 1, &trace, NULL);
    pack_trace_job(&trace, PACK_TRACE_AS_RECORDED, 1, &job, NULL);
    ok(job.epochs == 2 && job.box_ns == 20 && job.read_ns == 5,
       "what is between epochs is not between reads: %g", job.box_ns);
    pack_trace_free(&trace);
    static const char sharp[] = HEAD "1\t1\t0\t0\t7\t100\n2\t1\t0\t0\t7\t110\n"
                                     "# spent\t0\t0\t1\t18446744073709551615\n"
                                     "# spent\t0\t0\t1\t2\n";
    pack_trace_parse(sharp, sizeof sharp - 1, &trace, NULL);
    pack_trace_job(&trace, PACK_TRACE_AS_RECORDED, 1, &job, NULL);
    ok(job.box_ns == 10 && job.read_ns == 10, "no more than all of it is reading");
    pack_trace_free(&trace);
    static const char once[] = HEAD "1\t1\t0\t0\t7\t100\n2\t1\t0\t0\t7\t100\n"
                                    "# spent\t0\t0\t1\t5\n";
    pack_trace_parse(once, sizeof once - 1, &trace, NULL);
    pack_trace_job(&trace, PACK_TRACE_AS_RECORDED, 1, &job, NULL);
    ok(job.box_ns == 0 && job.read_ns == 0,
       "one read says nothing of the time between reads");
    pack_trace_free(&trace);
}

/* Two workers from box to box in 100 ns, which read in 80 and 60 of them: while the second one
 * waits for the first, it does nothing of its own. */
static void
test_waiting(void)
{
    static const char text[] = HEAD
        "1\t1\t0\t0\t7\t100\n2\t1\t0\t0\t8\t100\n3\t1\t0\t0\t7\t200\n4\t1\t0\t0\t8\t200\n"
        "5\t1\t0\t0\t7\t300\n6\t1\t0\t0\t8\t300\n";
    static const struct {
        const char *spent;
        double read_ns, parents, parent_busy, busy, delayed;
        const char *name;
    } cases[] = {
        { "# spent\t0\t0\t3\t240\t7\n# spent\t0\t0\t3\t180\t8\n", 80, 0, 0, 0, 0,
          "what the one does beside reading that waits for none" },
        { "# spent\t0\t0\t3\t120\t7\n# spent\t0\t0\t3\t270\t8\n# spent\t0\t0\t3\t120\t7\n"
          "# ran\t8\t200\t100\t20\t4\t50\n# ran\t7\t200\t60\t40\t4\t30\n"
          "# ran\t7\t100\t20\t15\t4\t20\n# ran\t9\t9\t9\t9\t9\t9\n",
          90, 1, 0.2, 0.36, 0.15, "whichever that is; and how they ran, one parent's" },
        { "# spent\t0\t0\t3\t240\t7\n# spent\t0\t0\t3\t180\t8\n"
          "# ran\t8\t100\t70\t40\t4\t50\n# ran\t7\t100\t70\t40\t5\t250\n",
          80, 2, 1, 0.7, 0.3, "or those of two; no more than all of the time" },
        { "# spent\t0\t0\t6\t420\n", 70, 0, 0, 0, 0, "the mean where nobody says whose it is" },
        { "# spent\t0\t0\t3\t240\t7\n# spent\t0\t0\t3\t180\n", 70, 0, 0, 0, 0,
          "or not of all" },
        { "# spent\t0\t0\t3\t240\t7\n# spent\t0\t0\t3\t900\t8\n", 100, 0, 0, 0, 0,
          "no more than all of it is reading" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pack_buf all = { 0 };
        struct pack_trace trace = { 0 };
        struct pack_trace_job job;
        pack_buf_printf(&all, NULL, "%s%s", text, cases[i].spent);
        pack_trace_parse((char *)all.data, all.size, &trace, NULL);
        pack_trace_job(&trace, PACK_TRACE_AS_RECORDED, 1, &job, NULL);
        ok(job.box_ns == 100 && fabs(job.read_ns - cases[i].read_ns) < 1e-9 &&
               job.parents == cases[i].parents &&
               fabs(job.parent_busy - cases[i].parent_busy) < 1e-9 &&
               fabs(job.busy - cases[i].busy) < 1e-9 &&
               fabs(job.delayed - cases[i].delayed) < 1e-9,
           "%s: %g, %g, %g, %g", cases[i].name, job.read_ns, job.parent_busy, job.busy,
           job.delayed);
        pack_trace_free(&trace);
        pack_buf_done(&all);
    }
    /* fresh workers of a second epoch, of which the other one waits */
    static const char fresh[] = HEAD
        "1\t1\t0\t0\t7\t100\n2\t1\t0\t0\t8\t100\n3\t1\t0\t0\t7\t200\n4\t1\t0\t0\t8\t200\n"
        "1\t1\t0\t0\t5\t900\n2\t1\t0\t0\t6\t900\n3\t1\t0\t0\t5\t1000\n4\t1\t0\t0\t6\t1000\n"
        "# spent\t0\t0\t2\t180\t7\n# spent\t0\t0\t2\t100\t8\n"
        "# spent\t0\t0\t2\t120\t5\n# spent\t0\t0\t2\t140\t6\n"
        "# ran\t7\t100\t9\t0\t1\t9\n# ran\t8\t100\t9\t0\t1\t9\n"
        "# ran\t5\t100\t9\t0\t2\t9\n# ran\t6\t100\t9\t0\t3\t9\n";
    struct pack_trace trace = { 0 };
    struct pack_trace_job job;
    pack_trace_parse(fresh, sizeof fresh - 1, &trace, NULL);
    pack_trace_job(&trace, PACK_TRACE_AS_RECORDED, 1, &job, NULL);
    ok(job.workers_end && fabs(job.read_ns - (90 + 70) / 2.0) < 1e-9 && job.parents == 1,
       "each epoch has its own: %g", job.read_ns);
    pack_trace_free(&trace);
}

/* The chunk cache of the process that reads most, of those that say theirs. */
static void
test_cache(void)
{
    static const char text[] = NAMES
        "1\t1\t0\t0\t7\t1\n2\t1\t0\t0\t8\t2\n3\t1\t0\t0\t8\t3\n4\t1\t0\t0\t9\t4\n"
        "5\t1\t0\t0\t9\t5\n6\t1\t0\t0\t9\t6\n1\t1\t1\t1\t7\t1\n1\t1\t0\t1\t7\t8\n"
        "# cache\t0\t0\t8\t8191\t8388608\t0.75\t2.0.0\n"
        "# cache\t0\t0\t7\t521\t1048576\t0.750000\t1.10.8\n"
        "# cache\t1\t0\t9\t1\t2\t1\t1.14\n";
    static const struct {
        const char *file, *dataset, *version;
        uint64_t slots, bytes;
        double w0;
    } cases[] = {
        { "/d/a.h5", "x", "2.0.0", 8191, 8388608, 0.75 },
        { "/d/a.h5", "labels", "1.10.8", 521, 1048576, 0.75 }, /* none of its own: its file's */
        { "/e/a.h5", "labels", "1.14", 1, 2, 1 },
    };
    struct pack_trace trace = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pack_trace_parse_of(text, sizeof text - 1, cases[i].file, cases[i].dataset, &trace, NULL);
        ok(strcmp(trace.hdf5_version, cases[i].version) == 0 &&
               trace.rdcc_nslots == cases[i].slots && trace.rdcc_nbytes == cases[i].bytes &&
               trace.rdcc_w0 == cases[i].w0,
           "the cache of %s in %s: %s", cases[i].dataset, cases[i].file, trace.hdf5_version);
        pack_trace_free(&trace);
    }
    static const char none[] = HEAD "1\t1\t0\t0\t7\t1\n# cache\t0\t0\t7\t1\t2\t1\t9.0.1\n";
    ok(pack_trace_parse(none, sizeof none - 1, &trace, NULL) == PACK_OK && trace.n_boxes == 1,
       "a version to come spoils no trace");
    is_text(trace.hdf5_version, "", "a trace that says it of a version to come");
    pack_trace_free(&trace);
}

/* 2 workers, 1 us from sample to sample, 0.75 of it reading. */
static void
test_training(void)
{
    struct pack_trace_job job = {
        .workers = 2, .is_replayed = true, .box_ns = 1000, .read_ns = 750
    };
    struct pack_advise_training t;
    ok(pack_advise_training(&job, 3, 2, &t) && fabs(t.recorded_rate - 2e6) < 1e-3 &&
           t.reading == 0.75 && fabs(t.gain - 2) < 1e-9 && fabs(t.rate - 4e6) < 1e-3 &&
           fabs(t.most - 4) < 1e-9 && !t.is_least,
       "reads three times as fast make a training twice as fast, and 4 times at most");
    /* processors are busy for half of the time: less waits as there is less to do */
    job.busy = 0.4, job.delayed = 0.1, job.parents = 1, job.parent_busy = 0.2;
    ok(pack_advise_training(&job, 1, 2, &t) && fabs(t.gain - 1) < 1e-6 && t.training == 0.2,
       "reads that are no faster change nothing: %g", t.gain);
    /* of 250 + 250 ns 0.8 are work; waiting is what it was, times how busy they are */
    pack_advise_training(&job, 3, 2, &t);
    double busier = (0.4 * 500 * 2 + 200) / (0.4 * 1000 * 2 + 200) * t.gain;
    ok(fabs(1000 / t.gain - 0.8 * 500 / (1 - 0.2 * busier)) < 0.1 && t.gain < 2,
       "what waits for a processor waits as they are busy: %g", t.gain);
    job.parent_busy = 0.6;
    ok(pack_advise_training(&job, 3, 2, &t) && fabs(t.gain - 1 / 0.6) < 1e-6 &&
           fabs(t.most - t.gain) < 1e-6,
       "no more than the process that trains has time for: %g", t.gain);
    job.parent_busy = 0.2, job.busy = 0.9, job.delayed = 0;
    ok(pack_advise_training(&job, 3, 1, &t) && fabs(t.gain - 1) < 1e-6,
       "what has been done can be done: %g", t.gain);
    ok(pack_advise_training(&job, 1e9, 1, &t) &&
           fabs(t.gain - 1000 / (0.9 * 250 * 2 + 200)) < 1e-6,
       "nor than the processors have: %g", t.gain);
    ok(pack_advise_training(&job, 0.5, 8, &t) && fabs(t.gain - 1 / 1.75) < 1e-6,
       "slower reads: %g", t.gain);
    job.read_ns = 960;
    ok(pack_advise_training(&job, 3, 8, &t) && t.is_least && pack_advise_training(&job, 1, 8, &t) &&
           !t.is_least,
       "where all but a little is reading, a gain is a bound");
    job.parent_busy = 0.5;
    ok(pack_advise_training(&job, 30, 8, &t) && !t.is_least && fabs(t.gain - 2) < 1e-6,
       "but not where the training is what limits");
    job = (struct pack_trace_job){ .workers = 2, .box_ns = 1000, .read_ns = 750 };
    ok(!pack_advise_training(&job, 3, 2, &t), "nothing is said of other workers");
    job.is_replayed = true;
    job.read_ns = 0;
    ok(!pack_advise_training(&job, 3, 2, &t), "nor where it is not known what reads took");
    ok(!pack_advise_training(NULL, 3, 2, &t), "nor of what is no trace");
}

/* A pattern goes through the epochs of a trace in turn. */
static void
test_epochs(void)
{
    struct pack_box boxes[4] = {
        { 1, { 3 }, { 1 } }, { 1, { 4 }, { 1 } }, { 1, { 5 }, { 1 } }, { 1, { 6 }, { 1 } }
    };
    struct pack_pattern pattern = { .kind = PACK_PATTERN_TRACE,
                                    .trace = boxes,
                                    .n_trace = 4,
                                    .trace_epochs = 2,
                                    .epoch = 1 };
    struct pack_pattern_iter *iter = NULL;
    struct pack_request r;
    struct pack_error err = { .text = "" };
    char text[80] = "";
    pack_pattern_new(&pattern, &iter, &err);
    for (uint64_t e = 1; iter && e < 4; e++) {
        pack_pattern_seek(iter, e, 0, NULL);
        while (pack_pattern_next(iter, &r))
            snprintf(text + strlen(text), sizeof text - strlen(text), "%d",
                     (int)r.boxes[0].start[0]);
    }
    is_text(text, "563456", "the second epoch, the first again, the second");
    ok(pack_pattern_length(iter) == 2, "an epoch is a part of the trace");
    pack_pattern_free(iter);
    pattern.trace_epochs = 3;
    pack_pattern_new(&pattern, &iter, &err);
    is_text(err.text, "a trace of 4 boxes is not 3 epochs of the same length", "refused");
}

/* ----------------------------------------------------------------- merging */

static void
test_merge(void)
{
    static const char a[] = HEAD "1\t1\t0\t0\t7\t10\n2\t1\t0\t0\t7\t30\n# around\t1\n"
                                 "# spent\t0\t0\t2\t700\n# ran\t7\t9\t8\t1\t2\t3\n"
                                 "# cache\t0\t0\t7\t521\t9\t0.75\t1.10.8\n"
                                 "# ran\t7\t1\t1\t0\t2\t1\n"
                                 "3\t1\t0\t0\t7\t50\n3\t1\t0\t0\t7";
    static const char b[] =
        "# h5pack-trace 2\n# file\t0\tb\\t.h5\n# file\t1\t/d/a.h5\n"
        "# dataset\t0\t/y\n# dataset\t1\t/x\n"
        "9\t1\t0\t0\t8\t20\n# spent\t0\t0\t1\t90\n"
        "# cache\t1\t1\t8\t0\t0\t1\t2.0\n# cache\t0\t1\t8\t4\t4\t0.333333\t2.0\n"
        "# cache\t1\t0\t8\t4\t4\t0\t2.0\n"
        "5\t1\t1\t1\t8\t30\n# spent\t1\t1\t1\t11\t8\n# spent\t1\t1\t1\t1\t8\n# stopped\t28\n\0\0\0";
    static const char c[] = HEAD "8\t1\t0\t0\t6\t5\n8\t1\tz\n8\t1\t0\t0\t6\t6\n";
    struct pack_trace_piece pieces[] = { { a, sizeof a - 1, true },
                                         { b, sizeof b - 1, false },
                                         { c, sizeof c - 1, false },
                                         { "", 0, false },
                                         { "1\t1\n", 4, false } };
    struct pack_buf out = { 0 };
    size_t n_damaged = 0, n_stopped = 0;
    pack_trace_merge(pieces, 5, &out, &n_damaged, &n_stopped, NULL);
    is_text((char *)out.data,
            HEAD "8\t1\t0\t0\t6\t5\n1\t1\t0\t0\t7\t10\n# file\t1\tb\\t.h5\n"
                 "# dataset\t1\t/y\n9\t1\t1\t1\t8\t20\n2\t1\t0\t0\t7\t30\n"
                 "5\t1\t0\t0\t8\t30\n3\t1\t0\t0\t7\t50\n"
                 "# spent\t0\t0\t2\t700\n# spent\t1\t1\t1\t90\n# spent\t0\t0\t2\t12\t8\n"
                 "# ran\t7\t10\t9\t1\t2\t4\n# cache\t0\t0\t7\t521\t9\t0.75\t1.10.8\n"
                 "# cache\t0\t0\t8\t0\t0\t1\t2.0\n# cache\t1\t0\t8\t4\t4\t0.333333\t2.0\n"
                 "# cache\t0\t1\t8\t4\t4\t0\t2.0\n# around\t1\n",
            "by time, with one set of names, without half a line");
    ok(n_damaged == 2, "a bare one and a damaged one are counted");
    ok(!pieces[0].is_damaged && !pieces[1].is_damaged && pieces[2].is_damaged &&
           !pieces[3].is_damaged && pieces[4].is_damaged,
       "and marked");
    ok(n_stopped == 1, "so is one that had to stop");
    out.size = 0;
    pack_trace_merge(pieces + 3, 1, &out, &n_damaged, &n_stopped, NULL);
    ok(out.size == 0 && n_damaged == 0, "nothing makes nothing");
    pack_buf_done(&out);
}

int
main(void)
{
    test_names();
    test_many();
    test_bad();
    test_jobs();
    test_times();
    test_waiting();
    test_cache();
    test_training();
    test_epochs();
    test_merge();
    return done();
}
