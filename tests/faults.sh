#!/bin/sh
# The n-th open, read, write, sync, rename, truncation, close or allocation fails, for
# every n of a small job: h5pack ends with status 2 and one sentence that names the
# file, leaves nothing under the final name, and a run with --resume afterwards gives
# the file of an undisturbed run.
#
# Here about half a dozen n of each kind are tried, all of them with H5PACK_LONG=1.
. "$top_srcdir/tests/tap.sh"
need h5pack cmp
need_shim fault

mkdir "$work/job" && cd "$work/job" || exit 1
render_samples photos 10 3 48 || exit 1
{
    printf 'path\tlabel\tweight\tnote\n'
    for image in photos/*/*; do
        printf '%s\t1\t0.5\tsome words\n' "$image"
    done
} >list.tsv

# The jobs; between them they use every kind of input, column and filter.
job_folder() {
    h5pack photos --shorter 40 --crop 32x32 --compress zstd --threads 2 -o out/set.h5 "$@"
}
job_list() {
    h5pack --quiet --list list.tsv --size 24x24 --fit pad --gray --chunk 3 --compress gzip:1 --fletcher32 \
        --rejects out/rejects.tsv --threads 2 -o out/set.h5 "$@"
}

# One that goes on where another was killed, and checks its work.
job_resume() {
    job_folder --quiet --verify --resume
}
jobs='job_folder job_list job_resume'

# The state that a job starts from: nothing, or what the killed one left.
prepare() {
    rm -rf out
    if [ "$job" = job_resume ]; then cp -r killed out; else mkdir out; fi
}

# with_fault CALL HOW N LAST COMMAND...
with_fault() {
    rm -f report
    FAULT_CALL=$1 FAULT_HOW=$2 FAULT_N=$3 FAULT_LAST=$4
    export FAULT_CALL FAULT_HOW FAULT_N FAULT_LAST
    shift 4
    (
        FAULT_REPORT=$PWD/report LD_PRELOAD=$shim
        export FAULT_REPORT LD_PRELOAD
        "$@"
    ) >stdout 2>stderr </dev/null
}

# What a run with a fault left behind, judged. Prints what is wrong.
judge() { # kind of call, status
    case $2 in
    0)
        cmp out/set.h5 reference.h5 2>&1 || echo 'status 0, but the file differs'
        return
        ;;
    2) ;;
    *)
        echo "status $2"
        return
        ;;
    esac
    # remarks on single images may stand before it
    grep -vE "^h5pack: 'photos/.*': cannot be opened( again)?: " stderr >sentence
    is_one_sentence sentence || is_one_sentence stderr || echo 'not one sentence'
    [ "$1" = memory ] || grep -qE "out/|photos|list\.tsv|no readable image" stderr || echo 'names no file'
    if [ -e out/set.h5 ]; then # complete, when only what is said about it failed
        grep -qE 'rejects\.tsv|out of memory' stderr || echo 'a file under the final name'
        cmp out/set.h5 reference.h5 2>&1
        return
    fi
    "$job" --resume >stdout.resume 2>stderr.resume </dev/null
    status=$?
    [ $status -eq 0 ] || echo "--resume: status $status: $(cat stderr.resume)"
    cmp out/set.h5 reference.h5 2>&1
}

# try_all SENTENCE CALL HOW LAST HARMLESS: LAST is "one" or "all"; see fault_shim.c. HARMLESS says
# after how many of the faults the job still ends well: "all", "none", "some" but not all, or "any" number.
try_all() {
    prepare
    with_fault "$2" "$3" 0 0 "$job"
    total=$(sed -n 's/^calls //p' report)
    step=1
    [ "$long" = 1 ] || step=$((total / 6 + 1))
    tried=0 harmless=0 bad=0
    n=$((step / 2 + 1))
    while [ $n -le "$total" ]; do
        prepare
        last=all
        [ "$4" = all ] || last=$n
        with_fault "$2" "$3" $n $last "$job"
        status=$?
        tried=$((tried + 1))
        [ $status -ne 0 ] || harmless=$((harmless + 1))
        judge "$2" $status >wrong
        if [ -s wrong ]; then
            bad=$((bad + 1))
            [ $bad -gt 4 ] || {
                note "$2 $n of $total, $3:"
                cat wrong stderr report | head -n 16 | note
            }
        fi
        n=$((n + step))
    done
    case $5 in
    all) [ $harmless -eq $tried ] ;;
    none) [ $harmless -eq 0 ] ;;
    some) [ $harmless -lt $tried ] ;;
    esac && [ $bad -eq 0 ] && [ $tried -gt 0 ]
    ok $? "$1 ($job: $tried of $total tried, $harmless harmless, $bad wrong)"
}

# more of them than its buffer takes, so that it is written to before the end
mkdir rejected
i=0
while [ $i -lt 200 ]; do
    i=$((i + 1))
    echo 'no image' >"rejected/a-name-of-some-length-that-fills-a-buffer-$i.jpg"
done
cp photos/*/*.jpg rejected
FAULT_PATH=rejects.tsv
export FAULT_PATH
with_fault write ENOSPC 1 all h5pack rejected --size 8 --rejects rejects.tsv -o rejected.h5
grep -q "cannot write 'rejects.tsv.part': No space left" stderr
ok $? 'a list of rejects that cannot be written says which, and why'
unset FAULT_PATH
rm -rf rejected rejected.h5*

# try_job JOB: all faults of one job, in a folder of its own.
try_job() {
    job=$1
    work=$work/$job
    mkdir "$work" "$job" && cd "$job" || exit 1
    cp -a ../photos ../list.tsv .
    if [ "$job" = job_resume ]; then
        mkdir out
        with_fault write SIGKILL 9 9 job_folder 2>/dev/null
        mv out killed
        [ -e killed/set.h5.part ]
        ok $? 'a job is killed half way'
    fi
    prepare
    run "$job"
    ok $status "$job: runs undisturbed"
    [ $status -eq 0 ] || note <"$work/err"
    mv out/set.h5 reference.h5
    try_all 'a file that cannot be opened' open EMFILE one some
    try_all 'a file that an I/O error keeps from being opened' open EIO one any
    try_all 'a disk that opens nothing any more' open EIO all some
    try_all 'a failing read' read EIO one any # tried again
    try_all 'a disk that is full from some write on' write ENOSPC all none
    try_all 'a failing write' write EIO one none
    try_all 'a failing sync' sync EIO one none
    # of the file and of its folder; what else is synced is besides
    [ "$total" -ge 2 ]
    ok $? "$job: syncs what it writes"
    if [ "$job" != job_resume ]; then # the list is on the disk before images are packed
        FAULT_PATH=out/set.h5.part.journal
        export FAULT_PATH
        try_all 'a failing sync of the journal' sync EIO one none
        unset FAULT_PATH
    fi
    try_all 'a failing rename' rename EIO one none
    try_all 'a failing truncation' truncate EIO one none
    try_all 'a failing close' close EIO one any
    FAULT_PATH=out/set.h5.part
    export FAULT_PATH
    try_all 'a failing close of what is written' close EIO one some
    unset FAULT_PATH
    try_all 'an allocation that fails' memory ENOMEM one some
    try_all 'a short read' read short one all
    try_all 'a short write' write short one all
    try_all 'an interrupted read' read EINTR one all
    try_all 'an interrupted write' write EINTR one all
    echo "tried $tap_n $tap_failed"
}

# Much of it is waiting for a disk: the jobs go side by side, and are told of one after another.
for job in $jobs; do
    (tap_n=0 tap_failed=0 && try_job $job) >$job.tap 2>&1 &
done
wait
for job in $jobs; do
    ${AWK} -v n=$tap_n '/^(not )?ok / { sub(/ok [0-9]+/, "ok " ++n) } !/^tried /' $job.tap
    tried=$(sed -n 's/^tried \([0-9]*\) .*/\1/p' $job.tap)
    [ -n "$tried" ] || exit 1 # it did not come to its end
    tap_n=$((tap_n + tried))
    tap_failed=$((tap_failed + $(sed -n 's/^tried [0-9]* //p' $job.tap)))
done
done_testing
