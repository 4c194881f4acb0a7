/* --advise of h5rechunk: what h5advise says of a file, as the chunks and filters to write. */
#ifndef TOOLS_RECHUNK_ADVICE_H
#define TOOLS_RECHUNK_ADVICE_H

#include <libpack/advise.h>
#include "libpack/base/buf.h"
#include "libpack/base/size.h"
#include "libpack/rechunk/report_rechunk.h"
#include "tools/cli.h"

/* Zeroed by the caller. */
struct rechunk_advice {
    struct pack_rechunk_advice told; /* for the report */
    char chunk[PACK_SHAPE_TEXT_MAX];
    char codec[PACK_ADVISE_CODEC_MAX]; /* "": the filters that there are */
    struct pack_buf headline;
};

/*
 * Asks as `h5advise OPTIONS FILE[:/DATASET]` does. The file may be one to keep as it is
 * (told.keeps).
 *
 * PACK_ERR_ARGUMENT for what is none of h5advise's options or does not fit the file;
 * PACK_ERR_UNSUPPORTED where what is advised cannot be written; PACK_ERR_CHANGED when the
 * file was written to meanwhile; else as the advisor. rechunk_advice_done() frees in any
 * case.
 */
enum pack_status rechunk_advice_take(const char *options, const char *file,
                                     struct cli_progress *progress,
                                     struct rechunk_advice *advice,
                                     struct pack_error *err);
void rechunk_advice_done(struct rechunk_advice *advice);

#endif
