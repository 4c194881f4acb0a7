#!/bin/sh
# Runs of which no image can be read, or no further one: fewer than those hundred in a row
# that end a run. What is said names the first, why, and what it looks like.
. "$top_srcdir/tests/tap.sh"
need h5pack
need_shim fault
cd "$work" || exit 1
render_samples photos 30 3 48 || exit 1
ls -d photos/*/* >names
first=$(head -n 1 names)
last=$(tail -n 1 names)
gone='all fail alike, as when a disk or a server is gone'

# faulty CALL HOW N PATH COMMAND...: fails from the N-th time on.
faulty() {
    (
        FAULT_CALL=$1 FAULT_HOW=$2 FAULT_N=$3 FAULT_LAST=all FAULT_PATH=$4 LD_PRELOAD=$shim
        export FAULT_CALL FAULT_HOW FAULT_N FAULT_LAST FAULT_PATH LD_PRELOAD
        shift 4
        exec "$@"
    ) >out 2>err </dev/null
    status=$?
}

# says SENTENCE WORDS: status 2, no file, and one sentence with these words.
says() {
    [ $status -eq 2 ] && is_one_sentence err && grep -qF -- "$2" err && [ ! -e set.h5 ] && [ ! -e set.h5.part ]
    good=$?
    ok $good "$1"
    [ $good -eq 0 ] || {
        note "status $status, without: $2"
        note <err
    }
}

set -- h5pack --quiet --list names --size 24 -o set.h5
for call in open read; do
    [ $call = open ] && what='cannot be opened' || what='cannot be read'
    for how in EIO:Input/output\ error ENOENT:No\ such\ file\ or\ directory EACCES:Permission\ denied; do
        [ $call = open ] || [ "${how%%:*}" = EIO ] || continue
        faulty $call "${how%%:*}" 1 photos/ "$@"
        says "no image can be read, $call says ${how%%:*}" \
            "no readable image: 30 files were rejected, first '$first': $what: ${how#*:}; $gone"
    done
done
faulty open EIO 1 photos/ h5pack --quiet --list names -o set.h5
says 'nor their headers' \
    "no readable image: 30 files were rejected, first '$first': cannot be opened: Input/output error; $gone"
faulty open EIO 1 photos/ "$@" --on-error blank
says 'black stands in for some, not for all' \
    "30 images in a row cannot be read, from '$first', which cannot be opened: Input/output error, to '$last'; $gone"
faulty open EIO 1 photos/ "$@" --on-error fail
says 'with --on-error fail the first ends it' "'$first': cannot be opened: Input/output error"

# A disk that dies near the end, behind an image that was read.
faulty open EIO 40 photos/ h5pack --list names --size 24 --chunk 1 --threads 1 -o set.h5
[ $status -eq 2 ] && [ ! -e set.h5 ] && [ "$(wc -l <err)" -eq 2 ] &&
    grep -q "images in a row cannot be read, from 'photos/.*', which cannot be opened: Input/output error, to '$last'; none of those before can be read again; $gone (.*--resume goes on" err
good=$?
ok $good 'a disk that dies near the end is recognised'
[ $good -eq 0 ] || note <err
rm -f set.h5*

# --verify of a file whose images cannot be read any more.
rm -f set.h5*
h5pack --quiet --list names --size 24 -o set.h5 || exit 1

# verifies STATUS SENTENCE WORDS: what it ended with, and said last.
verifies() {
    [ $status -eq "$1" ] && tail -n 1 err | grep -qF -- "$3"
    good=$?
    ok $good "$2"
    [ $good -eq 0 ] || {
        note "status $status, without: $3"
        note <err
    }
}

middle=$(sed -n 15p names)
# verify CALL HOW N PATH
verify() {
    faulty "$@" h5pack --quiet --list names --verify --threads 1 -o set.h5
}
verify open EIO 28 photos/
verifies 2 '--verify tells the error of a disk that dies near the end, no mismatch' \
    "which cannot be opened: Input/output error, to '$last'; none of those before can be read again; $gone"
verify read EIO 1 "$last"
verifies 2 'of the last image alone' "'$last': cannot be read: Input/output error (row 29 of 'set.h5' has it)"
verify open EIO 1 "$middle"
verifies 2 'and of one in the middle' \
    "'$middle': cannot be opened: Input/output error (row 14 of 'set.h5' has it)"
verify open ENOENT 1 "$middle"
verifies 1 'one that is gone is a difference' \
    "'$middle': cannot be opened: No such file or directory (row 14 of 'set.h5' has it)"
verify open ENOENT 1 "$last"
verifies 1 'at the end, too' \
    "'$last': cannot be opened: No such file or directory (row 29 of 'set.h5' has it)"
rm -f report
FAULT_REPORT=$PWD/report verify read EIO 0 set.h5
n_reads=$(sed -n 's/^calls //p' report | tail -n 1)
verify read EIO $((n_reads - 1)) set.h5
verifies 2 'and --verify tells the error of the disk that the file is on' 'Input/output error'
rm set.h5

# Damaged images are nobody else's fault.
for name in $(cat names); do echo damaged >"$name"; done
run "$@"
says 'images that are all damaged are named, and no disk is suspected' \
    "no readable image: 30 files were rejected, first '$first': not a"
! grep -q alike err
ok $? 'which is not said'
rm "$(sed -n 2p names)"
run "$@"
says 'likewise where one is missing' "30 files were rejected, first '$first': not a"
head -n 1 names >one
run h5pack --quiet --list one --size 24 -o set.h5
says 'a single one is named' "no readable image: 1 file was rejected, '$first': not a"

done_testing
