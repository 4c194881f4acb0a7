#!/bin/sh
# h5rechunk --shuffle: see the program in Python.
. "$top_srcdir/tests/tap.sh"
need h5rechunk h5pack render_samples
: "${top_builddir:?}" "${work:?}" "${status=0}"
cd "$work" || exit 1
render_samples photos 20 1 64 || exit 1

run h5rechunk x.h5 -o y.h5 -c 1 --seed 3
[ $status -eq 2 ] && is_one_sentence err && grep -q -e --shuffle err
ok $? '--seed is for --shuffle'
h5pack -q photos --size 32 --chunk 3 -o plain.h5 &&
    h5rechunk -q plain.h5 -o y.h5 --shuffle --seed 5 --verify -j 3
ok $? 'a file of h5pack, compared'

if "$PYTHON" -c 'import numpy, h5py' 2>/dev/null; then
    mkdir python
    run_python rechunk_shuffle.py "$work/python" "$work"
else
    skip 'no Python with NumPy and h5py'
fi
done_testing
