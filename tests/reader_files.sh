#!/bin/sh
# Virtual datasets and several files as one, against h5py; see the program in Python.
. "$top_srcdir/tests/tap.sh"
"$PYTHON" -c 'import numpy, h5py' 2>/dev/null || skip_all "no Python with NumPy and h5py"
need reader_dump h5rechunk
PYTHONUTF8=1 "$PYTHON" "$top_srcdir/tests/reader_files.py" "$work"
