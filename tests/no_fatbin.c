/* Where nvcc is missing: the fake driver does not look at the kernels it is given. */
#include "libpack/consumer_cuda_private.h"

const unsigned char pack_consumer_cuda_fatbin[] = { 0 };
