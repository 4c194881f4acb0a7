#include "tools/advise_calibrate.h"

#include <string.h>

#include "libpack/advise/calibrate.h"
#include "libpack/advise/report_advise.h"
#include "libpack/base/outfile.h"
#include "libpack/model/profile_terms.h"

enum pack_status
advise_calibrate(const struct advise_calibrate_options *o, const struct pack_watch *watch,
                 struct cli_progress *progress, struct pack_buf *text,
                 struct pack_error *err)
{
    struct pack_calibrate_params params = { .dir = o->dir,
                                            .seed = o->seed,
                                            .watch = *watch };
    struct pack_calibration calibration;
    struct pack_buf profile = { 0 };
    enum pack_status status = PACK_OK;
    if (!o->output && !o->json)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--calibrate needs -o FILE, where the profile goes");
    const char *dot = o->output ? strrchr(o->output, '.') : NULL;
    if (o->output && !strchr(o->output, '/') && (!dot || strcmp(dot, ".json") != 0))
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--output: '%s' would not be known as a profile: '%s.json' would",
                         o->output, o->output);
    status = pack_outfile_check(o->output, o->force, err);
    if (status == PACK_OK)
        status = pack_calibrate(&params, &calibration, err);
    cli_progress_end(progress);
    if (status == PACK_OK)
        status = pack_profile_print(&calibration.profile, &profile, err);
    if (status == PACK_OK)
        status = o->json ? pack_buf_append(text, profile.data, profile.size, err)
                         : pack_report_calibration_text(&calibration, text, err);
    if (status == PACK_OK && o->output)
        status = pack_outfile_write(o->output, o->force, profile.data, profile.size, err);
    pack_buf_done(&profile);
    return status;
}
