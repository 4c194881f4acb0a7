/* What lies where in a file: stretches of it, and whose data is in each. */
#ifndef LIBPACK_FILE_MAP_H
#define LIBPACK_FILE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/dataset.h>
#include "libpack/hdf5/h5_guard.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PACK_FILE_MAP_CELLS = 4096, PACK_FILE_MAP_SETS = 8 };

/* A stretch of the file. */
struct pack_file_map_cell {
    uint32_t set;   /* number of the dataset of which most is in it, from 1; 0: no data */
    uint16_t data;  /* of the stretch that is data of any dataset, in 1 / 65535 */
    uint16_t order; /* of that dataset: where it is in logical order, 0 first, 65535 last */
};

struct pack_file_map {
    uint64_t file_bytes, cell_bytes; /* cells are as long, but for the last */
    uint32_t n_cells, n_sets;        /* n_sets: datasets with data in the file, all of them */
    uint64_t data_bytes;
    struct pack_file_map_cell cell[PACK_FILE_MAP_CELLS];
    /* Those with most data, most first; number 0: there are no more. */
    struct {
        uint32_t number;
        uint64_t bytes;
        char path[PACK_FACTS_PATH_MAX];
    } largest[PACK_FILE_MAP_SETS];
};

/*
 * Looks at the addresses of all data, in a child process with these limits, as
 * pack_survey_file() does. Metadata and what is free are told apart by nothing in the file:
 * both are no data. PACK_ERR_FORMAT for a damaged file, errors of pack_survey_file().
 */
enum pack_status pack_file_map_make(const char *path,
                                    const struct pack_h5_guard_limits *limits,
                                    struct pack_file_map *map, struct pack_error *err);

/*
 * The pure part of it: extents of one dataset after another, each with its place in logical
 * order, 0 to 1. What reaches beyond the end of the file is cut off there.
 */
struct pack_file_mapper;
enum pack_status pack_file_mapper_open(uint64_t file_bytes, struct pack_file_mapper **mapper,
                                       struct pack_error *err);
void pack_file_mapper_add(struct pack_file_mapper *mapper, uint64_t address, uint64_t bytes,
                          double order);
/* The dataset whose extents were added is complete. */
void pack_file_mapper_end_set(struct pack_file_mapper *mapper, const char *path);
void pack_file_mapper_map(const struct pack_file_mapper *mapper, struct pack_file_map *map);
void pack_file_mapper_close(struct pack_file_mapper *mapper);

#ifdef __cplusplus
}
#endif
#endif
