#!/bin/sh
# Decoding and resampling, ours and Pillow's, over BENCH_PHOTOS (a folder of JPEGs; default:
# the photos of the shared data, or samples rendered on the spot), BENCH_ROUNDS times (9).
rounds=${BENCH_ROUNDS:-9}
photos=${BENCH_PHOTOS:-$top_srcdir/../shared/data/photos}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
if [ ! -d "$photos" ]; then
    photos=$work/samples
    "$top_builddir/tests/render_samples" "$photos" 60 1 512 || exit 2
fi
find "$photos" -type f \( -name '*.JPEG' -o -name '*.jpg' \) | sort | head -n 60 >"$work/list"
echo "$(uname -m), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) processors"
xargs -d '\n' "$top_builddir/tests/bench/bench_pixels" -r "$rounds" <"$work/list" || exit
if "${PYTHON:-python3}" -c 'import PIL' 2>/dev/null; then
    xargs -d '\n' "${PYTHON:-python3}" "$top_srcdir/tests/bench/pillow_pixels.py" "$rounds" <"$work/list"
else
    echo 'Pillow is not here to compare with'
fi
