#!/bin/sh
# Files that crash or hang HDF5 itself: every program of ours ends in one sentence and status 2.
. "$top_srcdir/tests/tap.sh"
export PATH
shim=$top_builddir/tests/.libs/hostile_shim.so
cd "$work" || exit 1
render_samples photos 12 1 32 >/dev/null || exit 1
h5pack -q photos --size 16x16 --chunk 2 -o good.h5 >/dev/null || exit 1

# A stand-in for such files: the library misbehaves when it is asked for a dataset's size.
stand_in() { # how, program...
    how=$1
    shift
    HOSTILE=$how LD_PRELOAD=$shim "$@" >out.$how.$1 2>err.$how.$1 </dev/null
    echo $? >status.$how.$1
}
judged() { # how program sentence what
    [ "$(cat status.$1.$2)" = 2 ] && [ "$(cat err.$1.$2)" = "$2: cannot open 'good.h5': $3" ] && [ ! -s out.$1.$2 ]
    ok $? "$2: $4"
}
# A dataset whose index of chunks is damaged counts as one.
if "$PYTHON" - 2>/dev/null <<'END'; then
import h5py
with h5py.File('two.h5', 'w') as file:
    for name in 'aa', 'bb':
        file.create_dataset(name, (64, 1024), 'u1', chunks=(8, 1024))[...] = 7
data = open('two.h5', 'rb').read()
at = [i for i in range(len(data)) if data[i:i + 5] == b'TREE\1'] # of chunks
open('two.h5', 'wb').write(data[:at[-1]] + b'XXXX' + data[at[-1] + 4:])
END
    h5advise --no-measure two.h5 >out.two 2>err.two
    [ $? -eq 2 ] && grep -q "^h5advise: 'two.h5' holds 2 datasets, .*: /aa, /bb; name one" err.two
    ok $? 'a dataset with a damaged index is not passed over in favour of another'
    h5advise --no-measure two.h5:/bb >out.two 2>err.two
    [ $? -eq 2 ] && grep -q "two.h5.*'bb'" err.two && ! grep -q 'no reason' err.two
    ok $? 'and is named when it is asked for' || note <err.two
else
    skip 'no Python with h5py'
    skip 'no Python with h5py'
fi
if [ -e "$shim" ]; then
    stand_in hang h5advise good.h5 &
    advise=$!
    stand_in hang h5readbench good.h5 &
    readbench=$!
    stand_in hang h5pack --verify photos -o good.h5 &
    pack=$!
    for how in crash abort exit; do
        stand_in $how h5advise good.h5
        stand_in $how h5readbench good.h5
        stand_in $how h5pack --verify photos -o good.h5
    done
    wait $advise $readbench $pack
    for program in h5advise h5readbench h5pack; do
        # h5pack looks at all datasets, by name; the others know which one they want
        data=images
        [ $program = h5pack ] && data=class_names
        judged crash $program "HDF5 itself crashes on this file (SIGSEGV while reading '/$data')" 'a crash is a sentence'
        judged abort $program "HDF5 itself crashes on this file (SIGABRT while reading '/$data')" 'so is a damaged heap, without what the C library says'
        judged exit $program "HDF5 itself ends the program on this file (status 3 while reading '/$data')" 'so is an exit'
        judged hang $program "HDF5 does not finish within 10 s of processor time (while reading '/$data')" 'so is a hang'
    done
else
    skip 'sanitizers want to be first: nothing can be preloaded'
fi

# The collection of real ones, and of good and merely damaged ones beside them.
data=${H5PACK_SHARED:-$top_srcdir/../shared}/data/h5
if [ ! -e "$data/MANIFEST.tsv" ]; then
    skip "no shared test data ($data)"
    done_testing
    exit
fi
# Those that hang do so for 2 s instead of 10; sanitizers make slow what only takes its time.
hurry=
[ "${SANITIZERS:-no}" != no ] ||
    hurry="env LD_PRELOAD=$top_builddir/tests/clock_shim.so CLOCK_OF_OTHERS_TIMES=5"
attempt() { # program option...
    # shellcheck disable=SC2086 # words, or none
    timeout -k 1 300 $hurry "$@" "$path" >/dev/null 2>"err.$1" </dev/null
    echo $? >"status.$1"
}
# no time is spent on measuring this machine, where that is an option
no_measure=$(h5advise --help | sed -n 's/.*\(--no-measure\).*/\1/p' | head -n 1)
tried=0 bad=
for path in "$data"/*; do
    [ "${path%.tsv}" = "$path" ] || continue
    tried=$((tried + 1))
    attempt h5advise --quiet --epochs 1 --workers 1 ${no_measure:+"$no_measure"} &
    attempt h5readbench --quiet --no-trial --workers 0 --batches 2
    wait
    for program in h5advise h5readbench; do
        status=$(cat "status.$program")
        case $status in
        0 | 1) ;;
        2)
            [ "$(wc -l <"err.$program")" -eq 1 ] && grep -qF "${path##*/}" "err.$program" ||
                bad="$bad ${path##*/} ($program)"
            ;;
        *) bad="$bad ${path##*/} ($program: status $status)" ;;
        esac
        grep -q 'HDF5 itself\|does not finish' "err.$program" && echo "${path##*/}" >>refused
    done
done
[ -z "$bad" ] && [ $tried -gt 80 ]
ok $? "of $tried strange files each ends in an answer, or in one sentence that names it${bad:+, but not$bad}"
if h5readbench good.h5 --no-trial --json --quiet | grep -q '"hdf5_version": "1.10.8"'; then
    grep -qx cve-2018-15671.h5 refused && grep -qx cve-2018-13871.h5 refused
    ok $? 'those that hang or crash HDF5 1.10.8 are found to'
else
    skip 'another HDF5 than 1.10.8 crashes on other files'
fi
awk -F '\t' '$10 == "reads" { print $1 }' "$data/MANIFEST.tsv" >fine
! grep -qxFf fine refused
ok $? 'and none of those that h5py reads'
done_testing
