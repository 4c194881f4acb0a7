# The Python package, built on this build's libpack, for tests that source this behind tap.sh: in
# PYTHONPATH afterwards. Skips everything where it cannot be built.
# shellcheck shell=sh disable=SC2154 # tap.sh's
header='import os, sysconfig; h = sysconfig.get_path("include") + "/Python.h"; exit(not os.path.exists(h))'
"$PYTHON" -c 'import numpy' 2>/dev/null || skip_all "no Python with NumPy"
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || skip_all "$PYTHON is older than 3.11"
"$PYTHON" -c "$header" || skip_all "no headers of $PYTHON (Debian: python3-dev)"
"$PYTHON" -c 'import setuptools' 2>/dev/null || skip_all "no setuptools (Debian: python3-setuptools)"
[ -e "$top_builddir/.libs/libpack.so" ] || skip_all "libpack was built without a shared library"

# A library with sanitizers wants theirs to be first in the process, and the extension to have them.
case ${SANITIZERS:-no} in
no) ;;
*thread*) skip_all "a thread sanitizer does not work in a Python without it" ;;
*)
    sanitizer=$($CC -print-file-name=libasan.so)
    [ -e "$sanitizer" ] || skip_all "$CC has no address sanitizer that can be preloaded"
    CFLAGS="-fsanitize=$SANITIZERS -fno-omit-frame-pointer"
    ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0
    export CFLAGS ASAN_OPTIONS
    ;;
esac

built=$work/python
H5PACK_BUILD=$top_builddir "$PYTHON" "$top_srcdir/python/setup.py" -q \
    build -b "$work/objects" --build-lib "$built" >"$work/build.log" 2>&1
ok $? "the extension compiles on this build's libpack" || note <"$work/build.log"
[ "$tap_failed" -eq 0 ] || done_testing

PYTHONPATH=$built
export PYTHONPATH
