# what is said of a run that stops, and of what came to its source before it went on
render_samples all 9 1 40
n=0
for image in all/*/*; do
    n=$((n + 1))
    cp "$image" $n.jpg
done
# stopped FOLDER OPTION...: images 2 to 6, of which the fifth is none; then it is one.
stopped() {
    rm -rf set.h5* rejects.tsv flat
    mkdir -p "$1"
    for i in 2 3 4 5 6; do cp $i.jpg "$1/$i.jpg"; done
    echo none >"$1/5.jpg"
    folder=$1
    shift
    h5pack flat --size 8 --chunk 1 --on-error fail -o set.h5 "$@"
    echo "status $?"
    cp 5.jpg "$folder/5.jpg"
}
resumed() {
    h5pack "$@" --size 8 --chunk 1 --on-error fail --resume -o set.h5 |
        grep -e '^set.h5:' -e added -e '^   *[aw][sh]' -e images/s | sed 's/^  [0-9.]* s, [0-9]* images/  T s, N images/; s/, [0-9.]* s sync.*//; s/[0-9.]* KiB/SIZE/'
}
json() {
    h5pack "$@" --size 8 --chunk 1 --on-error fail --resume --json -o set.h5 >report
    echo "status $?"
    grep -e '"listed"' -e '"packed"' -e '"resumed"' -e '"added"' -e '"left_out"' report | tr -d ' \n'
    echo
}
stopped flat
resumed flat
stopped flat
cp 7.jpg 8.jpg flat
resumed flat
stopped flat
cp 1.jpg flat
resumed flat
stopped flat
cp 1.jpg 7.jpg flat
cp 3.jpg flat/3a.jpg
json flat
stopped flat --shuffle --seed 1
cp 7.jpg flat
resumed flat --shuffle --seed 1
stopped flat/cat
mkdir flat/dog
cp 7.jpg 8.jpg flat/dog
cp 9.jpg flat/cat
resumed flat
stopped flat
mkdir more
cp 7.jpg 8.jpg 9.jpg more
resumed flat more
# another version of an image is none to go on with; nor are other options
stopped flat
touch -d 2001-02-03 flat/3.jpg
h5pack flat --size 8 --chunk 1 --on-error fail --resume -o set.h5
echo "status $?"
h5pack flat --size 8 --chunk 2 --on-error fail --resume -o set.h5
echo "status $?"
h5pack flat --size 8 --chunk 1 --on-error fail -o set.h5
echo "status $?"
