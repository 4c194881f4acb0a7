#!/bin/sh
# Runs every case of tests/cli and compares what a user sees, byte for byte.
#
# A case is NAME.sh, run by sh in an empty folder with the programs in PATH. Beside it
# lie NAME.out (standard output), NAME.err (standard error) and NAME.exit (the exit
# status); one that is not there stands for nothing printed, or 0. Cases use relative
# paths; the version of this build is compared as @VERSION@, the formats that it reads
# as @FORMATS@, and what is timed is made
# to disappear by the case itself, with sed.
#
#     ACCEPT=1 make check TESTS=tests/cli.sh     takes what is printed now as expected; then
#                                                read it in `git diff`
#     CASES='pack-*'                             runs only some
. "$top_srcdir/tests/tap.sh"
cases=$top_srcdir/tests/cli
version=$(sed -n 's/.*PACKAGE_VERSION "\(.*\)"/\1/p' "$top_builddir/config.h" | sed 's/\./\\./g')
LC_ALL=C
export LC_ALL PATH
unset HDF5_PLUGIN_PATH HDF5_USE_FILE_LOCKING

# compare KIND GOT: the file against the expectation, or accepts it.
compare() {
    want=$cases/$name.$1
    if [ "${ACCEPT:-0}" = 1 ]; then
        if [ -s "$2" ]; then cp "$2" "$want"; else rm -f "$want"; fi
    fi
    [ -e "$want" ] || want=/dev/null
    cmp -s "$want" "$2" && return 0
    diff -u "$want" "$2" | sed "1,2s|^\(...\).*|\1 $name.$1|" >>"$work/difference"
    return 1
}

for script in "$cases"/${CASES:-*}.sh; do
    [ -e "$script" ] || continue
    name=$(basename "$script" .sh)
    rm -rf "$work/case" "$work/difference"
    mkdir "$work/case"
    (cd "$work/case" && exec sh "$script") >"$work/out" 2>"$work/err" </dev/null
    status=$?
    : >"$work/exit"
    [ $status -eq 0 ] || echo $status >"$work/exit"
    for stream in out err; do
        sed "s/\([( ]\|\"\)$version/\1@VERSION@/; s/\(^reads\|only\) JPEG[A-Za-z, ]*$/\1 @FORMATS@/
             s/not a JPEG[A-Za-z, ]* image/not a @FORMATS@ image/" "$work/$stream" >"$work/$stream.seen"
    done
    same=0
    compare out "$work/out.seen" || same=1
    compare err "$work/err.seen" || same=1
    compare exit "$work/exit" || same=1
    ok $same "$name"
    [ $same -eq 0 ] || note <"$work/difference"
done
[ $tap_n -gt 0 ] || skip_all 'there are no cases'
done_testing
