#!/bin/sh
# What users hand over without thinking of it: options that would be ignored, names with
# line ends, files that change while they are read, descriptors and limits that are not
# what programs expect.
. "$top_srcdir/tests/tap.sh"
export PATH
cd "$work" || exit 1
render_samples photos 40 1 32 >/dev/null || exit 1
h5pack -q photos --size 32x32 --chunk 4 -o good.h5 >/dev/null || exit 1
XDG_CACHE_HOME=$work/cache
export XDG_CACHE_HOME

# refused SENTENCE COMMAND...: ends with 2 and this sentence; with $sooner, hurried.
sooner=
refused() {
    sentence=$1
    shift
    run ${sooner:+hurried} "$@"
    [ $status -eq 2 ] && [ ! -s "$work/out" ] && [ "$(cat "$work/err")" = "$1: $sentence" ]
    ok $? "$sentence"
    [ "$(cat "$work/err")" = "$1: $sentence" ] || note <"$work/err"
}

# Options that would mean nothing.
refused '--compress goes with --what-if' h5advise good.h5 --compress gzip
refused '--type goes with --shape' h5advise good.h5 --type int8
refused '--gray goes with --images' h5advise good.h5 --gray
refused '--output goes with --calibrate' h5advise good.h5 -o profile.json
refused '--rdcc-w0 goes with FILE or --chunk' h5advise --shape 9x9 --rdcc-w0 0
refused '--batch goes with FILE, --shape or --images' h5advise --calibrate . -o x.json -b 3
refused '--chunk does not go with --keep-file' h5advise good.h5 --keep-file --chunk 1x32x32x3
refused '--svg does not go with --what-if' h5advise good.h5 --what-if --svg x.svg
refused '--memory: 0 bytes hold no chunk' h5advise good.h5 --no-measure --memory 0
refused '--scratch-bytes: 0 bytes hold no sample' h5advise good.h5 --prove --scratch-bytes 0
refused '--rdcc-nbytes goes with FILE' h5readbench --images photos --size 8 --rdcc-nbytes 1M
refused '--shorter goes with --images' h5readbench good.h5 --shorter 8
refused '--box does not go with --crop' h5readbench good.h5 --crop 8 --box 1x8x8x3
refused '--precision goes with --consumer or --sweep' h5readbench good.h5 --precision fp16
refused '--svg does not go with --sweep' h5readbench good.h5 --sweep workers=0,1 --svg x.svg
refused '--fit goes with --size' h5pack photos --fit pad -o x.h5
refused '--classes does not go with --no-labels' h5pack photos --no-labels --classes c -o x.h5
refused '--verify does not go with --dry-run' h5pack photos --size 8 --verify --dry-run -o x.h5
refused '--resume does not go with --dry-run' h5pack photos --size 8 --resume --dry-run -o x.h5
for side in 0 0x8 8x0 8x8x3 99999 x; do
    refused "--size: '$side' is not HxW, nor N for NxN, with sides from 1 to 65535" \
        h5pack photos --size $side -o x.h5
done
for range in 4095:0 7:7; do
    refused "--scale16: '$range' is not a range: MIN is to be below MAX, as in 0:4095" \
        h5pack photos --scale16 $range -o x.h5
done
refused "--scale16: '0:70000' is not a range within 0:65535, like 0:4095, nor auto" \
    h5pack photos --scale16 0:70000 -o x.h5
image=$(ls photos/*/* | head -n 1)
echo "$image" >list
refused "--list takes a folder that its paths start from, which '$image' is not: an image file is given without a list, or named in it" \
    h5pack --list list "$image" --size 8 -o x.h5
refused "cannot open 'none', where the list's paths start: No such file or directory" \
    h5pack --list list none --size 8 -o x.h5
refused "'photos' is a folder, not a list; an image or a folder of them is given without --list" \
    h5pack --list photos --size 8 -o x.h5
ln -s good.h5 y.h5.part.journal
refused "'y.h5.part.journal' is a symbolic link, which is not followed: remove it" \
    h5pack photos --size 8 -o y.h5
refused "'y.h5.part.journal' is a symbolic link, which is not followed: remove it" \
    h5pack photos --size 8 -o y.h5 --force
refused '--memory: 0 bytes hold no image' h5pack photos --size 8 --memory 0 -o x.h5
mkfifo pipe # nobody reads or writes it
refused "cannot create 'pipe': it is not a regular file" \
    h5pack photos --size 8 --force -o pipe
refused "cannot create 'pipe': it is not a regular file" \
    h5pack photos --size 8 --force -o x.h5 --rejects pipe

# Everything named is looked at before anything is measured: nothing was kept of it.
refused "cannot create 'none/x.svg': there is no folder 'none'" \
    h5advise good.h5 --svg none/x.svg
refused "cannot open 'none.tsv': No such file or directory" h5advise good.h5 -p trace:none.tsv
[ ! -e cache/h5pack ] || [ -z "$(ls cache/h5pack)" ]
ok $? 'the processor is not measured for what cannot be answered'
refused "cannot create 'none/x.json': there is no folder 'none'" \
    h5readbench good.h5 --trace none/x.json
refused "cannot create 'none/p.json': there is no folder 'none'" \
    h5advise --calibrate . -o none/p.json

# Text of other systems.
awk 'BEGIN { printf "\357\273\277"; for (i = 0; i < 40; i++) printf "%d\r\n", i }' >weights
run h5readbench good.h5 --no-trial -p weighted:by=weights
ok $status 'a byte order mark and line ends of two characters are no part of weights'

# A copy of samples that are never drawn says nothing.
awk 'BEGIN { for (i = 0; i < 40; i++) print i < 30 ? 0 : 1 }' >late
sooner=yes
refused 'the first samples, which a copy holds, have no weight above 0' \
    h5advise good.h5 -q --epochs 2 -b 2 -w 1 -p weighted:by=late --prove --scratch-bytes 20K
sooner=

# Sources that are stored in different ways.
"$PYTHON" - 2>/dev/null <<'END'
import h5py, numpy
data = numpy.arange(64 * 8 * 8, dtype='u1').reshape(64, 8, 8)
whole = h5py.VirtualLayout((128, 8, 8), 'u1')
for i, name in enumerate(('plain.h5', 'chunked.h5')):
    with h5py.File(name, 'w') as f:
        f.create_dataset('x', data=data, chunks=(4, 8, 8) if i else None)
    whole[64 * i:64 * (i + 1)] = h5py.VirtualSource(name, 'x', shape=data.shape)
with h5py.File('mixed.h5', 'w') as f:
    f.create_virtual_dataset('x', whole)
END
if [ -e mixed.h5 ]; then
    run h5advise -q --no-measure mixed.h5
    grep -q 'All sources are modelled as contiguous' "$work/out"
    ok $? 'what a virtual dataset of chunked and plain sources is modelled as is said'
else
    skip "no h5py for $PYTHON"
fi

# Names with line ends.
name=$(printf 'two\nlines.h5')
cp good.h5 "$name"
for command in 'h5advise --no-measure' 'h5readbench --no-trial'; do
    run $command "$name"
    ! grep -q '^lines' "$work/out" "$work/err" && [ $status -eq 0 ]
    ok $? "$command: a name with a line end stays on its line"
done
rm -f "$name"
for program in h5advise h5readbench; do
    run $program "$name"
    [ $status -eq 2 ] && is_one_sentence "$work/err" && grep -q 'two.x0alines' "$work/err"
    ok $? "$program: in an error too"
done

# A full disk has a name.
if [ -c /dev/full ]; then
    h5advise -q --no-measure good.h5 2>err >/dev/full
    [ $? -eq 2 ] && grep -q 'cannot write to standard output: .' err
    ok $? 'why an answer could not be written is said'
else
    skip 'there is no /dev/full here'
fi

# Files that change while they are read: the program stands still meanwhile, so that it is not
# through before.
change() { # file
    case $1 in
    cut.h5) head -c 9000 good.h5 >short && cat short >cut.h5 ;;
    replaced.h5) cp good.h5 other && mv other replaced.h5 ;;
    same.h5) ;;
    other.h5) # a part of its pixels
        size=$(wc -c <other.h5)
        head -c 60000 /dev/zero | dd of=other.h5 bs=1000 seek=$((size / 2000)) conv=notrunc 2>dd.err
        ;;
    *) echo more >>"$1" ;;
    esac
}
has_open() { # pid file: it, or a child that reads for it
    for process in "/proc/$1" $(grep -l "^PPid:[[:space:]]*$1\$" /proc/[0-9]*/status 2>/dev/null); do
        [ -z "$(find "${process%/status}/fd" -lname "*/$2" 2>/dev/null)" ] || return 0
    done
    return 1
}
while_read() { # file command...
    file=$1
    shift
    cp good.h5 "$file"
    ([ "$file" != advised.h5 ] || hurry; exec "$@") >"$file.out" 2>"$file.err" &
    pid=$!
    wait_until has_open $pid "$file"
    [ "$file" = advised.h5 ] || sleep 0.1 # HDF5 has looked at it, too, or finds another file damaged
    kill -STOP $pid
    change "$file"
    kill -CONT $pid
    wait $pid
    echo $? >"$file.status"
}
for how in cut grown replaced same; do
    while_read $how.h5 \
        h5readbench $how.h5 --no-trial --json --delay 20ms --epochs 100 --seconds 1 &
done
while_read other.h5 h5readbench other.h5 --no-trial --delay 20ms --epochs 100 --seconds 2 \
    --rdcc-nbytes 0 --consumer checksum &
while_read advised.h5 h5advise -q advised.h5 --prove &
wait
[ "$(cat same.h5.status)" -eq 0 ] && grep -q '"changed_file": null' same.h5.out
ok $? 'a file that stays is no reason for doubt'
for how in grown replaced; do
    [ "$(cat $how.h5.status)" -eq 1 ] && grep -q "while it was read, '$how.h5'" $how.h5.err &&
        grep -q '"changed_file": "' $how.h5.out
    ok $? "one that is $how while it is read is told, with status 1"
done
grep -q '[12]' cut.h5.status && grep -q "while it was read, 'cut.h5' had [0-9]* bytes and has 9000" cut.h5.err
ok $? 'one that is cut is, whether HDF5 noticed or not'

[ "$(cat other.h5.status)" -eq 1 ] && [ ! -s other.h5.out ] &&
    grep -q "^h5readbench: while it was read, 'other.h5' .*: epoch [0-9]*, batch [0-9]*, sample [0-9]* of it differs from the file$" other.h5.err
ok $? 'a sample that is no longer the one that was there is told, with the reason'

for _ in 1 2 3; do # where it was through before it was seen to have the file open
    [ "$(cat advised.h5.status)" -eq 0 ] || break
    while_read advised.h5 h5advise -q advised.h5 --prove
done
[ "$(cat advised.h5.status)" -eq 1 ] && [ -s advised.h5.out ] &&
    grep -q "while this was found, 'advised.h5' had [0-9]* bytes and has" advised.h5.err
told=$?
ok $told 'h5advise gives its answer all the same, and says of what'
[ $told -eq 0 ] || { echo "status $(cat advised.h5.status)" && cat advised.h5.err && head -n 5 advised.h5.out; } | note

# What is read is not written.
cp good.h5 kept.h5 && ln -s kept.h5 link.h5
refused "cannot write 'link.h5': this run needs 'kept.h5' as it is" \
    h5advise kept.h5 --no-measure --force --svg link.h5
cp weights weights.kept
refused "cannot write 'weights': this run needs 'weights' as it is" \
    h5advise kept.h5 --no-measure --force -p weighted:by=weights --svg weights
cmp -s good.h5 kept.h5 && cmp -s weights weights.kept
ok $? 'nothing was written over any of them'

# Standard descriptors that are not there.
sum=$(cksum <good.h5)
for program in "h5advise --no-measure good.h5" "h5readbench --no-trial -w 2 good.h5" \
    "h5pack photos --size 32x32 --chunk 4 -o again.h5 --force"; do
    for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
        eval "$program $closed" >std.out 2>std.err
    done
    [ "$(cksum <good.h5)" = "$sum" ]
    ok $? "${program%% *}: closed standard descriptors harm no file"
done
h5pack --verify photos -o again.h5 >/dev/null 2>&1
ok $? 'what was packed meanwhile is whole'

# A picture that cannot be written does not take the answer with it.
(ulimit -f 0 && h5advise -q --no-measure good.h5 --svg full.svg 2>&1; echo "status $?") | cat >limited
grep -q '^status 2' limited && grep -q "cannot write 'full.svg" limited && grep -q '^WHY' limited &&
    [ ! -e full.svg ]
ok $? 'the answer is there where a picture beside it could not be written'

# Where no file can grow, nothing can be tried.
(ulimit -f 0 && hurried h5advise -q good.h5 --epochs 2 2>&1 && echo "status $?") 2>&1 | cat >limited
grep -q '^status 0' limited && grep -q 'none was measured: ' limited
ok $? 'where nothing can be written the answer is the model'"'"'s, and says why'
# Nor can the processor be timed then: its times are assumed, which is said.
(ulimit -f 0 && hurry && XDG_CACHE_HOME=$work/nothing h5advise -q good.h5 --epochs 2 2>&1 &&
    echo "status $?") 2>&1 | cat >untimed
grep -q '^status 0' untimed && ! grep -q 'assumed figures (measure with' limited &&
    grep -q 'assumed figures (measure with' untimed
ok $? 'a processor that could not be timed is one that is assumed'
done_testing
