#!/bin/sh
# h5audit --salvage: refusals here, damaged files in salvage.py.
. "$top_srcdir/tests/tap.sh"
need h5audit h5pack render_samples
: "${top_builddir:?}" "${work:?}" "${status=0}"
if [ "${SANITIZERS:-no}" = no ]; then # others cannot load a plugin with sanitizers in it
    HDF5_PLUGIN_PATH=$top_builddir/.libs # zstd, for h5py
    export HDF5_PLUGIN_PATH
fi
cd "$work" || exit 1
render_samples photos 12 1 64 && h5pack -q photos --size 32x32 -o pack.h5 || exit 1
cp pack.h5 there.h5
refused() { # sentence pattern options
    sentence=$1
    pattern=$2
    shift 2
    run h5audit "$@"
    [ $status -eq 2 ] && is_one_sentence err && grep -q -- "$pattern" err && [ ! -s out ]
    result=$?
    ok $result "$sentence"
    [ $result -eq 0 ] || cat out err | note
}
refused 'one that is there' "'there.h5' exists.*--force replaces it" --salvage there.h5 pack.h5
refused 'the file itself' "needs 'pack.h5' as it is" --salvage pack.h5 -f pack.h5
refused 'two files' 'one FILE at a time' --salvage new.h5 pack.h5 there.h5
refused 'a dataset alone' 'a whole FILE' --salvage new.h5 pack.h5:/images
refused 'a file that is not there' "cannot open 'no.h5'" --salvage new.h5 no.h5
refused 'salvaging and mending' 'fix' --salvage new.h5 --fix new.h5 pack.h5
run h5audit --salvage new.h5 pack.h5
[ $status -eq 0 ] && grep -q 'new.h5 is not written: nothing is bad' out && [ ! -e new.h5 ]
ok $? 'what is whole needs none'
cmp -s pack.h5 there.h5
ok $? 'what was there is as it was'

if "$PYTHON" -c 'import numpy, h5py' 2>/dev/null; then
    mkdir python
    run_python salvage.py "$work/python"
else
    skip 'no Python with NumPy and h5py'
fi
done_testing
