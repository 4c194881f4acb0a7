/* What h5advise --calibrate measured, a line each. */
#include "libpack/advise/report_advise.h"

#include "libpack/base/page.h"
#include "libpack/model/profile_terms.h"

enum pack_status
pack_report_calibration_text(const struct pack_calibration *c, struct pack_buf *buf,
                             struct pack_error *err)
{
    struct page page = { buf, PACK_OK, err };
    const struct pack_profile_term *term;
    if (c->is_cold)
        LINE(&page, "cold reads were cold: of %.0f MB, %.1f MB were still in memory\n",
            (double)c->cold_bytes / 1e6, (double)c->still_cached_bytes / 1e6);
    else
        LINE(&page,
            "the page cache could not be emptied here (%.0f of %.0f MB stayed): the "
            "storage\n"
            "figures are those of memory\n",
            (double)c->still_cached_bytes / 1e6, (double)c->cold_bytes / 1e6);
    for (size_t i = 0; (term = pack_profile_term(i)) != NULL; i++)
        LINE(&page, "%-21s %12.4g %-8s %s\n", term->key,
            *(const double *)((const char *)&c->profile + term->offset), term->unit,
            term->meaning);
    return page.status;
}
