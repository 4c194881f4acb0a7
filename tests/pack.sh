#!/bin/sh
# h5pack end to end, held to Pillow, h5py and torchvision's rules; see the program in Python.
. "$top_srcdir/tests/tap.sh"
"$PYTHON" -c 'import numpy, h5py, PIL' 2>/dev/null || skip_all "no Python with NumPy, h5py and Pillow"
need h5dump h5ls
HDF5_PLUGIN_PATH=$top_builddir/.libs PYTHONUTF8=1 "$PYTHON" "$top_srcdir/tests/pack.py" "$work"
