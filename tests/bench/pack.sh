#!/bin/sh
# How fast h5pack packs photos, beside a decoder alone and Pillow with h5py.
# PACK_IMAGES (3000), PACK_ROUNDS (5) and PACK_THREADS (2) change the job, PHOTOS the folder,
# PACK_DIR where it writes; PACK_ONLY=floor,h5pack runs some of the contestants, PACK_SECONDS=120
# so many rounds as fit, PACK_BEFORE=FOLDER another build's h5pack in the same rounds.
"$PYTHON" -c 'import numpy, h5py, PIL' 2>/dev/null || {
    echo "pack: needs a Python with NumPy, h5py and Pillow"
    exit 0
}
photos=${PHOTOS:-$top_srcdir/../shared/data/photos}
if [ ! -d "$photos" ]; then
    work=$(mktemp -d) || exit 1
    trap 'rm -rf "$work"' EXIT
    "$top_builddir/tests/render_samples" "$work/photos" 160 1 500 || exit 1
    photos=$work/photos
fi
"$PYTHON" "$top_srcdir/tests/bench/bench_pack.py" "$top_builddir" "$photos" \
    --images "${PACK_IMAGES:-3000}" --rounds "${PACK_ROUNDS:-5}" --threads "${PACK_THREADS:-2}" \
    ${PACK_ONLY:+--only "$PACK_ONLY"} ${PACK_SECONDS:+--seconds "$PACK_SECONDS"} \
    ${PACK_BEFORE:+--before "$PACK_BEFORE"}
