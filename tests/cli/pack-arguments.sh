# what is given that cannot be meant, and files whose names are nearly the same
render_samples photos 4 1 40
mkdir a b
find photos -type f >list
try() {
    h5pack "$@" 2>&1 | sed "s|$PWD|HERE|g; s/[0-9.]* [KM]iB/SIZE/; /^  /d"
}
try --list list photos a -o out.h5
try photos --size 8x8 --max-file 0 -o out.h5
try photos --size 8x8 --memory 0 -o out.h5
try photos --size 8x8 -o a/x.h5 --rejects ./a/x.h5
try photos --size 8x8 -o a/x.h5 --rejects "$PWD/a/x.h5.part"
try photos --size 8x8 -o "$PWD/a/x.h5" --rejects a/x.h5.part.journal
try photos --size 8x8 -o a/x.h5.part --rejects b/../a/x.h5
try photos --size 8x8 --classes none -o out.h5
try photos/* --size 8x8 --quiet -o out.h5
echo "the same names in other folders, and endings that are nearly the same, are other files"
try photos --size 8x8 -o a/x.h5 --rejects b/x.h5
try photos --size 8x8 -f -o "$PWD/a/x.h5" --rejects "$PWD/b/x.h5.part"
try photos --size 8x8 -f -o a/x.h5 --rejects a/x.h5.parts
try photos --size 8x8 -f -o a/x.h5 --rejects a/y.h5
try photos --size 8x8 -f -o a/x.h5 --rejects -
ls a b
echo "several folders, with one above them and without"
set -- photos/*
try "$@" --size 8x8 -o several.h5
mv "$1" a/other
shift
try a/other "$@" --size 8x8 -o apart.h5
echo "what is to be asked about a file of any name"
h5pack photos --size 8x8 -o "a/it's a file.h5" | grep h5advise
h5pack photos --size 8x8 --for block-shuffle -o blocks.h5 | grep h5advise
