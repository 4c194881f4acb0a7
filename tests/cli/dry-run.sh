# reads headers and tries some images; nothing is written
render_samples photos 16 1 60
head -c 200 photos/coast/coast_0000.jpg >photos/coast/cut.jpg
h5pack photos --shorter 40 --crop 32x32 --dry-run -o out.h5 | sed 's/about .*/about SIZE/'
echo "status $?"
ls
h5pack photos --shorter 40 --crop 32x32 --dry-run | sed -n '1s/about .*/about SIZE/p'
h5pack photos --shorter 40 --crop 32x32 --dry-run --json | grep output
