#!/bin/sh
# h5pack --scale16 auto: the range of a set of 16-bit images, held to NumPy; see the program in Python.
. "$top_srcdir/tests/tap.sh"
"$PYTHON" -c 'import numpy, h5py, PIL' 2>/dev/null || skip_all "no Python with NumPy, h5py and Pillow"
need h5pack h5advise
shim=$top_builddir/tests/.libs/fault_shim.so
LD_PRELOAD=$shim /bin/true 2>/dev/null && [ -e "$shim" ] || shim=
PYTHONUTF8=1 "$PYTHON" "$top_srcdir/tests/scale16.py" "$work" "$shim"
