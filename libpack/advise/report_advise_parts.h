/* What the parts of h5advise's report as text share. */
#ifndef LIBPACK_REPORT_ADVISE_PARTS_H
#define LIBPACK_REPORT_ADVISE_PARTS_H

#include "libpack/advise/report_advise.h"
#include "libpack/base/page.h"

/* "1x224x224x3", "contiguous"; text[PACK_SHAPE_TEXT_MAX] may be used for it. */
const char *pack_report_chunk(const struct pack_shape *chunk, char *text);

/* The rows, best first, a line each, and what their marks mean. */
void pack_report_advise_table(struct page *page, const struct pack_report_advise *report);
/* Hit rates, or rates, over chunk and cache sizes; nothing where there are too few. */
void pack_report_advise_chart(struct page *page, const struct pack_report_advise *report);

#endif
