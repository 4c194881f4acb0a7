# several folders without classes: what gives them labels, unless none are wanted
render_samples all 4 2 40
mkdir -p photos other
cp -r all/coast all/forest photos
cp -r all/coast other/sea
cp -r all/forest wood
try() {
    echo "$*" >&2
    h5pack "$@" --size 8 --force -o out.h5 >report
    echo "status $?, $(sed -n '1s/,.*//p' report)"
}
try photos/coast photos/forest
try photos/coast/ photos//forest//
try ./photos/coast photos/forest
try photos/coast other/sea
try photos/coast wood
try wood photos/coast
try wood other
try "$PWD/photos/coast" "$PWD/photos/forest" 2>err
sed "s@$PWD@HERE@g" err >&2
try photos/coast photos/forest --no-labels
try photos/coast photos/forest --label-from-folder
try photos/coast
try photos/coast/coast_0000.jpg photos/forest/forest_0001.jpg
try photos
try photos other
