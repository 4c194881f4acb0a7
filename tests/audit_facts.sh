#!/bin/sh
# What h5audit says of datasets against h5dump; see the program in Python.
. "$top_srcdir/tests/tap.sh"
"$PYTHON" -c 'import numpy, h5py' 2>/dev/null || skip_all "no Python with NumPy and h5py"
command -v h5dump >/dev/null || skip_all "no h5dump"
need h5audit
PYTHONUTF8=1 "$PYTHON" "$top_srcdir/tests/audit_facts.py" "$work" "${H5PACK_SHARED:-$top_srcdir/../shared}/data/h5"
