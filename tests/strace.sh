#!/bin/sh
# What strace sees of stock h5py is what h5advise predicts and h5readbench measures: number and bytes
# of raw-data reads on random layouts; H5PACK_SEED gives others.
. "$top_srcdir/tests/tap.sh"
export PATH
need strace
strace -o /dev/null true 2>/dev/null || skip_all 'strace may not watch here'
cd "$work" || exit 1
render_samples photos 2 1 32 >/dev/null && h5pack -q photos --size 8x8 -o one.h5 >/dev/null || exit 1
linked=$(h5readbench one.h5 --no-trial --json --quiet | sed -n 's/.*"hdf5_version": "\([^"]*\)".*/\1/p' | head -n 1)

# a Python whose h5py has the HDF5 that the programs have
for python in "$PYTHON" python3 /usr/bin/python3; do
    version=$("$python" -c 'import h5py, numpy; print(h5py.version.hdf5_version)' 2>/dev/null)
    [ "$version" = "$linked" ] && break
done
[ "$version" = "$linked" ] || skip_all "there is no Python here whose h5py has HDF5 $linked"
layouts=16
[ -z "$H5PACK_LONG" ] || layouts=40
"$python" "$top_srcdir/tests/strace.py" "${H5PACK_SEED:-1}" "$layouts"
