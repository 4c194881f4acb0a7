# TAP for tests in shell, to be sourced: `. "$top_srcdir/tests/tap.sh"`. The programs of
# the build are in PATH, $work is an empty folder that goes away at the end, $long is 1
# in long runs.
# shellcheck shell=sh disable=SC2034 # used by those who source it

tap_n=0
tap_failed=0
long=${H5PACK_LONG:-0}
: "${top_srcdir:=$(pwd)}" "${top_builddir:=$top_srcdir/build}" "${AWK:=awk}" "${PYTHON:=python3}"
PATH=$top_builddir/tools:$top_builddir/tests:$PATH
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

# running WORDS: the processes whose command line has these words, this shell aside.
running() {
    for entry in /proc/[0-9]*; do
        [ "$entry" = "/proc/$$" ] && continue
        tr '\0' ' ' <"$entry/cmdline" 2>/dev/null | grep -q -e "$1" && echo "${entry#/proc/}"
    done
}

# The plan; the script's last line.
done_testing() {
    echo "1..$tap_n"
    [ $tap_failed -eq 0 ]
    exit
}
