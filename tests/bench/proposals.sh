#!/bin/sh
# Whether h5readbench's proposals hold when they are applied: proposals.py says how.
# PROPOSALS_DIR keeps the files from run to run (default: a new folder under TMPDIR), some GiB.
"$PYTHON" -c 'import h5py, numpy' 2>/dev/null || {
    echo 'proposals: skipped, there is no Python with h5py and NumPy here'
    exit 0
}
if [ -n "$PROPOSALS_DIR" ]; then
    work=$PROPOSALS_DIR
else
    work=$(mktemp -d "${TMPDIR:-/tmp}/h5pack-proposals-XXXXXX") || exit 1
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' INT TERM
fi
echo "$(uname -m), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) processors"
HDF5_PLUGIN_PATH=$top_builddir/.libs HDF5_USE_FILE_LOCKING=FALSE \
    "$PYTHON" -B "$top_srcdir/tests/bench/proposals.py" "$top_builddir" "$work"
