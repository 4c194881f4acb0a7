#!/bin/sh
# h5rechunk is killed at seeded moments (H5PACK_SEED), loses its disk or is stopped, and goes on
# with --resume: the file is byte for byte that of an undisturbed run, with any number of
# threads, and chunks that were on the disk are not made again. What belongs to other options,
# another source or another program is refused in a sentence and stays as it is.
. "$top_srcdir/tests/tap.sh"
need h5rechunk h5pack cmp
need_shim fault
: "${top_builddir:?}" "${work:?}" "${status=0}" "${shim:?}" "${long=0}"
accesses=open,read,write,sync,rename,truncate,close
mkdir "$work/job" && cd "$work/job" || exit 1
render_samples photos 60 1 160 && h5pack -q photos --size 120x128 --chunk 7 --compress gzip:1 -o in.h5 || exit 1
least=$(h5rechunk in.h5 -c 1 --memory 64K --dry-run 2>&1 | sed -n 's/.*which needs \([0-9]*\)K.*/\1/p')

# Random numbers that are the same everywhere: below N into $random.
seed=${H5PACK_SEED:-1}
random_below() {
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    random=$((seed / 65536 % $1))
}

# The jobs: two datasets; the same without chunks; chunks taken as they are stored; little memory,
# in which chunks are read again and again. Options that come last count.
two() {
    h5rechunk --dataset images --dataset labels in.h5 -c 1 --compress gzip:1 -j 2 -o out/set.h5 "$@"
}
plain() {
    h5rechunk --dataset images --dataset labels in.h5 -c none -j 2 -o out/set.h5 "$@"
}
verbatim() {
    h5rechunk in.h5 -c 7 --compress gzip:1 -o out/set.h5 "$@"
}
short() {
    h5rechunk in.h5 -c 2x50x40x2 --compress none --memory "$((least + 300))K" -j 2 -o out/set.h5 "$@"
}

# struck CALLS HOW N COMMAND...: COMMAND with a fault at its N-th access of these kinds.
struck() {
    struck_calls=$1 struck_how=$2 struck_n=$3
    shift 3
    rm -f report
    (
        FAULT_CALL=$struck_calls FAULT_HOW=$struck_how FAULT_N=$struck_n FAULT_REPORT=$PWD/report
        export FAULT_CALL FAULT_HOW FAULT_N FAULT_REPORT
        LD_PRELOAD=$shim
        export LD_PRELOAD
        "$@"
    ) >stdout 2>stderr </dev/null
    status=$?
} 2>/dev/null # the shell's own word about a killed job

# A number of the report, of all datasets together.
figure() {
    sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" "$work/out" | ${AWK} '{ n += $1 } END { print n + 0 }'
}
only_the_file() {
    cmp out/set.h5 "$job.h5" >>"$work/err" 2>&1 && [ "$(ls out)" = set.h5 ]
}
fresh() {
    rm -rf out
    mkdir out
}
# Chunks that the journal must tell of when the part is so long: it waits for 256 KiB, a piece
# of data without chunks is nearly as long, and the file has other things.
written() {
    bytes=$([ ! -e out/set.h5.part ] || wc -c <out/set.h5.part)
    echo $((${bytes:-0} > 700000 ? 1 : 0))
}

# resumed SENTENCE OPTION...: goes on to the end, and compares; no chunk is written twice.
resumed() {
    sentence=$1
    shift
    least_kept=$(written)
    run "$job" --resume --json "$@"
    kept=$(figure resumed)
    [ $status -eq 0 ] && only_the_file && [ "$kept" -ge "$least_kept" ] && [ $((kept + $(figure writes))) -eq "$n_chunks" ]
    same=$?
    ok $same "$job: $sentence ($kept chunks taken over)"
    [ $same -eq 0 ] || {
        note <"$work/err"
        note "at least $least_kept; out/ holds:" "$(ls out)"
    }
}

n_moments=3
[ "$long" = 1 ] && n_moments=50
sum_kept=0
for job in two plain verbatim short; do
    fresh
    run "$job" --json
    n_chunks=$(figure writes)
    [ $status -eq 0 ] && mv out/set.h5 "$job.h5" && [ -z "$(ls out)" ]
    ok $? "$job: an undisturbed run"
    [ $status -eq 0 ] || note <"$work/err"
    struck $accesses SIGKILL 0 "$job"
    total=$(sed -n 's/^calls //p' report | tail -n 1)
    [ "$(sed -n 's/.*read \([0-9]\).*times each.*/\1/p' stdout)" ] || [ $job != short ]
    ok $? "$job: moments are below $total, seed $seed"
    fresh
    struck write SIGKILL 0 "$job"
    writes=$(sed -n 's/^calls //p' report | tail -n 1)
    i=0
    while [ $i -lt $n_moments ]; do
        i=$((i + 1))
        fresh
        if [ $((i % 2)) -eq 0 ]; then
            random_below "$total"
            struck $accesses SIGKILL $((random + 1)) "$job"
        else # among the writes, most of which are chunks
            random_below "$writes"
            struck write SIGKILL $((random + 1)) "$job"
        fi
        moment=$((random + 1))
        again=
        if [ $((i % 3)) -eq 0 ]; then # and once more while it goes on
            random_below "$writes"
            struck write SIGKILL $((random + 1)) "$job" --resume -j 3
            again=", again at $((random + 1))"
        fi
        if [ -e out/set.h5 ] && [ ! -e out/set.h5.part.journal ]; then
            cmp out/set.h5 "$job.h5"
            ok $? "$job: killed at $moment$again, when the file was complete"
        else
            resumed "killed at $moment$again, then resumed, the file is the same" -j $((i % 4 + 1))
            sum_kept=$((sum_kept + kept))
        fi
    done
done
[ $sum_kept -gt 0 ]
ok $? "$sum_kept chunks were taken over in all"

# What HDF5 cannot open for comparison, at the end: nothing is thrown away.
job=two
fresh
FAULT_PATH=in.h5
export FAULT_PATH
struck open EIO 0 two --verify
n_opens=$(sed -n 's/^calls //p' report | tail -n 1)
bad=0
for n in $((n_opens - 1)) "$n_opens"; do
    fresh
    struck open EIO "$n" two --verify
    { [ $status -eq 2 ] && grep -q -e '--resume goes on with' stderr && [ -e out/set.h5.part ]; } || bad=$n
    (unset FAULT_PATH && run two --resume --verify && [ $status -eq 0 ] && only_the_file) || bad=$n
done
unset FAULT_PATH
[ $bad -eq 0 ] && [ "$n_opens" -gt 3 ]
ok $? "the source cannot be opened when it is compared: --resume completes it ($n_opens opened before)"
[ $bad -eq 0 ] || note <stderr

# Whatever the system refuses: a sentence, and nothing under the final name. With nothing left
# it is as if it had not been; else --resume completes it.
for case in two:write plain:write two:sync two:rename; do
    job=${case%:*}
    call=${case#*:}
    n=1
    bad=0
    n_left=0
    step=1
    [ $case = two:write ] && [ "$long" != 1 ] && step=7
    while :; do
        fresh
        struck "$call" ENOSPC $n "$job"
        if [ $status -eq 0 ]; then
            only_the_file || bad=$n
            break
        fi
        { [ $status -eq 2 ] && is_one_sentence stderr && [ ! -e out/set.h5 ]; } || bad=$n
        if [ -e out/set.h5.part ]; then
            n_left=$((n_left + 1))
            grep -q -e '--resume goes on with' stderr || bad=$n
            run "$job" --resume -j 1
            { [ $status -eq 0 ] && only_the_file; } || bad=$n
        else
            [ -z "$(ls out)" ] || bad=$n
        fi
        [ $bad -eq 0 ] || break
        n=$((n + step))
    done
    [ $bad -eq 0 ] && [ $n -gt 1 ] && [ $n_left -gt 0 ]
    ok $? "$job: $call fails, each of $n: a sentence, and $n_left times --resume completes it"
    [ $bad -eq 0 ] || {
        note "$call $bad: status $status"
        note <stderr
        note <"$work/err"
    }
done

job=two
n_chunks=120

# What may be there another time: memory, and a source that someone moved away for a moment.
for fault in memory:ENOMEM open:ENOENT; do
    call=${fault%:*} bad=0 n_left=0
    fresh
    [ "$call" = open ] && FAULT_PATH=in.h5 && export FAULT_PATH
    struck "$call" SIGKILL 0 two
    total=$(sed -n 's/^calls //p' report | tail -n 1)
    n=$total
    step=$((total / 8 + 1))
    [ "$long" = 1 ] || [ "$call" = open ] && step=1
    while [ "$n" -gt 0 ] && [ $bad -eq 0 ]; do
        fresh
        struck "$call" "${fault#*:}" "$n" two
        if [ $status -eq 0 ]; then
            only_the_file || bad=$n
        else
            { [ $status -eq 2 ] && is_one_sentence stderr; } || bad=$n
        fi
        if [ -e out/set.h5.part ]; then
            n_left=$((n_left + 1))
            grep -q -e '--resume goes on with' stderr || bad=$n
            run two --resume -j 1
            { [ $status -eq 0 ] && only_the_file; } || bad=$n
        fi
        n=$((n - step))
    done
    unset FAULT_PATH
    [ $bad -eq 0 ] && [ $n_left -gt 0 ]
    ok $? "$fault, in one of $total places: $n_left times --resume completes it"
    [ $bad -eq 0 ] || {
        note "$fault $bad: status $status"
        note <stderr
        note <"$work/err"
    }
done

# That all chunks are there is on the disk before the file gets its name.
fresh
FAULT_PATH=.part.journal
export FAULT_PATH
struck sync EIO 1 two
unset FAULT_PATH
[ $status -eq 2 ] && grep -q "cannot sync 'out/set.h5.part.journal'" stderr && [ ! -e out/set.h5 ]
ok $? 'the journal is synced, or the file gets no name'
resumed 'after that' -j 2
# Between the first chunk and the name: what was written is gone.
is_stopped() {
    grep -q '^State:[[:blank:]]*T' "/proc/$1/status" 2>/dev/null
}
fresh
struck write SIGKILL 0 two
writes_of_two=$(sed -n 's/^calls //p' report | tail -n 1)
fresh
env FAULT_CALL=write FAULT_HOW=SIGSTOP FAULT_N=$((writes_of_two / 2)) LD_PRELOAD="$shim" \
    h5rechunk --dataset images --dataset labels in.h5 -c 1 --compress gzip:1 -j 2 -o out/set.h5 >/dev/null 2>"$work/err" &
wait_until is_stopped $!
rm out/set.h5.part
kill -CONT $!
wait $!
status=$?
[ $status -eq 2 ] && is_one_sentence "$work/err" && grep -q "'out/set.h5.part' was removed" "$work/err" && [ -z "$(ls out)" ]
ok $? 'a partial file that someone removed: a sentence, and nothing is left'
note <"$work/err"

# A source that vanishes, or is written to, while shards are made or joined: HDF5 would give fill
# values, or bytes of two times.
changed() { # sentence pattern, what happens, h5rechunk's words
    sentence=$1
    pattern=$2
    what=$3
    shift 3
    fresh
    rm -rf pieces && mkdir pieces && cp in.h5 pieces/in.h5 && h5rechunk -q in.h5 --split 3 -o pieces/set.h5
    env FAULT_CALL=write FAULT_HOW=SIGSTOP FAULT_N=1 LD_PRELOAD="$shim" h5rechunk "$@" -o out/set.h5 >/dev/null 2>"$work/err" &
    wait_until is_stopped $!
    eval "$what"
    kill -CONT $!
    wait $!
    status=$?
    [ $status -eq 2 ] && is_one_sentence "$work/err" && grep -q "$pattern" "$work/err" && [ -z "$(ls out)" ]
    ok $? "$sentence"
    note <"$work/err"
}
changed 'a source of what is joined vanishes' 'set-00002-of-00003.h5' 'mv pieces/set-00002-of-00003.h5 pieces/gone' \
    --join pieces/set.h5
changed 'one is written to' "set-00002-of-00003.h5' was written to" 'touch pieces/set-00002-of-00003.h5' --join pieces/set.h5
changed 'the virtual file is' "set.h5' was written to" 'touch pieces/set.h5' --join pieces/set.h5
changed 'a shard that was named is replaced' "set-00001-of-00003.h5' was replaced" \
    'cp pieces/set-00001-of-00003.h5 x && mv x pieces/set-00001-of-00003.h5' --join pieces/set-*.h5
changed 'what is split is written to' "in.h5' was written to" 'touch pieces/in.h5' pieces/in.h5 --split 2

# signal_test NAME STATUS
signal_test() {
    fresh
    struck write "SIG$1" $((writes_of_two / 2)) two
    [ $status -eq "$2" ] && [ ! -e out/set.h5 ] && is_one_sentence stderr &&
        grep -q 'interrupted ([0-9]* chunks are done; --resume goes on with them)' stderr
    said=$?
    ok $said "SIG$1 ends it with status $2, and it is said how it goes on"
    [ $said -eq 0 ] || note <stderr
    resumed "after SIG$1" -j 3
}
signal_test INT 130
signal_test TERM 143
n=0
while n=$((n + 1)) && [ $n -lt "$writes_of_two" ]; do
    fresh
    struck write SIGINT $n two
    grep -q 'resume' stderr && break
done
[ $n -lt "$writes_of_two" ] && grep -q 'interrupted ([12] chunk' stderr
ok $? "stopped at write $n, the first that leaves something: what the journal did not have yet is not lost"
note <stderr
resumed 'after these few' -j 2
fresh
struck open SIGINT 1 two
[ $status -eq 130 ] && [ -z "$(ls out)" ]
ok $? 'Ctrl-C before a chunk is written: nothing is left'

# ------------------------------------------------------------ an interrupted run

fresh
struck write SIGKILL $((writes_of_two * 2 / 3)) two
[ -s out/set.h5.part ] && [ "$(wc -c <out/set.h5.part.journal)" -gt 1000 ] && mv out left
ok $? 'a run is killed when most is done'

# again OPTION...: the job, where that run was killed.
again() {
    rm -rf out
    cp -a left out
    run two "$@"
}
# refused SENTENCE PATTERN: in one sentence, and what is left stays as it is.
refused() {
    [ $status -eq 2 ] && is_one_sentence "$work/err" && grep -q -e "$2" "$work/err" && diff -r left out >&2
    so=$?
    ok $so "$1"
    [ $so -eq 0 ] || note <"$work/err"
}
again
refused 'without --resume it is told of' 'left of an interrupted run; with the same options --resume completes it'
for options in '-c 2' '--compress gzip:2' '--compress none' '--fletcher32' '--memory 900M' '--dataset filenames' '--as uint8' \
    --shuffle '--shuffle --seed 1'; do
    # shellcheck disable=SC2086 # words
    again --resume $options
    refused "other options: $options" 'begun with other options.*--force'
done
fresh
struck write SIGKILL 15 verbatim
run verbatim --resume --layout nchw
[ $status -eq 2 ] && is_one_sentence "$work/err" && grep -q 'begun with other options.*--force' "$work/err" && run verbatim --resume
ok $? 'other options: --layout nchw, of images alone; without it the run is completed'
fresh
pieces() { # as those of `plain` are
    h5rechunk --dataset images=5 --dataset labels=60 in.h5 --compress none -j 2 -o out/set.h5
}
struck write SIGKILL 25 pieces
run plain --resume
[ $status -eq 2 ] && is_one_sentence "$work/err" && grep -q 'begun with other options.*--force' "$work/err"
ok $? 'other options: no chunks, in place of such as are written at a time'
# Whoever adds an option that decides about the file adds it above, and to
# pack_rechunk_identify(). --advise gives --chunk and --compress; --split and
# --join begin again.
tried=' chunk compress fletcher32 dataset as layout shuffle seed advise split join '
others=$(h5rechunk --help | sed -n '/^What is rewritten/,/^Running/s/^ .*--\([a-z][a-z0-9-]*\) .*/\1/p' | while read -r option; do
    case $tried in
    *" $option "*) ;;
    *) echo "$option" ;;
    esac
done)
[ -z "$others" ] && h5rechunk --help | grep -q '^What is rewritten'
ok $? 'these are all options that decide about the file'
[ -z "$others" ] || note "not tried: $others"
again --resume --dataset nothing
refused 'a mistake on the command line changes nothing' 'there is no dataset'
again --resume --dry-run
refused '--resume is not for --dry-run' 'nothing to go on with'
cp -a in.h5 kept.h5
touch -d 2001-01-01 in.h5
again --resume
refused 'a source of another time' "'in.h5' is not as the run that began.*--force"
cp -a kept.h5 in.h5
printf 'x' >>in.h5
touch -r kept.h5 in.h5
again --resume
refused 'a source of another size' "'in.h5' is not as the run that began.*--force"
cp -a kept.h5 in.h5

# damaged SENTENCE: --resume with out/ as the commands on standard input make it of the
# interrupted run's; what is not as it was is made again.
damaged() {
    rm -rf out
    cp -a left out
    sh -e
    run two --resume --verify --json
    kept=$(figure resumed)
    [ $status -eq 0 ] && only_the_file && [ "$kept" -lt "$all_kept" ] && [ $((kept + $(figure writes))) -eq 120 ]
    so=$?
    ok $so "$1 ($kept chunks are taken over)"
    [ $so -eq 0 ] || note <"$work/err"
}
again --resume --json --verify
all_kept=$(figure resumed)
[ $status -eq 0 ] && only_the_file && [ "$all_kept" -gt 10 ]
ok $? "with the same options it is completed: $all_kept chunks are taken over"
grep -q '"verified": *true' "$work/out"
ok $? 'and compared'
read=$(figure read_bytes)
run two --force --json
[ "$read" -gt 0 ] && [ "$read" -lt "$(figure read_bytes)" ]
ok $? 'what is not needed any more is not read'
rm -f out/set.h5
again --resume --force --json
[ $status -eq 0 ] && only_the_file && [ "$(figure resumed)" -eq "$all_kept" ]
ok $? 'with --force, too'
again --force --json
[ $status -eq 0 ] && only_the_file && [ "$(figure resumed)" -eq 0 ]
ok $? '--force alone starts again'
again --resume
grep -q "resumed  [0-9]* of 60 chunks had been written before" "$work/out"
ok $? 'the report says what was taken over'
damaged 'a part that was cut' <<'SH'
truncate -s $(($(wc -c <out/set.h5.part) / 2)) out/set.h5.part
SH
damaged 'a part of nothing' <<'SH'
: >out/set.h5.part
SH
damaged 'a part with other bytes in the middle' <<'SH'
printf '\1\2\3\4\5\6\7\10' | dd of=out/set.h5.part bs=1 seek=$(($(wc -c <out/set.h5.part) / 2)) conv=notrunc 2>/dev/null
SH
damaged 'a part that a power cut left without its bytes' <<'SH'
head -c "$(wc -c <out/set.h5.part)" /dev/zero >zeros
cat zeros >out/set.h5.part
SH
damaged 'a journal that was cut' <<'SH'
truncate -s -100 out/set.h5.part.journal
SH
damaged 'a journal with other bytes in it' <<'SH'
printf '\1\2\3\4' | dd of=out/set.h5.part.journal bs=1 seek=$(($(wc -c <out/set.h5.part.journal) / 2)) conv=notrunc 2>/dev/null
SH
damaged 'a journal that a power cut left empty' <<'SH'
: >out/set.h5.part.journal
SH
damaged 'a journal that a power cut left without its bytes' <<'SH'
head -c "$(wc -c <out/set.h5.part.journal)" /dev/zero >zeros
cat zeros >out/set.h5.part.journal
SH

rm -rf kept
mv left kept
cp -a kept left
echo 'a text of mine' >left/set.h5.part.journal
again --resume
refused "a stranger's file is no journal" 'not a journal of this program.*--force'
rm -rf left
cp -a kept left
mkdir other
{
    FAULT_CALL=write FAULT_HOW=SIGKILL FAULT_N=9 LD_PRELOAD=$shim h5pack -q photos --size 64 -o other/set.h5
} 2>/dev/null
rm -rf left
mv other left
again --resume
refused "the journal of another program" 'begun with other options.*--force'
rm -rf left
mkdir left
cp kept/set.h5.part left
again --resume
refused 'a part without a journal' 'has no journal.*--force'
rm -rf left

# A journal that does not tell of its source any more begins anew, and tells of it again.
n=0
while n=$((n + 1)) && [ ! -e out/set.h5.part ] && [ $n -lt 20 ]; do
    fresh
    struck write SIGKILL $n two
done
truncate -s -1 out/set.h5.part.journal
struck write SIGKILL $((writes_of_two / 2)) two --resume
touch -d 2001-01-01 in.h5
run two --resume
[ $status -eq 2 ] && grep -q "'in.h5' is not as the run that began" "$work/err"
ok $? 'a source that was changed after a journal was begun anew'
cp -a kept.h5 in.h5

# ------------------------------------------- between renaming and removing the journal

fresh
struck $accesses SIGKILL 0 two
total=$(sed -n 's/^calls //p' report | tail -n 1)
n=$((total - 24))
n_published=0
while [ $n -lt "$total" ]; do
    n=$((n + 1))
    fresh
    struck $accesses SIGKILL $n two
    if [ -e out/set.h5 ] && [ -e out/set.h5.part.journal ]; then
        n_published=$((n_published + 1))
        rm -rf left
        cp -a out left
    elif [ -e out/set.h5 ]; then
        continue
    fi
    resumed "killed at $n of $total"
done
[ $n_published -gt 0 ]
ok $? "at $n_published of these moments the file had its name and the journal was there"
[ $n_published -gt 0 ] || done_testing

again --resume
[ $status -eq 0 ] && only_the_file && grep -q 'it was complete' "$work/out"
ok $? 'it is said that it was complete'
again --resume --json --verify
[ $status -eq 0 ] && only_the_file && [ "$(figure read_bytes)" -eq 0 ] && [ "$(figure writes)" -eq 0 ] &&
    [ "$(figure resumed)" -eq 120 ] && grep -q '"was_complete": *true' "$work/out" && grep -q '"verified": *true' "$work/out"
ok $? 'nothing is made again, with --verify it is compared'
[ "$(figure output_bytes)" -eq "$(wc -c <two.h5)" ]
ok $? 'its size is told'
again
refused 'without --resume the file is in the way' 'exists; --resume sees whether.*--force'
again --resume -c 2
refused 'other options' 'begun with other options.*--force'
touch -d 2001-01-01 in.h5
again --resume
refused 'a source of another time' "'in.h5' is not as the run that began.*--force"
cp -a kept.h5 in.h5
again --resume --force -c 2
[ $status -eq 0 ] && [ "$(ls out)" = set.h5 ] && ! cmp -s out/set.h5 two.h5
ok $? 'with --force another takes its place'
# in_the_way SENTENCE [PATTERN]: with left/ as the commands make it.
in_the_way() {
    rm -rf kept
    cp -a left kept
    sh -e
    again --resume
    refused "$1: the file is in the way" "${2:-exists.*--force}"
    rm -rf left
    mv kept left
}
in_the_way 'a file that was cut' <<'SH'
truncate -s -1 left/set.h5
SH
in_the_way 'a file that is longer' <<'SH'
echo x >>left/set.h5
SH
in_the_way 'a file with a chunk that is damaged' <<'SH'
printf '\1\2\3\4\5\6\7\10' | dd of=left/set.h5 bs=1 seek=$(($(wc -c <left/set.h5) / 2)) conv=notrunc 2>/dev/null
SH
in_the_way 'a journal that ends too early' <<'SH'
truncate -s -8 left/set.h5.part.journal
SH
in_the_way "a stranger's journal" 'is no journal.*--force' <<'SH'
echo 'a text of mine' >left/set.h5.part.journal
SH
rm -f left/set.h5.part.journal
again --resume
refused 'no journal: nothing is known of the file' 'exists.*--force'
done_testing
