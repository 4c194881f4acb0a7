#!/bin/sh
# h5advise of a folder that is not packed yet: the answer is that for a dataset of the shape
# which h5pack makes of it, and the command that is printed makes the file that was advised.
. "$top_srcdir/tests/tap.sh"
export PATH
cd "$work" || exit 1
render_samples photos 40 1 64 >/dev/null || exit 1

# what is known of the machine is given
advise() {
    h5advise --quiet --no-measure --ram 1G --cpus 4 --memory 64M --storage nvme \
        --hdf5-version 1.10 "$@" 2>err
}
# all but what is advised on, and the code
answer() { # FILE
    awk '/^FOR/ { skip = 1 } /^--- / { exit } /^$/ { skip = 0 } !skip' "$1"
}
same() { # SHAPE BYTES OPTIONS...
    shape=$1 bytes=$2
    shift 2
    advise --images photos "$@" >images && advise --shape "$shape" >plain &&
        answer images >a && answer plain >b && [ -s a ] && cmp -s a b &&
        grep -q "^FOR   --images photos $shape uint8, $bytes\$" images
    found=$?
    ok $found "a folder with $* is advised on as a dataset of $shape"
    [ $found -eq 0 ] || { cat err; diff a b; grep FOR images; } | note
}

same 40x48x40x3 225K --size 48x40
same 40x48x40 75K --size 48x40 --gray
same 40x3x48x40 225K --size 48x40 --layout nchw
same 40x64x64x3 480K --size 64x64 --fit pad
same 40x20x24x3 56K --shorter 32 --crop 20x24

# what is cut out in training is read; what is cut out in packing is stored
advise --images photos --size 48x40 --crop 20x24 >images && answer images >a
advise --shape 40x48x40x3 --crop 20x24 >plain && answer plain >b
cmp -s a b && ! cmp -s a images
ok $? 'a crop of images of one size is what is read of them'
advise --shape 40x48x40x3 >plain && answer plain >b
! cmp -s a b
ok $? 'which is another question'

for options in '--size 48x40 --layout nchw' '--shorter 32 --crop 20x24 --gray'; do
    # shellcheck disable=SC2086 # words
    advise --images photos $options --code h5pack >images
    command=$(sed -n 's/^h5pack //p' images)
    chunk=$(sed -n 's/^BEST  chunks \([0-9x]*\),.*/\1/p' images)
    shape=$(sed -n 's/^FOR .*photos \([0-9x]*\) uint8.*/\1/p' images)
    rm -f new.h5
    # shellcheck disable=SC2086 # words
    h5pack -q $command >out 2>err && advise new.h5 >now && [ -n "$shape" ] &&
        grep -q "^FOR   new.h5:/images $shape uint8, " now &&
        grep -q "^NOW   chunks $chunk, compression none" now
    found=$?
    ok $found "the command that is printed for $options makes that file: $command"
    [ $found -eq 0 ] || cat err images now | note
done

mkdir none
advise --images none --size 48x40 >out
[ $? -eq 2 ] && [ ! -s out ] && grep -q "none" err
ok $? 'a folder without images is refused by name'
advise --images photos >out
[ $? -eq 2 ] && [ ! -s out ]
ok $? 'and images of many sizes without one to make of them'
done_testing
