#!/bin/sh
# h5readbench --hand-over pytorch against a real DataLoader: rates of the same order, while
# the plain hand-over is far from it. make bench BENCHES=dataloader measures it in earnest.
. "$top_srcdir/tests/tap.sh"
export PATH
"$PYTHON" -c 'import torch, h5py' 2>/dev/null || skip_all "$PYTHON has no torch or no h5py"
near=1 far=1 try=0
while [ $try -lt 4 ] && { [ $near -ne 0 ] || [ $far -ne 0 ]; }; do # others use the machine
    DATALOADER_ROUNDS=1 DATALOADER_SAMPLES=512 DATALOADER_SIDES=224 DATALOADER_BATCHES=32 sh "$top_srcdir/tests/bench/dataloader.sh" >"$work/out"
    sed -n 's/.*of 32: DataLoader \([0-9.]*\).*pytorch \([0-9.]*\) .*slots \([0-9.]*\)$/\1 \2 \3/p' \
        "$work/out" >"$work/rates"
    ${AWK} '{ exit !($2 > $1 / 2 && $2 < $1 * 2) }' "$work/rates" && [ -s "$work/rates" ]
    near=$?
    ${AWK} '{ exit !($3 > $2 * 2) }' "$work/rates"
    far=$?
    try=$((try + 1))
done
ok $near 'with its hand-over the rate is that of a DataLoader, within a factor of two'
ok $far 'without, it is another matter'
note <"$work/out"
done_testing
