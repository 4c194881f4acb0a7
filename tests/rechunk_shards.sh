#!/bin/sh
# h5rechunk --split and --join: see the program in Python.
. "$top_srcdir/tests/tap.sh"
need h5rechunk h5pack render_samples h5diff
: "${top_builddir:?}" "${work:?}" "${status=0}"
cd "$work" || exit 1
render_samples photos 20 1 64 || exit 1

for option in '--chunk 1' '--compress none' --fletcher32 '--as uint8' '--layout nchw' --shuffle --resume \
    --verify '--threads 2' "--advise x"; do
    # shellcheck disable=SC2086 # two words
    for what in '--split 2' --join; do
        run h5rechunk x.h5 -o y.h5 $what $option
        [ $status -eq 2 ] && is_one_sentence err || echo "$what $option" >>taken
    done
done
run h5rechunk x.h5 -o y.h5 --split 2 --join
[ $status -eq 2 ] && is_one_sentence err && [ ! -e taken ]
ok $? 'other work is refused beside them'
for what in '--split 2' --join; do
    # shellcheck disable=SC2086 # two words
    run h5rechunk x.h5 -o y.h5 $what --dataset images=4
    [ $status -eq 2 ] && is_one_sentence err && grep -q 'with the chunks' err || echo "$what" >>taken
done
[ ! -e taken ]
ok $? 'so are chunks for a dataset, in these words'
run h5rechunk --join -o y.h5
[ $status -eq 2 ] && is_one_sentence err
ok $? 'something is to be joined'

h5pack -q photos --size 32x40 --chunk 3 -o in.h5 && mkdir shards &&
    h5rechunk in.h5 -o shards/x.h5 --split 4 >text && grep -q '20 rows in 4 files' text
ok $? 'a file of h5pack in four'
[ "$(ls shards)" = "x-00000-of-00004.h5
x-00001-of-00004.h5
x-00002-of-00004.h5
x-00003-of-00004.h5
x.h5" ]
ok $? 'names of files, and nothing beside them'
h5diff -q in.h5 shards/x.h5
ok $? 'the virtual file is the same to h5diff'
mv shards moved && h5rechunk -q --join moved/x.h5 -o one.h5 && h5diff -q in.h5 one.h5 &&
    h5rechunk -q --join moved/x-*.h5 -o two.h5 && h5diff -q in.h5 two.h5
ok $? 'so are both that are joined, of a folder that was moved'
h5rechunk in.h5 --split 4 --dry-run >out.txt && grep -q '4 datasets split' out.txt && ! ls ./*-of-* 2>/dev/null
ok $? 'a dry run writes nothing'

if "$PYTHON" -c 'import numpy, h5py' 2>/dev/null; then
    mkdir python
    run_python rechunk_shards.py "$work/python"
else
    skip 'no Python with NumPy and h5py'
fi
done_testing
