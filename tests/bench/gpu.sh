#!/bin/sh
# How busy a GPU is that trains from an HDF5 file, and how fast batches come to it: by h5pack.Loader
# and by a DataLoader over h5py (gpu.py, with GPU_ARGS), and by h5readbench. Wants a GPU, PyTorch,
# torchvision and h5py.
PYTHON=${PYTHON:-python3}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
if ! "$PYTHON" -c 'import torch, torchvision, h5py, setuptools
assert torch.cuda.is_available()' 2>/dev/null; then
    echo "gpu     skipped: $PYTHON has no GPU, or lacks torch, torchvision, h5py or setuptools"
    exit 0
fi
H5PACK_BUILD=$top_builddir "$PYTHON" "$top_srcdir/python/setup.py" -q build -b "$work/objects" \
    --build-lib "$work/lib" >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
# shellcheck disable=SC2086 # several arguments
PYTHONPATH="$work/lib" PATH="$top_builddir/tools:$PATH" \
    "$PYTHON" "$top_srcdir/tests/bench/gpu.py" $GPU_ARGS
