#!/bin/sh
# The printed batch sampler in a real DataLoader: who reads what, and what HDF5 loads for it.
# TORCH_PYTHON names a Python with PyTorch, NumPy and h5py; by default $PYTHON.
. "$top_srcdir/tests/tap.sh"
need pattern_dump h5advise
python=${TORCH_PYTHON:-$PYTHON}
"$python" -c 'import torch, numpy, h5py' >/dev/null 2>&1 ||
    skip_all "no Python with PyTorch, NumPy and h5py (TORCH_PYTHON names one)"
cd "$work" || exit 1
PYTHONUTF8=1 "$python" "$top_srcdir/tests/dataloader.py"
