#!/bin/sh
# WebP and TIFF decode to Pillow's pixels or are refused in words; see the program in Python.
. "$top_srcdir/tests/tap.sh"
"$PYTHON" -c 'import PIL.Image' >/dev/null 2>&1 || skip_all 'there is no Python with Pillow here'
grep -qE '^#define HAVE_(WEBP|TIFF) 1' "$top_builddir/config.h" || skip_all 'this build reads neither'
formats=$(sed -n 's/^#define HAVE_\(WEBP\|TIFF\) 1/\1/p' "$top_builddir/config.h" | tr '\n' ' ')
PYTHONDONTWRITEBYTECODE=1 PYTHONUTF8=1 "$PYTHON" "$top_srcdir/tests/formats.py" \
    "$top_builddir/tests/pixel_server" "$work" "$formats"
