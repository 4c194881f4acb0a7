#!/bin/sh
# How fast h5pack --draft makes small samples of large photos, beside djpeg -scale alone, Pillow's
# draft() and vipsthumbnail, and what it loses. DRAFT_PHOTOS: a folder of large JPEGs (default: some
# are rendered, of 12 megapixels); DRAFT_IMAGES (60), DRAFT_ROUNDS (5) and DRAFT_THREADS (2) change
# the job.
"$PYTHON" -c 'import numpy, h5py, PIL' 2>/dev/null || {
    echo "draft: needs a Python with NumPy, h5py and Pillow"
    exit 0
}
photos=$DRAFT_PHOTOS
if [ -z "$photos" ]; then
    work=$(mktemp -d) || exit 1
    trap 'rm -rf "$work"' EXIT
    photos=$work/photos
    "$top_builddir/tests/render_samples" "$photos" 22 1 4000 || exit 1
fi
"$PYTHON" "$top_srcdir/tests/bench/bench_draft.py" "$top_builddir" "$photos" \
    --images "${DRAFT_IMAGES:-60}" --rounds "${DRAFT_ROUNDS:-5}" --threads "${DRAFT_THREADS:-2}"
