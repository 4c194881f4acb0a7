#!/bin/sh
# Each program and its manual page agree: every option of --help is explained, no other
# is, the page has its sections and no fault that mandoc sees, and its examples run.
#
# An example runs when it stands between .EX and .EE and its line starts with "$ ": in
# one folder for the whole page, in order, with what folders() makes there and the programs
# in PATH. Exit status 0 or 1 is expected. Lines without "$ " are for reading only.
. "$top_srcdir/tests/tap.sh"
export PATH
man=$top_srcdir/man
set -- "$top_srcdir"/tools/h5*.c
[ -e "$1" ] || skip_all 'there are no programs yet'

# Long options in the left column of --help, and in the tags (.TP) of a page.
help_options() {
    "$1" --help | sed -n 's/^  \(-[a-zA-Z0-9], \|    \)--\([a-z0-9-]*\).*/--\2/p' | sort -u
}
page_options() {
    ${AWK} 'tag && /^\.[BI]/ { gsub(/\\-/, "-"); gsub(/\\f[A-Z]/, ""); gsub(/"/, "")
                while (match($0, /--[a-z0-9][a-z0-9-]*/)) {
                    print substr($0, RSTART, RLENGTH); $0 = substr($0, RSTART + RLENGTH) } }
            { tag = /^\.T[PQ]/ }' "$1" | sort -u
}
examples() {
    ${AWK} '/^\.EX/ { inside = 1; next } /^\.EE/ { inside = 0 }
            inside && /^\$ / { more = 1; sub(/^\$ /, "") }
            inside && more { gsub(/\\-/, "-"); gsub(/\\&/, ""); gsub(/\\\(aq/, "\047")
                gsub(/\\\(dq/, "\""); gsub(/\\e/, "\\"); print; more = /\\$/ }' "$1"
}

# What the pages speak of: class folders photos/ and imagenet/, the same files flat in flat/ and in
# ILSVRC2012_val/ with val.txt,
# CelebA's folder with its table, and faces.h5 of such images in chunks of 100.
folders() {
    render_samples photos 24 1 96 || return
    mkdir -p flat imagenet img_align_celeba
    cp photos/*/* flat
    cp -r photos imagenet/train
    cp -r photos imagenet/val
    mkdir ILSVRC2012_val
    number=0
    for image in flat/*; do
        number=$((number + 1))
        cp "$image" ILSVRC2012_val
        echo "${image#flat/} $((number % 8))"
    done >val.txt
    face=$(find photos -name '*.jpg' | sort | head -n 1)
    printf '200\nSmiling Young\n' >list_attr_celeba.txt
    i=0
    while [ $i -lt 200 ]; do
        i=$((i + 1))
        cp "$face" img_align_celeba/$i.jpg
        echo "$i.jpg -1  1" >>list_attr_celeba.txt
    done
    h5pack -q img_align_celeba --size 218x178 --layout nchw --chunk 100 -o faces.h5
}
mkdir "$work/folders" && (cd "$work/folders" && folders) || exit 1
for source; do
    name=$(basename "$source" .c)
    page=$man/$name.1
    if [ ! -e "$page" ]; then
        ok 1 "$name has a manual page"
        continue
    fi
    help_options "$name" >"$work/help"
    page_options "$page" >"$work/page"
    [ -s "$work/help" ] && cmp -s "$work/help" "$work/page"
    same=$?
    ok $same "$name.1 explains the options of $name --help, all of them and no other"
    [ $same -eq 0 ] || diff "$work/help" "$work/page" | note

    absent=
    for section in NAME SYNOPSIS DESCRIPTION OPTIONS 'JSON OUTPUT' 'EXIT STATUS' EXAMPLES \
        'SEE ALSO'; do
        grep -qE "^\.SH \"?$section\"?\$" "$page" || absent="$absent '$section'"
    done
    [ -z "$absent" ]
    ok $? "$name.1 has its sections${absent:+, but not$absent}"
    if command -v mandoc >/dev/null 2>&1; then
        mandoc -T lint -W warning "$page" >"$work/lint" 2>&1
        ok $? "$name.1 is clean for mandoc"
        note <"$work/lint"
    else
        skip 'there is no mandoc here'
    fi

    rm -rf "$work/examples"
    cp -r "$work/folders" "$work/examples"
    examples "$page" >"$work/commands"
    ${AWK} '{ print > sprintf("%s.%03d", FILENAME, n); if (!/\\$/) n++ }' "$work/commands"
    [ -s "$work/commands" ]
    ok $? "$name.1 has examples that run"
    for command in "$work"/commands.*; do
        [ -e "$command" ] || continue
        (cd "$work/examples" && hurried sh "$command") >"$work/out" 2>&1 </dev/null
        status=$?
        [ $status -le 1 ]
        ok $? "$name.1: $(head -n 1 "$command")"
        [ $status -le 1 ] || note <"$work/out"
        rm -f "$command"
    done
done
done_testing
