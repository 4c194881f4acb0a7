"""python -m h5pack."""
import os
import subprocess
import sys
import unittest

import h5pack
from made_images import need, packed


def front(*words, stdout=subprocess.PIPE):
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    return subprocess.run([sys.executable, "-m", "h5pack", *words], stdout=stdout,
                          stderr=subprocess.PIPE, text=True, env=environment, check=False)


def test_the_programs_are_run_with_their_options_and_status():
    packed(chunk=2)
    said = front("pack", "--version")
    assert said.returncode == 0 and said.stdout.startswith(f"h5pack (h5pack) {h5pack.__version__}")
    for command, name in (("advise", "h5advise"), ("audit", "h5audit"), ("bench", "h5readbench"),
                          ("rechunk", "h5rechunk")):
        assert front(command, "--version").stdout.startswith(f"{name} (h5pack)")
    said = front("pack", "nowhere", "-o", "t.h5")
    assert said.returncode == 2 and said.stderr.startswith("h5pack: ")


def test_what_is_installed_is_listed():
    packed(chunk=2)
    said = front("info")
    assert said.returncode == 0, said.stdout
    assert said.stdout.startswith(f"h5pack {h5pack.__version__}, ")
    for word in ("h5rechunk", "Python", "numpy"):
        assert word in said.stdout


def test_the_self_test_passes():
    packed(chunk=2)
    need("h5py")
    said = front("selftest")
    lines = said.stdout.splitlines()
    assert said.returncode == 0 and len(lines) == 5, said.stdout + said.stderr
    assert all(line.startswith("ok ") for line in lines), said.stdout


def test_anything_else_is_told_what_there_is():
    for words in ((), ("unpack",), ("info", "x")):
        said = front(*words)
        assert said.returncode == 2 and "usage" in said.stderr and not said.stdout
    assert "usage" in front("--help").stdout


def test_what_standard_output_does_not_take_is_no_success():
    if not os.path.exists("/dev/full"):
        raise unittest.SkipTest("no /dev/full here")
    with open("/dev/full", "w") as full:
        said = front("info", stdout=full)
    assert said.returncode == 2
    assert said.stderr == "h5pack: cannot write standard output: No space left on device\n"
    reading, writing = os.pipe()
    os.close(reading)
    said = front("info", stdout=writing)
    os.close(writing)
    assert said.returncode == 2 and said.stderr == ""
