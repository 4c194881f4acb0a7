#!/bin/sh
# h5pack.Loader against what bounds it, warm, in turns, medians of PYTHON_ROUNDS (7): two threads
# that copy the same samples out of a mapping, or decode the same chunks, and the reader from C
# (bench_reader); and against PyTorch's DataLoader over h5py, an item at a time, with 2 workers.
# Samples are 147 KB, PYTHON_SAMPLES (4000) of them, batches of 256. And the time for which Python's
# own thread is busy for each batch.
PYTHON=${PYTHON:-python3}
rounds=${PYTHON_ROUNDS:-7} samples=${PYTHON_SAMPLES:-4000}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
if ! "$PYTHON" -c 'import numpy, setuptools' 2>/dev/null; then
    echo "python  skipped: $PYTHON has no numpy or no setuptools"
    exit 0
fi
H5PACK_BUILD=$top_builddir "$PYTHON" "$top_srcdir/python/setup.py" -q build -b "$work/objects" \
    --build-lib "$work/lib" >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
export PYTHONPATH="$work/lib"
echo "python  $(uname -m), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) processors"
"$top_builddir/tests/render_samples" "$work/photos" "$samples" 1 224 >/dev/null || exit 1
export OMP_NUM_THREADS=1
pack() { # file options
    file=$1
    shift
    "$top_builddir/tools/h5pack" -q "$work/photos" --size 224x224 "$@" -o "$work/$file" || exit
}
median() { sort -n "$1" | ${AWK:-awk} '{ v[NR] = $1 } END { printf "%.1f", v[int((NR + 1) / 2)] }'; }
over() { echo "$1 $2" | ${AWK:-awk} '{ printf "%.2f", $1 / $2 }'; }
compare() { # file memory order pool
    for name in floor reader loader busy dataloader; do : >"$work/$name"; done
    round=0
    while [ $round -lt "$rounds" ]; do
        # shellcheck disable=SC2086 # a pool or none
        "$top_builddir/tests/bench/bench_reader" "$work/$1" images 1 "$2" $4 >"$work/said" || exit
        ${AWK:-awk} -v f="$work/floor" -v r="$work/reader" '
            /^floor/ { print $2 >>f } /^reader, pread/ { print $3 >>r }' "$work/said"
        "$PYTHON" "$top_srcdir/tests/bench/bench_python.py" "$work/$1" "$2" 2 "$3" >"$work/said" || exit
        read -r rate us <"$work/said"
        echo "$rate" >>"$work/loader"
        echo "$us" >>"$work/busy"
        [ "$4" ] || ! "$PYTHON" -c 'import torch, h5py' 2>/dev/null ||
            "$PYTHON" "$top_srcdir/tests/bench/dataloader.py" "$work/$1" 256 2 2 2>/dev/null |
            tail -n 1 >>"$work/dataloader"
        round=$((round + 1))
    done
    floor=$(median "$work/floor") reader=$(median "$work/reader") loader=$(median "$work/loader")
    echo "        Loader $loader samples/s: $(over "$loader" "$floor") of the floor ($floor)," \
        "$(over "$loader" "$reader") of the reader from C ($reader)"
    echo "        its thread is busy for $(median "$work/busy") us a batch"
    [ ! -s "$work/dataloader" ] ||
        echo "        $(over "$loader" "$(median "$work/dataloader")") times a DataLoader over h5py" \
            "($(median "$work/dataloader"))"
}
pack one.h5 --chunk 1
echo "        not compressed, chunks of one, shuffle"
compare one.h5 2048 shuffle ''
pack zstd.h5 --chunk 16 --compress zstd:1
echo "        zstd-1, chunks of 16, block shuffle of 8 chunks"
compare zstd.h5 300 block:chunks=8 8
