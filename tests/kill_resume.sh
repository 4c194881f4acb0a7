#!/bin/sh
# h5pack is killed at random moments (seeded: H5PACK_SEED) and goes on with --resume:
# the file is byte for byte that of an undisturbed run, and what was on the disk is not
# packed again. Images that went or came between the kills change nothing of that: the
# undisturbed run is one that met the same. Ctrl-C and SIGTERM end it in words.
#
# Moments are "before the n-th access to a file", so that they fall evenly over the
# whole job and can be repeated; under sanitizers, where the shim that counts cannot be
# loaded, they are times. 8 moments, 50 with H5PACK_LONG=1; with changes between, 6 and 50.
. "$top_srcdir/tests/tap.sh"
need h5pack cmp
shim=$top_builddir/tests/.libs/fault_shim.so
[ -e "$shim" ] || shim=
accesses=open,read,write,sync,rename,truncate,close
mkdir "$work/job" && cd "$work/job" || exit 1
render_samples photos 60 5 160 || exit 1

cat >job <<'SH'
#!/bin/sh
exec h5pack photos --shorter 128 --crop 112x112 --threads 2 --rejects rejects.tsv -o out/set.h5 "$@"
SH
chmod +x job
export PATH

# Random numbers that are the same everywhere: below N into $random.
seed=${H5PACK_SEED:-1}
random_below() {
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    random=$((seed / 65536 % $1))
}

# struck SIGNAL N COMMAND...: COMMAND gets the signal before its N-th access, or after N
# milliseconds.
struck() {
    signal=$1
    n=$2
    shift 2
    if [ -n "$shim" ]; then
        (
            FAULT_CALL=$accesses FAULT_HOW=SIG$signal FAULT_N=$n FAULT_REPORT=$PWD/report
            export FAULT_CALL FAULT_HOW FAULT_N FAULT_REPORT
            LD_PRELOAD=$shim
            export LD_PRELOAD
            exec "$@"
        ) >stdout 2>stderr </dev/null
    else
        "$@" >stdout 2>stderr </dev/null &
        pid=$!
        sleep "$(printf '%d.%03d' $((n / 1000)) $((n % 1000)))"
        kill "-$signal" $pid 2>/dev/null
        wait $pid
    fi
} 2>/dev/null # the shell's own word about a killed job

mkdir out
before=$(date +%s%3N)
run ./job
took=$(($(date +%s%3N) - before))
ok $status 'an undisturbed run'
[ $status -eq 0 ] || note <"$work/err"
mv out/set.h5 reference.h5
if [ -n "$shim" ]; then
    rm -f report
    struck KILL 0 ./job
    total=$(sed -n 's/^calls //p' report | tail -n 1)
else
    total=$took
fi
note "moments are below $total, seed $seed"

# Images whose pixels are in the partial file. A process that dies takes none of them along:
# each is in the journal before the next is written.
image_bytes=37632
written() {
    bytes=$(wc -c <out/set.h5.part) 2>/dev/null || bytes=0
    echo $((bytes / image_bytes))
}

# resumed SENTENCE: goes on to the end, with what is there, and compares.
resumed() {
    there=$(written)
    run ./job --resume --json
    taken=$(sed -n 's/.*"resumed": *\([0-9]*\).*/\1/p' "$work/out")
    [ $status -eq 0 ] && cmp out/set.h5 reference.h5 >>"$work/err" && [ "$(ls out)" = set.h5 ]
    same=$?
    ok $same "$1"
    [ "${taken:-0}" -ge $((there - 2)) ]
    kept=$?
    ok $kept "${taken:-0} images are taken over of $there that were written"
    [ $same -eq 0 ] || {
        note <"$work/err"
        note "out/ holds:" "$(ls out)"
    }
}

n_moments=8
[ "$long" = 1 ] && n_moments=50
i=0
while [ $i -lt $n_moments ]; do
    i=$((i + 1))
    random_below "$total"
    moment=$((random + 1))
    rm -rf out
    mkdir out
    struck KILL $moment ./job
    again=
    if [ $((i % 3)) -eq 0 ]; then # and once more while it goes on
        random_below "$total"
        struck KILL $((random + 1)) ./job --resume
        again=", again at $((random + 1))"
    fi
    if [ -e out/set.h5 ]; then # it was complete by then
        cmp out/set.h5 reference.h5
        ok $? "killed at $moment$again, when the file was complete"
    else
        resumed "killed at $moment$again, then resumed, the file is the same"
    fi
done

# ------------------------------------------------ images that go and come between

# A folder of what there ever was: the images, and copies that are added, some of which
# sort last, some first.
last_class=$(ls photos | tail -n 1)
first_class=$(ls photos | head -n 1)
cp -a photos all
n_added=0

# change: removes two images, brings one back, adds two.
change() {
    for _ in 1 2; do
        random_below 60
        path=$(cd all && ls -d */[!0z]* | sed -n $((random + 1))p)
        rm -f "photos/$path"
    done
    random_below 60
    path=$(cd all && ls -d */[!0z]* | sed -n $((random + 1))p)
    cp -a "all/$path" "photos/$path"
    n_added=$((n_added + 1))
    for path in "$last_class/zz$((n_added + 100)).jpg" "$first_class/0$n_added.jpg"; do
        cp -a "$template" "all/$path"
        cp -a "$template" "photos/$path"
    done
}
template=$(ls photos/*/*.jpg | head -n 1)
cp -a "$template" template.jpg
template=$PWD/template.jpg

# make_same_world: ref/photos becomes a folder in which an undisturbed run meets what this
# one met. What it rejected is a link to nowhere there.
make_same_world() {
    rm -rf ref
    mkdir -p ref/out
    cp job ref
    "$PYTHON" - <<'PY' || return 1
import h5py, os, shutil
for name in h5py.File('out/set.h5')['filenames'].asstr()[:]:
    os.makedirs(os.path.dirname('ref/photos/' + name), exist_ok=True)
    shutil.copy2('all/' + name, 'ref/photos/' + name)
for line in list(open('rejects.tsv'))[1:] if os.path.exists('rejects.tsv') else []:
    os.symlink('nowhere', 'ref/' + line.split('\t')[0])
PY
    (cd ref && ./job >/dev/null 2>&1)
    [ $? -le 1 ]
}

n_rounds=3
[ "$long" = 1 ] && n_rounds=25
"$PYTHON" -c 'import h5py' 2>/dev/null || {
    skip "no h5py: what a run met is read with it"
    n_rounds=0
}
late=$(cd photos && ls -d */* | tail -n 2 | head -n 1)
rm -f seen
i=0
while [ $i -lt $n_rounds ]; do
    i=$((i + 1))
    rm -rf out photos rejects.tsv
    mkdir out
    cp -a all photos
    rm -f photos/*/zz1* photos/"$first_class"/0*
    random_below "$total"
    moment=$((random + 1))
    random_below "$total"
    again=$((random + 1))
    if [ $i -eq 1 ]; then # surely before one goes that another follows
        moment=$((total / 2))
        again=1
    fi
    struck KILL $moment ./job
    change
    struck KILL $again ./job --resume
    change
    [ $i -gt 1 ] || rm -f "photos/$late"
    if [ -e out/set.h5 ]; then # it was complete by then; the list of rejects may not be
        status=0
    else
        run ./job --resume
        cat rejects.tsv >>seen
    fi
    [ $status -le 1 ] && make_same_world && cmp out/set.h5 ref/out/set.h5 2>>"$work/err"
    same=$?
    ok $same "killed at $moment and $again while images went and came"
    [ $same -eq 0 ] || note <"$work/err"
done
# Times are too vague for this: the first run may have been over before it was killed.
if [ $n_rounds -gt 0 ] && [ -n "$shim" ]; then
    grep -q 'No such file' seen
    ok $? 'some of those that went were rejects'
fi
rm -rf photos
cp -a all photos
rm -f photos/*/zz1* photos/"$first_class"/0*

# signal_test NAME STATUS
signal_test() {
    rm -rf out
    mkdir out
    struck "$1" $((total / 2)) ./job
    status=$?
    [ $status -eq "$2" ]
    ok $? "SIG$1 ends it with status $2 (it was $status)"
    [ ! -e out/set.h5 ]
    ok $? "SIG$1 leaves nothing under the final name"
    is_one_sentence stderr && grep -q -e --resume stderr
    said=$?
    ok $said "SIG$1 is answered in one sentence that names --resume"
    [ $said -eq 0 ] || note <stderr
    resumed "after SIG$1, --resume gives the same file"
}
if [ -n "$shim" ]; then
    signal_test INT 130
    signal_test TERM 143
else
    skip 'a time is too vague for a signal'
fi

# While it waits for a list, which it has opened once it can be written to.
mkfifo list
h5pack --list list -o out/none.h5 2>stderr &
pid=$!
exec 9>list
wait_until is_asleep $pid
kill -TERM $pid
wait_until has_taken $pid
exec 9>&-
wait $pid
status=$?
[ $status -eq 143 ] && [ "$(cat stderr)" = 'h5pack: interrupted' ]
waited=$?
ok $waited 'SIGTERM ends the wait for a list'
[ $waited -eq 0 ] || note <stderr

# And while it waits for somebody to write to a list or to classes: with its own handlers, it
# sleeps in nothing else.
is_opening() {
    taken=$(sed -n 's/^SigCgt:.*\(....\)$/\1/p' "/proc/$1/status")
    [ $((0x${taken:-0} >> 14 & 1)) -eq 1 ] && is_asleep "$1"
}
for option in '--list list' '--classes list photos'; do
    # shellcheck disable=SC2086 # words
    h5pack $option -o out/none.h5 2>stderr &
    pid=$!
    wait_until is_opening $pid
    kill -TERM $pid
    wait $pid
    status=$?
    [ $status -eq 143 ] && [ "$(cat stderr)" = 'h5pack: interrupted' ]
    waited=$?
    ok $waited "SIGTERM ends the wait for who writes to $option"
    [ $waited -eq 0 ] || note <stderr
done
h5pack --classes list photos -o out/none.h5 2>stderr &
pid=$!
exec 9>list
wait_until is_asleep $pid
kill -TERM $pid
wait_until has_taken $pid
exec 9>&-
wait $pid
status=$?
[ $status -eq 143 ] && [ "$(cat stderr)" = 'h5pack: interrupted' ]
ok $? 'SIGTERM ends the wait for classes'

# A forecast looks at all headers, then it decodes some images: at the last access, too.
if [ -n "$shim" ]; then
    rm -f report
    struck INT 0 h5pack photos --size 64 --dry-run
    total=$(sed -n 's/^calls //p' report | tail -n 1)
    struck INT $((total - 8)) h5pack photos --size 64 --dry-run
    status=$?
    [ $status -eq 130 ] && [ "$(cat stderr)" = 'h5pack: interrupted' ]
    ok $? "Ctrl-C ends the trial of --dry-run (it was $status)"
else
    skip 'a time is too vague for a signal in a trial'
fi

# On a terminal: what it drew is gone, only the sentence stays.
rm -rf out
mkdir out
[ -z "$shim" ] || FAULT_CALL=$accesses FAULT_HOW=SIGINT FAULT_N=$((total / 2)) SHIM=$shim \
    script -qec 'LD_PRELOAD=$SHIM ./job >/dev/null' typescript >/dev/null 2>&1 </dev/null
if [ -s typescript ]; then
    # after the last "erase this line", or from the start when nothing was drawn
    tr '\r' '\n' <typescript | grep -v '^Script ' | ${AWK} '
        { if (i = match($0, /\033\[K/)) { seen = ""; $0 = substr($0, i + 3) }
          seen = seen $0 "\n" }
        END { printf "%s", seen }' | grep -v '^$' >left
    is_one_sentence left
    clean=$?
    ok $clean 'after Ctrl-C on a terminal only the sentence stays'
    [ $clean -eq 0 ] || od -c left | note
else
    skip 'no terminal can be simulated here'
fi
done_testing
