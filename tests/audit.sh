#!/bin/sh
# h5audit: files of h5pack are clean, refusals, folders, hostile files; rule by rule: audit.py.
. "$top_srcdir/tests/tap.sh"
need h5audit h5pack h5rechunk h5advise render_samples
: "${top_builddir:?}" "${work:?}" "${status=0}"
if [ "${SANITIZERS:-no}" = no ]; then # others cannot load a plugin with sanitizers in it
    HDF5_PLUGIN_PATH=$top_builddir/.libs # zstd, for h5py
    export HDF5_PLUGIN_PATH
fi
cd "$work" || exit 1
render_samples photos 60 1 256 || exit 1

for options in '' '--chunk 1' '--compress zstd' '--chunk 1 --compress zstd:1' '--layout nchw' '--gray' \
    '--libver earliest' '--libver latest' '--shuffle --seed 3' '--fletcher32' '--no-labels' \
    '--layout nchw --compress zstd --fletcher32'; do
    # shellcheck disable=SC2086 # several words
    h5pack -q photos --size 224x224 $options -o pack.h5 -f >/dev/null
    run h5audit pack.h5
    grep -q 'nothing found' out && [ $status -eq 0 ] && [ ! -s err ]
    ok $? "what h5pack writes is clean: ${options:-as it comes}"
    grep H5A out | note
done
h5pack -q photos --size 80x80 -o small.h5 >/dev/null # several to a chunk
run h5audit small.h5
grep -q 'nothing found' out && [ $status -eq 0 ] && grep -q 'read as asked' out
ok $? 'small images are, too'
mkdir -p tree/below tree/.hidden && cp pack.h5 tree/below/a.h5 && cp pack.h5 tree/b.HDF5 && cp pack.h5 tree/c.txt &&
    cp pack.h5 tree/.hidden/d.h5 && ln -s . tree/around
run h5audit --recursive tree
[ $status -eq 0 ] && [ "$(grep -c 'nothing found' out)" -eq 2 ] && grep -q '^tree/b.HDF5' out &&
    grep -q '^tree/below/a.h5' out
ok $? 'a folder stands for its HDF5 files'
mkdir empty
run h5audit --recursive empty
[ $status -eq 2 ] && is_one_sentence err && grep -q "no HDF5 files in 'empty'" err
ok $? 'a folder without any is refused'
run h5audit --recursive empty tree
[ $status -eq 2 ] && is_one_sentence err && grep -q "no HDF5 files in 'empty'" err && [ "$(grep -c 'nothing found' out)" -eq 2 ]
ok $? 'and does not keep others from being looked at'
run h5audit --recursive --sarif empty tree
[ $status -eq 2 ] && grep -q '"executionSuccessful": false' out && grep -q "no HDF5 files in 'empty'" out
ok $? 'of which SARIF tells'
run h5audit --recursive --json empty tree
[ $status -eq 2 ] && grep -A1 '"unlisted": \[' out | grep -q "no HDF5 files in 'empty'"
ok $? 'and JSON'
run h5audit --recursive --sarif empty
[ $status -eq 2 ] && grep -q '"executionSuccessful": false' out
ok $? 'also where there is nothing else'

refused() { # sentence pattern options
    sentence=$1
    pattern=$2
    shift 2
    run h5audit "$@"
    [ $status -eq 2 ] && is_one_sentence err && grep -q -- "$pattern" err && [ ! -s out ]
    result=$?
    ok $result "$sentence"
    [ $result -eq 0 ] || cat out err | note
}
refused 'a folder by itself is no file' "^h5audit: cannot open 'tree': it is a folder" tree
refused 'nor to be verified' "^h5audit: cannot open 'tree': it is a folder" --verify tree
refused 'no name' "^h5audit: cannot open '': No such file" ''
refused 'a file that is not there' "^h5audit: cannot open 'no.h5': No such file" no.h5
refused 'a dataset that is not' "^h5audit: 'pack.h5': there is no dataset 'no'" pack.h5:/no
refused 'nor to be verified' "^h5audit: 'pack.h5': there is no dataset 'no'" --verify pack.h5:/no
refused 'nor as JSON' "^h5audit: 'pack.h5': there is no dataset 'no'" --verify --json pack.h5:/no
refused 'a group' "^h5audit: 'pack.h5': '/' is a group, not a dataset" pack.h5:/
refused 'nor to be verified' "^h5audit: 'pack.h5': '/' is a group, not a dataset" --verify pack.h5:/
run h5audit no.h5 pack.h5
[ $status -eq 2 ] && is_one_sentence err && grep -q '^no.h5: could not be looked at$' out && grep -q '^pack.h5: nothing found' out
ok $? 'one of two that is not there is told of, and keeps its line'
refused 'nothing to look at' 'give a FILE'
refused 'a rule that is none' "no rule is called 'H5A999'" --rule H5A999 pack.h5
refused 'an order that is none' "^h5audit: --pattern: 'x' is not a pattern" --pattern x pack.h5
refused 'no memory at all' '^h5audit: --memory: 0 bytes' --memory 0 pack.h5
refused 'a storage that is none' "no storage is called 'x'" --storage x pack.h5
refused 'a version that is none' 'hdf5-version' --hdf5-version x pack.h5
refused 'a rank beyond the world' 'rank' --rank 3/2 pack.h5
refused 'one to be ignored' "no rule is called 'x'" --ignore x pack.h5
refused 'a threshold without a number' "^h5audit: --threshold: .* H5A102=1.1" --threshold 102 pack.h5
refused 'one of no rule' "no rule is called 'x'" --threshold x=1 pack.h5
refused 'one of a rule that has none' 'H5A501 truncated has no threshold' --threshold 501=1 pack.h5
refused 'one that it does not have' "has no threshold 'x': factor, bytes" --threshold 105.x=1 pack.h5
refused 'one that is no number' "'1x' is no number" --threshold 105=1x pack.h5
refused 'bytes of what counts none' "'1K' is no number" --threshold 105=1K pack.h5
refused 'less than nothing' "'-1' is no number" --threshold 105=-1 pack.h5
refused 'no number at all' "'nan' is no number" --threshold 105=nan pack.h5
refused 'a threshold for what asks no rule' 'verify' --threshold 105=1 --verify pack.h5
for option in --rdcc-w0=1 --ignore=102 --rule=102 --fail-on=note --rank=0/2 --seed=1 --reopen --cpus=2 --html=x.html; do
    refused "$option with --verify" "verify does not go with ${option%%=*}" --verify "$option" pack.h5
    refused "$option with --salvage" "salvage does not go with ${option%%=*}" --salvage new.h5 "$option" pack.h5
done
refused 'a rule of samples that are not read' "^h5audit: --rule: H5A602 .*--sample or --deep" --rule 602 pack.h5
refused 'nor to be mended' "^h5audit: --fix-rule: H5A605 " --fix new.h5 --fix-rule 605 pack.h5
refused 'one to be explained' "no rule is called ''" --explain ''
refused 'a file that would not be read' 'explain' --explain 102 pack.h5
refused 'two formats at once' 'json' --json --sarif pack.h5
refused 'two answers at once' 'list-rules' --list-rules --explain 102

h5pack -q photos --size 224x224 --compress gzip:1 -o slow.h5 >/dev/null
cp pack.h5 there.h5
refused 'two files to be mended' 'one FILE at a time' --fix new.h5 pack.h5 slow.h5
refused 'a file to be mended in place' 'not rewritten in place' --fix slow.h5 slow.h5
refused 'and by force' 'not rewritten in place' --fix slow.h5 -f slow.h5
refused 'one that is there' "'there.h5' exists.*--force replaces it" --fix there.h5 slow.h5
refused 'a map in place of a file' 'there.h5' --map there.h5 there.h5
refused 'and by force' 'there.h5' --map there.h5 -f there.h5
refused 'a map of two' 'one FILE at a time' --map map.svg pack.h5 slow.h5
refused 'a map and no audit' 'verify' --map map.svg --verify pack.h5
run h5audit --map map.svg pack.h5
[ $status -eq 0 ] && grep -q '/images' map.svg && grep -q 'nothing found' out
ok $? 'a map beside the audit'
refused 'a map that is there' "'map.svg' exists; --force replaces it" --map map.svg pack.h5
refused 'mending where only data is read' 'verify' --fix new.h5 --verify slow.h5
refused 'a folder to be mended' 'recursive' --fix new.h5 --recursive tree
refused 'some and all' 'deep' --sample 3 --deep pack.h5
refused 'no samples' 'sample' --sample 0 pack.h5
refused 'samples and no rules' 'verify' --deep --verify pack.h5
refused 'a rule to be mended that is none' "no rule is called 'x'" --fix new.h5 --fix-rule x slow.h5
refused 'a rule to be mended by nothing' 'goes with --fix' --fix-rule 405 slow.h5
refused 'force for nothing' 'goes with --fix' --force pack.h5
cmp -s pack.h5 there.h5
ok $? 'what was there is as it was'
refused 'a file to be mended that is not there' "cannot open 'no.h5'" --fix new.h5 no.h5
run h5audit --fix there.h5 -f slow.h5
[ $status -eq 0 ] && grep -q '^fixed: there.h5, ' out && grep -q 'H5A.* /images: gone' out &&
    grep -q '^there.h5: nothing found' out && ! ls there.h5.part* 2>/dev/null
ok $? 'a file is mended'
grep H5A out | note
if [ "${SANITIZERS:-no}" = no ] && command -v h5diff >/dev/null; then # with the plugin
    HDF5_PLUGIN_PATH=$top_builddir/.libs h5diff slow.h5 there.h5
    ok $? 'h5diff finds nothing else'
else
    skip 'no h5diff'
fi
if [ "$(id -u)" -ne 0 ] || [ -w /dev/full ]; then
    run h5audit --fix nowhere/new.h5 slow.h5
    [ $status -eq 2 ] && is_one_sentence err && grep -q 'nowhere' err
    ok $? 'a folder that is not there'
fi

h5pack -q photos --size 64x64 --chunk 4 --compress zstd+fletcher32 -o whole.h5 >/dev/null
run h5audit --verify whole.h5 pack.h5
[ $status -eq 0 ] && [ ! -s err ]
ok $? 'two files that are whole'
note <out
run h5audit --verify --json whole.h5:/images
[ $status -eq 0 ] && grep -q '"schema": "verify/1"' out && ! grep -q '"labels"' out
ok $? 'one dataset, as JSON'
refused 'JSON of two' 'one FILE at a time' --verify --json whole.h5 pack.h5
refused 'a file to verify that is not there' "cannot open 'no.h5'" --verify no.h5
cp whole.h5 broken.h5
offset=$(($(wc -c <broken.h5) * 2 / 3))
printf 'XXXX' | dd of=broken.h5 bs=1 seek="$offset" conv=notrunc 2>/dev/null
run h5audit --verify -j 2 broken.h5
[ $status -eq 1 ] && grep -q 'images' out
ok $? 'four bytes that were changed'
note <out
run h5audit --verify broken.h5 no.h5 whole.h5
[ $status -eq 2 ] && is_one_sentence err && grep -q 'images' out
ok $? 'a file that is not there does not keep others from it'
run h5audit --explain chunk-overhang
[ $status -eq 0 ] && grep -q '^H5A102 chunk-overhang (cost): ' out && grep -q '(100,3,217,178)' out
ok $? 'a rule is explained with an example'

if [ -d "$H5PACK_SHARED/data/h5" ]; then
    run h5audit -q "$H5PACK_SHARED"/data/h5/*
    n=$(find "$H5PACK_SHARED"/data/h5 -type f | wc -l)
    [ $status -eq 1 ] && [ "$(grep -c '^/.*: ' out)" -eq "$n" ]
    ok $? "$n strange files, each with its verdict"
    crashed=0
    for name in cve-2018-13871.h5 cve-2018-15671.h5 gh-4432-poc-05.h5 gh-4434-poc-09.h5; do
        ${AWK} -v name="/$name: " '/^[^ ]/ { is_it = index($0, name) } is_it' out | grep -q 'H5A50[345]' || crashed=1
    done
    ok $crashed 'those on which HDF5 crashes or hangs are findings'
else
    skip 'the shared files are not here'
fi

# A hundred files, ten of which end the child that looks, or cannot be opened.
mkdir hundred
crashers="cve-2018-13871.h5 gh-4432-poc-05.h5 gh-4434-poc-09.h5"
for i in 1 2 3 4 5 6 7 8 9 10; do
    set -- $crashers
    shift $((i % 3))
    if [ -f "$H5PACK_SHARED/data/h5/$1" ]; then
        cp "$H5PACK_SHARED/data/h5/$1" "hundred/5$i-bad.h5"
    else
        head -c $((1000 + 100 * i)) pack.h5 >"hundred/5$i-bad.h5"
    fi
done
i=0
while [ $i -lt 90 ]; do
    ln pack.h5 "hundred/$((10 + i))-good.h5"
    i=$((i + 1))
done
run h5audit -q --recursive hundred
bad=$(grep -c '^hundred/.*-bad.h5: [1-9]' out)
good=$(grep -c '^hundred/.*-good.h5: nothing found' out)
[ $status -eq 1 ] && [ "$bad" -eq 10 ] && [ "$good" -eq 90 ]
ok $? 'a hundred files, of which ten are bad: each has its verdict'
grep -v 'nothing found' out | head -20 | note

# Who may not list one folder hears of it, and has the others.
mkdir -p part/open part/shut && cp pack.h5 part/open/a.h5 && chmod 0 part/shut
if [ "$(id -u)" -ne 0 ] || ! ls part/shut >/dev/null 2>&1; then
    run h5audit --recursive part
    [ $status -eq 2 ] && is_one_sentence err && grep -q "cannot list 'part/shut'" err && grep -q '^part/open/a.h5: nothing' out
    ok $? 'a folder that may not be listed does not keep others from it'
elif command -v setpriv >/dev/null && chmod -R go+rX . && chmod 0 part/shut &&
    setpriv --reuid 65534 --regid 65534 --clear-groups h5audit --version >/dev/null 2>&1; then
    run setpriv --reuid 65534 --regid 65534 --clear-groups h5audit --recursive part
    [ $status -eq 2 ] && is_one_sentence err && grep -q "cannot list 'part/shut'" err && grep -q '^part/open/a.h5: nothing' out
    ok $? 'a folder that may not be listed does not keep others from it'
else
    skip 'root may list all folders'
fi
chmod 755 part/shut
run h5audit --json no.h5 pack.h5
[ $status -eq 2 ] && is_one_sentence err && grep -q "^h5audit: cannot open 'no.h5'" err && grep -q '"failure": "cannot' out &&
    grep -q '"workers": null' out
ok $? 'what could not be looked at is told beside the JSON'
head -c 600 pack.h5 >head.h5
run h5audit head.h5
[ $status -eq 1 ] && grep -q 'H5A501' out && grep -q 'copy it again' out && ! grep -q 'salvaged' out
ok $? 'nothing is promised of a file of which only the beginning is there'
ln -s round.h5 round.h5
refused 'a link to itself' 'symbolic links' round.h5
if [ -w /dev/full ]; then
    for mode in '' --verify --json --sarif; do
        # shellcheck disable=SC2086 # maybe no word
        h5audit $mode pack.h5 >/dev/full 2>err
        [ $? -eq 2 ] && is_one_sentence err
        ok $? "an answer that cannot be written: ${mode:-as it comes}"
    done
fi

# A signal that the program alone gets ends it at once, and its child.
if [ "${SANITIZERS:-no}" = no ] && "$PYTHON" -c 'import numpy, h5py' 2>/dev/null; then
    run_python audit_signals.py "$work"
fi

if "$PYTHON" -c 'import numpy, h5py' 2>/dev/null; then
    mkdir python
    run_python audit.py "$work/python"
    mkdir kinds
    run_python audit_kinds.py "$work/kinds"
else
    skip 'no Python with NumPy and h5py'
fi
done_testing
