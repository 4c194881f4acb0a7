#!/bin/sh
# What h5readbench --hand-over pytorch measures against a real DataLoader over h5py, turn
# about: images of 147 KB, warm, 2 workers, batches of 32 and 256. DATALOADER_ROUNDS (5),
# DATALOADER_SAMPLES (2048). The first epoch of each run warms up.
PYTHON=${PYTHON:-python3}
rounds=${DATALOADER_ROUNDS:-5} samples=${DATALOADER_SAMPLES:-2048}
if ! "$PYTHON" -c 'import torch, h5py' 2>/dev/null; then
    echo "dataloader  skipped: $PYTHON has no torch or no h5py"
    exit 0
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1
"$PYTHON" -c 'import h5py, torch; print("dataloader  PyTorch", torch.__version__, "h5py",
    h5py.__version__, "HDF5", h5py.version.hdf5_version)' | tr '\n' ' ' | tr -s ' '
echo
"$PYTHON" "$top_srcdir/tests/bench/dataloader.py" --make "$work/x.h5" "$samples" || exit 1
median() { sort -n | ${AWK:-awk} '{ v[NR] = $1 } END { printf "%.1f", v[int((NR + 1) / 2)] }'; }
ours() { # batch option...
    batch=$1
    shift
    "$top_builddir/tools/h5readbench" "$work/x.h5" --batch "$batch" --workers 2 --epochs 4 \
        "$@" | ${AWK:-awk} '/^  epoch / { on = 1; next } /^$/ { on = 0 } on && $1 > 1 && $1 < 5 { print $2 }'
}
for batch in 32 256; do
    : >"$work/real" && : >"$work/model" && : >"$work/slots"
    round=0
    while [ $round -lt "$rounds" ]; do
        "$PYTHON" "$top_srcdir/tests/bench/dataloader.py" "$work/x.h5" $batch 2 4 |
            tail -n +2 >>"$work/real"
        # shellcheck disable=SC2086
        ours $batch --hand-over pytorch $DATALOADER_OPTIONS >>"$work/model"
        ours $batch >>"$work/slots"
        round=$((round + 1))
    done
    real=$(median <"$work/real") model=$(median <"$work/model") slots=$(median <"$work/slots")
    echo "            batches of $batch: DataLoader $real samples/s, --hand-over pytorch $model" \
        "($(echo "$model $real" | ${AWK:-awk} '{ printf "%.2f", $1 / $2 }') of it), slots $slots"
done
