# what h5readbench cannot do is refused in one sentence each, with status 2
try() {
    h5readbench --no-trial --quiet --seed 1 "$@" >out
    echo "status $? $(wc -l <out)"
}
render_samples photos 12 1 32 >rendered
h5pack -q photos --size 8x6 --chunk 4 -o one.h5 >packed
cp one.h5 two.h5
try
try one.h5 --images photos
try --images photos
try --images photos --shorter 8
try --images photos --size 8 --crop 9
try --images photos --size 8 --consumer checksum
try --images photos --size 8 --mean 1,2 --consumer null
printf '0\t0\t0\t0\t1\t8\t6\t3\n' >trace.tsv
try --images photos --size 8 --pattern trace:trace.tsv
for read in span batch; do
    try one.h5 --pattern trace:trace.tsv --read $read
done
try one.h5 two.h5 --with labels
try one.h5 --with nothing
try one.h5 --dataset labels --crop 4
try one.h5 --crop 9x6
try one.h5 --box 1x2
try one.h5 --rank 3/2
try one.h5 --pattern block:chunks=0
try one.h5 --preset odd
for time in 5 5m -1ms 1000000000s ms 2e9s 1ms1; do
    try one.h5 --step "$time"
done
try one.h5 --delay 3
try one.h5 --stall 3
try one.h5 --hand-over pytorch --sample-cost 3
try one.h5 --hand-over pytorch --batch-cost 3
try one.h5 --sample-cost 3us
try one.h5 --batch-cost 3us
for list in 1,2 1,2,3,4 x 1,2,3x 1,,2 ''; do
    try one.h5 --consumer null --mean "$list"
    try one.h5 --consumer null --std "$list"
done
try one.h5 --consumer null --std 0
try one.h5 --batch 13 --drop-last
try one.h5 --batch 12 --pattern sequential --drop-last --rank 0/2
try one.h5 --epochs 1048577
try one.h5 --epochs 1048576 --workers 65
try one.h5 --batch 16777217
ls
