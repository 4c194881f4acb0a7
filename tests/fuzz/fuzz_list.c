/* Any bytes read as a list of images, in each of the three forms, with and without
 * classes. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>

#include "libpack/source/records.h"

static void
read_list(const uint8_t *data, size_t size, const struct pack_source_params *params)
{
    static volatile uint64_t digests
        __attribute__((unused)); /* of all values, so that all of them are read */
    FILE *file = fmemopen((void *)(uintptr_t)data, size, "r");
    struct pack_source *source = NULL;
    struct pack_error err;
    if (!file)
        return;
    if (pack_source_open_list(file, "list.csv", params, &source, &err) == PACK_OK) {
        assert(source->n_records > 0 && source->n_records == source->list->n_rows);
        for (uint64_t i = 0; i < source->n_records; i++) {
            const struct pack_record *record = &source->records[i];
            assert(record->name[0] != '\0');
            assert(!source->n_classes ||
                   (record->label >= -1 && record->label < (int64_t)source->n_classes));
        }
        digests += pack_source_digest(source);
        pack_source_close(source);
    }
    fclose(file);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const classes[] = { "a", "1", "0" };
    if (size == 0)
        return 0;
    for (int format = PACK_LIST_ANY; format <= PACK_LIST_NULL; format++) {
        struct pack_source_params params = { .list_format =
                                                 (enum pack_list_format)format };
        read_list(data, size, &params);
        params.classes = classes;
        params.n_classes = 3;
        read_list(data, size, &params);
    }
    return 0;
}
