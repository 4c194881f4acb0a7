"""What README shows of the package."""
import contextlib
import io
import os
import pathlib
import unittest

import h5py
import numpy

README = pathlib.Path(__file__).resolve().parents[2] / "README"


def blocks(text):
    """Pieces of README that are set in by four."""
    block = []
    for line in [*text.splitlines(), "end"]:
        if line.startswith("    ") or (block and not line):
            block.append(line[4:])
        elif block:
            yield "\n".join(block).strip("\n")
            block = []


def test_the_lines_of_readme_print_what_stands_there(tmp_path):
    if not README.exists():
        raise unittest.SkipTest("no README around this folder")
    shown = list(blocks(README.read_text(encoding="utf-8")))
    number = next(i for i, block in enumerate(shown) if block.startswith("import h5pack"))
    with h5py.File(tmp_path / "train.h5", "w") as file:
        file["images"] = numpy.zeros((400, 224, 224, 3), "u1")
        file["images"].attrs["mean"] = file["images"].attrs["std"] = [100.0, 110.0, 120.0]
        file["labels"] = numpy.arange(400)
    here, said = os.getcwd(), io.StringIO()
    os.chdir(tmp_path)
    try:
        with contextlib.redirect_stdout(said):
            exec(shown[number], {})
    finally:
        os.chdir(here)
    assert said.getvalue().strip() == shown[number + 1], said.getvalue()
