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
