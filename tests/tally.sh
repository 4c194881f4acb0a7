#!/bin/sh
# tally.sh BUILD_FOLDER...: sums the results that `make check` left there. Exit status 1
# when a test failed or none ran.
for folder; do
    find "$folder" -name '*.trs' -path '*/tests/*' -exec cat {} +
done | ${AWK:-awk} '
    /^:test-result: PASS/ { passed++ }
    /^:test-result: (FAIL|ERROR|XPASS)/ { failed++ }
    /^:test-result: (SKIP|XFAIL)/ { skipped++ }
    END {
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit failed > 0 || passed == 0
    }'
