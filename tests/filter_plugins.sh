#!/bin/sh
# Real plugins, where Python's hdf5plugin is: what each of its filters wrote, the reader's threads
# decode as h5py does, one thread or many; blosc with all its codecs. Headers that say to be of
# gigabytes are told of, and the plugin does not get them.
. "$top_srcdir/tests/tap.sh"
need reader_dump
: "${top_builddir:?}" "${work:?}" "${PYTHON:=python3}"
plugins=$("$PYTHON" -c 'import h5py, hdf5plugin; print(hdf5plugin.PLUGINS_PATH)' 2>/dev/null) ||
    skip_all 'Python has no hdf5plugin'
"$PYTHON" - "$work" >"$work/made" 2>"$work/err" <<'EOF' || { cat "$work/err"; skip_all 'hdf5plugin does not write'; }
import sys

import h5py
import hdf5plugin
import numpy

work = sys.argv[1]
r = numpy.random.default_rng(1)
steps = numpy.cumsum(r.integers(-9, 10, (120, 16, 16)), axis=0)
bytes_, shorts, floats = (steps % 256).astype("u1"), steps.astype("i2"), steps.astype("f4") / 7
makers = {
    "blosc": (lambda: hdf5plugin.Blosc(), floats, 4),
    "blosc2": (lambda: hdf5plugin.Blosc2(), floats, 4),
    "bitshuffle": (lambda: hdf5plugin.Bitshuffle(), shorts, 4),
    "bitshuffle_zstd": (lambda: hdf5plugin.Bitshuffle(cname="zstd"), shorts, 4),
    "bzip2": (lambda: hdf5plugin.BZip2(), bytes_, 4),
    "lz4": (lambda: hdf5plugin.LZ4(), bytes_, 4),
    "zfp": (lambda: hdf5plugin.Zfp(reversible=True), floats, 4),
    "sz": (lambda: hdf5plugin.SZ(absolute=0.01), floats, 4),
    "sz3": (lambda: hdf5plugin.SZ3(absolute=0.01), floats, 4),
    "sperr": (lambda: hdf5plugin.Sperr(rate=8), floats, 1),
    "fcidecomp": (lambda: hdf5plugin.FciDecomp(), abs(shorts).astype("u2"), 1),
}
for codec in "blosclz", "lz4", "lz4hc", "zlib", "zstd", "snappy":
    for shuffle in 0, 1, 2:
        makers[f"blosc_{codec}_{shuffle}"] = (
            lambda codec=codec, shuffle=shuffle: hdf5plugin.Blosc(cname=codec, shuffle=shuffle), shorts // 16, 4)


def lie(name, at, lies):
    """A copy whose last chunk has other bytes in its header."""
    with h5py.File(f"{work}/{name}.h5") as f, h5py.File(f"{work}/{name}.lies.h5", "w") as g:
        f.copy("x", g)
        where = (116, 0, 0)
        mask, chunk = g["x"].id.read_direct_chunk(where)
        assert mask == 0
        g["x"].id.write_direct_chunk(where, chunk[:at] + lies + chunk[at + len(lies) :], mask)
    print(name, file=open(f"{work}/lies", "a"))


for name, (maker, data, rows) in makers.items():
    try:
        with h5py.File(f"{work}/{name}.h5", "w") as f:
            f.create_dataset("x", data=data, chunks=(rows, 16, 16), **maker())
        with h5py.File(f"{work}/{name}.h5") as f:
            f["x"][...].tofile(f"{work}/{name}.raw")
        print(name)
        gigabytes = b"\x7f\xff\xff\xff"
        if name == "blosc_zlib_1":
            lie(name, 4, gigabytes[::-1])
        elif name in ("lz4", "bitshuffle", "bitshuffle_zstd"):
            lie(name, 4, gigabytes)
        elif name == "blosc2":
            lie(name, 53, gigabytes)
    except (AttributeError, OSError, ValueError, RuntimeError) as e:
        print(f"{name}: {e}", file=sys.stderr)
EOF
HDF5_PLUGIN_PATH=$plugins
export HDF5_PLUGIN_PATH
while read -r name; do
    said=0
    for threads in 1 4 9; do
        "$top_builddir/tests/reader_dump" "$work/$name.h5" x pread $threads >"$work/got" 2>"$work/engine" &&
            cmp "$work/got" "$work/$name.raw" >>"$work/engine" 2>&1 && grep -q '^pread' "$work/engine" || said=1
    done
    ok $said "$name: what its plugin decodes in threads is what h5py reads"
    [ $said -eq 0 ] || note <"$work/engine"
done <"$work/made"
touch "$work/lies"
while read -r name; do
    ! "$top_builddir/tests/reader_dump" "$work/$name.lies.h5" x >"$work/got" 2>"$work/engine" &&
        grep -qE 'chunk \(29,0,0\).*filter [0-9]* \([a-z0-9]*\) says that it decodes to 2147483647 bytes' "$work/engine"
    ok $? "$name: a header that lies is no plugin's: $(cat "$work/engine")"
done <"$work/lies"
done_testing
