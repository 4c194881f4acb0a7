#!/bin/sh
# Runs the test of the cuda consumer against the fake driver.
cd "${top_builddir:-.}" || exit 1
LD_LIBRARY_PATH=$PWD/tests/fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec tests/test_consumer_cuda
