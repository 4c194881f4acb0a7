#!/bin/sh
# Runs one test for automake's harness: counts its TAP lines, prints one line for the program (with
# its seconds, from 2 on) and every failed sentence. A plan that does not match, a non-zero exit,
# or $H5PACK_TEST_SECONDS (900) without an end is a failure of its own; what hung is listed then.
while test $# -gt 0; do
    case $1 in
    --test-name) name=$2; shift ;;
    --log-file) log=$2; shift ;;
    --trs-file) trs=$2; shift ;;
    --color-tests | --expect-failure | --enable-hard-errors | --collect-skipped-logs) shift ;;
    --) shift; break ;;
    esac
    shift
done
began=$(date +%s)
# A shell without job control starts what it puts behind & with SIGINT ignored, and a program
# cannot know that this was not meant for it; others ignore SIGPIPE or SIGCHLD.
default=
env --default-signal=INT,QUIT,HUP,TERM,PIPE,CHLD true 2>/dev/null &&
    default='env --default-signal=INT,QUIT,HUP,TERM,PIPE,CHLD'
unset CDPATH HDF5_PLUGIN_PATH HDF5_USE_FILE_LOCKING
limit=${H5PACK_TEST_SECONDS:-900}

# The processes that the test has running, as descendants of this shell, and what they wait for.
list_running() {
    echo "no end after $limit s; running:"
    cat /proc/[0-9]*/stat 2>/dev/null | ${AWK:-awk} -v top=$$ '
        { pid = $1; sub(/.*\) /, ""); parent[pid] = $2; state[pid] = $1 }
        function is_below(pid) { return pid == top || (pid in parent && is_below(parent[pid])) }
        END { for (pid in parent) if (pid != top && is_below(pid)) print pid, state[pid] }' |
        while read -r pid state; do
            echo "$pid $state $(tr '\0' ' ' <"/proc/$pid/cmdline")" \
                "[$(sort "/proc/$pid"/task/*/wchan | uniq -c | tr -s ' \n' ' ')]"
        done 2>/dev/null | grep -v tap_driver.sh
}

(
    sleep "$limit" &
    trap 'kill $!; wait' TERM
    wait $! && list_running >"$log.hung"
) >/dev/null 2>&1 &
watch=$!
timeout -k 20 $((limit + 10)) $default "$@" >"$log" 2>&1 </dev/null
status=$?
{ kill $watch && wait $watch; } 2>/dev/null
if [ -e "$log.hung" ]; then
    cat "$log.hung" >>"$log"
    rm -f "$log.hung"
fi
${AWK:-awk} -v name="$name" -v status=$status -v took=$(($(date +%s) - began)) -v trs="$trs" '
    function result(word) { print ":test-result: " word " " name >trs }
    /^ok .*# SKIP/ { skipped++; result("SKIP"); next }
    /^ok / { passed++; result("PASS"); next }
    /^not ok / { failed++; result("FAIL"); print "  " $0; next }
    /^1\.\.0 # SKIP/ { skipped++; planned = 1; result("SKIP"); reason = substr($0, 13); next }
    /^1\.\.[0-9]+/ { split($0, plan, /\.\./); planned = 1
        if (plan[2] + 0 != passed + failed + skipped) {
            print "  planned " plan[2] + 0 " tests, saw " passed + failed + skipped
            result("ERROR"); failed++ } }
    END {
        if (!planned) { print "  ended without a plan, exit status " status; result("ERROR"); failed++ }
        else if (status != 0 && !failed) { print "  exit status " status; result("ERROR"); failed++ }
        printf "%s %s: %d passed", failed ? "FAIL" : passed ? "PASS" : "SKIP", name, passed
        if (failed) printf ", %d failed", failed
        if (skipped) printf ", %d skipped%s", skipped, reason ? " (" reason ")" : ""
        if (took >= 2) printf ", %d s", took
        printf "\n"
        print ":global-test-result: " (failed ? "FAIL" : passed ? "PASS" : "SKIP") >trs
        print ":recheck: " (failed ? "yes" : "no") >trs
        print ":copy-in-global-log: " (failed ? "yes" : "no") >trs
    }' "$log"
exit 0
