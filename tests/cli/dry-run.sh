# reads headers and tries some images; nothing is written
render_samples photos 16 1 60
head -c 200 photos/coast/coast_0000.jpg >photos/coast/cut.jpg
h5pack photos --shorter 40 --crop 32x32 --dry-run -o out.h5 | sed 's/about .*/about SIZE/'
echo "status $?"
ls
h5pack photos --shorter 40 --crop 32x32 --dry-run | sed -n '1s/about .*/about SIZE/p'
h5pack photos --shorter 40 --crop 32x32 --dry-run --json | grep output
h5pack photos --shorter 40 --crop 32x32 --dry-run --on-error fail | sed -n 2p
# transparency and colour profiles are counted apart: one pixel, gray and alpha
mkdir clear
printf '\211PNG\015\012\032\012\000\000\000\015IHDR\000\000\000\001\000\000\000\001\010\004\000\000\000\265\034\014\002' >clear/1.png
printf '\000\000\000\013IDATx\234c\010h\000\000\001\043\000\321\216n\074\133\000\000\000\000IEND\256B\140\202' >>clear/1.png
h5pack clear --size 8 --dry-run --json | grep -e with_alpha -e icc_profiles
