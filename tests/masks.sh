#!/bin/sh
# Segmentation masks beside images are refused with the reason; what is only called so is not.
. "$top_srcdir/tests/tap.sh"
need h5pack render_samples
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
each pixel, are not packed; pack 'data/${pair%/*}' alone; --no-labels takes them all" data
    packed 'alone' 6 '' "data/${pair%/*}"
    packed 'all of them as pictures' 12 "6 images taken as pictures that look like masks of others, first \
'${pair#*/}/1.png'" data --no-labels
    rm -r data
done

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
    masks alone _mask $all
    packed 'masks alone' 6 '' alone
    masks alone/masks '' 1
    run h5pack alone/masks --size 8 --json --force -o set.h5
    [ $status -eq 0 ] && grep -q '"masks": 0' "$work/out"
    ok $? 'which the JSON counts'
}
done_testing
