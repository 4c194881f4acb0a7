# what becomes of the labels of a list: numbers, names of classes, none, and what cannot be
render_samples all 4 2 40
mkdir x y
n=0
for image in all/*/*; do
    n=$((n + 1))
    cp "$image" $n.jpg
done
cp 1.jpg x/1.jpg
cp 2.jpg y/2.jpg
printf 'dog\ncat\n' >classes.txt
# try LABELS OPTION...: a list of as many images, with these labels.
try() {
    labels=$1
    shift
    n=0
    echo path,label >list.csv
    for label in $labels; do
        n=$((n + 1))
        [ "$label" = none ] && label=
        echo "$n.jpg,$label" >>list.csv
    done
    rm -f out.h5
    h5pack --list list.csv --size 8 --quiet -o out.h5 "$@" 2>err
    echo "$labels $*: status $?"
    sed 's/^h5pack: //' err
    for set in labels class_names label; do
        h5dump -d $set out.h5 2>/dev/null | sed -n "s/\\\\000//g; s/^ *(0): /    $set: /p"
    done
}
try '3 0 -1 3'
try 'b a b c'
try '1.0 2.00 -3e0'
try '1 2.5'
try '1e15 1e16'
try 'none 2'
try 'none b a'
try 'none none'
try '01 1'
try '-0 1'
try '+1 1'
try '1 two'
try '18446744073709551616 1'
try '18446744073709551616 none'
try '9223372036854775807 -9223372036854775808'
try '9223372036854775808 1'
try 'nan 1'
try 'cat dog none cat' --classes classes.txt
try '0 1 -1 none' --classes classes.txt
try '1.0 0' --classes classes.txt
try '0 2' --classes classes.txt
try '0 -2' --classes classes.txt
try '0 0.5' --classes classes.txt
try 'cat eel' --classes classes.txt
try 'cat 1' --classes classes.txt
try 'cat dog' --label-column 0
try 'cat dog' --label-column path
try 'cat dog' --label-column 2
# of folders: two of the last component, and an image in none
printf 'x/1.jpg\ny/./2.jpg\n./x/../y/2.jpg\nx//1.jpg\n' >paths
h5pack --list paths --label-from-folder --size 8 --quiet -o folders.h5
echo "status $?"
h5dump -d labels folders.h5 | grep '(0)'
h5dump -d class_names folders.h5 | grep '(0)'
for path in 3.jpg ./3.jpg ../3.jpg x/../3.jpg; do
    echo "$path" >paths
    h5pack --list paths --label-from-folder --size 8 --quiet --force -o folders.h5 2>err
    echo "$path: status $?, $(h5dump -d class_names folders.h5 | grep '(0)')"
    sed -e "s@'[^' ]*/@'.../@g" err
done
h5pack x y --label-from-folder --classes classes.txt --size 8 --quiet --force -o folders.h5
echo "status $?"
printf 'y\nx\nz\n' >classes.txt
h5pack x y --label-from-folder --classes classes.txt --size 8 --quiet --force -o folders.h5
echo "status $?"
h5dump -d labels folders.h5 | grep '(0)'
h5pack x y/2.jpg --size 8 --quiet --force -o folders.h5
echo "status $?"
