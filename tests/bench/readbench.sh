#!/bin/sh
# What h5readbench adds to a plain loop of H5Dread over the same samples, warm, BENCH_ROUNDS
# times (21). Samples are 150,528 bytes, chunks of one.
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
echo "$(uname -m), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) processors"
"$top_builddir/tests/render_samples" "$work/photos" 2000 1 224 >/dev/null || exit 1
"$top_builddir/tools/h5pack" -q "$work/photos" --size 224x224 --chunk 1 -o "$work/photos.h5" >/dev/null
"$top_builddir/tests/bench/bench_readbench" "$work/photos.h5" "${BENCH_ROUNDS:-21}"
