#!/bin/sh
# Every single allocation of the model fails in turn: each time there is one sentence and status 2,
# or all that an undisturbed run prints.
. "$top_srcdir/tests/tap.sh"
need model_dump cmp
need_shim fault
cd "$work" || exit 1

model_dump >want || { echo 'Bail out! model_dump fails'; exit 1; }
n=0 bad=0 failed=0
while :; do
    n=$((n + 1))
    rm -f report
    FAULT_CALL=memory FAULT_HOW=ENOMEM FAULT_N=$n FAULT_REPORT=$work/report LD_PRELOAD=$shim \
        model_dump >got 2>got.err
    status=$?
    grep -q '^hit' report || break
    if [ $status -eq 2 ] && [ ! -s got ] && grep -q '^model_dump: out of memory: ' got.err &&
        [ "$(wc -l <got.err)" -eq 1 ]; then
        failed=$((failed + 1))
    elif [ $status -ne 0 ] || ! cmp -s got want; then
        bad=$((bad + 1))
        echo "# call $n: status $status, $(head -n 1 got.err)"
    fi
done
[ $bad -eq 0 ] && [ $failed -gt 40 ]
ok $? "memory runs out anywhere in the model ($((n - 1)) calls, $failed of them fatal)"
done_testing
