#!/bin/sh
# Random HDF5 files, described by the library and by h5py; see the program in Python.
. "$top_srcdir/tests/tap.sh"
"$PYTHON" -c 'import numpy, h5py' 2>/dev/null || skip_all "no Python with NumPy and h5py"
need hdf5_dump
n=60
[ "$long" -eq 0 ] || n=1000
PYTHONUTF8=1 "$PYTHON" "$top_srcdir/tests/random_hdf5.py" "$work" $n
