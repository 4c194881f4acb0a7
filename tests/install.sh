#!/bin/sh
# The library as others see it: everything is installed, its headers stand alone in C
# and C++, and small programs find it through pkg-config, shared and static.
. "$top_srcdir/tests/tap.sh"
need pkg-config
[ "${SANITIZERS:-no}" = no ] || skip_all 'a build with sanitizers is not for installing'

run make -C "$top_builddir" install DESTDIR="$work/root"
ok $status 'make install DESTDIR= works'
[ $status -eq 0 ] || note <"$work/err"
pc=$(find "$work/root" -name libpack.pc)
if [ -z "$pc" ]; then
    ok 1 'libpack.pc is installed'
    done_testing
fi
libdir=$(dirname "$(dirname "$pc")")
include=$(dirname "$(dirname "$(find "$work/root" -path '*/libpack/status.h')")")
share=$(find "$work/root" -type d -name man1)
bin=$(dirname "$(find "$work/root" -path '*/bin/h5pack')") # libdir may be lib/x86_64-linux-gnu

# -------------------------------------------------------------------------- what is there

# quickstart.sh builds the shared library alone
has_static=yes
"$top_builddir/libtool" --config | grep -q '^build_old_libs=no' && has_static=
absent=
for file in libpack.so ${has_static:+libpack.a} pkgconfig/libpack.pc; do
    [ -e "$libdir/$file" ] || absent="$absent $file"
done
for header in "$top_srcdir"/api/libpack/*.h; do
    [ -e "$include/libpack/$(basename "$header")" ] || absent="$absent $(basename "$header")"
done
for header in "$include"/libpack/*.h; do
    [ -e "$top_srcdir/api/libpack/$(basename "$header")" ] || absent="$absent not-$(basename "$header")"
done
[ -z "$absent" ]
ok $? "the libraries and every public header, no private one, are installed${absent:+:$absent}"

absent=
for source in "$top_srcdir"/tools/h5*.c; do
    [ -e "$source" ] || continue
    name=$(basename "$source" .c)
    [ -x "$bin/$name" ] || absent="$absent bin/$name"
    [ -e "$share/$name.1" ] || absent="$absent $name.1"
done
[ -z "$absent" ]
ok $? "every program is installed with its manual page${absent:+, but not$absent}"

plugin=$(find "$work/root" -path '*plugin*' -name '*.so')
[ -n "$plugin" ]
ok $? 'the filter plugin is installed'
nm -D --defined-only "$plugin" | grep -q H5PLget_plugin_info
ok $? 'the filter plugin exports what HDF5 looks for'
stray=$(grep -rlF "$work" "$work/root" 2>/dev/null)
[ -z "$stray" ]
ok $? "nothing that is installed names the folder it was staged in${stray:+: $stray}"

# -------------------------------------------------------------------------------- headers

# check_headers LANGUAGE COMMAND...: each alone, twice in a row, without a warning.
check_headers() {
    language=$1
    shift
    bad=
    for header in "$include"/libpack/*.h; do
        name=$(basename "$header")
        printf '#include <libpack/%s>\n#include <libpack/%s>\n' "$name" "$name" >"$work/one.c"
        "$@" -Wall -Wextra -pedantic -Werror -fsyntax-only -I"$include" \
            "$work/one.c" 2>>"$work/headers" || bad="$bad $name"
    done
    [ -z "$bad" ]
    ok $? "every public header compiles alone in $language${bad:+, but not$bad}"
    [ -z "$bad" ] || note <"$work/headers"
}
# shellcheck disable=SC2086 # CC may carry flags
check_headers C11 ${CC:-cc} -std=c11 -x c
CXX=${CXX:-c++}
if command -v "$CXX" >/dev/null 2>&1; then
    check_headers C++11 "$CXX" -std=c++11 -x c++
else
    skip 'there is no C++ compiler here'
fi

# ------------------------------------------------------------------------------- programs

cat >"$work/user.c" <<'C'
#include <libpack/shape.h>
#include <stdio.h>

int
main(void)
{
    struct pack_error err;
    uint64_t bytes = 0;
    if (pack_bytes_parse("64K", &bytes, &err) != PACK_OK) {
        puts(err.text);
        return 1;
    }
    printf("%llu\n", (unsigned long long)bytes);
    return 0;
}
C
cp "$work/user.c" "$work/user.cc"
mkdir "$work/pc" "$work/static"
[ -z "$has_static" ] || cp "$libdir/libpack.a" "$work/static"
# as a package manager relocates it; libpack's dependencies stay where they are
prefix=$(sed -n 's/^prefix=//p' "$pc")
sed "s|$prefix|$work/root$prefix|" "$pc" >"$work/pc/libpack.pc"
PKG_CONFIG_PATH=$work/pc${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
[ "$(pkg-config --modversion libpack)" = "$(sed -n 's/.*PACKAGE_VERSION "\(.*\)"/\1/p' \
    "$top_builddir/config.h")" ]
ok $? 'pkg-config knows the version'

# with_static TEST ARGUMENT...
with_static() {
    if [ -n "$has_static" ]; then "$@"; else skip 'this build has no static library'; fi
}

# try SENTENCE COMPILER SOURCE FLAGS...: compiles, runs, compares.
try() {
    sentence=$1
    shift
    rm -f "$work/user"
    run "$@" -o "$work/user"
    [ $status -eq 0 ] && LD_LIBRARY_PATH=$libdir run "$work/user"
    [ "$status $(cat "$work/out")" = '0 65536' ]
    ok $? "$sentence"
    [ "$status" -eq 0 ] || note <"$work/err"
}
cflags=$(pkg-config --cflags libpack)
shared=$(pkg-config --libs libpack)
static=$(pkg-config --static --libs libpack)
# shellcheck disable=SC2086 # flags are words
{
    try 'a C program builds with the shared library and runs' \
        ${CC:-cc} $cflags "$work/user.c" $shared
    with_static try 'a C program builds with the static library and runs' \
        ${CC:-cc} $cflags "$work/user.c" -L"$work/static" $static
    if command -v "$CXX" >/dev/null 2>&1; then
        try 'a C++ program builds with the shared library and runs' \
            "$CXX" $cflags "$work/user.cc" $shared
        with_static try 'a C++ program builds with the static library and runs' \
            "$CXX" $cflags "$work/user.cc" -L"$work/static" $static
    else
        skip 'there is no C++ compiler here'
        skip 'there is no C++ compiler here'
    fi
}

# the example of libpack(3), as installed: the page and the test are one. Samples of 12 KiB lie five
# to a chunk of at most 64 KiB: five loads, the other 19 reads are hits.
example_of() { # PAGE
    ${AWK} '/^\.EX/ { inside = 1; next } /^\.EE/ { inside = 0 }
        inside { gsub(/\\-/, "-"); gsub(/\\&/, ""); gsub(/\\e/, "\\"); print }' \
        "$(find "$work/root" -name "$1")"
}
example_of libpack.3 >"$work/example.c"
render_samples "$work/photos" 24 1 96 || exit 1
example() { # SENTENCE FLAGS...
    sentence=$1
    shift
    rm -f "$work/example" "$work/example.h5"
    run ${CC:-cc} -std=c11 -Wall -Wextra -Werror "$@" -o "$work/example"
    [ $status -eq 0 ] && LD_LIBRARY_PATH=$libdir run "$work/example" "$work/photos" "$work/example.h5"
    [ "$status $(sed 's/ of [0-9x]*$/ of SHAPE/' "$work/out" | tr '\n' ';')" = \
        '0 packed 24 images;24 requests, 19 hits;chunks of SHAPE;' ]
    ok $? "$sentence"
    cat "$work/err" "$work/out" | note
}
# shellcheck disable=SC2086 # flags are words
{
    example 'the example of libpack.3 packs, simulates and advises, with the shared library' \
        $cflags "$work/example.c" $shared
    with_static example 'and with the static one' $cflags "$work/example.c" -L"$work/static" $static
}

# the loop of libpack-reader(3) over what that wrote
example_of libpack-reader.3 >"$work/loop.c"
# shellcheck disable=SC2086 # flags are words
run ${CC:-cc} -std=c11 -Wall -Wextra -Werror $cflags "$work/loop.c" $shared -o "$work/loop"
[ $status -eq 0 ] && LD_LIBRARY_PATH=$libdir run "$work/loop" "$work/example.h5"
first=$(find "$work/photos" -mindepth 1 -maxdepth 1 | sort | head -n 1)
[ "$status $(cat "$work/out")" = "0 48 samples, $(($(find "$first" -type f | wc -l) * 2)) of class 0" ]
ok $? 'the example of libpack-reader.3 trains over images and labels in step'
cat "$work/err" "$work/out" | note
LD_LIBRARY_PATH=$libdir run "$work/loop" "$work/none.h5"
[ "$status" -eq 2 ] && grep -q 'none.h5' "$work/err"
ok $? 'it says in a sentence which file is not there'

LD_LIBRARY_PATH=$libdir run "$work/example" "$work/no-such-folder" "$work/none.h5"
[ "$status" -eq 2 ] && grep -q "no-such-folder" "$work/err" && [ ! -e "$work/none.h5" ]
ok $? 'it says in a sentence which folder is not there'

run make -C "$top_builddir" uninstall DESTDIR="$work/root"
left=$(find "$work/root" ! -type d)
[ -z "$left" ]
ok $? "make uninstall leaves no file${left:+, but $left}"
done_testing
