/* Any bytes read as a list of images, in each of the three forms. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>

#include "libpack/list.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    for (int format = PACK_LIST_TABLE; format <= PACK_LIST_NULL; format++) {
        FILE *file = fmemopen((void *)(uintptr_t)data, size, "r");
        struct pack_list *list = NULL;
        struct pack_error err;
        if (!file)
            return 0;
        if (pack_list_read(file, "list.csv", (enum pack_list_format)format, &list,
                           &err) == PACK_OK) {
            assert(list->n_rows > 0);
            for (uint64_t i = 0; i < list->n_rows; i++)
                assert(list->path.strings[i][0] != '\0');
            pack_list_free(list);
        }
        fclose(file);
    }
    return 0;
}
