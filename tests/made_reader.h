/* The memory of a reader: the least that does, and what malloc has given out. */
#ifndef TESTS_MADE_READER_H
#define TESTS_MADE_READER_H

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <libpack/reader.h>

/* The least memory that does, from what a refusal says; 0: it was not refused. */
__attribute__((unused)) static uint64_t
least_memory(struct pack_reader_params params)
{
    struct pack_reader *reader = NULL;
    struct pack_error err = { .text = "" };
    params.memory_bytes = 1;
    if (pack_reader_open(&params, &reader, &err) == PACK_ERR_MEMORY &&
        strcmp(err.param, "memory_bytes") == 0 && strchr(err.text, '('))
        return strtoull(strchr(err.text, '(') + 1, NULL, 10);
    pack_reader_close(reader);
    return 0;
}

/* Bytes that malloc has given out; 0 under a sanitizer, whose malloc does not count. */
__attribute__((unused)) static uint64_t
allocated(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

#endif
