#!/bin/sh
# Whether what h5audit promises comes true: see bench_audit.py. AUDIT_MIB (128) of data a file,
# AUDIT_PAIRS (60) at most of each kind, AUDIT_CHUNKS (1000000), AUDIT_ONLY=102,103 some kinds,
# AUDIT_DIR where files lie (the build folder).
"$PYTHON" -c 'import numpy, h5py' 2>/dev/null || {
    echo "audit: needs a Python with NumPy and h5py"
    exit 0
}
work=$(mktemp -d "${AUDIT_DIR:-$top_builddir}/bench-audit.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
HDF5_PLUGIN_PATH=$top_builddir/.libs "$PYTHON" "$top_srcdir/tests/bench/bench_audit.py" "$top_builddir/tools" "$work" \
    --mib "${AUDIT_MIB:-128}" --pairs "${AUDIT_PAIRS:-60}" --chunks "${AUDIT_CHUNKS:-1000000}" --only "${AUDIT_ONLY:-}"
sh "$top_srcdir/tests/bench/verify.sh"
