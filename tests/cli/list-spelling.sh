# paths as lists have them: without ending, with backslashes, from another folder
render_samples all 3 2 40
mkdir set set/sub
n=0
for image in all/*/*; do
    n=$((n + 1))
    cp "$image" set/$n.jpg
    cp "$image" set/sub/$n.jpg
done
# try LINE...: a list in set/ of these lines.
try() {
    printf '%s\n' "$@" >set/list
    h5pack --list set/list --size 8 --force -o out.h5 >report 2>err
    echo "status $?, $(sed -n 's/^out.h5: \([^,]*\),.*/\1/p' report)"
    cat err
    h5dump -d filenames out.h5 2>/dev/null | sed -n 's/^ *([0-9]*): /    /p'
    rm -f out.h5
}
try 1 2 3
cp set/3.jpg set/3.png
cp set/2.jpg set/2.png
try 1 2 3
cp set/1.jpg set/1.png
try 1 2 3
rm set/1.jpg
try 1 2 3
try 1 2.jpg
try 1 2 4
try 4 5
mv set/1.png set/1.tif
rm set/2.* set/3.*
try 1 2
cp set/sub/1.jpg 'set/b\c.jpg'
try 'sub\1.jpg' 'sub\2.jpg'
try 'sub\1.jpg' 'b\c.jpg'
try 'sub/1.jpg' 'sub\2.jpg'
try 'sub\9.jpg' 'sub\1.jpg'
# the first sixteen decide
try a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a11 a12 a13 a14 a15 sub/1
try a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a11 a12 a13 a14 a15 a16 sub/1
try sub/1.jpg sub/1.jpg sub/2.jpg sub/2.jpg sub/1.jpg
try sub/1.jpg sub/1.jpg
try /sub/1.jpg /sub/2.jpg
try 'C:\sub\1.jpg'
try 1.jpg
# from the folder that is given
printf '1.jpg\n2.jpg\n' >set/list
h5pack --list set/list set/sub --size 8 --force -o out.h5 | sed -n '1s/,.*//p'
h5pack --list - set/sub --size 8 --force -o out.h5 <set/list | sed -n '1s/,.*//p'
h5pack --list - --size 8 --force -o out.h5 <set/list 2>err
echo "status $?"
tail -n 1 err
h5pack --list set/list set/sub/1.jpg --size 8 --force -o out.h5
echo "status $?"
h5pack --list set/list nowhere --size 8 --force -o out.h5
echo "status $?"
h5pack --list set --size 8 --force -o out.h5
echo "status $?"
