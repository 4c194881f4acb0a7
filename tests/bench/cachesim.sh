#!/bin/sh
# The simulator of HDF5's chunk cache and a plain LRU cache on the same traces, BENCH_ROUNDS
# times (9).
echo "$(uname -m), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) processors"
"$top_builddir/tests/bench/bench_cachesim" "${BENCH_ROUNDS:-9}"
