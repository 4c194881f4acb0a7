#!/bin/sh
# The reader against h5py, over datasets of many kinds; see the program in Python.
. "$top_srcdir/tests/tap.sh"
"$PYTHON" -c 'import numpy, h5py' 2>/dev/null || skip_all "no Python with NumPy and h5py"
need reader_dump
shared=${H5PACK_SHARED:-$top_srcdir/../shared}/data/h5
PYTHONUTF8=1 "$PYTHON" "$top_srcdir/tests/reader.py" "$work" "$shared"
