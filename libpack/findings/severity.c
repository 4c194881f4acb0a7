/* Names of a severity, one to each. */
#include "libpack/findings/severity.h"

const char *
pack_finding_severity_name(enum pack_finding_severity severity)
{
    static const char *const names[] = { [PACK_FINDING_NOTE] = "note",
                                         [PACK_FINDING_COST] = "cost",
                                         [PACK_FINDING_HAZARD] = "hazard" };
    return names[severity];
}
