/*
 * DLPack's structures, written from its specification (dmlc.github.io/dlpack, 1.0): an ABI,
 * so nothing in here may change.
 */
#ifndef H5PACK_DLPACK_H
#define H5PACK_DLPACK_H

#include <stdint.h>

enum { DL_CPU = 1 };                                                        /* device types */
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_BOOL = 6 }; /* type codes */
enum { DL_READ_ONLY = 1 };                                                  /* flags */

struct dl_device {
    int32_t type, id;
};

struct dl_type {
    uint8_t code, bits;
    uint16_t lanes;
};

struct dl_tensor {
    void *data;
    struct dl_device device;
    int32_t ndim;
    struct dl_type dtype;
    int64_t *shape, *strides; /* strides in elements */
    uint64_t byte_offset;
};

/* In capsules called "dltensor", "used_dltensor" once taken. */
struct dl_managed {
    struct dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed *self);
};

/* In capsules called "dltensor_versioned". */
struct dl_managed_versioned {
    struct {
        uint32_t major, minor;
    } version;
    void *context;
    void (*deleter)(struct dl_managed_versioned *self);
    uint64_t flags;
    struct dl_tensor tensor;
};

#endif
