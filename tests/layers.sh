#!/bin/sh
# The layers of libpack hold: nobody includes upwards, third-party headers stay where they belong,
# every exported name starts with pack_.
cd "${top_srcdir:-.}" || exit 1
exec 2>&1
n=0
result() { # status sentence
    n=$((n + 1))
    if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}

${AWK:-awk} '
    FNR == NR { if ($1 + 0) layer[$2] = $1; next }
    FNR == 1 { self = FILENAME; sub(/.*\//, "", self); sub(/\.[chu]+$/, "", self)
        sub(/_private$/, "", self)
        if (!(self in layer)) { print "# " FILENAME " is not in tests/layers.txt"; bad = 1 } }
    /^#include "/ { name = $2; gsub(/"/, "", name)
        if (name == "config.h") next
        if (name !~ /^libpack\//) { print "# " FILENAME ": " name " is not spelled from the root"; bad = 1; next }
        sub(/^libpack\//, "", name); sub(/\.h$/, "", name); sub(/_private$/, "", name)
        if (layer[name] > layer[self]) { print "# " FILENAME " (layer " layer[self] ") includes " name " (layer " layer[name] ")"; bad = 1 } }
    END { exit bad }' tests/layers.txt libpack/*.[ch]
result $? "no file of libpack includes a header of a layer above its own"

stray=$(grep -lE '#include <(hdf5|H5[A-Za-z]*)\.h>' libpack/*.[ch] tools/*.[ch] 2>/dev/null |
    grep -vE '/(h5[a-z_]*|writer|chunkindex)(_private)?\.[ch]$')
[ -z "$stray" ]; result $? "hdf5.h stays in the storage layer${stray:+: $stray}"
check_home() { # header, files that may include it
    stray=$(grep -lF "#include <$1>" libpack/*.[ch] tools/*.[ch] 2>/dev/null | grep -vE "/($2)\.[ch]\$")
    [ -z "$stray" ]; result $? "$1 is included only in $2${stray:+, but also in $stray}"
}
check_home zlib.h 'filter|image_png_chunks'
check_home zstd.h filter
check_home jpeglib.h image_jpeg
check_home png.h image_png
check_home cuda.h consumer_cuda
check_home nvtx3/nvToolsExt.h nvtx_private
check_home pthread.h 'pool|reader'
stray=$(grep -nE '\b(printf|fprintf\(std(out|err)|puts|exit|abort|getenv|perror) ?\(' libpack/*.c |
    grep -vE '(sn|vsn|buf_|f)printf|pack_')
[ -z "$stray" ]; result $? "the library does not print, exit or read the environment${stray:+: $stray}"

library=${top_builddir:-.}/.libs/libpack.so
if [ -e "$library" ]; then
    stray=$(nm -D --defined-only "$library" | ${AWK:-awk} '$3 !~ /^pack_/ && $2 ~ /[A-Z]/ && $2 != "A" { print $3 }' |
        grep -vE '^(_init|_fini|__asan|__ubsan|__tsan|__odr)')
    [ -z "$stray" ]; result $? "the library exports only pack_*${stray:+, but also $stray}"
else
    n=$((n + 1)); echo "ok $n # SKIP no shared library was built"
fi
# NVTX is headers only, so its own globals (which a listening tool fills) are in the objects
stray=$(nm --defined-only "${top_builddir:-.}/.libs/libpack.a" 2>/dev/null |
    ${AWK:-awk} '$2 ~ /[A-TV-Z]/ && $3 !~ /^(pack_|nvtx|InitializeInjectionNvtx|_*[au]?san|__odr|\.)/ { print $3 }' | sort -u)
[ -z "$stray" ]; result $? "no object of the library defines another global name${stray:+: $stray}"
stray=$(objdump -t "${top_builddir:-.}/.libs/libpack.a" 2>/dev/null |
    ${AWK:-awk} '$0 ~ /[ \t]O \.(data|bss|tdata|tbss)(\.[A-Za-z]|\t)/ && $0 !~ /\.data\.rel\.ro|nvtx|InitializeInjectionNvtx|san|odr/ { print $NF }' | sort -u)
[ -z "$stray" ]; result $? "the library keeps no writable global state${stray:+: $stray}"
echo "1..$n"
