"""python -m h5pack: the programs, what is installed, and whether it works."""
import importlib
import importlib.metadata
import os
import sys

import h5pack
from h5pack import _jobs, _selftest

USAGE = """\
usage: python -m h5pack COMMAND [OPTIONS]

  info                what is installed, and where
  selftest            packs, audits and reads a few images, and says what works
  pack, advise, audit, bench, rechunk
                      h5pack, h5advise, h5audit, h5readbench, h5rechunk with these options

More: man h5pack-python, python -m h5pack pack --help
"""
PROGRAMS = {"pack": "h5pack", "advise": "h5advise", "audit": "h5audit", "bench": "h5readbench",
            "rechunk": "h5rechunk"}
OTHERS = ("numpy", "h5py", "torch", "tqdm")


def info():
    """Lines of name and version, and the programs' paths; 1 when a program is missing."""
    missing = 0
    print(f"h5pack {h5pack.__version__}, {os.path.dirname(h5pack.__file__)}")
    for name in _jobs.PROGRAMS:
        try:
            print(f"  {name:12} {_jobs.find(name)}")
        except h5pack.Error as why:
            missing = 1
            print(f"  {name:12} {why}")
    print(f"Python {sys.version.split()[0]}")
    for name in OTHERS:
        print(f"  {name:12} {_version(name)}")
    return missing


def _version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:  # as Debian's h5py
        pass
    try:
        return importlib.import_module(name).__version__
    except ImportError:
        return "not installed"


def main(words):
    """The exit status: as the programs', 0, 1 or 2."""
    command = words[0] if words else None
    if command in PROGRAMS:
        try:
            program = _jobs.find(PROGRAMS[command])
        except h5pack.Error as why:
            print(f"h5pack: {why}", file=sys.stderr)
            return 2
        os.execv(program, [PROGRAMS[command], *words[1:]])  # which find() has run already
    if command in ("info", "selftest") and len(words) == 1:
        return info() if command == "info" else _selftest.main()
    if command in ("-h", "--help"):
        print(USAGE, end="")
        return 0
    print(USAGE, end="", file=sys.stderr)
    return 2


def front(words):
    """main(), which has done it only when standard output has taken what it says."""
    try:
        status = main(words)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except OSError as why:
        if isinstance(why, h5pack.Error):
            raise
        with open(os.devnull, "w") as nowhere:  # for the flush at the end
            os.dup2(nowhere.fileno(), 1)
        if not isinstance(why, BrokenPipeError):  # who reads no more wants to hear no more
            what = "standard output" if why.filename is None else f"'{why.filename}'"
            print(f"h5pack: cannot write {what}: {why.strerror}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(front(sys.argv[1:]))
