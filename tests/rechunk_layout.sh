#!/bin/sh
# h5rechunk --layout: see the program in Python.
. "$top_srcdir/tests/tap.sh"
need h5rechunk h5pack render_samples h5dump h5diff
: "${top_builddir:?}" "${work:?}" "${status=0}"
cd "$work" || exit 1
render_samples photos 20 1 64 || exit 1

run h5rechunk x.h5 -o y.h5 --advise '' --layout nchw
[ $status -eq 2 ] && is_one_sentence err && grep -q -e --layout err
ok $? '--layout does not go with --advise'

# The same images packed in both layouts: each becomes the other, attributes and all.
h5pack -q photos --size 32x40 --chunk 3 -o last.h5 &&
    h5pack -q photos --size 32x40 --chunk 3 --layout nchw -o first.h5 &&
    h5rechunk -q last.h5 -o y.h5 --layout nchw --verify -j 3 &&
    h5rechunk -q first.h5 -o z.h5 --layout nhwc --verify
ok $? 'files of h5pack, compared'
h5diff -q y.h5 first.h5 /images /images && h5diff -q z.h5 last.h5 /images /images
ok $? 'what h5pack would have made'
for file in y z first last; do
    h5dump -A -d images $file.h5 | sed 1d >$file.txt
done
cmp -s y.txt first.txt && cmp -s z.txt last.txt
ok $? 'and so are its attributes'
run h5rechunk y.h5 -o again.h5 --layout nchw
[ $status -eq 2 ] && is_one_sentence err && grep -q "'y.h5:/images' is nchw already" err
ok $? 'what is so already is said'
run h5rechunk y.h5 -o again.h5 --layout nchw -c 1
[ $status -eq 0 ] && h5diff -q y.h5 again.h5 /images /images
ok $? 'with other chunks it is rewritten'
h5rechunk y.h5 -o last-again.h5 --layout nhwc --dry-run >out && grep -q 'layout   nchw -> nhwc' out &&
    grep -q 'chunks   3x3x32x40 -> 3x32x40x3' out && [ ! -e last-again.h5 ]
ok $? 'the plan says what changes'
h5rechunk y.h5 --layout nhwc --dry-run --json | tr -d ' \n' | grep -q '"scale":null,"layout":"nhwc","source":{"chunk":\[3,3,32,40\]'
ok $? 'so does JSON'

if "$PYTHON" -c 'import numpy, h5py' 2>/dev/null; then
    mkdir python
    run_python rechunk_layout.py "$work/python" "$work"
    mkdir regions
    run_python rechunk_regions.py "$work/regions"
else
    skip 'no Python with NumPy and h5py'
fi
done_testing
