#!/bin/sh
# From a fresh checkout to the first packed file.
#
#   ./quickstart.sh            build, then pack a sample set rendered on the spot
#   ./quickstart.sh FOLDER     build, then pack your folder of images
#   ./quickstart.sh python     build, then the Python package into build/python-venv
#   ./quickstart.sh check      build, then run all tests
#
# Installs what is missing (Debian, Ubuntu; it says what before it does), builds in
# build/, without the static library, which takes as long again, and is quick the second
# time. Everything that the steps print is in build/quickstart.log.
set -u

usage() {
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
    exit "$1"
}

caller_folder=$(pwd)
cd "$(dirname "$0")" || exit 2
log=build/quickstart.log
mode=tour
folder=
[ $# -le 1 ] || usage 2
case ${1-} in
'') ;;
check | python) mode=$1 ;;
-h | --help) usage 0 ;;
-*) usage 2 ;;
/*) folder=$1 ;;
*) folder=$caller_folder/$1 ;;
esac
if [ -n "$folder" ] && [ ! -d "$folder" ]; then
    echo "quickstart.sh: no such folder: '$folder'" >&2
    exit 2
fi
if ! mkdir -p build || ! : >"$log"; then
    echo "quickstart.sh: cannot write here: '$(pwd)/build'" >&2
    exit 2
fi

# ---------------------------------------------------------------------------------- steps

last_lines() {
    tail -n 25 "$log"
}
explain=last_lines # what to show of the log when a step fails

# step TITLE COMMAND...: one line with the time it took; output goes to the log.
step() {
    title=$1
    shift
    [ -t 1 ] && printf '  %-34s ...' "$title"
    printf '\n=== %s: %s\n' "$title" "$*" >>"$log"
    before=$(date +%s)
    "$@" >>"$log" 2>&1 </dev/null
    status=$?
    took=$(($(date +%s) - before))
    [ -t 1 ] && printf '\r'
    if [ $status -eq 0 ]; then
        printf '  %-34s %3d s\n' "$title" $took
        return 0
    fi
    printf '  %-34s failed after %d s\n\n' "$title" $took
    $explain | sed 's/^/    /'
    printf '\nquickstart.sh: this step failed: %s\nFull log: %s\n' "$title" "$(pwd)/$log" >&2
    return 1
}

# --------------------------------------------------------------------- what must be there

# Each line: Debian package, Fedora package, how to tell that it is there.
needs='
gcc          gcc                  has_command cc
libc6-dev    glibc-devel          has_header stdio.h
make         make                 has_command make
autoconf     autoconf             has_command autoreconf
automake     automake             has_command automake
libtool      libtool              has_command libtoolize
pkg-config   pkgconf-pkg-config   has_command pkg-config
libhdf5-dev  hdf5-devel           has_library hdf5-serial hdf5
libjpeg-dev  libjpeg-turbo-devel  has_library libjpeg
libpng-dev   libpng-devel         has_library libpng16
libwebp-dev  libwebp-devel        has_library libwebpdemux
libtiff-dev  libtiff-devel        has_library libtiff-4
libzstd-dev  libzstd-devel        has_library libzstd
zlib1g-dev   zlib-devel           has_library zlib
hdf5-tools   hdf5                 has_command h5ls'
needs_for_check='
g++            gcc-c++          has_command c++
python3-numpy  python3-numpy    has_python numpy
python3-h5py   python3-h5py     has_python h5py
python3-pil    python3-pillow   has_python PIL
python3-dev    python3-devel    has_python_header
python3-setuptools  python3-setuptools  has_python setuptools
mandoc         mandoc           has_command mandoc
strace         strace           has_command strace'
needs_for_python='
python3-dev         python3-devel       has_python_to_build
python3-venv        python3             has_python_to_build
python3-setuptools  python3-setuptools  has_python_to_build
python3-wheel       python3-wheel       has_python_to_build
python3-numpy       python3-numpy       has_python_to_build'

has_command() {
    command -v "$1" >/dev/null 2>&1
}

has_header() {
    [ -e "/usr/include/$1" ]
}

has_library() {
    for module; do
        pkg-config --exists "$module" 2>/dev/null && return 0
    done
    return 1
}

# Leaves the one that was found in $python.
has_python() {
    for python in ${PYTHON-} python3 /usr/bin/python3; do
        "$python" -c "import $1" >/dev/null 2>&1 && return 0
    done
    return 1
}

# Of that Python which the tests of the package are built for.
has_python_header() {
    has_python numpy &&
        "$python" -c 'import os, sysconfig as s; exit(not os.path.exists(s.get_path("include") + "/Python.h"))'
}

# One Python with all that the package is built and installed with; tomllib came with 3.11.
has_python_to_build() {
    for python in ${PYTHON-} python3 /usr/bin/python3; do
        "$python" -c 'import ensurepip, numpy, os, setuptools, sysconfig, tomllib, venv, wheel
exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' >/dev/null 2>&1 && return 0
    done
    return 1
}

has_package() {
    has_command dpkg-query &&
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Sets missing_debian and missing_fedora.
find_missing() {
    missing_debian='' missing_fedora=''
    while read -r debian fedora test; do
        [ -z "$debian" ] && continue
        # shellcheck disable=SC2086 # a command and its words
        has_package "$debian" || $test && continue
        missing_debian="$missing_debian $debian"
        missing_fedora="$missing_fedora $fedora"
    done <<LIST
$1
LIST
}

by_hand() {
    cat >&2 <<TEXT
quickstart.sh: $1. Please install what is missing, then run this again:

    Debian, Ubuntu:  apt-get install$missing_debian
    Fedora:          dnf install$missing_fedora
    elsewhere:       the C compiler, make, autoconf, automake, libtool, pkg-config, and HDF5
                     (serial, 1.10.8 or newer), libjpeg-turbo, libpng 1.6, zstd and zlib with
                     their headers, and to read WebP and TIFF libwebp and libtiff
                     4.5; for the tests also a C++ compiler, mandoc, strace, and
                     Python 3 with NumPy, h5py and Pillow; for the Python package Python
                     3.11 or newer with its headers, venv, setuptools, wheel and NumPy
TEXT
    exit 2
}

# How to become root: nothing, "sudo", or a reason why not.
install_missing() {
    has_command apt-get || by_hand 'this system has no apt-get'
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        has_command sudo || by_hand 'not root, and there is no sudo'
        [ -t 0 ] || sudo -n true 2>/dev/null ||
            by_hand 'not root, and sudo asks for a password that nobody is here to type'
        as_root='sudo '
    fi
    echo 'Some packages are missing and will be installed now, with'
    echo "${as_root}apt-get install --no-install-recommends$missing_debian" | fold -s -w 72 |
        sed 's/^/    /; $!s/$/\\/'
    ${as_root:+sudo -v} || by_hand 'sudo refused'
    # shellcheck disable=SC2086 # a list of packages
    step 'asking for package lists' \
        ${as_root:+sudo} apt-get -q update || exit 2
    # shellcheck disable=SC2086
    step 'installing packages' ${as_root:+sudo} env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y install --no-install-recommends $missing_debian || exit 2
}

# ---------------------------------------------------------------------------------- build

n_jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

build() {
    if [ ! -e build/Makefile ] || [ -n "$installed" ]; then
        step 'generating configure' autoreconf -fi || exit 2
        # without debugging information, and a shell of few features where that is sh: a third less
        step 'configuring' sh -c 'cd build && CONFIG_SHELL=/bin/sh /bin/sh ../configure \
            --disable-static CFLAGS="${CFLAGS--O2}"' || exit 2
    fi
    step 'building' make -C build -j"$n_jobs" || exit 2 # configures again when it must
}

# ----------------------------------------------------------------------------------- tour
# One function per program; the list below says which and in which order.

tour='tour_pack tour_look tour_python tour_advise tour_read tour_end'
name=photos
tour_file=build/tour/$name.h5

# show COMMAND...: says it and runs it, the first $lines lines of its output indented (progress
# and complaints go where they belong); the exit status is the command's.
lines=25
show() {
    printf '\n$'
    for word; do
        case $word in
        *[!A-Za-z0-9_./:=+,-]*) printf ' "%s"' "$word" ;;
        *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    printf '\n=== %s\n' "$*" >>"$log"
    { "$@"; echo $? >build/tour/status; } </dev/null | tee -a "$log" |
        awk -v n="$lines" 'NR <= n { print "    " $0 } NR == n + 1 { print "    ..." }'
    read -r status <build/tour/status
    return "$status"
}

tour_pack() {
    if [ -z "$folder" ]; then
        folder=build/tour/photos
        [ -e build/tour/rendered ] ||
            step 'rendering 400 sample images' build/tests/render_samples "$folder" 400 || exit 2
        : >build/tour/rendered
    fi
    show build/tools/h5pack "$folder" --shorter 256 --crop 224x224 --force -o "$tour_file"
    [ "$status" -le 1 ] # 1: some images were skipped, and it said which
}

tour_look() {
    has_command h5ls || return 0
    show h5ls -r "$tour_file"
}

tour_python() {
    has_python h5py || return 0
    show "$python" -c "import h5py; f = h5py.File('$tour_file'); print(f['images'][0].mean())"
}

tour_advise() {
    lines=14
    show build/tools/h5advise "$tour_file" --with /labels --workers 2
}

tour_read() {
    lines=25
    show build/tools/h5readbench "$tour_file" --with labels --workers 2 --epochs 2
}

tour_end() {
    cat <<TEXT

The file is yours: $(pwd)/$tour_file
More in README, the programs' --help, and their manual pages: man ./man/h5pack.1.
TEXT
}

run_tour() {
    mkdir -p build/tour || exit 2
    for stop in $tour; do
        if ! $stop; then
            echo "quickstart.sh: the tour ended early in $stop; full log: $(pwd)/$log" >&2
            exit 2
        fi
    done
}

# --------------------------------------------------------------------------------- python

environment=build/python-venv

# A virtual environment over the system's packages: with those that were looked for nothing is
# fetched from anywhere.
install_package() {
    if ! has_python_to_build; then
        echo 'quickstart.sh: no Python here has NumPy, setuptools, wheel, venv and its headers;' \
            'PYTHON=... says which to take' >&2
        exit 2
    fi
    step 'making a virtual environment' \
        "$python" -m venv --clear --system-site-packages $environment || exit 2
    step 'installing the Python package' env H5PACK_BUILD="$(pwd)/build" $environment/bin/python \
        -m pip install --no-index --no-build-isolation --no-deps --force-reinstall ./python || exit 2
    step 'importing it' sh -c 'cd build && python-venv/bin/python -c \
        "import h5pack; print(h5pack.__file__, h5pack.__version__)"' || exit 2
    cat <<TEXT

The package is in $(pwd)/$environment, on the library in build/,
which has to stay there:

    . $environment/bin/activate
    python -c 'import h5pack; help(h5pack)'

Into an environment of your own, beside PyTorch, say:

    H5PACK_BUILD=$(pwd)/build pip install $(pwd)/python
TEXT
}

# ---------------------------------------------------------------------------------- check

failed_tests() {
    grep -E '^(FAIL|ERROR) |^  not ok |\*\*\*' "$log" | tail -n 40
}

run_checks() {
    outcome=0
    explain=failed_tests
    # half of what they take is waiting
    step 'running all tests' make -C build -k -j"$((n_jobs + n_jobs / 2))" check \
        TESTS_CFLAGS=-O0 || outcome=1
    sh tests/tally.sh build
    exit $outcome
}

installed=
case $mode in
check) needs=$needs$needs_for_check ;;
python) needs=$needs$needs_for_python ;;
esac
find_missing "$needs"
if [ -n "$missing_debian" ]; then
    install_missing
    installed=yes
fi
build
case $mode in
check) run_checks ;;
python) install_package ;;
*) run_tour ;;
esac
