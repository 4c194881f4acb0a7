# options that say nothing without others, or nothing beside them
mkdir empty
: >list
try() {
    h5pack empty "$@" -o out.h5
    echo "status $?: $*"
}
try --no-labels --list list
try --no-labels --label-from-folder
try --null
try --path-column 1
try --path-column 1 --list list --null
try --label-column 1
try --label-column 1 --list list --null
try --label-column 1 --list list --label-from-folder
try --no-header
try --no-header --list list --null
try --seed 1
try --fit pad
try --fit pad --shorter 8
try --resample box
try --draft
try --classes list --no-labels
try --any-name --list list
try --splits-are-classes --list list
try --splits-are-classes --no-labels
try --masks-are-classes --list list
try --masks-are-classes --no-labels
try --verify --dry-run
try --resume --dry-run
try --max-file 0
try --memory 0
try --list list elsewhere
try --list list elsewhere third
try --size 8x9 --crop 4
try --crop 8 --shorter 7
try --crop 8
# what goes together is taken, and then there is nothing to pack
try --seed 1 --shuffle --fit pad --size 8 --resample box --draft --any-name --splits-are-classes --masks-are-classes
try --label-from-folder --masks-are-classes --splits-are-classes --classes list
h5pack empty --dry-run
echo "status $?"
h5pack --list list --path-column 1 --label-column 2 --no-header -o out.h5
echo "status $?"
h5pack --list list --null --label-from-folder --rejects out.h5 -o out.h5
echo "status $?"
for option in --threads --limit --seed --max-pixels --shorter; do
    for number in 0 -1 1.5 x 99999999999999999999; do
        h5pack empty --shuffle $option $number -o out.h5
        echo "status $?: $option $number"
    done
done
ls
