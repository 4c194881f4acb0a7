#!/bin/sh
# h5advise --record: what a program of h5py reads is what the trace says, of forked processes too; the
# program and its status stay as they are.
. "$top_srcdir/tests/tap.sh"
cd "$work" || exit 1
export TMPDIR="$work"
library=$top_builddir/record/.libs/libh5pack_record.so
[ -e "$library" ] || skip_all 'the recorder is not built'
LD_PRELOAD=$library /bin/true 2>err && [ ! -s err ] || skip_all 'this system cannot preload the recorder'
python=
for python in "$PYTHON" /usr/bin/python3 python3 ''; do
    [ -z "$python" ] || ! "$python" -c 'import h5py, numpy' 2>/dev/null || break
done
[ -n "$python" ] || skip_all 'there is no Python here with h5py'
# a sanitizer's programs do not like what comes before them
LD_PRELOAD=$library h5advise --version >out 2>err && [ ! -s err ] || skip_all 'nothing is preloaded beside sanitizers'

"$python" "$top_srcdir/tests/record.py" make
run h5advise --record t.trace -- "$python" "$top_srcdir/tests/record.py" read asked extra
[ $status -eq 3 ]; ok $? "the status is the program's"
[ "$(cat out)" = "extra 200" ]; ok $? "so is standard output, and words behind --"
grep -q "recorded 3 processes in 't.trace'" err && grep -q "reads of '/images' in '$work/a.h5' by 3 processes" err &&
    grep -q "^h5advise: next: h5advise $work/a.h5:/images --pattern trace:t.trace" err
ok $? 'how many reads of what, and what comes next'
"$python" "$top_srcdir/tests/record.py" compare t.trace asked >differences
ok $? 'each process has asked for what the trace says, in that order'
note <differences
[ "$(find . -name 'h5advise-*' | wc -l)" -eq 0 ]; ok $? 'nothing stays in the folder for temporary files'
run h5advise a.h5 --no-measure --pattern trace:t.trace
[ $status -le 1 ] && grep -q "boxes of '/images', which is read most" err
ok $? 'it is a pattern, of the dataset most read'
run h5advise a.h5:/none --no-measure --pattern trace:t.trace
[ $status -eq 2 ] && is_one_sentence err; ok $? 'a dataset that is not there is refused'
run h5advise a.h5:/other --no-measure --pattern trace:t.trace
[ $status -eq 2 ] && grep -q "no reads of '/other'; it has of '/images'" err
ok $? 'so is one that was not read, and what was is named'

# two workers of two epochs, fresh ones in each
run h5advise --record w.trace -- "$python" "$top_srcdir/tests/record.py" workers
run h5readbench a.h5 --no-trial --pattern trace:w.trace --batch 4 --epochs 2 --json
grep -q "2 workers, 2 epochs that each started them anew" err; ok $? 'workers and epochs are told'
grep -q '"workers": 2' out; ok $? 'as many read again'
run h5advise a.h5 --what-if --no-measure --pattern trace:w.trace --batch 4 --json
# row by row, 8 of a chunk: what each worker read is every second batch of 4 in order
loads=$(sed -n 's/.*"loads_per_sample": *\([0-9.]*\).*/\1/p' out | head -n 1)
[ "$loads" = 0.25 ]; ok $? "each worker loads its chunks once for 4 of their 8 rows: $loads"
run h5advise a.h5 --what-if --no-measure --pattern trace:w.trace -w 3
grep -q 'other workers share them in batches' err; ok $? 'other workers are other workers'

# what reads took, and what stands between them: each read waits for a hundredth of a second
run h5advise --record p.trace -- "$python" "$top_srcdir/tests/record.py" pause
run h5advise a.h5 --no-measure --pattern trace:p.trace --json
awk_of() { sed -n "s/.*\"$1\": *\([0-9.e+-]*\).*/\1/p" out | head -n 1; }
reading=$(awk_of reading) rate=$(awk_of recorded_samples_per_s)
${AWK:-awk} -v r="$reading" -v s="$rate" 'BEGIN { exit !(r > 0 && r < 0.5 && s > 10 && s <= 100) }'
ok $? "most of the time of a training that pauses is not reading: $reading, $rate samples/s"
spent=$(grep '^# spent' p.trace | cut -f 4)
[ "${spent:-0}" -gt 60 ] && [ "$spent" -le 120 ]; ok $? "reads whose time is noted: $spent of 120"

run h5advise --record f.trace -- "$python" "$top_srcdir/tests/record.py" folder
[ "$(sed -n 's/^# file	0	//p' f.trace)" = "$(pwd -P)/a.h5" ]; ok $? 'a relative path is of the folder it was opened in'

# the chunk cache that each was read through, of what has no chunks its file's
"$python" "$top_srcdir/tests/record.py" cache >theirs
run h5advise --record c.trace -- "$python" "$top_srcdir/tests/record.py" cache
"$python" "$top_srcdir/tests/record.py" caches c.trace >ours
[ "$(grep -c 1234567 ours)" -eq 2 ] && cmp -s ours theirs; ok $? 'caches are what h5py says'
note <ours
run h5advise a.h5:/images --no-measure --pattern trace:c.trace --json
grep -q '"cache_bytes": *1234567' out || grep -q '"rdcc_nbytes": *1234567' out
ok $? 'and today is what was recorded'
version=$(sed -n 's/.*hdf5 //p' theirs)
grep -q "\"hdf5_version\": *\"$version\"" out; ok $? "of that HDF5: $version"
run h5advise a.h5:/images --no-measure --pattern trace:c.trace --json --rdcc-nbytes 7654321
grep -q 7654321 out && ! grep -q 1234567 out; ok $? 'unless it is told otherwise'
run h5readbench a.h5:/images --no-trial --pattern trace:c.trace
grep -q "^chunk cache.*: 97 slots, 1.2 MiB, w0 0.25" out; ok $? 'h5readbench reads through it'
run h5readbench a.h5:/images --no-trial --pattern trace:c.trace --engine libpack
[ $status -eq 0 ]; ok $? 'where the engine has one'

# what is there already stays
run h5advise --record t.trace -- /bin/true
[ $status -eq 2 ] && grep -q 'force' err; ok $? 'a trace that is there is not replaced'
cp t.trace kept
run h5advise --force --record t.trace -- /bin/true
[ $status -eq 2 ] && grep -q "'/bin/true' read no dataset" err && cmp -s t.trace kept
ok $? 'a program that reads nothing leaves it as it is'
run h5advise -q --force --record t.trace -- "$python" "$top_srcdir/tests/record.py" read asked
[ $status -eq 3 ] && [ ! -s err ]; ok $? '--force replaces it, --quiet says nothing'

cp a.h5 victim.h5
run h5advise --force --record victim.h5 -- "$python" "$top_srcdir/tests/record.py" read asked
[ $status -eq 2 ] && is_one_sentence err && grep -q "'victim.h5' is an HDF5 file" err && cmp -s a.h5 victim.h5
ok $? 'but never data'

run h5advise --record s.trace -- sh -c 'exit 7'
[ $status -eq 7 ]; ok $? "a failure's status is the program's, whatever was recorded"
run h5advise --record s.trace -- sh -c 'kill -TERM $$'
[ $status -eq 143 ]; ok $? 'the signal that ended it is told as a shell does'
run h5advise --record s.trace -- ./none
[ $status -eq 2 ] && is_one_sentence err; ok $? 'a program that is not there'
printf 'no program' >odd; chmod +x odd
run h5advise --record s.trace -- ./odd
[ $status -eq 127 ]; ok $? 'a file that is none is taken for a script, as a shell does'
run h5advise --record s.trace
[ $status -eq 2 ] && is_one_sentence err; ok $? 'no program'
run h5advise --record s.trace --workers 3 -- /bin/true
[ $status -eq 2 ] && grep -q -- '--workers goes with --pattern' err; ok $? 'options of advice'
"$python" "$top_srcdir/tests/record.py" static static
run h5advise --record s.trace -- ./static
[ $status -eq 2 ] && grep -q 'linked statically' err; ok $? 'a program that is linked statically'
[ ! -e s.trace ]; ok $? 'of none of these is there a trace'
( ulimit -f 100; h5advise --record s.trace -- "$python" "$top_srcdir/tests/record.py" many ) >out 2>err
is_one_sentence err && grep -q 'nothing could be recorded of .*: no room in the folder' err && grep -q '^done' out
ok $? 'a program goes on when its record cannot, and is not said to have read nothing'

# A training is not run once more because its trace cannot be written.
for how in 'rmdir gone' 'echo mine >gone/t.trace'; do
    mkdir -p gone
    run h5advise --record gone/t.trace -- sh -c '"$0" "$1" read asked; '"$how" "$python" "$top_srcdir/tests/record.py"
    kept=$(sed -n "s/.*; what was recorded is in '\(.*\)'$/\1/p" err)
    [ $status -eq 2 ] && is_one_sentence err && "$python" "$top_srcdir/tests/record.py" compare "$kept" asked >differences
    ok $? "what was recorded is kept behind $how"
    rm -rf "${kept%/*}"
done
[ "$(cat gone/t.trace)" = mine ]; ok $? 'and what came into being meanwhile stays'

# Nor is what each process wrote lost: here a copy of one, with many names, for which memory is asked.
shim=$top_builddir/tests/.libs/fault_shim.so
${AWK:-awk} 'BEGIN { print "# h5pack-trace 2\n# dataset\t0\t/x"
    for (i = 0; i < 200; i++) printf "# file\t%d\t/%d.h5\n7\t1\t%d\t0\t4711\t%d\n", i, i, i, i }' >one
# shellcheck disable=SC2016
with_fault() { # FAULT_... ...: records it, and says in $found where what was read is
    rm -rf f.trace h5advise-*
    env LD_PRELOAD="$shim" "$@" h5advise --record f.trace -- sh -c 'cp one "$H5PACK_RECORD_DIR/1-1.trace"' >out 2>err
    status=$?
    kept=$(sed -n "s/.*; what each process read is in '\(.*\)'$/\1/p" err)
    found=${kept:+$kept/1-1.trace}
    found=${found:-f.trace}
}
with_fault FAULT_CALL=write FAULT_N=1 FAULT_LAST=all FAULT_HOW=ENOSPC FAULT_PATH=.trace.part
[ $status -eq 2 ] && is_one_sentence err && grep -q ': No space left.*; what each process read is in' err && cmp -s one "$found"
ok $? 'on a full disk it stays, and it is said where'
with_fault FAULT_CALL=memory FAULT_REPORT=report
all=$(sed -n 's/calls //p' report | sort -n | tail -n 1)
[ $status -eq 0 ] && [ "$(find . -name 'h5advise-*' | wc -l)" -eq 0 ]; ok $? "after $all allocations nothing is left"
n=151 lost=0 kept_n=0 # those before are the shell's, too
while [ "$n" -le "$all" ]; do
    with_fault FAULT_CALL=memory FAULT_HOW=ENOMEM FAULT_N="$n"
    [ -z "$kept" ] || kept_n=$((kept_n + 1))
    if [ "$(grep -c '^7	1	' "$found")" -ne 200 ]; then
        lost=$((lost + 1))
        note <err
    fi
    n=$((n + 17))
done
[ $lost -eq 0 ] && [ $kept_n -gt 0 ]; ok $? "nor is it lost without memory, $kept_n times before there was a trace"
rm -rf h5advise-*

# One that is damaged is not all in the trace.
{ cat one; printf 'x\n'; cat one; } >bad
run h5advise --record d.trace -- sh -c 'cp one "$H5PACK_RECORD_DIR/1-1.trace"; cp bad "$H5PACK_RECORD_DIR/2-2.trace"'
kept=$(sed -n "s/.*of 1 process only the beginning could be read; all that was written is in '\(.*\)'$/\1/p" err)
[ $status -eq 0 ] && [ "$(grep -c '^7	1	' d.trace)" -eq 400 ] && cmp -s bad "$kept/2-2.trace" && [ "$(ls "$kept")" = 2-2.trace ]
ok $? 'what is damaged stays, and it is said where'
rm -rf h5advise-*

run h5advise --record h.trace -- "$python" "$top_srcdir/tests/record.py" threads
[ $status -eq 0 ] && [ "$(cat out)" -lt 4000 ]; ok $? 'threads that end leave nothing behind'

# signals
h5advise --record k.trace -- "$python" "$top_srcdir/tests/record.py" sleep ready >out 2>err &
recorder=$!
wait_until test -s ready
kill -TERM $recorder
wait $recorder
status=$?
[ $status -eq 9 ] && grep -q '^0	0	0	1	' k.trace
ok $? 'SIGTERM is handed on, and what was read until then is kept'
h5advise --force --record k.trace -- "$python" "$top_srcdir/tests/record.py" die >out 2>err
[ $? -eq 137 ] && [ "$(grep -vc '^#' k.trace)" -eq 50 ]
ok $? 'what a process has read that was killed is there'

# a recorder that was killed leaves what was read until then, and what comes with zeros behind it
h5advise --record z.trace -- "$python" "$top_srcdir/tests/record.py" sleep unready >out 2>err &
recorder=$!
wait_until test -s unready
kill -KILL $recorder
wait $recorder 2>/dev/null
piece=$(find h5advise-* -name '*.trace')
trainer=${piece##*/}
run h5advise a.h5 --no-measure --pattern "trace:$piece"
[ $status -le 1 ] && grep -q "^h5advise: " err; ok $? 'what a recorder has left that was killed is a trace'
kill -TERM "${trainer%%-*}"
rm -rf h5advise-*
done_testing
