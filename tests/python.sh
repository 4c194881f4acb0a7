#!/bin/sh
# The Python package, built on this build's libpack, and the tests in python/tests. TORCH_PYTHON
# names a Python with PyTorch for those that need it, where $PYTHON has none.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/package.sh"
if [ "${sanitizer-}" ]; then # Python's own allocator would hide what is out of bounds
    PYTHONMALLOC=malloc LD_PRELOAD=$sanitizer
    export PYTHONMALLOC LD_PRELOAD
fi
run_python ../python/tests/run.py
if [ "${TORCH_PYTHON-}" ] && ! [ "${sanitizer-}" ]; then
    # shellcheck disable=SC2034 # it is of tap.sh
    PYTHON=$TORCH_PYTHON
    run_python ../python/tests/run.py test_torch test_frameworks test_cuda test_images test_sampler test_examples
fi
done_testing
