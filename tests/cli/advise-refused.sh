# what cannot be is refused in one sentence each, with status 2
try() {
    h5advise --quiet --ram 1G --cpus 2 --hdf5-version 1.10 "$@" >out
    echo "status $? $(wc -l <out)"
}
try
try one.h5 two.h5
try missing.h5
echo 'no HDF5' >text.h5
try text.h5
try --shape 0x3
try --shape 18446744073709551615x4
try --shape 10x10 --type complex128
try --shape 10x10 --chunk 20x10
try --shape 10x10 --chunk 5
try --shape 1000000x100000 --type float64 --chunk 100000x10000
try --shape 100x4000 --memory 1K --workers 4
try --shape 10x10 --box 20x10
try --shape 10x10 --box 2
try --shape 10x10 --crop 2x2
try --shape 10x10 --rank 3/2
try --shape 10x10 --pattern zigzag
try --shape 10x10 --rdcc-w0 1.5
try --shape 10x10 --hdf5-version 0.9
try text.h5 --prove --no-measure
try text.h5 --prove --scratch ''
try text.h5 --scratch-bytes 1M
try --shape 10x10 --prove
try --shape 10x10 --storage floppy
try --shape 10x10 --storage missing.json
echo '{"schema": "profile/2", "name": "x", "n_cpus": 0}' >bad.json
try --shape 10x10 --storage bad.json
printf '{"schema":\n "profile/2" "name"}' >worse.json
try --shape 10x10 --storage worse.json
printf '1\t2\t1\t1\n1\t2\tx\t1\n' >bad.tsv
try --shape 10x10 --pattern trace:bad.tsv
printf '9\t9\t2\t1\n' >long.tsv
try --shape 10x10 --pattern trace:long.tsv
printf '1\n2\n' >few.txt
try --shape 10x10 --pattern weighted:by=few.txt
printf '1\n-2\n3\n' >negative.txt
try --shape 3x10 --pattern weighted:by=negative.txt
try --shape 10x10 --what-if --chunk 5x10 --chunk 2x10
try --shape 10x10 --what-if --compress gzip
try --shape 10x10 --code cobol
try --images missing
h5advise --quiet --calibrate . >out
echo "status $? $(wc -l <out)"
h5advise --quiet --calibrate . -o p.txt >out
echo "status $? $(wc -l <out)"
h5advise --quiet --calibrate . -o p.json --cpus 2 >out
echo "status $? $(wc -l <out)"
