#!/bin/sh
# Verifying files that were damaged on purpose, against h5py; see the program in Python.
. "$top_srcdir/tests/tap.sh"
"$PYTHON" -c 'import numpy, h5py' 2>/dev/null || skip_all "no Python with NumPy and h5py"
need verify_dump
if [ "${SANITIZERS:-no}" = no ]; then # others cannot load a plugin with sanitizers in it
    HDF5_PLUGIN_PATH=$top_builddir/.libs # zstd, for h5py
    export HDF5_PLUGIN_PATH
fi
shared=${H5PACK_SHARED:-$top_srcdir/../shared}/data/h5
PYTHONUTF8=1 "$PYTHON" "$top_srcdir/tests/verify.py" "$work" "$shared"
