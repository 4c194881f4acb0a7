#!/bin/sh
# Both programs mean the same dataset by the same operand, and say the same where none is meant.
. "$top_srcdir/tests/tap.sh"
cd "$work" || exit 1
test_dataset make || exit 1

# which dataset a program takes; what it says where it takes none
advise() {
    h5advise --no-measure -w 1 -b 8 --json "$1" 2>advise.err >advise.out ||
        { sed 's/^h5advise: //' advise.err; return; }
    sed -n 's/.*"subject": "[^"]*\.h5:\/\([^"]*\)".*/\1/p' advise.out
}
bench() {
    h5readbench --no-trial -b 8 --json "$1" 2>bench.err >bench.out ||
        { sed 's/^h5readbench: //' bench.err; return; }
    sed -n 's/.*"dataset": "\([^"]*\)".*/\1/p' bench.out | head -n 1
}
for operand in images.h5 data.h5 only.h5 several.h5 several.h5:/b/c several.h5:/b values.h5 \
    values.h5:/none values.h5:/version nothing.h5 nowhere.h5 col:/on.h5 col:/on.h5:/x x.h5:/a:/b; do
    one=$(advise $operand) two=$(bench $operand)
    [ -n "$one" ] && [ "$one" = "$two" ]
    ok $? "$operand: $one"
    [ "$one" = "$two" ] || note "h5readbench: $two"
done
[ "$(advise images.h5) $(advise data.h5) $(advise only.h5)" = "images data train/x" ]
ok $? 'images before data before the only one with samples'
done_testing
