#!/bin/sh
# What recording a training costs, of 5000 reads a second (bar: 3 %), and what h5advise told of
# recorded trainings against what came of it when its advice was applied (bar: within 25 %), where
# $PYTHON has PyTorch and h5py. TRACE_ROUNDS (5).
PYTHON=${PYTHON:-python3}
rounds=${TRACE_ROUNDS:-5}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
if ! "$PYTHON" -c 'import numpy, h5py, setuptools' 2>/dev/null; then
    echo "trace   skipped: $PYTHON has no numpy, no h5py or no setuptools"
    exit 0
fi
H5PACK_BUILD=$top_builddir "$PYTHON" "$top_srcdir/python/setup.py" -q build -b "$work/objects" \
    --build-lib "$work/lib" >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
export PYTHONPATH="$work/lib"
PATH=$(cd "$top_builddir/tools" && pwd):$PATH
bench=$(cd "$top_srcdir/tests/bench" && pwd)
render=$(cd "$top_builddir/tests" && pwd)/render_samples
export PATH OMP_NUM_THREADS=1
"$PYTHON" -c 'import h5py; print("trace   h5py", h5py.__version__, "HDF5", h5py.version.hdf5_version)'
"$PYTHON" "$bench/bench_record.py" "$work/small.h5" "$rounds" || exit 1
if ! "$PYTHON" -c 'import torch' 2>/dev/null; then
    echo "        trainings skipped: $PYTHON has no torch"
    exit 0
fi
"$render" "$work/photos" 3000 1 224 >/dev/null && cd "$work" || exit 1
h5pack -q photos --size 224x224 --chunk 1 -o one.h5 || exit 1
"$PYTHON" "$bench/bench_trace.py" one.h5 "$rounds"
