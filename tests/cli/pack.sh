# the summary of a run, but for what is timed or differs by processor and HDF5
render_samples photos 24 1 80
h5pack photos --shorter 40 --crop 32x32 -o out.h5 |
    sed -E '/^  (mean|std) /d; 1s/, [0-9.]+ KiB/, SIZE/; s/^  [0-9.]+ s, .*/  TIME/'
h5ls out.h5
h5pack photos --shorter 40 --crop 32x32 -o out.h5
echo "status $?"
h5pack photos --shorter 40 --crop 32x32 --quiet --force -o out.h5 | wc -l
ls
