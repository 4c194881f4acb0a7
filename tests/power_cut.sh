#!/bin/sh
# The power goes at every moment of a small job that has to do with durability: before and
# behind each sync, renaming and removal, and right after its end (see power_shim.c). What
# was not synced is gone, or half of it is. Under the final name is then the old file, the
# new one, or none; when the job had said that it is done, the new one; and --resume gives
# the file of an undisturbed run.
. "$top_srcdir/tests/tap.sh"
need h5pack h5rechunk cmp
need_shim power

mkdir "$work/job" && cd "$work/job" || exit 1
render_samples photos 10 3 48 || exit 1
echo junk >photos/"$(ls photos | head -n 1)"/junk.jpg

# The jobs; each takes further options. All of h5pack end with a reject.
job_new() {
    h5pack photos --shorter 40 --crop 32x32 --chunk 2 --compress zstd --threads 2 -o "$PWD/out/set.h5" "$@"
}
job_list() {
    job_new --rejects "$PWD/out/rejects.tsv" "$@"
}
job_forced() {
    job_new --force "$@"
}
# One that goes on where another was killed, and checks its work.
job_resumed() {
    job_new --verify --resume "$@"
}

job_rechunk() {
    h5rechunk in.h5 --chunk 1 --compress gzip:1 --threads 2 -o "$PWD/out/set.h5" "$@"
}
# Stopped, or behind a file of another.
job_rechunk_resumed() {
    job_rechunk --verify --resume "$@"
}
job_rechunk_forced() {
    job_rechunk --force "$@"
}

# The state that a job starts from.
prepare() {
    rm -rf out
    case $job in
    job_resumed) cp -r killed out ;;
    job_rechunk_resumed) cp -r stopped out ;;
    *_forced) mkdir out && cp old.h5 out/set.h5 ;;
    *) mkdir out ;;
    esac
}

# cut N DATA NAMES: the job with the power gone at moment N; leaves $status.
cut() {
    (
        POWER_PATH=$PWD/out POWER_N=$1 POWER_DATA=$2 POWER_NAMES=$3 POWER_REPORT=$PWD/report
        export POWER_PATH POWER_N POWER_DATA POWER_NAMES POWER_REPORT
        LD_PRELOAD=$shim
        export LD_PRELOAD
        "$job"
    ) >stdout 2>stderr </dev/null
    status=$?
}

# What is left, judged. Prints what is wrong.
judge() {
    case $status in
    "$end") # the job had ended, as it does undisturbed
        cmp out/set.h5 reference.h5 2>&1
        [ "$job" != job_list ] || cmp out/rejects.tsv reference.tsv 2>&1
        return
        ;;
    98) ;;
    *) echo "status $status" ;;
    esac
    if [ -e out/set.h5 ]; then
        cmp -s out/set.h5 reference.h5 && return
        [ "$job" != "${job%_forced}" ] && cmp -s out/set.h5 old.h5 || echo 'a wrong file under the final name'
    fi
    "$job" --resume >stdout 2>stderr.resume </dev/null
    again=$?
    [ $again -eq $end ] || echo "--resume: status $again: $(cat stderr.resume)"
    cmp out/set.h5 reference.h5 2>&1
}

h5pack -q photos --size 20 -o old.h5 >/dev/null 2>&1
mkdir out
FAULT_CALL=write FAULT_N=9 FAULT_HOW=SIGKILL LD_PRELOAD=$top_builddir/tests/.libs/fault_shim.so \
    job_new >/dev/null 2>&1
mv out killed
[ -e killed/set.h5.part ] && [ -s killed/set.h5.part.journal ] && [ -e old.h5 ]
ok $? 'a job is killed half way'

h5pack -q photos --shorter 40 --crop 32x32 --chunk 2 -o in.h5 >/dev/null 2>&1
mkdir out
FAULT_CALL=write FAULT_N=12 FAULT_HOW=SIGINT LD_PRELOAD=$top_builddir/tests/.libs/fault_shim.so \
    job_rechunk >/dev/null 2>stderr
mv out stopped
grep -q -e '--resume goes on' stderr && [ -s stopped/set.h5.part ]
ok $? 'another is stopped half way'

for job in job_new job_list job_forced job_resumed job_rechunk job_rechunk_resumed job_rechunk_forced; do
    end=1
    [ $job = "${job#job_rechunk}" ] || end=0
    prepare
    cut 0 drop kept
    total=$(cat report)
    [ $status -eq $end ] && [ "$total" -ge 9 ]
    ok $? "$job: runs undisturbed, with $total moments"
    [ $status -eq $end ] || note <stderr
    if [ $job = job_new ] || [ $job = job_rechunk ]; then mv out/set.h5 reference.h5; else cmp -s out/set.h5 reference.h5; fi
    ok $? "$job: to the same file"
    [ $job != job_list ] || mv out/rejects.tsv reference.tsv
    for data in drop tear; do
        for names in kept lost; do
            # with nothing kept, and with half of it; all four only in long runs
            [ "$long" != 0 ] || [ $data-$names = drop-lost ] || [ $data-$names = tear-kept ] ||
                continue
            bad=0 n=1 ended=0
            while [ $n -le "$total" ]; do
                prepare
                cut $n $data $names
                [ $status -ne $end ] || ended=$((ended + 1))
                judge >wrong
                if [ -s wrong ]; then
                    bad=$((bad + 1))
                    [ $bad -gt 3 ] || {
                        note "moment $n, status $status:"
                        cat wrong stderr | head -n 8 | note
                    }
                fi
                n=$((n + 1))
            done
            [ $bad -eq 0 ] && [ $ended -eq 1 ]
            ok $? "$job: data $data, names $names: $total moments, $bad wrong"
        done
    done
done
done_testing
