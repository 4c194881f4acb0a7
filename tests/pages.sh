#!/bin/sh
# --html of h5audit, h5advise and h5readbench: refusals here, pages in pages.py.
. "$top_srcdir/tests/tap.sh"
need h5audit h5advise h5readbench h5pack render_samples
: "${work:?}" "${status=0}"
cd "$work" || exit 1
render_samples photos 20 1 64 && h5pack -q photos --size 32x32 -o pack.h5 || exit 1
printf 'mine' >there.html

for name in h5audit 'h5advise -q --no-measure' 'h5readbench -q --no-trial --batches 2'; do
    # shellcheck disable=SC2086 # several words
    set -- $name
    run "$@" --html there.html pack.h5
    [ $status -eq 2 ] && is_one_sentence err && grep -q "'there.html' exists.*--force replaces it" err &&
        [ "$(cat there.html)" = mine ] && [ ! -s out ]
    ok $? "$1: a page that is there stays"
    cat err | note
    cp pack.h5 copy.h5
    run "$@" --html copy.h5 -f copy.h5
    [ $status -eq 2 ] && is_one_sentence err && cmp -s pack.h5 copy.h5
    ok $? "$1: nor is the file itself overwritten"
    run "$@" --html nowhere/page.html pack.h5
    [ $status -eq 2 ] && is_one_sentence err && grep -q nowhere err
    ok $? "$1: a folder that is not there"
    run "$@" --html page.html pack.h5
    [ $status -eq 0 ] && grep -q '</html>' page.html && ! ls ./*.part* 2>/dev/null
    ok $? "$1: a page"
    rm -f page.html
done
run h5advise -q --no-measure --svg one.svg --html one.svg pack.h5
[ $status -eq 2 ] && is_one_sentence err && [ ! -e one.svg ]
ok $? 'two outputs of one name are refused'

if "$PYTHON" -c 'import numpy, h5py' 2>/dev/null; then
    mkdir python
    run_python pages.py "$work/python"
else
    skip 'no Python with NumPy and h5py'
fi
done_testing
