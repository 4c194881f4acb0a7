# --quiet says nothing but what went wrong, and JSON says nothing more
render_samples photos 6 1 40
cp photos/coast/coast_0000.jpg photos/beside.jpg
echo none >photos/desert/none.jpg
: >photos/.hidden
try() {
    h5pack photos --size 8 "$@" >out 2>err
    echo "status $?: $(wc -l <out) lines, $(wc -l <err) said: $*"
}
try -o a.h5
try --quiet -o b.h5
try --json -o c.h5
try --quiet --json -o d.h5
try --quiet --verify -o a.h5
try --verify -o a.h5
try --quiet --dry-run
try --quiet --on-error fail -o e.h5
cat err
try --quiet -o a.h5
cat err
cmp a.h5 b.h5 && cmp a.h5 c.h5 && cmp a.h5 d.h5 && echo 'the same file'
rm photos/beside.jpg photos/desert/none.jpg
try --quiet -o f.h5
try --json --dry-run
grep -c measured out
