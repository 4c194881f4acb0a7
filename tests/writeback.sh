#!/bin/sh
# A disk that fails while the system brings to it what was written (sync_file_range): that
# ends the run, as a failing sync does, and nothing of it is lost on the way to the end. The
# file is large enough that stretches of it are waited for.
. "$top_srcdir/tests/tap.sh"
need h5pack cmp
need_shim fault
cd "$work" || exit 1
render_samples photos 60 3 48 || exit 1

pack() {
    h5pack photos --size 512 --chunk 1 --threads 2 --json -o set.h5 "$@"
}

# faulty CALL HOW N LAST COMMAND...: leaves $status, and what was hit in `report`.
faulty() {
    rm -f report
    (
        FAULT_CALL=$1 FAULT_HOW=$2 FAULT_N=$3 FAULT_LAST=$4 FAULT_PATH=set.h5.part
        FAULT_REPORT=$PWD/report LD_PRELOAD=$shim
        export FAULT_CALL FAULT_HOW FAULT_N FAULT_LAST FAULT_PATH FAULT_REPORT LD_PRELOAD
        shift 4
        "$@"
    ) >out 2>err </dev/null
    status=$?
}

number() {
    sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" out | head -n 1
}

faulty writeback EIO 0 0 pack
total=$(sed -n 's/^calls //p' report)
mv set.h5 reference.h5
if [ "$total" -eq 0 ]; then
    skip 'this system has no sync_file_range()'
    done_testing
fi
[ "$status" -eq 0 ] && [ "$total" -gt 11 ]
ok $? "what is written is brought to the disk meanwhile, $total times"

for how in EIO ENOSPC; do
    said='Input/output error'
    [ $how = EIO ] || said='No space left on device'
    for n in 1 5 $((total - 1)) "$total"; do
        rm -f set.h5*
        faulty writeback $how "$n" "$n" pack
        [ "$status" -eq 2 ] && grep -q '^hit' report && is_one_sentence err &&
            grep -q "cannot write 'set.h5.part': $said.*--resume goes on" err && [ ! -e set.h5 ]
        good=$?
        ok $good "$how at the $n. time ends the run in a sentence"
        [ $good -eq 0 ] || note <err
        pack --resume >out 2>err
        [ $? -eq 0 ] && [ "$(number resumed)" -gt 0 ] && cmp -s set.h5 reference.h5
        ok $? "--resume goes on with $(number resumed) images, to the same file"
    done
done

# What could not be written may be in memory still, where it looks well; no sync tells twice.
for how in lost EIO; do
    rm -f set.h5*
    faulty writeback EIO 5 5 pack
    faulty evict $how 1 1 pack --resume
    [ "$status" -eq 0 ] && grep -q '^hit evict' report && cmp -s set.h5 reference.h5
    good=$?
    what='a page that was not on the disk is found'
    [ $how = lost ] || what='where the system forgets nothing it is gone on all the same'
    ok $good "$what: $(number resumed) images are taken over"
    [ $good -eq 0 ] || note <err
done
rm -f set.h5*
faulty writeback EIO 5 5 pack
faulty sync EIO 1 1 pack --resume
[ "$status" -eq 2 ] && grep -q "cannot sync 'set.h5.part': Input/output error.*--resume goes on" err
ok $? 'nor is anything taken over before it is on the disk'

for how in EINVAL EINTR; do
    rm -f set.h5*
    faulty writeback $how 3 all pack
    [ "$status" -eq 0 ] && grep -q '^hit' report && cmp -s set.h5 reference.h5
    ok $? "$how says nothing of the disk"
done
done_testing
