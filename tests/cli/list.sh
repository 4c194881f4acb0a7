# lists with faults are refused with file and line
render_samples photos 8 1 30
try() {
    h5pack --list "$1" --size 16x16 --quiet --force -o out.h5
    echo "status $?"
}
printf 'path,label\nphotos/coast/coast_0000.jpg,1\n' >good.csv
try good.csv
printf 'label,x\n1,2\n' >no-path.csv
try no-path.csv
printf 'path,label\nphotos/coast/coast_0000.jpg\n' >short-row.csv
try short-row.csv
printf 'path,label\n' >no-rows.csv
try no-rows.csv
printf 'path,images\nphotos/coast/coast_0000.jpg,1\n' >taken.csv
try taken.csv
printf 'path\nphotos/coast/gone.jpg\n' >gone.csv
try gone.csv
try missing.csv
ls photos/*/* | h5pack --list - --size 16x16 --quiet --force -o out.h5
echo "status $?"
# lists and classes from a pipe, which cannot be read twice
mkfifo pipe
printf 'path\nphotos/coast/coast_0000.jpg\n' >pipe &
h5pack --list pipe --size 16x16 --quiet -o pipe.h5
echo "status $?"
ls photos | sort -r >pipe &
h5pack photos --classes pipe --size 16x16 --quiet -o classes.h5
echo "status $?"
h5dump -d class_names classes.h5 | grep '(0)'
