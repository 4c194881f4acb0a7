#!/bin/sh
# The layers of libpack hold: nobody includes upwards or in a circle, third-party headers stay
# where they belong, every exported name starts with pack_.
cd "${top_srcdir:-.}" || exit 1
exec 2>&1
n=0
AWK=${AWK:-awk}
result() { # status sentence
    n=$((n + 1))
    if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}

${AWK:-awk} '
    FNR == NR { if ($1 + 0) layer[$2] = $1; next }
    FNR == 1 { split(FILENAME, path, "/"); self = path[2]
        if (!(self in layer)) { print "# " FILENAME ": its folder is not in tests/layers.txt"; bad = 1 } }
    /^# *include "/ { name = $0; sub(/^[^"]*"/, "", name); sub(/".*/, "", name)
        if (name == "config.h") next
        if (split(name, path, "/") != 3 || path[1] != "libpack" || !(path[2] in layer)) {
            print "# " FILENAME ": " name " is not spelled from the root"; bad = 1; next }
        if (path[2] != self && layer[path[2]] >= layer[self]) {
            print "# " FILENAME " (layer " layer[self] ") includes " name " (layer " layer[path[2]] ")"; bad = 1 } }
    END { exit bad }' tests/layers.txt libpack/*/*.[ch]
result $? "no file of libpack includes a header of a folder beside or above its own"

stray=$($AWK -f tests/circles.awk libpack/*/*.[ch])
result $? "no module includes itself by way of others${stray:+: $stray}"
planted=${top_builddir:-.}/layers.circle
mkdir -p "$planted"
echo '#include "libpack/base/b.h"' >"$planted/a.h"
echo '#include "libpack/base/c_parts.h"' >"$planted/b.c"
echo '#include "libpack/base/a.h"' >"$planted/c_parts.h"
touch "$planted/b.h" "$planted/c.c" "$planted/d.c"
echo '#include "libpack/base/a.h"' >"$planted/d.h"
[ "$($AWK -f tests/circles.awk "$planted"/*.[ch] | sed 's/.*layers.circle.//' | tr '\n' ';')" = \
    'a.h includes libpack/base/b.h;b.c includes libpack/base/c_parts.h;c_parts.h includes libpack/base/a.h;' ]
result $? "which is noticed, over three modules and a header of parts"
rm -rf "$planted"

stray=$(grep -hoE '#include <libpack/[^>]*>' libpack/*/*.[ch] tools/*.[ch] tests/*.[ch] tests/*/*.[ch] api/libpack/*.h |
    sort -u | sed 's/#include <\(.*\)>/\1/' | while read -r name; do [ -e "api/$name" ] || echo "$name"; done)
[ -z "$stray" ]; result $? "what is included as <libpack/...> is a public header${stray:+, but not $stray}"
stray=$(grep -nE '#include "' api/libpack/*.h)
[ -z "$stray" ]; result $? "public headers include public headers only${stray:+: $stray}"
stray=$(find libpack api -name '*_private*')
[ -z "$stray" ]; result $? "what is not in api/ is private, and no name says so${stray:+: $stray}"

stray=$(grep -lE '#include <(hdf5|H5[A-Za-z]*)\.h>' libpack/*/*.[ch] api/libpack/*.h tools/*.[ch] 2>/dev/null |
    grep -vE '^libpack/hdf5/(hdf5_versions\.h|h5_zstd_plugin\.c)$')
[ -z "$stray" ]; result $? "hdf5.h is included in hdf5_versions.h, and by the plugin${stray:+: $stray}"
check_home() { # header, files that may include it
    stray=$(grep -lF "#include <$1>" libpack/*/*.[ch] api/libpack/*.h tools/*.[ch] 2>/dev/null | grep -vE "/($2)\.[ch]\$")
    [ -z "$stray" ]; result $? "$1 is included only in $2${stray:+, but also in $stray}"
}
check_home zlib.h 'filter_deflate|image_png_chunks'
check_home zstd.h filter_zstd
check_home jpeglib.h image_jpeg
check_home png.h image_png
check_home webp/decode.h image_webp
check_home webp/demux.h image_webp
check_home tiffio.h image_tiff
check_home cuda.h consumer_cuda
check_home nvtx3/nvToolsExt.h nvtx
check_home pthread.h 'pool|reader_crew|filter_plugin|mapped'
stray=$(grep -nE '\b(printf|fprintf\(std(out|err)|puts|exit|abort|getenv|perror) ?\(' libpack/*/*.c |
    grep -vE '(sn|vsn|buf_|f)printf|pack_')
[ -z "$stray" ]; result $? "the library does not print, exit or read the environment${stray:+: $stray}"

stray=$($AWK -f tests/err_last.awk libpack/*/*.[ch] api/libpack/*.h tools/*.[ch])
[ -z "$stray" ]; result $? "the error is the last parameter${stray:+, but not of $stray}"
printf 'int one(struct pack_error *err,\n    int n);\nint two(int n, struct pack_error *err);\n' >"${top_builddir:-.}/layers.err"
printf 'int three(struct pack_error *err, const char *format, ...);\ntypedef int (*four)(struct pack_error *, int);\n' >>"${top_builddir:-.}/layers.err"
stray=$($AWK -f tests/err_last.awk "${top_builddir:-.}/layers.err" | grep -oE '(one|two|three|four)\)?\(' | tr -d '()\n')
rm -f "${top_builddir:-.}/layers.err"
[ "$stray" = onefour ]; result $? "and one that is not last is noticed${stray:+: $stray}"

# strings, not comments; what writes command lines for other programs knows their options
stray=$($AWK -f tests/strings.awk libpack/*/*.[ch] | grep -E ':.*--[a-z]' | grep -v '^libpack/\(advise/snippet_\(shell\|rechunk\|reader\)\|audit/audit_fix\|base/web\)\.c:')
[ -z "$stray" ]; result $? "the library speaks of parameters, never of --options${stray:+: $stray}"
printf '/* --a "--b" */ "c /* --d" /* "\n */ "--e" "\\"--f"\n' >"${top_builddir:-.}/layers.strings"
stray=$($AWK -f tests/strings.awk "${top_builddir:-.}/layers.strings" | sed 's/.*layers.strings//')
rm -f "${top_builddir:-.}/layers.strings"
[ "$stray" = ':1: c /* --d
:2: --e
:2: \"--f' ]; result $? "which is looked for in strings, not in comments"

library=$(find "${top_builddir:-.}/.libs" -name 'libpack-*.so' 2>/dev/null | head -n 1)
if [ -n "$library" ]; then
    # shellcheck disable=SC2046 # a list of headers
    $AWK -f tests/exports.awk api/libpack/*.h | LC_ALL=C sort -u >"${top_builddir:-.}/layers.declared"
    stray=$(nm -D --defined-only "$library" | $AWK '$2 ~ /[A-Z]/ && $2 != "A" { print $3 }' |
        grep -vE '^(_init|_fini|__asan|__ubsan|__tsan|__odr)' | LC_ALL=C sort -u |
        LC_ALL=C comm -3 - "${top_builddir:-.}/layers.declared" | tr -d '\t')
    rm -f "${top_builddir:-.}/layers.declared"
    [ -z "$stray" ]; result $? "the library shows what api/ declares, all of it, nothing else${stray:+: $stray}"
else
    n=$((n + 1)); echo "ok $n # SKIP no shared library was built"
fi
# NVTX is headers only, so its own globals (which a listening tool fills) are in the objects
stray=$(nm --defined-only "${top_builddir:-.}/.libs/libpack_core.a" 2>/dev/null |
    ${AWK:-awk} '$2 ~ /[A-TV-Z]/ && $3 !~ /^(pack_|nvtx|InitializeInjectionNvtx|_*[au]?san|__odr|\.)/ { print $3 }' | sort -u)
[ -z "$stray" ]; result $? "no object of the library defines another global name${stray:+: $stray}"
stray=$(objdump -t "${top_builddir:-.}/.libs/libpack_core.a" 2>/dev/null |
    ${AWK:-awk} '$0 ~ /[ \t]O \.(data|bss|tdata|tbss)(\.[A-Za-z]|\t)/ && $0 !~ /\.data\.rel\.ro|nvtx|InitializeInjectionNvtx|san|odr/ { print $NF }' |
    grep -vxE 'one_plugin_at_a_time|bus_(lock|users|others|n_others)|failed_at|n_failed' | sort -u) # plugins, handlers of signals are the process's
[ -z "$stray" ]; result $? "the library keeps no writable global state${stray:+: $stray}"
echo "1..$n"
