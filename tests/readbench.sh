#!/bin/sh
# h5readbench as a user meets it: verdicts, bad input, workers that are killed, Ctrl-C, the
# GPU path against the fake driver. Whatever happens, no process is left behind.
. "$top_srcdir/tests/tap.sh"
export PATH
cd "$work" || exit 1
render_samples photos 40 1 64 >/dev/null || exit 1
h5pack -q photos --size 48x48 --chunk 1 -o one.h5 >/dev/null || exit 1
h5pack -q photos --size 48x48 --chunk 8 -o eight.h5 >/dev/null || exit 1
h5pack -q photos --size 48x48 --compress gzip -o packed.h5 >/dev/null || exit 1

# what the program says, and its status; with trials it takes seconds more
bench() {
    h5readbench --no-trial "$@" >out 2>err
    status=$?
}
says() { # status pattern file sentence
    [ $status -eq "$1" ] && grep -q -- "$2" "$3"
    said=$?
    ok $said "$4"
    [ $said -eq 0 ] || { echo "status $status"; cat out err; } | note
}

bench one.h5 --batch 8 --seed 1
says 0 'samples/s from the reader alone' out 'the reader alone, in line'
bench one.h5 --batch 8 --workers 3 --step 1ms --epochs 2
says 0 'consumer busy' out 'an emulated consumer and three workers'
for _ in 1 2 3 4 5; do # gains depend on what the machine does meanwhile
    bench eight.h5 --batch 8 --rdcc-nbytes 64K --epochs 2
    grep -q 'x predicted  ' out && break
done
says 0 'Each sample of 6.8 KiB costs' out 'the cause of too much reading is named'
grep -q 'x predicted  ' out && ! grep -q 'x measured ' out
ok $? 'and changes are proposed, without a trial as predictions'
mkdir one_photo fixed
cp "$(find photos -type f | sort | head -n 1)" one_photo
h5pack -q one_photo --size 48x48 -o single.h5 >/dev/null || exit 1
cp eight.h5 fixed/eight.h5 && chmod 444 fixed/eight.h5 && chmod 555 fixed
for file in 'single.h5' 'eight.h5 --dataset labels' 'fixed/eight.h5 --workers 2 --rdcc-nbytes 64K'; do
    # shellcheck disable=SC2086
    hurried h5readbench $file --json --batch 8 >out 2>err
    status=$?
    [ -s err ] && status=99
    says 0 '"advice_epochs": 30' out "proposals are tried, and are those for a training: $file"
done
chmod 755 fixed
bench one.h5 packed.h5 --batch 8
says 0 'reads and bytes equal' out 'two files are one dataset'
bench packed.h5 --batch 8 --with labels --consumer checksum --epochs 2 --workers 2
says 0 'limited by' out 'every sample and its label'
limit=4000000
[ "${SANITIZERS:-no}" = no ] || limit=unlimited # they take more address space than that
# shellcheck disable=SC3045 # dash and bash have it
(ulimit -v $limit && hurry && exec h5readbench packed.h5 --batch 16000000 --with labels \
    --consumer checksum --workers 2) >out 2>err
status=$?
says 0 ' 1 batch of 16000000' out 'a batch larger than the dataset takes memory for the dataset'
bench one.h5 --batch 8 --consumer host --precision fp16 --crop 20x30
says 0 'host: 5 steps' out 'random crops normalised on the host'
h5pack -q photos --size 32x48 --layout nchw -o first.h5 >/dev/null || exit 1
for file in first.h5 one.h5; do
    bench $file --crop 20x30 --batch 8 --json
    says 0 "\"sample_bytes\": $((20 * 30 * 3))," out "a crop is of rows and columns, all channels: $file"
done
bench one.h5 --dataset labels --batch 8 --consumer auto
says 0 '^h5readbench: consumer null (samples are no uint8 images)$' err 'no GPU is asked for what are no images'
bench one.h5 --dataset labels --batch 8 --consumer auto --step 1ms
says 0 '^h5readbench: consumer emulated (samples are no uint8 images)$' err 'steps are taken all the same'
bench one.h5 --batch 8 --consumer emulated
says 2 'needs the duration of a step; --step' err 'an emulated consumer wants a step, and its option is named'
bench one.h5 --batch 8 --read span --crop 20
says 2 'not crops; use --read sample' err 'what spans cannot do, and the option that can'
# more in one span than memory can be asked for, which the reader finds out
if [ "${SANITIZERS:-no}" = no ] && "${PYTHON:-python3}" - 2>/dev/null <<'END'
import h5py
with h5py.File('vast.h5', 'w') as f:
    f.create_dataset('images', (1 << 38, 1024), 'u1', chunks=(1 << 21, 1024))
END
then
    for workers in 0 2; do
        bench vast.h5 --batch 64 --read span --workers $workers --no-check --seed 1
        cp err err.$workers
        says 2 'to read one batch with one call; use --read sample$' err \
            "what a reader finds at fault ends with the option, with $workers workers"
    done
    cmp -s err.0 err.2
    ok $? 'in the same sentence'
else
    skip "no Python with h5py to write a vast dataset, or sanitizers, which end at so much"
fi
bench one.h5 --batch 8 --consumer host --mean 1,2
says 2 '^h5readbench: --mean: ' err 'the option of a parameter at fault is in front'
bench --images photos --size 48 --batch 8 --workers 2
says 0 'no chunk cache at work' out 'the baseline reads images'
awk '$1 == "decode" && $2 > 0 { found = 1 } END { exit !found }' out # 4.000 is more than none
ok $? 'and decodes them'
cp -r photos spoilt
victims=$(find spoilt -type f | sort | sed -n '3p;17p')
for victim in $victims; do echo 'no image any more' >"$victim"; done
truth=$(find spoilt -type f | wc -l)
bench --images spoilt --size 48x48 --batch 8 --workers 2 --epochs 2 --consumer host --seed 1
says 1 '^4 images could not be decoded' out 'images that do not decode are skipped and counted'
says 1 '4 images could not be decoded' err 'which is the reason of status 1'
grep -q "$(basename "${victims%%
*}")" out
ok $? 'with their names and reasons'
for read in sample batch span; do
    bench --images spoilt --size 48x48 --batch 8 --read $read --json --seed 1 --consumer host
    tr -d ' \n' <out | grep -q "\"batches\":5,\"samples\":$((truth - 2)),"
    says $((1 + $? * 98)) '"images": 2' out "the others all arrive, whatever --read says: $read"
done
find spoilt -type f | while read -r victim; do echo 'no image' >"$victim"; done
bench --images spoilt --size 48x48 --batch 8 --workers 2 --consumer host
[ "$(wc -l <err)" -eq 1 ] || status=99
says 2 'none of 40 images can be decoded; the first is .*: ' err 'where all are damaged there is one sentence'
bench one.h5 --batch 8 --cold --epochs 2
says 0 'still in the page cache' out 'cold reading says how cold it was'
bench --images photos --size 48x48 --batch 8 --cold
says 0 '  cold: 0\.0 MB were still in the page cache' out 'image files are dropped from the page cache too'
bench one.h5 --batch 8 --workers 2 --hand-over pytorch --consumer checksum --epochs 2
says 0 '^  copying into new shared memory ' out 'batches are handed over as PyTorch does'
grep -q 'Python is 8.0 us a sample and 300.0 us a batch' out
ok $? 'and what is no measurement is said to be stated'
bench one.h5 --sample-cost 5us
says 2 'sample-cost goes with --hand-over pytorch' err 'a stated cost without it is refused'
bench eight.h5 --batch 8 --workers 2 --epochs 3 --no-persistent-workers --rdcc-nbytes 1G
says 0 's went into starting and ending workers' out 'workers may be started with each epoch'
bench one.h5 --batch 8 --delay 50ms
says 0 'limited by the delay asked for' out 'a delay is named as the limit'
grep -Eq '^  the delay asked for +([5-9][0-9]|[0-9][0-9][0-9]+)\.' out
ok $? 'and has a line of its own'
bench one.h5 --batch 8 --reopen
says 0 '^  opening the dataset each time ' out 'so has opening the dataset for each sample'
bench one.h5 --batch 4 --step 1ms --echo 3 --echo-split --consumer checksum
says 0 'each batch used 3 times' out 'echoed and split batches'
bench one.h5 --batch 8 --delay 20ms --step 1ms --min-busy 90
says 1 'consumer busy' out 'a starved consumer is an alert'
says 1 'was busy for .* % of the time, --min-busy asks for 90.00 %' err 'with the reason'
bench one.h5 --preset cosmoflow-h100 --delay 10ms --batches 10
says 1 'fail' out 'a preset that is missed fails'
says 1 'cosmoflow-h100 fails: AU .* %, it asks for 70.00 %' err 'with the reason'
bench one.h5 --preset cosmoflow-h100 --batches 1
says 1 'too few steps to say whether cosmoflow-h100 passes' err 'one step is no answer, and says so'
bench one.h5 --preset cosmoflow-h100 --batch 8
says 2 'batches of 1, and --batch says 8' err 'another batch than the preset.s is refused'
bench one.h5 --preset cosmoflow-h100 --step 5ms
says 2 'steps of 3500us, and --step says 5000us' err 'and another step'
bench one.h5 --preset cosmoflow-h100 --batch 1 --step 3.5ms --batches 4
[ $status -le 1 ] && status=0
says 0 'AU .*: [pf]a' out 'the same ones are not'
bench one.h5 --batch 8 --json --seed 1 --batches 3
says 0 '"schema": "readbench/1"' out 'JSON'
bench one.h5 --batch 8 --trace t.json --svg t.svg --workers 2 --step 1ms
[ -s t.json ] && [ -s t.svg ]
says $? 'limited by' out 'a trace and a picture are written'
bench one.h5 --batch 8 --workers 2 --step 1ms --prometheus run.prom
[ $status -eq 0 ] && ! ls run.prom.part* 2>/dev/null &&
    grep -q '^h5readbench_info{file="one.h5",dataset="/*images",version=' run.prom &&
    grep -q '^h5readbench_samples{file="one.h5",dataset="/*images"} 40$' run.prom
says $? 'limited by' out 'figures for Prometheus are written'
bench one.h5 --batch 8 --prometheus run.prom
says 2 "'run.prom' exists.*--force replaces it" err 'not over a file that is there'
bench one.h5 --batch 8 --prometheus one.h5 --force
says 2 "one.h5" err 'never over what is read'
h5readbench one.h5 --sweep workers=0,1 --prometheus other.prom >out 2>err
status=$?
says 2 '--prometheus does not go with --sweep' err 'nor of a sweep'
# check_trace FILE SENTENCE NAME...
check_trace() {
    file=$1 sentence=$2
    shift 2
    if "${PYTHON:-python3}" -c '' 2>/dev/null; then
        "${PYTHON:-python3}" "$top_srcdir/tests/trace.py" "$file" "$@" 2>err
        ok $? "$sentence"
        note <err
    else
        skip "no Python to check '$file' with"
    fi
}
check_trace t.json 'the trace is JSON, its spans nest, and every stage of the workers is in it' \
    batch read storage assembly 'wait for buffer' 'hand over' 'wait for batch' step
bench packed.h5 --batch 8 --trace d.json --force
check_trace d.json 'also when reading in line, with decoding' decode 'give to consumer'
bench one.h5 --batch 8 --trace t.json
says 2 "t.json" err 'and not over what is there'
cp one.h5 copy.h5 && ln copy.h5 linked && printf '1\n%.0s' $(seq 40) >order.txt
for case in '--trace copy.h5' '--svg linked' '--trace new.json --svg new.json' \
    '--pattern weighted:by=order.txt --svg order.txt'; do
    # shellcheck disable=SC2086
    bench copy.h5 --batch 8 --force $case
    cmp -s copy.h5 one.h5 && [ ! -e new.json ] || status=99
    says 2 'as it is' err "with --force too, nothing is written over what is read: $case"
done
bench one.h5 --batch 8 --sweep workers=0,1 --sweep batch=4,8
[ "$(wc -l <out)" -eq 5 ]
says $? 'limited by' out 'a sweep of two options is a table of four runs'
bench one.h5 --batch 8 --sweep workers=0,1 --json --delay 20ms --step 1ms --min-busy 100
[ "$(grep -c '"rounds": 3' out)" -eq 2 ] || status=99
says 1 'run 1 of 2: the consumer was busy' err 'each made three times, and status 1 says which and why'

timeout --preserve-status -s TERM 1.5 h5readbench one.h5 --batch 1 --delay 20ms --no-trial --sweep workers=0,1 --json \
    >out 2>err
status=$?
grep -q '"interrupted": true' out || status=99
says 143 '^h5readbench: stopped before the end: [0-5] of 6 runs were made$' err 'a sweep that is stopped says so'
for case in '--sweep batch=4,8 --sweep batch=2:given twice' '--consumer null --step 1ms:--step. consumer .null. makes no steps; emulated and cuda do$' \
    '--min-busy 50:never busy' '--preset resnet50-h100 --consumer null:--preset. consumer .null. makes no steps'; do
    bench one.h5 --batches 3 ${case%%:*}
    [ ! -s out ] || status=99
    says 2 "${case#*:}" err "what has no meaning is refused: ${case%%:*}"
done
bench one.h5 --batch 8 --sweep 'pattern=shuffle;block:chunks=4,local'
grep -q '^block:chunks=4,local ' out || status=99
says 0 '^shuffle  ' out 'values with commas are apart by semicolons'
for case in 'workers=0,x:workers.*x' 'pattern=shuffle,odd:odd' 'step=1ms,5:not a time' \
    'consumer=null,nobody:nobody' 'trace=a,b:--trace is of one run' 'cold=1:takes no value' \
    'workers=0,,1:workers' 'consumer=null,emulated:duration of a step'; do
    bench one.h5 --batch 8 --batches 3 --sweep batch=4,8 --sweep "${case%:*}"
    [ ! -s out ] && grep -q 'nothing of the sweep was run' err || status=99
    says 2 "${case##*:}" err "before anything is run a sweep is refused: ${case%:*}"
done

# block shuffle: chunks of 8, batches of 4, a cache of one chunk
loads() { # workers pattern loads sentence
    bench eight.h5 --batch 4 --workers "$1" --pattern "$2" --rdcc-nbytes 64K --seed 1 \
        --consumer checksum --json
    [ $status -eq 0 ] && tr -d ' \n' <out | grep -q '"samples":40,' &&
        tr -d ' \n' <out | grep -q "\"loads\":$3,"
    found=$?
    ok $found "$4"
    [ $found -eq 0 ] || cat out err | note
}
loads 5 block:chunks=1,local 5 'five workers with pools of their own load five chunks once'
loads 2 block:chunks=1,local 6 'two workers meet within one chunk, which both load'
loads 2 block:chunks=1 10 'from one pool for both each of them loads every chunk'

# a trace replays what it says, weights draw what they weigh
printf '0\t0\t0\t0\t1\t48\t48\t3\n5\t0\t8\t0\t1\t20\t40\t3\n' >trace.tsv
bench one.h5 --batch 2 --pattern trace:trace.tsv --consumer checksum
says 0 'limited by' out 'a recorded trace'
for option in '--crop 8x8' '--box 1x8x8x3'; do
    # shellcheck disable=SC2086
    bench one.h5 --batch 2 --pattern trace:trace.tsv $option
    says 2 "'trace.tsv' says itself" err "it does not take ${option% *}"
done
printf '40\t0\t0\t0\t1\t48\t48\t3\n' >beyond.tsv
bench one.h5 --batch 2 --pattern trace:beyond.tsv
says 2 'beyond' err 'a trace that leaves the dataset'
printf '0\t0\t0\t0\t1\t48\t48\t3\n5\t0\t0\t0\t9\t48\t48\t3\n' >rows.tsv
bench one.h5 --batch 2 --pattern trace:rows.tsv --with labels --consumer checksum
says 0 'limited by' out 'reads of several samples, with the labels of each'
yes 1 | head -n 40 >weights
bench one.h5 --batch 8 --pattern weighted:by=weights --consumer checksum
says 0 'limited by' out 'weighted draws'
echo nonsense >>weights
bench one.h5 --batch 8 --pattern weighted:by=weights
says 2 'line 41' err 'weights that are none'

# bad input: one sentence, status 2
echo 'this is text, and a good deal of it' >plain
for case in 'nope.h5:cannot open' 'photos:it is a folder' 'plain:not an HDF5 file' \
    'one.h5:/nope:no dataset' 'one.h5 --pattern odd:odd' 'one.h5 --workers 2x:2x' \
    'one.h5 --consumer gpu:gpu' 'one.h5 --step 5:not a time' 'one.h5 --sweep x:--sweep' \
    'one.h5 --crop 500x500:500' 'one.h5 --read span --crop 8x8:span' \
    ':either FILE' 'one.h5 --engine odd:odd' 'one.h5 --engine images:not datasets' \
    '--images photos --size 48 --engine hdf5:not folders of images' \
    'one.h5 --gpu 7 --consumer cuda:GPU\|driver\|nvcc'; do
    # shellcheck disable=SC2086
    bench ${case%:*}
    [ "$(wc -l <err)" -eq 1 ] || status=99
    says 2 "${case##*:}" err "refused in a sentence: ${case%:*}"
done

# a truncated file, while its chunks are being read
cp packed.h5 cut.h5
bench cut.h5 --batch 4 --workers 2 --delay 30ms --epochs 50 &
sleep 0.5
: >cut.h5
wait $!
bench cut.h5
says 2 "cut.h5" err 'a file that has been cut'

# Processes of the program started with this seed, which no other run has.
left_over() {
    running h5readbench "--seed $1 "
}

has_workers() {
    [ "$(children "$1" | wc -l)" -eq 2 ]
}

none_left() {
    [ -z "$(left_over "$1")" ]
}

no_children() {
    wait_until none_left "$1"
    ok $? "$2"
    left_over "$1" | note
}

# start OPTIONS...: a run of two workers in the background, $pid; they read already.
start() {
    h5readbench one.h5 --batch 4 --epochs 1000 "$@" >out 2>err &
    pid=$!
    wait_until has_workers $pid
    sleep $pause
}
# A worker or a program that was not run for all of the pause has nothing to tell yet.
pauses='0.3 0.6 1.2 2.4 4.8'

# a worker is killed
for pause in $pauses; do
    start --workers 2 --delay 50ms --seed $$1
    kill -9 "$(children $pid | head -n 1)"
    wait $pid
    status=$?
    grep -q 'signal 9.*one.h5' err && break
done
says 2 'reader process [01] (pid [0-9]*) was killed by signal 9.*one.h5' err 'a worker that is killed is named'
no_children $$1 'and nothing is left'

# a worker hangs
pause=0.3
start --workers 2 --delay 50ms --seed $$2 --stall 700ms
kill -STOP "$(children $pid | head -n 1)"
wait $pid
status=$?
says 2 'has not answered' err 'a worker that hangs is named'
no_children $$2 'and nothing is left'

# Ctrl-C
for pause in $pauses; do
    start --workers 2 --delay 30ms --seed $$3 --step 1ms
    kill -TERM $pid
    wait $pid
    status=$?
    grep -q 'measured so far' out && break
done
says 143 'measured so far' out 'SIGTERM: what was measured so far, and 128 + signal'
no_children $$3 'and nothing is left'

# the same signal again at once, to the whole group: a terminal, timeout(1); without a report
# only before there is anything to report. timeout sends SIGCONT behind its signal; where it takes
# away the SIGSTOP with which LeakSanitizer stops the process as it ends, both wait for ever.
lost=0
for how in 'timeout' 'timeout -s INT'; do
    for workers in 0 2 0 2; do
        for pause in 0.6 2.4 4.8; do
            ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 \
                $how "$pause" h5readbench one.h5 --batch 4 --workers $workers --delay 30ms \
                --epochs 1000 --seed $$6 --step 1ms >out 2>err
            grep -q 'measured so far' out || [ -s out ] || grep -q killed err || continue
            break
        done
        grep -q 'measured so far' out && ! grep -q killed err || lost=$((lost + 1))
    done
done
[ $lost -eq 0 ]
ok $? "under timeout, which signals the group as well, no report is lost ($lost of 8 were)"
no_children $$6 'and nothing is left'
for pause in $pauses; do
    start --workers 2 --delay 2500ms --seed $$7
    kill -TERM $pid
    sleep 1.2
    kill -TERM $pid
    wait $pid
    status=$?
    grep -q 'measured so far' out && break
done
says 143 'measured so far' out 'a second signal waits for the report'

# the parent is killed
h5readbench one.h5 --batch 4 --workers 2 --delay 30ms --epochs 1000 --seed $$4 >out 2>err &
pid=$!
wait_until has_workers $pid
kill -9 $pid
wait $pid 2>/dev/null
no_children $$4 'workers go when the training process is killed'

# the GPU path of the program
if grep -q '^#define HAVE_CUDA 1' "$top_builddir/config.h"; then
    LD_LIBRARY_PATH=$top_builddir/tests/fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
    bench one.h5 --batch 8 --workers 2 --consumer auto --step 5ms --epochs 3
    says 0 'Fake GPU 0' out 'auto finds the GPU'
    grep -q 'consumer cuda' err
    ok $? 'and says so'
    FAKE_CUDA_FAIL=1 h5readbench one.h5 --no-trial --consumer auto --step 1ms >out 2>err
    status=$?
    says 0 '^h5readbench: consumer emulated (no GPU can be used)$' err 'nor does it insist'
    bench one.h5 --batch 8 --consumer cuda --step 5ms --trace g.json
    check_trace g.json 'the stages of the GPU are in the trace' \
        'copy to pinned memory' 'copy to device' normalise step
    if grep -q '^#define HAVE_NVTX 1' "$top_builddir/config.h"; then
        NVTX_INJECTION64_PATH=$top_builddir/tests/fake/nvtx_listener.so \
            h5readbench one.h5 --batch 8 --consumer cuda --step 5ms --workers 2 >out 2>err
        [ "$(grep '^range' err | sort | uniq -c | tr -s ' \n' ' ')" = \
            ' 5 range copy 5 range normalise 5 range read 5 range step ' ]
        ok $? 'tools that listen see ranges for reading, copies, normalising and steps'
    else
        skip 'this build has no NVTX'
    fi
    bench one.h5 --batch 8 --consumer cuda --step 5ms --echo 2 --echo-split --precision bf16
    says 0 'of the memory' out 'cuda with echoed halves'
    bench one.h5 --batch 8 --consumer cuda --step 2ms --echo 2 --echo-split --json
    grep -q "\"copy_bytes\": $((40 * 48 * 48 * 3))," out
    ok $? 'which are copied once, as whole batches'
    silent=0 n=0
    for fail in 1 3 5 9 20 40 60 80 90 100 110 120 130 140; do
        FAKE_CUDA_FAIL=$fail h5readbench one.h5 --batch 8 --workers 2 --consumer cuda \
            --step 1ms --seed $$5 >out 2>err
        status=$?
        [ $status -eq 2 ] && n=$((n + 1))
        [ $status -eq 0 ] || { [ $status -eq 2 ] && [ "$(wc -l <err)" -eq 1 ]; } || silent=1
    done
    [ $silent -eq 0 ] && [ $n -ge 10 ]
    ok $? "driver calls that fail end the program with a sentence and status 2 ($n did)"
    no_children $$5 'and leave no worker behind'
    FAKE_CUDA_MEMORY=1000 bench one.h5 --consumer cuda
    says 2 'out of memory.*smaller batches' err 'a GPU without memory'
else
    skip 'this build has no cuda consumer'
    bench one.h5 --consumer cuda
    says 2 'nvcc' err 'cuda is refused with what to use instead'
    bench one.h5 --consumer auto
    says 0 '^h5readbench: consumer null (no GPU can be used)$' err 'auto does without'
fi
done_testing
