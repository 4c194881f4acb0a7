# images of 16 bits: which are nearly black, what is scaled, and what is said of it
png() { # NAME SAMPLE-AND-CHECKSUMS: one gray pixel
    printf '\211PNG\015\012\032\012\000\000\000\015IHDR\000\000\000\001\000\000\000\001\020\000\000\000\000\152\356\107\026' >"$1"
    printf '\000\000\000\016IDAT\170\001\001\003\000\374\377\000%b\000\000\000\000IEND\256B\140\202' "$2" >>"$1"
}
mkdir all
png all/0.png '\0000\0000\0000\0003\0000\0001\0252\0007\0345\0376'
png all/1.png '\0000\0001\0000\0004\0000\0002\0013\0041\0213\0161'
png all/100.png '\0000\0144\0000\0147\0000\0145\0303\0264\0362\0316'
png all/4095.png '\0017\0377\0001\0040\0001\0017\0355\0041\0023\0075'
png all/4096.png '\0020\0000\0000\0043\0000\0021\0214\0053\0261\0341'
png all/65535.png '\0377\0377\0003\0000\0001\0377\0327\0112\0166\0123'
try() { # OPTIONS SAMPLE...
    rm -rf set
    mkdir set
    words=$1
    shift
    for sample; do cp "all/$sample.png" set; done
    echo "$*: $words" >&2
    # shellcheck disable=SC2086 # words
    h5pack set $words --gray --force -o out.h5 >report
    echo "$*: status $?, $(h5dump -d images out.h5 | sed -n 's/.*(\([0-9]\),0,0): /\1: /p' | tr '\n' ' ')"
    grep -e scale16 -e ' bits' -e 16-bit report
    # shellcheck disable=SC2086
    h5pack set $words --gray --force --json -o out.h5 2>/dev/null | sed -n '/dim_16bit/,/extent/p' | grep -v extent | tr -d ' \n'
    echo
}
for sample in 0 1 100 4095 4096 65535; do try '' $sample; done
try '' 1 100 65535
try '--scale16 auto' 1 100
try '--scale16 auto' 100 4096 65535
try '--scale16 auto' 100
try '--scale16 0:4095' 0 1 4095 4096
try '--scale16 1:4095' 0 1 4095 65535
try '--scale16 100:4095' 1 100
try '--scale16 4095:4096' 4095 4096
h5pack set --gray --scale16 auto --dry-run | grep scale16
h5pack set --gray --scale16 5:9 --dry-run | grep scale16
render_samples photos 2 1 40
h5pack photos --size 8 --scale16 auto --force -o out.h5 | grep scale16
for range in 5 5: :5 9:5 5:5 0:65535 0:65536 1:2:3 Auto '1 :2'; do
    h5pack photos --size 8 --scale16 "$range" --quiet --force -o out.h5
    echo "$range: status $?"
done
