#!/bin/sh
# Each form of list end to end: what h5pack says it takes it for, and the names, labels and classes
# that are in the file afterwards.
. "$top_srcdir/tests/tap.sh"
export PATH
"$PYTHON" -c 'import h5py' 2>/dev/null || skip_all "no h5py for $PYTHON"
cd "$work" || exit 1
render_samples photos 4 1 24 >/dev/null || exit 1
n=0
for image in photos/*/*; do # a.jpg to d.jpg, "my e.jpg"
    n=$((n + 1))
    cp "$image" "$(echo $n | tr 1234 abcd).jpg"
done
cp a.jpg 'my e.jpg'
cp b.jpg 'Smith, J.jpg'

# What is in each file that is named on standard input, on a line of its own.
cat >show.py <<'END'
import sys, h5py

def shown(f):
    text = lambda name: [s.decode().rstrip('\0') for s in f[name][:]]
    labels = f['labels'][:] if 'labels' in f else None
    yield ' '.join(n if labels is None else f'{n}={labels[i]}'
                   for i, n in enumerate(text('filenames')))
    if 'class_names' in f:
        yield ' '.join(['classes', *text('class_names')])
    for name in sorted(f):
        if name not in ('images', 'labels', 'filenames', 'class_names', 'original_size'):
            yield ' '.join([name, *map(str, f[name][:].tolist())])

for path in sys.stdin:
    try:
        with h5py.File(path.rstrip('\n'), 'r') as f:
            print('|'.join(shown(f)), flush=True)
    except Exception as e:
        print(repr(e), flush=True)
END
mkfifo asked shown
PYTHONUTF8=1 "$PYTHON" show.py <asked >shown 2>/dev/null &
exec 3>asked 4<shown

# packed WHAT SAID WANT OPTIONS...: the remark, and what show.py prints.
packed() {
    what=$1 said=$2 want=$3
    shift 3
    h5pack "$@" --size 8 -f -o out.h5 >out 2>err
    status=$?
    echo out.h5 >&3
    IFS= read -r got <&4
    rm -f out.h5
    [ $status -eq 0 ] && [ "$(cat err)" = "${said:+h5pack: $said}" ] && [ "$got" = "$want" ]
    ok $? "$what"
    [ "$status $got" = "0 $want" ] || note "status $status, got $got"
    [ "$(cat err)" = "${said:+h5pack: $said}" ] || note <err
}

# refused WHAT SENTENCE OPTIONS...
refused() {
    what=$1 sentence=$2
    shift 2
    run h5pack "$@" --size 8 -f -o out.h5
    [ $status -eq 2 ] && [ "$(cat "$work/err")" = "h5pack: $sentence" ] && [ ! -e out.h5 ]
    ok $? "$what"
    [ "$(cat "$work/err")" = "h5pack: $sentence" ] || note <"$work/err"
}

# Names with labels counted up from 0.
counted() {
    i=0
    for name; do
        printf '%s%s=%d' "$([ $i -eq 0 ] || echo ' ')" "$name" $i
        i=$((i + 1))
    done
}

paths='takes each line as path; no header'
two='takes column 1 as path, column 2 as label; no header'

printf 'b.jpg\nmy e.jpg\na.jpg\n' >list
packed 'one path per line' "list: $paths" 'b.jpg my e.jpg a.jpg' --list list
find photos | LC_ALL=C sort >found
packed 'what find prints, through a pipe, with the folders as classes' "-: $paths" \
    "$(counted photos/*/*)|classes coast desert forest fruit" \
    --list - --label-from-folder <found
printf 'a.jpg\0my e.jpg\0' >nul
packed 'paths that end in NUL' "nul: $paths" 'a.jpg my e.jpg' --list nul --null

printf 'b.jpg 7\na.jpg 0\n' >val.txt
packed "ImageNet's val.txt" "val.txt: $two" 'b.jpg=7 a.jpg=0' --list val.txt
printf 'dog\ncat\n' >classes.txt
printf 'b.jpg 1\na.jpg 0\n' >val.txt
packed 'with numbers of given classes' "val.txt: $two" 'b.jpg=1 a.jpg=0|classes dog cat' \
    --list val.txt --classes classes.txt
printf 'my e.jpg 3\na.jpg 4\n' >list.txt
packed "Caffe's list.txt with a blank in a name" "list.txt: $two" 'my e.jpg=3 a.jpg=4' \
    --list list.txt
printf 'a.jpg red cat\nb.jpg dog\n' >list.txt
packed 'labels of two words' "list.txt: $two" 'a.jpg=1 b.jpg=0|classes dog red cat' \
    --list list.txt
printf 'a.jpg, cat\r\n"Smith, J.jpg", dog\r\n' >commas
packed 'commas, quotes, blanks and CRLF' "commas: $two" 'a.jpg=0 Smith, J.jpg=1|classes cat dog' \
    --list commas
printf 'a.jpg\tcat\rb.jpg\tdog\r' >mac
packed 'tabs and CR' "mac: $two" 'a.jpg=0 b.jpg=1|classes cat dog' --list mac
printf '12\t1.000000\tmy e.jpg\n3\t0.000000\tb.jpg\n' >data.lst
packed "im2rec's list" \
    'data.lst: takes column 3 as path, column 2 as label, leaves out 1; no header' \
    'my e.jpg=1 b.jpg=0' --list data.lst
printf 'my e.jpg\n' >one
packed 'a name with a blank that could be a label and a path' "one: $paths" 'my e.jpg' --list one
printf 'cat b.jpg\ndog a.jpg\n' >labels-first
packed 'label and path that could be a name with a blank' \
    'labels-first: takes column 2 as path, column 1 as label; no header' \
    'b.jpg=0 a.jpg=1|classes cat dog' --list labels-first
printf 'cat x.jpg\n' >neither
ask="a line such as 'cat x.jpg' may be one path, or a label and a path, and there is no file of either name"
refused 'where no file decides it is asked' \
    "'neither': $ask; --path-column N says which column it is, counted from 1, and 0 that each line is a path" \
    --list neither

printf '\357\273\277,Image,Category,x\n0,a.jpg,cat,1\n1,b.jpg,dog,2.5\n' >pandas.csv
packed "pandas' index, a byte order mark, names in any case" \
    "pandas.csv: takes column 2, 'Image', as path, column 3, 'Category', as label, 1 more as dataset, leaves out 1; header" \
    'a.jpg=0 b.jpg=1|classes cat dog|x 1.0 2.5' --list pandas.csv
printf 'path,label,\na.jpg,1,\nb.jpg,0\n,,\n' >excel.csv
packed "Excel's commas at the end, and its empty rows" \
    "excel.csv: takes column 1, 'path', as path, column 2, 'label', as label, leaves out 1; header" \
    'a.jpg=1 b.jpg=0' --list excel.csv
printf 'image_id,Smiling,Young\na.jpg,1,-1\nb.jpg,-1,1\n' >list_attr_celeba.csv
packed "Kaggle's list_attr_celeba.csv" \
    "list_attr_celeba.csv: takes column 1, 'image_id', as path, 2 more as datasets; header" \
    'a.jpg b.jpg|Smiling 1 -1|Young -1 1' --list list_attr_celeba.csv
printf '2\nSmiling Young\na.jpg  1 -1\nb.jpg -1  1\n' >list_attr_celeba.txt
packed "CelebA's list_attr_celeba.txt" \
    "list_attr_celeba.txt: takes column 1 as path, 2 more as datasets; CelebA's table" \
    'a.jpg b.jpg|Smiling 1 -1|Young -1 1' --list list_attr_celeba.txt
printf 'id,picture,breed,mask\n1,a.jpg,cat,b.jpg\n2,b.jpg,dog,a.jpg\n' >breeds.csv
packed 'columns given by name' \
    "breeds.csv: takes column 2, 'picture', as path, column 3, 'breed', as label, 2 more as datasets; header" \
    "a.jpg=0 b.jpg=1|classes cat dog|id 1 2|mask b'b.jpg' b'a.jpg'" \
    --list breeds.csv --path-column picture --label-column breed
packed 'columns given by number' \
    "breeds.csv: takes column 4, 'mask', as path, 3 more as datasets; header" \
    "b.jpg a.jpg|breed b'cat' b'dog'|id 1 2|picture b'a.jpg' b'b.jpg'" \
    --list breeds.csv --path-column 4 --label-column 0
printf 'path\tb.jpg\nlabel\ta.jpg\n' >odd.tsv
packed 'a first line that is no header' \
    'odd.tsv: takes column 2 as path, column 1 as label; no header' \
    'b.jpg=1 a.jpg=0|classes label path' --list odd.tsv --no-header

printf '{"file_name": "b.jpg", "label": "dog", "n": 1, "boxes": [[1, 2]]}\n\n{"n": null, "label": "cat", "file_name": "my e.jpg"}\n' >metadata.jsonl
packed 'JSON lines' \
    "metadata.jsonl: takes 'file_name' as path, 'label' as label, 1 more as dataset; JSON lines" \
    'b.jpg=1 my e.jpg=0|classes cat dog|n 1.0 nan' --list metadata.jsonl
printf '"b.jpg"\n"my \\u0065.jpg"\n' >texts.json
packed 'lines in quotes, as jq .path prints' 'texts.json: takes column 1 as path; JSON values' 'b.jpg my e.jpg' \
    --list texts.json
printf '["b.jpg","dog"]\n["my e.jpg","cat"]\n' >arrays.json
packed 'an array in each line, as jq -c prints' \
    'arrays.json: takes column 1 as path, column 2 as label; JSON values' 'b.jpg=1 my e.jpg=0|classes cat dog' \
    --list arrays.json
printf 'path\tlabel\n"b.jpg"\t"a ""big""\tdog"\n"my e.jpg"\tcat\n' >quoted.tsv
packed 'a TSV with quotes' "quoted.tsv: takes column 1, 'path', as path, column 2, 'label', as label; header" \
    "b.jpg=0 my e.jpg=1|classes a \"big\"	dog cat" --list quoted.tsv
printf 'path\tlabel\tnote\nb.jpg\tdog\t"in two\nlines"\na.jpg\tcat\tx\n' >breaks.tsv
packed "line breaks in quotes, as pandas' to_csv(sep='\\t') writes them" \
    "breaks.tsv: takes column 1, 'path', as path, column 2, 'label', as label, 1 more as dataset; header" \
    "b.jpg=1 a.jpg=0|classes cat dog|note b'in two\\nlines' b'x'" --list breaks.tsv
printf 'path\tlabel\tnote\n' >breaks.tsv
i=0
while [ $i -lt 150 ]; do # more than the beginning that a list is recognised by
    printf 'b.jpg\tdog\t"%020000d\nb.jpg\tcat\n"\n' $i
    i=$((i + 1))
done >>breaks.tsv
run h5pack --list breaks.tsv --size 8 -f -o out.h5
[ $status -eq 0 ] && grep -q '^out.h5: 150 images' "$work/out"
ok $? 'in a list of a megabyte'
mkdir VOC
cp a.jpg VOC/2008_000001.jpg
cp b.jpg VOC/2008_000002.jpg
printf '2008_000001 -1\n2008_000002  1\n' >cat_train.txt
packed "VOC's images of a class" "cat_train.txt: $two; paths get .jpg behind them" \
    '2008_000001.jpg=-1 2008_000002.jpg=1' --list cat_train.txt VOC
printf '1 2008_000001\n-1 2008_000002\n' >cat_train.txt
packed 'with the labels in front' "cat_train.txt: takes column 2 as path, column 1 as label; no header; paths get .jpg behind them" \
    '2008_000001.jpg=1 2008_000002.jpg=-1' --list cat_train.txt VOC
printf '2008_000001 2008_000002\n' >cat_train.txt
refused 'two that may be images' "'cat_train.txt': no column of it is known to be the path, it starts with \
'2008_000001 2008_000002'; --path-column N says which column it is, counted from 1, and 0 that each line is a path" \
    --list cat_train.txt VOC
printf 'path,label\na.jpg,1\n' | iconv -t UTF-16LE >wide.csv
refused 'UTF-16 without a mark' "'wide.csv' is UTF-16 text, as Excel's \"Unicode Text\" and PowerShell write it: save it \
as CSV UTF-8, or convert it, by iconv -f UTF-16LE -t UTF-8 wide.csv" --list wide.csv
mkdir "it's"
cp wide.csv "it's"
run h5pack --list "it's/wide.csv" --size 8 -f -o out.h5
[ $status -eq 2 ] && sh -c "$(sed -n 's/.*by \(iconv.*\)/\1/p' "$work/err")" | head -n 1 | grep -qx 'path,label'
ok $? 'what converts it runs, where the path has a quote'
rm -r "it's"
printf '[{"path": "b.jpg", "label": NaN, "n": 1.5}, {"path": "a.jpg", "label": 4, "n": NaN}]' >nan.json
packed "NaN, as Python's json writes it" "nan.json: takes 'path' as path, 'label' as label, 1 more as dataset; JSON array" \
    'b.jpg=-1 a.jpg=4|n 1.5 nan' --list nan.json
printf 'image_id,label\nb,1\na,0\n' >ids.csv
packed 'ids without ending, as Kaggle has them' \
    "ids.csv: takes column 1, 'image_id', as path, column 2, 'label', as label; header; paths get .jpg behind them" \
    'b.jpg=1 a.jpg=0' --list ids.csv
printf 'image_id,label\nb,1\na.jpg,0\n' >ids.csv
run h5pack --list ids.csv --size 8 -f -o out.h5
[ $status -eq 1 ] && grep -q "'b': cannot be opened" "$work/err" && ! grep -q 'paths get' "$work/err"
ok $? 'but not when one has an ending'

# A header of names that are not known, above ids: Kaggle's "id,breed", "id_code,diagnosis".
mkdir ids
for i in 0 1 2 3 4 5 6 7 8 9 10 11; do cp a.jpg ids/k$i.jpg; done
rows() { # HEADER SEPARATOR
    echo "id$2$1"
    for i in 0 1 2 3 4 5 6 7 8 9 10 11; do echo "k$i$2$i"; done
}
grades='k0.jpg k1.jpg k2.jpg k3.jpg k4.jpg k5.jpg k6.jpg k7.jpg k8.jpg k9.jpg k10.jpg k11.jpg|grade 0 1 2 3 4 5 6 7 8 9 10 11'
for separator in ',' ';' ' ' "$(printf '\t')"; do
    rows grade "$separator" >kaggle.txt
    packed "a header of unknown names, cut by '$separator'" \
        "kaggle.txt: takes column 1, 'id', as path, 1 more as dataset; header; paths get .jpg behind them" \
        "$grades" --list kaggle.txt ids
done
labels='k0.jpg=0 k1.jpg=1 k2.jpg=2 k3.jpg=3 k4.jpg=4 k5.jpg=5 k6.jpg=6 k7.jpg=7 k8.jpg=8 k9.jpg=9 k10.jpg=10 k11.jpg=11'
rows grade , >kaggle.csv
packed 'by numbers of columns, too' \
    "kaggle.csv: takes column 1, 'id', as path, column 2, 'grade', as label; header; paths get .jpg behind them" \
    "$labels" --list kaggle.csv --path-column 1 --label-column 2 ids
sed 1d kaggle.csv >rows.csv
packed 'the same without a header' \
    'rows.csv: takes column 1 as path, column 2 as label; no header; paths get .jpg behind them' \
    "$labels" --list rows.csv ids
sed '1s/.*/none,7/' kaggle.csv >gone.csv
run h5pack --list gone.csv --size 8 -f -o out.h5 ids
[ $status -eq 1 ] && grep -q "'ids/none.jpg': cannot be opened" "$work/err" && grep -q 'no header' "$work/err"
ok $? 'a first image that is not there is no header where all its cells are like those below'
sed '5s/.*/none,4/' kaggle.csv >gone.csv
run h5pack --list gone.csv --size 8 -f -o out.h5 ids
[ $status -eq 1 ] && grep -q "'ids/id.jpg': cannot be opened" "$work/err" && grep -q 'no header' "$work/err"
ok $? 'nor where others are not there'
rm -r ids

printf 'a.jpg 99999999999999999999\nb.jpg 7\n' >wide.txt
packed 'labels too large for numbers' \
    'wide.txt: takes column 1 as path, column 2 as label; no header; labels too large for numbers: all are names of classes' \
    'a.jpg=1 b.jpg=0|classes 7 99999999999999999999' --list wide.txt
printf 'a.jpg 2\nb.jpg NA\ne.jpg 10\n' >na.txt
cp a.jpg e.jpg
packed 'numbers of which one is none' \
    "na.txt: takes column 1 as path, column 2 as label; no header; label 'NA' is no number: all are names of classes" \
    'a.jpg=1 b.jpg=2 e.jpg=0|classes 10 2 NA' --list na.txt
rm e.jpg
printf 'a.jpg\n./a.jpg\nb.jpg\n.//./b.jpg\n' >again.txt
packed 'rows that name an image again, by another path' \
    "again.txt: takes each line as path; no header; 2 rows name an image again, first './a.jpg'" \
    'a.jpg ./a.jpg b.jpg .//./b.jpg' --list again.txt
refused 'an image that is not there' "cannot open 'nothere.png': No such file or directory" nothere.png
printf '[{"file_name":"b.jpg","label":"dog","n":1},\n {"file_name":"my e.jpg","label":"cat","n":null}]' >records.json
packed "a JSON array of objects" \
    "records.json: takes 'file_name' as path, 'label' as label, 1 more as dataset; JSON array" \
    'b.jpg=1 my e.jpg=0|classes cat dog|n 1.0 nan' --list records.json
printf '{"path":"b.jpg","label":0.1,"id":12345678901234567890}\n{"path":"a.jpg","label":"x","id":12345678901234567891}' >numbers.jsonl
packed 'numbers of JSON lines that float64 would change' \
    "numbers.jsonl: takes 'path' as path, 'label' as label, 1 more as dataset; JSON lines" \
    "b.jpg=0 a.jpg=1|classes 0.1 x|id b'12345678901234567890' b'12345678901234567891'" \
    --list numbers.jsonl
printf '{\n "labels": [\n ["b.jpg", 4],\n ["my e.jpg", 0]\n ],\n "x": [' >dataset.json
packed "StyleGAN's dataset.json, of which the rest does not count" \
    "dataset.json: takes column 1 as path, column 2 as label; StyleGAN's dataset.json" \
    'b.jpg=4 my e.jpg=0' --list dataset.json
head -c 40 dataset.json >cut.json
refused "StyleGAN's cut short" 'cut.json:4: element 2: ends too early' --list cut.json
printf '{"labels": null}' >null.json
refused "StyleGAN's without labels" \
    "'null.json': 'labels' is null, it names no images: the folder that they are in is the source, without a list; --no-labels takes them all" \
    --list null.json
printf '{"my e.jpg": "dog", "b.jpg": "cat"}' >labels.json
packed 'an object of paths and labels' \
    'labels.json: takes each key as path, each value as label; JSON object' \
    'my e.jpg=1 b.jpg=0|classes cat dog' --list labels.json
printf '{"labels": [["b.jpg", [0, 1]]]}' >one-hot.json
refused 'labels of several numbers' \
    'one-hot.json:1: element 1: value 2 is an array or object: an image has one label, a number or a text; --label-column N says which column it is, counted from 1, and 0 that there is none' \
    --list one-hot.json
packed 'which are left out when asked' \
    "one-hot.json: takes column 1 as path, leaves out 1; StyleGAN's dataset.json" \
    'b.jpg' --list one-hot.json --label-column 0
cat >instances.json <<'END'
{"info": {"images": "none"}, "images": [
  {"id": 30, "file_name": "c.jpg", "width": 24}, {"file_name": "a.jpg", "id": 10},
  {"id": 20, "file_name": "b.jpg"}],
 "annotations": [
  {"id": 1, "image_id": 10, "category_id": 90, "segmentation": [[1, 2.5]], "bbox": [0, 0, 1, 1]},
  {"id": 2, "image_id": 10, "category_id": 1, "segmentation": {"counts": "\"]}"}},
  {"id": 3, "image_id": 30, "category_id": 18}, {"image_id": 99, "category_id": 1}],
 "categories": [{"id": 90, "name": "toothbrush"}, {"id": 1, "name": "person"},
  {"id": 18, "name": "dog"}]}
END
packed "COCO's instances" \
    'instances.json: takes file_name as path, the first category of each image as label (1 have several, 1 none), image_id as dataset; COCO' \
    'c.jpg=1 a.jpg=2 b.jpg=-1|classes person dog toothbrush|image_id 30 10 20' --list instances.json
sed 's/90/4294967297/g; s/: 18/: 3000000000/g' instances.json >large.json
packed "ids beyond 32 bits, in their order" \
    'large.json: takes file_name as path, the first category of each image as label (1 have several, 1 none), image_id as dataset; COCO' \
    'c.jpg=1 a.jpg=2 b.jpg=-1|classes person dog toothbrush|image_id 30 10 20' --list large.json
# (the categories of another part may be numbered by those of the training set)
printf 'toothbrush\nperson\ndog\ncat\n' >classes.txt
packed 'with the classes of another file' \
    'instances.json: takes file_name as path, the first category of each image as label (1 have several, 1 none), image_id as dataset; COCO' \
    'c.jpg=2 a.jpg=0 b.jpg=-1|classes toothbrush person dog cat|image_id 30 10 20' \
    --list instances.json --classes classes.txt
printf '{"images": [{"id": 1, "file_name": "a.jpg"}]}' >image_info.json
packed 'images that have no categories, as of a test set' \
    'image_info.json: takes file_name as path, image_id as dataset; COCO' \
    'a.jpg|image_id 1' --list image_info.json
sed 's/"category_id": 18/"caption": "a dog"/' instances.json >captions.json
refused 'annotations without category' \
    "'captions.json': an annotation has no 'category_id', and so gives no label" --list captions.json
sed 's/"category_id": 18/"category_id": [1, 18]/' instances.json >several.json
refused 'annotations of several categories' \
    "'several.json': 'category_id' of an annotation is no whole number" --list several.json
sed 's/"category_id": 18/"category_id": 17/' instances.json >unknown.json
refused 'a category that is not there' \
    "'unknown.json': image 30 has category 17, which is none of its categories" --list unknown.json
sed 's/"id": 20/"id": 10/' instances.json >twice.json
refused 'two images of one id' "'twice.json': two images have id 10" --list twice.json

# Names of odd bytes, and where paths start.
odd=$(printf 'o\377 "\\.jpg')
cp a.jpg "$odd"
printf '%s\n' "$odd" >odd.txt
packed 'a name with a blank, a quote, a backslash and a byte that is no UTF-8' \
    "odd.txt: $paths" 'o\xff "\\.jpg' --list odd.txt
mkdir lists
printf 'a.jpg 1\nb.jpg 0\n' >lists/val.txt
packed 'paths start from the source' "lists/val.txt: $two" 'a.jpg=1 b.jpg=0' --list lists/val.txt .
run h5pack --list lists/val.txt --size 8 -f -o out.h5
[ $status -eq 2 ] && [ "$(head -n 1 "$work/err")" = \
    "h5pack: lists/val.txt: $two; of its first 2 files none is in 'lists', where the paths start" ]
ok $? 'a list whose files are elsewhere is told where they were looked for'

# Lists of other machines.
mkdir sub
cp a.jpg sub/a.jpg
printf 'sub\\a.jpg,cat\r\nb.jpg,dog\r\n' >windows.csv
packed 'backslashes are slashes where files are there then' \
    "windows.csv: takes column 1 as path, column 2 as label; no header; backslashes in paths are slashes" \
    'sub/a.jpg=0 b.jpg=1|classes cat dog' --list windows.csv
for path in 'C:\x\a.jpg' /nowhere/x/a.jpg; do
    printf '%s\n' "$path" >moved
    h5pack --list moved --size 8 -f -o out.h5 >out 2>err
    [ "$(head -n 1 err)" = \
        "h5pack: moved: $paths; of its first 1 file none is there, and '$(printf '%s\n' "$path" | sed 's/\\/\\\\/g')' is a path from the root of a machine: paths of a list that has moved are to start from its folder, or from the source" ]
    ok $? "a list of paths from the root of another machine says what it wants"
    note <err
done
printf 'a.jpg 1\nb.jpg 2\na.jpg 3\na.jpg 1\n' >boxes
packed 'rows of one image are counted' \
    "boxes: $two; 2 rows name an image again, first 'a.jpg'" \
    'a.jpg=1 b.jpg=2 a.jpg=3 a.jpg=1' --list boxes

# What is rejected is a list for the next run, from the folder of the first.
mkdir part
cp a.jpg part/a.jpg
head -c 300 b.jpg >'part/b\c.jpg'
h5pack -q part --size 8 --rejects part/rejects.tsv -f -o out.h5 >/dev/null 2>&1
cp b.jpg 'part/b\c.jpg'
packed 'a list of rejects, with a backslash in a name' \
    "part/rejects.tsv: takes column 1, 'path', as path, leaves out 1; a list of rejects" \
    'part/b\\c.jpg' --list part/rejects.tsv
packed 'and beside the source that it was rejected from' \
    "part/rejects.tsv: takes column 1, 'path', as path, leaves out 1; a list of rejects" \
    'part/b\\c.jpg' --list part/rejects.tsv part

# What is to be packed is not lost, whatever --force says.
keeps() {
    what=$1 sentence=$2 kept=$3
    shift 3
    before=$(cksum <"$kept")
    run h5pack "$@" --size 8 --force
    [ $status -eq 2 ] && [ "$(cat "$work/err")" = "h5pack: $sentence" ] && [ "$(cksum <"$kept")" = "$before" ]
    good=$?
    ok $good "$what"
    [ $good -eq 0 ] || note <"$work/err"
}
mkdir own
cp a.jpg own/a.jpg
echo a.jpg >own/list
keeps 'a list is not replaced by the file' "--output: 'own/list' would be replaced, which is the list of images" \
    own/list --list own/list -o own/list
keeps 'nor an image' "--output: 'own/../own/a.jpg' would be replaced, which is one of the images" \
    own/a.jpg b.jpg own/a.jpg -o own/../own/a.jpg
keeps 'nor an image by the list of rejects' "--rejects: 'own/a.jpg' would be replaced, which is one of the images" \
    own/a.jpg own/a.jpg b.jpg -o out.h5 --rejects own/a.jpg
keeps 'nor one in a folder' "--output: 'own/a.jpg' would be replaced, which is one of the images" \
    own/a.jpg own -o own/a.jpg
keeps 'nor one that a list names' "--rejects: 'own/a.jpg' would be replaced, which is one of the images" \
    own/a.jpg --list own/list -o out.h5 --rejects own/a.jpg
: >own/a.jpg.part
: >own/a.jpg.part.journal
keeps 'nor where a run is resumed' "--output: 'own/a.jpg' would be replaced, which is one of the images" \
    own/a.jpg own/a.jpg b.jpg --resume -o own/a.jpg
rm own/a.jpg.part own/a.jpg.part.journal
h5pack own/a.jpg --size 8 -q -o own/old.h5
run h5pack own/a.jpg --size 16 --force -o own/old.h5 --rejects own/list
[ $status -eq 0 ] && grep -q 'uint8 1x16x16x3' "$work/out"
ok $? 'all else is'
cp part/rejects.tsv own/again.tsv
run h5pack --list own/again.tsv --size 8 --force --rejects own/again.tsv -o own/old.h5
[ $status -eq 0 ] && [ "$(cat own/again.tsv)" = "$(head -n 1 part/rejects.tsv)" ]
ok $? 'a list of rejects may be followed by the next one'
rm -r own

# Sources that are files, and folders without classes.
packed 'files are sources' '' 'b.jpg a.jpg' b.jpg a.jpg
packed 'with the folders as classes' '' \
    "$(counted photos/*/*)|classes coast desert forest fruit" \
    photos/*/* --label-from-folder
mkdir mixed
cp -r photos/coast photos/fruit a.jpg mixed
echo read me >mixed/README.txt
packed 'folders, files and a text are what a shell makes of a folder' \
    "the images have no labels: 'mixed' as SOURCE, or --label-from-folder, makes each folder a class
h5pack: 1 source ignored that is no image and no folder: 'mixed/README.txt'" \
    "$(echo mixed/a.jpg mixed/*/*.jpg)" mixed/*
refused 'a folder of classes and an image' \
    "'photos' has a folder per class, 'a.jpg' is an image in none of them; --no-labels takes them all" \
    photos a.jpg
refused 'an image that is not there' "cannot open 'mixed/*.png': No such file or directory" \
    a.jpg 'mixed/*.png'
names=$(echo photos/*/* | sed 's,photos/,,g')
packed 'several flat folders have no labels, which is said' \
    "the images have no labels: 'photos' as SOURCE, or --label-from-folder, makes each folder a class" \
    "$names" photos/*/
packed 'their folders give them' '' \
    "$(cd photos && counted ./*/* | sed "s,[.]/,,g")|classes coast desert forest fruit" \
    photos/*/ --label-from-folder
refused 'a flat folder with given classes' \
    "'photos/coast' is a flat folder: no folder names give its images a label among the 4 classes; --list FILE SOURCE gives them with a line 'NAME LABEL' for each image, as ImageNet's val.txt has it, --label-from-folder by the folders' names" \
    photos/coast --classes classes.txt
refused '--no-labels beside a list' '--no-labels does not go with --list' . --no-labels --list list
refused '--no-labels beside classes' '--classes does not go with --no-labels' \
    photos --no-labels --classes classes.txt
refused 'an image as a list' \
    "'a.jpg' is an image (JPEG), not a list of images; an image or a folder of them is given without --list" \
    --list a.jpg
h5pack -q photos --size 8 -f -o file.h5 >/dev/null
refused 'an HDF5 file as a list' \
    "'file.h5' is an HDF5 file, not a list of images" --list file.h5
refused 'a list as a source' \
    "'val.txt' is no image and no folder of images; a list of images is given with --list" val.txt

# A list is the same when the run goes on, and when it is compared.
h5pack -q --list instances.json --size 8 -f -o out.h5 >/dev/null
h5pack -q --verify --list instances.json -o out.h5
ok $? "COCO's list verifies"
exec 3>&- 4<&-
wait
done_testing
