# every option that decides what is in the file is in the JSON, and is stored
render_samples photos 6 1 40
show() {
    h5pack photos "$@" --json -o out.h5 --force >report
    echo "status $?"
    sed -n '/"options"/,/}/p' report
    sed -n '/"extent"/,/"chunks"/p' report | tr -d ' \n'
    echo
    h5pack photos --verify --json -o out.h5 >verified
    for file in report verified; do
        sed -n '/"options"/,/}/p' $file >$file.options
    done
    cmp report.options verified.options && echo 'and stored'
}
show --gray --layout nchw --size 8x9 --fit pad --resample box --no-exif-orientation --background '#01020a' \
    --scale16 3:9 --strict --max-pixels 99999 --max-file 5M --chunk 2x1x8x9 --for block-shuffle \
    --compress gzip:2 --fletcher32 --libver v18 --on-error blank --shuffle --seed 3 --limit 5
show --shorter 20 --crop 8x9 --draft --chunk 3 --compress zstd --scale16 auto --on-error fail --libver earliest
show --size 12 --fit stretch --resample lanczos --libver latest --limit 100 --background '#ffffff'
show --size 12 --resample nearest --for block-shuffle --compress zstd:-5
