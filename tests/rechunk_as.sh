#!/bin/sh
# h5rechunk --as: see the program in Python.
. "$top_srcdir/tests/tap.sh"
need h5rechunk
: "${top_builddir:?}" "${work:?}" "${status=0}"

cd "$work" || exit 1
run h5rechunk x.h5 -o y.h5 --as uint8 --advise ''
[ $status -eq 2 ] && is_one_sentence err && grep -q -e --advise err
ok $? 'not with --advise'

if "$PYTHON" -c 'import numpy, h5py' 2>/dev/null; then
    mkdir python
    run_python rechunk_as.py "$work/python"
else
    skip 'no Python with NumPy and h5py'
fi
done_testing
