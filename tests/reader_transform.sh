#!/bin/sh
# What the reader makes of images, against Pillow: see the program in Python.
. "$top_srcdir/tests/tap.sh"
need reader_dump
: "${work:?}"
"$PYTHON" -c 'import numpy, h5py, PIL' 2>/dev/null || skip_all 'no Python with NumPy, h5py and Pillow'
export PATH
cd "$work" || exit 1
PYTHONDONTWRITEBYTECODE=1 PYTHONUTF8=1 "$PYTHON" "$top_srcdir/tests/reader_transform.py" "$work"
