# every name of a split, with what may stand behind it, and names that only begin so
render_samples all 2 2 40
mkdir -p set/val
cp all/*/* set/val
try() {
    for name; do
        cp -r set/val "set/$name"
        h5pack set --size 8x8 --quiet --force -o out.h5 2>/dev/null
        echo "$name: $?"
        rm -r "set/${name:?}"
    done
}
try train training valid validation test testing TRAIN Testing
try trainset train-set train_data 'train images' trainimgs train_img train__set train-
try train10 train017 train2017 train_2017 val12 test_99
try train1 train12345 train10a trainee trainsets train_sets train_1 tes tests trai va values validate
# one more than half of the folders, or of those with images
mkdir -p set/train set/cat
cp all/*/* set/train
h5pack set --size 8x8 --quiet --force -o out.h5
echo "status $?, a folder beside them that is empty"
cp all/*/* set/cat
h5pack set --size 8x8 --quiet --force -o out.h5
echo "status $?, two of three"
cp -r set/cat set/dog
h5pack set --size 8x8 --quiet --force -o out.h5
echo "status $?, two of four"
h5pack set --size 8x8 --quiet --force --splits-are-classes -o out.h5
echo "status $?, as classes"
rm -r set/cat set/dog set/train
mkdir set/test
cp all/*/* set/test
h5pack set --size 8x8 --quiet --force -o out.h5
echo "status $?, without a training set"
cp all/coast/coast_0000.jpg set
h5pack set --size 8x8 --quiet --force -o out.h5
echo "status $?, beside an image"
