#!/bin/sh
# What debian/ says agrees with the tree: the version, the name of the library's package, what is
# installed and what is needed to build.
. "$top_srcdir/tests/tap.sh"
debian=$top_srcdir/debian
[ "${SANITIZERS:-no}" = no ] || skip_all 'a build with sanitizers is not for installing'

version=$(sed -n 's/.*PACKAGE_VERSION "\(.*\)"/\1/p' "$top_builddir/config.h")
noted=$(sed -n '1s/^h5pack (\([^)]*\)).*/\1/p' "$debian/changelog")
[ "$version" = "$noted" ]
ok $? "debian/changelog begins with the version of configure.ac ($version, $noted)"

grep -q "^Package: libpack-$version\$" "$debian/control" && [ -e "$debian/libpack-$version.install" ]
ok $? "the library's package is called as its soname is, libpack-$version"
! grep -hE "libpack-?[0-9]" "$debian/control" "$top_srcdir/Makefile.am" | grep -v "libpack-$version"
ok $? 'and nothing speaks of another'

# Each installed file goes into one package: one line of debian/*.install and *.manpages. Where the
# packages have the plugin is configured there.
run make -C "$top_builddir" install DESTDIR="$work/tree" prefix=/usr libdir=/usr/lib/any \
    mandir=/usr/share/man plugindir=/usr/lib/any/hdf5/serial/plugins
ok $status 'make install, as the packages have it'
find "$work/tree" ! -type d ! -name '*.la' ! -name '*.a' | sed "s,^$work/tree/,," >"$work/installed"
for list in "$debian"/*.install "$debian"/*.manpages; do
    sed "s,^debian/tmp/,,; s,[.+],\\\\&,g; s,\*,[^/]*,g; s,\$,(/.*)?," "$list"
done >"$work/lists"
while read -r file; do
    claims=$(while read -r line; do
        echo "$file" | grep -xE "$line"
    done <"$work/lists" | wc -l)
    [ "$claims" -eq 1 ] || echo "$file: in $claims packages"
done <"$work/installed" >"$work/wrong"
[ -s "$work/installed" ] && [ ! -s "$work/wrong" ]
ok $? "each of $(wc -l <"$work/installed") files is in one package"
note <"$work/wrong"

# The -dev packages that quickstart.sh installs are needed here, too.
sed -n '/^Build-Depends/,/^Standards/p' "$debian/control" >"$work/needs"
absent=$(sed -n "s/^\(lib[a-z0-9]*-dev\|zlib1g-dev\|python3-[a-z]*\) .*/\1/p" "$top_srcdir/quickstart.sh" |
    grep -v -e '^libc6' -e venv | while read -r package; do
    case $package in
    python3-dev) package=python3-all-dev ;;
    esac
    grep -qw -- "$package" "$work/needs" || printf ' %s' "$package"
done)
[ -z "$absent" ]
ok $? "what quickstart.sh installs to build with is in Build-Depends${absent:+, but not$absent}"

# What autopkgtest runs is there, and nothing else: `samples` is for them all.
sed -n 's/^Tests: //p' "$debian/tests/control" | sort >"$work/named"
find "$debian/tests" -type f -perm -u+x -exec basename {} \; | sort >"$work/runnable"
[ -s "$work/named" ] && cmp -s "$work/named" "$work/runnable"
ok $? 'debian/tests/control names each program beside it'

# dist has all of it
absent=$(cd "$top_srcdir" && find debian -maxdepth 2 -type f \( -path 'debian/tests/*' -o -path 'debian/source/*' -o \
    -name '*.install' -o -name '*.manpages' -o -name '*.docs' -o -name '*.examples' -o \
    -name '*.lintian-overrides' -o -name control -o -name rules -o -name changelog -o -name copyright \) |
    while read -r file; do
        grep -qw -- "$file" Makefile.am || printf ' %s' "$file"
    done)
[ -z "$absent" ]
ok $? "the archive takes all files of debian/ along${absent:+, but not$absent}"
done_testing
