#!/bin/sh
# h5pack.Loader against what bounds it, warm, in turns, medians of PYTHON_ROUNDS (7): two threads
# that copy the same samples out of a mapping, or decode the same chunks, and the reader from C
# (bench_reader); and against others where $PYTHON has them, with 2 workers each: PyTorch's
# DataLoader over h5py, an item at a time; FFCV of raw images in random order, os_cache, also with
# a resized crop and a flip; MosaicML streaming of a local folder, shuffled, with a DataLoader.
# Samples are 147 KB, PYTHON_SAMPLES (4000) of them, batches of 256. And the time for which Python's
# own thread is busy for each batch. Of another Python: make bench BENCHES=python PYTHON=...
PYTHON=${PYTHON:-python3}
rounds=${PYTHON_ROUNDS:-7} samples=${PYTHON_SAMPLES:-4000}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export TMPDIR="$work" # others leave locks there
if ! "$PYTHON" -c 'import numpy, setuptools' 2>/dev/null; then
    echo "python  skipped: $PYTHON has no numpy or no setuptools"
    exit 0
fi
H5PACK_BUILD=$top_builddir "$PYTHON" "$top_srcdir/python/setup.py" -q build -b "$work/objects" \
    --build-lib "$work/lib" >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
export PYTHONPATH="$work/lib"
echo "python  $("$PYTHON" -V), $(uname -m), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) processors"
"$top_builddir/tests/render_samples" "$work/photos" "$samples" 1 224 >/dev/null || exit 1
export OMP_NUM_THREADS=1
pack() { # file options
    file=$1
    shift
    "$top_builddir/tools/h5pack" -q "$work/photos" --size 224x224 "$@" -o "$work/$file" || exit
}
median() { sort -n "$1" | ${AWK:-awk} '{ v[NR] = $1 } END { printf "%.1f", v[int((NR + 1) / 2)] }'; }
over() { echo "$1 $2" | ${AWK:-awk} '{ printf "%.2f", $1 / $2 }'; }
has() { # module: says why not
    "$PYTHON" -c "import $1" >"$work/why" 2>&1 && return
    why=$(tail -n 1 "$work/why")
    case $why in
    *"No module named '$1'") echo "        $1: not installed" ;;
    *) echo "        $1: $why" ;;
    esac
    return 1
}
measure() { # name command...: the last number that it prints
    name=$1
    shift
    if "$PYTHON" "$@" >"$work/said" 2>"$work/why" && [ -s "$work/said" ]; then
        tail -n 1 "$work/said" | cut -d " " -f 1 >>"$work/$name"
    else
        cat "$work/why" >&2
        echo "        $name failed" >&2
        exit 1
    fi
}
others() { # names of those to measure beside: all that there are
    others=
    has torch && has h5py && others=dataloader
    has ffcv && others="$others ffcv ffcv-crop loader-crop"
    has streaming && others="$others streaming"
    for name in ffcv streaming; do
        case " $others " in *" $name "*)
            "$PYTHON" "$top_srcdir/tests/bench/peers.py" "$name" --make "$work/one.h5" "$work" \
                >"$work/why" 2>&1 || { cat "$work/why" >&2 && exit 1; } ;;
        esac
    done
}
ahead() { # name ours what: nothing where it was not measured
    [ ! -s "$work/$1" ] ||
        echo "        $(over "$(median "$work/$2")" "$(median "$work/$1")") times $3" \
            "($(median "$work/$1"))"
}
compare() { # file memory order pool others how-it-is-read-by-default
    for name in floor reader loader pread busy shared $5; do : >"$work/$name"; done
    round=0
    while [ $round -lt "$rounds" ]; do
        # shellcheck disable=SC2086 # a pool or none
        "$top_builddir/tests/bench/bench_reader" "$work/$1" images 1 "$2" $4 >"$work/said" || exit
        ${AWK:-awk} -v f="$work/floor" -v r="$work/reader" -v s="$work/shared" -v how="$6" '
            /^floor/ { print $2 >>f }
            /^reader/ && $2 == how { print $3 >>r }
            /^reader/ && $2 == how && match($0, /busy for [0-9.]+/) {
                print substr($0, RSTART + 9, RLENGTH - 9) >>s
            }' "$work/said"
        "$PYTHON" "$top_srcdir/tests/bench/bench_python.py" "$work/$1" "$2" 2 "$3" >"$work/said" || exit
        read -r rate us <"$work/said"
        echo "$rate" >>"$work/loader"
        echo "$us" >>"$work/busy"
        [ ! "$5" ] || measure pread "$top_srcdir/tests/bench/bench_python.py" "$work/$1" "$2" 2 "$3" pread
        for name in $5; do
            case $name in
            dataloader) measure "$name" "$top_srcdir/tests/bench/dataloader.py" "$work/$1" 256 2 2 ;;
            *) measure "$name" "$top_srcdir/tests/bench/peers.py" "$name" "$work/$1" "$work" 256 2 8 ;;
            esac
        done
        round=$((round + 1))
    done
    floor=$(median "$work/floor") reader=$(median "$work/reader") loader=$(median "$work/loader")
    echo "        Loader $loader samples/s: $(over "$loader" "$floor") of the floor ($floor)," \
        "$(over "$loader" "$reader") of the reader from C ($reader)"
    echo "        its thread is busy for $(median "$work/busy") us a batch, that of C for" \
        "$(median "$work/shared")"
    [ "$5" ] || return 0
    pread=$(median "$work/pread")
    echo "        with strategy=\"pread\" $pread: $(over "$pread" "$floor") of the floor"
    ahead dataloader loader "a DataLoader over h5py"
    ahead ffcv loader FFCV
    ahead streaming loader "MosaicML streaming"
    [ ! -s "$work/loader-crop" ] ||
        echo "        with a resized crop to 192 and a flip $(median "$work/loader-crop") samples/s:"
    ahead ffcv-crop loader-crop FFCV
}
pack one.h5 --chunk 1
echo "        not compressed, chunks of one, shuffle"
others
compare one.h5 2048 shuffle '' "$others" mmap
pack zstd.h5 --chunk 16 --compress zstd:1
echo "        zstd-1, chunks of 16, block shuffle of 8 chunks"
compare zstd.h5 300 block:chunks=8 8 '' pread
