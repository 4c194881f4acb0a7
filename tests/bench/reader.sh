#!/bin/sh
# The reader against two threads that copy the same samples out of a mapping, or decode the
# same chunks, and against stock HDF5 with its default cache; warm, BENCH_ROUNDS times (7).
# Samples are 150,528 bytes. Memory: all decoded samples fit, three quarters of them, a quarter
# (batches of 256, three of which are in it, aside).
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
rounds=${BENCH_ROUNDS:-7}
echo "$(uname -m), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) processors"
"$top_builddir/tests/render_samples" "$work/photos" 4000 1 224 >/dev/null || exit 1
pack() { # file options
    file=$1
    shift
    "$top_builddir/tools/h5pack" -q "$work/photos" --size 224x224 "$@" -o "$work/$file" || exit
}
bench() { # file memory [pool]
    "$top_builddir/tests/bench/bench_reader" "$work/$1" images "$rounds" "$2" $3 || exit
}
batches=113 decoded=574 # MiB
pack one.h5 --chunk 1
echo "not compressed, chunks of one"
bench one.h5 2048
echo "the same, pages dropped before each turn (TMPDIR says on which disk)"
"$top_builddir/tests/bench/bench_storage" "$work/one.h5" images "$rounds" || exit
pack zstd.h5 --chunk 16 --compress zstd:1
echo "random parts resized to 192 x 192, half of them flipped"
for strategy in pread mmap; do
    echo "  $strategy:"
    "$top_builddir/tests/bench/bench_transform" "$work/one.h5" images "$rounds" $strategy || exit
done
echo "zstd-1, chunks of 16, block shuffle of 8 chunks"
bench zstd.h5 $((batches + 100)) 8
for chunk in 1 16 64; do
    pack zstd.h5 --force --chunk "$chunk" --compress zstd:1
    for part in 4 3 1; do
        echo "zstd-1, chunks of $chunk, room for $part quarters"
        bench zstd.h5 $((batches + 40 + decoded * part / 4))
    done
done
