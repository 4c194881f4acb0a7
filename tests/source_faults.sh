#!/bin/sh
# Every single allocation, open and read of listing a tree or of reading a list fails in turn: each
# time there is one sentence and status 2, or the listing of an undisturbed run. (Reads of a list are
# the C library's; test_list has those.)
. "$top_srcdir/tests/tap.sh"
need source_dump cmp
need_shim fault
cd "$work" || exit 1

mkdir -p tree/a/x/y tree/a/x-y tree/b tree/empty tree/.hidden
for name in a/1.jpg a/x/1.jpg a/x/y/2.jpg a/x-y/3.jpg b/1.png b/note tree-1.jpg; do
    echo image >"tree/$name"
done
printf '\377\330\377' >tree/b/unnamed
ln -s .. tree/b/loop
ln -s nowhere tree/b/broken
{
    echo 'path,label,score,note,count'
    for i in $(seq 300); do echo "images/$i.jpg,class $((i % 7)),$i.5,\"some, \"\"words\"\"\",$i"; done
} >list.csv

# every_call CALL SENTENCE ARGUMENT...
every_call() {
    call=$1 sentence=$2
    shift 2
    source_dump "$@" >want 2>want.err || { echo "Bail out! source_dump $* fails"; exit 1; }
    n=0 bad=0 failed=0 FAULT_CALL=$call FAULT_HOW=EIO
    export FAULT_CALL FAULT_HOW
    while :; do
        n=$((n + 1))
        rm -f report
        FAULT_N=$n FAULT_REPORT=$work/report LD_PRELOAD=$shim source_dump "$@" >got 2>got.err
        status=$?
        grep -q '^hit' report || break
        if [ $status -eq 2 ] && [ ! -s got ] && [ "$(wc -l <got.err)" -eq 1 ]; then
            failed=$((failed + 1))
        elif [ $status -ne 0 ] || ! cmp -s got want || ! cmp -s got.err want.err; then
            bad=$((bad + 1))
            echo "# call $n: status $status, $(head -n 1 got.err)"
        fi
    done
    [ $bad -eq 0 ] && [ $failed -gt 0 ]
    ok $? "$sentence ($((n - 1)) calls, $failed of them fatal)"
}

# Lists of which the files say what they are.
printf 'a\tb.jpg\nc\td.jpg\n' >tabs.txt
printf '3 a b.jpg\n4 c.jpg\n' >labels.txt
printf 'dog, a.jpg\ncat, b.jpg\n' >commas.txt
printf ' a b.jpg\n c.jpg \n' >blanks.txt
printf 'image\nimage/x\n' >folders.txt
printf 'a 1\nb 2\n' >unlike.txt
printf 'id,file,image\n1,2,c.jpg\n' >names.csv
printf '2\nBald Young\nc.jpg 1 -1\na 1 1\n' >celeba.txt
mkdir image
for name in "$(printf 'a\tb.jpg')" ' a b.jpg' c.jpg 'dog, a.jpg' 'a 1' image/x; do
    echo image >"$name"
done

every_call memory 'memory runs out while listing folders' tree
every_call memory 'memory runs out while listing without labels' --no-labels tree
for list in list.csv tabs.txt labels.txt commas.txt blanks.txt folders.txt unlike.txt names.csv \
    celeba.txt; do
    every_call memory "memory runs out while reading $list" --list $list
done
every_call open 'folders and files cannot be opened' tree
every_call read 'files without extension cannot be read' tree
every_call open 'a list cannot be opened' --list list.csv

# Labels of more images than their table begins with.
awk 'BEGIN {
    printf "{\"images\": ["
    for (i = 0; i < 3000; i++) printf "%s{\"id\": %d, \"file_name\": \"%d.jpg\"}", i ? ", " : "", i, i
    printf "], \"annotations\": ["
    for (i = 0; i < 3000; i++) printf "%s{\"id\": %d, \"image_id\": %d, \"category_id\": %d}", i ? ", " : "", i, i, i % 7 + 1
    printf "], \"categories\": ["
    for (i = 1; i < 8; i++) printf "%s{\"id\": %d, \"name\": \"k%d\"}", (i == 1 ? "" : ", "), i, i
    print "]}"
}' >many.json
timeout 60 source_dump --list many.json 2>got.err | tr '\0' '\n' >got
[ "$(grep -c '\.jpg$' got)" -eq 3000 ] && [ "$(grep -n 2999 got | tr -s ' \t' ' ')" = '3000:3 2999.jpg' ]
ok $? 'COCO labels of 3000 images'
[ -s got.err ] && note <got.err

# Two disks, the roots of which have the same inode number.
mkdir disk_a disk_b
two_disks='mount -t tmpfs none disk_a && mount -t tmpfs none disk_b && echo image >disk_a/1.jpg &&
    echo image >disk_b/2.jpg && [ "$(stat -c %i disk_a)" = "$(stat -c %i disk_b)" ]'
if unshare -rm sh -c "$two_disks" 2>/dev/null; then
    unshare -rm sh -c "$two_disks && source_dump disk_a disk_b" 2>got.err | tr '\0' '\n' >got
    [ "$(grep -c 'disk_[ab]/[12].jpg$' got)" -eq 2 ]
    ok $? 'roots of two disks are two folders'
    [ -s got.err ] && note <got.err
else
    skip 'no disks can be mounted here'
fi
done_testing
