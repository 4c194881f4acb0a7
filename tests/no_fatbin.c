/* Where nvcc is missing: the fake driver does not look at the kernels it is given. */
#include "libpack/bench/consumer_cuda_driver.h"

const unsigned char pack_consumer_cuda_fatbin[] = { 0 };
