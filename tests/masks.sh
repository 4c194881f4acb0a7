#!/bin/sh
# Segmentation masks beside images are refused with the reason; what is only called so is not.
. "$top_srcdir/tests/tap.sh"
need h5pack h5ls render_samples
cd "$work" || exit 1
render_samples samples 6 1 24 || exit 1
n=0
for image in samples/*/*.jpg; do
    n=$((n + 1))
    cp "$image" $n.jpg
done

# images FOLDER NUMBER...: some of the six, in a folder.
images() {
    mkdir -p "$1"
    folder=$1
    shift
    for i; do cp "$i.jpg" "$folder"; done
}

# masks FOLDER ENDING NUMBER...: files of PNG's extension. What is in them does not matter here.
masks() {
    mkdir -p "$1"
    folder=$1 ending=$2
    shift 2
    for i; do cp 1.jpg "$folder/$i$ending.png"; done
}

# refused SENTENCE WORDS-OF-THE-REASON SOURCE...
refused() {
    sentence=$1 reason=$2
    shift 2
    run h5pack "$@" --size 8 --force -o set.h5
    [ $status -eq 2 ] && is_one_sentence "$work/err" && grep -q "$reason" "$work/err" && [ ! -e set.h5 ]
    good=$?
    ok $good "$sentence"
    [ $good -eq 0 ] || note <"$work/err"
}

# packed SENTENCE NUMBER WORDS-OF-A-REMARK SOURCE...: without any where there are no words.
packed() {
    sentence=$1 number=$2 remark=$3
    shift 3
    run h5pack "$@" --size 8 --force -o set.h5
    [ $status -eq 0 ] && grep -q "^set.h5: $number images" "$work/out" &&
        if [ "$remark" ]; then grep -q "$remark" "$work/err"; else ! grep -q 'mask' "$work/err"; fi
    good=$?
    ok $good "$sentence"
    [ $good -eq 0 ] || cat "$work/out" "$work/err" | note
    rm -f set.h5
}

all='1 2 3 4 5 6'
# shellcheck disable=SC2086 # numbers
for pair in images/masks Images/labels JPEGImages/SegmentationClass img/ground_truth image/annotations; do
    images "data/${pair%/*}" $all
    masks "data/${pair#*/}" '' $all
    refused "$pair" "6 masks, such as 'data/${pair#*/}/1.png' for 'data/${pair%/*}/1.jpg': masks, a label for \
each pixel, are not packed; pack 'data/${pair%/*}' alone; --masks-are-classes takes all with their folders as classes" data
    packed 'alone' 6 '' "data/${pair%/*}"
    packed 'all of them as pictures' 12 "6 images taken as pictures that look like masks of others, first \
'${pair#*/}/1.png'" data --no-labels
    run h5pack data --masks-are-classes --size 8 --force -o set.h5
    [ $status -eq 0 ] && ! grep -q 'mask' "$work/err" && h5ls -d set.h5/labels | grep -q '0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1'
    ok $? 'or as classes'
    rm -r data set.h5
done

# maps FOLDER ENDING NUMBER...: PNG of one channel; of colours in `pictures`.
maps() {
    mkdir -p "$1"
    folder=$1 ending=$2
    shift 2
    for i; do cp map.png "$folder/$i$ending.png"; done
}
"$PYTHON" -c '
import struct, zlib
def chunk(kind, data):
    return struct.pack(">L", len(data)) + kind + data + struct.pack(">L", zlib.crc32(kind + data))
for name, color, pixel in ("map", 0, b"\1"), ("picture", 2, b"\1\2\3"):
    open(name + ".png", "wb").write(b"\x89PNG\r\n\x1a\n" +
        chunk(b"IHDR", struct.pack(">LLBBBBB", 8, 8, 8, color, 0, 0, 0)) +
        chunk(b"IDAT", zlib.compress((b"\0" + 8 * pixel) * 8)) + chunk(b"IEND", b""))' || exit 1

# Classes with folders that are called as those of masks and images.
# shellcheck disable=SC2086
for classes in 'labels img cat' 'image mask other' 'black black_label' 'face face_mask' 'no_mask mask'; do
    for class in $classes; do images "data/$class" $all; done
    set -- $classes
    run h5pack data --size 8 --force -o set.h5
    h5ls set.h5/class_names >names
    [ $status -eq 0 ] && grep -q "^set.h5: $((6 * $#)) images" "$work/out" &&
        grep -q "{$#}" names
    good=$?
    ok $good "classes $classes, of the same names, are classes"
    [ $good -eq 0 ] || cat names "$work/err" | note
    rm -r data set.h5
done
# shellcheck disable=SC2086
{
    images data/image $all
    images data/other $all
    maps data/mask '' $all
    refused 'masks of one channel, beside a folder of another name' "6 masks, such as 'data/mask/1.png' for \
'data/image/1.jpg'" data
    printf 'image\nmask\nother\n' >classes.txt
    packed 'which is a class where it is given as such' 18 '' data --classes classes.txt
    printf 'other\nimage\n' >classes.txt
    refused 'and none where others are given' '6 masks' data --classes classes.txt
    for i in $all; do cp map.png data/image/$i.png; done
    rm data/image/*.jpg
    packed 'but not when the images have one, too' 18 '6 images taken as pictures that look like masks' data
    for i in $all; do cp picture.png data/image/$i.png; done
    refused 'PNG of colours and PNG of one channel' '6 masks' data
    cp picture.png data/mask/3.png
    packed 'of which one has colours' 18 '6 images taken as pictures that look like masks' data
    rm -r data

    for pair in imagesTr/labelsTr images/label_maps images/label_map image_2/semantic images/targets \
        train_images/train_masks images_png/masks_png; do
        images "data/${pair%/*}" $all
        masks "data/${pair#*/}" '' $all
        refused "$pair" "6 masks, such as 'data/${pair#*/}/1.png' for 'data/${pair%/*}/1.jpg'.* pack 'data/${pair%/*}' alone" data
        rm -r data
    done
    mkdir -p data/imagesTr data/leftImg8bit/train/ulm data/gtFine/train/ulm
    for i in $all; do cp $i.jpg data/imagesTr/case_${i}_0000.png; done
    masks data/labelsTr '' case_1 case_2 case_3 case_4
    refused "nnU-Net's" "4 masks, such as 'data/labelsTr/case_1.png' for 'data/imagesTr/case_1_0000.png'.* pack 'data/imagesTr'" data
    rm -r data/imagesTr data/labelsTr
    for i in $all; do
        cp $i.jpg data/leftImg8bit/train/ulm/ulm_00000${i}_000019_leftImg8bit.png
        for kind in labelIds instanceIds color; do
            cp $i.jpg data/gtFine/train/ulm/ulm_00000${i}_000019_gtFine_$kind.png
        done
    done
    refused "Cityscapes'" "18 masks, such as 'data/gtFine/train/ulm/ulm_000001_000019_gtFine_color.png' for .*pack \
'data/leftImg8bit' alone" data
    rm -r data
    for i in $all; do
        images data/id$i/images $i
        masks data/id$i/masks '' a$i b$i c$i
    done
    refused "the Data Science Bowl's" "18 masks, such as 'data/id1/masks/a1.png' for 'data/id1/images/1.jpg': .*; pack a list" data
    find data -path '*/images/*' >list
    packed 'of which a list has the images' 6 '' --list list
    images data/id1/images 2 3
    images data/id2/images 1
    images data/id3/images 1 2
    images data/id4/images 1 2
    packed 'where images are several no mask belongs to one' 31 'look like masks' data
    rm -r data
    images data/train $all
    masks data/train_masks _mask $all
    refused "Carvana's, as PNG" "6 masks, such as 'data/train_masks/1_mask.png' for 'data/train/1.jpg'.* pack 'data/train' alone" data
    masks data/train_masks '' $all
    rm data/train_masks/*_mask.png
    maps data/train_masks '' 1 2 3 4 5 6
    refused 'with the names of the images, and one channel' '6 masks' data
    rm data/train_masks/*.png
    for i in $all; do printf 'GIF89a..............' >data/train_masks/${i}_mask.gif; done
    refused 'as GIF, as they are' "6 images in 'data/train_masks', of a format that is not read, for those in 'data/train': \
masks, .* pack 'data/train' alone; --masks-are" data
    mv data/train data/car
    mv data/train_masks data/car_masks
    refused 'whatever the images are' "for those in 'data/car'" data
    run h5pack data --masks-are-classes --size 8 --force -o set.h5
    [ $status -eq 1 ] && grep -q '^set.h5: 6 images' "$work/out" && grep -q ' 6  passed over: GIF' "$work/out"
    ok $? 'unless it is a class, whose images are not read'
    rm -r data set.h5
    images flat $all
    for i in $all; do cp map.png flat/mask_$i.png; done
    refused 'with mask_ in front' "6 masks, such as 'flat/mask_1.png' for 'flat/1.jpg'" flat
    packed 'unless it is said that they are images' 12 '' flat --masks-are-classes
    rm -r flat
    mkdir flat
    for i in $all; do
        cp $i.jpg flat/${i}_sat.jpg
        cp map.png flat/${i}_mask.png
    done
    refused "DeepGlobe's" "6 masks, such as 'flat/1_mask.png' for 'flat/1_sat.jpg'" flat
    rm -r flat
    run h5pack x --no-labels --masks-are-classes -o set.h5
    [ $status -eq 2 ]
    ok $? 'classes without labels are refused'
}

# shellcheck disable=SC2086
{
    images 'data/images/train' 1 2 3
    images 'data/images/val' 4 5 6
    masks 'data/annotations/trimaps/train' '' 1 2 3
    refused 'in folders of folders' "3 masks, .*; pack 'data/images' alone" data
    refused 'by the folders that images are in' '3 masks, ' data --label-from-folder
    refused 'as two sources' "3 masks, .*; pack 'data/images' alone" data/images data/annotations --label-from-folder
    rm -r data
    images data/cat/images 1 2 3
    masks data/cat/masks _mask 1 2 3
    images data/dog/images 4 5
    refused 'in class folders' "3 masks, such as 'data/cat/masks/1_mask.png' for 'data/cat/images/1.jpg': .*; pack a \
list of the images alone; --list LIST takes one, with" data
    find data ! -path '*mask*' >list
    packed 'which a list leaves out' 5 '' --list list --label-from-folder
    find data -type f >list
    packed 'or takes' 8 '' --list list
    rm -r data

    images flat $all
    masks flat _mask $all
    refused 'beside the images' "6 masks, such as 'flat/1_mask.png' for 'flat/1.jpg': .*; pack a list" flat
    packed 'as files' 6 '' flat/*.jpg
    rm -r flat
    images busi/benign 1 2 3
    masks busi/benign _mask 1 2 3
    masks busi/benign _mask_1 2
    images busi/malignant 4 5
    masks busi/malignant _mask 4 5
    refused 'beside the images in class folders' '6 masks, ' busi
    rm -r busi
    images flat $all
    masks flat/masks '' $all
    refused 'below the images' "6 masks, such as 'flat/masks/1.png' for 'flat/1.jpg'" flat
    rm -r flat

    # what is no mask
    images classes/images 1 2 3
    masks classes/labels '' 4 5 6
    packed 'a class called labels, with names of its own' 6 '' classes
    masks classes/labels '' 3
    packed 'of which one is that of an image' 7 "1 image taken as a picture that looks like the mask of another: \
'labels/3.png'" classes
    rm -r classes
    images classes/mask 1 2 3
    images classes/no_mask 1 2 3
    packed 'classes called mask and no_mask, of the same names' 6 '' classes
    rm -r classes
    images classes/labels 1 2 3
    images classes/cat 1 2 3
    packed 'classes called labels and cat, of the same names' 6 '' classes
    rm -r classes
    images faces $all
    for i in $all; do cp $i.jpg faces/${i}_mask.jpg; done
    packed 'faces in masks, which are photographs' 12 '' faces
    rm -r faces
    images few $all
    masks few _mask 1
    packed 'one of seven' 7 'looks like the mask of another' few
    masks few _mask 2
    refused 'but not a quarter' '2 masks' few
    rm -r few
    # masks beside images and in a folder are counted together
    images flat $all
    masks flat _mask 1 2 3
    masks flat/masks '' 4 5
    refused 'beside and below the images' '5 masks, such as' flat
    rm -r flat
    # more than half of a folder of masks belong to images, or none of them is one
    images data/images $all
    masks data/masks '' 1 2 3 a b c
    packed 'half of a folder of masks' 12 "3 images taken as pictures that look like masks of others, first 'masks/1.png'" data
    masks data/masks '' 4
    refused 'one more' "4 masks, such as 'data/masks/1.png' for 'data/images/1.jpg'" data
    rm -r data
    images few 1 2 3 4 5 6
    masks few/more '' 7 8
    masks few _mask 1 2
    packed 'two of ten beside their images' 10 "2 images taken as pictures that look like masks" few --no-labels
    rm -r few
    masks alone _mask $all
    packed 'masks alone' 6 '' alone
    masks alone/masks '' 1
    run h5pack alone/masks --size 8 --json --force -o set.h5
    [ $status -eq 0 ] && grep -q '"masks": 0' "$work/out"
    ok $? 'which the JSON counts'
}

# Colours of things: one map, as large as its photo; drawings have their own colours, and shades.
"$PYTHON" -c '
import struct, zlib
def chunk(kind, data):
    return struct.pack(">L", len(data)) + kind + data + struct.pack(">L", zlib.crc32(kind + data))
def png(name, w, channels, pixel, h=24):
    rows = b"".join(b"\0" + b"".join(bytes(pixel(x, y)) for x in range(w)) for y in range(h))
    open(name + ".png", "wb").write(b"\x89PNG\r\n\x1a\n" +
        chunk(b"IHDR", struct.pack(">LLBBBBB", w, h, 8, {1: 0, 3: 2}[channels], 0, 0, 0)) +
        chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
def number(n): return n * 40503 % 256
for i in range(1, 7):
    png(f"photo{i}", 24, 3, lambda x, y: (10 * x, 10 * y, (x * y + i) % 256))
    png(f"color{i}", 24, 3, lambda x, y: ((128, 0, 0), (0, 128, 0), (128, 64, 128))[(x + i) // 4 * (y // 9) % 3])
    png(f"drawing{i}", 24, 3, lambda x, y: [number(100 * i + (x // 4 + y // 4 * 6) * 3 + c) for c in range(3)])
    png(f"wide{i}", 25, 3, lambda x, y: ((128, 0, 0), (0, 128, 0))[x > i], 24)
    png(f"high{i}", 24, 3, lambda x, y: ((128, 0, 0), (0, 128, 0))[x > i], 25)
    png(f"digit{i}", 24, 1, lambda x, y: [max(0, 255 - 25 * abs(x - 8 - i) - y)])
    png(f"blank{i}", 24, 3, lambda x, y: (0, 0, 0))' || exit 1

# of KIND FOLDER ENDING: six of them.
of() {
    mkdir -p "$2"
    for i in $all; do cp "$1$i.png" "$2/$i$3.png"; done
}
rm -f set.h5
of photo 'data/ISIC2018_Task1-2_Training_Input' ''
of color 'data/ISIC2018_Task1_Training_GroundTruth' _segmentation
of photo 'data/ISIC2018_Task1-2_Validation_Input' v
of color 'data/ISIC2018_Task1_Validation_GroundTruth' v_segmentation
refused "ISIC's" "12 masks, such as 'data/ISIC2018_Task1_Training_GroundTruth/1_segmentation.png' for \
'data/ISIC2018_Task1-2_Training_Input/1.png': .*; pack 'data/ISIC2018_Task1-2_Training_Input' alone; --masks-are" data
rm -r data/*Validation*
of photo data/others ''
packed 'but not where two images are called so' 18 '' data
rm -r data
for split in train val test; do
    of photo data/$split ''
    of color data/${split}annot ''
done
refused "CamVid's" "18 masks, such as 'data/testannot/1.png' for 'data/test/1.png': .*; --masks-are" data
for split in train val test; do
    of photo data/${split}annot ''
done
packed 'of which no pixels show that they are' 36 '18 images taken as pictures that look like masks' data
rm -r data
of photo flat ''
of color flat _L
refused 'or all in one folder' "6 masks, such as 'flat/1_L.png' for 'flat/1.png': .*; pack a list" flat
packed 'whose masks are pictures where no labels are asked for' 12 '' flat --no-labels
of photo flat _L
packed 'pictures of the left and of both eyes' 12 '' flat
rm -r flat
of photo data/training/image_2 ''
for kind in semantic semantic_rgb instance; do of color data/training/$kind ''; done
refused "KITTI's" "18 masks, such as 'data/training/instance/1.png' for 'data/training/image_2/1.png': .*; pack \
'data/training/image_2' alone" data/training
rm -r data
of photo data/rooms ''
of color data/things ''
refused 'in folders of any names' "6 masks, such as 'data/things/1.png' for 'data/rooms/1.png': masks, a label for \
each pixel, are not packed; pack 'data/rooms' alone; --masks-are-classes takes all with their folders as classes" data
refused 'given as two' "6 masks, such as 'data/things/1.png' for 'data/rooms/1.png'" data/rooms data/things
packed 'unless they are classes' 12 '' data --masks-are-classes
printf 'rooms\nthings\n' >classes.txt
packed 'by the names that are given' 12 '' data --classes classes.txt
of photo data/others ''
packed 'or one of three' 18 '' data
rm -r data/others
for i in $all; do mv data/things/$i.png data/things/${i}_L.png; done
refused 'called otherwise' "6 masks, such as 'data/things/1_L.png' for 'data/rooms/1.png'" data
rm -r data/things
for kind in drawing wide high digit blank photo; do
    of $kind data/things ''
    packed "${kind}s, which are numbered as the others are" 12 '' data
    rm -r data/things
done
of color data/things ''
of color data/rooms ''
packed 'maps of which none has a photo' 12 '' data
of photo data/rooms ''
rm data/rooms/3.png
packed 'one without an image' 11 '' data
rm data/*/[3-6].png
packed 'two are too few to tell' 4 '' data
rm -r data
images data/many $all
for i in 1 2 3 4 5; do
    for j in $all; do cp "$j.jpg" "data/many/$i$j.jpg"; done
done
images data/few $all
masks data/few _mask $all
refused 'masks that are a quarter of one source, not of all' "6 masks, such as 'data/few/1_mask.png'" \
    data/many data/few
rm -r data
of digit data/0 ''
of digit data/1 ''
packed 'digits' 12 '' data
rm -r data
done_testing
