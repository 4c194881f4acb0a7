# sources that cannot be packed, and what to do about it
try() {
    h5pack "$@" --size 16x16 -o out.h5
    echo "status $?"
}
try nowhere
mkdir empty
try empty
echo text >notes.txt
try notes.txt
render_samples photos 16 1 40
mkdir split
cp -r photos split/train
cp -r photos split/val
try split
mkdir none
echo text >none/readme.txt
try none
ls
