#!/bin/sh
# How fast h5rechunk rewrites images of 3x218x178, beside `cp`, h5repack and the codecs alone.
# RECHUNK_MIB (1024) and RECHUNK_CODEC_MIB (256) of data, RECHUNK_ROUNDS (3), RECHUNK_MEMORY
# (256M) for h5rechunk, RECHUNK_DIR where files lie (the build folder); RECHUNK_ONLY=plain,codec
# runs some of the parts (plain, h5repack, codec). Needs five times RECHUNK_MIB of disk and as
# much memory for what is read to stay warm.
"$PYTHON" -c 'import numpy, h5py' 2>/dev/null || {
    echo "rechunk: needs a Python with NumPy and h5py"
    exit 0
}
work=$(mktemp -d "${RECHUNK_DIR:-$top_builddir}/bench-rechunk.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
"$top_builddir/tests/render_samples" "$work/photos" 200 1 256 >/dev/null &&
    "$top_builddir/tools/h5pack" -q "$work/photos" --size 218x178 --layout nchw -o "$work/photos.h5" || exit 1
HDF5_PLUGIN_PATH=$top_builddir/.libs "$PYTHON" "$top_srcdir/tests/bench/bench_rechunk.py" "$top_builddir" "$work" \
    --mib "${RECHUNK_MIB:-1024}" --codec-mib "${RECHUNK_CODEC_MIB:-256}" --rounds "${RECHUNK_ROUNDS:-3}" \
    --memory "${RECHUNK_MEMORY:-256M}" --only "${RECHUNK_ONLY:-plain,h5repack,codec}"
