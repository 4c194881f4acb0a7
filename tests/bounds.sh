#!/bin/sh
# What one hostile file can do, see the program in Python: nothing beyond the bounds.
. "$top_srcdir/tests/tap.sh"
"$PYTHON" -c 'import numpy, h5py' 2>/dev/null || skip_all "no Python with NumPy and h5py"
render_samples "$work/photos" 12 2 64 >/dev/null || exit 1
PYTHONUTF8=1 "$PYTHON" "$top_srcdir/tests/bounds.py" "$work"
