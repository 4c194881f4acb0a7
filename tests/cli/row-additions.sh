# what came to a list since its run was begun: rows behind the others, and nothing else
render_samples all 9 1 40
n=0
for image in all/*/*; do
    n=$((n + 1))
    cp "$image" $n.jpg
done
# stopped ROW...: a run by a list of these rows, with the header, in which the image none.jpg stops it.
stopped() {
    rm -f set.h5*
    printf '%s\n' "$@" >list.csv
    echo none >none.jpg
    h5pack --list list.csv --size 8 --chunk 1 --on-error fail -o set.h5 2>/dev/null
    cp 9.jpg none.jpg
}
# resumed ROW...: goes on with the list of these.
resumed() {
    printf '%s\n' "$@" >list.csv
    h5pack --list list.csv --size 8 --chunk 1 --on-error fail --resume --quiet --json -o set.h5 >report
    echo "status $?: $(grep -e '"packed"' -e '"resumed"' -e '"added"' -e '"left_out"' report | tr -d ' \n')"
}
begin() {
    stopped path,label,age 1.jpg,cat,4 2.jpg,dog,5 none.jpg,cat,6
}
begin
resumed path,label,age 1.jpg,cat,4 2.jpg,dog,5 none.jpg,cat,6
h5dump -d age set.h5 | grep '(0)'
begin
resumed path,label,age 1.jpg,cat,4 2.jpg,dog,5 none.jpg,cat,6 4.jpg,dog,7 5.jpg,,8
h5dump -d age set.h5 | grep '(0)'
h5dump -d labels set.h5 | grep '(0)'
begin
resumed path,label,age 1.jpg,cat,4 3.jpg,cat,9 2.jpg,dog,5 none.jpg,cat,6
begin
resumed path,label,age 1.jpg,cat,4 2.jpg,dog,5 none.jpg,cat,6 4.jpg,eel,7
begin
resumed path,label,age 1.jpg,cat,4 2.jpg,dog,5 none.jpg,cat,6 4.jpg,dog,7.5
begin
resumed path,label,age 1.jpg,dog,4 2.jpg,dog,5 none.jpg,cat,6
resumed path,label,age 1.jpg,cat,4 2.jpg,dog,55 none.jpg,cat,6
resumed path,label,years 1.jpg,cat,4 2.jpg,dog,5 none.jpg,cat,6
resumed path,label,age,more 1.jpg,cat,4,1 2.jpg,dog,5,1 none.jpg,cat,6,1
resumed path,label,age 6.jpg,cat,4 7.jpg,dog,5
resumed path,age 1.jpg,4 2.jpg,5 none.jpg,6
# what left the list stays packed, or is still to be
resumed path,label,age 2.jpg,dog,5
# the same twice in a list
stopped path,label 1.jpg,1 1.jpg,2 none.jpg,3
resumed path,label 1.jpg,1 1.jpg,2 none.jpg,3 4.jpg,4
h5dump -d labels set.h5 | grep '(0)'
