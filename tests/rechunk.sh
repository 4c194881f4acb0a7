#!/bin/sh
# h5rechunk: refusals in words before any work, and with h5py what comes out; see the program in
# Python. Faults and interruptions: rechunk_resume.sh.
. "$top_srcdir/tests/tap.sh"
need h5rechunk render_samples h5pack
: "${top_builddir:?}" "${work:?}" "${status=0}"
if [ "${SANITIZERS:-no}" = no ]; then # others cannot load a plugin with sanitizers in it
    HDF5_PLUGIN_PATH=$top_builddir/.libs # zstd, for h5py and h5diff
    export HDF5_PLUGIN_PATH
fi

cd "$work" || exit 1
render_samples photos 40 1 64 && h5pack -q photos --size 48x40 --chunk 7 --compress gzip:1 -o in.h5 || exit 1

# refused OPTIONS... PATTERN SENTENCE: status 2, one sentence that matches, no file.
refused() {
    sentence=$1
    pattern=$2
    shift 2
    run h5rechunk "$@"
    [ $status -eq 2 ] && is_one_sentence err && grep -q "$pattern" err && [ ! -e out.h5 ] && [ ! -e out.h5.part ] &&
        [ ! -e out.h5.part.journal ]
    result=$?
    ok $result "$sentence"
    [ $result -eq 0 ] || note "$(cat err)"
}
refused 'without a file' 'give one FILE' -o out.h5 -c 1
refused 'without an output' 'give an output' in.h5 -c 1
refused 'with nothing to change' 'neither other chunks' in.h5 -o out.h5
refused 'a file that is not there' "cannot open 'no.h5'" no.h5 -o out.h5 -c 1
echo text >text.h5
refused 'a file of another kind' 'not an HDF5 file' text.h5 -o out.h5 -c 1
refused 'a dataset that is not there' 'there is no dataset' in.h5 --dataset nothing -o out.h5 -c 1
refused 'the root group' "'/' is a group, not a dataset" in.h5 --dataset // -o out.h5 -c 1
refused 'two names for the dataset' 'and so does --dataset' in.h5:/images --dataset images -o out.h5 -c 1
refused 'chunks of another rank' '4 dimensions, the chunk 3x3 has 2$' in.h5 -o out.h5 -c 3x3
refused 'chunks that are none' "^h5rechunk: --chunk: '0'" in.h5 -o out.h5 -c 0
refused 'chunks of its own that are none' "^h5rechunk: 'images=': chunk: '0' is not" in.h5 --dataset images=0 -o out.h5
refused 'filters of its own that are none' "compress: .*nozip" in.h5 --dataset images=1,nozip -o out.h5
refused 'filters that are none' '^h5rechunk: --compress: .*nozip' in.h5 -o out.h5 --compress nozip
refused 'no memory at all' 'which needs [0-9]*K; --memory' in.h5 -o out.h5 -c 1 --memory 64K
refused 'data without chunks, and none asked for' 'has no chunks.*--chunk' in.h5 --dataset labels -o out.h5 --compress gzip
refused 'a dataset of which nothing is asked' "asked for, of 'labels'" in.h5 --dataset images=1 --dataset labels -o out.h5
refused 'filters without chunks' 'is to have no chunks, and filters need some' in.h5 -o out.h5 -c none --compress gzip
refused 'a checksum without chunks' 'and filters such as fletcher32 need some' in.h5 -o out.h5 -c none --fletcher32
refused 'filters of its own without chunks' "'images' is to have no chunks" in.h5 --dataset images=none,zstd -o out.h5
refused 'filters of all, and no chunks of its own' "'images' is to have no chunks" in.h5 --dataset images=none -o out.h5 \
    --compress gzip
refused 'a checksum for data without chunks' "'labels' has no chunks, and filters such as fletcher32 need some; --chunk" \
    in.h5 --dataset labels -o out.h5 --fletcher32
refused 'nothing behind =' 'behind = there are a chunk' in.h5 --dataset images= -o out.h5
refused 'nothing behind the comma' 'behind = there are a chunk' in.h5 --dataset images=1, -o out.h5
least=$(sed -n 's/.*which needs \([0-9]*K\).*/\1/p' err)
h5rechunk in.h5 -c 1 --memory 64K --dry-run 2>err
least=$(sed -n 's/.*which needs \([0-9]*K\).*/\1/p' err)
run h5rechunk in.h5 -o least.h5 -c 1 --memory "$least"
ok $status 'what is said to be needed is enough'

cp in.h5 before.h5
ln -s in.h5 link.h5
ln in.h5 hard.h5
for name in in.h5 ./in.h5 link.h5 hard.h5; do
    run h5rechunk in.h5 -o $name -c 1 -f
    [ $status -eq 2 ] && is_one_sentence err && cmp -s in.h5 before.h5
    ok $? "not in place: $name"
done
rm link.h5 hard.h5
echo old >out.h5
run h5rechunk in.h5 -o out.h5 -c 1
[ $status -eq 2 ] && is_one_sentence err && grep -q -e '--force replaces it' err && [ "$(cat out.h5)" = old ]
ok $? 'an existing file stays without --force'
run h5rechunk in.h5 -o out.h5 -c 1 -f
[ $status -eq 0 ] && [ ! -e out.h5.part ] && [ ! -e out.h5.part.journal ] && cmp -s in.h5 before.h5
ok $? 'and is replaced with it'
grep -q '^out.h5: ' out && grep -q 'chunks   7x48x40x3 -> 1x48x40x3' out && grep -q '40 chunks written once' out
ok $? 'the report says what was done'
cp out.h5 once.h5
h5rechunk -q in.h5 -o out.h5 -c 1 -f -j 3 && cmp -s out.h5 once.h5
ok $? 'the same bytes again, with other threads'
rm out.h5

# Little memory for many chunks at once: how often a part is read follows from it alone.
h5pack -q photos --size 160x128 --chunk 1 -o many.h5
for memory in 1100K 1400K 2200K; do
    for threads in 1 2 3; do
        h5rechunk many.h5 -c 40x16x16x3 --compress none --memory $memory -j $threads -o many$threads.h5 -f --json >json$threads
        grep '"loads"' json$threads >loads$threads
    done
    cmp many1.h5 many2.h5 && cmp many1.h5 many3.h5 && cmp loads1 loads2 && cmp loads1 loads3 && ! grep -qw 40 loads1
done >other 2>&1
[ ! -s other ] && grep -q 'loads' loads1 && ! grep -qw 40 loads1
ok $? 'the same bytes by the same plan with little memory, whatever the threads'
note <other
rm -f many*.h5

run h5rechunk in.h5 -c 1 --dry-run
[ $status -eq 0 ] && grep -q 'plan  ' out && [ ! -e out.h5 ]
ok $? '--dry-run writes nothing'
run h5rechunk in.h5 -c 1 --dry-run --json
[ $status -eq 0 ] && "$PYTHON" -c 'import json; r = json.load(open("out")); assert r["schema"] == "rechunk/1" and not r["result"]["written"]'
ok $? '--json is one object'

# Round trips: there and back are the bytes of the first copy.
h5rechunk -q in.h5 -o a.h5 -c 5 --compress none && h5rechunk -q a.h5 -o b.h5 -c 3x17x9x2 --compress gzip:2 &&
    h5rechunk -q b.h5 -o c.h5 -c 5 --compress none && cmp -s a.h5 c.h5
ok $? 'there and back: the same bytes'

# Without chunks, and back; filters go, and so does room to grow.
run h5rechunk in.h5 -o plain.h5 -c none --verify
[ $status -eq 0 ] && grep -q '^  chunks   7x48x40x3 -> none: contiguous$' out && grep -q '^  filters  gzip:1 -> none, as they need' out &&
    grep -q '^  extent   can grow no more' out && grep -q '6 parts read once, 1 piece written once' out
ok $? 'without chunks: the report says what goes with them'
run h5rechunk plain.h5 -o again.h5 -c none --json
[ $status -eq 0 ] && cmp -s plain.h5 again.h5 && "$PYTHON" -c 'import json
target = json.load(open("out"))["result"]["datasets"][0]
assert target["target"] == {"chunk": None, "filters": "none"} and not target["fixed"]'
ok $? 'what has none already is the same again'
h5rechunk -q plain.h5 -o b.h5 -c 5 --compress none -f && h5rechunk -q b.h5 -o c.h5 --dataset images=none -f && cmp -s plain.h5 c.h5
ok $? 'chunks of its own that are none'
rm c.h5
h5rechunk -q plain.h5 -o c.h5 --shuffle && h5rechunk -q in.h5 -o d.h5 --shuffle --dataset images=none,none && cmp -s c.h5 d.h5
ok $? 'what has no chunks stays without where none are asked for'
cp plain.h5 one.h5 && : >alike
for memory in 1100K 2200K 64M; do
    for threads in 1 3; do
        h5rechunk -q in.h5 -c none -o again.h5 -f -j $threads --memory $memory && cmp again.h5 one.h5
    done
done >alike 2>&1
[ ! -s alike ]
ok $? 'the same bytes whatever the memory and the threads'
note <alike
h5rechunk -q plain.h5 --split 3 -o set.h5 && h5rechunk -q --join set.h5 -o joined.h5 &&
    h5rechunk --json --dry-run set-00001-of-00003.h5 --dataset images --shuffle >out && grep -q '"chunk": null' out &&
    h5rechunk -q joined.h5 -o again.h5 -c 5 -f && h5rechunk -q plain.h5 -o b.h5 -c 5 -f && cmp -s again.h5 b.h5
ok $? 'shards of it have none either'
if command -v h5dump >/dev/null 2>&1; then
    h5dump -p -H -d /images plain.h5 >out
    grep -q 'CONTIGUOUS' out && grep -q '( 40, 48, 40, 3 ) / ( 40, 48, 40, 3 )' out && grep -q 'NONE' out &&
        h5dump -p -H -d /images set-00001-of-00003.h5 | grep -q CONTIGUOUS
    ok $? 'HDF5 finds it contiguous'
else
    skip 'no h5dump'
fi
rm -f plain.h5 one.h5 again.h5 set*.h5 joined.h5

# Damage: the middle of the stored images.
cp in.h5 bad.h5
size=$(wc -c <bad.h5)
head -c 3000 /dev/zero | dd of=bad.h5 bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
for threads in 1 4; do
    refused "a damaged chunk, $threads threads" "bad.h5:/images', chunk (" bad.h5 -o out.h5 -c 1 -j $threads
done
head -c $((size / 2)) in.h5 >cut.h5
refused 'a file that was cut' 'cut.h5' cut.h5 -o out.h5 -c 1

if "$PYTHON" -c 'import numpy, h5py' 2>/dev/null && command -v h5diff >/dev/null 2>&1; then
    shared=${H5PACK_SHARED:-$top_srcdir/../shared}/data/h5
    mkdir python
    run_python rechunk.py "$work/python" "$shared"
else
    skip 'no Python with NumPy and h5py, or no h5diff'
fi
done_testing
