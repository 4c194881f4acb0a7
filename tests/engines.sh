#!/bin/sh
# h5readbench --engine: libpack's reader gives the samples that stock HDF5 gives, in the same
# order, and what it says of its reads is what it did.
. "$top_srcdir/tests/tap.sh"
export PATH
cd "$work" || exit 1
render_samples photos 40 1 64 >/dev/null || exit 1
h5pack -q photos --size 48x48 --chunk 1 -o one.h5 >/dev/null || exit 1
h5pack -q photos --size 48x48 --chunk 8 -o eight.h5 >/dev/null || exit 1
h5pack -q photos --size 48x48 --chunk 3 --compress shuffle+gzip+fletcher32 -o packed.h5 >/dev/null || exit 1

bench() {
    h5readbench --no-trial --seed 7 "$@" >out 2>err
    status=$?
}
says() { # status pattern file sentence
    [ $status -eq "$1" ] && grep -q -- "$2" "$3"
    said=$?
    ok $said "$4"
    [ $said -eq 0 ] || { echo "status $status"; cat out err; } | note
}
# the n-th number of a key of the report
number() { # key n
    sed -n "s/.*\"$1\": \\([0-9]*\\).*/\\1/p" out | sed -n "$2p"
}

# every sample is compared with HDF5's, in the order that HDF5's engine has
for engine in hdf5 libpack mmap direct; do
    for file in one.h5 eight.h5 packed.h5; do
        bad=
        for order in '' '-p sequential' '-p block:chunks=2' '-p replacement' '--rank 1/3' '--crop 20x30' \
            '--drop-last' '-p buffer:samples=10' '-p block:chunks=2,local'; do
            # shellcheck disable=SC2086
            bench $file --engine $engine --batch 7 --workers 2 --epochs 2 --consumer checksum $order
            [ $status -eq 0 ] || bad="$bad $status '$order'"
        done
        [ -z "$bad" ]
        ok $? "engine $engine, $file: every sample of every order"
        [ -z "$bad" ] || { echo "$bad"; cat err; } | note
    done
done
for engine in libpack pread mmap direct; do
    bench packed.h5 --with labels --engine $engine --batch 7 --workers 2 --epochs 2 --consumer checksum --json
    [ $status -eq 0 ] && [ "$(number wanted_bytes 6)" = $((80 * 8)) ]
    ok $? "engine $engine: labels in step"
done
bench one.h5 --engine libpack --batch 8 --step 1ms --epochs 2
says 0 'consumer busy' out 'an emulated consumer'
bench one.h5 --engine libpack --batch 8 --consumer host --precision fp16 --crop 20x30
says 0 'host: 5 steps' out 'crops normalised on the host'

# what it says of itself
bench packed.h5 --engine libpack --batch 8 --workers 3 --epochs 3 --json
says 0 '"strategy": "pread"' out 'the report names the strategy'
[ "$(number threads 1)" = 3 ] && [ "$(number epoch_samples 1)" = 40 ] && [ "$(number slots 1)" = 14 ]
ok $? 'its threads, its samples, the chunks that it keeps'
loads=$(sed -n 's/.*"loads": \([0-9]*\).*/\1/p' out | head -n 5 | tr '\n' ' ')
case $loads in
'14 0 0 0 0 0 '*) said=0 ;;
'14 0 '*) said=0 ;;
*) said=1 ;;
esac
ok $said 'each chunk is decoded once, in the first epoch'
echo "$loads" | note
bench one.h5 --engine mmap --batch 8 --json
says 0 '"engine": "mmap"' out 'the engine by its name'
bench one.h5 --engine direct --batch 8 --json
says 0 '"strategy": "\(direct\|pread\)"' out 'past the page cache, or as the file system can'
if grep -q '"strategy": "pread"' out; then
    says 0 'does not read past the page cache' out 'which is said'
else
    skip 'this file system reads past the page cache'
fi
bench one.h5 --engine libpack --batch 8 --epochs 2
says 0 "^libpack's reader (pread): " out 'and in words'
cp one.h5 large.h5 && truncate -s 65M large.h5 # nothing lies behind its end
bench large.h5 --engine libpack --batch 8
case $(stat -f -c %T .) in
ext2/ext3 | xfs | btrfs | f2fs | tmpfs | overlay*)
    says 0 "^libpack's reader (mmap): " out 'a large file without filters is mapped' ;;
*) skip 'this file system is none to map files of' ;;
esac
sync large.h5
bench large.h5 --engine pread --batch 8 --cold --epochs 3
if grep -q '^  cold: 0.0 MB' out; then
    bench large.h5 --engine mmap --batch 8 --cold --epochs 3
    says 0 '^  cold: 0.0 MB' out 'of a mapping, too, pages leave the page cache before each epoch'
else
    skip 'pages do not leave the page cache here'
fi
bench large.h5 --engine pread --batch 8
says 0 "^libpack's reader (pread): " out 'unless it is not to be'
cp packed.h5 coded.h5 && truncate -s 65M coded.h5
bench coded.h5 --engine libpack --batch 8
says 0 "^libpack's reader (pread): " out 'nor one with filters'
rm large.h5 coded.h5
bench packed.h5 --engine libpack --batch 8 --memory 1K
says 2 'do not hold what reading' err 'too little memory is refused with what would do'
least=$(sed -n 's/.*(\([0-9]*\) bytes).*/\1/p' err)
bench packed.h5 --engine libpack --batch 8 --memory "$least" --consumer checksum
says 0 'limited by' out 'which does'
bench packed.h5 --engine libpack --batch 8 --memory "$((least - 1))"
says 2 "$least" err 'and a byte less does not'
bench one.h5 --engine libpack --batch 8 --cold --epochs 2 --consumer checksum
says 0 'cold' out 'files leave the page cache before each epoch'
bench one.h5 --engine libpack --batch 8 --cold --epochs 2 --json
[ "$(sed -n 's/.*"samples": \([0-9]*\),.*/\1/p' out | tail -n 2 | tr '\n' ' ')" = '40 40 ' ]
ok $? 'and each has its own order, and its counts'
bench one.h5 --engine libpack --batch 8 --epochs 200 --batches 12 --json
says 0 '"batches": 12,' out 'so many batches'
bench one.h5 --engine libpack --batch 8 --trace trace.json --svg picture.svg
[ $status -eq 0 ] && [ "$(grep -o '"reader"' trace.json | wc -l)" -eq 1 ] && grep -q '<svg' picture.svg
ok $? 'a trace and a picture, in which the reader is one'

# what it says that it reads is what the system sees its threads read, and nothing else
cat >seen.awk <<'EOF'
match($0, /parent_tid=\[[0-9]+/) { is_thread[substr($0, RSTART + 12, RLENGTH - 12)] = 1 }
/pread64/ && / = [0-9]+$/ { n[$1]++; bytes[$1] += $NF } # who is a thread may be told later
END { for (id in n) if (is_thread[id]) { all += n[id]; all_bytes += bytes[id] }; print all + 0, all_bytes + 0 }
EOF
# (a sanitizer cannot look for leaks where it is traced)
if strace -f -o /dev/null true 2>/dev/null; then
    for file in one.h5 eight.h5 packed.h5; do
        for order in '' '-p sequential' '--crop 20x30' '-p replacement --memory 1340K'; do
            # shellcheck disable=SC2086
            ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" \
                strace -f -e trace=pread64,clone,clone3 -o seen h5readbench --no-trial --seed 7 $file \
                --engine libpack --batch 7 --workers 2 --epochs 2 --json $order >out 2>err
            status=$?
            sed -n '/"total": {/,$p' out >total && mv total out
            told="$(number file_reads 1) $(number file_read_bytes 1)"
            seen=$("$AWK" -f seen.awk seen)
            [ $status -eq 0 ] && [ "$told" = "$seen" ] && [ "${told%% *}" -gt 0 ]
            said=$?
            ok $said "reads and bytes as strace sees them: $file $order"
            [ $said -eq 0 ] || { echo "told $told, seen $seen"; cat err; } | note
        done
    done
else
    skip 'strace may not watch here'
fi

# h5advise foretells it: loads and hits of the first epoch, and what of unfiltered chunks is read
foretold() { # key n: likewise of h5advise's report
    sed -n '/"engine": {/,/^    }/p' advice | sed -n "s/.*\"$1\": \\([0-9.e+]*\\).*/\\1/p" | sed -n "$2p"
}
for file in one.h5 eight.h5 packed.h5; do
    for order in '' '-p sequential' '-p block:chunks=2' '-p block:chunks=2,local' '-p replacement --memory 1400K' \
        '--crop 20x30' '--rank 1/3' '-p buffer:samples=10'; do
        # shellcheck disable=SC2086
        bench $file --engine libpack --batch 7 --workers 2 --epochs 3 --json $order
        sed -n '/"epochs": \[/,/"total"/p' out >epochs && mv epochs out
        done="$(number loads 1) $(number hits 1)"
        wanted=$(number file_read_bytes 1)
        # shellcheck disable=SC2086
        h5advise -q --no-measure --json --seed 7 $file --batch 7 --workers 2 --epochs 3 $order >advice 2>err
        [ $? -eq 0 ] && [ "$done" = "$(foretold loads 1) $(foretold hits 1)" ]
        said=$?
        if [ $file = one.h5 ]; then # all samples are as long
            bytes=$(foretold read_bytes_per_sample 1) n=$(foretold samples 1)
            [ "$wanted" = $((bytes * n)) ] || said=1
        fi
        ok $said "h5advise foretells loads and hits: $file $order"
        [ $said -eq 0 ] || { echo "done $done, $wanted; foretold $(foretold loads 1) $(foretold hits 1), $bytes $n"
            cat err; } | note
    done
done
h5advise -q --no-measure packed.h5 --batch 7 --workers 2 -p block:chunks=2 --code h5py >out 2>err
status=$?
says 0 "^READER  libpack's own reader, 2 threads" out 'and says what the reader gains'
command=$(sed -n '/^ *h5readbench .*--engine libpack/,/[^\\]$/p' out)
[ "$(echo "$command" | tr -s ' \\\n' ' ')" = ' h5readbench packed.h5:/images --engine libpack --pattern block:chunks=2 --workers 2 --batch 7 --epochs 30 ' ]
ok $? 'with the command that shows it'
eval "$command"' --no-trial' >out 2>err
status=$?
says 0 "libpack's reader" out 'which does'
if "$PYTHON" -c 'import h5py' 2>/dev/null; then
    "$PYTHON" - <<'END'
import h5py
import numpy as np
with h5py.File('lzf.h5', 'w') as file:
    file.create_dataset('images', data=np.repeat(np.arange(40, dtype='u1'), 2048).reshape(40, 16, 16, 8),
                        chunks=(4, 16, 16, 8), compression='lzf')
    file['a b'] = np.arange(40)
    for axis, label in enumerate('NHWC'):
        file['images'].dims[axis].label = label
END
    h5advise -q --no-measure lzf.h5 --with 'a b' --batch 8 --workers 1 --crop 5x6 >out 2>err
    status=$?
    says 0 '^READER ' out 'so has what HDF5 needs a plugin for, and the reader does not'
    command=$(sed -n '/^ *h5readbench .*--engine libpack/,/[^\\]$/p' out)
    eval "$command"' --no-trial --json' >out 2>err
    status=$?
    says 0 '"wanted_bytes": 9600,' out 'its command reads pixels as the labels of axes say'
    says 0 '"wanted_bytes": 320,' out 'and what is read in step'
    bench lzf.h5
    [ $status -eq 2 ] && is_one_sentence err && grep -q "'lzf.h5:/images' cannot be decoded here: .* filter 32000" err
    ok $? 'HDF5 itself may lack it' || note <err
else
    skip 'no Python with h5py'
    skip 'no Python with h5py'
    skip 'no Python with h5py'
    skip 'no Python with h5py'
fi
${AWK} 'BEGIN { for (i = 0; i < 200; i++) printf "%d\t0\t0\t0\t1\t48\t48\t3\n", i * 7 % 40 }' >reads
h5advise -q --no-measure packed.h5 --rdcc-nbytes 0 --batch 1 --workers 1 -p trace:reads >out 2>err
command=$(sed -n '/^ *h5readbench .*--engine libpack/,/[^\\]$/p' out)
eval "$command"' --no-trial' >out 2>err
status=$?
says 0 "libpack's reader" out 'nor does a trace need a box'
[ -n "$command" ] || echo 'no command' | note
h5advise -q --no-measure packed.h5 --rdcc-nbytes 0 --batch 2 --workers 1 --box 6x48x48x3 --step 6 >out 2>err
grep -q "^READER" out && ! grep -q "engine libpack" out
ok $? 'samples that lie apart have no command'
h5advise -q --no-measure --json --shape 100x8x8x3 >advice 2>err
grep -q '"engine": null' advice
ok $? 'there is no reader of what does not exist'

# what it cannot read without HDF5 is read by HDF5, which the report says with the reason
h5rechunk -q eight.h5 -o split.h5 --split 2 2>err || note <err
bench split.h5 --engine libpack --batch 8 --consumer checksum --json
says 0 '"strategy": "pread"' out 'a virtual dataset is read source by source'
HDF5_VDS_PREFIX=$(pwd)
export HDF5_VDS_PREFIX
bench split.h5 --engine libpack --batch 8 --consumer checksum --json
says 0 '"strategy": "hdf5"' out 'a virtual dataset whose sources only HDF5 finds is read by HDF5'
says 0 '"reason": ".*virtual' out 'and the reason is told'
bench split.h5 --engine libpack --batch 8
says 0 'leaves it to HDF5, in one thread: a virtual dataset: HDF5_VDS_PREFIX' out 'in words, too'
unset HDF5_VDS_PREFIX

# what only HDF5 in processes of its own does
for what in '--rdcc-nbytes 1M:has no chunk cache' '--reopen:opens the file once' \
    '--read batch:sample by sample' '--delay 1ms:cannot be slowed' '--hand-over pytorch:in its own process' \
    '--no-persistent-workers:no workers to end'; do
    # shellcheck disable=SC2086
    bench one.h5 --engine libpack --batch 8 ${what%%:*}
    says 2 "${what#*:}" err "refused: ${what%%:*}"
done
bench one.h5 eight.h5 --engine libpack --batch 8
says 2 'reads one file' err 'two files are refused'
bench --images photos --size 48 --engine libpack --batch 8
says 2 'not folders of images' err 'and folders'
bench one.h5 --batch 8 --memory 1G
says 2 'engine' err 'a bound of memory is of an engine that has one'

# damage, and the end
cp packed.h5 damaged.h5
size=$(wc -c <damaged.h5)
at=$(grep -obUa "$(printf '\170\136')" damaged.h5 2>/dev/null | sed -n '5{s/:.*//;p;}')
printf 'damage' | dd of=damaged.h5 bs=1 seek=$((${at:-$((size / 2))} + 20)) conv=notrunc 2>/dev/null
bench damaged.h5 --engine libpack --batch 8
says 2 "damaged.h5:/images', chunk (" err 'a damaged chunk is named'
cp eight.h5 cut.h5
(sleep 2 && head -c 40000 eight.h5 >cut.h5) &
timeout 60 h5readbench --no-trial cut.h5 --engine libpack --batch 8 --epochs 1000000 >out 2>err
status=$?
wait
says 2 "cut.h5' was cut short" err 'a file that is cut short while it is read is named'
timeout -s INT 2 h5readbench --no-trial one.h5 --engine libpack --batch 8 --epochs 1000000 >out 2>err
status=$?
[ $status -eq 124 ] && status=130 # of timeout itself
says 130 'samples/s' out 'Ctrl-C ends it with a report'
done_testing
