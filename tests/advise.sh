#!/bin/sh
# h5advise as a user sees it: the well-known recipe, determinism, limits of time and memory,
# code that runs. The checks are in advise.py, for they read JSON.
. "$top_srcdir/tests/tap.sh"
"$PYTHON" -c 'import json' >/dev/null 2>&1 || skip_all 'there is no Python here'
cd "$work" || exit 1
"$PYTHON" "$top_srcdir/tests/advise.py" "$top_srcdir/man"
exit
