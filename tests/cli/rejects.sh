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
# a run that could not be finished leaves the list of what it found until then
h5pack photos --size 16x16 --on-error fail --rejects failed.tsv -o third.h5
echo "status $?"
cat failed.tsv
for size in --size=16x16 --shorter=16 --dry-run; do
    h5pack --list failed.tsv "$size" --rejects failed.tsv -o third.h5
    echo "status $?"
    cat failed.tsv
done
h5pack photos --size 16x16 --rejects failed.tsv -o out.h5
echo "status $?, $(wc -l <failed.tsv) lines as before"
mkdir sizes
render_samples sizes/all 3 7 60
cp photos/desert/text.png sizes/all/text.png
h5pack sizes --rejects sizes.tsv -o third.h5 2>/dev/null
echo "status $?"
cat sizes.tsv
name=$(printf 'photos/coast/tab\there.jpg')
: >"$name"
h5pack photos --size 16x16 --quiet --rejects names.tsv -o third.h5
sed -n 3p names.tsv
# nor what the output is written to, whatever its folder is called; another folder's is free
mkdir sub
for rejects in ./fourth.h5 sub/../fourth.h5.part "$PWD/fourth.h5.part.journal" sub/fourth.h5; do
    h5pack photos --size 16x16 --quiet --rejects "$rejects" -o fourth.h5 2>seen
    echo "status $?"
    sed "s@$PWD@HERE@" seen
done
