#!/bin/sh
# h5pack --resume for kinds of runs that resume.sh does not have: lists that were edited
# meanwhile, reduced decoding, image files as sources, black stand-ins. Each is killed in
# the middle, and what comes out is byte for byte what an undisturbed run makes.
. "$top_srcdir/tests/tap.sh"
need h5pack cmp
need_shim fault
cd "$work" || exit 1
render_samples photos 120 7 200 || exit 1
ls -d photos/*/* >names
image() { sed -n "$1p" names; }
number() { sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" out | head -n 1; }

# killed IMAGE COMMAND...: when that image is about to be opened.
killed() {
    path=$1
    shift
    rm -f set.h5*
    (
        FAULT_CALL=open FAULT_HOW=SIGKILL FAULT_N=1 FAULT_PATH=$path LD_PRELOAD=$shim
        export FAULT_CALL FAULT_HOW FAULT_N FAULT_PATH LD_PRELOAD
        exec "$@" -o set.h5
    ) >out 2>err </dev/null
    [ $? -eq 137 ] && [ -e set.h5.part ] && [ ! -e set.h5 ]
    ok $? "killed at $path"
} 2>/dev/null

# goes_on STATUS REFERENCE SENTENCE COMMAND...
goes_on() {
    want=$1 reference=$2 sentence=$3
    shift 3
    run "$@" --resume --json -o set.h5
    [ $status -eq "$want" ] && [ "$(number resumed)" -gt 0 ] && cmp -s set.h5 "$reference"
    good=$?
    ok $good "$sentence ($(number resumed) images taken over)"
    [ $good -eq 0 ] || {
        note "status $status"
        note <err
    }
}

# ------------------------------------------------------------------ reduced decoding

set -- h5pack photos --size 24x24 --chunk 1 --threads 2 --draft
"$@" -o draft.h5 >out 2>err
ok $? 'a run with --draft'
killed "$(image 70)" "$@"
run h5pack photos --size 24x24 --chunk 1 --threads 2 --resume -o set.h5
[ $status -eq 2 ] && grep -q 'begun with other options' "$work/err"
ok $? '--draft cannot be left out on the way'
goes_on 0 draft.h5 'a run with --draft is resumed' "$@"

# ------------------------------------------------------------------ files as sources

# shellcheck disable=SC2046 # names without blanks
set -- h5pack $(cat names) --size 24x24 --chunk 2 --threads 2
"$@" -o files.h5 >out 2>err
ok $? 'image files as sources'
killed "$(image 70)" "$@"
goes_on 0 files.h5 'a run over image files is resumed' "$@"
killed "$(image 70)" "$@"
gone=$(image 90)
mv "$gone" kept.jpg
run "$@" --resume --json -o set.h5
[ $status -eq 1 ] && [ "$(number packed)" -eq 119 ] && [ "$(number resumed)" -gt 0 ] &&
    grep -q "'$gone': cannot be opened: No such file" err && grep -q "cannot open '$gone': No such" err
good=$?
ok $good 'where one of them is gone the run goes on with those that it began with'
[ $good -eq 0 ] || note <err
mv kept.jpg "$gone"

# ------------------------------------------------------------------ names that files decide

# A list of ids, and one of Windows: how the names go on is seen by files that are there.
mkdir -p photos/ids
n=0
for image in photos/*/*.jpg; do
    n=$((n + 1))
    cp "$image" photos/ids/$n.jpg
done
mv photos/ids ids && mv photos others && mkdir photos && mv ids photos
i=0
(
    echo image,label
    while [ $i -lt $n ]; do i=$((i + 1)) && echo "ids/$i,$((i % 3))"; done
) >ids.csv
sed 's,/,\\,; 2,$s/,/.jpg,/' ids.csv >windows.csv
mv names names.all
seq "$n" | sed 's,.*,photos/ids/&.jpg,' >names
for list in ids.csv windows.csv; do
    set -- h5pack --list $list photos --size 24x24 --chunk 1 --threads 2
    "$@" -o listed.h5 --force >out 2>err
    ok $? "$list"
    killed "$(image 70)" "$@"
    mkdir kept
    for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do mv "$(image $n)" kept/$n; done
    goes_on 0 listed.h5 "is resumed where the first that were packed are gone" "$@"
    for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do mv kept/$n "$(image $n)"; done
    killed "$(image 70)" "$@"
    mv photos elsewhere && mkdir photos
    run "$@" --resume -o set.h5
    [ $status -ne 0 ] && ! grep -q 'other images' "$work/err"
    good=$?
    ok $good 'where all are gone, that is what is said'
    [ $good -eq 0 ] || note <"$work/err"
    rmdir photos && mv elsewhere photos && rmdir kept
    goes_on 0 listed.h5 'and when they are there again it goes on' "$@"
done
rm -r photos && mv others photos && mv names.all names

# ------------------------------------------------------------------ black stand-ins

set -- h5pack photos --size 24x24 --chunk 1 --threads 2 --on-error blank
for chunk in 1 4; do
    # images that are gone: before the kill, beside it and at the end
    for n in 20 71 72 120; do rm "$(image $n)" && ln -s nowhere "$(image $n)"; done
    "$@" --chunk $chunk -o blank.h5 --force >out 2>err
    [ $? -eq 1 ]
    ok $? 'black stands in for images that are not there'
    for n in 20 71 72 120; do rm "$(image $n)" && cp -a "$(image 7)" "$(image $n)"; done
    rm "$(image 20)" && ln -s nowhere "$(image 20)"
    killed "$(image 70)" "$@" --chunk $chunk
    for n in 71 72 120; do rm "$(image $n)" && ln -s nowhere "$(image $n)"; done
    goes_on 1 blank.h5 "those that vanish after a kill keep their place, chunks of $chunk" \
        "$@" --chunk $chunk
    for n in 20 71 72 120; do rm "$(image $n)" && cp -a "$(image 7)" "$(image $n)"; done
done
rm -rf photos
render_samples photos 120 7 200

# ------------------------------------------------------------------ lists, edited

table() {
    echo 'path,label,count,note'
    ${AWK} '{ printf "%s,c%d,%d,n %d\n", $0, NR % 3, NR * 7, NR }' names
}
set -- h5pack --list list.csv --size 24x24 --chunk 1 --threads 2
table >list.csv
"$@" -o list.h5 >out 2>err
ok $? 'a list'
killed "$(image 70)" "$@"
table | sed '1d' | sort -R --random-source=names | { echo 'path,label,count,note' && cat; } >list.csv
goes_on 0 list.h5 'rows in another order change nothing' "$@"
table >list.csv
killed "$(image 70)" "$@"
rm list.csv
goes_on 0 list.h5 'nor does a list that is gone' "$@"
table >list.csv
killed "$(image 70)" "$@"
: >list.csv
goes_on 0 list.h5 'nor one that is empty' "$@"
table >list.csv
other="has another value in column 'count'"
for edit in "20s/,[0-9]*,n/,5,n/|$other" "100s/,[0-9]*,n/,5,n/|$other" "100s/n 99/m/|in column 'note'" \
    '100s/,c[012],/,c9,/|has another label' '1s/count/number/|the columns are others' \
    's/,n [0-9]*$//;s/,note$//|the columns are others' 's/$/,1/;1s/1$/more/|the columns are others'; do
    what=${edit#*|} edit=${edit%%|*}
    killed "$(image 70)" "$@"
    table | sed "$edit" >list.csv
    run "$@" --resume --json -o set.h5
    [ $status -eq 2 ] && [ "$(wc -l <err)" -eq 2 ] && grep -q "begun with other images: .*$what" err &&
        ! grep -q -e '--resume' err && [ -e set.h5.part ]
    ok $? "a list edited by '$edit' is refused: $what"
    table >list.csv
    goes_on 0 list.h5 'and taken when it is what it was' "$@"
done
done_testing
