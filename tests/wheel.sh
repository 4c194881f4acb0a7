#!/bin/sh
# make wheel-check: the wheel of `make wheel` in virtual environments that have nothing but what pip
# brings: alone with NumPy, and beside h5py's wheel with an HDF5 of its own, whichever is
# imported first; and the tests of the package, by pytest.
. "$top_srcdir/tests/tap.sh"
set -- "$top_builddir"/wheel/dist/*.whl
[ -e "$1" ] || skip_all 'there is no wheel: make wheel'
wheel=$1 here=$PWD

"$PYTHON" -m venv "$work/venv" || skip_all "$PYTHON makes no virtual environments (Debian: python3-venv)"
python=$work/venv/bin/python
"$work/venv/bin/pip" download -q --no-deps -d "$work/numpy" numpy >"$work/pip.log" 2>&1 ||
    skip_all 'pip gets no NumPy: no network?'
run "$work/venv/bin/pip" install -q --find-links "$work/numpy" "$wheel"
ok $status 'pip installs it, and NumPy'
[ "$status" -eq 0 ] || note <"$work/err"
# nothing of this build is to be found but the samples
PATH=${PATH#"$top_builddir/tools:"}
unset PYTHONPATH LD_LIBRARY_PATH H5PACK_BUILD
cd "$work" || exit 1
package=$("$python" -c 'import h5pack; print(h5pack.__path__[0])')

"$python" -m zipfile -l "$wheel" >names
bundled=$(sed -n 's,^h5pack\.libs/\([^ ]*\).*,\1,p' names)
printf '%s\n' $bundled | note
for name in libpack libhdf5; do
    printf '%s\n' $bundled | grep -q "^$name-"
    ok $? "it brings $name, under a name of its own"
done
! printf '%s\n' $bundled | grep -E 'curl|krb5|ssl|jbig|gnutls|sasl|ldap'
ok $? 'and nothing of curl, Kerberos and JBIG'
[ "$(grep -c 'dist-info/licenses/' names)" -ge 6 ]
ok $? 'with the licences of what it brings'
find "$package" "$package/../h5pack.libs" -type f \( -name '*.so*' -o -perm -100 \) -exec ldd {} + >linked 2>&1
! grep 'not found' linked
ok $? 'every library is found'
! grep -F "$top_builddir" linked
ok $? 'none of them in the build folder'

# ---------------------------------------------------------------------------------- reads

cat >seen.py <<'PYTHON'
"""What both libraries see in a file: python seen.py FILE FIRST [SECOND]"""
import hashlib
import importlib
import sys

modules = {name: importlib.import_module(name) for name in sys.argv[2:]}
h5pack = modules["h5pack"]
digest = hashlib.sha256()
for images, labels in h5pack.Loader(sys.argv[1], 5, order="sequential", out="numpy"):
    digest.update(images.tobytes() + labels.tobytes())
print(digest.hexdigest())
if "h5py" in modules:
    with modules["h5py"].File(sys.argv[1]) as file:
        digest = hashlib.sha256()
        for at in range(0, len(file["labels"]), 5):
            digest.update(file["images"][at:at + 5].tobytes() + file["labels"][at:at + 5].tobytes())
    print(digest.hexdigest())
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "libhdf5-" in line or "libhdf5." in line}
    print(len(paths), "HDF5")
PYTHON
render_samples photos 23 2 96 >/dev/null || exit 1
run "$package/bin/h5pack" photos --size 32 --compress gzip --quiet -o packed.h5
ok $status 'its programs run where nothing else is installed'
[ "$status" -eq 0 ] || note <"$work/err"

run "$python" -m h5pack selftest
ok $status 'python -m h5pack selftest finds every part working'
note <"$work/out"
run "$python" seen.py packed.h5 h5pack
ok $status 'it reads where only NumPy is'
[ "$status" -eq 0 ] || note <"$work/err"
alone=$(cat "$work/out")

run "$work/venv/bin/pip" install -q h5py
if [ "$status" -ne 0 ]; then
    skip 'pip gets no h5py'
    done_testing
fi
"$python" - <<'PYTHON'
import h5py
with h5py.File("packed.h5") as old, h5py.File("written.h5", "w") as new:
    new.create_dataset("images", data=old["images"][:], chunks=(4, 32, 32, 3), compression="gzip")
    new["labels"] = old["labels"][:]
PYTHON
for file in packed written; do
    for order in 'h5pack h5py' 'h5py h5pack'; do
        # shellcheck disable=SC2086 # two words
        run "$python" seen.py $file.h5 $order
        [ "$status $(tr '\n' ' ' <"$work/out")" = "0 $alone $alone 2 HDF5 " ]
        ok $? "$order: both read $file.h5 alike, each with its HDF5"
        cat "$work/err" "$work/out" | note
    done
done

# ---------------------------------------------------------------------------------- tests

run "$work/venv/bin/pip" install -q pytest tqdm
if [ "$status" -ne 0 ]; then
    skip 'pip gets no pytest'
    done_testing
fi
case $top_srcdir in /*) ;; *) top_srcdir=$here/$top_srcdir ;; esac
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
PATH=$package/bin:$PATH run "$python" -m pytest -q -p no:cacheprovider -rs "$top_srcdir/python/tests"
ok $status 'the tests of the package pass, by pytest, with the NumPy and h5py that pip brings'
grep -E '^(FAILED|ERROR|SKIPPED|[0-9]+ (passed|failed))' "$work/out" | note
[ "$status" -eq 0 ] || tail -n 40 "$work/out" | note
done_testing
