#!/bin/sh
# The commands of h5pack-data(7) pack what the page says they pack, on small folders of that form.
. "$top_srcdir/tests/tap.sh"
need h5pack h5ls render_samples
page=$top_srcdir/man/h5pack-data.7
cd "$work" || exit 1

# flat FOLDER PREFIX: the images of samples/ in one folder, numbered
flat() {
    mkdir -p "$1"
    i=0
    for image in samples/*/*.jpg; do
        i=$((i + 1))
        cp "$image" "$1/$2$i.jpg"
    done
}

# a PNG of 9x7 samples of 16 bits
scan() {
    "$PYTHON" -c '
import struct, sys, zlib
def chunk(kind, data):
    return struct.pack(">L", len(data)) + kind + data + struct.pack(">L", zlib.crc32(kind + data))
rows = b"".join(b"\0" + struct.pack(">9H", *(65 * (9 * y + x) for x in range(9))) for y in range(7))
sys.stdout.buffer.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">LLBBBBB", 9, 7, 16, 0, 0, 0, 0)) +
                        chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))'
}

folders() {
    render_samples samples 8 1 40 || return
    mkdir -p imagenet data cifar annotations scans/train scans/val photos/2019/07 photos/2020
    cp -r samples imagenet/train
    flat imagenet/val ILSVRC2012_val_0000000
    classes=$(find samples -mindepth 1 -type d | wc -l)
    for i in 1 2 3 4 5 6 7 8; do echo "ILSVRC2012_val_0000000$i.jpg $((i % classes))"; done >val.txt
    cp -r samples data/train
    cp -r samples data/val
    rm -r "$(find data/val -mindepth 1 -type d | sort | head -n 1)"
    mkdir img_align_celeba
    for i in 1 2 3 4; do
        cp "$(find samples -name '*.jpg' | sort | head -n 1)" img_align_celeba/00000$i.jpg
    done
    printf '4\nSmiling Young\n000001.jpg -1  1\n000002.jpg  1  1\n000003.jpg -1 -1\n000004.jpg  1 -1\n' \
        >list_attr_celeba.txt
    printf '000001.jpg 2880\n000002.jpg 2937\n000003.jpg 8692\n000004.jpg 5805\n' >identity_CelebA.txt
    flat val2017 00000000000
    cat >annotations/instances_val2017.json <<'JSON'
{"info": {"year": 2017}, "images": [{"id": 1, "file_name": "000000000001.jpg", "height": 40, "width": 40},
 {"id": 2, "file_name": "000000000002.jpg", "height": 40, "width": 40}],
 "annotations": [{"id": 9, "image_id": 2, "category_id": 18, "bbox": [0, 0, 4, 4]},
 {"id": 8, "image_id": 1, "category_id": 1, "bbox": [0, 0, 4, 4]}],
 "categories": [{"id": 1, "name": "person"}, {"id": 18, "name": "dog"}]}
JSON
    cp -r img_align_celeba cifar-class
    mkdir -p cifar/train
    mv cifar-class cifar/train/airplane
    cp -r cifar/train/airplane cifar/train/truck
    flat train_images ''
    printf 'image_id,label,age\n1.jpg,cat,3\n2.jpg,dog,4\n3.jpg,cat,5\n' >train.csv
    flat whatsapp IMG-20190701-WA000
    mkdir whatsapp/thumbs
    cp whatsapp/*.jpg whatsapp/thumbs
    : >whatsapp/.nomedia
    printf 'GIF89a..............' >whatsapp/VID-20190702-WA0001.gif
    cp whatsapp/*1.jpg photos/2019/07
    cp whatsapp/*2.jpg photos/2020
    render_samples panoramas 3 2 300
    scan >scans/train/1.png
    scan >scans/train/2.png
    scan >scans/val/3.png
    scan >scans/val/4.png
    flat voc/JPEGImages 2007_00000
    flat voc/SegmentationClass 2007_00000
    flat people/img ''
    flat people/mask ''
    cp -r samples busi
    for image in busi/*/*.jpg; do scan >"${image%.jpg}_mask.png"; done
}
"$PYTHON" -c 'import zlib' 2>/dev/null || skip_all 'there is no Python here'
folders || exit 1

# FILE STATUS IMAGES WHAT-IS-IN-IT
cat >wanted <<'TEXT'
imagenet-train 0 8 labels
imagenet-val 0 8 labels
train 0 8 labels
val 0 7 labels
celeba 0 4 Smiling
identities 0 4 labels
coco-val 0 2 labels
cifar-train 0 8 labels
kaggle 0 3 age
phone 1 8 filenames
photos 0 2 filenames
panoramas 0 3 images
scans 0 2 filenames
scans-val 0 2 filenames
voc 0 8 filenames
busi 0 8 labels
people 0 16 labels
TEXT
${AWK} '/^\.EX/ { inside = 1; next } /^\.EE/ { inside = 0 }
    inside { gsub(/\\-/, "-"); gsub(/\\e/, "\\"); gsub(/\\\(aq/, "\047"); gsub(/\\\(dq/, "\"") }
    inside && /^\$ / { n++; sub(/^\$ /, "") }
    inside { print >sprintf("%03d.sh", n) }' "$page"
for script in 0*.sh; do
    name=$(sed -n 's/.*-o \([a-z-]*\)\.h5.*/\1/p' "$script")
    read -r status images inside <<LINE
$(sed -n "s/^$name //p" wanted)
LINE
    sh "./$script" >got 2>&1 </dev/null
    got=$?
    [ "$got" = "${status:-none}" ] && grep -q "^$name.h5: $images images" got &&
        h5ls "$name.h5/$inside" >>got 2>&1
    good=$?
    ok $good "$(tr '\n' ' ' <"$script" | sed 's/\\ */ /g; s/  */ /g')"
    [ $good -eq 0 ] || note <got
    echo "$name" >>seen
done
h5pack scans/train --gray --json --force -o dim.h5 >got 2>&1
grep -q "2 images of 16 bits use 12 of them at most and are nearly black: --scale16 auto scales their range to 0 to 255, --scale16 0:4095" got &&
    grep -q '"dim_16bit": 2' got
ok $? 'scans of 12 bits in 16 are told of, with what scales them'
h5dump -d images -s 0,0,0 -c 1,1,9 scans.h5 >/dev/null &&
    h5pack scans/train --gray --scale16 0:4095 --force -o dim.h5 >got 2>&1 && ! grep -q 'nearly black' got &&
    h5dump -d images -s 1,6,0 -c 1,1,9 -w 0 dim.h5 >>got &&
    grep -q '(1,6,0): 219, 223, 227, 231, 235, 239, 243, 247, 251' got
ok $? 'which they are then'
h5pack scans/train --gray --scale16 auto --force -o dim.h5 >got 2>&1 && ! grep -q 'nearly black' got &&
    grep -q '^  scale16   0:4030 became' got && h5dump -a images/scale16 dim.h5 | grep -q '(0): 0, 4030$' &&
    h5dump -d images -s 1,6,0 -c 1,1,9 -w 0 dim.h5 >>got &&
    grep -q '(1,6,0): 222, 226, 230, 234, 239, 243, 247, 251, 255' got
ok $? 'or, by auto, from the range that they have'
for folder in voc busi; do
    h5pack $folder --size 64 -o masks.h5 >got 2>&1
    [ $? -eq 2 ] && grep -q "^h5pack: 8 masks, such as '.*' for '.*': masks, a label for each pixel, are not" got && [ ! -e masks.h5 ]
    ok $? "masks in $folder are refused with the reason"
done
for range in 4095 0: :9 9:9 9:8 0:65536 -1:9 +0:9 0:9x; do
    h5pack scans/train --scale16 "$range" -o bad.h5 2>&1 | grep -q 'is not a range'
    ok $? "--scale16 $range is refused"
done
[ "$(sort seen | tr '\n' ' ')" = "$(cut -d ' ' -f 1 wanted | sort | tr '\n' ' ')" ]
ok $? 'the page has all of them'
[ "$(grep -c '^\.SS' "$page")" -ge 12 ]
ok $? 'twelve kinds of data set are there'
if command -v mandoc >/dev/null 2>&1; then
    mandoc -T lint -W warning "$page" >lint 2>&1
    ok $? 'the page is clean for mandoc'
    note <lint
else
    skip 'there is no mandoc here'
fi
done_testing
