/* How bad a finding is. */
#ifndef LIBPACK_SEVERITY_H
#define LIBPACK_SEVERITY_H

#ifdef __cplusplus
extern "C" {
#endif

enum pack_finding_severity {
    PACK_FINDING_NOTE = 0, /* to be known */
    PACK_FINDING_COST,     /* time or space that need not be spent */
    PACK_FINDING_HAZARD    /* it can end the run, or a later one */
};
/* "note", "cost", "hazard". */
const char *pack_finding_severity_name(enum pack_finding_severity severity);

#ifdef __cplusplus
}
#endif
#endif
