#!/bin/sh
# What README and CONTRIBUTING point to is there: whoever moves a file or a function finds
# out here who told of it.
cd "${top_srcdir:-.}" || exit 1
work=${top_builddir:-.}/paths.$$
trap 'rm -f "$work".*' EXIT
exec 2>&1

# Every file of the tree, and all its folders, as /path from the root.
find . -name '.git*' -prune -o -name 'build*' -prune -o -print | sed 's/^\.//' >"$work.tree"

# Words with the ending of a source, and paths in a folder of the root; not names in
# capitals, which stand for any, nor what a user has, a build makes or others install.
others='hdf5\.h|jpeglib\.h|png\.h|tiffio\.h|tiffio\.h|pthread\.h|zlib\.h|zstd\.h|cuda\.h|list_attr_celeba\.txt'
named() { # FILE
    tr -c 'A-Za-z0-9_./-' '\n' <"$1" | sed 's/[.-]*$//; s,/$,,' |
        grep -E '^[A-Za-z0-9_./-]+\.(c|h|sh|py|awk|ac|am|txt|cu)$|^(api|libpack|tools|tests|man)/' |
        grep -vE "^($others)\$|[A-Z]{4}|\.log\$|^\.\.|^(build|/)" | sed 's,^\./,,' | sort -u
}

# A name is there when a path of the tree ends with it; a program of the tests is its source.
missing() { # FILE
    named "$1" | while read -r name; do
        grep -qxE -- ".*/$(echo "$name" | sed 's/\./\\./g')(\.c)?" "$work.tree" || printf ' %s' "$name"
    done
}

n=0
result() { # status sentence
    n=$((n + 1))
    if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}

for page in README CONTRIBUTING; do
    gone=$(missing $page)
    [ -z "$gone" ]; result $? "every file that $page names is there${gone:+, but not$gone}"
done
many=$(named CONTRIBUTING | wc -l)
[ "$many" -gt 50 ]; result $? "which are many ($many)"
printf 'see libpack/model/cost.c, model/cost.h and grid.c\n' >"$work.good"
printf 'see libpack/model/costs.c, model/cst.h and tools/nowhere\n' >"$work.bad"
[ -z "$(missing "$work.good")" ] && [ "$(missing "$work.bad" | wc -w)" -eq 3 ]
result $? "and a file that is not there would be noticed"

# CONTRIBUTING says in which function something happens: FILE: NAME, NAME; files are
# libpack's unless they are in tools/.
lost=$(tr '\n' ' ' <CONTRIBUTING | grep -oE '[a-z]+/[a-z_0-9]+\.c: +[a-z0-9_]+_[a-z_0-9]+(, +[a-z0-9_]+_[a-z_0-9]+)*' |
    while IFS=: read -r file names; do
        for name in $(echo "$names" | tr -d ,); do
            cat "libpack/$file" "$file" 2>/dev/null | grep -q "^$name(" || printf ' %s' "$file:$name"
        done
    done)
[ -z "$lost" ]; result $? "functions are where CONTRIBUTING says${lost:+, but not$lost}"
echo "1..$n"
