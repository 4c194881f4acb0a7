# images that are not read are counted by their kind; small copies and splits are no classes
try() {
    h5pack "$@" --size 8 --quiet --json -o out.h5 --force | grep -E '"(packed|rejected|unread|thumbnails|not_images|GIF|HEIC|BMP|JPEG 2000)":' |
        tr -d ' \n'
    echo
}
render_samples photos 8 1 32
printf 'GIF89a..............' >photos/forest/one.gif
printf 'GIF89a..............' >photos/forest/two.gif
printf '\0\0\0\030ftypheic........' >photos/coast/phone.heic
printf 'BM..................' >photos/coast/old.bmp
printf 'BM..................' >photos/logo.bmp
h5pack photos --size 8 -o out.h5 >report
echo "status $?"
grep -E 'rejected|passed over|ignored' report
try photos
# flat, with the small copies that a program put beside them
mkdir flat flat/thumbs
for image in photos/*/*.jpg; do
    cp "$image" flat
    cp "$image" flat/thumbs
done
h5pack flat --size 8 -o out.h5 --force >report
echo "status $?"
grep -E 'images,|ignored' report
h5ls out.h5/filenames
mkdir -p nested/2019/thumbnails
cp flat/*.jpg nested/2019
cp flat/*.jpg nested/2019/thumbnails
try nested --no-labels
# nothing else
mkdir gifs
cp photos/forest/*.gif gifs
try gifs
# COCO's names, and others of their kind
for names in 'train2017 val2017' 'train_images test_images' 'Training-Set testing'; do
    mkdir splits
    for name in $names; do cp -r photos/forest "splits/$name"; done
    try splits
    rm -r splits
done
mkdir -p classes/trainers classes/valley classes/tester
for name in trainers valley tester; do cp photos/desert/*.jpg classes/$name; done
try classes
