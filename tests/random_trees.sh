#!/bin/sh
# Random folders and files as sources, listed and computed apart: tests/random_trees.py.
. "$top_srcdir/tests/tap.sh"
need source_dump mkfifo
"$PYTHON" -c 'import sys; sys.exit(sys.getfilesystemencoding() != "utf-8")' 2>/dev/null ||
    skip_all "no Python with file names in UTF-8"
n=100
[ "$long" -eq 0 ] || n=3000
PYTHONUTF8=1 PYTHONPATH=$top_srcdir/tests "$PYTHON" "$top_srcdir/tests/random_trees.py" \
    "$(command -v source_dump)" "$work" $n
