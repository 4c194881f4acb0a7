# which names of folders are those of splits, and which are classes
render_samples all 2 2 40
for names in 'train1 test2' 'train10 test11' 'train2017 val2017' 'train12345 val12345' 'train_12a val' \
    'Train-Set testdata' 'trainees tests' 'valid images'; do
    rm -rf set
    mkdir set
    for name in $names; do
        cp -r all/coast "set/$name" 2>/dev/null || cp -r all "set/$name"
    done
    h5pack set --size 8x8 --quiet --force -o out.h5
    echo "$names: status $?"
done
