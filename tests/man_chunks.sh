#!/bin/sh
# The examples of h5pack-chunks(7) print what the page says they print.
. "$top_srcdir/tests/tap.sh"
page=$top_srcdir/man/h5pack-chunks.7
cd "$work" || exit 1
${AWK} '/^\.EX/ { inside = 1; next } /^\.EE/ { inside = 0 }
    inside { gsub(/\\-/, "-"); gsub(/\\e/, "\\"); gsub(/\\\(aq/, "\047"); gsub(/\\\(dq/, "\"") }
    inside && /^\$ / { n++; sub(/^\$ /, ""); name = sprintf("%03d", n); print >name ".sh"
        more = /[\\|]$/; next }
    inside && more { print >name ".sh"; more = /[\\|]$/; next }
    inside { print >name ".out" }' "$page"
for script in *.sh; do
    name=${script%.sh}
    sh "$script" >got 2>&1 </dev/null
    touch "$name.out"
    cmp -s got "$name.out"
    same=$?
    ok $same "$(tr '\n' ' ' <"$script" | sed 's/\\ */ /g; s/  */ /g')"
    [ $same -eq 0 ] || note <got
done
done_testing
