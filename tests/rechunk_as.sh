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
    PYTHONUTF8=1 "$PYTHON" "$top_srcdir/tests/rechunk_as.py" "$work/python" >python.tap
    grep -E '^#' python.tap
    grep -E '^(not )?ok' python.tap >python.ok
    while read -r line; do
        case $line in
        not*) ok 1 "${line#not ok * - }" ;;
        *) ok 0 "${line#ok * - }" ;;
        esac
    done <python.ok
    grep -q '^1\.\.' python.tap
    ok $? 'the program in Python came to its end'
else
    skip 'no Python with NumPy and h5py'
fi
done_testing
