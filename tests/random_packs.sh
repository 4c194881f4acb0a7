#!/bin/sh
# Random sources and options against Pillow, NumPy and h5py; see the program in Python.
. "$top_srcdir/tests/tap.sh"
"$PYTHON" -c 'import numpy, h5py, PIL' 2>/dev/null || skip_all "no Python with NumPy, h5py and Pillow"
n=30
[ "$long" -eq 0 ] || n=1000
HDF5_PLUGIN_PATH=$top_builddir/.libs PYTHONUTF8=1 "$PYTHON" "$top_srcdir/tests/random_packs.py" "$work" $n
