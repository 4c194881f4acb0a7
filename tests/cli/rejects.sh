# damaged files are left out, listed, and make status 1
render_samples photos 10 1 60
cut=photos/coast/cut.jpg
head -c 600 photos/coast/coast_0000.jpg >$cut
echo 'not a picture' >photos/desert/text.png
: >photos/desert/empty.jpg
printf 'GIF89a......................' >photos/forest/other.jpg
h5pack photos --size 16x16 --rejects rejects.tsv -o out.h5 | sed -n '1s@, [0-9.]* KiB@, SIZE@; 1,4p'
h5pack photos --size 16x16 --quiet --force -o out.h5 >/dev/null
echo "status $?"
cat rejects.tsv
h5pack photos --size 16x16 --on-error fail --force -o other.h5
echo "status $?"
ls
# the list of an earlier run is replaced, another file is not; never the output
h5pack photos --size 16x16 --quiet --rejects rejects.tsv --force -o out.h5
echo "status $?"
echo precious >notes.tsv
h5pack photos --size 16x16 --rejects notes.tsv -o third.h5
echo "status $?, $(cat notes.tsv)"
h5pack photos --size 16x16 --rejects third.h5 -o third.h5
echo "status $?"
name=$(printf 'photos/coast/tab\there.jpg')
: >"$name"
h5pack photos --size 16x16 --quiet --rejects names.tsv -o third.h5
sed -n 3p names.tsv
