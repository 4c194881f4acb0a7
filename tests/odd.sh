#!/bin/sh
# Odd images decode to known pixels or are refused; see the program in Python, which needs no Pillow.
. "$top_srcdir/tests/tap.sh"
"$PYTHON" -c 'import zlib' >/dev/null 2>&1 || skip_all 'there is no Python here'
render_samples "$work/photos" 4 1 40 || exit
jpeg=$(find "$work/photos" -name '*.jp*g' | sort | head -n 1)
PYTHONDONTWRITEBYTECODE=1 PYTHONUTF8=1 "$PYTHON" "$top_srcdir/tests/odd.py" "$top_builddir/tests/pixel_server" "$jpeg"
