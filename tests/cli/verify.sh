# reading back what was packed; comparing with a source that is the same, and one that is not
render_samples photos 8 1 40
h5pack photos --size 16x16 --verify --quiet -o out.h5
echo "status $?"
h5pack photos --verify --quiet -o out.h5
echo "status $?"
cp photos/forest/forest_0002.jpg photos/coast/coast_0000.jpg
h5pack photos --verify --quiet -o out.h5
echo "status $?"
rm photos/coast/coast_0000.jpg
h5pack photos --verify --quiet -o out.h5
echo "status $?"
h5pack photos --verify --size 16x16 --fit crop --chunk auto --compress none --quiet -o out.h5
echo "status $?"
# what it was packed with is what it is verified with: anything else was asked for in vain
for words in '--size 20x20' '--shorter 16' --gray '--layout nchw' --strict '--max-pixels 9' '--max-file 9K' \
    '--background #010203' '--seed 1 --shuffle' '--limit 3' '--compress zstd' '--on-error blank'; do
    # shellcheck disable=SC2086 # words
    h5pack photos --verify $words --quiet -o out.h5
    echo "status $?"
done
# a class more, which no image has, is another class
ls photos >classes
h5pack photos --classes classes --size 8 --quiet -o classes.h5
echo "status $?"
echo zoo >>classes
h5pack photos --classes classes --verify --quiet -o classes.h5
echo "status $?"
# planes, and images that are no squares
h5pack photos --size 16x24 --layout nchw --quiet -o planes.h5
echo "status $?"
h5pack photos --verify --json -o planes.h5 | grep -e compared -e matches
# also what was not asked for when it was packed, and what is as it was
for words in '--crop 8x8' '--size 16x16 --fit pad' '--size 16x16 --resample box' --no-exif-orientation \
    '--scale16 auto' '--size 16x16 --draft' '--for block-shuffle' --fletcher32 '--libver v18' '--chunk 3' \
    '--max-pixels 178956970 --max-file 4G --libver v110 --for shuffle --on-error skip --layout nhwc'; do
    # shellcheck disable=SC2086 # words
    h5pack photos --verify $words --quiet -o planes.h5 --size 16x24 --layout nchw
    echo "status $?"
done
# --compress and --fletcher32 are stored as one, and may be given one by one
h5pack photos --size 16 --compress zstd --fletcher32 --quiet -o sums.h5
echo "status $?"
for words in '--compress zstd' --fletcher32 '--fletcher32 --compress zstd:3' '--compress gzip'; do
    # shellcheck disable=SC2086 # words
    h5pack photos --verify $words --quiet -o sums.h5
    echo "status $?"
done
