#!/bin/sh
# `make fuzz`: every target of tests/fuzz for FUZZ_SECONDS (60) under libFuzzer with
# address and undefined sanitizers; FUZZ_TARGETS='fuzz_list' picks some. Needs clang.
# As many run at a time as there are processors. What is found lies in fuzz/found below the
# build folder, the growing corpora in fuzz/corpus; they start from sample images, and from
# ../shared/data/odd where that is there. With the name of a target it runs that one, in a
# folder that is built.
set -u
n_jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
seconds=${FUZZ_SECONDS:-60}
targets=${FUZZ_TARGETS:-$(find "$top_srcdir/tests/fuzz" -name '*.c' | sed 's,.*/,,; s/\.c$//' | sort)}
fuzz=$top_builddir/fuzz
flags='-g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all'
mkdir -p "$fuzz/build" "$fuzz/corpus" "$fuzz/found" || exit 2
command -v clang >/dev/null || {
    echo 'make fuzz: clang and its libFuzzer are needed' >&2
    exit 2
}

cd "$fuzz/build" || exit 2
[ -e Makefile ] || "$top_srcdir/configure" -q CC=clang CFLAGS='-g -O1' --disable-shared \
    --enable-sanitizers=fuzzer-no-link,address,undefined || exit 2
[ $# -eq 1 ] || make -s -j"$n_jobs" libpack_core.la || exit 2
libraries=$(sed -n 's/^Libs.private: //p' libpack.pc)

seeds() { # target, folder
    case $1 in
    fuzz_image)
        "$top_builddir/tests/render_samples" "$2/samples" 40 1 24
        for image in "$2"/samples/*/* "$top_srcdir"/../shared/data/odd/*; do
            [ -f "$image" ] && [ "$(wc -c <"$image")" -lt 20000 ] && cp "$image" "$2"
        done
        rm -r "$2/samples"
        ;;
    fuzz_list)
        printf 'path,label,x\na.jpg,1,"q""\n,",\nb.jpg,2,nan\n' >"$2/csv"
        printf 'path\tlabel\r\na.jpg\t1\r\n' >"$2/tsv"
        printf '{"images": [{"id": 1, "file_name": "a"}], "annotations": [{"image_id": 1, "category_id": 2}], "categories": [{"id": 2, "name": "c"}]}' >"$2/coco"
        printf '{"path": "a", "label": null}\n{"path": "b", "label": 1}\n' >"$2/json"
        printf '[{"path": "a", "label": null},\n{"path": "b", "label": 1}]\n' >"$2/array"
        printf '{"labels": [["a.png", 1], ["b\\/c.png", 2]]}' >"$2/stylegan"
        printf '{"a.jpg": "cat", "b.jpg": "dog"}' >"$2/object"
        printf '2\nimage_id Smiling Young\n000001.jpg -1 1\n000002.jpg  1 -1\n' >"$2/celeba"
        ;;
    fuzz_list_form) # two bytes of parameters, then the list
        printf '\004\000a b.jpg 1\nc.jpg 2\n' >"$2/last"
        printf '\005\000cat a.jpg\ndog b.jpg\n' >"$2/first"
        printf '\004\0003\t1.0\ta.jpg\n0\t0.0\tb c.jpg\n' >"$2/im2rec"
        printf '\004\000,Image,class\n0,a.jpg,"x, y"\n' >"$2/pandas"
        printf '\004\000{"path": "a.jpg", "label": 1}\n' >"$2/json"
        printf '\004\000{"images": [], "annotations": []}' >"$2/coco"
        printf '\004\000[{"path": "a.jpg", "label": 1}]' >"$2/array"
        printf '\004\000{"labels": [["a.png", 1]]}' >"$2/stylegan"
        printf '\004\000{"a.jpg": 1, "b.jpg": 2}' >"$2/object"
        printf '\004\000{"path": {"0": "a.jpg"}}' >"$2/columns"
        printf '\004\0001\nSmiling Young\na.jpg -1 1\n' >"$2/celeba"
        ;;
    fuzz_trace)
        printf '# rank 2\n17\t0\t1\t4096\n' >"$2/trace"
        printf '# h5pack-trace 2\n# file\t0\ta\n# dataset\t0\t/x\n1\t1\t0\t0\t7\t9\n2\t1\t0\t0\t8\t9\n' >"$2/named"
        printf '# h5pack-trace 2\n# file\t0\ta\n# dataset\t0\t/x\n1\t1\t0\t0\t7\t9\n1\t1\t0\t0\t8\t9\n2\t1\t0\t0\t7\t19\n# spent\t0\t0\t2\t3\t7\n# ran\t7\t9\t8\t1\t6\t5\n# cache\t0\t0\t7\t521\t1048576\t0.75\t2.0.0\n' >"$2/ran"
        printf 'block:pool=slide,chunks=64' >"$2/pattern"
        ;;
    fuzz_json)
        printf '{"schema": "a/1", "n": [1, -2.5e3, true, null, "\\u00e9\\n"]}' >"$2/object"
        ;;
    fuzz_profile)
        cp "$top_srcdir/tests/data/good-profile.json" "$2"
        ;;
    fuzz_chunk) # seven bytes of what the index says, then 576 as they are, or to be encoded
        block=$(printf '%048d' 1 2 3 4 5 6 7 8 9 10 11 12)
        for i in 0 1 2 3 4 5; do
            printf '%b%b\017\000\000\000\376%s' '\001' "\00$i" "$block" >"$2/as-it-is-$i"
            printf '%b%b\000\000\000\000\376%s' '\002' "\00$i" "$block" >"$2/whole-$i"
            printf '%b%b\001\011\000\000\376%s' '\002' "\00$i" "$block" >"$2/damaged-$i"
        done
        ;;
    fuzz_child) # a kind, a size, a step, and 24 bytes, of each record
        for i in 1 2 3 4 5 6; do
            printf '%b\000\000\001%024d' "\00$i" 0 >"$2/record-$i"
            printf '\002\000\000\010%024d%b\000\000\001\001\002\003%021d' 1 "\00$i" 2 >"$2/two-$i"
        done
        ;;
    fuzz_filter)
        for i in 0 1 2 3 4; do
            printf '%b%b0123456789abcdef0123456789abcdef' '\004' "\\00$i" >"$2/$i"
        done
        ;;
    esac
}

fuzz() { # target
    # shellcheck disable=SC2086 # flags are words
    clang -std=gnu11 -D_GNU_SOURCE -Wall -Wextra $flags -I"$top_srcdir" -I"$top_srcdir/api" -o "$1" \
        "$top_srcdir/tests/fuzz/$1.c" .libs/libpack_core.a $libraries || return 2
    corpus=$fuzz/corpus/$1
    [ -d "$corpus" ] || { mkdir "$corpus" && seeds "$1" "$corpus"; }
    if "./$1" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -verbosity=0 -artifact_prefix="$fuzz/found/$1-" "$corpus" >"$1.log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$1.log")
        echo "$1: $runs inputs in $seconds s, nothing found"
    else
        echo "$1: failed, see $fuzz/found and $fuzz/build/$1.log"
        grep -E 'ERROR|SUMMARY|Assertion|runtime error' "$1.log" | head -n 5
        return 1
    fi
}

if [ $# -eq 1 ]; then
    fuzz "$1"
else
    # shellcheck disable=SC2086 # a list of names
    printf '%s\n' $targets | xargs -n 1 -P "$n_jobs" sh "$top_srcdir/tests/fuzz.sh"
fi
