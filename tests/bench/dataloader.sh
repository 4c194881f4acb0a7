#!/bin/sh
# What h5readbench --hand-over pytorch measures against a real DataLoader over h5py, turn
# about: images of 147 KB and 3 KB, warm, 2 workers, batches of 32 and 256. DATALOADER_ROUNDS
# (5), DATALOADER_SAMPLES (2048 large ones; sixteen times as many small ones),
# DATALOADER_SIDES ("224 32"), DATALOADER_BATCHES ("32 256"), DATALOADER_OPTIONS of
# h5readbench. The first epoch of each run warms up. Exit status 1 where --hand-over pytorch is
# off by more than a factor of two.
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
median() { sort -n | ${AWK:-awk} '{ v[NR] = $1 } END { printf "%.1f", v[int((NR + 1) / 2)] }'; }
ours() { # batch option...
    batch=$1
    shift
    "$top_builddir/tools/h5readbench" "$work/x.h5" --batch "$batch" --workers 2 --epochs 4 \
        --no-trial "$@" | ${AWK:-awk} '/^  epoch / { on = 1; next } /^$/ { on = 0 } on && $1 > 1 && $1 < 5 { print $2 }'
}
compare() { # side batch
    : >"$work/real" && : >"$work/model" && : >"$work/slots"
    round=0
    while [ $round -lt "$rounds" ]; do
        "$PYTHON" "$top_srcdir/tests/bench/dataloader.py" "$work/x.h5" "$2" 2 4 |
            tail -n +2 >>"$work/real"
        # shellcheck disable=SC2086
        ours "$2" --hand-over pytorch $DATALOADER_OPTIONS >>"$work/model"
        ours "$2" >>"$work/slots"
        round=$((round + 1))
    done
    real=$(median <"$work/real") model=$(median <"$work/model") slots=$(median <"$work/slots")
    echo "            $1x$1, batches of $2: DataLoader $real samples/s, --hand-over pytorch $model" \
        "($(echo "$model $real" | ${AWK:-awk} '{ printf "%.2f", $1 / $2 }') of it), slots $slots"
    echo "$model $real" | ${AWK:-awk} '{ exit !($1 > $2 / 2 && $1 < $2 * 2) }' || off=1
}
off=0
for side in ${DATALOADER_SIDES:-224 32}; do
    n=$samples
    [ "$side" -gt 64 ] || n=$((16 * samples))
    rm -f "$work/x.h5"
    "$PYTHON" "$top_srcdir/tests/bench/dataloader.py" --make "$work/x.h5" "$n" "$side" || exit 1
    for batch in ${DATALOADER_BATCHES:-32 256}; do
        compare "$side" "$batch"
    done
done
exit $off
