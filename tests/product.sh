#!/bin/sh
# One product: every file that one program writes the others read, every command that one
# prints runs and does what it says, one question has one answer. See the program in
# Python, which makes files by h5py too where there is one.
# TORCH_PYTHON names a Python with PyTorch for the code that is printed for it.
. "$top_srcdir/tests/tap.sh"
need h5dump h5repack h5diff
"$PYTHON" -c 'import json' >/dev/null 2>&1 || skip_all 'there is no Python here'
export PATH
render_samples "$work/photos" 24 1 96 || exit 1
cd "$work" || exit 1
HURRIED="LD_PRELOAD=$top_builddir/tests/clock_shim.so CLOCK_TIMES=8 ASAN_OPTIONS=verify_asan_link_order=0"
XDG_CACHE_HOME=$work/cache
export HURRIED XDG_CACHE_HOME
HDF5_PLUGIN_PATH=$top_builddir/.libs PYTHONDONTWRITEBYTECODE=1 PYTHONUTF8=1 \
    "$PYTHON" "$top_srcdir/tests/product.py"
