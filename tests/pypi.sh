#!/bin/sh
# The Python package on this build's libpack in a virtual environment with the NumPy, h5py and
# pytest that pip brings, and its tests there, by pytest. Only in long runs (H5PACK_LONG=1): it
# fetches some 30 MB.
. "$top_srcdir/tests/tap.sh"
[ "${H5PACK_LONG-}" ] || skip_all 'it fetches packages: H5PACK_LONG=1'
[ "${SANITIZERS:-no}" = no ] || skip_all 'pip builds nothing with sanitizers'
[ -e "$top_builddir/.libs/libpack.so" ] || skip_all 'libpack was built without a shared library'
header='import os, sys, sysconfig
h = sysconfig.get_path("include") + "/Python.h"
exit(not os.path.exists(h) or sys.version_info < (3, 11))'
"$PYTHON" -c "$header" || skip_all "no Python from 3.11 on with its headers (Debian: python3-dev)"
case $top_builddir in /*) ;; *) top_builddir=$PWD/$top_builddir ;; esac
case $top_srcdir in /*) ;; *) top_srcdir=$PWD/$top_srcdir ;; esac

"$PYTHON" -m venv "$work/venv" >"$work/log" 2>&1 ||
    skip_all "$PYTHON makes no virtual environments (Debian: python3-venv)"
python=$work/venv/bin/python
run "$python" -m pip install -q numpy h5py pytest tqdm setuptools wheel
[ "$status" -eq 0 ] || skip_all 'pip gets no NumPy, h5py and pytest: no network?'
mkdir "$work/tree" && cp -r "$top_srcdir/python" "$top_srcdir/configure.ac" "$work/tree" && chmod -R u+w "$work/tree"
run env H5PACK_BUILD="$top_builddir" "$python" -m pip install -q --no-build-isolation --no-deps "$work/tree/python"
ok $status 'pip builds and installs it on this build'
[ "$status" -eq 0 ] || note <"$work/err"
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
unset PYTHONPATH
run "$python" -m pytest -q -p no:cacheprovider -rs "$top_srcdir/python/tests"
ok $status 'its tests pass there, by pytest'
grep -E '^(FAILED|ERROR|SKIPPED|[0-9]+ (passed|failed))' "$work/out" | note
[ "$status" -eq 0 ] || tail -n 40 "$work/out" | note
"$python" -c 'import h5py, numpy, sys; print(sys.version.split()[0], "h5py", h5py.__version__,
    "on HDF5", h5py.version.hdf5_version, "NumPy", numpy.__version__)' | note
done_testing
