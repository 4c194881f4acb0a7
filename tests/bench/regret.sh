#!/bin/sh
# Whether h5advise's first choice holds when it is applied: regret.py says how. REGRET_DIR is
# where files lie meanwhile (default: a new folder under TMPDIR), some GiB.
"$PYTHON" -c 'import h5py, numpy' 2>/dev/null || {
    echo 'regret: skipped, there is no Python with h5py and NumPy here'
    exit 0
}
work=$(mktemp -d "${REGRET_DIR:-${TMPDIR:-/tmp}}/h5pack-regret-XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
echo "$(uname -m), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) processors"
HDF5_PLUGIN_PATH=$top_builddir/.libs HDF5_USE_FILE_LOCKING=FALSE \
    "$PYTHON" "$top_srcdir/tests/bench/regret.py" "$top_builddir" "$work"
