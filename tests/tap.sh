# TAP for tests in shell, to be sourced: `. "$top_srcdir/tests/tap.sh"`. The programs of
# the build are in PATH, $work is an empty folder that goes away at the end, $long is 1
# in long runs.
# shellcheck shell=sh disable=SC2034 # used by those who source it

tap_n=0
tap_failed=0
long=${H5PACK_LONG:-0}
: "${top_srcdir:=$(pwd)}" "${top_builddir:=$top_srcdir/build}" "${AWK:=awk}" "${PYTHON:=python3}"
PATH=$top_builddir/tools:$top_builddir/tests:$PATH
LC_ALL=C # names in the order in which programs have them, numbers with a point
export LC_ALL
work=$(mktemp -d "${TMPDIR:-/tmp}/h5pack-test.XXXXXX") || exit 1
trap 'chmod -R u+rwX "$work"; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# ok STATUS SENTENCE: one test; STATUS 0 is a pass.
ok() {
    tap_n=$((tap_n + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tap_n - $2"
    else
        echo "not ok $tap_n - $2"
        tap_failed=$((tap_failed + 1))
    fi
}

# note < TEXT, or note WORDS: lines of explanation.
note() {
    if [ $# -gt 0 ]; then echo "# $*"; else sed 's/^/#   /'; fi
}

# skip REASON: one test that could not run.
skip() {
    tap_n=$((tap_n + 1))
    echo "ok $tap_n # SKIP $*"
}

# skip_all REASON: the whole script cannot run.
skip_all() {
    echo "1..0 # SKIP $*"
    exit 0
}

# need PROGRAM...: skips everything when one is missing.
need() {
    for program; do
        command -v "$program" >/dev/null 2>&1 || skip_all "there is no $program here"
    done
}

# need_shim NAME: leaves the path of NAME_shim.so, to be preloaded, in $shim; skips everything
# where it cannot be.
need_shim() {
    shim=$top_builddir/tests/.libs/$1_shim.so
    [ -e "$shim" ] || skip_all "the $1 shim does not work with sanitizers"
    LD_PRELOAD=$shim /bin/true 2>/dev/null || skip_all "this system cannot preload the $1 shim"
}

# run COMMAND...: leaves $status, $work/out and $work/err.
run() {
    "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
}

# is_one_sentence FILE: what a program says when it fails.
is_one_sentence() {
    [ "$(wc -l <"$1")" -eq 1 ] && grep -q '^h5[a-z]*: [^ ]' "$1"
}

# wait_until COMMAND...: tries it ten times a second, for 20 s at most, so that a loaded
# machine only takes longer.
wait_until() {
    for try in 1 2 3 4 5 6 7 8 9 10; do
        for tenth in 1 2 3 4 5 6 7 8 9 10 1 2 3 4 5 6 7 8 9 10; do
            "$@" && return 0
            sleep 0.1
        done
    done
    return 1
}

# children PID: the processes that it started and that run, as `ps` would list them.
children() {
    sed -n "s/^\([0-9]*\) (.*) [^ZX] $1 .*/\1/p" /proc/[0-9]*/stat 2>/dev/null
}

# running PROGRAM WORDS: the processes of this program that have these words in their command line.
running() {
    for pid in $(sed -n "s/^\([0-9]*\) ($1) .*/\1/p" /proc/[0-9]*/stat 2>/dev/null); do
        tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q -e "$2" && echo "$pid"
    done
}

# is_asleep PID: it waits for something, or is gone.
is_asleep() {
    ! grep -q '^State:[[:blank:]]*[^SZX[:blank:]]' "/proc/$1/status" 2>/dev/null
}

# has_taken PID: no signal is on its way to it.
has_taken() {
    ! grep -Eq '^(Sig|Shd)Pnd:.*[1-9a-f]' "/proc/$1/status" 2>/dev/null
}

# run_python PROGRAM WORDS...: the tests of a program in Python of tests/ that prints TAP (tap.py)
# become tests of this one.
run_python() {
    python_program=$top_srcdir/tests/$1
    shift
    top_builddir=$top_builddir PYTHONDONTWRITEBYTECODE=1 PYTHONUTF8=1 "$PYTHON" "$python_program" "$@" >"$work/python.tap"
    while read -r line; do
        case $line in
        'not ok '*) ok 1 "${line#not ok * - }" ;;
        'ok '*' # SKIP '*) skip "${line#*# SKIP }" ;;
        'ok '*) ok 0 "${line#ok * - }" ;;
        '#'*) echo "$line" ;;
        esac
    done <"$work/python.tap"
    grep -q '^1\.\.' "$work/python.tap"
    ok $? "the program in Python came to its end"
}

# hurry: in a subshell, what it starts has clocks that run eight times as fast (clock_shim.c):
# what measures for seconds is through at once. What it finds the machine to be is kept apart.
hurry() {
    LD_PRELOAD=$top_builddir/tests/clock_shim.so CLOCK_TIMES=8 XDG_CACHE_HOME=$work/hurried
    ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
    export LD_PRELOAD CLOCK_TIMES XDG_CACHE_HOME ASAN_OPTIONS
}

# hurried COMMAND...
hurried() {
    (hurry && exec "$@")
}

# The plan; the script's last line.
done_testing() {
    echo "1..$tap_n"
    [ $tap_failed -eq 0 ]
    exit
}
