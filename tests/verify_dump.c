/*
 * What pack_verify() says of a file, as JSON or text, for tests in other languages.
 *
 *     verify_dump FILE [THREADS [DATASET [json|text|quiet [MEMORY]]]]
 *
 * DATASET "": all of them. Status 0: all is good; 1: not; 2: could not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/audit/report_verify.h"

int
main(int argc, char **argv)
{
    struct pack_verify_params params = { .file = argc > 1 ? argv[1] : "" };
    struct pack_verify_result result;
    struct pack_buf text = { .size = 0 };
    struct pack_error err = { .text = "" };
    const char *form = argc > 4 ? argv[4] : "json";
    if (argc > 2)
        params.n_threads = (unsigned)atoi(argv[2]);
    if (argc > 3 && argv[3][0])
        params.dataset = argv[3];
    if (argc > 5)
        params.memory_bytes = strtoull(argv[5], NULL, 10);
    if (pack_verify(&params, &result, &err) != PACK_OK) {
        fprintf(stderr, "verify_dump: %s\n", err.text);
        return 2;
    }
    const struct pack_verify_report report = { .program = "verify_dump",
                                               .version = "0",
                                               .params = &params,
                                               .result = &result };
    enum pack_status status = PACK_OK;
    if (strcmp(form, "json") == 0)
        status = pack_report_verify_json(&report, &text, &err);
    else if (strcmp(form, "text") == 0)
        status = pack_report_verify_text(&report, &text, &err);
    if (status == PACK_OK)
        fwrite(text.data, 1, text.size, stdout);
    int exit_status = status != PACK_OK ? 2 : !pack_verify_is_good(&result);
    pack_buf_done(&text);
    pack_verify_done(&result);
    return exit_status;
}
