# what a source holds besides images, one of each and several, in the text, the remarks and JSON
render_samples all 6 2 40
mkdir -p one/cat one/dog/thumbs one/bird one/none
cp all/coast/* one/cat
cp all/forest/* one/dog
again() {
    h5pack "$1" --size 8 --force -o out.h5 >report
    echo "status $?"
    grep -e '^out.h5' -e ignored -e passed -e without report | sed 's/[0-9.]* KiB/SIZE/'
    h5pack "$1" --size 8 --force --quiet --json -o out.h5 2>/dev/null | sed -n '/"ignored"/,/"blank"/p'
    h5ls out.h5/class_names
}
cp all/coast/coast_0000.jpg one/dog/thumbs
: >one/cat/.hidden
echo text >one/cat/notes.txt
cp all/coast/coast_0000.jpg one/cat/image
cp all/coast/coast_0000.jpg one/beside.jpg
echo text >one/none/notes.txt
ln -s nowhere one/dog/broken
ln -s .. one/dog/up
mkfifo one/cat/pipe
printf 'GIF89a..............' >one/cat/a.gif
again one
for copy in b c; do
    cp one/cat/.hidden one/cat/.$copy
    cp one/cat/notes.txt one/cat/$copy.txt
    cp one/cat/image one/cat/image$copy
    cp one/beside.jpg one/$copy.jpg
    mkdir one/none$copy
    ln -s nowhere one/dog/$copy
    ln -s .. one/dog/up$copy
    cp one/cat/a.gif one/dog/$copy.gif
done
again one
h5pack one --size 8 --force --any-name -o out.h5 >report
echo "status $?"
sed -n '1s/,.*//p' report
# nothing but such things
mkdir -p rest/a
for kind in '' 2; do
    : >rest/.hidden$kind
    echo text >rest/notes$kind.txt
    ln -s nowhere rest/broken$kind
    ln -s .. rest/a/up$kind
    printf 'GIF89a..............' >rest/a$kind.gif
    h5pack rest --size 8 --force -o out.h5
    echo "status $?"
done
printf '\0\0\0\030ftypheic........' >rest/a/phone.heic
h5pack rest --size 8 --force -o out.h5
h5pack rest all/coast --size 8 --force -o out.h5
echo "status $?"
