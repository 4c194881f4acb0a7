#!/bin/sh
# The zstd plugin as others use it: h5dump and h5py find it in HDF5_PLUGIN_PATH, and what
# PyPI's hdf5plugin writes we read, and the other way round. Also what h5py makes of a file
# that the writer wrote.
. "${top_srcdir:-.}/tests/tap.sh"

plugins=$top_builddir/.libs
[ -e "$plugins/libh5pack_zstd.so" ] || skip_all 'the plugin was not built'
case ${SANITIZERS:-no} in
no) ;;
*) skip_all 'others cannot load a plugin with sanitizers in it' ;;
esac

exported=$(nm -D --defined-only "$plugins/libh5pack_zstd.so" | $AWK '{ print $3 }' | sort)
[ "$exported" = "H5PLget_plugin_info
H5PLget_plugin_type" ]
ok $? "the plugin exports what HDF5 looks up and nothing else"
! nm -D --undefined-only "$plugins/libh5pack_zstd.so" | grep -q ' H5'
ok $? 'it needs no symbol of a certain HDF5'

ours=$work/ours.h5
test_plugin write "$ours"
ok $? 'a file is written'

if command -v h5dump >/dev/null; then
    HDF5_PLUGIN_PATH=$plugins h5dump -d /x -s 99,88 -c 1,2 "$ours" >"$work/dump" 2>&1
    grep -q '(99,88): 957, 960' "$work/dump"
    ok $? 'h5dump reads it through HDF5_PLUGIN_PATH'
    LD_BIND_NOW=1 HDF5_PLUGIN_PATH=$plugins h5dump -d /x -s 99,88 -c 1,2 "$ours" >"$work/dump" 2>&1
    grep -q '(99,88): 957, 960' "$work/dump"
    ok $? 'also where all symbols are bound at once'
else
    skip 'there is no h5dump here'
    skip 'there is no h5dump here'
fi

# python TITLE PLUGINS CODE: one test; `ours`, `theirs`, `np`, `h5py` and `want` are there.
python() {
    HDF5_PLUGIN_PATH=$2 "$PYTHON" - "$ours" "$work/theirs.h5" >"$work/log" 2>&1 <<END
import sys, h5py, numpy as np
ours, theirs = sys.argv[1:3]
want = (np.arange(100)[:, None] * 7 + np.arange(90) * 3).astype(np.uint16)
$3
END
    ok $? "$1"
    note <"$work/log"
}
read_ours='assert (h5py.File(ours)["x"][...] == want).all()'
write_theirs='with h5py.File(theirs, "w") as f:
    f.create_dataset("x", data=want, chunks=(30, 40), shuffle=True, compression=32015,
                     compression_opts=(LEVEL,))'

if "$PYTHON" -c 'import h5py' 2>/dev/null; then
    python 'h5py reads it through HDF5_PLUGIN_PATH' "$plugins" "$read_ours"
    python 'h5py writes through it' "$plugins" "$(echo "$write_theirs" | sed 's/LEVEL/7/')"
    test_plugin read "$work/theirs.h5"
    ok $? 'which we read'
    test_writer "$work/writer.h5"
    ok $? 'a file of the writer is made'
    ours=$work/writer.h5
    python 'h5py reads what the writer wrote' "$plugins" '
f = h5py.File(ours)
images = f["train/images"]
assert images.shape == (41, 5, 6) and images.dtype == np.uint8, images
assert images.maxshape == (None, 5, 6) and images.chunks == (2, 3, 6)
i = np.arange(36)
assert (images[2:4, 0:3].reshape(-1) == (2 * 31 + i // 3 + (i * 2) % 7) % 256).all()
assert [d.label for d in images.dims] == ["N", "H", "W"]
assert images.attrs["CLASS"] == b"IMAGE", images.attrs["CLASS"]
assert list(images.attrs["mean"]) == [120.5, 1 / 3]
assert f.attrs["count"] == 41 and f.attrs["count"].dtype == np.int32
assert f["train"].attrs["scale"].shape == (1,)
assert f.attrs["h5pack_note"].decode() == "déjà"
assert f["labels"].shape == (32, 2) and f["labels"][31, 1] == 63 * 1000000007 - 5
assert f["train/none"].shape == (0,)
assert list(f["columns/names"].asstr()) == ["a.jpg", "b/c.png", "", "déjà.jpg"]
assert h5py.check_string_dtype(f["columns/names"].dtype).length == 10
uneven = f["columns/uneven"].asstr()[...]
assert len(uneven[7]) == 69999 and uneven[8] == "short"
assert h5py.check_string_dtype(f["columns/uneven"].dtype).length is None'
    ours=$work/ours.h5
else
    skip "$PYTHON has no h5py"
fi

if "$PYTHON" -c 'import hdf5plugin' 2>/dev/null; then
    python 'hdf5plugin reads ours' '' "import hdf5plugin
$read_ours"
    for level in -3 1 3 19 22; do
        python "hdf5plugin writes at level $level" '' "import hdf5plugin
$(echo "$write_theirs" | sed "s/compression=.*/**hdf5plugin.Zstd(clevel=$level))/; /compression_opts/d")"
        test_plugin read "$work/theirs.h5"
        ok $? 'which we read'
    done
else
    skip "$PYTHON has no hdf5plugin"
fi
done_testing
