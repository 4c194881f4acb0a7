/* Any bytes read as a machine profile; what is accepted can be printed and read again. */
#include <assert.h>
#include <stdint.h>

#include "libpack/model/profile_terms.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pack_profile profile, again;
    struct pack_buf text = { 0 };
    struct pack_error err;
    if (pack_profile_parse((const char *)data, size, &profile, &err) != PACK_OK)
        return 0;
    assert(pack_profile_at(&profile.page, 1) > 0);
    assert(pack_profile_at(&profile.copy, 1e15) >= 0);
    assert(pack_profile_print(&profile, &text, &err) == PACK_OK);
    assert(pack_profile_parse((const char *)text.data, text.size, &again, &err) ==
           PACK_OK);
    assert(again.call_ns == profile.call_ns && again.n_cpus == profile.n_cpus);
    pack_buf_done(&text);
    return 0;
}
