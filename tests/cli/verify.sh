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
h5pack photos --verify --size 20x20 --quiet -o out.h5
echo "status $?"
