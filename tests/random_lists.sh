#!/bin/sh
# Random lists in every form, read and computed apart: tests/random_lists.py.
. "$top_srcdir/tests/tap.sh"
need source_dump
"$PYTHON" -c '' 2>/dev/null || skip_all "no Python"
n=400
[ "$long" -eq 0 ] || n=20000
PYTHONUTF8=1 PYTHONPATH=$top_srcdir/tests "$PYTHON" "$top_srcdir/tests/random_lists.py" \
    "$(command -v source_dump)" "$work" $n
