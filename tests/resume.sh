#!/bin/sh
# What h5pack --resume goes on with when the world has changed meanwhile: the list, the
# order and the seed that the run began with; images that went, came back or were added;
# a file server that died. What comes out is byte for byte what an undisturbed run makes
# that met the same.
. "$top_srcdir/tests/tap.sh"
need h5pack cmp
need_shim fault

mkdir "$work/job" && cd "$work/job" || exit 1
render_samples all 260 7 32 || exit 1
ls -d all/*/* >names
last_class=$(ls all | tail -n 1)
first_class=$(ls all | head -n 1)

pack() {
    h5pack photos --size 24x24 --chunk 1 --threads 2 --rejects rejects.tsv "$@"
}

# fresh: the folder as it was at first, and nothing packed.
fresh() {
    rm -rf photos set.h5* rejects.tsv*
    cp -a all photos
}

# image N: the path of image N in the order of packing, below photos/.
image() {
    sed -n "$1s,^all/,photos/,p" names
}

# faulty CALL HOW N LAST PATH COMMAND...
faulty() {
    (
        FAULT_CALL=$1 FAULT_HOW=$2 FAULT_N=$3 FAULT_LAST=$4 FAULT_PATH=$5 LD_PRELOAD=$shim
        export FAULT_CALL FAULT_HOW FAULT_N FAULT_LAST FAULT_PATH
        shift 5
        exec env LD_PRELOAD="$LD_PRELOAD" "$@"
    ) >"$work/out" 2>"$work/err" </dev/null
    status=$?
} 2>/dev/null

# stopped N OPTION...: a run that is interrupted when image N is about to be opened.
stopped() {
    path=$(image "$1")
    shift
    faulty open SIGINT 1 1 "$path" h5pack photos --size 24x24 --chunk 1 --threads 2 \
        --rejects rejects.tsv -o set.h5 "$@"
    [ "$status" -eq 130 ] && grep -q -e '--resume goes on' "$work/err" && [ -e set.h5.part ]
    ok $? "interrupted at $path"
}

# number KEY: of the JSON of the last run.
number() {
    sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" "$work/out" | head -n 1
}

# same FILE SENTENCE: set.h5 is FILE.
same() {
    cmp set.h5 "$1" >>"$work/err" 2>&1
    equal=$?
    ok $equal "$2"
    [ $equal -eq 0 ] || note <"$work/err"
}

# is_status N SENTENCE, of the last run.
is_status() {
    [ "$status" -eq "$1" ]
    right=$?
    ok $right "$2"
    [ $right -eq 0 ] || {
        note "status $status"
        note <"$work/err"
    }
}

fresh
run pack -o reference.h5
is_status 0 'an undisturbed run'

# What is to replace a file, interrupted.
cp reference.h5 set.h5
faulty open SIGINT 200 200 photos/ h5pack photos --size 24x24 --chunk 1 --threads 2 --force -o set.h5
for words in --resume ''; do
    # shellcheck disable=SC2086
    run pack -o set.h5 $words
    [ $status -eq 2 ] && grep -q "'set.h5' exists; --force --resume goes on with the interrupted run that is to \
replace it, --force alone starts again" "$work/err"
    ok $? "the file is in the way of ${words:-a new run}, and what goes on is said"
done
run pack -o set.h5 --force --resume --json
[ $status -eq 0 ] && [ "$(number resumed)" -gt 20 ]
ok $? "it does: $(number resumed) images were taken over"
same reference.h5 'and replaces the file'

# ------------------------------------------------------------------ the order

for limit in '' '--limit 200'; do
    fresh
    # shellcheck disable=SC2086 # words
    faulty open SIGINT 200 200 photos/ h5pack photos --size 24x24 --chunk 1 --threads 2 \
        -o set.h5 --shuffle $limit
    # shellcheck disable=SC2086
    run pack --shuffle $limit -o set.h5 --resume --json
    is_status 0 "a random order without a seed is resumed ${limit:+with $limit}"
    [ "$(number resumed)" -gt 20 ]
    ok $? "$(number resumed) images were taken over"
    seed=$(number seed)
    # shellcheck disable=SC2086
    run pack --shuffle --seed "$seed" $limit -o seeded.h5
    same seeded.h5 'it has the order of the seed that is said to be its'
    rm -f seeded.h5
done

fresh
faulty open SIGINT 200 200 photos/ h5pack photos --size 24x24 --chunk 1 -o set.h5 \
    --shuffle --seed 5
run h5pack photos --size 24x24 --chunk 1 -o set.h5 --shuffle --seed 6 --resume
[ $status -eq 2 ] && grep -q 'begun with seed 5' "$work/err" &&
    ! grep -q -e '--resume' "$work/err" && is_one_sentence "$work/err"
ok $? 'another seed is refused, and no --resume promised'
run h5pack photos --size 32x32 --chunk 1 -o set.h5 --shuffle --seed 5 --resume
[ $status -eq 2 ] && grep -q 'begun with other options' "$work/err" &&
    ! grep -q -e '--resume' "$work/err" && is_one_sentence "$work/err"
ok $? 'other options are refused, and no --resume promised'
run h5pack photos --size 24x24 --chunk 1 -o set.h5 --shuffle --resume --memory 1K
[ $status -eq 2 ] && ! grep -q ' 0 of' "$work/err" && grep -q -e '--resume goes on' "$work/err"
ok $? 'what is done is counted before anything else can go wrong'

# Each image that was done is looked at again, one after the other.
fresh
stopped 200
run sh -c 'ulimit -n 40 && exec "$@"' sh h5pack photos --size 24x24 --chunk 1 --threads 2 \
    --rejects rejects.tsv -o set.h5 --resume
is_status 0 'more images are taken over than files can be open'
same reference.h5 'with the same file'

# ------------------------------------------------------------------ the disk

# What the disk did not take is still there in memory, and no sync says so again.
fresh
stopped 120
faulty sync EIO 1 1 set.h5.part h5pack photos --size 24x24 --chunk 1 --threads 2 \
    --rejects rejects.tsv -o set.h5 --resume
[ $status -eq 2 ] && grep -q "cannot sync 'set.h5.part': .* images are done" "$work/err" &&
    ! grep -q '260 of 260' "$work/err"
ok $? 'a run goes on only where the disk takes what was there before'
if strace -f -o trace true 2>/dev/null; then
    run strace -f -e trace=/fadvise -o trace h5pack photos --size 24x24 --chunk 1 --threads 2 \
        --rejects rejects.tsv -o set.h5 --resume
    grep -q 'fadvise.*POSIX_FADV_DONTNEED' trace
    ok $? 'and looks at it there, not in memory'
else
    skip 'strace cannot trace here'
    run pack -o set.h5 --resume
fi
same reference.h5 'the file is the same'

# ------------------------------------------------------------------ images gone

# with_links IMAGE...: an undisturbed run for which these are not there.
with_links() {
    mkdir -p other
    rm -rf other/* other.h5
    cp -a all other/photos
    for gone; do
        rm -f "other/$gone"
        ln -s nowhere "other/$gone"
    done
    (cd other && pack --gone-are-rejects -o ../other.h5) >/dev/null 2>&1
}

fresh
stopped 120
rm "$(image 3)" "$(image 60)"
run pack -o set.h5 --resume
is_status 0 'images that vanish after they were packed stay packed'
same reference.h5 'the file is the same'

fresh
stopped 120
rm "$(image 200)" "$(image 201)" "$(image 260)"
run pack -o set.h5 --resume
is_status 1 'images that vanish before are rejects'
[ "$(wc -l <rejects.tsv)" -eq 4 ] && grep -q 'No such file' rejects.tsv
ok $? 'and listed with the reason'
with_links "$(image 200)" "$(image 201)" "$(image 260)"
same other.h5 'the file is that of an undisturbed run without them'

fresh
stopped 120
rm "$(image 200)"
stopped 240 --resume
restored=$(image 200)
cp -a "all/${restored#photos/}" "$restored"
run pack -o set.h5 --resume
is_status 1 'an image that comes back after it was rejected stays rejected'
with_links "$(image 200)"
same other.h5 'as in the run that did not see it'

fresh
stopped 120 --on-error fail
rm "$(image 200)"
run pack -o set.h5 --resume --on-error fail
[ $status -eq 2 ] && grep -q "$(image 200)" "$work/err" && is_one_sentence "$work/err"
ok $? 'with --on-error fail a vanished image ends the run'
run pack -o set.h5 --resume --on-error blank
[ $status -eq 2 ] && grep -q 'other options' "$work/err"
ok $? 'and what to do about errors cannot be changed'

fresh
stopped 120 --on-error blank
rm "$(image 200)"
run pack -o set.h5 --resume --on-error blank
is_status 1 'with --on-error blank it keeps its place'

fresh
stopped 120
touch "$(image 3)"
run pack -o set.h5 --resume
[ $status -eq 2 ] && grep -q "$(image 3)" "$work/err" && ! grep -q -e '--resume' "$work/err"
ok $? 'an image that was changed after it was packed is refused'

# One that was rejected was not packed: that it is a good one now loses no run.
break_image() { echo broken >"$(image 5)"; }
fresh
break_image
run pack -o broken.h5
is_status 1 'a run with an image that is broken'
fresh
break_image
stopped 120
cp -a "$(sed -n 5p names)" "$(image 5)"
run pack -o set.h5 --resume
is_status 1 'one that was repaired after it was rejected stays rejected'
same broken.h5 'the file is the same'
rm -f broken.h5

# ----------------------------------------------------------------- images added

fresh
stopped 120
cp -a "$(image 7)" "photos/$last_class/zzz1.jpg"
cp -a "$(image 8)" "photos/$last_class/zzz2.jpg"
stopped 200 --resume
cp -a "$(image 9)" "photos/$last_class/zzz3.jpg"
run pack -o set.h5 --resume --json
is_status 0 'images that sort last are packed behind the others'
[ "$(number added)" -eq 1 ] && [ "$(number packed)" -eq 263 ]
ok $? 'all of them'
run pack -o other.h5 --force
same other.h5 'the file is that of a run that saw them from the start'

fresh
stopped 120
cp -a "$(image 7)" "photos/$first_class/0.jpg"
cp -a "$(image 7)" "photos/$last_class/zzz.jpg"
mkdir photos/zzz
cp -a "$(image 7)" photos/zzz/1.jpg
run pack -o set.h5 --resume
is_status 1 'images that would come between the others are left out'
grep -q '2  added since the run began and left out' "$work/out" &&
    grep -q "$first_class/0.jpg" "$work/out" && grep -q 'force packs all anew' "$work/out"
ok $? 'which is said, with what to do'
rm -rf photos/zzz "photos/$first_class/0.jpg"
run pack -o other.h5 --force
same other.h5 'one that sorts last is packed all the same'

fresh
stopped 120
last=$(image 260)
mv "$last" "${last%.*}-.jpg"
run pack -o set.h5 --resume
is_status 1 'one that sorts before the last, which is gone, is left out'
with_links "$last"
same other.h5 'the file is that of a run without the last'

fresh
stopped 120 --shuffle --seed 3
cp -a "$(image 7)" "photos/$last_class/zzz.jpg"
run pack -o set.h5 --resume --shuffle
is_status 1 'nothing is added to a random order'
grep -q 'random order' "$work/out"
ok $? 'which is said'
rm "photos/$last_class/zzz.jpg"
run pack -o other.h5 --force --shuffle --seed 3
same other.h5 'the file is the same'

fresh
stopped 120
mkdir strange
cp -a "$(image 7)" strange/1.jpg
run h5pack strange --size 24x24 --chunk 1 -o set.h5 --resume
[ $status -eq 2 ] && grep -q 'begun with other images' "$work/err" &&
    ! grep -q -e '--resume' "$work/err" && is_one_sentence "$work/err"
ok $? 'another source is refused'
mv photos moved
run h5pack moved --size 24x24 --chunk 1 -o set.h5 --resume
is_status 0 'one that was moved is not'
same reference.h5 'and gives the same file'
mv moved photos

fresh
stopped 120
rm -rf photos/*/*.*
run pack -o set.h5 --resume
[ $status -eq 2 ] && grep -q 'no images in .photos.; going on with the list' "$work/err" &&
    grep -q 'in a row cannot be read.*--resume goes on' "$work/err"
ok $? 'a folder that holds nothing is taken for a disk that is not there'
fresh_photos() { rm -rf photos && cp -a all photos; }
fresh_photos
faulty open SIGINT 1 1 "$(image 260)" h5pack photos --size 24x24 --chunk 1 --threads 2 \
    --rejects rejects.tsv -o set.h5 --resume
for n in $(seq 1 180); do mv "$(image "$n")" "photos/$n.jpg"; done
run pack -o set.h5 --resume
is_status 0 'a folder that is no source any more is no reason to lose the run'
grep -q 'neither flat nor one folder per class; going on with the list' "$work/err"
ok $? 'which is said'
same reference.h5 'the file is the same'

# A chunk of as many images as there were keeps its size.
sed -n 1,20p names | while read -r path; do
    mkdir -p "few/$(basename "$(dirname "$path")")" && cp -a "$path" "few/${path#all/}"
done
rm -f set.h5*
faulty rename EIO 1 all set.h5 h5pack few --size 24x24 -o set.h5
is_status 2 'a run whose file cannot be renamed'
cp -a "$(sed -n 7p names)" "few/$(ls few | tail -n 1)/zzz.jpg"
run h5pack few --size 24x24 -o set.h5 --resume --json
[ $status -eq 0 ] && [ "$(number resumed)" -eq 20 ] && [ "$(number packed)" -eq 21 ]
ok $? 'is gone on with by one image more, behind the chunk that all others made'

# Cells that are empty are what they were; what was packed may be gone in any way.
fresh
awk 'BEGIN { print "path,class,score" }
    NR <= 60 { sub(/^all/, "photos"); print $0 "," NR % 3 "," (NR % 2 ? NR / 4 : "") }' names >scores.csv
run h5pack --list scores.csv --size 24x24 --chunk 1 -o scores.h5
is_status 0 'a list with numbers, some of them missing'
for way in link folder; do
    fresh
    faulty open SIGINT 1 1 "$(image 50)" h5pack --list scores.csv --size 24x24 --chunk 1 --threads 2 \
        -o set.h5
    gone=$(image 3)
    rm "$gone"
    case $way in
    link) ln -s "$(basename "$gone")" "$gone" ;;
    folder) mkdir "$gone" ;;
    esac
    run h5pack --list scores.csv --size 24x24 --chunk 1 -o set.h5 --resume
    is_status 0 "it is gone on with, one that is packed being a $way now"
    same scores.h5 'with the same file'
done
fresh
faulty open SIGINT 1 1 "$(image 50)" h5pack --list scores.csv --size 24x24 --chunk 1 -o set.h5
sed -n '61s,^all/\(.*\),photos/\1,p' names | sed 's/$/,1,7.5/' >>scores.csv
run h5pack --list scores.csv --size 24x24 --chunk 1 -o set.h5 --resume --json
[ $status -eq 0 ] && [ "$(number packed)" -eq 61 ] && [ "$(number resumed)" -gt 20 ]
ok $? 'and with a row more'

# A last block that is not full is packed anew where images are added behind it.
rm -f set.h5* "few/$(ls few | tail -n 1)/zzz.jpg"
faulty rename EIO 1 all set.h5 h5pack few --size 24x24 --chunk 8 -o set.h5
is_status 2 'nor one whose last chunk is not full'
cp -a "$(sed -n 7p names)" "few/$(ls few | tail -n 1)/zzz.jpg"
run h5pack few --size 24x24 --chunk 8 -o set.h5 --resume --json
[ $status -eq 0 ] && [ "$(number resumed)" -eq 16 ] && [ "$(number packed)" -eq 21 ]
ok $? 'is gone on with behind its full ones'
run h5pack few --size 24x24 --chunk 8 -o whole.h5
same whole.h5 'and is the file of all 21'
rm -f set.h5
faulty rename EIO 1 all set.h5 h5pack few --size 24x24 --limit 22 -o set.h5
is_status 2 'one of 21 images with a limit of 22'
for n in 1 2 3; do cp -a "$(sed -n 7p names)" "few/$(ls few | tail -n 1)/zzz$n.jpg"; done
run h5pack few --size 24x24 --limit 22 -o set.h5 --resume --json
[ $status -eq 0 ] && [ "$(number added)" -eq 1 ] && [ "$(number packed)" -eq 22 ]
ok $? "is gone on with by one of three images that were added: $(number packed) are packed"
rm -f set.h5

# What is packed, in which order, has to be known behind a power cut: the one sync of the
# journal of a job that is done in a second.
faulty sync EIO 1 1 set.h5.part.journal h5pack few --size 24x24 -o set.h5
[ $status -eq 2 ] && grep -q "cannot sync 'set.h5.part.journal': Input/output error" "$work/err"
ok $? 'a run begins only where the disk takes the list of its images'
rm -f set.h5*

# Lists: columns of all types, rows added and taken away.
table() {
    echo 'path,label,count,weight,note'
    sed -n "$1" names | ${AWK} '{ printf "%s,c%d,%d,%s,\"n, %d\"\n", $0, NR % 3, NR * 1000003, NR / 8, NR }'
}
list_job() {
    h5pack --list list.csv --size 24x24 --chunk 1 --threads 2 -o set.h5 "$@"
}
rm -rf photos set.h5*
table p >list.csv
faulty open SIGINT 200 200 all/ h5pack --list list.csv --size 24x24 --chunk 1 \
    --threads 2 -o set.h5
{
    table p | sed '90,100d;250,260d'
    echo 'all/none.jpg,c1,5,,x'
} >list.csv
mkdir more && cp "$(sed -n 7p names)" more/m.jpg
echo 'more/m.jpg,c0,-3,0.25,' >>list.csv
run list_job --resume
is_status 1 'a list with rows taken away, and others added'
{
    table p
    echo 'all/none.jpg,c1,5,,x'
    echo 'more/m.jpg,c0,-3,0.25,'
} >list.csv
mv set.h5 resumed.h5
run list_job
mv resumed.h5 set.h5.tmp
mv set.h5 other.h5
mv set.h5.tmp set.h5
same other.h5 'is packed with all its first rows, and those added at its end'
rm -f set.h5 other.h5 resumed.h5
table p >list.csv
faulty open SIGINT 200 200 all/ h5pack --list list.csv --size 24x24 --chunk 1 \
    --threads 2 -o set.h5
sed -i '20s/,c[0-9]/,c9/' list.csv
run list_job --resume
[ $status -eq 2 ] && grep -q 'another label' "$work/err" && ! grep -q -e '--resume' "$work/err"
ok $? 'a list with another label for an image is refused'

# ------------------------------------------------------------- dying servers

# dies HOW N: a run to which the server answers HOW from the n-th open of an image on.
dies() {
    rm -f set.h5* rejects.tsv
    faulty open "$1" "$2" all photos/ h5pack photos --size 24x24 --chunk 1 --threads 2 \
        --rejects rejects.tsv -o set.h5
}

# has_ended WORDS SENTENCE: the run did, with these words, and no image became a reject.
has_ended() {
    [ "$status" -eq 2 ] && [ ! -e set.h5 ] && is_one_sentence "$work/err" &&
        grep -q "$1" "$work/err" && [ ! -e rejects.tsv ]
    ended=$?
    ok $ended "$2"
    [ $ended -eq 0 ] || note <"$work/err"
}

# goes_on: the same run when the server is back.
goes_on() {
    run pack -o set.h5 --resume
    is_status 0 'it is resumed when the server is back'
    same reference.h5 'the file is the same'
}

fresh
for how in EHOSTDOWN ECONNABORTED ESTALE; do
    dies $how 160
    has_ended "'photos/.*: .*--resume goes on" "a server that answers $how ends the run at once"
    goes_on
done
for how in ENOENT EACCES EIO; do
    dies $how 160
    has_ended '100 images in a row cannot be read.*--resume goes on' \
        "one that answers $how to everything ends it, without rejects"
    goes_on
done

rm -f set.h5*
faulty read EIO 90 90 photos/ h5pack photos --size 24x24 --chunk 1 --threads 2 -o set.h5
is_status 0 'an error that does not come again is none'
same reference.h5 'the file is the same'
rm -f set.h5*
faulty read EIO 1 all "$(image 90)" h5pack photos --size 24x24 --chunk 1 --threads 2 \
    --rejects rejects.tsv -o set.h5
is_status 1 'an image that cannot be read, twice, is a reject'
with_links "$(image 90)"
same other.h5 'the file is that of a run without it'

# The last ones: a server that dies near the end, or files that are gone.
dies ENOENT 450
has_ended '' 'a server that dies near the end is not taken for the end'
goes_on

# 99 in a row are rejects, whatever the threads.
fresh
# shellcheck disable=SC2046 # names without blanks
rm $(sed -n '60,158s,^all/,photos/,p' names)
for gone in $(sed -n '60,158s,^all/,photos/,p' names); do ln -s nowhere "$gone"; done
for threads in 1 2 7; do
    run pack -o "t$threads.h5" --threads $threads --force
    [ $status -eq 1 ] && [ "$(wc -l <rejects.tsv)" -eq 100 ]
    ok $? "ninety-nine in a row are rejects, $threads threads"
done
cmp t1.h5 t2.h5 && cmp t1.h5 t7.h5
ok $? 'the file is the same'
gone=$(image 159)
rm "$gone" && ln -s nowhere "$gone"
for threads in 1 7; do
    run pack -o set.h5 --threads $threads --force
    [ $status -eq 2 ] && grep -q "100 images in a row.*'$gone'.*(5[0-9] of 260 images are done" "$work/err"
    ended=$?
    ok $ended "a hundred are not, $threads threads"
    [ $ended -eq 0 ] || note <"$work/err"
done
run h5pack photos --dry-run -o none.h5
[ $status -eq 2 ] && grep -q '100 images in a row' "$work/err"
ok $? 'nor are they in a forecast'
fresh
{ sed -n '1,20s,^all/,photos/,p' names; echo photos/gone1.jpg; echo photos/gone2.jpg; } >ends.txt
run h5pack --list ends.txt --dry-run --rejects rejects.tsv -o none.h5 --size 24x24
[ $status -eq 1 ] && [ "$(grep -c "photos/gone[12].jpg': cannot be opened" "$work/err")" -eq 2 ] &&
    [ "$(cut -f 1 rejects.tsv)" = "$(printf 'path\nphotos/gone1.jpg\nphotos/gone2.jpg')" ]
ok $? 'the last ones of a list that are not there are told in a forecast'

# More than that were deleted on purpose.
fresh
stopped 120
deleted=$(sed -n '130,250s,^all/,photos/,p' names)
# shellcheck disable=SC2086 # names without blanks
rm $deleted
run pack -o set.h5 --resume
[ $status -eq 2 ] && grep -q "100 images in a row .*; all fail alike, as when a disk or a \
server is gone; where they were deleted, --gone-are-rejects goes on without them (12[0-9] of 260 images are done; \
--resume" "$work/err"
ended=$?
ok $ended 'a folder that was deleted ends the run, and what goes on without it is said'
[ $ended -eq 0 ] || note <"$work/err"
run pack -o set.h5 --resume --gone-are-rejects
is_status 1 'which it does'
[ "$(wc -l <rejects.tsv)" -eq 122 ]
ok $? 'its images are rejects'
# shellcheck disable=SC2086
with_links $deleted
same other.h5 'the file is that of a run that they were rejects of'
fresh
faulty open EACCES 60 all photos/ h5pack photos --size 24x24 --chunk 1 --threads 2 --gone-are-rejects -o set.h5
[ $status -eq 2 ] && grep -q '100 images in a row' "$work/err" && ! grep -q 'gone-are' "$work/err"
ok $? 'those that are there and cannot be read still end it'
done_testing
