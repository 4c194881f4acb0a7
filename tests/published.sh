#!/bin/sh
# h5pack is killed in its last moments: the list of rejects is there before the file has its
# name, and a run that resumes finds a whole file with a journal, says what the other could
# not say any more, and removes the journal. What is not that file stays as it is.
. "$top_srcdir/tests/tap.sh"
need h5pack cmp
need_shim fault
mkdir "$work/job" && cd "$work/job" || exit 1
render_samples photos 12 3 48 || exit 1
echo junk >photos/"$(ls photos | head -n 1)"/junk.jpg

job() {
    h5pack -q photos --size 32 --chunk 2 --compress zstd --threads 2 --rejects rejects.tsv -o out/set.h5 "$@"
}
# struck N OPTION...: the job is killed before its N-th access to a file.
struck() {
    n_access=$1
    shift
    rm -rf out rejects.tsv report
    mkdir out
    (
        FAULT_CALL=read,write,sync,rename,close FAULT_HOW=SIGKILL FAULT_N=$n_access FAULT_REPORT=$PWD/report
        LD_PRELOAD=$shim
        export FAULT_CALL FAULT_HOW FAULT_N FAULT_REPORT LD_PRELOAD
        job "$@"
    ) >stdout 2>stderr </dev/null
} 2>/dev/null

mkdir out
run job
[ $status -eq 1 ] && mv out/set.h5 reference.h5 && mv rejects.tsv reference.tsv
ok $? 'an undisturbed run, with a reject'
struck 0
total=$(sed -n 's/^calls //p' report | tail -n 1)

is_done() {
    [ $status -eq 1 ] && cmp out/set.h5 reference.h5 >&2 && cmp rejects.tsv reference.tsv >&2 &&
        [ "$(ls out)" = set.h5 ]
}

n_published=0
n=$((total - 24))
while [ $n -lt $total ]; do
    n=$((n + 1))
    struck $n
    if [ -e out/set.h5 ]; then
        cmp out/set.h5 reference.h5 && cmp rejects.tsv reference.tsv
        ok $? "killed at $n of $total: with the file there is its list of rejects"
    fi
    if [ -e out/set.h5 ] && [ -e out/set.h5.part.journal ]; then
        n_published=$((n_published + 1))
        rm -rf left
        cp -a out left
        rm -f rejects.tsv
    elif [ -e out/set.h5 ]; then
        continue
    fi
    run job --resume --json
    is_done
    done=$?
    ok $done "killed at $n of $total, then resumed, file and list are the same"
    [ $done -eq 0 ] || note <"$work/err"
done
[ $n_published -gt 0 ]
ok $? "at $n_published of these moments the file had its name and the journal was there"
[ $n_published -gt 0 ] || done_testing

# published OPTION...: goes on with that state
published() {
    rm -rf out rejects.tsv
    cp -a left out
    cp left/set.h5.part.journal journal
    run job "$@"
}
# refused NAME PATTERN: in one sentence, and file and journal stay.
refused() {
    [ $status -eq 2 ] && is_one_sentence "$work/err" && grep -q "$2" "$work/err" &&
        cmp out/set.h5 "${3:-reference.h5}" && cmp out/set.h5.part.journal journal &&
        [ ! -e rejects.tsv ]
    so=$?
    ok $so "$1"
    [ $so -eq 0 ] || note <"$work/err"
}

published --resume --json
taken=$(sed -n 's/.*"resumed": *\([0-9]*\).*/\1/p' "$work/out")
is_done && [ "$taken" -eq 12 ]
ok $? "nothing is packed again (resumed: $taken)"
published --resume --json --verify
is_done
ok $? 'it is read back with --verify'
published --resume --force --json
taken=$(sed -n 's/.*"resumed": *\([0-9]*\).*/\1/p' "$work/out")
is_done && [ "$taken" -eq 12 ]
ok $? "with --force neither (resumed: $taken)"
[ "$(sed -n 's/.*"file_bytes": *\([0-9]*\).*/\1/p' "$work/out" | head -n 1)" -eq "$(wc -c <reference.h5)" ]
ok $? 'its size is told'
published
refused 'without --resume the file is in the way' 'exists; --resume sees whether.*--force'
published --resume --quality-of-nothing
[ $status -eq 2 ] && [ -e out/set.h5.part.journal ]
ok $? 'a mistake on the command line changes nothing'
published --resume --chunk 3
refused 'other options: the file is in the way' 'exists.*--force'
mv photos gone
published --resume
is_done
ok $? 'the images may be gone meanwhile'
mv gone photos

last=$(ls -d photos/* | tail -n 1)
touch -d 2001-01-01 "$last"/*
published --resume
is_done
ok $? 'or be others: they are not looked at again'
cp "$(ls "$last"/*.jpg | head -n 1)" "$last/zzz.jpg"
published --resume
refused 'an image that came since: the file is whole without it' 'complete before another image was added'
rm "$last/zzz.jpg"

# damaged NAME: published, with the file as it is made by the commands on standard input.
damaged() {
    rm -rf out rejects.tsv
    cp -a left out
    sh -e
    cp out/set.h5 damaged
    cp out/set.h5.part.journal journal
    run job --resume
    refused "$1: the file is in the way" 'exists.*--force' damaged
}
rm -rf out
cp -a left out
truncate -s -1 out/set.h5
run job --resume --force
is_done
ok $? 'with --force a file that was cut is packed anew'
damaged 'a file that was cut' <<'SH'
truncate -s -1 out/set.h5
SH
damaged 'another file of its size' <<'SH'
head -c "$(wc -c <out/set.h5)" /dev/zero >other
mv other out/set.h5
SH
damaged 'a file with an image that is damaged' <<'SH'
printf '\1\2\3\4\5\6\7\10' | dd of=out/set.h5 bs=1 seek=$(($(wc -c <out/set.h5) / 2)) conv=notrunc 2>/dev/null
SH
published --resume
rm -f out/set.h5.part.journal
mkdir -p out
printf 'a text of mine' >out/set.h5.part.journal
run job --resume
[ $status -eq 2 ] && [ "$(cat out/set.h5.part.journal)" = 'a text of mine' ] &&
    cmp out/set.h5 reference.h5
ok $? "a stranger's file is no journal"
damaged 'a journal that ends before the last image' <<'SH'
truncate -s -100 out/set.h5.part.journal
SH
done_testing
