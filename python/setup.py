"""Builds h5pack._native on libpack: pkg-config `libpack`, else H5PACK_BUILD=DIR, a build folder.

All that can be said without running code is in pyproject.toml.
"""
import glob
import os
import re
import shlex
import subprocess
import sys
import sysconfig

from setuptools import Extension, setup
from setuptools.command.sdist import sdist

HERE = os.path.dirname(os.path.abspath(__file__))
NO_LIBPACK = """
h5pack: there is no libpack here, which all the work is done by. In the sources of h5pack:

    autoreconf -fi && mkdir -p build && cd build && ../configure && make

and then, of these, one:

    make install                             # what pkg-config finds then is used
    H5PACK_BUILD=DIR pip install ./python    # DIR: that build folder, which has to stay there

or `./quickstart.sh python`, which does all of it."""


def version():
    """Noted in an archive made from this folder; else that of the sources around it."""
    noted = os.path.join(HERE, "VERSION")
    if os.path.exists(noted):
        with open(noted, encoding="utf-8") as file:
            return file.read().strip()
    with open(os.path.join(HERE, os.pardir, "configure.ac"), encoding="utf-8") as file:
        return re.search(r"AC_INIT\(\[h5pack\], \[([^\]]*)\]", file.read()).group(1)


class Archive(sdist):
    """Takes along what lies around this folder in the sources."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        with open(os.path.join(base_dir, "VERSION"), "w", encoding="utf-8") as file:
            file.write(version() + "\n")
        licence = os.path.join(HERE, os.pardir, "COPYING")
        if os.path.exists(licence):
            self.copy_file(licence, os.path.join(base_dir, "COPYING"))


def from_build(folder):
    """How to compile and link with a build folder that nothing was installed from."""
    folder = os.path.abspath(folder)
    library = os.path.join(folder, ".libs")
    try:
        with open(os.path.join(folder, "Makefile"), encoding="utf-8") as file:
            source = re.search(r"^abs_top_srcdir = (.*)$", file.read(), re.MULTILINE)
    except OSError:
        source = None
    if source is None or not os.path.exists(os.path.join(library, "libpack.so")):
        sys.exit(f"h5pack: H5PACK_BUILD={folder} holds no built libpack.so: run `make` there")
    headers = os.path.join(source.group(1), "api")
    return {
        "include_dirs": [headers],
        "depends": glob.glob(os.path.join(headers, "libpack", "*.h")),
        "library_dirs": [library],
        "runtime_library_dirs": [library],
        "libraries": ["pack"],
    }


def from_pkg_config():
    command = os.environ.get("PKG_CONFIG", "pkg-config")
    try:
        flags = {
            what: shlex.split(subprocess.run([command, what, "libpack"], check=True, text=True,
                                             capture_output=True).stdout)
            for what in ("--cflags", "--libs")
        }
    except (OSError, subprocess.CalledProcessError):
        sys.exit(NO_LIBPACK)
    return {"extra_compile_args": flags["--cflags"], "extra_link_args": flags["--libs"]}


def native():
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        sys.exit("h5pack: a free-threaded Python is not supported yet: its extension is of the "
                 "limited API of Python 3.11, which such builds do not have")
    if sys.byteorder != "little" or sys.maxsize < 2**32:
        sys.exit("h5pack: only 64-bit little-endian machines are supported")
    build = os.environ.get("H5PACK_BUILD")
    how = from_build(build) if build else from_pkg_config()
    own = [os.path.relpath(path, HERE) for path in glob.glob(os.path.join(HERE, "src/*.h"))]
    how["depends"] = sorted(own + how.get("depends", []))
    how["extra_compile_args"] = ["-std=gnu11", "-fvisibility=hidden",
                                 *how.get("extra_compile_args", [])]
    return Extension(
        "h5pack._native",
        sorted(os.path.relpath(path, HERE) for path in glob.glob(os.path.join(HERE, "src/*.c"))),
        define_macros=[("Py_LIMITED_API", "0x030b0000"), ("PY_SSIZE_T_CLEAN", None),
                       ("H5PACK_VERSION", f'"{version()}"')],
        py_limited_api=True,
        **how,
    )


def writes_metadata_only():
    """egg_info, dist_info, sdist, clean: what needs no libpack."""
    return not {"build", "build_ext", "bdist_wheel", "develop", "install",
                "editable_wheel"}.intersection(sys.argv)


os.chdir(HERE)
setup(
    version=version(),
    cmdclass={"sdist": Archive},
    ext_modules=[] if writes_metadata_only() else [native()],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
